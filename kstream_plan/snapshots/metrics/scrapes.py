"""What one instance said of its copies at one moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple, TypeAlias

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note
from kstream_plan.snapshots.metrics.exposition import Exposition, Sample, read_expositions
from kstream_plan.snapshots.metrics.names import (
    Meaning,
    StoreLabel,
    client_of_thread,
    normal_topic,
    other_labels,
    restoring_client,
)
from kstream_plan.snapshots.rows.fields import printable, shown

#: A partition of a changelog, as a restore consumer names it.
TopicPartition: TypeAlias = tuple[str, int]


class Position(NamedTuple):
    """What a restore consumer says of one partition.

    ``lead`` is how far it is from the partition's start; ``lag`` how far it was from the end when it last fetched, so
    the least that it is behind. ``None`` where it says nothing.
    """

    lead: int | None = None
    lag: int | None = None


class Identity(NamedTuple):
    """What an instance calls itself; ``None`` for what its release does not publish."""

    process_id: str | None
    application_id: str | None


@dataclass(frozen=True, slots=True)
class Scrape:
    """What one instance said at one moment.

    Attributes:
        place: the file, and the labels in it that are this instance's.
        at_ms: when, since 1970; ``None`` if nothing tells.
        has_own_time: whether it says itself when that was; else it was then, or before.
        positions: by client id and partition, what its restore consumers said.
        remaining: by client id and task id, the records that a restoring active task still needs.
        identities: by client id.
        stores: the stores of its tasks.
        failed: whether jmx_exporter gave up on the way.
        about_kafka: whether it has any of Kafka's metrics.
        updates_unrecorded: whether it has standbys with positions, and metrics that say nothing was ever applied.
        odd: the values that are no positions, as text.
        input_lags: by client id and partition of the input, how far behind its stream thread was when it last fetched.
    """

    place: str
    at_ms: int | None
    has_own_time: bool = True
    positions: Mapping[tuple[str, TopicPartition], Position] = field(default_factory=dict)
    remaining: Mapping[tuple[str, str], int] = field(default_factory=dict)
    identities: Mapping[str, Identity] = field(default_factory=dict)
    stores: frozenset[StoreLabel] = frozenset()
    failed: bool = False
    about_kafka: bool = True
    updates_unrecorded: bool = False
    odd: tuple[str, ...] = ()
    input_lags: Mapping[tuple[str, TopicPartition], int] = field(default_factory=dict)

    @property
    def clients(self) -> list[str]:
        """The client ids that it tells of, sorted."""
        return sorted({client for client, _ in self.positions} | self.identities.keys())


def read_scrapes(
    paths: Sequence[str], stdin: BinaryIO | None = None, now_ms: int | None = None
) -> tuple[list[Scrape], list[Note]]:
    """Read what instances published, see :func:`exposition.read_expositions`; one file may hold several instances.

    Returns:
        The scrapes, and a warning about each endpoint that has failed.

    Raises:
        SnapshotError: a file cannot be read, or holds two instances that nothing tells apart.
    """
    expositions, notes = read_expositions(paths, stdin, now_ms)
    return [scrape for exposition in expositions for scrape in scrapes_of(exposition)], notes


def scrapes_of(exposition: Exposition) -> list[Scrape]:
    """Return what each instance in one file said; labels that are not Kafka's (``pod``, ``instance``) tell them apart.

    Raises:
        SnapshotError: it holds two instances that nothing tells apart.
    """
    instance_labels = {
        name for sample in exposition.samples if _is_position(sample) for name, _ in other_labels(sample.labels)
    }
    by_instance: dict[tuple[tuple[str, str], ...], list[Sample]] = defaultdict(list)
    for sample in exposition.samples:
        by_instance[tuple(label for label in other_labels(sample.labels) if label[0] in instance_labels)].append(sample)
    common = by_instance.pop((), []) if len(by_instance) > 1 else []
    return [_scrape(exposition, labels, [*common, *by_instance[labels]]) for labels in sorted(by_instance)] or [
        _scrape(exposition, (), [])
    ]


def _is_position(sample: Sample) -> bool:
    is_one = (
        sample.meaning in (Meaning.LEAD, Meaning.LAG) and {"client_id", "topic", "partition"} <= sample.labels.keys()
    )
    return is_one and restoring_client(sample.labels["client_id"]) is not None


def _scrape(exposition: Exposition, labels: Sequence[tuple[str, str]], samples: Iterable[Sample]) -> Scrape:
    place = printable(exposition.place) + "".join(f", {name} {shown(value)}" for name, value in labels)
    positions: dict[tuple[str, TopicPartition], Position] = {}
    remaining: dict[tuple[str, str], int] = {}
    identities: dict[str, Identity] = {}
    input_lags: dict[tuple[str, TopicPartition], int] = {}
    odd: list[str] = []
    updates: list[float] = []
    failed = False
    for sample in samples:
        if _is_position(sample):
            _add_position(positions, sample, place, odd)
        elif sample.meaning is Meaning.LAG:
            _add_input_lag(input_lags, sample)
        elif sample.meaning is Meaning.REMAINING:
            _add_remaining(remaining, sample)
        elif sample.meaning is Meaning.IDENTITY and "client_id" in sample.labels:
            identity = Identity(sample.labels.get("process_id") or None, sample.labels.get("application_id") or None)
            _add_identity(identities, sample.labels["client_id"], identity, place)
        elif sample.meaning is Meaning.UPDATES:
            updates.append(sample.value)
        elif sample.meaning is Meaning.SCRAPE_ERROR:
            failed = failed or sample.value != 0
    return Scrape(
        place,
        exposition.at_ms,
        exposition.has_own_time,
        _each_once(positions),
        remaining,
        identities,
        exposition.stores,
        failed,
        exposition.about_kafka,
        updates_unrecorded=bool(updates and positions) and not any(updates),
        odd=tuple(odd),
        input_lags=input_lags,
    )


def _add_input_lag(input_lags: dict[tuple[str, TopicPartition], int], sample: Sample) -> None:
    client, number = client_of_thread(sample.labels.get("client_id", "")), sample.labels.get("partition", "")
    records = _records(sample.value)
    if client is not None and records is not None and number.isdecimal() and "topic" in sample.labels:
        key = client, (normal_topic(sample.labels["topic"]), int(number))
        input_lags[key] = max(records, input_lags.get(key, 0))


def _add_position(
    positions: dict[tuple[str, TopicPartition], Position], sample: Sample, place: str, odd: list[str]
) -> None:
    client, topic = restoring_client(sample.labels["client_id"]) or "", sample.labels["topic"]
    number, records = sample.labels["partition"], _records(sample.value)
    if not number.isdecimal() or records is None:
        odd.append(f"{sample.value:g} of {topic}-{number}")
        return
    key = (client, (topic, int(number)))
    known_position = positions.get(key, Position())
    name = "lead" if sample.meaning is Meaning.LEAD else "lag"
    if getattr(known_position, name) not in (None, records):
        problem = f"holds two instances that look the same: client id {shown(client)} has two positions in "
        fix = "give one file per instance, or keep the label that distinguishes them (instance, pod)"
        raise SnapshotError(f"{problem}{printable(topic)}-{number}", where=place, fix=fix)
    positions[key] = known_position._replace(**{name: records})


def _add_identity(identities: dict[str, Identity], client: str, identity: Identity, place: str) -> None:
    known_identity = identities.setdefault(client, identity)
    if known_identity.process_id != identity.process_id:
        problem = f"holds two instances that look the same: client id {shown(client)} belongs to two processes"
        fix = "give one file per instance, or keep the label that distinguishes them (instance, pod)"
        raise SnapshotError(problem, where=place, fix=fix)


def _add_remaining(remaining: dict[tuple[str, str], int], sample: Sample) -> None:
    client, records = client_of_thread(sample.labels.get("thread_id", "")), _records(sample.value)
    if client is not None and records is not None and "task_id" in sample.labels:
        remaining[client, sample.labels["task_id"]] = records


def _records(value: float) -> int | None:
    """Return a number of records, ``None`` for what is none: NaN, infinite, negative."""
    return int(value) if 0 <= value < float("inf") else None


def _each_once(
    positions: Mapping[tuple[str, TopicPartition], Position],
) -> dict[tuple[str, TopicPartition], Position]:
    """Leave out topics that are there a second time with underscores for dots, as Kafka 4.1 and later publish them."""
    dotted = {(client, (normal_topic(topic), number)) for client, (topic, number) in positions if "." in topic}
    return {
        (client, (topic, number)): position
        for (client, (topic, number)), position in positions.items()
        if "." in topic or (client, (topic, number)) not in dotted
    }
