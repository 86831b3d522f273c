"""A group in play: what is told of its columns, and what numbers of 64 bits do not hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kstream_plan.designs.classic.simulated_group import SimulatedGroup
from kstream_plan.model import GroupState, LazyHoldings, Rates, Snapshot
from kstream_plan.model.scenario import Join, NewInstance, Scenario
from kstream_plan.plans import MemberJoined, Plan
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.plans.replay import HoldingsLog
from kstream_plan.plans.step_rows import StepMaker
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from tests.helpers.stateful_groups import stateful_case, with_rates

FAR_MS = 2**40


def of_two_joining(seed: int, *later: Join) -> tuple[Snapshot, Scenario]:
    snapshot, _ = stateful_case(seed)
    joining = Join(at_ms=0, instances=(NewInstance(threads=2), NewInstance(threads=1)))
    return snapshot, Scenario(events=(joining, *later))


def played(snapshot: Snapshot, scenario: Scenario | None, *, max_rounds: int = 150) -> Plan:
    item = None if scenario is None else with_random_ids(scenario, snapshot.state.group, 0)
    return plan(snapshot, scenario=item, max_rounds=max_rounds, floor=False, ranges=False)


def course(result: Plan) -> list[object]:
    """What a plan does, without when."""
    return [
        (rnd.trigger, rnd.phases, tuple(step for step in rnd.steps if not isinstance(step, MemberJoined)))
        for rnd in result.rounds
    ]


def test_every_round_is_rows_and_numbers() -> None:
    snapshot, scenario = of_two_joining(3)
    result = played(snapshot, scenario)
    assert [isinstance(rnd.decided, LazyHoldings) for rnd in result.rounds[1:]] == [True] * (len(result.rounds) - 1)


@pytest.mark.parametrize("seed", range(10))
def test_rounds_are_checked_without_being_made(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    result = played(*of_two_joining(seed))
    monkeypatch.setattr(StepMaker, "_step", None)
    monkeypatch.setattr(HoldingsLog, "_replayed_to", None)
    assert broken_invariants(result) == ()


def test_what_was_decided_before_is_not_made_of_columns_that_have_gone_on(monkeypatch: pytest.MonkeyPatch) -> None:
    states = list[GroupState]()
    go_on = SimulatedGroup.go_on
    monkeypatch.setattr(
        SimulatedGroup, "go_on", lambda *given, **named: states.append(go_on(*given, **named)) or states[-1]
    )
    played(*of_two_joining(3))
    with pytest.raises(RuntimeError, match="gone on"):
        tuple(states[1].copies)


def test_threads_that_reported_a_deleted_copy_do_not_count_for_the_next_one() -> None:
    """All threads of an instance report a copy; it is deleted, and there is a warm-up of the same task at once."""
    snapshot, scenario = stateful_case(266, awkward=True)
    snapshot = replace(with_rates(snapshot, 266), stores="persistent", streams_version="3.5.1")
    snapshot = replace(snapshot, config=replace(snapshot.config, num_standby_replicas=2))
    assert broken_invariants(played(snapshot, scenario, max_rounds=20)) == ()


@pytest.mark.parametrize("seed", range(6))
def test_who_restores_more_than_64_bits_hold_restores_all(seed: int) -> None:
    snapshot, scenario = of_two_joining(seed)
    beyond, at_once = (
        played(replace(snapshot, rates=Rates(restore_per_instance=rate, produce_per_task=5.0)), scenario)
        for rate in (1e30, float("inf"))
    )
    assert course(beyond) == course(at_once)


@pytest.mark.parametrize("seed", range(8))
def test_a_probing_interval_may_be_as_long_as_kafka_lets_it(seed: int) -> None:
    """As long as the delay after which left-over state is deleted is shorter, what is done is the same."""
    snapshot, scenario = of_two_joining(seed)
    expected, *others = (
        course(
            played(replace(snapshot, config=replace(snapshot.config, probing_rebalance_interval_ms=longest)), scenario)
        )
        for longest in (FAR_MS, 2**61, 2**62, 2**63 - 1)
    )
    assert others == [expected] * 3


@pytest.mark.parametrize("seed", range(8))
def test_left_over_state_may_stay_as_long_as_kafka_lets_it(seed: int) -> None:
    snapshot, scenario = of_two_joining(seed)
    expected, *others = (
        course(played(replace(snapshot, config=replace(snapshot.config, state_cleanup_delay_ms=longest)), scenario))
        for longest in (FAR_MS, 2**61, 2**62, 2**63 - 1)
    )
    assert others == [expected] * 3


@pytest.mark.parametrize("seed", range(4))
def test_what_happens_may_be_ever_so_late(seed: int) -> None:
    expected, *others = (
        course(played(*of_two_joining(seed, Join(at_ms=at_ms, instances=(NewInstance(threads=1),)))))
        for at_ms in (FAR_MS, 2**60, 2**62, 2**63 - 1)
    )
    assert others == [expected] * 3
