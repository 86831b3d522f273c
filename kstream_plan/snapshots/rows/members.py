"""The ``instances`` of a snapshot, their consumers, and what each consumer is assigned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kstream_plan.model import Consumer, Group, Holding, Instance, is_uuid
from kstream_plan.snapshots.rows.fields import (
    FieldError,
    Row,
    checked_text,
    optional_boolean,
    optional_list,
    optional_rows,
    optional_text,
    optional_texts,
    required_text,
    shown,
    wrong_type,
)
from kstream_plan.snapshots.rows.tasks import parsed_task_id
from kstream_plan.snapshots.rows.times import optional_time

#: The roles a snapshot can tell.
_ROLES = ("active", "standby", "warmup")


def normal_process_id(text: str) -> str:
    """Return the one form in which a process id is compared and printed: a UUID in lower case, any other as it is."""
    return text.lower() if is_uuid(text) else text


def read_instances(row: Row) -> tuple[list[Instance], str | None]:
    """Read ``instances`` without what they are assigned.

    Returns:
        The instances in the order of the row, and the process id of the leader, if one is named.

    Raises:
        FieldError: no instance, no consumer, one of them or the leader twice, a field of the wrong type.
    """
    items = optional_rows(row, "instances")
    if not items:
        raise FieldError("instances", "holds no instance", "give at least one instance with one consumer")
    instances: dict[str, Instance] = {}
    consumer_places: dict[str, str] = {}
    leader: str | None = None
    for index, item in enumerate(items):
        try:
            instance = _read_instance(item)
            leads = optional_boolean(item, "leader")
        except FieldError as error:
            raise error.inside(f"instances[{index}]") from None
        if instance.process_id in instances:
            what = f"is {shown(instance.process_id)}, which is there already"
            raise FieldError(f"instances[{index}].process_id", what, "give every instance an id of its own")
        if leads and leader is not None:
            what = f"is true, but {shown(leader)} is the leader already"
            raise FieldError(f"instances[{index}].leader", what, "name one leader")
        for number, consumer in enumerate(instance.consumers):
            _note_place(consumer_places, consumer.consumer_id, f"instances[{index}].consumers[{number}]")
        instances[instance.process_id] = instance
        leader = instance.process_id if leads else leader
    return list(instances.values()), leader


def read_starts(row: Row, zero_ms: int | None) -> dict[str, int]:
    """Read when instances started, by process id, in milliseconds counted from ``zero_ms``, where that is known.

    Raises:
        FieldError: not a time.
    """
    found = {}
    for number, item in enumerate(row["instances"]):
        try:
            at_ms = optional_time(item, "started_at")
        except FieldError as error:
            raise error.inside(f"instances[{number}]") from None
        if at_ms is not None and zero_ms is not None:
            found[normal_process_id(item["process_id"])] = at_ms - zero_ms
    return found


def untold_protocols(row: Row) -> frozenset[str]:
    """Return the ids of the consumers of which a row, which can be read, does not say what protocols they list."""
    seats = [seat for item in row["instances"] for seat in item["consumers"]]
    return frozenset(seat["consumer_id"] for seat in seats if seat.get("protocols") is None)


def read_holdings(row: Row, group: Group) -> tuple[Holding, ...]:
    """Read what every consumer is assigned, by consumer index of ``group`` (whose tasks may be unfinished).

    Raises:
        FieldError: not a task id, an unknown task, two active owners, two copies of one task on one instance.
    """
    holdings = [Holding()] * len(group.consumer_ids)
    consumer_index = {consumer_id: index for index, consumer_id in enumerate(group.consumer_ids)}
    task_index = {str(task.task_id): index for index, task in enumerate(group.tasks)}
    owner_places: dict[int, str] = {}
    for number, item in enumerate(row["instances"]):
        copy_places: dict[int, str] = {}
        for position, seat in enumerate(item["consumers"]):
            place = f"instances[{number}].consumers[{position}]"
            roles = {
                role: _read_role(seat, role, place, group, task_index, copy_places, owner_places) for role in _ROLES
            }
            holdings[consumer_index[seat["consumer_id"]]] = Holding(**roles)
    return tuple(holdings)


def _read_instance(item: Row) -> Instance:
    process_id = normal_process_id(required_text(item, "process_id"))
    seats = optional_rows(item, "consumers")
    if not seats:
        raise FieldError("consumers", "holds no consumer", "give at least one: an instance has a stream thread")
    consumers = []
    for index, seat in enumerate(seats):
        try:
            consumers.append(_read_consumer(seat))
        except FieldError as error:
            raise error.inside(f"consumers[{index}]") from None
    return Instance(
        process_id=process_id,
        consumers=tuple(consumers),
        host=optional_text(item, "host"),
        rack=optional_text(item, "rack"),
        client_tags=_read_client_tags(item),
    )


def _read_consumer(seat: Row) -> Consumer:
    protocols = optional_texts(seat, "protocols")
    if protocols == ():
        raise FieldError("protocols", "is empty", "name what the consumer supports, or leave it out for cooperative")
    consumer_id = required_text(seat, "consumer_id")
    group_instance_id = optional_text(seat, "group_instance_id")
    if protocols is None:
        return Consumer(consumer_id=consumer_id, group_instance_id=group_instance_id)
    return Consumer(consumer_id=consumer_id, group_instance_id=group_instance_id, protocols=protocols)


def _read_client_tags(item: Row) -> tuple[tuple[str, str], ...]:
    tags = item.get("client_tags")
    if tags is None:
        return ()
    if not isinstance(tags, Mapping):
        raise wrong_type("client_tags", tags, "an object of texts")
    return tuple(
        (key, checked_text(f"client_tags.{key}", value, may_be_empty=True)) for key, value in sorted(tags.items())
    )


def _note_place(places: dict[str, str], consumer_id: str, place: str) -> None:
    if consumer_id in places:
        what = f"is {shown(consumer_id)}, which is at {places[consumer_id]} already"
        raise FieldError(f"{place}.consumer_id", what, "give every consumer of the group an id of its own")
    places[consumer_id] = place


def _read_role(
    seat: Row,
    role: str,
    seat_place: str,
    group: Group,
    task_index: Mapping[str, int],
    copy_places: dict[int, str],
    owner_places: dict[int, str],
) -> tuple[int, ...]:
    tasks = []
    try:
        values: Sequence[object] = optional_list(seat, role)
    except FieldError as error:
        raise error.inside(seat_place) from None
    for index, value in enumerate(values):
        place = f"{seat_place}.{role}[{index}]"
        task = task_index.get(value) if isinstance(value, str) else None
        if task is None:
            task = _known_task(place, value, group)
        if task in copy_places:
            what = f"is {shown(value)}, which is on the same instance already, at {copy_places[task]}"
            raise FieldError(place, what, "an instance holds a task once, in one role: keep one of them")
        if role == "active":
            if task in owner_places:
                what = f"is {shown(value)}, which is active already, at {owner_places[task]}"
                raise FieldError(place, what, "a task has one active owner: keep one of them")
            owner_places[task] = place
        copy_places[task] = place
        tasks.append(task)
    return tuple(sorted(tasks))


def _known_task(place: str, value: object, group: Group) -> int:
    task_id = parsed_task_id(place, value)
    if task_id not in group.task_index:
        raise FieldError(
            place, f"is {shown(value)}, which is not in tasks", "add the task to tasks, or take it out here"
        )
    return group.task_index[task_id]
