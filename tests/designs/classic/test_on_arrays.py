"""A group played on arrays comes to the same plan as one that is played with objects, to the last byte.

15 random groups of stateful tasks, with standbys and tags or without, as many whose rates are known, and as many with
stateless tasks besides; ``KSTREAM_PLAN_GROUPS=10000`` plays more, which takes a second a group.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest

from kstream_plan.designs.classic import design
from kstream_plan.designs.classic.coordinator import ClassicCoordinator
from kstream_plan.designs.classic.on_arrays import OnArrays
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import ScenarioError
from kstream_plan.model import LazyHoldings, Rates, Snapshot
from kstream_plan.model.scenario import Burst, Event, Join, NewInstance, ProduceRate, RestoreRate, Scenario
from kstream_plan.model.snapshot import Stores
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Plan
from kstream_plan.plans.holdings_log import HoldingsLog
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.plans.step_rows import StepMaker
from kstream_plan.simulation.new_ids import drawn
from kstream_plan.simulation.one_plan import plan
from tests.helpers.stateful_groups import stateful_case, with_rates

GROUPS = int(os.environ.get("KSTREAM_PLAN_GROUPS", "15"))
PARTS = 5
#: What they have, at random.
STORES: tuple[Stores | None, ...] = (None, "persistent", "in-memory")
STANDBYS = (None, None, 2, 3)
PROTOCOLS = ("cooperative", "cooperative", "eager", "cooperative", "mixed")
RELEASES = (None, None, "2.8.2", "3.1.2", None, "3.2.3", "3.5.1")
#: The share of groups that is played with all that else may be.
WITH_RANGES = 0.1


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many decisions were made on arrays."""
    results = [0]
    decide = OnArrays.decide

    def counted(*given: object, **named: object) -> object:
        results[0] += 1
        return decide(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(OnArrays, "decide", counted)
    return results


def with_objects(monkeypatch: pytest.MonkeyPatch, *plan: object, **options: object) -> Plan | str:
    with monkeypatch.context() as patched:
        patched.setattr(design, "CoordinatorOnArrays", ClassicCoordinator)
        return outcome(*plan, **options)


def outcome(snapshot: Snapshot, scenario: Scenario | None, options: PlanOptions, *, whole: bool) -> Plan | str:
    try:
        item = None if scenario is None else drawn(scenario, snapshot.state.group, 0)
        return plan(snapshot, options, scenario=item, floor=whole, ranges=whole)
    except ScenarioError as error:
        return str(error)


def as_text(result: Plan | str) -> str:
    return result if isinstance(result, str) else plan_json(result, full=True)


def with_standbys(snapshot: Snapshot, number: int | None) -> Snapshot:
    if number is None:
        return snapshot
    return replace(snapshot, config=replace(snapshot.config, num_standby_replicas=number))


@pytest.mark.parametrize(("is_rated", "awkward"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("part", range(PARTS))
def test_arrays_come_to_the_same_plan(
    part: int, is_rated: bool, awkward: bool, decisions: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(part, GROUPS, PARTS):
        rng = random.Random(f"played {seed}")
        snapshot, scenario = stateful_case(seed, awkward=awkward)
        snapshot = with_rates(snapshot, seed) if is_rated else snapshot
        snapshot = replace(snapshot, stores=rng.choice(STORES), streams_version=rng.choice(RELEASES))
        snapshot = with_standbys(snapshot, rng.choice(STANDBYS))
        options, whole = PlanOptions(max_rounds=150, protocol=rng.choice(PROTOCOLS)), rng.random() < WITH_RANGES
        expected = as_text(with_objects(monkeypatch, snapshot, scenario, options, whole=whole))
        is_same = as_text(outcome(snapshot, scenario, options, whole=whole)) == expected
        assert is_same, f"seed {seed}"  # a comparison of millions of characters would take half an hour
    assert decisions[0] > GROUPS / PARTS  # not all of them are settled at once, or left to objects


def test_threads_that_reported_a_deleted_copy_do_not_count_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """All threads of an instance report a copy; it is deleted, and there is a warm-up of the same task at once."""
    snapshot, scenario = stateful_case(266, awkward=True)
    snapshot = replace(with_standbys(with_rates(snapshot, 266), 2), stores="persistent", streams_version="3.5.1")
    expected = as_text(with_objects(monkeypatch, snapshot, scenario, PlanOptions(max_rounds=20), whole=False))
    assert as_text(outcome(snapshot, scenario, PlanOptions(max_rounds=20), whole=False)) == expected


@pytest.mark.parametrize("standbys", [None, 2, 8])
@pytest.mark.parametrize("seed", range(30))
def test_rounds_on_arrays_hold_what_rounds_of_objects_hold(
    seed: int, standbys: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, scenario = stateful_case(seed)
    snapshot = with_standbys(snapshot, standbys)
    options = PlanOptions(max_rounds=150)
    expected = with_objects(monkeypatch, snapshot, scenario, options, whole=True)
    result = outcome(snapshot, scenario, options, whole=True)
    assert result == expected
    if isinstance(result, Plan) and isinstance(expected, Plan):
        assert result.pauses == expected.pauses
        assert result.end == expected.end
        for rnd, other in zip(result.rounds, expected.rounds, strict=True):
            assert tuple(rnd.steps) == tuple(other.steps)
            assert tuple(rnd.decided) == tuple(other.decided)
            assert tuple(rnd.assigned) == tuple(other.assigned)


@pytest.mark.parametrize("seed", range(10))
def test_rounds_on_arrays_are_checked_without_being_made(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, scenario = of_two_joining(seed)
    result = outcome(snapshot, scenario, PlanOptions(max_rounds=150), whole=False)
    assert isinstance(result, Plan)
    assert any(isinstance(rnd.decided, LazyHoldings) for rnd in result.rounds)
    monkeypatch.setattr(StepMaker, "_step", None)
    monkeypatch.setattr(HoldingsLog, "_replayed_to", None)
    assert broken_invariants(result) == ()


def of_two_joining(seed: int) -> tuple[Snapshot, Scenario]:
    snapshot, _ = stateful_case(seed)
    return snapshot, Scenario(events=(Join(at_ms=0, instances=(NewInstance(threads=2), NewInstance(threads=1))),))


@pytest.mark.parametrize("restored", [50.0, 1e30])
def test_what_is_beyond_64_bits_is_left_to_objects(
    restored: float, decisions: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, scenario = of_two_joining(3)
    snapshot = replace(snapshot, rates=Rates(restore_per_instance=restored))
    expected = as_text(with_objects(monkeypatch, snapshot, scenario, PlanOptions(), whole=False))
    assert as_text(outcome(snapshot, scenario, PlanOptions(), whole=False)) == expected
    assert (decisions[0] > 2) == (restored < 1e30)


@pytest.mark.parametrize("seed", [18, 19, 40, 52, 75])
def test_who_takes_over_from_standbys_that_never_catch_up_counts_as_ready_all_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each standby is whole but for what is written between two polls, which is beyond the limit; nobody runs some."""
    snapshot, scenario = stateful_case(seed)
    config = replace(snapshot.config, acceptable_recovery_lag=0)
    snapshot = replace(snapshot, config=config, rates=Rates(produce_per_task=5_000.0))
    expected = as_text(with_objects(monkeypatch, snapshot, scenario, PlanOptions(max_rounds=60), whole=True))
    assert as_text(outcome(snapshot, scenario, PlanOptions(max_rounds=60), whole=True)) == expected
    assert "ready-at-follow-up" in expected


@pytest.mark.parametrize("event", [Burst(at_ms=400_000, records=10_000), ProduceRate(at_ms=400_000, per_second=3.0)])
def test_what_is_written_at_once_or_otherwise_from_then_on_leaves_the_arrays(
    event: Event, decisions: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, scenario = of_two_joining(5)
    snapshot = replace(snapshot, rates=Rates(restore_per_instance=50.0))
    eventful, options = Scenario(events=(*scenario.events, event)), PlanOptions(max_rounds=100)
    expected = as_text(with_objects(monkeypatch, snapshot, eventful, options, whole=True))
    assert as_text(outcome(snapshot, eventful, options, whole=True)) == expected
    assert decisions[0] > 0


def test_the_least_time_is_played_on_arrays(decisions: list[int]) -> None:
    snapshot, scenario = of_two_joining(3)
    outcome(snapshot, scenario, PlanOptions(), whole=False)
    likely = decisions[0]
    plan(snapshot, scenario=drawn(scenario, snapshot.state.group, 0), floor=True, ranges=False)
    assert decisions[0] > 2 * likely


@pytest.mark.parametrize("restored", [1.0, 1e6])
def test_rates_that_change_on_the_way_leave_the_arrays(
    restored: float, decisions: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, scenario = of_two_joining(5)
    paced = Scenario(events=(*scenario.events, RestoreRate(at_ms=300_000, per_second=restored)))
    options = PlanOptions(max_rounds=100)
    expected = as_text(with_objects(monkeypatch, snapshot, paced, options, whole=True))
    assert as_text(outcome(snapshot, paced, options, whole=True)) == expected
    assert decisions[0] > 0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("setting", ["probing_rebalance_interval_ms", "state_cleanup_delay_ms"])
def test_settings_may_be_as_long_as_kafka_lets_them(setting: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, scenario = of_two_joining(seed)
    for longest in (2**61, 2**62, 2**63 - 1):
        config = replace(snapshot.config, **{setting: longest})
        plan = replace(snapshot, config=config), scenario, PlanOptions(max_rounds=60)
        assert as_text(outcome(*plan, whole=True)) == as_text(with_objects(monkeypatch, *plan, whole=True))


@pytest.mark.parametrize("seed", range(4))
def test_what_happens_may_be_ever_so_late(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, scenario = of_two_joining(seed)
    for at_ms in (2**60, 2**62, 2**63 - 1):
        late = Scenario(events=(*scenario.events, Join(at_ms=at_ms, instances=(NewInstance(threads=1),))))
        expected = as_text(with_objects(monkeypatch, snapshot, late, PlanOptions(max_rounds=200), whole=False))
        assert as_text(outcome(snapshot, late, PlanOptions(max_rounds=200), whole=False)) == expected


def test_what_was_decided_before_is_not_made_of_arrays_that_have_gone_on(monkeypatch: pytest.MonkeyPatch) -> None:
    states = []
    go_on = OnArrays.go_on
    monkeypatch.setattr(OnArrays, "go_on", lambda *given, **named: states.append(go_on(*given, **named)) or states[-1])
    snapshot, scenario = of_two_joining(3)
    outcome(snapshot, scenario, PlanOptions(), whole=False)
    with pytest.raises(RuntimeError, match="gone on"):
        tuple(states[0].copies)


def test_most_rounds_of_such_a_group_are_on_arrays() -> None:
    snapshot, scenario = of_two_joining(3)
    result = outcome(snapshot, scenario, PlanOptions(), whole=False)
    assert isinstance(result, Plan)
    assert [isinstance(rnd.decided, LazyHoldings) for rnd in result.rounds[1:]] == [True] * (len(result.rounds) - 1)
