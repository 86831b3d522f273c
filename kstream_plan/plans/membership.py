"""Members come and go: the change, the group afterwards, and the steps that state it.

Instances that stay keep what they hold and have on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kstream_plan.model import (
    LATEST,
    NOBODY,
    UNKNOWN,
    Copy,
    Group,
    GroupState,
    Holding,
    Holdings,
    Instance,
    Rates,
    revoked_by,
)
from kstream_plan.model.scenario import Event, SettingValue
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import newcomers
from kstream_plan.plans.rounds import Trigger
from kstream_plan.plans.steps import Drop, MemberJoined, MemberLeft, Reason, ReasonCode, Revoke, Role, Seat, Step


class Departure(NamedTuple):
    """An instance is no member any more; it has not run since ``stopped_at_ms``."""

    process_id: str
    stopped_at_ms: int


class Arrival(NamedTuple):
    """An instance is a member from now on, with the disk of ``disk_of``, a former member, or an empty one.

    Of each task that it ran or had a copy of when it stopped, ``flushed_per_second`` is the rate at which records were
    flushed to that disk since it had the task, and ``lost_records`` the number of records that are lost.
    """

    instance: Instance
    disk_of: str | None = None
    flushed_per_second: float = inf
    lost_records: float = 0

    @property
    def lacks_some(self) -> bool:
        """Whether a part of its state may not be on that disk."""
        return self.lost_records > 0 or self.flushed_per_second < inf


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """What is different from a rebalance on.

    ``event`` is what happened, ``members`` are all instances from then on, ``settings`` new ones.
    """

    at_ms: int
    trigger: Trigger
    event: Event
    members: tuple[Instance, ...]
    departures: tuple[Departure, ...] = ()
    arrivals: tuple[Arrival, ...] = ()
    settings: tuple[tuple[str, SettingValue], ...] = ()


class DiskCopy(NamedTuple):
    """State of one task on the disk of an instance that is no member: how far behind it was at ``at_ms``.

    ``made_at_ms`` as of a copy; ``open_until_ms`` is when the instance stopped, if it was assigned the task then.
    ``backlog`` are the records that the next owner of the task writes at once, since it was not run meanwhile.
    """

    task: int
    lag: int
    at_ms: int
    made_at_ms: int | None = None
    open_until_ms: int | None = None
    backlog: int = 0


Disk: TypeAlias = tuple[DiskCopy, ...]

#: task, from, to (milliseconds) → records written to its changelogs in that time
Produced: TypeAlias = Callable[[int, int, int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipChange:
    """A change from outside as the group takes it in at ``at_ms``.

    ``group`` has the members of then, ``disks`` is what joins with new ones, by process id, ``config`` counts from now
    on; ``produced`` says what was written meanwhile.
    """

    change: GroupChange
    group: Group
    disks: Mapping[str, Disk]
    at_ms: int
    produced: Produced
    config: AssignmentConfig


def taken_in(state: GroupState, taking: MembershipChange) -> tuple[GroupState, list[Step]]:
    """Return the group after departures and arrivals, and the steps that state them."""
    change = taking.change
    emptied = frozenset(departure.process_id for departure in change.departures)
    steps = [*membership_steps(change), *given_up(state, taking.group, emptied)]
    return regrouped(state, taking.group, emptied, taking.disks, taking.at_ms, taking.produced), steps


def first_joined(state: GroupState) -> tuple[Step, ...]:
    """Return a step for every instance that a snapshot shows as new."""
    reason = Reason(ReasonCode.MEMBERSHIP)
    return tuple(MemberJoined(state.group.instances[instance].process_id, reason) for instance in newcomers(state))


def membership_steps(change: GroupChange) -> list[Step]:
    """Return the steps of departures, then those of arrivals."""
    reason = Reason(ReasonCode.MEMBERSHIP)
    return [
        *(MemberLeft(departure.process_id, departure.stopped_at_ms, reason) for departure in change.departures),
        *(MemberJoined(arrival.instance.process_id, reason) for arrival in change.arrivals),
    ]


def given_up(state: GroupState, group: Group, emptied: frozenset[str]) -> list[Step]:
    """Return the steps that end what stopped threads of remaining instances held."""
    old, holdings, steps = state.group, tuple(state.holdings), list[Step]()
    present, reason = set(group.consumer_ids), Reason(ReasonCode.THREAD_STOPPED)
    for consumer, consumer_id in enumerate(old.consumer_ids):
        process_id = old.instances[old.instance_of[consumer]].process_id
        if consumer_id in present or process_id in emptied:
            continue
        for role in Role:
            for task in getattr(holdings[consumer], role.value):
                seat, task_id = Seat(process_id, consumer_id, role), old.tasks[task].task_id
                steps.append((Revoke if role is Role.ACTIVE else Drop)(task_id, seat, reason))
    return steps


def disk_of(state: GroupState, instance: int, stopped_at_ms: int, at_ms: int, produced: Produced) -> Disk:
    """Return the disk of an instance that has not run since ``stopped_at_ms``; ``at_ms`` is now.

    Nothing was written to the changelog of a task that it ran itself: the next owner writes at once all that was to be
    processed meanwhile. What it held as a copy has fallen behind.
    """
    disk_copies = []
    for task in state.group.stateful:
        for copy in state.copies[task]:
            if copy.instance == instance:
                records_behind = 0 if copy.active else produced(task, stopped_at_ms, at_ms)
                whole = state.group.tasks[task].end_offset_sum
                lag = UNKNOWN if copy.lag == UNKNOWN else min(max(copy.remaining, records_behind), whole)
                open_until_ms = None if copy.consumer is None else stopped_at_ms
                backlog = state.waiting.get(task, 0)
                disk_copies.append(DiskCopy(task, lag, at_ms, copy.made_at_ms, open_until_ms, backlog))
    return tuple(disk_copies)


def left_of(disk: Disk, group: Group, arrival: Arrival) -> Disk:
    """Return the disk that an instance comes back with, as far as it is not lost.

    What it no longer was assigned was closed, and so is whole. If only a part was flushed since it had a task, and
    since when it had that is unknown, nothing of the task is left.
    """
    return tuple(_left_of(copy, group, arrival) for copy in disk) if arrival.lacks_some else disk


def _left_of(copy: DiskCopy, group: Group, arrival: Arrival) -> DiskCopy:
    if copy.open_until_ms is None:
        return copy
    lag, whole = copy.lag, group.tasks[copy.task].end_offset_sum
    if arrival.flushed_per_second < inf:
        held_ms = 0 if copy.made_at_ms is None else max(0, copy.open_until_ms - copy.made_at_ms)
        lag = max(lag, whole - int(arrival.flushed_per_second * held_ms / 1000))
    if lag != UNKNOWN or arrival.lost_records == inf:
        lag = int(min(whole, max(lag, 0) + arrival.lost_records))
    return copy._replace(lag=lag)


def regrouped(
    state: GroupState, group: Group, emptied: frozenset[str], disks: Mapping[str, Disk], at_ms: int, produced: Produced
) -> GroupState:
    """Return ``state`` for the members of ``group``, which has the same tasks.

    ``emptied`` are the process ids of members that are gone, or back after having been gone: nothing is held by them.
    ``disks`` is what joins with new members, by process id; it counts as left over since now.
    """
    old = state.group
    consumers = _new_consumers(old, group, emptied)
    instances = [
        None if instance.process_id in emptied else group.instance_index.get(instance.process_id)
        for instance in old.instances
    ]
    previous_holdings = Holdings.of(old, state.holdings)
    holdings = [Holding()] * len(group.consumer_ids)
    for consumer, holding in zip(consumers, previous_holdings.stateful, strict=True):
        if consumer is not None:
            holdings[consumer] = holding
    brought = _brought(group, disks, at_ms, produced)
    touched = {
        old_index
        for old_index, new_index in enumerate(instances)
        if new_index != old_index
        or any(consumers[consumer_index] != consumer_index for consumer_index in old.consumers_of[old_index])
    }
    copies = {
        task: tuple(sorted([*_remaining_copies(of_task, instances, consumers, at_ms), *brought.get(task, ())]))
        for task, of_task in enumerate(state.copies)
        if task in brought or not touched.isdisjoint([copy.instance for copy in of_task])
    }
    leader = None if state.leader is None else instances[state.leader]
    index_of = {consumer_id: consumer for consumer, consumer_id in enumerate(group.consumer_ids)}
    return state.regrouped(
        group=group,
        holdings=previous_holdings.renumbered(
            tuple(holdings),
            group,
            [NOBODY if consumer is None else consumer for consumer in consumers],
            [index_of.get(consumer_id, NOBODY) for consumer_id in old.consumer_ids],
        ),
        copies=copies,
        revoked=MappingProxyType(_revoking_instances(state, previous_holdings, instances)),
        leader=min((index for index in instances if index is not None), default=0) if leader is None else leader,
    )


def _revoking_instances(
    state: GroupState, previous_holdings: Holdings, instances: Sequence[int | None]
) -> dict[int, int]:
    """Return which instance has just given up each task, of the stateless ones too: their codes name consumers."""
    places = (previous_holdings.owners < NOBODY).nonzero()[0].tolist()
    given_up_by = {
        previous_holdings.stateless[place]: revoked_by(int(previous_holdings.owners[place])) for place in places
    }
    old_instances = {task: state.group.instance_of[consumer] for task, consumer in given_up_by.items()} | dict(
        state.revoked
    )
    new_instances = {
        task: NOBODY if old_index == NOBODY else instances[old_index] for task, old_index in old_instances.items()
    }
    return {
        task: NOBODY if instance is None else instance
        for task, instance in new_instances.items()
        if instance is not None or task in given_up_by
    }


def moved_rates(rates: Rates, old: Group, new: Group) -> Rates:
    """Return the same rates by the indices of another group with the same tasks.

    Where rates were measured, an instance that was not measured counts as restoring at the median of the others.
    """
    new_index_of = {
        old_index: new.instance_index.get(instance.process_id) for old_index, instance in enumerate(old.instances)
    }

    def by_new_index(by_instance: Mapping[int, float]) -> dict[int, float]:
        return {
            index: rate for old_index, rate in by_instance.items() if (index := new_index_of[old_index]) is not None
        }

    usual = rates.usual_restore
    usual_rates = {} if usual is None else dict.fromkeys(range(len(new.instances)), usual)
    return replace(
        rates,
        restore=usual_rates | by_new_index(rates.restore),
        restore_of=by_new_index(rates.restore_of),
        restore_at_least=by_new_index(rates.restore_at_least),
    )


def _new_consumers(old: Group, new: Group, emptied: frozenset[str]) -> Sequence[int | None]:
    return [None if consumer[0] in emptied else new.consumer_index.get(consumer) for consumer in old.consumer_index]


def _remaining_copies(
    copies: tuple[Copy, ...], instances: Sequence[int | None], consumers: Sequence[int | None], at_ms: int
) -> list[Copy]:
    remaining_copies = []
    for copy in copies:
        instance = instances[copy.instance]
        if instance is None:
            continue
        consumer = None if copy.consumer is None else consumers[copy.consumer]
        reporters = tuple(
            new_reporter for reporter in copy.reporters if (new_reporter := consumers[reporter]) is not None
        )
        new_copy = copy._replace(instance=instance, reporters=reporters, consumer=consumer)
        if consumer is None and copy.consumer is not None:  # its thread is gone, the instance is not
            new_copy = new_copy._replace(lag=0 if copy.lag == LATEST else copy.lag, active=False, lost_at_ms=at_ms)
        remaining_copies.append(new_copy)
    return remaining_copies


def _brought(group: Group, disks: Mapping[str, Disk], at_ms: int, produced: Produced) -> dict[int, list[Copy]]:
    """Return the copies of new members, reported by the first thread of each: it is the first to lock directories."""
    copies_by_task: dict[int, list[Copy]] = {}
    for process_id, disk in disks.items():
        instance = group.instance_index[process_id]
        first = group.consumers_of[instance].start
        for task, lag, since_ms, made_at_ms, _, backlog in disk:
            whole = group.tasks[task].end_offset_sum
            written_records = produced(task, since_ms, at_ms) + (backlog if at_ms > since_ms else 0)
            current_lag = lag if lag == UNKNOWN else min(lag + written_records, whole)
            remaining = whole if current_lag == UNKNOWN else current_lag
            copy = Copy(instance, current_lag, (first,), remaining, None, False, -1, at_ms, made_at_ms)
            copies_by_task.setdefault(task, []).append(copy)
    return copies_by_task
