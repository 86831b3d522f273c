"""A running group → snapshot rows: as it is now, or as each of its rebalances found it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note
from kstream_plan.model.note import name_list
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.broker.consumer_protocol import TopicPartition
from kstream_plan.snapshots.broker.group_rows import EndOffsets, GroupMoment, held_by, snapshot_row
from kstream_plan.snapshots.broker.group_tasks import (
    GroupTask,
    Topics,
    ends_of_stores,
    group_tasks,
    source_changelogs,
    topics_to_ask_for,
)
from kstream_plan.snapshots.broker.history import (
    Generation,
    GroupDecision,
    OffsetsRecord,
    decisions,
    generations,
    moments,
)
from kstream_plan.snapshots.broker.members import StreamsMember, newest_release, read_members
from kstream_plan.snapshots.broker.streams_data import ERRORS
from kstream_plan.snapshots.broker.streams_group import (
    DescribedGroup,
    StreamsGroupAnswer,
    check_stable_streams_group,
    newer_protocol,
    no_members,
)
from kstream_plan.snapshots.broker.streams_rows import GivenOfGroup, running_streams_group
from kstream_plan.snapshots.broker.topology_text import Topology, reuses_sources
from kstream_plan.snapshots.rows.fields import printable
from kstream_plan.snapshots.rows.history import lost_state_notes, with_rates, with_stores_by_restarts

#: How many of the last generations get end offsets, for the rates of the newest snapshot.
_GENERATIONS_FOR_RATES = 20


class Cluster(Protocol):
    """What is asked of a Kafka cluster, all of it read-only; ``kafka_cluster.KafkaCluster`` asks a real one."""

    def describe_group(self, group_id: str) -> DescribedGroup:
        """Return the group as it is."""

    def describe_streams_group(self, group_id: str) -> StreamsGroupAnswer:
        """Return a group of the streams protocol as it is."""

    def group_settings(self, group_id: str) -> Mapping[str, str]:
        """Return a group's own settings, by the brokers' names."""

    def streams_groups(self) -> list[str]:
        """Return the running groups of Kafka Streams, and those whose kind is unknown at the moment, sorted."""

    def topics(self, names: Sequence[str]) -> Topics:
        """Return the partitions of those topics that exist."""

    def end_offsets(self, partitions: Sequence[TopicPartition], at_ms: int | None = None) -> EndOffsets:
        """Return end offsets now; or at a time since 1970, by the records' own times."""

    def committed_offsets(self, group_id: str, partitions: Sequence[TopicPartition]) -> EndOffsets:
        """Return a group's committed offsets, of the partitions that have one."""

    def start_offsets(self, partitions: Sequence[TopicPartition]) -> EndOffsets:
        """Return the offsets that partitions start at now."""

    def group_records(self, group_id: str, from_offset: int = 0) -> Iterator[OffsetsRecord]:
        """Return the records of the partition of ``__consumer_offsets`` that holds the group, in order.

        ``from_offset``: only those from there on; the partition is not read where it ends there.
        """


class Taken(NamedTuple):
    """Snapshot rows in the order of time, and warnings about what is unknown."""

    rows: list[dict[str, Any]]
    notes: list[Note]


def running_group(
    cluster: Cluster,
    group_id: str,
    topology: Topology | None,
    now_ms: int,
    config: Mapping[str, Any],
    options: GivenOfGroup = GivenOfGroup(),  # noqa: B008 - nothing can change it
) -> Taken:
    """Take one snapshot of a group as it is now, of either protocol of Kafka Streams.

    What the members of a classic group reported is of their last join, and the broker does not tell when that was.

    Args:
        cluster: where the group is.
        group_id: the group, which is the application's id.
        topology: the text of its ``Topology.describe()``, ``None`` without.
        now_ms: the time, since 1970.
        config: the application's settings, by the names of the snapshot's ``config``.
        options: options for a group of the streams protocol, instead of topology and settings.

    Raises:
        SnapshotError: the group is not stable, empty, of another kind; a payload or the topology does not fit.
        ClusterError: the cluster cannot be reached or refuses.
    """
    described = cluster.describe_group(group_id)
    if described.group_type == "streams":
        row, notes = running_streams_group(cluster, group_id, now_ms, options)
        return Taken([row], notes)
    check_stable_streams_group(group_id, described)
    members = read_members(group_id, described.members)
    moment = GroupMoment(group_id, _generation(members), now_ms, members, held_by(members), still_held=True)
    age = Note(
        "lag-age-unknown",
        "a running group does not show when its members reported their offsets: copies that have caught up by now may "
        "look behind; --set offsets.topic=true reads the time",
    )
    capture = _take(cluster, [moment], topology, config)
    return Taken(capture.rows, [age, *_release_notes(members), *_assignment_errors(members), *capture.notes])


