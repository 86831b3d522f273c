"""The tasks of a running group: what its members hold, what their topics have, and what the topology's text says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note, TaskId
from kstream_plan.model.java_hash import java_string_key
from kstream_plan.model.note import name_list
from kstream_plan.snapshots.broker.consumer_protocol import TopicPartition
from kstream_plan.snapshots.broker.members import StreamsMember
from kstream_plan.snapshots.broker.topology_text import (
    Subtopology,
    SubtopologyKey,
    Topology,
    changelog_topic,
    changelogs_assumed,
    topic_in_cluster,
)
from kstream_plan.snapshots.rows.fields import printable

if TYPE_CHECKING:
    from kstream_plan.snapshots.broker.source import Cluster

#: Topic → for each of its partitions the racks of its replicas (``None`` where a broker has none). A topic that the
#: cluster does not have is left out.
Topics: TypeAlias = Mapping[str, Sequence[tuple[str | None, ...]]]

_OTHER_TOPOLOGY = "give Topology.describe() of the version that is running, or leave --topology out"


class GroupTask(NamedTuple):
    """One task, with the partitions it reads and those its stores are written to.

    ``changelogs`` is ``None`` if they are unknown: no topology is given. A changelog that is among the ``sources``
    restores a table up to the group's committed offset of it (KAFKA-10085).
    """

    task_id: TaskId
    stateful: bool
    sources: tuple[TopicPartition, ...]
    changelogs: tuple[TopicPartition, ...] | None


def source_changelogs(tasks: Iterable[GroupTask]) -> list[TopicPartition]:
    """Return the partitions that tasks read, and restore their stores from."""
    return sorted({partition for task in tasks for partition in task.changelogs or () if partition in task.sources})


def ends_of_stores(cluster: Cluster, group_id: str, tasks: Sequence[GroupTask]) -> dict[TopicPartition, int]:
    """Return where the changelogs of tasks end now: what is also read counts up to what the group has committed.

    As in Kafka Streams (``ClientUtils.fetchCommittedOffsets``), a partition without a committed offset counts as 0.
    """
    changelogs = [partition for task in tasks for partition in task.changelogs or ()]
    ends = dict(cluster.end_offsets(changelogs)) if changelogs else {}
    if source_partitions := source_changelogs(tasks):
        committed = cluster.committed_offsets(group_id, source_partitions)
        ends |= {partition: min(ends[partition], committed.get(partition, 0)) for partition in source_partitions}
    return ends


def topics_to_ask_for(application_id: str, members: Sequence[StreamsMember], topology: Topology | None) -> list[str]:
    """Return the topics whose partitions :func:`group_tasks` needs: what is read, and changelogs."""
    topics = {topic for member in members for topic in member.subscription.topics}
    if topology is not None:
        for key, subtopology in topology.subtopologies.items():
            topics.update(changelog_topic(application_id, key.topology_name, store) for store in subtopology.stores)
    return sorted(topics)


def group_tasks(
    application_id: str,
    members: Sequence[StreamsMember],
    held_tasks: Iterable[TaskId],
    topology: Topology | None,
    topics: Topics,
    *,
    reuses_sources: bool = False,
) -> tuple[list[GroupTask], list[Note]]:
    """Return every task of the application, in Kafka's order.

    A subtopology has as many tasks as its largest source topic has partitions (``PartitionGrouper``); a topic belongs
    to the subtopology for which a member reads it, or that of the topology. So tasks that are unassigned at the moment,
    because they are withheld until revoked, are among them.

    Args:
        application_id: the group's id.
        members: the members; their reports and their assignments both name tasks.
        held_tasks: further tasks, which some member held.
        topology: the text of ``Topology.describe()``, ``None`` if it is not given.
        topics: the partitions of :func:`topics_to_ask_for`.
        reuses_sources: tables are restored from their source topics, even if an older changelog exists.

    Returns:
        The tasks, and warnings about what is unknown.

    Raises:
        SnapshotError: the topology is not that of the running members.
    """
    sources_by_task = _held_sources(members)
    sources = _topics_by_subtopology(application_id, members, topology, sources_by_task)
    partitions = _source_partitions(sources, topics)
    for task, task_partitions in sources_by_task.items():
        partitions.setdefault(task, task_partitions)
    reported = {task for member in members for task in (*member.info.offset_sums, *member.standby)}
    for task in (*reported, *held_tasks):
        partitions.setdefault(task, ())
    logged = {_key(task) for task in reported}
    changelogs, notes = _changelog_topics(application_id, topology, topics, logged, reuses_sources)
    tasks = [
        GroupTask(
            task,
            _key(task) in logged or bool(changelogs.get(_key(task))),
            partitions[task],
            None if topology is None else _changelogs_of(task, changelogs.get(_key(task), ()), topics),
        )
        for task in sorted(partitions, key=lambda task: task.sort_key)
    ]
    return tasks, notes


def _key(task: TaskId) -> SubtopologyKey:
    return SubtopologyKey(task.topology_name, task.subtopology)


def _held_sources(members: Sequence[StreamsMember]) -> dict[TaskId, tuple[TopicPartition, ...]]:
    sources: dict[TaskId, tuple[TopicPartition, ...]] = {}
    for member in members:
        for role in (member.active, member.standby):
            for task, partitions in role.items():
                sources.setdefault(task, tuple(sorted(partitions, key=_partition_key)))
    return sources


def _partition_key(partition: TopicPartition) -> tuple[bytes, int]:
    return java_string_key(partition[0]), partition[1]


def _topics_by_subtopology(
    application_id: str,
    members: Sequence[StreamsMember],
    topology: Topology | None,
    sources_by_task: Mapping[TaskId, tuple[TopicPartition, ...]],
) -> dict[SubtopologyKey, set[str]]:
    topics: dict[SubtopologyKey, set[str]] = defaultdict(set)
    for task, partitions in sources_by_task.items():
        topics[_key(task)].update(topic for topic, _ in partitions)
    if topology is None:
        return topics
    subscribed = {topic for member in members for topic in member.subscription.topics}
    for key, subtopology in topology.subtopologies.items():
        source_topics = {topic_in_cluster(topic, application_id, subscribed) for topic in subtopology.source_topics}
        _check_same(topology, key, subtopology, source_topics, subscribed, topics[key])
        topics[key].update(source_topics)
    unknown = sorted(str(task) for task in sources_by_task if _key(task) not in topology.subtopologies)
    if unknown:
        problem = f"has no sub-topology for task {unknown[0]}, which a member holds"
        raise SnapshotError(problem, where=topology.file, fix=_OTHER_TOPOLOGY, application_id=application_id)
    return topics


def _check_same(
    topology: Topology,
    key: SubtopologyKey,
    subtopology: Subtopology,
    source_topics: Collection[str],
    subscribed: Collection[str],
    held_topics: Collection[str],
) -> None:
    """Check that a subtopology of the text is the one that runs: by topics subscribed, and topics of held tasks."""
    unread_topics = sorted(set(source_topics) - set(subscribed))
    extra_topics = [] if subtopology.by_pattern else sorted(set(held_topics) - set(source_topics))
    if unread_topics:
        problem = f"lets sub-topology {key.number} read {printable(unread_topics[0])}, which no member reads"
    elif extra_topics:
        problem = f"does not let sub-topology {key.number} read {printable(extra_topics[0])}, which its tasks do read"
    else:
        return
    raise SnapshotError(problem, where=topology.file, fix=_OTHER_TOPOLOGY)


def _source_partitions(
    sources: Mapping[SubtopologyKey, Collection[str]], topics: Topics
) -> dict[TaskId, tuple[TopicPartition, ...]]:
    partitions: dict[TaskId, tuple[TopicPartition, ...]] = {}
    for key, names in sources.items():
        counts = [(name, len(topics.get(name, ()))) for name in sorted(names, key=java_string_key)]
        for number in range(max((count for _, count in counts), default=0)):
            task = TaskId(key.number, number, key.topology_name)
            partitions[task] = tuple((name, number) for name, count in counts if number < count)
    return partitions


def _changelog_topics(
    application_id: str,
    topology: Topology | None,
    topics: Topics,
    logged: Collection[SubtopologyKey],
    reuses: bool,
) -> tuple[dict[SubtopologyKey, list[str]], list[Note]]:
    """Return the existing changelogs by subtopology; a store without one has no lag, as in Kafka Streams."""
    if topology is None:
        message = (
            f"without --topology the changelogs are unknown of {len(logged)} stateful "
            f"{'subtopology' if len(logged) == 1 else 'subtopologies'}: no end offset is known, and so neither how far "
            "copies are behind nor what a move restores"
        )
        return {}, [Note("topology-unknown", message)] if logged else []
    changelogs: dict[SubtopologyKey, list[str]] = {}
    missing_topics, table_sources, assumed_topics = [], [], set[str]()
    for key, subtopology in topology.subtopologies.items():
        names = {store: changelog_topic(application_id, key.topology_name, store) for store in subtopology.stores}
        tables = {store: topic for store, topic in subtopology.table_topics if topic in topics}
        if not reuses:
            assumed_topics.update(topic for store, topic in tables.items() if names[store] in topics)
            tables = {store: topic for store, topic in tables.items() if names[store] not in topics}
        own_changelogs = {name for store, name in names.items() if name in topics and store not in tables}
        changelogs[key] = sorted({*own_changelogs, *tables.values()})
        table_sources += sorted(tables.values())
        missing_topics += [name for store, name in names.items() if name not in topics and store not in tables]
    notes = [*topology.notes, *changelogs_assumed(assumed_topics)]
    if table_sources:
        clause = "are" if reuses else "have no changelog of their own: they are taken to be"
        message = (
            f"tables of {name_list(table_sources, 1)} {clause} restored from that topic, up to what the group has "
            "committed of it (topology.optimization=all)"
        )
        notes.append(Note("source-topic-restored", message, tuple(table_sources)))
    if missing_topics:
        names_text = name_list(missing_topics, 1)
        message = f"the cluster has no topic {names_text}: its store has no changelog, and counts as 0 records"
        notes.append(Note("changelog-missing", message, tuple(missing_topics)))
    return changelogs, notes


def _changelogs_of(task: TaskId, names: Sequence[str], topics: Topics) -> tuple[TopicPartition, ...]:
    return tuple((name, task.partition) for name in names if task.partition < len(topics[name]))
