"""The ``tasks`` of a snapshot; its ``instances``, their consumers, and what each consumer is assigned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kstream_plan.model import Consumer, Group, Holding, Instance, Note, Partition, Task, TaskId, is_uuid
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.snapshots.rows import types as written
from kstream_plan.snapshots.rows.fields import FieldError, parse_time, shown

#: The roles a snapshot can tell.
_ROLES = ("active", "standby", "warmup")


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


def normal_process_id(text: str) -> str:
    """Return the one form in which a process id is compared and printed: a UUID in lower case, any other as it is."""
    return text.lower() if is_uuid(text) else text


def read_instances(instance_rows: Sequence[written.Instance]) -> tuple[list[Instance], str | None]:
    """Read ``instances`` without what they are assigned.

    Returns:
        The instances in the order of the row, and the process id of the leader, if one is named.

    Raises:
        FieldError: no instance, no consumer, or one of them or the leader twice.
    """
    if not instance_rows:
        raise FieldError("instances", "holds no instance", "give at least one instance with one consumer")
    instances: dict[str, Instance] = {}
    consumer_places: dict[str, str] = {}
    leader: str | None = None
    for index, instance_row in enumerate(instance_rows):
        try:
            instance = _read_instance(instance_row)
        except FieldError as error:
            raise error.inside(f"instances[{index}]") from None
        if instance.process_id in instances:
            problem = f"is {shown(instance.process_id)}, which is there already"
            raise FieldError(f"instances[{index}].process_id", problem, "give every instance an id of its own")
        if instance_row.leader and leader is not None:
            problem = f"is true, but {shown(leader)} is the leader already"
            raise FieldError(f"instances[{index}].leader", problem, "name one leader")
        for number, consumer in enumerate(instance.consumers):
            _note_place(consumer_places, consumer.consumer_id, f"instances[{index}].consumers[{number}]")
        instances[instance.process_id] = instance
        leader = instance.process_id if instance_row.leader else leader
    return list(instances.values()), leader


def read_starts(instance_rows: Sequence[written.Instance], zero_ms: int | None) -> dict[str, int]:
    """Read the known start times of instances, by process id, in milliseconds counted from ``zero_ms``."""
    if zero_ms is None:
        return {}
    return {
        normal_process_id(instance_row.process_id): parse_time(instance_row.started_at) - zero_ms
        for instance_row in instance_rows
        if instance_row.started_at is not None
    }


def untold_protocols(instance_rows: Sequence[written.Instance]) -> frozenset[str]:
    """Return the ids of the consumers whose protocols a row does not give."""
    consumer_rows = [consumer_row for instance_row in instance_rows for consumer_row in instance_row.consumers or ()]
    return frozenset(consumer_row.consumer_id for consumer_row in consumer_rows if consumer_row.protocols is None)


def read_holdings(instance_rows: Sequence[written.Instance], group: Group) -> tuple[Holding, ...]:
    """Read what every consumer is assigned, by consumer index of ``group`` (whose tasks may be unfinished).

    Raises:
        FieldError: not a task id, an unknown task, two active owners, two copies of one task on one instance.
    """
    holdings = [Holding()] * len(group.consumer_ids)
    consumer_index = {consumer_id: index for index, consumer_id in enumerate(group.consumer_ids)}
    task_index = {str(task.task_id): index for index, task in enumerate(group.tasks)}
    owner_places: dict[int, str] = {}
    for number, instance_row in enumerate(instance_rows):
        copy_places: dict[int, str] = {}
        for position, consumer_row in enumerate(instance_row.consumers or ()):
            place = f"instances[{number}].consumers[{position}]"
            roles = {
                role: _read_role(
                    getattr(consumer_row, role) or (), role, place, group, task_index, copy_places, owner_places
                )
                for role in _ROLES
            }
            holdings[consumer_index[consumer_row.consumer_id]] = Holding(**roles)
    return tuple(holdings)


def _read_instance(instance_row: written.Instance) -> Instance:
    if not instance_row.consumers:
        raise FieldError("consumers", "holds no consumer", "give at least one: an instance has a stream thread")
    consumers = []
    for index, consumer_row in enumerate(instance_row.consumers):
        if consumer_row.protocols == ():
            fix = "name what the consumer supports, or leave it out for cooperative"
            raise FieldError(f"consumers[{index}].protocols", "is empty", fix)
        protocols = {} if consumer_row.protocols is None else {"protocols": consumer_row.protocols}
        consumers.append(
            Consumer(
                consumer_id=consumer_row.consumer_id, group_instance_id=consumer_row.group_instance_id, **protocols
            )
        )
    return Instance(
        process_id=normal_process_id(instance_row.process_id),
        consumers=tuple(consumers),
        host=instance_row.host,
        rack=instance_row.rack,
        client_tags=tuple(sorted((instance_row.client_tags or {}).items())),
    )


def _note_place(places: dict[str, str], consumer_id: str, place: str) -> None:
    if consumer_id in places:
        problem = f"is {shown(consumer_id)}, which is at {places[consumer_id]} already"
        raise FieldError(f"{place}.consumer_id", problem, "give every consumer of the group an id of its own")
    places[consumer_id] = place


def _read_role(
    names: Sequence[str],
    role: str,
    consumer_place: str,
    group: Group,
    task_index: Mapping[str, int],
    copy_places: dict[int, str],
    owner_places: dict[int, str],
) -> tuple[int, ...]:
    tasks = []
    for index, task_name in enumerate(names):
        place = f"{consumer_place}.{role}[{index}]"
        task = task_index.get(task_name)
        if task is None:
            task = _known_task(place, task_name, group)
        if task in copy_places:
            problem = f"is {shown(task_name)}, which is on the same instance already, at {copy_places[task]}"
            raise FieldError(place, problem, "an instance holds a task once, in one role: keep one of them")
        if role == "active":
            if task in owner_places:
                problem = f"is {shown(task_name)}, which is active already, at {owner_places[task]}"
                raise FieldError(place, problem, "a task has one active owner: keep one of them")
            owner_places[task] = place
        copy_places[task] = place
        tasks.append(task)
    return tuple(sorted(tasks))


def _known_task(place: str, value: str, group: Group) -> int:
    task_id = parsed_task_id(place, value)
    if task_id not in group.task_index:
        raise FieldError(
            place, f"is {shown(value)}, which is not in tasks", "add the task to tasks, or take it out here"
        )
    return group.task_index[task_id]
