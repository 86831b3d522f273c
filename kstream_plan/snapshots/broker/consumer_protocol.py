"""What the brokers and the members of a classic group write: the protocol's envelopes, and a record per generation.

Formats of Apache Kafka: ``ConsumerProtocolSubscription.json`` and ``ConsumerProtocolAssignment.json``
(``clients/src/main/resources/common/message``), versions 0 to 3, each behind its version in 2 bytes. As
``ConsumerProtocol.checkSubscriptionVersion`` does, a newer version is read as version 3: newer versions may only add
fields at the end. ``GroupMetadataKey.json`` and ``GroupMetadataValue.json``
(``group-coordinator/src/main/resources/common/message``), values of version 0 to 4, in ``__consumer_offsets``. The
first two bytes of a key tell what a record is about (``CoordinatorRecordType``): 0 and 1 committed offsets, 2 a
classic group, from 3 on the groups of the newer protocols.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.snapshots.broker.byte_reader import ByteReader, UnknownVersionError, known_version

_NEWEST = 3

#: A topic and a partition number.
TopicPartition = tuple[str, int]

#: Key type → the protocol of the group that such a record describes. Every other type is about something else.
GROUP_PROTOCOLS = MappingProxyType({2: "classic", 3: "consumer", 11: "share", 17: "streams"})
_NEWEST_VALUE = 4
_FLEXIBLE_VALUE = 4


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


class GroupKey(NamedTuple):
    """Which group a record describes: its protocol (of :data:`GROUP_PROTOCOLS`) and its id."""

    protocol: str
    group_id: str


class MemberMetadata(NamedTuple):
    """One member, with the exact bytes of its subscription and of its assignment (empty where it has none)."""

    member_id: str
    group_instance_id: str | None
    client_host: str
    subscription: bytes
    assignment: bytes


class GroupMetadata(NamedTuple):
    """A group in one generation.

    ``protocol`` is the assignor's name, ``leader`` the leader's member id; both ``None`` for an empty group.
    ``current_state_timestamp_ms`` is when all members had joined, -1 before version 2.
    """

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp_ms: int
    members: tuple[MemberMetadata, ...]


def read_group_key(key: bytes) -> GroupKey | None:
    """Read a record's key; ``None`` if the record does not describe a group.

    Raises:
        PayloadError: it describes one, but is malformed.
    """
    reader = ByteReader(key)
    protocol = GROUP_PROTOCOLS.get(reader.int16("version"))
    if protocol is None:
        return None
    group_id = reader.string("group")
    reader.finish()
    return GroupKey(protocol, group_id)


def read_group_metadata(value: bytes) -> GroupMetadata:
    """Read the value of a classic group's record (a tombstone has none: the group was deleted).

    Raises:
        UnknownVersionError: it is of a version that is not known, which its message names.
        PayloadError: it is no ``GroupMetadataValue``.
    """
    reader = ByteReader(value)
    version = known_version(reader.int16("version"), 0, _NEWEST_VALUE)
    flexible = version >= _FLEXIBLE_VALUE
    text = reader.compact_string if flexible else reader.string
    nullable_text = reader.compact_nullable_string if flexible else reader.nullable_string
    protocol_type = text("protocolType")
    generation = reader.int32("generation")
    protocol, leader = nullable_text("protocol"), nullable_text("leader")
    timestamp_ms = reader.int64("currentStateTimestamp") if version >= 2 else -1
    count = reader.compact_count("members", 9) if flexible else reader.count("members", 18)
    members = tuple(_read_member(reader, version) for _ in range(count))
    if flexible:
        reader.pass_tagged_fields("taggedFields")
    reader.finish()
    return GroupMetadata(protocol_type, generation, protocol, leader, timestamp_ms, members)


def _read_member(reader: ByteReader, version: int) -> MemberMetadata:
    flexible = version >= _FLEXIBLE_VALUE
    text = reader.compact_string if flexible else reader.string
    nullable_text = reader.compact_nullable_string if flexible else reader.nullable_string
    data = reader.compact_bytes if flexible else reader.sized_bytes
    member_id = text("members.memberId")
    group_instance_id = nullable_text("members.groupInstanceId") if version >= 3 else None
    text("members.clientId")
    client_host = text("members.clientHost")
    if version >= 1:
        reader.int32("members.rebalanceTimeout")
    reader.int32("members.sessionTimeout")
    subscription, assignment = data("members.subscription"), data("members.assignment")
    if flexible:
        reader.pass_tagged_fields("members.taggedFields")
    return MemberMetadata(member_id, group_instance_id, client_host, subscription, assignment)
