"""Positions and offsets → how far behind each copy was when it was scraped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note, TaskId
from kstream_plan.model.note import name_list
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.snapshots.broker.topology_text import changelog_topic
from kstream_plan.snapshots.metrics.names import normal_topic
from kstream_plan.snapshots.metrics.offsets import OffsetAt, Offsets
from kstream_plan.snapshots.metrics.scrapes import Position, Scrape, TopicPartition
from kstream_plan.snapshots.metrics.seats import Seats
from kstream_plan.snapshots.metrics.store_lags import StoreLags
from kstream_plan.snapshots.rows.fields import printable, shown

#: End offsets that are older than the scrape by more than this tell only the least that a copy is behind; between two
#: looks at them that are further apart they are unknown, and the later look counts.
_OLDEST_ENDS_MS = 10_000
#: By so much the clocks of an instance and of who looked up the offsets may differ.
_CLOCKS_APART_MS = 1_000
#: What counts as how long lies between scrape and end offsets if one of them has no time.
_UNKNOWN_APART_MS = 86_400_000
#: So many records a second may be written to a partition without a word; the other rate is the most that is written.
_USUAL_PER_S = 100
_FASTEST_PER_S = 10_000
#: A process that the group no longer has may be in a folder of scrapes if all that it has were scraped so much later.
_DEPARTED_MS = 60_000


class DoubtfulLag(StrEnum):
    """Why a lag that rests on end offsets is the least only."""

    ENDS_BELOW = "ends-below"
    STARTS_LATE = "starts-late"
    UNTIMED = "untimed"


class MeasuredLag(NamedTuple):
    """How far one copy was behind.

    Attributes:
        records: records behind; never below 0.
        at_ms: when, since 1970; ``None`` if nothing tells.
        at_least: whether it is the least that the copy is behind.
        ends_late_ms: how much later than the position the end offsets were looked up; negative: earlier.
        error_records: by how many records it may be off, because it lies between two looks at the end offsets.
        apart_ms: how far apart these are.
        restoring: whether this is state that an active task restores before it runs, if the task is active here.
        doubt: what in the offsets or the scrape makes it the least only, if they contradict each other.
    """

    records: int
    at_ms: int | None
    at_least: bool = False
    ends_late_ms: int = 0
    error_records: int = 0
    apart_ms: int = 0
    restoring: bool = False
    doubt: DoubtfulLag | None = None


@dataclass(frozen=True, slots=True)
class LogEnds:
    """Where changelogs start and end.

    Attributes:
        ends: end offsets.
        starts: start offsets; a partition without one starts at 0, which lets a copy look further behind.
        far_ms: a scrape that does not say when it was taken tells the least only if the end offsets are further away.
        committed: of partitions that are read as well, up to where the group has read them.
        unread_records: of partitions that are read as well, how many records were still to be read.
        snapshot_ends: end offsets that the snapshot has of when it was captured: no changelog ends below them later.
    """

    ends: Offsets
    starts: Offsets
    far_ms: int = AssignmentConfig().probing_rebalance_interval_ms
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)
    unread_records: Mapping[TopicPartition, int] = field(default_factory=dict)
    snapshot_ends: Offsets = field(default_factory=Offsets)

    def is_below_snapshot(self, partition: TopicPartition, end: OffsetAt, at_ms: int | None) -> bool:
        """Tell whether an end offset lies below the snapshot's own by more than is written between both."""
        snapshot_end = self.snapshot_ends.newest(partition)
        if snapshot_end is None:
            return False
        captured_ms = max((ends.at_ms for ends in self.snapshot_ends.sets if ends.at_ms is not None), default=None)
        later_ms = 0 if captured_ms is None or at_ms is None else max(0, captured_ms - at_ms)
        return (
            snapshot_end - end.offset
            > end.difference + (_USUAL_PER_S * _CLOCKS_APART_MS + _FASTEST_PER_S * later_ms) // 1000
        )

    def limit(self, partition: TopicPartition, end: int) -> int:
        """Return up to where a partition is restored that ends there: a table's source as far as it has been read."""
        if partition in self.committed:
            return min(end, self.committed[partition])
        return max(end - self.unread_records.get(partition, 0), 0)

    def start(self, partition: TopicPartition, at_ms: int | None) -> OffsetAt:
        """Return where a partition started at a moment."""
        return self.starts.newest_at(partition, at_ms) or OffsetAt(0, 0)

    def check(self, partitions: Iterable[TopicPartition], application_id: str) -> None:
        """Check that no partition starts above its end.

        Raises:
            SnapshotError: one does; it is named.
        """
        for partition in sorted(partitions):
            start, end = self.starts.newest(partition), self.ends.newest(partition)
            if start is not None and end is not None and start > end:
                problem = (
                    f"of {_partition_name(partition)} the start offset is {start:,}, above its end offset, {end:,}"
                )
                fix = "look up both in the same cluster: the start offsets before the scrape, the end offsets after it"
                raise SnapshotError(problem, where="--metrics", fix=fix, application_id=application_id)