def group_history(
    cluster: Cluster,
    group_id: str,
    topology: Topology | None,
    now_ms: int,
    wanted: Callable[[int], bool],
    *,
    newest_only: bool,
    config: Mapping[str, Any],
) -> Taken:
    """Take snapshots from the broker's own records of a group: one for each decision, and one of now.

    The snapshot of a decision is the state that the leader decided from: the tasks that members held, and their
    reports of that join. That of now has their last assignment, and their reports when they joined for it, with the
    time.

    Args:
        cluster: where the group is.
        group_id: the group, which is the application's id.
        topology: the text of its ``Topology.describe()``, ``None`` without.
        now_ms: the time, since 1970.
        wanted: whether the snapshot of a time, since 1970, is to be taken.
        newest_only: take only the newest of them; it has the rates that the last ones before it give.
        config: the application's settings, by the names of the snapshot's ``config``.

    Raises:
        SnapshotError: there is no snapshot; the group is of another kind; a payload or the topology does not fit.
        ClusterError: the cluster cannot be reached or refuses.
    """
    last: deque[Generation] = deque(maxlen=1)
    moments_in_range: deque[GroupMoment] = deque(maxlen=_GENERATIONS_FOR_RATES if newest_only else None)
    gaps, newest = 0, None
    for moment in moments(group_id, _remembering(generations(group_id, cluster.group_records(group_id)), last)):
        newest = moment or newest
        if moment is None:
            gaps += 1
        elif wanted(moment.captured_at_ms):
            moments_in_range.append(moment)
    if last and last[0].members and wanted(now_ms):
        moments_in_range.append(_now(group_id, last[0], newest, now_ms))
    if not moments_in_range:
        raise _no_snapshot(group_id, last)
    capture = _take(cluster, moments_in_range, topology, config, newest_only=newest_only)
    members = moments_in_range[-1].members
    member_notes = [*_release_notes(members), *_assignment_errors(members)]
    notes = [*member_notes, *_gap_notes(gaps, newest_only), *capture.notes]
    if wanted(now_ms) and not last[0].members:
        notes.insert(0, _gone_note(last[0]))
    rows = with_stores_by_restarts(with_rates(capture.rows, "offsets-topic"))[-1 if newest_only else 0 :]
    return Taken(rows, [*notes, *lost_state_notes(rows)])


def group_decisions(cluster: Cluster, group_id: str, is_in_range: Callable[[int], bool]) -> list[GroupDecision]:
    """Return the decision of each generation of a group, by the broker's own records.

    Args:
        cluster: where the group is.
        group_id: the group, which is the application's id.
        is_in_range: whether the decision of a time, since 1970, is to be returned.

    Raises:
        SnapshotError: there is none; the group is of another kind; a payload does not fit.
        ClusterError: the cluster cannot be reached or refuses.
    """
    last: deque[Generation] = deque(maxlen=1)
    history = _remembering(generations(group_id, cluster.group_records(group_id)), last)
    decisions_in_range = [decision for decision in decisions(history) if is_in_range(decision.at_ms)]
    if not decisions_in_range:
        raise _no_snapshot(group_id, last)
    return decisions_in_range


def _generation(members: Sequence[StreamsMember]) -> int | None:
    """The members tell in which generation they were when they joined; the one that followed is now."""
    newest = max((member.subscription.generation for member in members), default=-1)
    return newest + 1 if newest >= 0 else None


def _now(group_id: str, generation: Generation, decision_moment: GroupMoment | None, now_ms: int) -> GroupMoment:
    """Return the group as it is; ``decision_moment`` is how its newest known decision found it."""
    led_here = decision_moment is not None and decision_moment.generation == generation.number - 1
    return GroupMoment(
        application_id=group_id,
        generation=generation.number,
        captured_at_ms=now_ms,
        members=generation.members,
        holdings=generation.holdings,
        leader=generation.leader,
        reported_at_ms=generation.reported_at_ms,
        still_held=True,
        holdings_before=decision_moment.holdings if decision_moment is not None and led_here else {},
    )


def _remembering(history: Iterable[Generation], last: deque[Generation]) -> Iterator[Generation]:
    for generation in history:
        last.append(generation)
        yield generation


