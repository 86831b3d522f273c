"""What a broker tells about a streams group: the answer to ``StreamsGroupDescribe`` (KIP-1071, api key 89).

Format: ``StreamsGroupDescribeResponse.json`` of Apache Kafka (``clients/src/main/resources/common/message``), version 0
(4.2, 4.3) and 1 (4.4). Everything stays in the order in which the broker listed it, which is that of its own table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from kstream_plan.snapshots.broker.byte_reader import ByteReader, PayloadError

#: The versions that are known.
NEWEST_VERSION = 1

_NULL = -1
#: The least number of bytes that an item of each kind has.
_TEXT, _PAIR, _TASK_IDS, _TASK_OFFSET = 1, 3, 3, 14
_TOPIC, _SUBTOPOLOGY, _NODE, _GLOBAL_STORE, _MEMBER, _GROUP = 9, 6, 7, 15, 28, 20

_T = TypeVar("_T")


class DescribedTasks(NamedTuple):
    """Tasks by role, named ``subtopology_partition``."""

    active: tuple[str, ...]
    standby: tuple[str, ...]
    warmup: tuple[str, ...]


class DescribedMember(NamedTuple):
    """A member: one thread of an instance.

    ``current`` has its assigned tasks, without those that it is revoking; ``target`` those that it is to hold in the
    end. ``task_offsets`` is its report of its directories: only brokers of 4.4 show it, for clients that report.
    """

    member_id: str
    epoch: int
    instance_id: str | None
    rack: str | None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    end_point_host: str | None
    client_tags: tuple[tuple[str, str], ...]
    task_offsets: tuple[tuple[str, int], ...]
    current: DescribedTasks
    target: DescribedTasks
    is_classic: bool


class DescribedSubtopology(NamedTuple):
    """A subtopology with the topics it reads (source and repartition topics) and the changelogs of its stores."""

    subtopology_id: str
    input_topics: tuple[str, ...]
    changelogs: tuple[str, ...]


class DescribedStreamsGroup(NamedTuple):
    """A streams group as its coordinator describes it.

    ``subtopologies`` is ``None`` where the broker has no topology of the group (``topology_epoch`` is -1 then);
    ``assignor`` is the name of the assignor, ``None`` before 4.4.
    """

    error_code: int
    error_message: str | None
    group_id: str
    state: str
    group_epoch: int
    target_epoch: int
    topology_epoch: int
    subtopologies: tuple[DescribedSubtopology, ...] | None
    members: tuple[DescribedMember, ...]
    assignor: str | None = None


def read_streams_groups(data: bytes, version: int) -> tuple[DescribedStreamsGroup, ...]:
    """Read the body of an answer.

    Raises:
        PayloadError: it is no ``StreamsGroupDescribeResponse`` of that version.
    """
    reader = ByteReader(data)
    reader.int32("throttleTimeMs")
    groups = _items(reader, "groups", _GROUP, lambda: _group(reader, version))
    reader.pass_tagged_fields("taggedFields")
    reader.finish()
    return groups


def _group(reader: ByteReader, version: int) -> DescribedStreamsGroup:
    error_code, error_message = reader.int16("errorCode"), reader.compact_nullable_string("errorMessage")
    group_id, state = reader.compact_string("groupId"), reader.compact_string("groupState")
    group_epoch, target_epoch = reader.int32("groupEpoch"), reader.int32("assignmentEpoch")
    topology_epoch, subtopologies = _topology(reader) if _is_there(reader, "topology") else (_NULL, None)
    members = _items(reader, "members", _MEMBER, lambda: _member(reader))
    reader.int32("authorizedOperations")
    assignor = None
    if version >= 1:
        if _is_there(reader, "topologyDescription"):
            _pass_topology_description(reader)
        reader.int8("topologyDescriptionStatus")
        assignor = reader.compact_nullable_string("assignorName")
    reader.pass_tagged_fields("taggedFields")
    return DescribedStreamsGroup(
        error_code,
        error_message,
        group_id,
        state,
        group_epoch,
        target_epoch,
        topology_epoch,
        subtopologies,
        members,
        assignor,
    )


def _topology(reader: ByteReader) -> tuple[int, tuple[DescribedSubtopology, ...] | None]:
    epoch, field = reader.int32("topology.epoch"), "topology.subtopologies"
    count = reader.compact_nullable_count(field, _SUBTOPOLOGY)
    subtopologies = None if count is None else _read_all(count, field, lambda: _subtopology(reader))
    reader.pass_tagged_fields("topology.taggedFields")
    return epoch, subtopologies


def _subtopology(reader: ByteReader) -> DescribedSubtopology:
    subtopology_id = reader.compact_string("subtopologyId")
    sources = _texts(reader, "sourceTopics")
    _texts(reader, "repartitionSinkTopics")
    changelogs = _items(reader, "stateChangelogTopics", _TOPIC, lambda: _topic(reader))
    repartitions = _items(reader, "repartitionSourceTopics", _TOPIC, lambda: _topic(reader))
    reader.pass_tagged_fields("taggedFields")
    return DescribedSubtopology(subtopology_id, (*sources, *repartitions), changelogs)


def _topic(reader: ByteReader) -> str:
    """Return a topic's name: its partition count in the answer is the requested one, not that of the topic."""
    name = reader.compact_string("name")
    reader.int32("partitions")
    reader.int16("replicationFactor")
    _pairs(reader, "topicConfigs")
    reader.pass_tagged_fields("taggedFields")
    return name


