"""What the generations between two sides of a history tell, by their own times: pauses and restores as seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kstream_plan.comparison.changes import Between, Side, Start, TaskChange, TaskClass
from kstream_plan.comparison.diff import compare
from kstream_plan.model import LATEST, UNKNOWN, WorkId
from kstream_plan.snapshots.rows.measured_rates import progress
from kstream_plan.snapshots.rows.times import parse_time


def history_course(sides: Sequence[Side]) -> Between:
    """Return what the generations between two tell, the two included: each move with the lags it was decided by.

    The decision that led to a side is of the time of the side before it. A task that was withheld stood still from
    that decision to the one that gave it out. Since when those tasks stood still whose instance had gone is not told.
    """
    starts: dict[WorkId, Start] = {}
    pauses_ms: dict[WorkId, int] = {}
    holders: dict[WorkId, frozenset[str]] = {}
    stopped_ms: dict[WorkId, int | None] = {}
    left: dict[WorkId, None] = {}
    detours: dict[WorkId, None] = {}
    restored: int | None = 0
    for before, after in pairwise(sides):
        at_ms = None if before.captured_at is None else parse_time(before.captured_at)
        found = compare(before, after)
        for change in found.tasks:
            if _instance_left(change, after):
                left[change.task_id] = None
            paused_ms = _paused_ms(change, after, stopped_ms, at_ms)
            pauses_ms[change.task_id] = pauses_ms.get(change.task_id, 0) + paused_ms
            if change.kind is TaskClass.ORPHANED:
                stopped_ms[change.task_id] = at_ms
                holders[change.task_id] = _holders(before, change.task_id)
            if change.start is not None and change.to is not None:
                withheld = change.from_ is None and change.task_id in holders
                held = change.to.process_id in holders[change.task_id] if withheld else change.start.held
                detours |= {change.task_id: None} if change.task_id in starts else {}
                starts[change.task_id] = change.start._replace(held=held)
        seen = found.totals.restore_records if after.copies is None else _restored(before, after)
        restored = None if restored is None or seen is None else restored + seen
    return Between(
        starts=starts,
        pauses_ms=pauses_ms,
        seen=True,
        restore_records=restored,
        left=tuple(map(str, left)),
        detours=tuple(detours),
    )


def _instance_left(change: TaskChange, after: Side) -> bool:
    return change.from_ is not None and change.from_.process_id not in after.group.instance_index


def _paused_ms(change: TaskChange, after: Side, stopped_ms: dict[WorkId, int | None], at_ms: int | None) -> int:
    """Return how long a task had stood still that starts again, as far as that was seen, else as it is expected."""
    if change.kind is TaskClass.ORPHANED or _instance_left(change, after):
        return 0
    if change.from_ is None and change.to is not None and change.task_id in stopped_ms:
        since_ms = stopped_ms.pop(change.task_id)
        if since_ms is not None and at_ms is not None:
            return max(at_ms - since_ms, 0)
        return after.config.heartbeat_interval_ms
    return change.pause_ms


def _restored(before: Side, after: Side) -> int | None:
    """Return what all copies restored between the reports of two sides; ``None`` if an end offset is not known."""
    total, ran = 0, {before.group.tasks[task].task_id for held in before.holdings for task in held.active}
    for task_id, process_id in _assigned(after):
        if process_id not in before.group.instance_index or task_id not in before.group.task_index:
            continue
        first, last = _lag(before, task_id, process_id), _lag(after, task_id, process_id)
        old, new = (side.group.tasks[side.group.task_index[task_id]] for side in (before, after))
        if first in (LATEST, UNKNOWN) or last in (None, UNKNOWN):
            continue
        both_known = new.end_offset_known and old.end_offset_known
        written = max(new.end_offset_sum - old.end_offset_sum, 0) if both_known else 0
        lag = 0 if last == LATEST else last or 0
        if first is not None:
            made = progress(first, lag, written, after.config.acceptable_recovery_lag)
            total += 0 if made is None else made.records
        elif old.end_offset_known:
            is_first = last == LATEST and old.task_id not in ran  # what was written is its own
            total += max(old.end_offset_sum - lag + (0 if is_first else written), 0)
        else:
            return None
    return total


def _assigned(side: Side) -> Iterator[tuple[WorkId, str]]:
    """Yield the task and the process of everything with state that is assigned."""
    group = side.group
    for consumer, held in enumerate(side.holdings):
        for task in (task for role in held for task in role):
            if group.tasks[task].stateful:
                yield group.tasks[task].task_id, group.instances[group.instance_of[consumer]].process_id


def _lag(side: Side, task_id: WorkId, process_id: str) -> int | None:
    """Return what a copy reported; ``None`` if nothing."""
    assert side.copies is not None
    instance = side.group.instance_index[process_id]
    return next((copy.lag for copy in side.copies[side.group.task_index[task_id]] if copy.instance == instance), None)


def _holders(side: Side, task_id: WorkId) -> frozenset[str]:
    """The processes that have state of a task: the one that runs it and those that hold a copy."""
    task, group = side.group.task_index[task_id], side.group
    return frozenset(
        group.instances[group.instance_of[consumer]].process_id
        for consumer, held in enumerate(side.holdings)
        if any(task in role for role in held)
    )
