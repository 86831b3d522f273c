"""Whose copies these are: a snapshot row's instances and changelogs, as metrics name them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kstream_plan.errors import SnapshotError
from kstream_plan.model import TaskId
from kstream_plan.snapshots.broker.topology_text import (
    Subtopology,
    SubtopologyKey,
    Topology,
    changelog_topic,
    reuses_sources,
)
from kstream_plan.snapshots.metrics.names import StoreLabel, client_of_thread, normal_topic
from kstream_plan.snapshots.metrics.scrapes import Identity, Scrape, TopicPartition
from kstream_plan.snapshots.rows.fields import Row, printable, shown
from kstream_plan.snapshots.rows.tasks_and_members import normal_process_id

_STALE = "take the snapshot again, of the same moment as the metrics (of a log: --as-of)"


@dataclass(frozen=True, slots=True)
class Seats:
    """The instances of one row, and which task each partition of a changelog is of.

    Attributes:
        application_id: the row's application.
        processes: process id → host, in the order of the row.
        clients: client id → the processes that have it.
        tasks: partition of a changelog, its topic with underscores for dots → task id.
        changelogs: task id → the partitions of its changelogs, in the same form.
        sources: topics that are read; with underscores for dots.
        assumed: topics of tables whose changelogs are taken to be in use, and may be left over.
        read_too: partitions of changelogs that are read as well, up to whose committed offsets a table is restored.
        table_tasks: store of a table, and partition, that the text of the topology tells → task id.
    """

    application_id: str
    processes: Mapping[str, str | None]
    clients: Mapping[str, Sequence[str]]
    tasks: Mapping[TopicPartition, str]
    changelogs: Mapping[str, Sequence[TopicPartition]]
    sources: frozenset[str]
    assumed: frozenset[str] = frozenset()
    read_too: frozenset[TopicPartition] = frozenset()
    table_tasks: Mapping[tuple[str, int], str] = field(default_factory=dict)

    def process_of(self, scrape: Scrape, client: str) -> str | None:
        """Return the process that a client id of a scrape is of, ``None`` if it is another application's.

        By the client id, which the group's members bear; where two have the same one, or the group has the process but
        not the client id, by the process id that it publishes.

        Raises:
            SnapshotError: it is this application's, but the group has no such process, or two that nothing tells apart.
        """
        identity = scrape.identities.get(client, Identity(None, None))
        of_client = self.clients.get(client, ())
        published = None if identity.process_id is None else normal_process_id(identity.process_id)
        if published in self.processes:
            return published
        if self._is_of_another(scrape, client, identity, is_member=bool(of_client)):
            return None
        if published is not None:
            problem = f"is of process {shown(published)}, which the group {shown(self.application_id)} does not have"
            raise SnapshotError(problem, where=scrape.place, fix=_STALE, application_id=self.application_id)
        if len(of_client) == 1:
            return of_client[0]
        if of_client:
            problem = f"client id {shown(client)} is that of {len(of_client)} instances, and no process id is published"
            fix = "publish client-state of stream-metrics, or give every instance a client.id of its own"
            raise SnapshotError(problem, where=scrape.place, fix=fix, application_id=self.application_id)
        by_default = [
            process
            for process, host in self.processes.items()
            if client in (host, f"{self.application_id}-{process}")  # of static members the group tells no client id
        ]
        if len(by_default) == 1:
            return by_default[0]
        problem = f"is of client {shown(client)}, which the group {shown(self.application_id)} does not have"
        fix = f"{_STALE}; of static members, publish client-state of stream-metrics too"
        raise SnapshotError(problem, where=scrape.place, fix=fix, application_id=self.application_id)

    def task_of(self, scrape: Scrape, partition: TopicPartition) -> str | None:
        """Return the task of a changelog's partition, ``None`` of a source topic that a store is read back from.

        Raises:
            SnapshotError: the group has no such changelog.
        """
        key = (normal_topic(partition[0]), partition[1])
        if key in self.tasks:
            return self.tasks[key]
        if key[0] in self.sources:
            return None
        name = f"{printable(partition[0])}-{partition[1]}"
        if self.tasks:
            problem = f"restores {name}, which is no changelog of the group {shown(self.application_id)}"
            fix = "give --topology of the version that is running: a table may be restored from the topic that it reads"
        else:
            problem = f"restores {name}, whose task is unknown"
            fix = "make the snapshot with --topology FILE: what Topology.describe() prints"
        raise SnapshotError(problem, where=scrape.place, fix=fix, application_id=self.application_id)

    def _is_of_another(self, scrape: Scrape, client: str, identity: Identity, *, is_member: bool) -> bool:
        """Tell whether a client id whose process the group does not have is another application's."""
        if identity.application_id is not None:
            return normal_topic(identity.application_id) != normal_topic(self.application_id)
        if is_member:
            return False
        topics = {normal_topic(topic) for of_client, (topic, _) in scrape.positions if of_client == client}
        known_topics = {topic for topic, _ in self.tasks}
        prefix = f"{normal_topic(self.application_id)}-"
        return not any(topic in known_topics if known_topics else topic.startswith(prefix) for topic in topics)


