"""What people see of Connect groups is about connectors, tasks and workers, and never about state."""

from __future__ import annotations

import re

import pytest

from kstream_plan.model.scenario import Event, Join, Leave, Return, Scenario, Stop
from kstream_plan.render.plan.markdown import markdown
from kstream_plan.render.plan.table import table
from kstream_plan.render.simulation.markdown import simulation_markdown
from kstream_plan.render.simulation.table import simulation_table
from kstream_plan.simulation.drain_workers import drain_workers
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.simulate import simulate
from tests.helpers.connect_rows import even, snapshot, worker

EVENTS: dict[str, tuple[Event, ...]] = {
    "joins": (Join(at_ms=0, instances=(worker("w9"),)),),
    "leaves": (Leave(at_ms=0, process_ids=("w1",)),),
    "crashes and returns": (
        Stop(at_ms=0, process_ids=("w1",), crash=True),
        Return(at_ms=60_000, process_ids=("w1",)),
    ),
    "nothing": (),
}
_OF_STATE = re.compile(
    r"\b(stateful|stateless|cold|warm|warmed|disks?|restored?|copy|copies|standbys?|probes?)\b", re.I
)


@pytest.mark.parametrize("name", EVENTS)
def test_no_page_of_a_connect_group_is_about_state(name: str) -> None:
    simulated = simulate(snapshot(even(3)), Scenario(events=EVENTS[name]))
    made = simulated.plan
    for text in (
        table(made, verbose=True),
        markdown(made),
        simulation_table(simulated),
        simulation_markdown(simulated),
    ):
        assert not _OF_STATE.findall(text.replace("RESTORE", "")), text
    assert "15 connectors and tasks" in table(made, width=160)
    assert drain_workers(snapshot(even(3)), ["w1"]).plan.is_of_workers


def test_the_first_lines_of_a_plan_of_workers() -> None:
    made = plan_checked(snapshot(even(3)), scenario=Scenario(events=EVENTS["leaves"]))
    assert table(made, width=120).splitlines()[:5] == [
        "live: 3 → 2 workers (w1 gone), 15 connectors and tasks. Generation 12, 2026-11-22 12:00:00Z",
        "SETTLES  in ~5m03s: 2 rebalances = 1 leave + 1 end of a delay",
        "NOBODY   runs up to 5 connectors and tasks at once, ≤ 5m03s each; 25m15s in all",
        "MOVES    5 of 15; least 5",
        "PAUSES   ~5m03s each, ≤ 5 tasks at once. Worst: c1 (connector) 5m03s in 1 pause",
    ]


def test_what_a_worker_stops_and_starts_again_is_not_a_change_of_thread() -> None:
    row = even(3)
    row["instances"][0]["held"] += [{"connector": "c1", "items": [0]}]
    said = " ".join(table(plan_checked(snapshot(row))).split())
    assert "Run by several workers at once: c1-0" in said
    assert "1 of the pauses: stopped, and started again by the worker that ran it" in said
    assert "MOVES 0 of 15 in 1 change; least 0" in said
    assert "thread" not in said
