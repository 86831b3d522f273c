"""What was measured of groups, beside their snapshots: read from files, or asked of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO

from kstream_plan.model import Note
from kstream_plan.snapshots.broker.topology_text import Topology
from kstream_plan.snapshots.metrics.names import normal_topic
from kstream_plan.snapshots.metrics.offsets import Offsets, OffsetSet, read_offsets
from kstream_plan.snapshots.metrics.scrapes import Scrape, TopicPartition, read_scrapes
from kstream_plan.snapshots.metrics.store_lags import StoreLags, read_store_lags
from kstream_plan.snapshots.metrics.traps import notes_about_scrapes

if TYPE_CHECKING:
    from kstream_plan.snapshots.broker.source import Cluster


def no_topology(_application_id: str) -> None:
    """Tell the topology of no application."""


@dataclass(frozen=True, slots=True)
class Measurements:
    """What was measured of whatever group: scrapes, store lags, and offsets of changelogs.

    Attributes:
        scrapes: what instances published.
        store_lags: what applications say of their own stores.
        ends: end offsets of changelogs.
        starts: start offsets of changelogs.
        topology_of: which task a changelog is of, by application id, where a snapshot does not tell.
        notes: warnings about what was read.
        now_ms: what counts as now, since 1970; ``None``: the newest that snapshot and measurements know.
        committed: what the group has committed of its input, by topic (with underscores for dots) and partition.
    """

    scrapes: tuple[Scrape, ...] = ()
    store_lags: tuple[StoreLags, ...] = ()
    ends: Offsets = field(default_factory=Offsets)
    starts: Offsets = field(default_factory=Offsets)
    topology_of: Callable[[str], Topology | None] = no_topology
    notes: tuple[Note, ...] = ()
    now_ms: int | None = None
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)


def read_measurements(
    *,
    metrics: Sequence[str] = (),
    end_offsets: Sequence[str] = (),
    start_offsets: Sequence[str] = (),
    store_lags: Sequence[str] = (),
    topology_of: Callable[[str], Topology | None] = no_topology,
    stdin: BinaryIO | None = None,
    clock_ms: int | None = None,
    now_ms: int | None = None,
) -> Measurements:
    """Read files of measurements: paths, folders, globs; ``-`` is standard input, which is of ``clock_ms``.

    ``now_ms`` is what counts as now, if that is not the newest that is known; both since 1970.

    Raises:
        SnapshotError: a file cannot be read or is of another form; it names the file.
    """
    scrapes, notes = read_scrapes(metrics, stdin, clock_ms)
    return Measurements(
        tuple(scrapes),
        read_store_lags(store_lags, stdin, clock_ms),
        read_offsets(end_offsets, stdin, clock_ms),
        read_offsets(start_offsets, stdin, clock_ms, kind="start"),
        topology_of,
        (*notes, *notes_about_scrapes(scrapes)),
        now_ms,
    )


def with_asked_offsets(
    measurements: Measurements, cluster: Cluster, application_id: str, now_ms: int, sources: Collection[str] = ()
) -> Measurements:
    """Return the measurements with the offsets of changelogs that a cluster tells now, unless they were given.

    Args:
        measurements: what was measured.
        cluster: where the group is.
        application_id: the group's application: other applications' changelogs are not asked for.
        now_ms: the time, since 1970.
        sources: the topics that the application reads.

    Raises:
        ClusterError: the cluster cannot be reached or refuses.
    """
    if measurements.ends:
        return measurements
    restored_partitions = {partition for scrape in measurements.scrapes for _, partition in scrape.positions}
    prefix = f"{application_id}-"
    topics = cluster.topics(
        sorted({topic for topic, _ in restored_partitions if topic in sources or topic.startswith(prefix)})
    )
    partitions = sorted((topic, number) for topic, number in restored_partitions if number < len(topics.get(topic, ())))
    if not partitions:
        return measurements

    def as_of_now(offsets: Mapping[TopicPartition, int]) -> Offsets:
        by_name = {(normal_topic(topic), number): offset for (topic, number), offset in offsets.items()}
        return Offsets((OffsetSet(now_ms, by_name),))

    ends, starts = cluster.end_offsets(partitions), measurements.starts or as_of_now(cluster.start_offsets(partitions))
    read_too = [partition for partition in partitions if partition[0] in sources]
    committed = cluster.committed_offsets(application_id, read_too) if read_too else {}
    limits = {(normal_topic(topic), number): committed.get((topic, number), 0) for topic, number in read_too}
    return replace(measurements, ends=as_of_now(ends), starts=starts, committed=limits)
