"""A plan that begins after a decision: what that one withheld follows up, and its probing timer runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.model import LATEST, UNKNOWN, Copy, Group, Holding, KnownDecision, Rates, Snapshot
from kstream_plan.model.scenario import Join, Scenario, Stop
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.model.starting_state import seated
from kstream_plan.plans import HandOver, Plan, Trigger
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured
from tests.helpers.strategies import snapshots

#: A group that an instance has just joined, and the same a generation later.
WITHHOLDS, PROBES = captured.inputs("scale-out")[1:3]

_IDS = [f"1000000{number}-0000-4000-8000-000000000000" for number in range(3)]
NEW = "ffffffff-0000-0000-0000-00000000000f"


def _after(snapshot: Snapshot, ago_ms: int) -> Snapshot:
    """The group so long after the decision that a plan of ``snapshot`` begins with."""
    assignment = ASSIGNORS["high-availability"](seated(snapshot.state), snapshot.config)
    decision = KnownDecision(
        generation=snapshot.state.generation + 1,
        at_ms=0,
        consumers=tuple(assignment.consumers),
        probing_rebalance=assignment.probing_rebalance,
    )
    return replace(snapshot, decision=decision, known_until_ms=ago_ms)


def _goes_on_as(whole: Plan, after: Plan, ago_ms: int) -> bool:
    rest = [replace(rnd, number=rnd.number - 1, at_ms=max(0, rnd.at_ms - ago_ms)) for rnd in whole.rounds[1:]]
    return list(after.rounds) == rest


def _two_unknown_offsets() -> Snapshot:
    """Nobody runs 0_0, of which two instances have a copy of unknown offset, and a third one nothing."""
    row: dict[str, Any] = {
        "format_version": "1.0",
        "application_id": "unknown-offsets",
        "generation": 3,
        "config": {"acceptable_recovery_lag": 10_000},
        "tasks": [{"task_id": "0_0", "stateful": True, "end_offset_sum": 2**63 - 3}],
        "instances": [
            {"process_id": process_id, "consumers": [{"consumer_id": f"{process_id}-StreamThread-1"}]}
            for process_id in _IDS
        ],
        "lags": [{"process_id": process_id, "task_id": "0_0", "lag": UNKNOWN} for process_id in _IDS[:2]],
    }
    return snapshot_from_row(row, "unknown-offsets")


def _without_limit() -> Snapshot:
    """0_0 runs on a third instance, and of all that can be told of the copies is that each counts as caught up."""
    given = _two_unknown_offsets()
    owner = Copy(2, LATEST, (2,))
    [task], [copies] = given.state.group.tasks, given.state.copies
    group = Group.of("unlimited", [replace(task, end_offset_sum=MAX_LONG)], list(given.state.group.instances))
    behind = tuple(copy._replace(remaining=MAX_LONG) for copy in copies)
    holdings = (Holding(), Holding(), Holding(active=(0,)))
    state = replace(given.state, group=group, holdings=holdings, copies=((*behind, owner),))
    return replace(given, state=state, config=replace(given.config, acceptable_recovery_lag=MAX_LONG))


@example(snapshot=_without_limit(), rates=Rates(restore_per_instance=0.5))
@example(snapshot=_two_unknown_offsets(), rates=Rates(restore_per_instance=0.5))
@given(snapshot=snapshots(), rates=st.builds(Rates, restore_per_instance=st.sampled_from([None, 0.5, 100.0])))
def test_a_plan_goes_on_with_what_follows_from_the_last_decision(snapshot: Snapshot, rates: Rates) -> None:
    snapshot = replace(snapshot, rates=rates)
    whole = plan(snapshot, max_rounds=60, floor=False, ranges=False)
    after = plan(_after(snapshot, 0), max_rounds=59)
    assert broken_invariants(after) == ()
    nobody_knows = any(note.code == "copies-maybe-ready" for note in after.assumptions)
    if whole.verdict.kind == "settled" and whole.rounds and rates.any_restore and not nobody_knows:
        if len(whole.rounds) == 1 and after.rounds:
            assert _is_by_hand(after)
            return
        assert _goes_on_as(whole, after, 0)
        assert after.final == whole.final
        assert (after.verdict.kind, after.target) == ("settled", whole.target)
        assert after.generation == whole.generation + 1


def test_what_was_reported_as_running_and_runs_nowhere_has_nothing_to_restore() -> None:
    """The decision at hand tells nothing of who runs it, so that it begins as state that is left over."""
    owner = Copy(0, LATEST, (0,))
    unknown = _two_unknown_offsets()
    state = replace(unknown.state, copies=((owner,),))
    decision = KnownDecision(generation=4, at_ms=None, consumers=None, probing_rebalance=None)
    for reporters in ((0,), (1,)):
        left_over = replace(state, copies=((owner._replace(reporters=reporters),),))
        result = plan(replace(unknown, state=left_over, decision=decision))
        [start, *_] = [step for rnd in result.rounds for step in rnd.steps if isinstance(step, HandOver)]
        assert (start.to.process_id, start.restore_records) == (_IDS[0], 0)


def _is_by_hand(after: Plan) -> bool:
    """Tell whether a plan begins with a rebalance that nothing calls for, though Kafka might decide otherwise in it."""
    first = after.rounds[0]
    return (first.trigger, first.at_ms, list(first.member_steps)) == (Trigger.MANUAL, 0, [])


def test_a_rebalance_that_nothing_calls_for_may_move_what_has_settled() -> None:
    """Kafka has decided, and probes for nothing; in a rebalance now it would prefer the other copy of unknown offset.

    The instance that has nothing took part in that decision: it does not join now.
    """
    snapshot = replace(_two_unknown_offsets(), rates=Rates(restore_per_instance=0.5))
    whole, after = plan(snapshot, max_rounds=60), plan(_after(snapshot, 0), max_rounds=59)
    assert (len(whole.rounds), whole.verdict.kind) == (1, "settled")
    assert len(after.rounds) > 1
    assert _is_by_hand(after)


@pytest.mark.parametrize("ago_ms", [0, 40_000, 63_000])
@pytest.mark.parametrize("before", [WITHHOLDS, PROBES])
def test_the_time_since_the_last_decision_counts(before: Snapshot, ago_ms: int) -> None:
    whole, after = plan(before), plan(_after(before, ago_ms))
    first = after.rounds[0]
    assert first.trigger is whole.rounds[1].trigger
    assert first.at_ms == max(0, whole.rounds[1].at_ms - ago_ms)
    assert [note.code for note in after.assumptions][:1] == ["goes-on"]
    assert after.digest != whole.digest
    assert broken_invariants(after) == ()


def test_who_stops_while_a_probing_rebalance_is_due_is_noticed_first() -> None:
    after = _after(PROBES, 1_000)
    due = plan(after).rounds[0]
    assert due.trigger is Trigger.PROBING
    stopped = PROBES.state.group.instances[0].process_id
    result = plan(after, scenario=Scenario(events=(Stop(at_ms=0, process_ids=(stopped,)),)))
    assert (result.rounds[0].at_ms, result.rounds[0].trigger) == (45_000, Trigger.LEAVE)
    assert due.at_ms > 45_000
    assert broken_invariants(result) == ()


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
@pytest.mark.parametrize("at", [1, 2, 5, -2, -1])
def test_who_is_added_by_hand_joins_now_whatever_is_due(scenario: str, at: int) -> None:
    """The decision says nothing about it; everybody else rejoins with what it has since that decision."""
    of_now = {**captured.rows(scenario, "inputs")[at], "decision": captured.rows(scenario, "observed")[at]}
    came = {"process_id": NEW, "consumers": [{"consumer_id": f"c-{NEW}-StreamThread-1-consumer-1"}]}
    running = snapshot_from_row(of_now, scenario)
    by_hand = snapshot_from_row({**of_now, "instances": [*of_now["instances"], came]}, scenario)
    instance = by_hand.state.group.instances[by_hand.state.group.instance_index[NEW]]
    result = plan(by_hand, floor=False, ranges=False)
    assert result.rounds[0].at_ms <= running.config.heartbeat_interval_ms
    joined = Scenario(events=(Join(at_ms=0, instances=(instance,)),))
    assert _turns(result) == _turns(plan(running, scenario=joined, floor=False, ranges=False))


def _turns(plan: Plan) -> list[tuple[Any, ...]]:
    names = plan.group.consumer_ids
    return [(rnd.trigger, rnd.at_ms, dict(zip(names, rnd.decided, strict=True))) for rnd in plan.rounds]
