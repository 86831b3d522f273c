"""The end of a plan as it is kept, so that it can be planned on from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kstream_plan.model import LATEST, UNKNOWN, Copy, Group, Holding, Rates, Snapshot
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig
from kstream_plan.model.times import format_time
from kstream_plan.planner.membership_timeline import MembershipTimeline
from kstream_plan.plans.design import Rebalance
from kstream_plan.plans.end import EndConsumer, EndCopy, EndInput, EndInstance, EndRate, EndTask, PlanEnd
from kstream_plan.plans.known_rates import GIVEN


def end_of(
    last: Rebalance,
    snapshot: Snapshot,
    now_ms: int,
    outside: MembershipTimeline,
    rates: Rates,
    config: AssignmentConfig,
    *,
    rounds: int,
) -> PlanEnd:
    """Return the end of a plan.

    Args:
        last: the last decision.
        snapshot: what was planned from.
        now_ms: when the plan begins, counted from when the snapshot was taken.
        outside: what happens to the group.
        rates: those of the end, by the indices of the last group.
        config: the settings of the end.
        rounds: how many there are.
    """
    group, at_ms = last.state.group, last.at_ms
    taken_ms = snapshot.captured_at_ms
    changes = [change for change in outside.changes if change.at_ms > at_ms]
    return PlanEnd(
        begins_at=None if taken_ms is None else format_time(taken_ms + now_ms),
        at_ms=at_ms,
        goes_on=rounds > 0,
        to_come=len(changes) + sum(outage.to_ms > at_ms for outage in outside.unnoticed),
        streams_version=config.release or snapshot.streams_version,
        instances=tuple(_instances(last, _start_times(snapshot, now_ms, outside, at_ms))),
        copies=tuple(_copies(last)),
        restore=tuple(restore_rates(group, rates, snapshot)),
        produce=tuple(_produce(group, rates)),
        tasks=tuple(
            EndTask(str(task.task_id), task.source_partitions, task.changelog_partitions)
            for task in (group.tasks if config.rack_aware_assignment_strategy != "none" else ())
        ),
        unprocessed=tuple(_unprocessed(last, snapshot)),
        stores=snapshot.stores,
    )


def _unprocessed(last: Rebalance, snapshot: Snapshot) -> Iterator[EndInput]:
    """Yield the input that waits at the end, and that of the snapshot: how much of it was processed is unknown."""
    first, unprocessed = snapshot.state.group.task_index, last.state.waiting
    for task, kind in enumerate(last.state.group.tasks):
        records = unprocessed.get(task, 0) + snapshot.unwritten.get(first.get(kind.task_id, -1), 0)
        if records:
            yield EndInput(str(kind.task_id), min(records, MAX_LONG))


def _start_times(snapshot: Snapshot, now_ms: int, outside: MembershipTimeline, by_ms: int) -> Mapping[str, int]:
    started_ms = {process_id: at_ms - now_ms for process_id, at_ms in snapshot.started_ms.items()}
    for change in outside.changes:
        if change.at_ms <= by_ms:
            started_ms |= {arrival.instance.process_id: change.at_ms for arrival in change.arrivals}
    return started_ms


def _instances(last: Rebalance, started_ms: Mapping[str, int]) -> Iterator[EndInstance]:
    group, holdings = last.state.group, tuple(last.state.holdings)
    names = [str(task.task_id) for task in group.tasks]

    def consumer(index: int, holding: Holding) -> EndConsumer:
        active, standby, warmup = (
            tuple(names[task] for task in sorted(tasks))
            for tasks in (holding.active, (*holding.standby, *holding.temporary), holding.warmup)
        )
        return EndConsumer(group.consumer_ids[index], active, standby, warmup)

    for index, instance in enumerate(group.instances):
        yield EndInstance(
            instance.process_id,
            index == last.state.leader,
            started_ms.get(instance.process_id),
            tuple(consumer(consumer_index, holdings[consumer_index]) for consumer_index in group.consumers_of[index]),
        )


def _copies(last: Rebalance) -> Iterator[EndCopy]:
    group = last.state.group
    for task, of_task in enumerate(last.state.copies):
        whole = group.tasks[task].end_offset_sum
        for copy in of_task:
            if _runs_as_its_owner_says(copy):
                continue
            implied_lag = {LATEST: 0, UNKNOWN: whole, None: whole}.get(copy.lag, copy.lag)
            to_restore = max(copy.remaining, 0)
            yield EndCopy(
                process_id=group.instances[copy.instance].process_id,
                task_id=str(group.tasks[task].task_id),
                lag=0 if copy.lag == LATEST and not copy.active else copy.lag,
                to_restore=None if to_restore == implied_lag else to_restore,
                consumer_ids=tuple(group.consumer_ids[consumer] for consumer in copy.reporters),
                since_ms=copy.made_at_ms if copy.consumer is not None else copy.lost_at_ms,
                made_ms=copy.made_at_ms,
            )


def _runs_as_its_owner_says(copy: Copy) -> bool:
    return (
        copy.active
        and copy.lag == LATEST
        and not copy.remaining
        and copy.reporters == (copy.consumer,)
        and copy.made_at_ms is None
    )


def restore_rates(group: Group, rates: Rates, snapshot: Snapshot) -> Iterator[EndRate]:
    """Yield the restore rates of the instances of a group, with what ``snapshot`` says each rests on."""
    index = snapshot.state.group.instance_index
    for place, instance in enumerate(group.instances):
        given_rate = rates.restore_of.get(place, rates.restore_per_instance)
        measured_rate, bound = rates.restore.get(place), rates.restore_at_least.get(place)
        snapshot_rates = snapshot.rates
        snapshot_index = index.get(instance.process_id, -1)
        intervals, source = (
            snapshot_rates.restore_intervals.get(snapshot_index, 0),
            snapshot_rates.restore_source.get(snapshot_index, ""),
        )
        if given_rate is not None:
            yield EndRate(instance.process_id, given_rate, 0, False, GIVEN)
        elif measured_rate is not None:
            yield EndRate(instance.process_id, measured_rate, intervals, False, source)
        elif bound is not None:
            yield EndRate(instance.process_id, bound, intervals, True, source)


def _produce(group: Group, rates: Rates) -> Iterator[EndRate]:
    for task in group.stateful:
        if not rates.knows_produce(task):
            continue
        is_given = task in rates.produce_of or rates.produce_per_task is not None
        intervals = 0 if is_given else rates.produce_intervals.get(task, 0)
        source = GIVEN if is_given else rates.produce_source.get(task, "")
        yield EndRate(str(group.tasks[task].task_id), rates.produce_rate(task), intervals, False, source)