class CopyScrape(NamedTuple):
    """What one instance said of its copies at one moment: by task, where each of its changelogs is."""

    place: str
    process_id: str
    at_ms: int | None
    has_own_time: bool
    positions: Mapping[str, Mapping[TopicPartition, Position]]
    remaining: Mapping[str, int]


def of_group(scrapes: Iterable[Scrape], seats: Seats) -> tuple[list[CopyScrape], list[Note]]:
    """Return what the scrapes say of one group's copies, in the order of time; what is of others is left out.

    Raises:
        SnapshotError: a process or a topic that the group does not have, or two instances that nothing tells apart.
    """
    copy_scrapes, strangers, foreign = [], [], []
    for scrape in scrapes:
        is_own = False
        for client in scrape.clients:
            try:
                process_id = seats.process_of(scrape, client)
            except SnapshotError as unknown:
                strangers.append((scrape, unknown))
                is_own = True
                continue
            if process_id is not None:
                is_own = True
                copy_scrapes.append(_copy_scrape(scrape, client, process_id, seats))
        if scrape.clients and not is_own:
            foreign.append(scrape)
    copy_scrapes, notes = _timed_first(copy_scrapes)
    copy_scrapes.sort(
        key=lambda scrape: (
            -1 if scrape.at_ms is None else scrape.at_ms,
            scrape.process_id,
            scrape.place,
        )
    )
    _check_one_each(copy_scrapes)
    newest = {scrape.process_id: scrape.at_ms for scrape in copy_scrapes if scrape.at_ms is not None}
    for scrape, stranger in strangers:
        if scrape.at_ms is None or not newest or scrape.at_ms + _DEPARTED_MS >= min(newest.values()):
            raise stranger
    notes += _of_others(foreign, seats)
    if not strangers:
        return copy_scrapes, notes
    message = (
        f"{len(strangers)} older scrape{'s are' if len(strangers) > 1 else ' is'} of processes that the group no "
        f"longer has, and left out: {strangers[0][0].place} first"
    )
    return copy_scrapes, [*notes, Note("scrape-of-departed", message)]


def _timed_first(scrapes: Sequence[CopyScrape]) -> tuple[list[CopyScrape], list[Note]]:
    """Leave out scrapes without a time of their own where one of the instance has one: a file's time orders nothing."""
    timed = {scrape.process_id for scrape in scrapes if scrape.has_own_time}
    left_out = [scrape for scrape in scrapes if scrape.process_id in timed and not scrape.has_own_time]
    if not left_out:
        return list(scrapes), []
    message = (
        "what does not say when it was scraped is left out where another scrape of the same instance does: "
        f"{name_list([scrape.place for scrape in left_out], 1)}"
    )
    return [scrape for scrape in scrapes if scrape not in left_out], [Note("scrape-untimed-left-out", message)]