def seats_of(
    row: Row,
    topology: Topology | None,
    stores: Collection[StoreLabel],
    published: Collection[str],
    restored_topics: Collection[str] = (),
) -> Seats:
    """Return whose copies are whose in a row.

    Which task a changelog is of is told by the row itself, else by the topology, else by the stores that the metrics of
    tasks name: ``<application>-<store>-changelog``. What a task reads, and a restore consumer too, is the changelog of
    a table (``topology.optimization=all``).

    Args:
        row: a snapshot row.
        topology: the text of ``Topology.describe()``, ``None`` if it is not given.
        stores: the stores that metrics name.
        published: topics that offsets or positions are known of, with underscores for dots; a store that is not
            logged has none.
        restored_topics: topics that restore consumers read, in the same form.
    """
    application_id = str(row["application_id"])
    changelogs: dict[str, list[TopicPartition]] = {}
    sources, not_changelogs, assumed = set[TopicPartition](), set[str](), set[str]()
    reuses = reuses_sources(row.get("config") or {})
    for task_row in row.get("tasks") or ():
        task = TaskId.parse(task_row["task_id"])
        left_over, reread = set[str](), set(restored_topics)
        for store, topic in _tables_of(task, topology):
            changelog_of_store = normal_topic(changelog_topic(application_id, task.topology_name, store))
            if normal_topic(topic) in restored_topics or (reuses and changelog_of_store not in restored_topics):
                left_over.add(changelog_of_store)
                reread.add(normal_topic(topic))
            elif changelog_of_store in {*published}.difference(restored_topics):
                assumed.add(topic)
        not_changelogs |= left_over
        partitions = [
            (partition["topic"], partition["partition"]) for partition in task_row.get("changelog_partitions") or ()
        ]
        if not partitions and task_row.get("stateful") is not False:
            names = _stores_of(task, topology, stores)
            topics = [changelog_topic(application_id, task.topology_name, store) for store in names]
            partitions = [(topic, task.partition) for topic in topics if normal_topic(topic) in published]
        changelog = [
            (normal_topic(topic), number) for topic, number in partitions if normal_topic(topic) not in left_over
        ]
        read = _read_by(task_row, topology)
        changelog += sorted(partition for partition in read if partition[0] in reread and partition not in changelog)
        sources |= read
        if changelog:
            changelogs[task_row["task_id"]] = changelog
    tasks = {partition: task_id for task_id, partitions in changelogs.items() for partition in partitions}
    instances: Sequence[Row] = row["instances"]
    return Seats(
        application_id,
        {normal_process_id(instance["process_id"]): instance.get("host") for instance in instances},
        _clients(instances),
        tasks,
        changelogs,
        frozenset({topic for topic, _ in sources} | not_changelogs),
        frozenset(assumed),
        frozenset(sources & tasks.keys()),
        {
            (store, TaskId.parse(task_id).partition): task_id
            for task_id in changelogs
            for store, topic in _tables_of(TaskId.parse(task_id), topology)
            if (normal_topic(topic), TaskId.parse(task_id).partition) in tasks
        },
    )


def _read_by(task_row: Row, topology: Topology | None) -> set[TopicPartition]:
    """Return the partitions that a task reads, topics with underscores for dots."""
    task = TaskId.parse(task_row["task_id"])
    subtopology = _subtopology(task, topology)
    topics = () if subtopology is None else subtopology.source_topics
    partitions = task_row.get("source_partitions") or ()
    sources = {(normal_topic(partition["topic"]), partition["partition"]) for partition in partitions}
    return sources | {(normal_topic(topic), task.partition) for topic in topics}


def _subtopology(task: TaskId, topology: Topology | None) -> Subtopology | None:
    subtopologies = {} if topology is None else topology.subtopologies
    return subtopologies.get(SubtopologyKey(task.topology_name, task.subtopology))


def _stores_of(task: TaskId, topology: Topology | None, stores: Iterable[StoreLabel]) -> list[str]:
    subtopology = _subtopology(task, topology)
    of_topology = () if subtopology is None else subtopology.stores
    return sorted({*of_topology, *(label.store for label in stores if _group(label.task_id) == task.group)})


def _tables_of(task: TaskId, topology: Topology | None) -> Sequence[tuple[str, str]]:
    """Return the stores of a task's tables that read a topic, and that topic."""
    subtopology = _subtopology(task, topology)
    return () if subtopology is None else subtopology.table_topics


def _group(task_id: str) -> str | None:
    try:
        return TaskId.parse(task_id).group
    except ValueError:
        return None


def _clients(instances: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    clients: dict[str, list[str]] = defaultdict(list)
    for instance in instances:
        process_id = normal_process_id(instance["process_id"])
        for consumer in instance["consumers"]:
            client = client_of_thread(consumer["consumer_id"])
            if client is not None and process_id not in clients[client]:
                clients[client].append(process_id)
    return {client: processes for client, processes in clients.items() if processes}
