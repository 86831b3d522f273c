"""Task ids as Kafka Streams puts them into its own payloads."""

from __future__ import annotations

from kstream_plan.model import TaskId
from kstream_plan.snapshots.broker.byte_reader import ByteReader, PayloadError

#: Named topologies are in the payloads from this version on (``StreamsAssignmentProtocolVersions``).
MIN_NAMED_TOPOLOGY_VERSION = 10
#: The newest version there is: Kafka Streams 3.2 to 4.3 (``StreamsAssignmentProtocolVersions``).
LATEST_SUPPORTED_VERSION = 11


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
