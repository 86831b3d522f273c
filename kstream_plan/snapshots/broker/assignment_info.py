"""``AssignmentInfo``: what the leader tells a Kafka Streams member beside its partitions (its ``UserData``).

Format: ``AssignmentInfo.java`` of Apache Kafka (``streams/…/processor/internals/assignment``), versions 1 to 11. What
other hosts hold is read past: every member's own assignment tells it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.model import TaskId
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.snapshots.broker.byte_reader import ByteReader, UnknownVersionError
from kstream_plan.snapshots.broker.consumer_protocol import TopicPartition
from kstream_plan.snapshots.broker.wire_tasks import LATEST_SUPPORTED_VERSION, read_task_id

#: ``AssignorError`` of Kafka Streams by code.
ERRORS = MappingProxyType(
    {
        1: "INCOMPLETE_SOURCE_TOPIC_METADATA",
        2: "VERSION_PROBING",
        3: "ASSIGNMENT_ERROR",
        4: "SHUTDOWN_REQUESTED",
    }
)


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
    version = reader.int32("version")
    if not 1 <= version <= LATEST_SUPPORTED_VERSION:
        raise UnknownVersionError("version", f"is {version}; known are 1 to {LATEST_SUPPORTED_VERSION}")
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
