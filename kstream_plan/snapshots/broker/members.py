"""A Kafka Streams member: what its subscription and its assignment, as the broker holds them, say together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model import TaskId
from kstream_plan.model.java_hash import java_string_key
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.snapshots.broker.byte_reader import PayloadError, UnknownVersionError
from kstream_plan.snapshots.broker.consumer_protocol import (
    MemberAssignment,
    MemberMetadata,
    Subscription,
    TopicPartition,
    read_assignment,
    read_subscription,
)
from kstream_plan.snapshots.broker.streams_data import (
    LATEST_SUPPORTED_VERSION,
    AssignmentInfo,
    SubscriptionInfo,
    read_assignment_info,
    read_subscription_info,
)
from kstream_plan.snapshots.rows.fields import printable

_NEWER_FIX = "update kstream-plan, or take the snapshot from the leader's log: kstream-plan snapshot FILE"
_DAMAGED_FIX = "take the snapshot again; if it stays, the member's bytes are damaged or are not Kafka Streams' own"


class StreamsMember(NamedTuple):
    """One consumer of a Kafka Streams group.

    Attributes:
        member_id: its id in the group; Kafka Streams' own name for the consumer.
        group_instance_id: its id as a static member, ``None`` if it is none.
        client_host: the address it connects from, as the broker shows it.
        subscription: its subscription when it joined.
        info: the info in that subscription.
        active: task → its source partitions, of its assigned active tasks.
        standby: task → its source partitions; standbys, warm-ups and temporary standbys alike.
        error_code: the error in its assignment, 0 if there is none (``assignment_info.ERRORS``).
        has_probe: whether it is to rejoin at a later time, for a probing rebalance.
        next_rebalance_ms: when it is to rejoin, since 1970: 0 at once, 2^63-1 never.
    """

    member_id: str
    group_instance_id: str | None
    client_host: str
    subscription: Subscription
    info: SubscriptionInfo
    active: Mapping[TaskId, tuple[TopicPartition, ...]]
    standby: Mapping[TaskId, tuple[TopicPartition, ...]]
    error_code: int = 0
    has_probe: bool = False
    next_rebalance_ms: int = MAX_LONG


def read_members(group_id: str, members: Iterable[MemberMetadata]) -> tuple[StreamsMember, ...]:
    """Decode the members of a group, in the order of their ids.

    Raises:
        SnapshotError: a payload of a member is malformed, or of a version that is not known.
    """
    sorted_members = sorted(members, key=lambda member: java_string_key(member.member_id))
    return tuple(_read_member(group_id, member) for member in sorted_members)


def newest_release(members: Iterable[StreamsMember]) -> str | None:
    """Return the newest minor release that the oldest of the members can be; ``None``: any since 3.2."""
    oldest = min((member.info for member in members), key=lambda info: info.latest_supported, default=None)
    return None if oldest is None else oldest.newest_release


def payload_error(place: str, error: PayloadError, group_id: str) -> SnapshotError:
    """Return the error about a malformed payload.

    Args:
        place: whose payload it is, as ``group orders, member orders-1``.
        error: what is wrong with it.
        group_id: the group, which is the application.
    """
    fix = _NEWER_FIX if isinstance(error, UnknownVersionError) else _DAMAGED_FIX
    return SnapshotError(
        f"{error.field or 'the payload'} {error.problem}", where=place, fix=fix, application_id=group_id
    )


def _read_member(group_id: str, member: MemberMetadata) -> StreamsMember:
    place = f"group {printable(group_id)}, member {printable(member.member_id)}"
    try:
        subscription, info = _read_joined(member.subscription)
        active, assignment = _read_assigned(member.assignment)
    except PayloadError as error:
        raise payload_error(place, error, group_id) from None
    return StreamsMember(
        member.member_id,
        member.group_instance_id,
        member.client_host,
        subscription,
        info,
        active,
        assignment.standby_tasks,
        assignment.error_code,
        has_probe=0 < assignment.next_rebalance_ms < MAX_LONG,
        next_rebalance_ms=assignment.next_rebalance_ms,
    )


def _read_joined(data: bytes) -> tuple[Subscription, SubscriptionInfo]:
    try:
        subscription = read_subscription(data)
    except PayloadError as error:
        raise error.inside("subscription") from None
    try:
        return subscription, read_subscription_info(subscription.user_data)
    except PayloadError as error:
        raise error.inside("subscription info") from None


def _read_assigned(data: bytes) -> tuple[dict[TaskId, tuple[TopicPartition, ...]], AssignmentInfo]:
    """An empty assignment is that of a member which the leader did not know."""
    if not data:
        return {}, AssignmentInfo(LATEST_SUPPORTED_VERSION, (), {})
    try:
        assignment = read_assignment(data)
    except PayloadError as error:
        raise error.inside("assignment") from None
    try:
        info = read_assignment_info(assignment.user_data)
        return _active_tasks(assignment, info), info
    except PayloadError as error:
        raise error.inside("assignment info") from None


def _active_tasks(assignment: MemberAssignment, info: AssignmentInfo) -> dict[TaskId, tuple[TopicPartition, ...]]:
    """The n-th task is that of the n-th partition in order (``StreamsPartitionAssignor.getActiveTasks``)."""
    partitions = sorted(assignment.partitions, key=lambda partition: (java_string_key(partition[0]), partition[1]))
    if len(partitions) != len(info.active_tasks):
        problem = f"holds {len(info.active_tasks)} tasks for {len(partitions)} partitions"
        raise PayloadError("activeTasks", problem)
    tasks: dict[TaskId, list[TopicPartition]] = {}
    for task, partition in zip(info.active_tasks, partitions, strict=True):
        tasks.setdefault(task, []).append(partition)
    return {task: tuple(task_partitions) for task, task_partitions in tasks.items()}
