"""What a broker tells a group to be: whether it is one of Kafka Streams and has members, and what to say if not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.broker.consumer_protocol import MemberMetadata
from kstream_plan.snapshots.broker.streams_describe import DescribedStreamsGroup
from kstream_plan.snapshots.rows.fields import printable, shown

#: Protocol type and assignor under which Kafka Streams joins (``StreamsPartitionAssignor.name``).
STREAMS_PROTOCOL = ("consumer", "stream")

_STABLE = "Stable"
_GONE = ("Empty", "Dead")


class DescribedGroup(NamedTuple):
    """A group as ``DescribeGroups`` tells it; the members' bytes are there only while it is ``Stable``.

    ``group_type`` is ``classic`` or the newer protocol that the group is of; such a group has no members here.
    """

    state: str
    protocol_type: str
    protocol: str
    members: Sequence[MemberMetadata] = ()
    group_type: str = "classic"


class StreamsGroupAnswer(NamedTuple):
    """A group of the streams protocol as ``StreamsGroupDescribe`` tells it.

    ``version`` is that of the answer, ``newest_version`` the newest that the brokers know.
    """

    group: DescribedStreamsGroup
    version: int
    newest_version: int

    @property
    def error_code(self) -> int:
        """The error of the group's description, 0 if there is none."""
        return self.group.error_code


def check_stable_streams_group(group_id: str, group: DescribedGroup) -> None:
    """Check that a snapshot can be made of a group.

    Raises:
        SnapshotError: the group is of a newer protocol, empty, in the middle of a rebalance, or not of Kafka Streams.
    """
    place = f"group {printable(group_id)}"
    if group.group_type != "classic":
        raise newer_protocol(group_id, group.group_type, place)
    if is_gone(group.state):
        raise no_members(group_id, place)
    if group.protocol_type != STREAMS_PROTOCOL[0]:
        raise not_streams(group_id, group.protocol_type, group.protocol, place)
    if group.state != _STABLE:
        problem = f"is in the middle of a rebalance ({printable(group.state)})"
        raise SnapshotError(problem, where=place, fix="try again in some seconds", application_id=group_id)
    if group.protocol != STREAMS_PROTOCOL[1]:
        raise not_streams(group_id, group.protocol_type, group.protocol, place)


def is_gone(state: str) -> bool:
    """Tell whether a group in that state has no members."""
    return state in _GONE


def may_be_streams(group: DescribedGroup) -> bool:
    """Tell whether a group runs and is one of Kafka Streams, as far as the broker tells: not while it rebalances."""
    if is_gone(group.state) or group.protocol_type != STREAMS_PROTOCOL[0]:
        return False
    return group.state != _STABLE or group.protocol == STREAMS_PROTOCOL[1]


def no_members(group_id: str, place: str) -> SnapshotError:
    """Return the error about a group that is empty."""
    fix = "start the application, or take its history with --set offsets.topic=true --all"
    return SnapshotError("is empty: no instance is running", where=place, fix=fix, application_id=group_id)


def newer_protocol(group_id: str, protocol: str, place: str) -> SnapshotError:
    """Return the error about a group of a newer protocol."""
    if protocol == "streams":
        problem = "is of the newer streams protocol (group.protocol=streams), which has no history of decisions"
        fix = "take the group as it is now: leave --set offsets.topic out"
    else:
        problem = f"is of the {protocol} protocol, not of Kafka Streams"
        fix = "give the application.id of a Kafka Streams application"
    return SnapshotError(problem, where=place, fix=fix, application_id=group_id)


def not_streams(group_id: str, protocol_type: str, protocol: str, place: str) -> SnapshotError:
    """Return the error about a group of something else than Kafka Streams."""
    problem = f"is not a group of Kafka Streams: its protocol is {shown(protocol_type)}, its assignor {shown(protocol)}"
    fix = "give the application.id of a Kafka Streams application"
    return SnapshotError(problem, where=place, fix=fix, application_id=group_id)
