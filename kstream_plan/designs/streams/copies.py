"""State on the disks of a streams group: how much each instance has, as time passes and tasks change their owner."""

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


def with_initial_lags(state: GroupState, offsets: Mapping[tuple[int, int], int]) -> GroupState:
    """Return the state with what its copies have to restore when a plan begins.

    A streams group gets no report of a copy's lag. A copy that is assigned counts as caught up, unless a lag row
    says otherwise or ``offsets``, by (task, instance), do.
    """
    tasks = state.group.tasks

    def with_lag(task: int, copy: Copy) -> Copy:
        offset, whole = offsets.get((task, copy.instance)), tasks[task].end_offset_sum
        if copy.active or copy.lag is not None:
            return copy
        remaining = 0 if offset is None or whole == MAX_LONG else max(0, whole - offset)
        return copy._replace(lag=remaining, remaining=remaining)

    copies_by_task = [[with_lag(task, copy) for copy in of_task] for task, of_task in enumerate(state.copies)]
    for (task, instance), offset in sorted(offsets.items()):
        if tasks[task].stateful and all(copy.instance != instance for copy in copies_by_task[task]):
            remaining = max(0, tasks[task].end_offset_sum - offset)
            copies_by_task[task].append(Copy(instance, remaining, (), remaining, lost_at_ms=0))
    return replace(state, copies=tuple(tuple(sorted(of_task)) for of_task in copies_by_task))


def copies_after_change(
    state: GroupState, consumer: int, previous: Holding, current: Holding, at_ms: int, *, in_memory: bool
) -> dict[int, tuple[Copy, ...]]:
    """Return the copies of every task that a consumer has got, given up, or has in another role.

    ``in_memory``: what is given up leaves nothing.
    """
    instance, group = state.group.instance_of[consumer], state.group
    previous_roles, current_roles = _roles(previous), _roles(current)
    copies_by_task = {}
    for task in sorted(previous_roles.keys() | current_roles.keys()):
        if not group.stateful_flags[task] or previous_roles.get(task) == current_roles.get(task):
            continue
        task_copies = [copy for copy in state.copies[task] if copy.instance != instance]
        copy = next((copy for copy in state.copies[task] if copy.instance == instance), None)
        if task in current_roles:
            whole = group.tasks[task].end_offset_sum
            old = Copy(instance, whole, (), whole) if copy is None else copy
            made_ms = at_ms if copy is None else copy.made_at_ms
            assigned_copy = old._replace(
                consumer=consumer, active=current_roles[task], lost_at_ms=None, made_at_ms=made_ms
            )
            task_copies.append(assigned_copy._replace(lag=assigned_copy.remaining))
        elif copy is not None and copy.consumer in (None, consumer):
            if not in_memory:
                task_copies.append(copy._replace(lag=copy.remaining, consumer=None, active=False, lost_at_ms=at_ms))
        elif copy is not None:
            task_copies.append(copy)
        copies_by_task[task] = tuple(sorted(task_copies))
    return copies_by_task


class ChangingTasks:
    """The tasks whose copies may change by themselves; a draft, which follows one group."""

    def __init__(self) -> None:
        self._copies: Sequence[tuple[Copy, ...]] = ()
        #: Of each that may: whether a copy that is assigned restores, and since when the first one is left over.
        self._tasks = dict[int, tuple[bool, float]]()

    def find(self, state: GroupState, *, restores: bool, writes: bool, lost_before_ms: int) -> Set[int]:
        """Return the changing tasks of a state; only copies that differ from the last state are read.

        restores: the restore rate of some instance is known.
        writes: something may be written, so that what is left over falls behind.
        lost_before_ms: what is left over since before that is deleted.
        """
        copies, previous_copies = state.copies, self._copies
        if len(previous_copies) != len(copies):
            self._tasks.clear()
            previous_copies = ((),) * len(copies)
        for task in compress(range(len(copies)), map(is_not, copies, previous_copies)):
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
            if writes or (restores and restoring) or lost_ms < lost_before_ms
        }


def advance_copies(
    state: GroupState,
    spans: Sequence[Span],
    to_ms: int,
    cleanup_ms: int,
    reported_in: Mapping[tuple[int, int], int],
    changing_tasks: ChangingTasks,
) -> GroupState:
    """Return the state after some time: restored as far as rates are known; what is left over falls behind.

    A copy that has caught up stays so, but for what is written at once, and where more is written than its instance
    restores, or that is stopped. What copies lack, by (task, instance), may be that of a later time than the beginning
    (``reported_in``).
    """
    group, changed_copies = state.group, dict[int, tuple[Copy, ...]]()
    tasks: Iterable[int] = group.stateful
    if not may_fall_behind(spans):
        bursts = {task for span in spans for task in span.burst if group.stateful_flags[task]}
        changing = changing_tasks.find(
            state,
            restores=any(span.rates.any_restore for span in spans),
            writes=bool(bursts or state.waiting) or any(span.rates.any_produce for span in spans),
            lost_before_ms=to_ms - cleanup_ms,
        )
        tasks = {*changing, *state.waiting, *bursts}
    if not tasks:
        return state
    moving = {task: state.copies[task] for task in sorted(tasks)}
    progress = Restoring(group, moving, state.waiting).restore(spans, reported_in)
    for task, copies in moving.items():
        task_copies = []
        for copy in copies:
            if copy.consumer is None:
                if copy.lost_at_ms is not None and to_ms - copy.lost_at_ms > cleanup_ms:
                    continue
                remaining = min(
                    copy.remaining + progress.written_records(task, copy.instance), group.tasks[task].end_offset_sum
                )
                task_copies.append(copy._replace(remaining=remaining))
            elif progress.is_duration_known(copy.instance, copy.remaining):
                task_copies.append(copy._replace(remaining=progress.remaining_records(task, copy.instance)))
            else:
                task_copies.append(copy)
        if tuple(task_copies) != copies:
            changed_copies[task] = tuple(task_copies)
    if not changed_copies and progress.backlog == state.waiting:
        return state
    next_copies = tuple(changed_copies.get(task, of_task) for task, of_task in enumerate(state.copies))
    return replace(state, copies=next_copies, waiting=progress.backlog)


def to_restore(group: Group, copies: Sequence[Copy], task: int, instance: int) -> int | None:
    """Return what an instance has to restore of a task before it has all of it; ``None`` if it is unknown."""
    whole = group.tasks[task].end_offset_sum
    remaining = next((copy.remaining for copy in copies if copy.instance == instance), whole)
    return None if remaining == MAX_LONG else remaining


def _roles(holding: Holding) -> dict[int, bool]:
    return {task: active for tasks, active in zip(holding, _IS_ACTIVE, strict=True) for task in tasks}
