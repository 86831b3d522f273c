"""The generations of a group, from the records that the broker keeps of it in ``__consumer_offsets``.

A record is written when the leader has decided and the members are assigned (``GroupCoordinator.onCompleteJoin`` and
``doSyncGroup``), when the group becomes empty, and when a static member comes back under another id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.model import TaskId
from kstream_plan.snapshots.broker.byte_reader import PayloadError
from kstream_plan.snapshots.broker.consumer_protocol import (
    GroupMetadata,
    TopicPartition,
    read_group_key,
    read_group_metadata,
)
from kstream_plan.snapshots.broker.group_rows import GroupMoment, HeldPartitions, held_by
from kstream_plan.snapshots.broker.members import StreamsMember, payload_error, read_members
from kstream_plan.snapshots.broker.streams_group import STREAMS_PROTOCOL, not_streams
from kstream_plan.snapshots.rows.fields import printable


class OffsetsRecord(NamedTuple):
    """A record of ``__consumer_offsets``: its time since 1970, its place, its bytes; without value a tombstone."""

    at_ms: int
    offset: int
    key: bytes
    value: bytes | None


class Generation(NamedTuple):
    """One generation of a group: the members as they joined, and what each held then.

    Attributes:
        number: the generation; -1 where the group was deleted or is of another protocol.
        decided_at_ms: when its record was written: the leader had just decided.
        reported_at_ms: when all members had joined, and so reported.
        leader: the leader's member id.
        members: the members as they joined; none if the group had become empty.
        holdings: member id → what it held until the next generation.
        protocol: ``classic``, or the newer protocol that the group is of by then.
    """

    number: int
    decided_at_ms: int
    reported_at_ms: int
    leader: str | None = None
    members: tuple[StreamsMember, ...] = ()
    holdings: Mapping[str, HeldPartitions] = MappingProxyType({})
    protocol: str = "classic"


class GroupDecision(NamedTuple):
    """The decision of one generation, in figures.

    ``trigger`` is its reason, in the plan's words, ``None`` if that is unknown; ``moved_tasks`` how many tasks changed
    their process; ``withheld_tasks`` how many are unassigned until the next generation, because their owner has to
    revoke them first; ``has_probe`` whether a probing rebalance was scheduled, ``None`` if that is unknown: a member
    that has to revoke gets the time of the follow-up instead (``StreamsPartitionAssignor.addClientAssignments``).
    """

    generation: int
    at_ms: int
    trigger: str | None
    processes: int
    consumers: int
    moved_tasks: int
    withheld_tasks: int
    has_probe: bool | None


def generations(group_id: str, records: Iterable[OffsetsRecord]) -> Iterator[Generation]:
    """Return the generations of one group, in order; at most two are held at a time.

    Args:
        group_id: the group.
        records: every record of the partition that the group is in, in order; the others are passed over.

    Raises:
        SnapshotError: a record of the group is malformed or of a version that is not known; the group is no group of
            Kafka Streams.
    """
    current: Generation | None = None
    for record in records:
        generation = _read(group_id, record)
        if generation is None:
            continue
        if current is not None and generation.number == current.number >= 0:
            generation = current._replace(holdings=generation.holdings)  # a static member came back: none joined
        elif current is not None:
            yield current
        current = generation
    if current is not None:
        yield current


def moments(group_id: str, history: Iterable[Generation]) -> Iterator[GroupMoment | None]:
    """Return the group as each decision found it: what was held before, and what the members had just reported.

    ``None``: what was held is unknown, since the broker compacts its topic and generations before the decision are
    missing.
    """
    for previous, generation in _with_before(history):
        if generation.members:
            yield (
                _moment(group_id, previous, generation)
                if previous is not None and _follows(generation, previous)
                else None
            )


def decisions(history: Iterable[Generation]) -> Iterator[GroupDecision]:
    """Return what each generation that has members decided."""
    last: GroupDecision | None = None
    owners: dict[TaskId, str] = {}
    for previous, generation in _with_before(history):
        now = _owners(generation)
        moved_tasks = sum(owners.get(task, process_id) != process_id for task, process_id in now.items())
        # a task that is withheld still counts as where it was
        owners = {**owners, **now} if generation.members else {}
        if generation.members:
            last = GroupDecision(
                generation=generation.number,
                at_ms=generation.decided_at_ms,
                trigger=_trigger(generation, previous, last),
                processes=len({member.info.process_id for member in generation.members}),
                consumers=len(generation.members),
                moved_tasks=moved_tasks,
                withheld_tasks=len(owners) - len(now),
                has_probe=any(member.has_probe for member in generation.members)
                or (None if len(owners) > len(now) else False),
            )
            yield last


def _with_before(history: Iterable[Generation]) -> Iterator[tuple[Generation | None, Generation]]:
    """Pair each generation with the one before it.

    Before generation 1 there was nothing, though only brokers since 4.0 write a record of the group while it is empty.
    """
    previous: Generation | None = None
    for generation in history:
        if previous is None and generation.number == 1:
            previous = Generation(-1, generation.decided_at_ms, generation.decided_at_ms)
        yield previous, generation
        previous = generation


def _owners(generation: Generation) -> dict[TaskId, str]:
    """Return the process that runs each task until the next generation."""
    return {
        task: member.info.process_id
        for member in generation.members
        for task in generation.holdings.get(member.member_id, HeldPartitions()).active
    }


def _trigger(generation: Generation, previous: Generation | None, last: GroupDecision | None) -> str | None:
    """Return the reason for a generation, as far as its members and the decision before it show it."""
    if previous is None or not _follows(generation, previous):
        return None
    ids = {member.member_id for member in generation.members}
    ids_before = {member.member_id for member in previous.members}
    if ids != ids_before:
        return "member-restart" if ids - ids_before and ids_before - ids else "join" if ids - ids_before else "leave"
    if last is None:
        return None
    if last.withheld_tasks:
        return "follow-up"
    return "probing" if last.has_probe else None


def _read(group_id: str, record: OffsetsRecord) -> Generation | None:
    """Return the generation that a record of the group holds, ``None`` if it holds none."""
    place = f"group {printable(group_id)}, offset {record.offset} of __consumer_offsets"
    try:
        key = read_group_key(record.key)
        if key is None or key.group_id != group_id:
            return None
        if key.protocol != "classic":
            newer = Generation(-1, record.at_ms, record.at_ms, protocol=key.protocol)
            return None if record.value is None else newer
        if record.value is None:
            return Generation(-1, record.at_ms, record.at_ms)
        metadata = read_group_metadata(record.value)
    except PayloadError as error:
        raise payload_error(place, error, group_id) from None
    if metadata.members and (metadata.protocol_type, metadata.protocol) != STREAMS_PROTOCOL:
        raise not_streams(group_id, metadata.protocol_type, metadata.protocol or "", place)
    return _generation(group_id, metadata, record.at_ms)


def _generation(group_id: str, metadata: GroupMetadata, at_ms: int) -> Generation:
    members = read_members(group_id, metadata.members)
    joined_ms = metadata.current_state_timestamp_ms
    reported_at_ms = joined_ms if 0 <= joined_ms <= at_ms else at_ms
    return Generation(metadata.generation, at_ms, reported_at_ms, metadata.leader, members, held_by(members))


def _follows(generation: Generation, previous: Generation) -> bool:
    """Tell whether the members held the tasks of the last record before this generation.

    They did if it is the generation just before. If it is an older one, the rebalances between may have had no
    decision, or their records are gone; then all partitions that members report to own must be in it.
    """
    if generation.number == previous.number + 1:
        return True
    if any(member.subscription.version < 1 for member in generation.members):
        return False
    owned_before = {member.member_id: _partitions(member) for member in previous.members}
    return all(
        owned_before.get(member.member_id, set()).issuperset(member.subscription.owned_partitions)
        for member in generation.members
    )


def _partitions(member: StreamsMember) -> set[TopicPartition]:
    return {partition for task_partitions in member.active.values() for partition in task_partitions}


def _moment(group_id: str, previous: Generation, generation: Generation) -> GroupMoment:
    return GroupMoment(
        application_id=group_id,
        generation=generation.number - 1,
        captured_at_ms=generation.decided_at_ms,
        members=generation.members,
        holdings=previous.holdings,
        leader=generation.leader,
        reported_at_ms=generation.reported_at_ms,
    )
