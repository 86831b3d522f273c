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


def read_instances(items: Sequence[written.Instance]) -> tuple[list[Instance], str | None]:
    """Read ``instances`` without what they are assigned.

    Returns:
        The instances in the order of the row, and the process id of the leader, if one is named.

    Raises:
        FieldError: no instance, no consumer, or one of them or the leader twice.
    """
    if not items:
        raise FieldError("instances", "holds no instance", "give at least one instance with one consumer")
    instances: dict[str, Instance] = {}
    consumer_places: dict[str, str] = {}
    leader: str | None = None
    for index, item in enumerate(items):
        try:
            instance = _read_instance(item)
        except FieldError as error:
            raise error.inside(f"instances[{index}]") from None
        if instance.process_id in instances:
            problem = f"is {shown(instance.process_id)}, which is there already"
            raise FieldError(f"instances[{index}].process_id", problem, "give every instance an id of its own")
        if item.leader and leader is not None:
            problem = f"is true, but {shown(leader)} is the leader already"
            raise FieldError(f"instances[{index}].leader", problem, "name one leader")
        for number, consumer in enumerate(instance.consumers):
            _note_place(consumer_places, consumer.consumer_id, f"instances[{index}].consumers[{number}]")
        instances[instance.process_id] = instance
        leader = instance.process_id if item.leader else leader
    return list(instances.values()), leader


def read_starts(items: Sequence[written.Instance], zero_ms: int | None) -> dict[str, int]:
    """Read when instances started, by process id, in milliseconds counted from ``zero_ms``, where that is known."""
    if zero_ms is None:
        return {}
    return {
        normal_process_id(item.process_id): parse_time(item.started_at) - zero_ms
        for item in items
        if item.started_at is not None
    }


def untold_protocols(items: Sequence[written.Instance]) -> frozenset[str]:
    """Return the ids of the consumers of which a row does not say what protocols they list."""
    seats = [seat for item in items for seat in item.consumers or ()]
    return frozenset(seat.consumer_id for seat in seats if seat.protocols is None)


def read_holdings(items: Sequence[written.Instance], group: Group) -> tuple[Holding, ...]:
    """Read what every consumer is assigned, by consumer index of ``group`` (whose tasks may be unfinished).

    Raises:
        FieldError: not a task id, an unknown task, two active owners, two copies of one task on one instance.
    """
    holdings = [Holding()] * len(group.consumer_ids)
    consumer_index = {consumer_id: index for index, consumer_id in enumerate(group.consumer_ids)}
    task_index = {str(task.task_id): index for index, task in enumerate(group.tasks)}
    owner_places: dict[int, str] = {}
    for number, item in enumerate(items):
        copy_places: dict[int, str] = {}
        for position, seat in enumerate(item.consumers or ()):
            place = f"instances[{number}].consumers[{position}]"
            roles = {
                role: _read_role(getattr(seat, role) or (), role, place, group, task_index, copy_places, owner_places)
                for role in _ROLES
            }
            holdings[consumer_index[seat.consumer_id]] = Holding(**roles)
    return tuple(holdings)


def _read_instance(item: written.Instance) -> Instance:
    if not item.consumers:
        raise FieldError("consumers", "holds no consumer", "give at least one: an instance has a stream thread")
    consumers = []
    for index, seat in enumerate(item.consumers):
        if seat.protocols == ():
            fix = "name what the consumer supports, or leave it out for cooperative"
            raise FieldError(f"consumers[{index}].protocols", "is empty", fix)
        protocols = {} if seat.protocols is None else {"protocols": seat.protocols}
        consumers.append(Consumer(consumer_id=seat.consumer_id, group_instance_id=seat.group_instance_id, **protocols))
    return Instance(
        process_id=normal_process_id(item.process_id),
        consumers=tuple(consumers),
        host=item.host,
        rack=item.rack,
        client_tags=tuple(sorted((item.client_tags or {}).items())),
    )


def _note_place(places: dict[str, str], consumer_id: str, place: str) -> None:
    if consumer_id in places:
        problem = f"is {shown(consumer_id)}, which is at {places[consumer_id]} already"
        raise FieldError(f"{place}.consumer_id", problem, "give every consumer of the group an id of its own")
    places[consumer_id] = place


def _read_role(
    names: Sequence[str],
    role: str,
    seat_place: str,
    group: Group,
    task_index: Mapping[str, int],
    copy_places: dict[int, str],
    owner_places: dict[int, str],
) -> tuple[int, ...]:
    tasks = []
    for index, value in enumerate(names):
        place = f"{seat_place}.{role}[{index}]"
        task = task_index.get(value)
        if task is None:
            task = _known_task(place, value, group)
        if task in copy_places:
            problem = f"is {shown(value)}, which is on the same instance already, at {copy_places[task]}"
            raise FieldError(place, problem, "an instance holds a task once, in one role: keep one of them")
        if role == "active":
            if task in owner_places:
                problem = f"is {shown(value)}, which is active already, at {owner_places[task]}"
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
