"""The course between two sides of a history: pauses and restores by the times of the generations between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kstream_plan.comparison.changes import ChangeCourse, Side, Start, TaskChange, TaskClass
from kstream_plan.comparison.diff import compare
from kstream_plan.model import LATEST, UNKNOWN, WorkId
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.measured_rates import progress


def history_course(sides: Sequence[Side]) -> ChangeCourse:
    """Return the course from the first to the last side: each move has the lags that decided it.

    The decision that led to a side is of the time of the side before it. A task that was withheld paused from
    that decision to the one that gave it out. Since when tasks paused whose instance had left is unknown.
    """
    starts: dict[WorkId, Start] = {}
    pauses_ms: dict[WorkId, int] = {}
    holders: dict[WorkId, frozenset[str]] = {}
    stopped_ms: dict[WorkId, int | None] = {}
    unknown_pauses: dict[WorkId, None] = {}
    detours: dict[WorkId, None] = {}
    restored_records: int | None = 0
    for old, new in pairwise(sides):
        at_ms = None if old.captured_at is None else parse_time(old.captured_at)
        comparison = compare(old, new)
        for change in comparison.tasks:
            if _instance_left(change, new):
                unknown_pauses[change.task_id] = None
            paused_ms = _paused_ms(change, new, stopped_ms, at_ms)
            pauses_ms[change.task_id] = pauses_ms.get(change.task_id, 0) + paused_ms
            if change.kind is TaskClass.ORPHANED:
                stopped_ms[change.task_id] = at_ms
                holders[change.task_id] = _holders(old, change.task_id)
            if change.start is not None and change.to is not None:
                was_withheld = change.from_ is None and change.task_id in holders
                had_copy = change.to.process_id in holders[change.task_id] if was_withheld else change.start.held
                detours |= {change.task_id: None} if change.task_id in starts else {}
                starts[change.task_id] = change.start._replace(held=had_copy)
        records = comparison.totals.restore_records if new.copies is None else _restored_records(old, new)
        restored_records = None if restored_records is None or records is None else restored_records + records
    return ChangeCourse(
        starts=starts,
        pauses_ms=pauses_ms,
        is_history=True,
        restore_records=restored_records,
        unknown_pauses=tuple(map(str, unknown_pauses)),
        detours=tuple(detours),
    )


def _instance_left(change: TaskChange, new: Side) -> bool:
    return change.from_ is not None and change.from_.process_id not in new.group.instance_index


def _paused_ms(change: TaskChange, new: Side, stopped_ms: dict[WorkId, int | None], at_ms: int | None) -> int:
    """Return how long a task paused that starts again: as seen, else as expected."""
    if change.kind is TaskClass.ORPHANED or _instance_left(change, new):
        return 0
    if change.from_ is None and change.to is not None and change.task_id in stopped_ms:
        since_ms = stopped_ms.pop(change.task_id)
        if since_ms is not None and at_ms is not None:
            return max(at_ms - since_ms, 0)
        return new.config.heartbeat_interval_ms
    return change.pause_ms


def _restored_records(old: Side, new: Side) -> int | None:
    """Return the records that all copies restored between two sides; ``None``: an end offset is unknown."""
    total, old_active_tasks = 0, {old.group.tasks[task].task_id for holding in old.holdings for task in holding.active}
    for task_id, process_id in _assigned_copies(new):
        if process_id not in old.group.instance_index or task_id not in old.group.task_index:
            continue
        first, last = _lag(old, task_id, process_id), _lag(new, task_id, process_id)
        old_task, new_task = (side.group.tasks[side.group.task_index[task_id]] for side in (old, new))
        if first in (LATEST, UNKNOWN) or last in (None, UNKNOWN):
            continue
        both_known = new_task.end_offset_known and old_task.end_offset_known
        written_records = max(new_task.end_offset_sum - old_task.end_offset_sum, 0) if both_known else 0
        lag = 0 if last == LATEST else last or 0
        if first is not None:
            restore_progress = progress(first, lag, written_records, new.config.acceptable_recovery_lag)
            total += 0 if restore_progress is None else restore_progress.records
        elif old_task.end_offset_known:
            is_first = last == LATEST and old_task.task_id not in old_active_tasks  # what was written is its own
            total += max(old_task.end_offset_sum - lag + (0 if is_first else written_records), 0)
        else:
            return None
    return total


def _assigned_copies(side: Side) -> Iterator[tuple[WorkId, str]]:
    """Yield the task id and process id of every assigned copy with state."""
    group = side.group
    for consumer, holding in enumerate(side.holdings):
        for task in (task for role in holding for task in role):
            if group.tasks[task].stateful:
                yield group.tasks[task].task_id, group.instances[group.instance_of[consumer]].process_id


def _lag(side: Side, task_id: WorkId, process_id: str) -> int | None:
    """Return the reported lag of a copy; ``None``: it reported none."""
    assert side.copies is not None
    instance = side.group.instance_index[process_id]
    return next((copy.lag for copy in side.copies[side.group.task_index[task_id]] if copy.instance == instance), None)


def _holders(side: Side, task_id: WorkId) -> frozenset[str]:
    """Return the process ids with state of a task: its owner and those with a copy."""
    task, group = side.group.task_index[task_id], side.group
    return frozenset(
        group.instances[group.instance_of[consumer]].process_id
        for consumer, holding in enumerate(side.holdings)
        if any(task in role for role in holding)
    )
