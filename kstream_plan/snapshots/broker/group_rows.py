"""A running group's members, tasks and end offsets → one row of the assignment snapshot's schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kstream_plan.model import LATEST, UNKNOWN, TaskId
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.broker.consumer_protocol import TopicPartition
from kstream_plan.snapshots.broker.group_tasks import GroupTask, Topics
from kstream_plan.snapshots.broker.members import StreamsMember, newest_release

#: Partition → its end offset.
EndOffsets = Mapping[TopicPartition, int]


class HeldPartitions(NamedTuple):
    """The tasks that one consumer is assigned; standbys of every kind together, as Kafka Streams itself tells them."""

    active: frozenset[TaskId] = frozenset()
    standby: frozenset[TaskId] = frozenset()


class GroupMoment(NamedTuple):
    """A group at one moment.

    Attributes:
        application_id: the group's id.
        generation: the generation whose assignment is held, ``None`` if it is not known.
        captured_at_ms: the moment, since 1970.
        members: the members, whose reports count.
        holdings: member id → its assignment; empty for a member that is not in it.
        leader: the leader's member id, ``None`` if it is not known.
        reported_at_ms: when the members reported, ``None`` if it is not known.
        still_held: whether the reports are of the join that led to the assignment (and so older than it), and not of a
            later join.
        holdings_before: member id → its assignment before that, if known.
    """

    application_id: str
    generation: int | None
    captured_at_ms: int
    members: Sequence[StreamsMember]
    holdings: Mapping[str, HeldPartitions]
    leader: str | None = None
    reported_at_ms: int | None = None
    still_held: bool = False
    holdings_before: Mapping[str, HeldPartitions] = MappingProxyType({})


def held_by(members: Iterable[StreamsMember]) -> dict[str, HeldPartitions]:
    """Return what the members' own assignments say they hold, by member id."""
    return {member.member_id: HeldPartitions(frozenset(member.active), frozenset(member.standby)) for member in members}


def snapshot_row(
    moment: GroupMoment,
    tasks: Sequence[GroupTask],
    topics: Topics,
    ends: EndOffsets,
    reported_ends: EndOffsets,
) -> dict[str, Any]:
    """Return the snapshot's row.

    Args:
        moment: the group.
        tasks: its tasks, in the order in which they are written.
        topics: the racks of partitions.
        ends: end offsets of changelogs at the moment. Of a past moment they are estimates (``ListOffsets`` by time goes
            by the records' own times), so the sum is at least what a member had reported by then.
        reported_ends: end offsets of changelogs when the members reported, as far as they are known besides ``ends``.
    """
    row: dict[str, Any] = {"format_version": "1.0", "application_id": moment.application_id}
    if moment.generation is not None:
        row["generation"] = moment.generation
    row["captured_at"] = format_time(moment.captured_at_ms)
    if (release := newest_release(moment.members)) is not None:
        row["streams_version"] = release
    least = {} if moment.still_held else _largest_reports(moment.members)
    row["tasks"] = [task_row(task, topics, ends, least.get(task.task_id, 0)) for task in tasks]
    row["instances"] = _instance_rows(moment)
    decision = _decision(moment) if moment.still_held else _made_of(moment)
    if decision is not None:
        row["decision"] = decision
    row["lags"] = _lag_rows(moment, {task.task_id: end_offset_sum(task, reported_ends) for task in tasks})
    return row


def end_offset_sum(task: GroupTask, ends: EndOffsets) -> int | None:
    """Return the sum over the task's changelogs, ``None`` if one is not known or none exists."""
    if not task.changelogs or not all(partition in ends for partition in task.changelogs):
        return None
    return min(sum(ends[partition] for partition in task.changelogs), MAX_LONG)


def _largest_reports(members: Iterable[StreamsMember]) -> dict[TaskId, int]:
    largest: dict[TaskId, int] = {}
    for member in members:
        for task, offset_sum in member.info.offset_sums.items():
            largest[task] = max(largest.get(task, 0), offset_sum)
    return largest


def task_row(task: GroupTask, topics: Topics, ends: EndOffsets, least_end: int = 0) -> dict[str, Any]:
    """Return a task's row; its stores end at ``least_end`` at least, as some member has that much of them."""
    row: dict[str, Any] = {"task_id": str(task.task_id), "stateful": task.stateful}
    end_sum = end_offset_sum(task, ends)
    if end_sum is not None:
        row["end_offset_sum"] = max(end_sum, least_end)
    row["source_partitions"] = [_partition_row(partition, topics) for partition in task.sources]
    if task.changelogs:
        row["changelog_partitions"] = [
            _partition_row(partition, topics) | ({"end_offset": ends[partition]} if partition in ends else {})
            for partition in task.changelogs
        ]
    return row


def _partition_row(partition: TopicPartition, topics: Topics) -> dict[str, Any]:
    topic, number = partition
    row: dict[str, Any] = {"topic": topic, "partition": number}
    racks = topics[topic][number] if number < len(topics.get(topic, ())) else ()
    if any(rack is not None for rack in racks):
        row["racks"] = list(racks)
    return row


def _decision(moment: GroupMoment) -> dict[str, Any]:
    """Return the known part of the decision that led to the assignment of now, without withheld tasks."""
    decision: dict[str, Any] = {} if moment.generation is None else {"generation": moment.generation}
    if moment.reported_at_ms is not None:
        decision["at"] = format_time(moment.reported_at_ms)
    return decision | _next_of(moment.members, moment.holdings_before)