def _of_others(scrapes: Sequence[Scrape], seats: Seats) -> list[Note]:
    """Return a warning about scrapes that have nothing of the group."""
    if not scrapes:
        return []
    application_ids = {
        identity.application_id
        for scrape in scrapes
        for identity in scrape.identities.values()
        if identity.application_id
    }
    ids = sorted(application_ids) or sorted({client for scrape in scrapes for client in scrape.clients})
    names = name_list(list(map(shown, ids)))
    message = (
        f"{len(scrapes)} scrape{'s have' if len(scrapes) > 1 else ' has'} nothing of {shown(seats.application_id)} but "
        f"only of {'application' if application_ids else 'client'} {names}: {scrapes[0].place} first"
    )
    return [Note("scrape-of-others", message)]


def measured_lags(scrapes: Iterable[CopyScrape], seats: Seats, bounds: LogEnds) -> dict[tuple[str, str], MeasuredLag]:
    """Return by process and task how far behind each copy was at its instance's last scrape.

    That is Σ over its stores max(0, end - (start + lead), ``records-lag``). Without end offsets, or with some that are
    older or contradict the scrape, it is the least that it can be. A task with a store missing is left out: its
    position is unknown.

    Args:
        scrapes: what instances said, in the order of time.
        seats: whose copies they are.
        bounds: where changelogs start and end.

    Raises:
        SnapshotError: a partition starts above its end, or a copy is further than its end can have been.
    """
    bounds.check(seats.tasks, seats.application_id)
    newest = {scrape.process_id: scrape for scrape in scrapes}
    lags = {}
    for process_id, scrape in sorted(newest.items()):
        for task_id, positions in sorted(scrape.positions.items()):
            partitions = seats.changelogs[task_id]
            if not all(partition in positions for partition in partitions):
                continue
            of_stores = [_store_lag(positions[partition], partition, scrape, bounds) for partition in partitions]
            store_lags = [lag for lag in of_stores if lag is not None]
            if len(store_lags) == len(of_stores):
                lag = _of_task(store_lags, scrape.at_ms)
                lags[process_id, task_id] = lag._replace(restoring=_restoring(scrape, task_id, positions))
    return lags


def lags_of_stores(
    store_lags: Sequence[StoreLags], seats: Seats, bounds: LogEnds | None = None
) -> dict[tuple[str, str], MeasuredLag]:
    """Return by process and task how far behind each copy is, as the instances say themselves.

    It is the least if an end offset that they say lies below the snapshot's own.

    Raises:
        SnapshotError: a host or process that the group does not have, or a store that is no changelog's.
    """
    lags_by_copy = dict[tuple[str, str], MeasuredLag]()
    for instance_lags in store_lags:
        process_id = _process_named(instance_lags, seats)
        lags: dict[str, int] = defaultdict(int)
        stores: dict[str, int] = defaultdict(int)
        tasks_below = set[str]()
        for (store, partition), lag in instance_lags.lags.items():
            task_id = _task_of_store(instance_lags, store, partition, seats)
            lags[task_id] += lag
            stores[task_id] += 1
            end = instance_lags.ends.get((store, partition))
            if end is not None and bounds is not None:
                topic = changelog_topic(seats.application_id, TaskId.parse(task_id).topology_name, store)
                if bounds.is_below_snapshot((topic, partition), OffsetAt(end, 0), instance_lags.at_ms):
                    tasks_below.add(task_id)
        for task_id, records in sorted(lags.items()):
            if stores[task_id] == len(seats.changelogs[task_id]):
                measured_lag = MeasuredLag(records, instance_lags.at_ms, restoring=records > 0)
                doubtful = measured_lag._replace(at_least=True, doubt=DoubtfulLag.ENDS_BELOW)
                seat, lag_of_copy = (process_id, task_id), doubtful if task_id in tasks_below else measured_lag
                lags_by_copy[seat] = newer_lag(lags_by_copy.get(seat, lag_of_copy), lag_of_copy)
    return lags_by_copy


