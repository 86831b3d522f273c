"""The designs that a Connect group can be planned by: what each promises, and what holds of all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import pytest
from hypothesis import given

from kstream_plan.designs import OF_GROUP_PROTOCOL
from kstream_plan.errors import UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Event, Join, Leave, Scenario, Stop
from kstream_plan.plans import HandOver, Plan, Revoke
from kstream_plan.plans.replay import replay
from kstream_plan.simulation.one_plan import plan_checked
from tests.helpers.connect_rows import even, row, snapshot, worker
from tests.helpers.connect_scenarios import scenarios
from tests.helpers.learner_cases import group

DESIGNS = OF_GROUP_PROTOCOL["connect"]


def play(of: dict[str, Any] | Snapshot, design: str | None, *events: Event) -> Plan:
    found = of if isinstance(of, Snapshot) else snapshot(of)
    made = plan_checked(found, scenario=Scenario(events=events) if events else None, design=design)
    replayed = replay(made.group, made.initial, (rnd.steps for rnd in made.rounds))
    assert [(rnd.decided, rnd.assigned) for rnd in made.rounds] == list(replayed)
    return made


def times_ms(made: Plan) -> list[int]:
    return [rnd.at_ms for rnd in made.rounds]


def runs(made: Plan) -> list[list[str]]:
    """What each worker runs at the end."""
    return [[str(made.group.tasks[task].task_id) for task in held.active] for held in made.final]


@pytest.mark.parametrize("design", DESIGNS)
@given(scenario=scenarios())
def test_every_item_runs_at_most_once_nothing_is_forgotten_and_it_settles(
    design: str, scenario: tuple[dict[str, Any], Sequence[Any]]
) -> None:
    of, events = scenario
    made = play(of, design, *events)
    assert made.design == design
    assert made.verdict.kind == "settled"
    assert sorted(chain.from_iterable(held.active for held in made.final)) == list(range(len(made.group.tasks)))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_balanced_cluster_is_left_alone(design: str, workers: int) -> None:
    dealt_out = play(even(workers), "connect-eager")  # what the eager protocol calls balanced
    names = [worker.process_id for worker in dealt_out.group.instances]
    held: dict[str, dict[str, list[int]]] = {name: {} for name in names}
    for name, items in zip(names, runs(dealt_out), strict=True):
        for item in items:
            connector, _, number = item.replace(" (connector)", "--1").partition("-")
            held[name].setdefault(connector, []).append(int(number))
    assert play(row({f"c{place}": 4 for place in range(workers)}, held), design).rounds == ()


def test_a_design_for_other_groups_is_refused() -> None:
    with pytest.raises(UsageError, match="a connect group cannot be planned by --design learner") as error:
        play(even(), "learner")
    assert "connect-eager" in error.value.fix
    with pytest.raises(UsageError, match="a classic group cannot be planned by --design connect-eager"):
        plan_checked(group("12", "34"), design="connect-eager")


def test_a_group_whose_protocol_is_eager_is_planned_by_it() -> None:
    eager = even(config={"connect_protocol": "eager"})
    assert play(eager, None).design == "connect-eager"
    assert play(eager, "connect").design == "connect"
    assert not any(note.code == "leader-memory-assumed" for note in snapshot(eager).assumptions)


def test_eager_stops_everything_and_deals_it_out_again_in_one_round() -> None:
    made = play(even(), "connect-eager", Join(at_ms=10_000, instances=(worker("w2"),)))
    assert times_ms(made) == [10_000]
    assert runs(made) == [
        ["c0 (connector)", "c0-1", "c1-0", "c1-3"],
        ["c0-2", "c1 (connector)", "c1-1"],
        ["c0-0", "c0-3", "c1-2"],
    ]
    assert {pause[1:] for pause in made.pauses} == {(7_000, 10_000)}
    assert made.summary.paused_task_ms == 10 * 3_000
    moved = {step.task_id for step in made.rounds[0].steps if isinstance(step, HandOver)}
    assert moved == {step.task_id for step in made.rounds[0].steps if isinstance(step, Revoke)}


def test_eager_waits_for_nobody() -> None:
    crash = Stop(at_ms=10_000, process_ids=("w1",), crash=True)
    assert times_ms(play(even(), "connect-eager", crash)) == [20_000]
    both = Leave(at_ms=0, process_ids=("w1",)), Leave(at_ms=50_000, process_ids=("w0",))
    assert times_ms(play(even(3), "connect-eager", *both)) == [0, 50_000]