def _no_snapshot(group_id: str, last: Sequence[Generation]) -> SnapshotError:
    place = f"group {printable(group_id)}"
    if not last:
        fix = "give the application.id of a Kafka Streams application that has run on this cluster"
        problem = "has no record in __consumer_offsets"
        return SnapshotError(problem, where=place, fix=fix, application_id=group_id)
    if last[0].protocol != "classic":
        return newer_protocol(group_id, last[0].protocol, place)
    if not last[0].members:
        return no_members(group_id, place)
    problem = f"has no snapshot in the given time; its newest record is of {format_time(last[0].decided_at_ms)}"
    fix = "choose another time, or look at --list"
    return SnapshotError(problem, where=place, fix=fix, application_id=group_id)


def _take(
    cluster: Cluster,
    moments_in_range: Sequence[GroupMoment],
    topology: Topology | None,
    config: Mapping[str, Any],
    *,
    newest_only: bool = False,
) -> Taken:
    """Request the topics of all moments once, and the end offsets of each."""
    names = {
        name
        for moment in moments_in_range
        for name in topics_to_ask_for(moment.application_id, moment.members, topology)
    }
    topics = cluster.topics(sorted(names))
    rows, notes = [], dict[Note, None]()
    past_sources = set[str]()
    for moment in moments_in_range:
        held_tasks = [task for holding in moment.holdings.values() for role in holding for task in role]
        tasks, task_notes = group_tasks(
            moment.application_id, moment.members, held_tasks, topology, topics, reuses_sources=reuses_sources(config)
        )
        notes |= dict.fromkeys(task_notes)
        if not moment.still_held and (moment is moments_in_range[-1] or not newest_only):
            past_sources.update(topic for topic, _ in source_changelogs(tasks))
        rows.append({**_row(cluster, moment, tasks, topics), "config": dict(config)})
    return Taken(rows, [*notes, *_unknown_commits(sorted(past_sources))])


def _unknown_commits(topics: Sequence[str]) -> list[Note]:
    if not topics:
        return []
    message = (
        f"what the group had committed of {name_list(topics, 1)} at a past moment is unknown, and so is how far copies "
        "of the tables that are restored from it were behind; a snapshot of the running group tells"
    )
    return [Note("committed-offsets-unknown", message, tuple(topics))]


def _row(cluster: Cluster, moment: GroupMoment, tasks: Sequence[GroupTask], topics: Topics) -> dict[str, Any]:
    changelogs = [partition for task in tasks for partition in task.changelogs or ()]
    if not changelogs:
        return snapshot_row(moment, tasks, topics, {}, {})
    if not moment.still_held:
        return snapshot_row(moment, tasks, topics, _past_ends(cluster, tasks, changelogs, moment.captured_at_ms), {})
    reported: EndOffsets = {}
    if moment.reported_at_ms is not None:
        reported = _past_ends(cluster, tasks, changelogs, moment.reported_at_ms)
    return snapshot_row(moment, tasks, topics, ends_of_stores(cluster, moment.application_id, tasks), reported)


def _past_ends(
    cluster: Cluster, tasks: Sequence[GroupTask], changelogs: Sequence[TopicPartition], at_ms: int
) -> EndOffsets:
    """Return end offsets of a past moment; what a group had committed of its sources by then is unknown."""
    source_partitions = source_changelogs(tasks)
    own_changelogs = [partition for partition in changelogs if partition not in source_partitions]
    return cluster.end_offsets(own_changelogs, at_ms) if own_changelogs else {}


def _release_notes(members: Sequence[StreamsMember]) -> list[Note]:
    release = newest_release(members)
    if release is None:
        return []
    message = f"members speak as Kafka Streams up to {release} does, and name no release: {release} is assumed"
    return [Note("release-assumed", message)]


def _assignment_errors(members: Sequence[StreamsMember]) -> list[Note]:
    errors = sorted({(member.error_code, member.member_id) for member in members if member.error_code})
    if not errors:
        return []
    code, member_id = errors[0]
    name = ERRORS.get(code, "unknown")
    message = f"the leader gave {printable(member_id)} error {code} ({name}): the group has not settled, try later"
    return [Note("assignment-error", message, tuple(member_id for _, member_id in errors))]


def _gone_note(last: Generation) -> Note:
    now = "has had no members" if last.protocol == "classic" else f"is of the newer {last.protocol} protocol"
    return Note("group-gone", f"the group {now} since {format_time(last.decided_at_ms)}: the newest snapshot is older")


def _gap_notes(gaps: int, newest_only: bool) -> list[Note]:
    if not gaps or newest_only:
        return []
    message = (
        f"{gaps} decision{'s are' if gaps > 1 else ' is'} left out: the broker does not keep the generation before, "
        "so what members held is unknown"
    )
    return [Note("history-gap", message)]