def newer_lag(first: MeasuredLag, second: MeasuredLag) -> MeasuredLag:
    """Return the lag that was measured later; the larger one if both are of one time, or one has none."""
    if first.at_ms is None or second.at_ms is None or first.at_ms == second.at_ms:
        return first if first.records >= second.records else second
    return first if first.at_ms > second.at_ms else second


def position_of(scrape: CopyScrape, task_id: str, seats: Seats) -> int | None:
    """Return the sum of a copy's positions, ``None`` where one is not known."""
    of_task = scrape.positions.get(task_id, {})
    leads = [of_task.get(partition, Position()).lead for partition in seats.changelogs[task_id]]
    known_leads = [lead for lead in leads if lead is not None]
    return sum(known_leads) if len(known_leads) == len(leads) else None


def _copy_scrape(scrape: Scrape, client: str, process_id: str, seats: Seats) -> CopyScrape:
    positions: dict[str, dict[TopicPartition, Position]] = defaultdict(dict)
    for (of_client, partition), position in scrape.positions.items():
        if of_client == client and (task_id := seats.task_of(scrape, partition)) is not None:
            positions[task_id][normal_topic(partition[0]), partition[1]] = position
    remaining = {task: records for (of_client, task), records in scrape.remaining.items() if of_client == client}
    return CopyScrape(scrape.place, process_id, scrape.at_ms, scrape.has_own_time, positions, remaining)


def _check_one_each(scrapes: Sequence[CopyScrape]) -> None:
    """Check that no instance said two things at the same moment."""
    scrapes_by_moment: dict[tuple[str, int | None], CopyScrape] = {}
    for scrape in scrapes:
        first_scrape = scrapes_by_moment.setdefault((scrape.process_id, scrape.at_ms), scrape)
        if first_scrape.positions != scrape.positions:
            problem = (
                f"and {first_scrape.place} are of the same time and of process {shown(scrape.process_id)}, and differ"
            )
            raise SnapshotError(problem, where=scrape.place, fix="keep one of them")


def _store_lag(
    position: Position, partition: TopicPartition, scrape: CopyScrape, bounds: LogEnds
) -> MeasuredLag | None:
    at_ms, end = scrape.at_ms, bounds.ends.offset_at(partition, scrape.at_ms, _OLDEST_ENDS_MS)
    behind_log = position.lag or 0
    least = bounds.limit(partition, behind_log) if partition not in bounds.committed else 0
    if position.lead is None or end is None:
        return None if position.lag is None else MeasuredLag(least, at_ms, at_least=True)
    start = bounds.start(partition, at_ms)
    reached = start.offset + position.lead
    if reached - end.offset > _most_written(end):
        raise _beyond_end(partition, reached, end, scrape)
    limit = bounds.limit(partition, end.offset)
    if not scrape.has_own_time and abs(end.late_ms) > bounds.far_ms:
        return MeasuredLag(max(limit - reached, least), None, at_least=True, doubt=DoubtfulLag.UNTIMED)
    lag = MeasuredLag(
        max(limit - reached, least, 0),
        at_ms,
        ends_late_ms=end.late_ms,
        error_records=end.difference,
        apart_ms=end.apart_ms,
    )
    if reached + behind_log - end.offset > _usually_written(end) or bounds.is_below_snapshot(partition, end, at_ms):
        return lag._replace(at_least=True, doubt=DoubtfulLag.ENDS_BELOW)
    if start.offset and start.late_ms > _OLDEST_ENDS_MS:
        return lag._replace(at_least=True, doubt=DoubtfulLag.STARTS_LATE)
    if end.late_ms >= -_OLDEST_ENDS_MS:
        return lag
    return lag._replace(at_least=True, doubt=None if scrape.has_own_time else DoubtfulLag.UNTIMED)


def _usually_written(end: OffsetAt) -> int:
    """Return how far a known end offset may lie below what the scrape says only because both take a while."""
    apart_ms = min(max(-end.late_ms, 0), _OLDEST_ENDS_MS) + _CLOCKS_APART_MS
    return end.difference + _USUAL_PER_S * apart_ms // 1000


