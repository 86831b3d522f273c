"""The payloads of members as Kafka Streams writes them, for members that no capture has."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from kstream_plan.model import TaskId

TopicPartition = tuple[str, int]


def subscription(topics: Sequence[str], user_data: bytes, owned: Iterable[TopicPartition], generation: int) -> bytes:
    """Version 2: ``ConsumerProtocolSubscription``."""
    return b"".join(
        [
            struct.pack(">hi", 2, len(topics)),
            *map(_string, topics),
            _sized(user_data),
            _partitions_by_topic(owned),
            struct.pack(">i", generation),
        ]
    )


def assignment(partitions: Iterable[TopicPartition], user_data: bytes) -> bytes:
    """Version 2: ``ConsumerProtocolAssignment``."""
    return struct.pack(">h", 2) + _partitions_by_topic(partitions) + _sized(user_data)


def subscription_info(
    version: int, process_id: str, end_point: str, sums: Mapping[TaskId, int], tags: Sequence[tuple[str, str]]
) -> bytes:
    """Version 7 to 11: ``SubscriptionInfoData``."""
    head = struct.pack(">ii", version, 11) + UUID(process_id).bytes + _sized(end_point.encode())
    tail = b"\x00" * ((version >= 8) + 4 * (version >= 9))
    if version >= 11:
        tail += struct.pack(">i", len(tags)) + b"".join(_sized(text.encode()) for tag in tags for text in tag)
    if version >= 10:
        items = [
            struct.pack(">iiq", task.subtopology, task.partition, offset_sum) + _nullable(task.topology_name)
            for task, offset_sum in sums.items()
        ]
        return head + struct.pack(">i", len(items)) + b"".join(items) + tail
    nested = [
        struct.pack(">iiiq", task.subtopology, 1, task.partition, offset_sum) for task, offset_sum in sums.items()
    ]
    return head + struct.pack(">i", len(nested)) + b"".join(nested) + tail


def assignment_info(
    version: int,
    active: Sequence[TaskId],
    standby: Mapping[TaskId, Sequence[TopicPartition]],
    hosts: Mapping[str, Sequence[TopicPartition]],
    next_rebalance_ms: int,
) -> bytes:
    """Version 7 to 11: ``AssignmentInfo``."""
    topics = sorted({topic for partitions in hosts.values() for topic, _ in partitions})
    parts = [struct.pack(">iii", version, 11, len(active)), *(_task(version, task) for task in active)]
    parts.append(struct.pack(">i", len(standby)))
    for task, partitions in standby.items():
        parts += [_task(version, task), struct.pack(">i", len(partitions))]
        parts += [_utf(topic) + struct.pack(">i", number) for topic, number in partitions]
    parts += [struct.pack(">i", len(topics)), *(struct.pack(">i", at) + _utf(name) for at, name in enumerate(topics))]
    for _ in ("active", "standby"):
        parts.append(struct.pack(">i", len(hosts)))
        for host, partitions in hosts.items():
            parts += [_utf(host), struct.pack(">ii", 8080, len(partitions))]
            parts += [struct.pack(">ii", topics.index(topic), number) for topic, number in partitions]
    return b"".join(parts) + struct.pack(">iq", 0, next_rebalance_ms)


def _task(version: int, task: TaskId) -> bytes:
    name = (task.topology_name or "").encode("utf-16-be")
    chars = struct.pack(">i", len(name) // 2) + name if version >= 10 else b""
    return struct.pack(">ii", task.subtopology, task.partition) + chars


def _partitions_by_topic(partitions: Iterable[TopicPartition]) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(number)
    items = [_string(topic) + struct.pack(f">{len(item) + 1}i", len(item), *item) for topic, item in by_topic.items()]
    return struct.pack(">i", len(items)) + b"".join(items)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _nullable(text: str | None) -> bytes:
    return b"\xff\xff" if text is None else _string(text)


def _utf(text: str) -> bytes:
    data = text.encode()  # Java's own form differs for U+0000 and beyond U+FFFF only
    return struct.pack(">H", len(data)) + data


def _sized(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data
