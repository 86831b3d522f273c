"""State on the disks of a streams group: who has how much of it, as time passes and tasks change hands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import compress
from math import inf
from operator import is_not

from kstream_plan.model import Copy, Group, GroupState, Holding
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.plans.restoring import Restoring, Span, may_fall_behind

#: Whether a role of a holding is active, by its place.
_IS_ACTIVE = (True, False, False, False)


def begun(state: GroupState, offsets: Mapping[tuple[int, int], int]) -> GroupState:
    """Return the state with what its copies have to restore when a plan begins.

    Nobody reports the lag of a copy to a streams group. A copy that is assigned counts as caught up, unless a lag row
    says otherwise or ``offsets``, by (task, instance), do.
    """
    tasks = state.group.tasks

    def known(task: int, copy: Copy) -> Copy:
        offset, whole = offsets.get((task, copy.instance)), tasks[task].end_offset_sum
        if copy.active or copy.lag is not None:
            return copy
        left = 0 if offset is None or whole == MAX_LONG else max(0, whole - offset)
        return copy._replace(lag=left, remaining=left)

    found = [[known(task, copy) for copy in of_task] for task, of_task in enumerate(state.copies)]
    for (task, instance), offset in sorted(offsets.items()):
        if tasks[task].stateful and all(copy.instance != instance for copy in found[task]):
            left = max(0, tasks[task].end_offset_sum - offset)
            found[task].append(Copy(instance, left, (), left, lost_at_ms=0))
    return replace(state, copies=tuple(tuple(sorted(of_task)) for of_task in found))


def reseated(
    state: GroupState, consumer: int, before: Holding, after: Holding, at_ms: int, *, in_memory: bool
) -> dict[int, tuple[Copy, ...]]:
    """Return the copies of every task that a consumer has got, given up, or has in another role.

    ``in_memory``: what is given up leaves nothing.
    """
    instance, group = state.group.instance_of[consumer], state.group
    had, has = _roles(before), _roles(after)
    changed = {}
    for task in sorted(had.keys() | has.keys()):
        if not group.stateful_flags[task] or had.get(task) == has.get(task):
            continue
        others = [copy for copy in state.copies[task] if copy.instance != instance]
        copy = next((copy for copy in state.copies[task] if copy.instance == instance), None)
        if task in has:
            whole = group.tasks[task].end_offset_sum
            old = Copy(instance, whole, (), whole) if copy is None else copy
            made_ms = at_ms if copy is None else copy.made_at_ms
            held = old._replace(consumer=consumer, active=has[task], lost_at_ms=None, made_at_ms=made_ms)
            others.append(held._replace(lag=held.remaining))
        elif copy is not None and copy.consumer in (None, consumer):
            if not in_memory:
                others.append(copy._replace(lag=copy.remaining, consumer=None, active=False, lost_at_ms=at_ms))
        elif copy is not None:
            others.append(copy)
        changed[task] = tuple(sorted(others))
    return changed


class Restless:
    """The tasks whose copies may change by themselves; a draft, which follows one group."""

    def __init__(self) -> None:
        self._copies: Sequence[tuple[Copy, ...]] = ()
        #: Of each that may: whether a copy that is assigned restores, and since when the first one is left over.
        self._tasks = dict[int, tuple[bool, float]]()

    def of(self, state: GroupState, *, restores: bool, written: bool, lost_before_ms: int) -> Set[int]:
        """Return those of a state; only copies are looked at that are others than in the last one.

        restores: the restore rate of some instance is known.
        written: something may be written, so that what is left over falls behind.
        lost_before_ms: what is left over since before that is deleted.
        """
        copies, before = state.copies, self._copies
        if len(before) != len(copies):
            self._tasks.clear()
            before = ((),) * len(copies)
        for task in compress(range(len(copies)), map(is_not, copies, before)):
            restoring = any(copy.remaining and copy.consumer is not None for copy in copies[task])
            left_over = [copy.lost_at_ms for copy in copies[task] if copy.consumer is None]
            lost_ms = min((inf if at_ms is None else at_ms for at_ms in left_over), default=inf)
            self._tasks.pop(task, None)
            if restoring or left_over:
                self._tasks[task] = restoring, lost_ms
        self._copies = copies
        return {
            task
            for task, (restoring, lost_ms) in self._tasks.items()
            if written or (restores and restoring) or lost_ms < lost_before_ms
        }


def later(
    state: GroupState,
    spans: Sequence[Span],
    to_ms: int,
    cleanup_ms: int,
    reported_in: Mapping[tuple[int, int], int],
    restless: Restless,
) -> GroupState:
    """Return the state after some time: restored as far as rates are known; what is left over falls behind.

    A copy that has caught up stays so, but for what is written at once, and where more is written than its instance
    restores, or that is stopped. What copies lack, by (task, instance), may be that of a later time than the beginning
    (``reported_in``).
    """
    group, changed = state.group, dict[int, tuple[Copy, ...]]()
    tasks: Iterable[int] = group.stateful
    if not may_fall_behind(spans):
        bursts = {task for span in spans for task in span.burst if group.stateful_flags[task]}
        of_others = restless.of(
            state,
            restores=any(span.rates.any_restore for span in spans),
            written=bool(bursts or state.waiting) or any(span.rates.any_produce for span in spans),
            lost_before_ms=to_ms - cleanup_ms,
        )
        tasks = {*of_others, *state.waiting, *bursts}
    if not tasks:
        return state
    moving = {task: state.copies[task] for task in sorted(tasks)}
    restored = Restoring(group, moving, state.waiting).restore(spans, reported_in)
    for task, copies in moving.items():
        found = []
        for copy in copies:
            if copy.consumer is None:
                if copy.lost_at_ms is not None and to_ms - copy.lost_at_ms > cleanup_ms:
                    continue
                behind = min(
                    copy.remaining + restored.written_records(task, copy.instance), group.tasks[task].end_offset_sum
                )
                found.append(copy._replace(remaining=behind))
            elif restored.is_duration_known(copy.instance, copy.remaining):
                found.append(copy._replace(remaining=restored.remaining_records(task, copy.instance)))
            else:
                found.append(copy)
        if tuple(found) != copies:
            changed[task] = tuple(found)
    if not changed and restored.backlog == state.waiting:
        return state
    after = tuple(changed.get(task, of_task) for task, of_task in enumerate(state.copies))
    return replace(state, copies=after, waiting=restored.backlog)


def to_restore(group: Group, copies: Sequence[Copy], task: int, instance: int) -> int | None:
    """Return what an instance has to restore of a task before it has all of it; ``None`` if nobody knows."""
    whole = group.tasks[task].end_offset_sum
    left = next((copy.remaining for copy in copies if copy.instance == instance), whole)
    return None if left == MAX_LONG else left


def _roles(held: Holding) -> dict[int, bool]:
    return {task: active for tasks, active in zip(held, _IS_ACTIVE, strict=True) for task in tasks}
