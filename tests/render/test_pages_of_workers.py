"""What people see of Connect groups is about connectors, tasks and workers, and never about state."""

from __future__ import annotations

import re

import pytest

from kstream_plan.documents.plan.read import read_saved
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model.scenario import Event, Join, Leave, Return, Scenario, Stop
from kstream_plan.plans.note_codes import KEPT_WORK, LEADER_LEFT, THREAD_MOVES
from kstream_plan.plans.rebalance_events import events
from kstream_plan.plans.remarks import Departure, departures, remarks
from kstream_plan.plans.simulated import Simulation
from kstream_plan.plans.timeline import timeline
from kstream_plan.render.answers import to_markdown as markdown
from kstream_plan.render.answers import to_markdown as simulation_markdown
from kstream_plan.render.answers import to_table as simulation_table
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.pages.plan import plan_page
from kstream_plan.render.report.tables import timeline_table
from kstream_plan.render.text.names import Names
from kstream_plan.simulation.drain_workers import drain_workers
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.simulate import simulate
from tests.helpers.connect_rows import even, row, snapshot, worker

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
    result = simulated.plan
    for text in (
        table(result, verbose=True),
        markdown(result),
        simulation_table(simulated),
        simulation_markdown(simulated),
    ):
        assert not _OF_STATE.findall(text.replace("RESTORE", "")), text
    assert "15 connectors and tasks" in table(result, width=160)
    assert drain_workers(snapshot(even(3)), ["w1"]).plan.is_of_workers


def test_work_that_two_workers_run_does_not_hide_work_that_no_worker_runs() -> None:
    held = {"w0": {"a": (-1, 0, 1)}, "w1": {"b": (-1, 0, 1), "a": (0,)}}
    duplicated = plan_page(plan_checked(snapshot(row({"a": 2, "b": 2}, held))))
    assert "unassigned" not in " ".join(duplicated.sentences)
    missing = plan_page(plan_checked(snapshot(row({"a": 3, "b": 2}, held))))
    assert "1 of 7 connectors and tasks is unassigned, and pauses, when the plan begins." in missing.sentences[0]
    rounds = missing.tables[0]
    assert rounds.rows[0].cells[-1].items == ("2",)
    assert "at most 1 at once" in rounds.note


def test_the_summary_of_a_plan_of_workers() -> None:
    page = plan_page(plan_checked(snapshot(even(3)), scenario=Scenario(events=EVENTS["leaves"])))
    assert page.title == "live: 3 → 2 workers, 15 connectors and tasks"
    assert [(fact.label, fact.value) for fact in page.facts] == [
        ("Duration", "about 5m03s"),
        ("Rebalances", "2: 1 leave, 1 delay end"),
        ("Moves", "5 of 15 (the minimum)"),
        ("Longest pause", "c1 (connector): 5m03s in 1 pause"),
        ("Unassigned", "5 connectors and tasks at once, 25m15s over all"),
        ("Balance", "5 → 7 to 8 connectors and tasks per worker"),
    ]
    [kept] = [line.text for line in page.lines if line.code == KEPT_WORK]
    assert kept.startswith("The work of w1 stays unassigned for up to 5m (scheduled.rebalance.max.delay.ms)")


def rolling(*workers: int) -> Simulation:
    """Every worker is back 20 s after it left, one a minute: w0 leads at first, then w1."""
    events = [
        item(at_ms=60_000 * place + later_ms, process_ids=(f"w{worker}",))
        for place, worker in enumerate(workers)
        for item, later_ms in ((Leave, 0), (Return, 20_000))
    ]
    return simulate(snapshot(even(3)), Scenario(events=tuple(events)))


def test_why_one_worker_costs_minutes_and_another_one_seconds_is_said() -> None:
    simulated = rolling(0, 1, 2)
    left = list(departures(simulated.plan))
    assert left == [
        Departure("w0", 0, was_leader=True, kept_ms=None),
        Departure("w1", 60_000, was_leader=True, kept_ms=None),
        Departure("w2", 120_000, was_leader=False, kept_ms=300_000),
    ]
    notes = {note.code: note for note in remarks(simulated.plan).notes}
    assert notes[KEPT_WORK].subjects == ("w2",)
    assert notes[LEADER_LEFT].subjects == ("w0", "w1")
    what_ifs = next(table for table in plan_page(simulated).tables if table.title == "With other settings")
    assert any("scheduled.rebalance.max.delay" in row.cells[0].items[0] for row in what_ifs.rows)
    [again] = read_saved(plan_json(simulated.plan).encode(), "")
    assert list(departures(again.plan)) == left, "a saved plan tells it as well"


def test_a_delay_ends_with_the_leader_that_remembers_it() -> None:
    assert list(departures(rolling(0, 2, 1).plan)) == [
        Departure("w0", 0, was_leader=True, kept_ms=None),
        Departure("w2", 60_000, was_leader=False, kept_ms=60_000),
        Departure("w1", 120_000, was_leader=True, kept_ms=None),
    ]


def test_what_no_leader_forgets_has_no_reason_of_its_own() -> None:
    for config in ({"connect_protocol": "eager"}, {"scheduled_rebalance_max_delay_ms": 0}):
        result = plan_checked(
            snapshot(even(3, config=config)), scenario=Scenario(events=(Leave(at_ms=0, process_ids=("w0",)),))
        )
        assert [departure.was_leader for departure in departures(result)] == [False]
        assert KEPT_WORK not in {note.code for note in remarks(result).notes}


def test_the_rows_of_a_moment_add_up_to_all_there_is() -> None:
    plan = rolling(0, 1, 2).plan
    activities = events(plan)
    *instances, pauses = timeline_table(plan, activities, timeline(plan), Names(plan.group)).rows
    for place, event in enumerate(activities, start=1):
        run = sum(int(row.cells[place].text) for row in instances if row.cells[place].text != "–")
        assert run == sum(len(holding.active) for holding in event.rounds[-1].assigned)
        assert run + int(pauses.cells[place].text) >= len(plan.group.tasks)


def test_what_a_worker_stops_and_starts_again_is_not_a_change_of_thread() -> None:
    row = even(3)
    row["instances"][0]["held"] += [{"connector": "c1", "items": [0]}]
    result = plan_checked(snapshot(row))
    assert {note.code for note in remarks(result).notes} >= {THREAD_MOVES}
    said = table(result)
    assert "a stop and a start on the same worker" in " ".join(said.split())
    assert "thread" not in said
