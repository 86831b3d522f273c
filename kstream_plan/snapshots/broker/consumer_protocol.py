"""The consumer protocol's envelopes: what a member tells when it joins, and what it is assigned.

Formats: ``ConsumerProtocolSubscription.json`` and ``ConsumerProtocolAssignment.json`` of Apache Kafka
(``clients/src/main/resources/common/message``), versions 0 to 3, each behind its version in 2 bytes. As
``ConsumerProtocol.checkSubscriptionVersion`` does, a newer version is read as version 3: newer versions may only add
fields at the end.
"""

from __future__ import annotations

from typing import NamedTuple

from kstream_plan.snapshots.broker.byte_reader import ByteReader, UnknownVersionError

_NEWEST = 3

#: A topic and a partition number.
TopicPartition = tuple[str, int]


class Subscription(NamedTuple):
    """What a member tells when it joins.

    ``topics`` are what it reads (what a pattern matches included); ``user_data`` is the assignor's own, empty if there
    is none; ``owned_partitions`` and ``generation`` are what it owned in the generation before, ``generation`` -1 where
    it was in none or is older than version 2; ``rack`` is its ``client.rack``.
    """

    version: int
    topics: tuple[str, ...]
    user_data: bytes
    owned_partitions: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None


class MemberAssignment(NamedTuple):
    """What a member is assigned: its partitions in the order of the payload, and the assignor's own ``user_data``."""

    version: int
    partitions: tuple[TopicPartition, ...]
    user_data: bytes


def read_subscription(data: bytes) -> Subscription:
    """Read a ``ConsumerProtocolSubscription``.

    Raises:
        PayloadError: it is not one.
    """
    reader = ByteReader(data)
    version = _read_version(reader)
    topics = tuple(reader.string("Topics") for _ in range(reader.count("Topics", 2)))
    user_data = reader.nullable_bytes("UserData") or b""
    owned = _read_partitions(reader, "OwnedPartitions") if version >= 1 else ()
    generation = reader.int32("GenerationId") if version >= 2 else -1
    rack = reader.nullable_string("RackId") if version >= 3 else None
    if version <= _NEWEST:
        reader.finish()
    return Subscription(version, topics, user_data, owned, generation, rack or None)


def read_assignment(data: bytes) -> MemberAssignment:
    """Read a ``ConsumerProtocolAssignment``.

    Raises:
        PayloadError: it is not one.
    """
    reader = ByteReader(data)
    version = _read_version(reader)
    partitions = _read_partitions(reader, "AssignedPartitions")
    user_data = reader.nullable_bytes("UserData") or b""
    if version <= _NEWEST:
        reader.finish()
    return MemberAssignment(version, partitions, user_data)


def _read_version(reader: ByteReader) -> int:
    version = reader.int16("version")
    if version < 0:
        raise UnknownVersionError("version", f"is {version}; versions begin at 0")
    return version


def _read_partitions(reader: ByteReader, field: str) -> tuple[TopicPartition, ...]:
    partitions: list[TopicPartition] = []
    for _ in range(reader.count(field, 6)):
        topic = reader.string(f"{field}.Topic")
        numbers = range(reader.count(f"{field}.Partitions", 4))
        partitions.extend((topic, reader.int32(f"{field}.Partitions")) for _ in numbers)
    return tuple(partitions)
