"""The ``instances`` of a snapshot, their consumers, and what each consumer is assigned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kstream_plan.model import Consumer, Group, Holding, Instance, is_uuid
from kstream_plan.snapshots.rows import types as written
from kstream_plan.snapshots.rows.fields import FieldError, shown
from kstream_plan.snapshots.rows.tasks import parsed_task_id
from kstream_plan.snapshots.rows.times import parse_time

#: The roles a snapshot can tell.
_ROLES = ("active", "standby", "warmup")


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
