"""The ``tasks`` of a snapshot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kstream_plan.model import Note, Partition, Task, TaskId
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.snapshots.rows import types as written
from kstream_plan.snapshots.rows.fields import FieldError, shown


class TaskRow(NamedTuple):
    """One task as given: ``None`` for what the row leaves open."""

    task_id: TaskId
    stateful: bool | None
    end_offset_sum: int | None
    source_partitions: tuple[Partition, ...]
    changelog_partitions: tuple[Partition, ...]
    input_lag: int | None = None


def read_task_rows(written_tasks: Sequence[written.Task]) -> list[TaskRow]:
    """Read ``tasks``, sorted in Kafka's order.

    Raises:
        FieldError: not a task id, or a task twice.
    """
    tasks: dict[TaskId, TaskRow] = {}
    for index, written_task in enumerate(written_tasks):
        try:
            task = _read_task_row(written_task)
        except FieldError as error:
            raise error.inside(f"tasks[{index}]") from None
        if task.task_id in tasks:
            raise FieldError(
                f"tasks[{index}].task_id", f"is {shown(str(task.task_id))}, which is there already", "keep one of them"
            )
        tasks[task.task_id] = task
    return sorted(tasks.values(), key=lambda task: task.task_id.sort_key)


def parsed_task_id(path: str, text: str) -> TaskId:
    """Return the task id that is written so."""
    try:
        return TaskId.parse(text)
    except ValueError:
        raise FieldError(
            path, f"is {shown(text)}, not a task id", "write subtopology_partition as in 0_3, or name__0_3"
        ) from None


def complete_tasks(
    rows: Sequence[TaskRow], reported_end: Mapping[int, int | None], nothing_logged: Collection[int] = ()
) -> tuple[list[Task], list[Note]]:
    """Settle what the rows leave open.

    Args:
        rows: the tasks, sorted.
        reported_end: for every task (by index) that a lag row is about, its end-offset sum according to the lag rows,
            ``None`` if they do not tell.
        nothing_logged: the tasks (by index) whose lag rows are all about stores without a changelog: they end at 0.

    Returns:
        The tasks, and a warning about those whose end offset is unknown (2^63-1 counts for it).
    """
    stateful = {row.task_id.group for index, row in enumerate(rows) if _says_stateful(row, index in reported_end)}
    tasks = []
    for index, row in enumerate(rows):
        end = 0 if index in nothing_logged and not row.changelog_partitions else reported_end.get(index)
        tasks.append(_complete(row, row.task_id.group in stateful, end))
    unknown = tuple(str(task.task_id) for task in tasks if not task.end_offset_known)
    if not unknown:
        return tasks, []
    message = (
        f"no end offset is known for {len(unknown)} stateful task{'s'[: len(unknown) > 1]}, {unknown[0]} first: "
        "how much they restore is unknown (2^63-1 counts as their end offset)"
    )
    return tasks, [Note("end-offset-unknown", message, unknown)]


def _says_stateful(row: TaskRow, has_lag_row: bool) -> bool:
    """Tell whether a task has state, as far as its own row and those of its lags say."""
    if row.stateful is not None:
        return row.stateful
    return bool(row.changelog_partitions) or row.end_offset_sum is not None or has_lag_row


def _complete(row: TaskRow, in_stateful_subtopology: bool, reported_end: int | None) -> Task:
    """Return a task; ``in_stateful_subtopology``: its subtopology has state, and in Kafka all its tasks then have."""
    end = row.end_offset_sum if row.end_offset_sum is not None else reported_end
    stateful = in_stateful_subtopology if row.stateful is None else row.stateful
    if not stateful and (row.changelog_partitions or row.end_offset_sum):
        problem = f"is false, and {row.task_id} has {_of_changelog(row)}"
        raise FieldError(
            "tasks", f"contradict themselves: stateful {problem}", 'write "stateful": true, or leave the changelog out'
        )
    if in_stateful_subtopology and not stateful:
        contradiction = f"{row.task_id} is not stateful, and others of its subtopology are"
        rule = "all tasks of one have state, or none"
        raise FieldError("tasks", f"contradict themselves: {contradiction}: {rule}", 'write "stateful": true')
    if not stateful:
        end = 0
    return Task(
        task_id=row.task_id,
        stateful=stateful,
        end_offset_sum=MAX_LONG if end is None else min(end, MAX_LONG),
        end_offset_known=end is not None,
        source_partitions=row.source_partitions,
        changelog_partitions=row.changelog_partitions,
    )


def _of_changelog(row: TaskRow) -> str:
    if row.end_offset_sum:
        return f"a changelog of {row.end_offset_sum:,} records"
    return "changelog_partitions"


def _read_task_row(written_task: written.Task) -> TaskRow:
    end_offset_sum = written_task.end_offset_sum
    ends = [partition.end_offset for partition in written_task.changelog_partitions or ()]
    changelog_sum = min(sum(end for end in ends if end is not None), MAX_LONG)
    if end_offset_sum is None and ends and None not in ends:
        end_offset_sum = changelog_sum
    if end_offset_sum is not None and end_offset_sum < changelog_sum:
        problem = f"is {end_offset_sum:,}, less than the {changelog_sum:,} of its changelog_partitions"
        raise FieldError("end_offset_sum", problem, "give the sum of their end offsets, or leave it out")
    return TaskRow(
        parsed_task_id("task_id", written_task.task_id),
        written_task.stateful,
        end_offset_sum,
        _partitions(written_task.source_partitions or ()),
        _partitions(written_task.changelog_partitions or ()),
        written_task.input_lag,
    )


def _partitions(
    partition_rows: Sequence[written.SourcePartition | written.ChangelogPartition],
) -> tuple[Partition, ...]:
    return tuple(
        Partition(partition_row.topic, partition_row.partition, partition_row.racks) for partition_row in partition_rows
    )