def _next_of(members: Sequence[StreamsMember], holdings_before: Mapping[str, HeldPartitions]) -> dict[str, Any]:
    """Return what the members know of the next rebalance: which of them rejoin at once, or when the leader probes.

    If one has to rejoin at once, so do the members that have to revoke tasks they held before. A member that has to
    rejoin at once gets no time of a probe: then it may be unknown whether there is a probe, and its time does not
    count, for the follow-up comes first.
    """
    probes = [member.next_rebalance_ms for member in members if member.has_probe]
    at_once = [member.member_id for member in members if not member.next_rebalance_ms]
    if at_once:
        revoking = (
            member.member_id
            for member in members
            if member.member_id in holdings_before and holdings_before[member.member_id].active - member.active.keys()
        )
        at_once = sorted({*at_once, *revoking})
    next_rebalance: dict[str, Any] = {"probing_rebalance": bool(probes)} if probes or not at_once else {}
    if at_once:
        return {**next_rebalance, "rejoin_at_once": at_once}
    return {**next_rebalance, "next_rebalance_at": format_time(min(probes))} if probes else next_rebalance


def _made_of(moment: GroupMoment) -> dict[str, Any] | None:
    """Return the decision made from the reports of the members; ``None`` if members got an error.

    A member does not learn the tasks that are withheld from it, only that it has to rejoin at once: the row does not
    have them.
    """
    members = moment.members
    if any(member.error_code for member in members):
        return None
    decision: dict[str, Any] = {} if moment.generation is None else {"generation": moment.generation + 1}
    decision["at"] = format_time(moment.captured_at_ms)
    decision |= _next_of(members, moment.holdings)
    decision["decided"] = {
        process_id: {"consumers": {member.member_id: _decided_of(member) for member in process_members}}
        for process_id, process_members in _by_process(members).items()
    }
    return decision


def _decided_of(member: StreamsMember) -> dict[str, list[str]]:
    return {"active": _in_order(member.active), "standby": _in_order(member.standby)}


def _by_process(members: Iterable[StreamsMember]) -> dict[str, list[StreamsMember]]:
    """Members in the order of their ids, by process in the order of their ids."""
    processes: dict[str, list[StreamsMember]] = {}
    for member in members:
        processes.setdefault(member.info.process_id, []).append(member)
    return dict(sorted(processes.items()))


def _instance_rows(moment: GroupMoment) -> list[dict[str, Any]]:
    rows = []
    for process_id, members in _by_process(moment.members).items():
        row: dict[str, Any] = {
            "process_id": process_id,
            "host": _host(members),
            "rack": next((member.subscription.rack for member in members if member.subscription.rack), None),
            "client_tags": dict(members[0].info.client_tags),
            "consumers": [
                _consumer_row(member, moment.holdings.get(member.member_id, HeldPartitions())) for member in members
            ],
        }
        if moment.leader is not None:
            row["leader"] = any(member.member_id == moment.leader for member in members)
        rows.append(row)
    return rows


def _host(members: Sequence[StreamsMember]) -> str | None:
    """The host of its ``application.server``, which is the instance's own name for itself, else its address."""
    end_point = members[0].info.user_end_point
    return end_point.rpartition(":")[0] or members[0].client_host.removeprefix("/") or None


def _consumer_row(member: StreamsMember, holding: HeldPartitions) -> dict[str, Any]:
    return {
        "consumer_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "active": _in_order(holding.active),
        "standby": _in_order(holding.standby),
        "warmup": [],
    }


def _in_order(tasks: Iterable[TaskId]) -> list[str]:
    return [str(task) for task in sorted(tasks, key=lambda task: task.sort_key)]


def _lag_rows(moment: GroupMoment, reported_ends: Mapping[TaskId, int | None]) -> list[dict[str, Any]]:
    rows = []
    for process_id, members in _by_process(moment.members).items():
        reports, reporters = _reports(members)
        active = frozenset[TaskId]().union(
            *(moment.holdings.get(member.member_id, HeldPartitions()).active for member in members)
        )
        for task in sorted(reports, key=lambda task: task.sort_key):
            if moment.still_held and task in active:
                continue  # it runs the task by now: that it reported something else, or this very thing, is past
            row: dict[str, Any] = {"process_id": process_id, "task_id": str(task), "store": None}
            row |= _report_row(reports[task], reported_ends[task], was_owner=moment.still_held)
            row["consumer_ids"] = reporters[task]
            if moment.reported_at_ms is not None:
                row["reported_at"] = format_time(moment.reported_at_ms)
            rows.append(row)
    return rows


def _reports(members: Sequence[StreamsMember]) -> tuple[dict[TaskId, int], dict[TaskId, list[str]]]:
    """Put what the consumers of one instance report together (``ClientState.addPreviousTasksAndOffsetSums``)."""
    reports: dict[TaskId, int] = {}
    reporters: dict[TaskId, list[str]] = {}
    for member in members:
        for task, offset_sum in member.info.offset_sums.items():
            reports[task] = offset_sum
            reporters.setdefault(task, []).append(member.member_id)
    return reports, reporters


def _report_row(offset_sum: int, end: int | None, *, was_owner: bool) -> dict[str, int]:
    """Return offset and lag of one report.

    Args:
        offset_sum: what was reported.
        end: the end-offset sum when it was reported, if known.
        was_owner: whether ``LATEST`` means that the instance ran the task, so that its state was complete, and lost it.
    """
    if offset_sum == LATEST and was_owner:
        return {"lag": 0} if end is None else {"offset": end, "end_offset": end}
    if offset_sum in (LATEST, UNKNOWN):
        return {"lag": offset_sum}
    return {"offset": offset_sum} if end is None else {"offset": offset_sum, "end_offset": max(end, offset_sum)}