def _member(reader: ByteReader) -> DescribedMember:
    member_id, epoch = reader.compact_string("memberId"), reader.int32("memberEpoch")
    instance_id, rack = reader.compact_nullable_string("instanceId"), reader.compact_nullable_string("rackId")
    client_id, client_host = reader.compact_string("clientId"), reader.compact_string("clientHost")
    topology_epoch, process_id = reader.int32("topologyEpoch"), reader.compact_string("processId")
    end_point_host = None
    if _is_there(reader, "userEndpoint"):
        end_point_host = reader.compact_string("userEndpoint.host")
        reader.int16("userEndpoint.port")
        reader.pass_tagged_fields("userEndpoint.taggedFields")
    tags, offsets = _pairs(reader, "clientTags"), _task_offsets(reader, "taskOffsets")
    _task_offsets(reader, "taskEndOffsets")
    current, target = _tasks(reader, "assignment"), _tasks(reader, "targetAssignment")
    is_classic = reader.int8("isClassic") != 0
    reader.pass_tagged_fields("taggedFields")
    return DescribedMember(
        member_id,
        epoch,
        instance_id,
        rack,
        client_id,
        client_host,
        topology_epoch,
        process_id,
        end_point_host,
        tags,
        offsets,
        current,
        target,
        is_classic,
    )


def _tasks(reader: ByteReader, field: str) -> DescribedTasks:
    def of_subtopology() -> list[str]:
        subtopology_id = reader.compact_string("subtopologyId")
        partitions = _items(reader, "partitions", 4, lambda: reader.int32("partition"))
        reader.pass_tagged_fields("taggedFields")
        return [f"{subtopology_id}_{partition}" for partition in partitions]

    roles = []
    for role in ("activeTasks", "standbyTasks", "warmupTasks"):
        task_lists = _items(reader, f"{field}.{role}", _TASK_IDS, of_subtopology)
        roles.append(tuple(task for tasks in task_lists for task in tasks))
    reader.pass_tagged_fields(f"{field}.taggedFields")
    return DescribedTasks(*roles)


def _task_offsets(reader: ByteReader, field: str) -> tuple[tuple[str, int], ...]:
    def task_offset() -> tuple[str, int]:
        task = f"{reader.compact_string('subtopologyId')}_{reader.int32('partition')}"
        offset = reader.int64("offset")
        reader.pass_tagged_fields("taggedFields")
        return task, offset

    return _items(reader, field, _TASK_OFFSET, task_offset)


def _pass_topology_description(reader: ByteReader) -> None:
    def node() -> None:
        reader.compact_string("name")
        reader.int8("nodeType")
        _texts(reader, "sourceTopics")
        reader.compact_nullable_string("sinkTopic")
        _texts(reader, "stores")
        _texts(reader, "successors")
        reader.pass_tagged_fields("taggedFields")

    def subtopology() -> None:
        reader.compact_string("subtopologyId")
        _items(reader, "nodes", _NODE, node)
        reader.pass_tagged_fields("taggedFields")

    def global_store() -> None:
        node()
        node()
        reader.pass_tagged_fields("taggedFields")

    _items(reader, "topologyDescription.subtopologies", 3, subtopology)
    _items(reader, "topologyDescription.globalStores", _GLOBAL_STORE, global_store)
    reader.pass_tagged_fields("topologyDescription.taggedFields")


def _pairs(reader: ByteReader, field: str) -> tuple[tuple[str, str], ...]:
    def pair() -> tuple[str, str]:
        key, value = reader.compact_string("key"), reader.compact_string("value")
        reader.pass_tagged_fields("taggedFields")
        return key, value

    return _items(reader, field, _PAIR, pair)


def _texts(reader: ByteReader, field: str) -> tuple[str, ...]:
    return _items(reader, field, _TEXT, lambda: reader.compact_string(field))


def _is_there(reader: ByteReader, field: str) -> bool:
    """Tell whether a struct that may be null is there: a byte before it says so."""
    return reader.int8(field) != _NULL


def _items(reader: ByteReader, field: str, item_bytes: int, read: Callable[[], _T]) -> tuple[_T, ...]:
    return _read_all(reader.compact_count(field, item_bytes), field, read)


def _read_all(count: int, field: str, read: Callable[[], _T]) -> tuple[_T, ...]:
    items = []
    for number in range(count):
        try:
            items.append(read())
        except PayloadError as error:
            raise error.inside(f"{field}[{number}]") from None
    return tuple(items)
