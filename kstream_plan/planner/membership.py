"""A group after a change of members: who stays keeps what it holds and has on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kstream_plan.model import LATEST, NOBODY, UNKNOWN, Copy, Group, GroupState, Holding, Holdings, Rates, revoked_by


class DiskCopy(NamedTuple):
    """State of one task on the disk of an instance that is no member: how far behind it was at ``at_ms``."""

    task: int
    lag: int
    at_ms: int


Disk: TypeAlias = tuple[DiskCopy, ...]

#: task, from, to (milliseconds) → records written to its changelogs in that time
Produced: TypeAlias = Callable[[int, int, int], int]


def disk_of(state: GroupState, instance: int, stopped_at_ms: int, at_ms: int, produced: Produced) -> Disk:
    """Return what an instance leaves with that has not run since ``stopped_at_ms``; ``at_ms`` is now.

    Nobody writes to the changelog of a task that it ran itself; what it held as a copy has fallen behind meanwhile.
    """
    found = []
    for task in state.group.stateful:
        for copy in state.copies[task]:
            if copy.instance == instance:
                behind = 0 if copy.active else produced(task, stopped_at_ms, at_ms)
                whole = state.group.tasks[task].end_offset_sum
                lag = UNKNOWN if copy.lag == UNKNOWN else min(max(copy.remaining, behind), whole)
                found.append(DiskCopy(task, lag, at_ms))
    return tuple(found)


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
    before = Holdings.of(old, state.holdings)
    holdings = [Holding()] * len(group.consumer_ids)
    for consumer, held in zip(consumers, before.stateful, strict=True):
        if consumer is not None:
            holdings[consumer] = held
    brought = _brought(group, disks, at_ms, produced)
    copies = tuple(
        tuple(sorted([*_kept(of_task, instances, consumers, at_ms), *brought.get(task, ())]))
        for task, of_task in enumerate(state.copies)
    )
    leader = None if state.leader is None else instances[state.leader]
    index_of = {consumer_id: consumer for consumer, consumer_id in enumerate(group.consumer_ids)}
    return replace(
        state,
        group=group,
        holdings=before.renumbered(
            tuple(holdings),
            group,
            [NOBODY if consumer is None else consumer for consumer in consumers],
            [index_of.get(consumer_id, NOBODY) for consumer_id in old.consumer_ids],
        ),
        copies=copies,
        revoked=MappingProxyType(_revoked(state, before, instances)),
        leader=min((i for i in instances if i is not None), default=0) if leader is None else leader,
    )


def _revoked(state: GroupState, before: Holdings, instances: Sequence[int | None]) -> dict[int, int]:
    """Return which instance has just given up each task, of the stateless ones too: their codes name consumers."""
    places = (before.owners < NOBODY).nonzero()[0].tolist()
    given_up_by = {before.stateless[place]: revoked_by(int(before.owners[place])) for place in places}
    found = {task: state.group.instance_of[consumer] for task, consumer in given_up_by.items()} | dict(state.revoked)
    moved = {task: NOBODY if i == NOBODY else instances[i] for task, i in found.items()}
    return {
        task: NOBODY if instance is None else instance
        for task, instance in moved.items()
        if instance is not None or task in given_up_by
    }


def moved_rates(rates: Rates, old: Group, new: Group) -> Rates:
    """Return the same rates by the indices of another group with the same tasks.

    Where rates were measured, an instance that was not measured counts as restoring at the median of the others.
    """
    index = {i: new.instance_index.get(instance.process_id) for i, instance in enumerate(old.instances)}

    def moved(by_instance: Mapping[int, float]) -> dict[int, float]:
        return {to: rate for i, rate in by_instance.items() if (to := index[i]) is not None}

    usual = rates.usual_restore
    others = {} if usual is None else dict.fromkeys(range(len(new.instances)), usual)
    return replace(
        rates,
        restore=others | moved(rates.restore),
        restore_of=moved(rates.restore_of),
        restore_at_least=moved(rates.restore_at_least),
    )


def _new_consumers(old: Group, new: Group, emptied: frozenset[str]) -> Sequence[int | None]:
    return [None if of[0] in emptied else new.consumer_index.get(of) for of in old.consumer_index]


def _kept(
    copies: tuple[Copy, ...], instances: Sequence[int | None], consumers: Sequence[int | None], at_ms: int
) -> list[Copy]:
    kept = []
    for copy in copies:
        instance = instances[copy.instance]
        if instance is None:
            continue
        consumer = None if copy.consumer is None else consumers[copy.consumer]
        reporters = tuple(of for reporter in copy.reporters if (of := consumers[reporter]) is not None)
        moved = copy._replace(instance=instance, reporters=reporters, consumer=consumer)
        if consumer is None and copy.consumer is not None:  # its thread is gone, the instance is not
            moved = moved._replace(lag=0 if copy.lag == LATEST else copy.lag, active=False, lost_at_ms=at_ms)
        kept.append(moved)
    return kept


def _brought(group: Group, disks: Mapping[str, Disk], at_ms: int, produced: Produced) -> dict[int, list[Copy]]:
    """What comes with new members, reported by the first thread of each: it is the first to lock the directories."""
    found: dict[int, list[Copy]] = {}
    for process_id, disk in disks.items():
        instance = group.instance_index[process_id]
        first = group.consumers_of[instance].start
        for task, lag, since_ms in disk:
            whole = group.tasks[task].end_offset_sum
            now = lag if lag == UNKNOWN else min(lag + produced(task, since_ms, at_ms), whole)
            found.setdefault(task, []).append(
                Copy(instance, now, (first,), whole if now == UNKNOWN else now, None, False, -1, at_ms)
            )
    return found
