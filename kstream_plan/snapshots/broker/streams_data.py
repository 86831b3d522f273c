"""What Kafka Streams puts into the consumer protocol (``UserData``): what members tell, and what the leader tells them.

Formats: ``SubscriptionInfoData.json`` of Apache Kafka (``streams/src/main/resources/common/message``),
``SubscriptionInfo.java`` and ``AssignmentInfo.java``, versions 1 to 11. Kafka Streams 2.6 to 2.8 send version 7 to 9,
3.0 and 3.1 version 10, 3.2 to 4.3 version 11; with ``upgrade.from``, and while a group is upgraded, older ones are
sent, from 1 on. What other hosts hold is read past: every member's own assignment tells it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.model import LATEST, UNKNOWN, TaskId
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.snapshots.broker.byte_reader import ByteReader, PayloadError, known_version
from kstream_plan.snapshots.broker.consumer_protocol import TopicPartition

#: Named topologies are in the payloads from this version on (``StreamsAssignmentProtocolVersions``).
MIN_NAMED_TOPOLOGY_VERSION = 10
#: The newest version there is: Kafka Streams 3.2 to 4.3 (``StreamsAssignmentProtocolVersions``).
LATEST_SUPPORTED_VERSION = 11

_MIN_OFFSET_SUM_VERSION = 7
#: The newest releases that know no newer version than that (``StreamsAssignmentProtocolVersions``).
_NEWEST_RELEASES = ((6, "2.5"), (8, "2.7"), (9, "2.8"), (10, "3.1"))

#: ``AssignorError`` of Kafka Streams by code.
ERRORS = MappingProxyType(
    {
        1: "INCOMPLETE_SOURCE_TOPIC_METADATA",
        2: "VERSION_PROBING",
        3: "ASSIGNMENT_ERROR",
        4: "SHUTDOWN_REQUESTED",
    }
)


def read_task_id(reader: ByteReader, version: int, field: str) -> TaskId:
    """Read a task id as ``ConsumerProtocolUtils.readTaskIdFrom`` does: two integers, from version 10 on a name as well.

    Raises:
        PayloadError: it is none.
    """
    subtopology, partition = reader.int32(field), reader.int32(field)
    name = reader.java_chars(field) if version >= MIN_NAMED_TOPOLOGY_VERSION else ""
    return checked_task_id(subtopology, partition, name or None, field)


def checked_task_id(subtopology: int, partition: int, topology_name: str | None, field: str) -> TaskId:
    """Return the task id.

    Raises:
        PayloadError: a number is negative.
    """
    if subtopology < 0 or partition < 0:
        raise PayloadError(field, f"holds {subtopology}_{partition}, which is no task id")
    return TaskId(subtopology, partition, topology_name)


class SubscriptionInfo(NamedTuple):
    """The report of a member about itself.

    Attributes:
        version: the version of the payload.
        process_id: the instance's id, a UUID in canonical text.
        user_end_point: the ``application.server``, empty if it has none.
        offset_sums: task → sum of the offsets it has on disk; ``LATEST`` (-2) if it runs it, ``UNKNOWN`` (-3) if the
            sum is not known. Versions before 7 have only these two, see ``SubscriptionInfo.taskOffsetSums``.
        client_tags: its ``client.tag.*`` settings, in the order of the payload.
        latest_supported: the newest version that it reports to support.
    """

    version: int
    process_id: str
    user_end_point: str
    offset_sums: Mapping[TaskId, int]
    client_tags: tuple[tuple[str, str], ...] = ()
    latest_supported: int = LATEST_SUPPORTED_VERSION

    @property
    def newest_release(self) -> str | None:
        """The newest minor release of Kafka Streams that it can be; ``None``: any since 3.2."""
        return next((release for version, release in _NEWEST_RELEASES if self.latest_supported <= version), None)


def read_subscription_info(data: bytes) -> SubscriptionInfo:
    """Read the ``UserData`` of a Kafka Streams member's subscription.

    Raises:
        UnknownVersionError: it is of a version that is not known, which its message names.
        PayloadError: it is no ``SubscriptionInfo``.
    """
    reader = ByteReader(data)
    version = known_version(reader.int32("version"), 1, LATEST_SUPPORTED_VERSION)
    latest = reader.int32("latestSupportedVersion") if version >= 3 else LATEST_SUPPORTED_VERSION
    process_id = str(uuid.UUID(bytes=reader.exactly(16, "processId")))
    offset_sums = _read_previous_tasks(reader, version) if version < _MIN_OFFSET_SUM_VERSION else {}
    end_point = _text(reader, "userEndPoint") if version >= 2 else ""
    if version >= _MIN_OFFSET_SUM_VERSION:
        offset_sums = _read_offset_sums(reader, version)
    if version >= 8:
        reader.int8("uniqueField")
    if version >= 9:
        reader.int32("errorCode")
    tags = _read_client_tags(reader) if version >= 11 else ()
    reader.finish()
    return SubscriptionInfo(version, process_id, end_point, MappingProxyType(offset_sums), tags, latest)


def _read_previous_tasks(reader: ByteReader, version: int) -> dict[TaskId, int]:
    sums: dict[TaskId, int] = {}
    for field, marker in (("prevTasks", LATEST), ("standbyTasks", UNKNOWN)):
        for _ in range(reader.count(field, 8)):
            sums[read_task_id(reader, version, field)] = marker
    return sums


def _read_offset_sums(reader: ByteReader, version: int) -> dict[TaskId, int]:
    field = "taskOffsetSums"
    sums: dict[TaskId, int] = {}
    nested = version < MIN_NAMED_TOPOLOGY_VERSION
    for _ in range(reader.count(field, 8 if nested else 18)):
        subtopology = reader.int32(f"{field}.topicGroupId")
        partitions = reader.count(f"{field}.partitionToOffsetSum", 12) if nested else 1
        for _ in range(partitions):
            partition, offset_sum = reader.int32(f"{field}.partition"), reader.int64(f"{field}.offsetSum")
            name = None if nested else reader.nullable_string(f"{field}.namedTopology")
            sums[checked_task_id(subtopology, partition, name or None, field)] = _checked_sum(offset_sum, field)
    return sums


def _checked_sum(offset_sum: int, field: str) -> int:
    if offset_sum < 0 and offset_sum not in (LATEST, UNKNOWN):
        raise PayloadError(f"{field}.offsetSum", f"is {offset_sum}, neither a sum nor {LATEST} or {UNKNOWN}")
    return offset_sum


def _read_client_tags(reader: ByteReader) -> tuple[tuple[str, str], ...]:
    field = "clientTags"
    count = reader.count(field, 8)
    return tuple((_text(reader, f"{field}.key"), _text(reader, f"{field}.value")) for _ in range(count))


def _text(reader: ByteReader, field: str) -> str:
    """Texts are sent as bytes of UTF-8 here."""
    data = reader.sized_bytes(field)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PayloadError(field, f"is not UTF-8: {error.reason}") from None


class AssignmentInfo(NamedTuple):
    """The assignment of a member.

    Attributes:
        version: the version of the payload.
        active_tasks: one task per assigned partition, in the order of the partitions sorted by topic and number.
        standby_tasks: task → the source partitions it would read, in the order of the payload.
        error_code: 0, or a code of :data:`ERRORS`; before version 4 always 0.
        next_rebalance_ms: when the member is to rejoin, since 1970: 0 at once, 2^63-1 never, and before version 7 too.
    """

    version: int
    active_tasks: tuple[TaskId, ...]
    standby_tasks: Mapping[TaskId, tuple[TopicPartition, ...]]
    error_code: int = 0
    next_rebalance_ms: int = MAX_LONG


def read_assignment_info(data: bytes) -> AssignmentInfo:
    """Read the ``UserData`` of a Kafka Streams member's assignment.

    Raises:
        UnknownVersionError: it is of a version that is not known, which its message names.
        PayloadError: it is no ``AssignmentInfo``.
    """
    reader = ByteReader(data)
    version = known_version(reader.int32("version"), 1, LATEST_SUPPORTED_VERSION)
    if version >= 3:
        reader.int32("commonlySupportedVersion")
    active_count = reader.count("activeTasks", 8)
    active = tuple(read_task_id(reader, version, "activeTasks") for _ in range(active_count))
    standby = {}
    for _ in range(reader.count("standbyTasks", 12)):
        task = read_task_id(reader, version, "standbyTasks")
        standby[task] = _read_named_partitions(reader, "standbyTasks")
    _pass_hosts(reader, version)
    error_code = reader.int32("errCode") if version >= 4 else 0
    next_rebalance_ms = reader.int64("nextRebalanceMs") if version >= 7 else MAX_LONG
    reader.finish()
    return AssignmentInfo(version, active, MappingProxyType(standby), error_code, next_rebalance_ms)


def _read_named_partitions(reader: ByteReader, field: str) -> tuple[TopicPartition, ...]:
    return tuple((reader.java_utf(field), reader.int32(field)) for _ in range(reader.count(field, 6)))


def _pass_hosts(reader: ByteReader, version: int) -> None:
    """Pass over what each host holds: topics by name up to version 4, through a dictionary from 5 on."""
    if version >= 5:
        field = "topicNames"
        for _ in range(reader.count(field, 6)):
            reader.int32(field)
            reader.java_utf(field)
    if version >= 2:
        _pass_host_partitions(reader, "partitionsByHost", by_name=version < 5)
    if version >= 6:
        _pass_host_partitions(reader, "standbyPartitionsByHost", by_name=False)


def _pass_host_partitions(reader: ByteReader, field: str, *, by_name: bool) -> None:
    for _ in range(reader.count(field, 10)):
        reader.java_utf(f"{field}.host")
        reader.int32(f"{field}.port")
        if by_name:
            _read_named_partitions(reader, field)
        else:
            reader.exactly(8 * reader.count(field, 8), field)
