"""A plan over time says nothing else than its rounds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given

from kstream_plan.model import Rates, Snapshot
from kstream_plan.model.scenario import Join, Return, Scenario, Stop
from kstream_plan.plans import HandOver, Plan, Promote, Role
from kstream_plan.plans.loads import after_each_round, at_first
from kstream_plan.plans.series import Level, level_at, summed
from kstream_plan.plans.timeline import TaskRole, timeline
from kstream_plan.simulation.one_plan import plan, plan_checked
from tests.helpers import learner_cases, plan_cases, report_cases, simulation_cases
from tests.helpers.connect_rows import even
from tests.helpers.connect_rows import snapshot as connect
from tests.helpers.counted_roles import counted
from tests.helpers.strategies import snapshots
from tests.helpers.streams_rows import joining
from tests.helpers.streams_rows import row as streams_row
from tests.helpers.streams_rows import snapshot as streams


@cache
def made(name: str) -> Plan:
    kind, _, which = name.partition(" ")
    match kind:
        case "plan":
            return plan_cases.case(which)
        case "simulation":
            return simulation_cases.case(which).plan
        case "streams":
            seats = {
                name: [{"consumer_id": name, "position": place, "active": [f"0_{item}" for item in range(place, 6, 2)]}]
                for place, name in enumerate("ab")
            }
            group = streams(streams_row("4.3", seats, {"0": (6, True, 60_000)}))
            return plan_checked(group, scenario=Scenario(events=(Join(at_ms=1_000, instances=joining("c")),)))
        case "learner":
            return learner_cases.walkthrough() if which == "joins" else learner_cases.left()
    events = (Stop(at_ms=0, process_ids=("w1",), crash=True), Return(at_ms=60_000, process_ids=("w1",)))
    return plan_checked(connect(even(3)), scenario=Scenario(events=events))


@pytest.mark.parametrize("per_second", [250.0, 500.0, 20_000.0])
def test_cold_starts_of_a_streams_group_restore_as_long_as_its_figures_say(per_second: float) -> None:
    item = report_cases.streams(per_second).plan
    found = timeline(item)
    lasts = [start.restores_ms for start in found.cold_starts]
    assert None not in lasts
    assert max(length for length in lasts if length is not None) == item.summary.max_cold_restore_ms
    restored = [one for one in found.stretches if one.role is TaskRole.RESTORES]
    assert max(one.to_ms for one in restored) <= (item.summary.runs_by_ms or 0)


NAMES = [
    *(f"plan {name}" for name in plan_cases.NAMES),
    *(f"simulation {name}" for name in simulation_cases.NAMES),
    "streams joins",
    "learner joins",
    "learner leaves",
    "connect restart",
]


def says_what_the_rounds_say(plan: Plan) -> None:
    found = timeline(plan)
    assert found.from_ms < 0 <= found.ends_ms < found.to_ms
    assert [level_at(one.runs, found.from_ms) for one in found.instances] == [
        number
        if found.instances[place].member_spans and found.instances[place].member_spans[0][0] == found.from_ms
        else 0
        for place, number in enumerate(at_first(plan))
    ]
    last_at = {at_ms: place for place, at_ms in enumerate(plan.in_effect_ms)}
    runs = list(after_each_round(plan))
    warming = counted(plan, Role.WARMUP)
    for at_ms, place in last_at.items():
        away = {outage.process_id for outage in plan.outages if outage.from_ms <= at_ms < outage.to_ms}
        for index, one in enumerate(found.instances):
            if one.process_id not in away:
                assert level_at(one.runs, at_ms) == runs[place][index]
                assert level_at(one.warms_up, at_ms) == warming[place][index]
    starts = [step for rnd in plan.rounds for step in rnd.single_steps if isinstance(step, HandOver | Promote)]
    assert len(found.cold_starts) == sum(not step.caught_up for step in starts)
    assert max(level.number for level in found.still) >= plan.pauses.most_at_once
    for one in found.stretches:
        assert found.from_ms <= one.from_ms < one.to_ms <= found.to_ms
    assert (
        found.loads[-1].balance_factor
        == (plan.rounds[-1].balance if plan.rounds else plan.initial_balance).balance_factor
    )


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_the_rounds_say(name: str) -> None:
    says_what_the_rounds_say(made(name))


@given(snapshots())
def test_it_says_what_the_rounds_of_any_plan_say(of: Snapshot) -> None:
    says_what_the_rounds_say(plan(of, max_rounds=40))


@pytest.mark.parametrize("name", ["plan scale-out", "plan crash", "simulation remove-one", "connect restart"])
def test_no_task_runs_twice_at_once_and_none_while_it_stands_still(name: str) -> None:
    found = timeline(made(name))
    for task in made(name).group.stateful:
        runs = [one for one in found.stretches if one.task == task and one.role is TaskRole.RUNS]
        assert all(one.to_ms <= other.from_ms for one, other in pairwise(runs))
        for still in found.standstills or ():
            if still.task == task:
                assert not any(one.from_ms < still.to_ms and still.from_ms < one.to_ms for one in runs)


def test_how_long_cold_starts_restore_is_told_where_one_rate_is_known_of_all() -> None:
    item = plan_cases.snapshot("crash")
    assert {start.restores_ms for start in timeline(plan_cases.case("crash")).cold_starts} == {None}
    fast = plan(replace(item, rates=Rates(restore_per_instance=500.0)))
    found = timeline(fast)
    lasts = [start.restores_ms for start in found.cold_starts]
    assert max(ms or 0 for ms in lasts) == fast.summary.max_cold_restore_ms
    assert max(level.number for level in found.restoring) > 0


def test_who_crashed_runs_nothing_from_then_on() -> None:
    found = timeline(made("connect restart"))
    gone = next(one for one in found.instances if one.process_id == "w1")
    assert gone.member_spans[0] == (found.from_ms, 0)
    assert level_at(gone.runs, -1) > 0 == level_at(gone.runs, 0)
    assert level_at(found.still, 1) > 0


def test_series_add_up() -> None:
    one, other = (Level(-5, 1), Level(10, 3)), (Level(-5, 2), Level(5, 0), Level(10, 1))
    assert summed([one, other]) == (Level(-5, 3), Level(5, 1), Level(10, 4))


def test_a_connect_group_is_drawn_when_its_rounds_have_taken_effect() -> None:
    found = timeline(made("connect restart"))
    assert found.still == (Level(found.from_ms, 0), Level(0, 5), Level(313_000, 0))
    assert {(one.from_ms, one.to_ms) for one in found.standstills or ()} == {(0, 313_000)}
    assert found.loads[-1].at_ms == found.ends_ms == 313_000
