"""A cluster that is asked again and again, and nothing twice that cannot have changed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from kstream_plan.snapshots.broker.byte_reader import PayloadError
from kstream_plan.snapshots.broker.consumer_protocol import TopicPartition, read_group_key
from kstream_plan.snapshots.broker.group_rows import EndOffsets
from kstream_plan.snapshots.broker.group_tasks import Topics
from kstream_plan.snapshots.broker.history import OffsetsRecord
from kstream_plan.snapshots.broker.source import Cluster
from kstream_plan.snapshots.broker.streams_group import DescribedGroup, StreamsGroupAnswer

#: How many of the newest records of a group are kept: one for each generation, and some more.
_MOST_RECORDS = 128
#: How many end offsets of past moments are kept, one for each partition and moment.
_MOST_PAST = 100_000


class RememberedCluster:
    """A cluster and what it has answered for one group: the group's records, and end offsets of past moments.

    Args:
        cluster: the cluster that is asked for the rest.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._records: deque[OffsetsRecord] = deque(maxlen=_MOST_RECORDS)
        self._next_offset = 0
        self._past: dict[tuple[TopicPartition, int], int] = {}

    def group_records(self, group_id: str, from_offset: int = 0) -> Iterator[OffsetsRecord]:
        """Return the newest records of the group; only new ones are read."""
        for record in self._cluster.group_records(group_id, max(from_offset, self._next_offset)):
            self._next_offset = record.offset + 1
            if _is_about(record, group_id):
                self._records.append(record)
        yield from list(self._records)

    def end_offsets(self, partitions: Sequence[TopicPartition], at_ms: int | None = None) -> EndOffsets:
        """Return end offsets now; or at a time since 1970, which is requested once."""
        if at_ms is None:
            return self._cluster.end_offsets(partitions)
        unknown = [partition for partition in partitions if (partition, at_ms) not in self._past]
        if unknown:
            if len(self._past) > _MOST_PAST:
                self._past.clear()
            for partition, offset in self._cluster.end_offsets(unknown, at_ms).items():
                self._past[partition, at_ms] = offset
        return {partition: self._past[partition, at_ms] for partition in partitions if (partition, at_ms) in self._past}

    def describe_group(self, group_id: str) -> DescribedGroup:
        """Return the group as it is."""
        return self._cluster.describe_group(group_id)

    def describe_streams_group(self, group_id: str) -> StreamsGroupAnswer:
        """Return a group of the streams protocol as it is."""
        return self._cluster.describe_streams_group(group_id)

    def group_settings(self, group_id: str) -> Mapping[str, str]:
        """Return a group's own settings, by the brokers' names."""
        return self._cluster.group_settings(group_id)

    def streams_groups(self) -> list[str]:
        """Return the running groups of Kafka Streams."""
        return self._cluster.streams_groups()

    def topics(self, names: Sequence[str]) -> Topics:
        """Return the partitions of those topics that exist."""
        return self._cluster.topics(names)

    def committed_offsets(self, group_id: str, partitions: Sequence[TopicPartition]) -> EndOffsets:
        """Return a group's committed offsets, of the partitions that have one."""
        return self._cluster.committed_offsets(group_id, partitions)

    def start_offsets(self, partitions: Sequence[TopicPartition]) -> EndOffsets:
        """Return the offsets that partitions start at now."""
        return self._cluster.start_offsets(partitions)


def _is_about(record: OffsetsRecord, group_id: str) -> bool:
    """Tell whether a record describes the group; one that cannot be read is kept, so that the error is the same."""
    try:
        key = read_group_key(record.key)
    except PayloadError:
        return True
    return key is not None and key.group_id == group_id
