"""What happens from outside later in a plan, where nobody knows how fast copies restore: at worst none is ready yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from kstream_plan.designs.classic.design import Classic
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import ScenarioError
from kstream_plan.model import (
    LATEST,
    Consumer,
    Copy,
    Group,
    GroupState,
    Holding,
    Instance,
    Rates,
    Snapshot,
    Task,
    TaskId,
)
from kstream_plan.model.scenario import (
    Bounce,
    Burst,
    ConfigChange,
    Event,
    Leave,
    ProduceRate,
    RestoreRate,
    Return,
    Scenario,
    Stop,
)
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Plan
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard, Status
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.simulation.safe_pause import is_safe
from kstream_plan.snapshots.leader_log.history import checked_rows
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.check_cases import NOW
from tests.helpers.recorded_events import generations
from tests.helpers.stateful_groups import stateful_case

PROBING_MS = 60_000
RECORDS = 5_000


def two_instances(lag: int | None) -> Snapshot:
    """Each runs a task, and has a standby of the other's that is behind by ``lag``; ``None``: there are no standbys."""
    instances = [Instance(process_id=name, consumers=(Consumer(consumer_id=f"{name}-1"),)) for name in ("a", "b")]
    tasks = [
        Task(task_id=TaskId(0, number), stateful=True, end_offset_sum=RECORDS, end_offset_known=True)
        for number in range(2)
    ]
    copies = []
    for task in range(2):
        items = [Copy(task, LATEST, (task,), 0, task, True, -1)]
        items += [] if lag is None else [Copy(1 - task, lag, (1 - task,), lag, 1 - task, False, -1)]
        copies.append(tuple(sorted(items)))
    holdings = tuple(Holding(active=(task,), standby=() if lag is None else (1 - task,)) for task in range(2))
    state = GroupState(
        group=Group.of("orders", tasks, instances),
        generation=5,
        at_ms=0,
        holdings=holdings,
        copies=tuple(copies),
        leader=0,
    )
    config = AssignmentConfig(
        num_standby_replicas=1,
        acceptable_recovery_lag=100,
        probing_rebalance_interval_ms=PROBING_MS,
        session_timeout_ms=10_000,
    )
    return Snapshot(state=state, config=config, rates=Rates())


def after(snapshot: Snapshot, *events: Event, rate: float | None = None) -> Plan:
    return plan(replace(snapshot, rates=Rates(restore_per_instance=rate)), scenario=Scenario(events=events))


def stopped(at_ms: int) -> Stop:
    return Stop(at_ms=at_ms, process_ids=("a",))


def kept(plan: Plan, **limits: int) -> Mapping[str, bool]:
    policy = Policy({name: Limit(value) for name, value in limits.items()})
    found = check_plan(plan, Standard(policy, NOW)).findings
    return {finding.rule: finding.status is Status.PASSED for finding in found if finding.rule in limits}


def test_a_standby_that_a_plan_places_may_not_be_ready_when_somebody_stops_later() -> None:
    result = after(two_instances(None), stopped(200_000))
    assert (result.summary.cold_handovers, result.ends("cold_handovers")) == (0, (0, 1))
    assert result.ends("restored_records")[1] >= 2 * RECORDS + RECORDS
    assert kept(result, max_cold_handovers=0, max_pause_per_task=3_600_000) == {
        "max_cold_handovers": False,
        "max_pause_per_task": False,
    }
    assert not is_safe(result)
    assert after(two_instances(None), stopped(200_000), rate=1.0).summary.cold_handovers == 1
    assert after(two_instances(None), stopped(200_000), rate=1_000.0).summary.cold_handovers == 0


@pytest.mark.parametrize("lag", [0, 100])
def test_a_standby_that_was_seen_to_be_close_is_likely_ready_later_as_well_and_that_proves_nothing(lag: int) -> None:
    result = after(two_instances(lag), stopped(200_000))
    assert (result.summary.cold_handovers, result.ends("cold_handovers")) == (0, (0, 1))
    assert kept(result, max_cold_handovers=0) == {"max_cold_handovers": False}


def test_what_moved_by_then_may_not_have_moved() -> None:
    """Who ran a task stops when it has gone to another copy, if that was ready; else it starts cold."""
    row = checked_rows(generations("duo3"))[-1]
    snapshot = replace(snapshot_from_row(row, "duo3"), rates=Rates())
    for one in snapshot.state.group.instances:
        gone = Leave(at_ms=200_000, process_ids=(one.process_id,))
        most = after(snapshot, gone).ends("cold_handovers")[1]
        assert all(after(snapshot, gone, rate=rate).summary.cold_handovers <= most for rate in (0.1, 1, 10, 1e6))