def _most_written(end: OffsetAt) -> int:
    """Return how much further than a known end offset the end can have been at the scrape."""
    apart_ms = max(-end.late_ms, 0) + _CLOCKS_APART_MS if end.timed else _UNKNOWN_APART_MS
    return end.difference + _FASTEST_PER_S * apart_ms // 1000


def _beyond_end(partition: TopicPartition, reached: int, end: OffsetAt, scrape: CopyScrape) -> SnapshotError:
    problem = (
        f"is at {reached:,} in {_partition_name(partition)}, which ends at {end.offset:,}, and no more than "
        f"{_most_written(end):,} records can have been written since: the end offsets are of another time "
        "or cluster"
    )
    return SnapshotError(
        problem, where=scrape.place, fix="look up the end offsets of the same cluster after the scrape"
    )


def _partition_name(partition: TopicPartition) -> str:
    return f"{printable(partition[0])}-{partition[1]}"


def _of_task(stores: Sequence[MeasuredLag], at_ms: int | None) -> MeasuredLag:
    return MeasuredLag(
        sum(lag.records for lag in stores),
        None if any(lag.at_ms is None for lag in stores) else at_ms,
        any(lag.at_least for lag in stores),
        max((lag.ends_late_ms for lag in stores), key=abs, default=0),
        sum(lag.error_records for lag in stores),
        max((lag.apart_ms for lag in stores), default=0),
        doubt=next((lag.doubt for lag in stores if lag.doubt is not None), None),
    )


def _restoring(scrape: CopyScrape, task_id: str, positions: Mapping[TopicPartition, Position]) -> bool:
    """Tell whether a copy, if it is active, still restores.

    The series of a copy that was promoted may stay as they were: what remains decides where it is published.
    """
    if task_id in scrape.remaining:
        return scrape.remaining[task_id] > 0
    return any(position.lag for position in positions.values())


def _process_named(instance_lags: StoreLags, seats: Seats) -> str:
    if instance_lags.name.lower() in seats.processes:
        return instance_lags.name.lower()
    if instance_lags.name in seats.processes:
        return instance_lags.name
    host = instance_lags.name.rpartition(":")[0] or instance_lags.name
    process_ids = [
        process
        for process, process_host in seats.processes.items()
        if process_host is not None and process_host in (instance_lags.name, host)
    ]
    process_ids = process_ids or list(seats.clients.get(instance_lags.name, ()))
    if len(process_ids) == 1:
        return process_ids[0]
    count_text = "no instance" if not process_ids else f"{len(process_ids)} instances"
    problem = f"names {shown(instance_lags.name)}, which is {count_text} of the group {shown(seats.application_id)}"
    fix = "use the process id, or the host as the snapshot has it"
    raise SnapshotError(problem, where=instance_lags.place, fix=fix, application_id=seats.application_id)


def _task_of_store(instance_lags: StoreLags, store: str, partition: int, seats: Seats) -> str:
    task_ids = [
        task_id
        for (topic, number), task_id in seats.tasks.items()
        if number == partition
        and topic == normal_topic(changelog_topic(seats.application_id, TaskId.parse(task_id).topology_name, store))
    ]
    task_ids = task_ids or [task for key, task in seats.table_tasks.items() if key == (store, partition)]
    if len(task_ids) == 1:
        return task_ids[0]
    problem = f"of {shown(instance_lags.name)} has store {shown(store)}, partition {partition}, "
    if seats.tasks:
        problem += f"and no task of the group {shown(seats.application_id)} has such a changelog"
        topics = sorted({topic for topic, _ in seats.tasks})
        fix = "give --topology of the version that is running, or correct it; known is "
        fix += name_list(list(map(printable, topics)), 1)
    else:
        problem += f"and its task in the group {shown(seats.application_id)} is unknown"
        fix = "give --topology FILE: what Topology.describe() of the running version prints, here or to snapshot"
    raise SnapshotError(problem, where=instance_lags.place, fix=fix, application_id=seats.application_id)