@pytest.mark.parametrize("at_ms", [0, 90_000, 200_000])
@pytest.mark.parametrize("host", ["i1", "i2", "i3"])
def test_a_recorded_group_has_as_many_cold_starts_at_worst_as_at_any_rate(host: str, at_ms: int) -> None:
    snapshot = replace(snapshot_from_row(checked_rows(generations("big"))[28], "big"), rates=Rates())
    (process_id,) = [one.process_id for one in snapshot.state.group.instances if one.host == host]
    events: tuple[Event, ...] = (
        Stop(at_ms=at_ms, process_ids=(process_id,)),
        Bounce(at_ms=at_ms, process_ids=(process_id,), restart_ms=5_000),
    )
    for event in events:
        unknown = after(snapshot, event)
        most = unknown.ends("cold_handovers")[1]
        assert all(after(snapshot, event, rate=rate).summary.cold_handovers <= most for rate in (1, 100, 400, 1e6))
        if most:
            assert kept(unknown, max_cold_handovers=most - 1) == {"max_cold_handovers": False}


def test_two_of_four_are_told_no_more() -> None:
    snapshot = replace(snapshot_from_row(checked_rows(generations("big"))[28], "big"), rates=Rates())
    (process_id,) = [one.process_id for one in snapshot.state.group.instances if one.host == "i3"]
    stop = Stop(at_ms=200_000, process_ids=(process_id,))
    result = after(snapshot, stop)
    assert after(snapshot, stop, rate=1.0).summary.cold_handovers == 4
    assert result.summary.cold_handovers == 2
    assert result.ends("cold_handovers")[1] >= 4
    assert kept(result, max_cold_handovers=2) == {"max_cold_handovers": False}


def _unrated(seed: int) -> tuple[Snapshot, Scenario] | None:
    """A random group and what happens to it, but for what changes rates, or is written at once."""
    snapshot, scenario = stateful_case(seed)
    if scenario is None:
        return None
    kept_events = [event for event in scenario.events if not isinstance(event, RestoreRate | Burst | ProduceRate)]
    return replace(snapshot, rates=Rates()), with_random_ids(
        Scenario(events=tuple(kept_events)), snapshot.state.group, 0
    )


@pytest.mark.parametrize("part", range(4))
def test_random_groups_start_no_more_cold_if_nothing_restores_at_all(part: int) -> None:
    """A thousandth of a record a second, at which nobody comes any closer by what happens next."""
    seen = 0
    for seed in range(part, 100, 4):
        case = _unrated(seed)
        if case is None:
            continue
        snapshot, scenario = case
        slow = replace(snapshot, rates=Rates(restore_per_instance=0.001))
        try:
            least, most = plan(snapshot, scenario=scenario, floor=False).ends("cold_handovers")
            result = plan(slow, scenario=scenario, floor=False, ranges=False, max_rounds=200)
        except ScenarioError:
            continue
        assert result.summary.cold_handovers <= most, f"seed {seed}"
        seen += least < most
    assert seen > 0


@pytest.mark.parametrize("at_ms", [None, 0, 40_000])
def test_nothing_else_is_told_where_nothing_happens_later(at_ms: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    events = () if at_ms is None else (stopped(at_ms),)
    result = plan_json(after(two_instances(None), *events), full=True)
    monkeypatch.setattr(Classic, "ready_last", Classic.at_probes)
    assert plan_json(after(two_instances(None), *events), full=True) == result


def test_probes_are_counted_by_the_shortest_interval() -> None:
    slow = two_instances(None)
    slow = replace(slow, config=replace(slow.config, probing_rebalance_interval_ms=600_000))
    sooner = ConfigChange(at_ms=0, settings=(("probing_rebalance_interval_ms", PROBING_MS),))
    assert after(slow, sooner, stopped(200_000)).ends("cold_handovers") == (0, 1)


def test_what_waits_for_thousands_of_probes_is_not_played_and_keeps_to_no_rule() -> None:
    day_ms = 86_400_000
    assert after(two_instances(None), stopped(day_ms)).ends("cold_handovers") == (0, 1)
    late = after(two_instances(None), stopped(30 * day_ms))
    assert not late.tells_ends
    assert "43,200 probes" in " ".join(note.message for note in late.warnings)
    assert kept(late, max_cold_handovers=0) == {"max_cold_handovers": False}
    assert after(two_instances(0), stopped(30 * day_ms)).tells_ends, "nothing waits for a probe"


@pytest.mark.parametrize("at_ms", [0, 200_000])
@pytest.mark.parametrize("row", [28, 39])
def test_on_either_side_of_the_time_out_copies_may_not_be_ready(row: int, at_ms: int) -> None:
    """Back just within it, or beyond it: what is told of the one takes in what comes of the other at any rate."""
    snapshot = replace(snapshot_from_row(checked_rows(generations("big"))[row], "big"), rates=Rates())
    for one in snapshot.state.group.instances:

        def away(ms: int, text: str = one.process_id) -> tuple[Event, ...]:
            return Stop(at_ms=at_ms, process_ids=(text,)), Return(at_ms=at_ms + ms, process_ids=(text,))

        most = after(snapshot, *away(snapshot.config.session_timeout_ms - 2_000)).ends("cold_handovers")[1]
        beyond = away(snapshot.config.session_timeout_ms + 4_000)
        assert all(after(snapshot, *beyond, rate=rate).summary.cold_handovers <= most for rate in (1, 100, 1e6))
