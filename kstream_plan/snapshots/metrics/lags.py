"""Positions and offsets → how far behind each copy was when it was scraped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note, TaskId
from kstream_plan.snapshots.broker.topology_text import changelog_topic
from kstream_plan.snapshots.metrics.names import normal_topic
from kstream_plan.snapshots.metrics.offsets import Offsets
from kstream_plan.snapshots.metrics.scrapes import Position, Scrape, TopicPartition
from kstream_plan.snapshots.metrics.seats import Seats
from kstream_plan.snapshots.metrics.store_lags import StoreLags
from kstream_plan.snapshots.rows.fields import shown

#: End offsets that are older than the scrape by more than this tell only the least that a copy is behind.
_OLDEST_ENDS_MS = 10_000
#: A process that the group no longer has may be in a folder of scrapes if all that it has were scraped so much later.
_DEPARTED_MS = 60_000


class MeasuredLag(NamedTuple):
    """How far one copy was behind.

    Attributes:
        records: records behind; never below 0.
        at_ms: when, since 1970; ``None`` if nothing tells.
        at_least: whether it is the least that the copy is behind.
        ends_late_ms: how much later than the position the end offsets were looked up; negative: earlier.
        restoring: whether this is state that an active task restores before it runs, if the task is active here.
    """

    records: int
    at_ms: int | None
    at_least: bool = False
    ends_late_ms: int = 0
    restoring: bool = False


class CopyScrape(NamedTuple):
    """What one instance said of its copies at one moment: by task, where each of its changelogs is."""

    where: str
    process_id: str
    at_ms: int | None
    told: bool
    positions: Mapping[str, Mapping[TopicPartition, Position]]
    remaining: Mapping[str, int]


def of_group(scrapes: Iterable[Scrape], seats: Seats) -> tuple[list[CopyScrape], list[Note]]:
    """Return what the scrapes say of one group's copies, in the order of time; what is of others is left out.

    Raises:
        SnapshotError: a process or a topic that the group does not have, or two instances that nothing tells apart.
    """
    found, strangers = [], []
    for scrape in scrapes:
        for client in scrape.clients:
            try:
                process_id = seats.process_of(scrape, client)
            except SnapshotError as unknown:
                strangers.append((scrape, unknown))
                continue
            if process_id is not None:
                found.append(_copy_scrape(scrape, client, process_id, seats))
    found.sort(key=lambda of: (-1 if of.at_ms is None else of.at_ms, of.process_id, of.where))
    _check_one_each(found)
    newest = {of.process_id: of.at_ms for of in found if of.at_ms is not None}
    for scrape, stranger in strangers:
        if scrape.at_ms is None or not newest or scrape.at_ms + _DEPARTED_MS >= min(newest.values()):
            raise stranger
    if not strangers:
        return found, []
    message = (
        f"{len(strangers)} older scrape{'s are' if len(strangers) > 1 else ' is'} of processes that the group no "
        f"longer has, and left out: {strangers[0][0].where} first"
    )
    return found, [Note("scrape-of-departed", message)]


def measured_lags(
    scrapes: Iterable[CopyScrape], seats: Seats, ends: Offsets, starts: Offsets
) -> dict[tuple[str, str], MeasuredLag]:
    """Return by process and task how far behind each copy was at its instance's last scrape.

    That is Σ over its stores max(0, end - (start + lead)); without end offsets, or with older ones, Σ ``records-lag``
    is the least that it can be. A task with a store missing is left out: nobody knows where it is.

    Args:
        scrapes: what instances said, in the order of time.
        seats: whose copies they are.
        ends: end offsets of changelogs.
        starts: their start offsets; a partition without one starts at 0, which lets a copy look further behind.
    """
    newest = {scrape.process_id: scrape for scrape in scrapes}
    found = {}
    for process_id, scrape in sorted(newest.items()):
        older = _ends_are_older(scrape, ends, starts)
        for task_id, positions in sorted(scrape.positions.items()):
            partitions = seats.changelogs[task_id]
            if not all(partition in positions for partition in partitions):
                continue
            of_stores = [
                _store_lag(positions[partition], partition, scrape.at_ms, ends, starts, older_ends=older)
                for partition in partitions
            ]
            known = [lag for lag in of_stores if lag is not None]
            if len(known) == len(of_stores):
                lag = _of_task(known, scrape.at_ms)
                found[process_id, task_id] = lag._replace(restoring=_restoring(scrape, task_id, positions))
    return found


def lags_of_stores(said: Sequence[StoreLags], seats: Seats) -> dict[tuple[str, str], MeasuredLag]:
    """Return by process and task how far behind each copy is, as the instances say themselves.

    Raises:
        SnapshotError: a host or process that the group does not have, or a store that is no changelog's.
    """
    found = {}
    for one in said:
        process_id = _process_named(one, seats)
        lags: dict[str, int] = defaultdict(int)
        stores: dict[str, int] = defaultdict(int)
        for (store, partition), lag in one.lags.items():
            task_id = _task_of_store(one, store, partition, seats)
            lags[task_id] += lag
            stores[task_id] += 1
        for task_id, records in sorted(lags.items()):
            if stores[task_id] == len(seats.changelogs[task_id]):
                found[process_id, task_id] = MeasuredLag(records, one.at_ms, restoring=records > 0)
    return found


def position_of(scrape: CopyScrape, task_id: str, seats: Seats) -> int | None:
    """Return the sum of a copy's positions, ``None`` where one is not known."""
    of_task = scrape.positions.get(task_id, {})
    leads = [of_task.get(partition, Position()).lead for partition in seats.changelogs[task_id]]
    known = [lead for lead in leads if lead is not None]
    return sum(known) if len(known) == len(leads) else None


def _copy_scrape(scrape: Scrape, client: str, process_id: str, seats: Seats) -> CopyScrape:
    positions: dict[str, dict[TopicPartition, Position]] = defaultdict(dict)
    for (of_client, partition), position in scrape.positions.items():
        if of_client == client and (task_id := seats.task_of(scrape, partition)) is not None:
            positions[task_id][normal_topic(partition[0]), partition[1]] = position
    remaining = {task: records for (of_client, task), records in scrape.remaining.items() if of_client == client}
    return CopyScrape(scrape.where, process_id, scrape.at_ms, scrape.told, positions, remaining)


def _check_one_each(scrapes: Sequence[CopyScrape]) -> None:
    """Check that no instance said two things at the same moment."""
    seen: dict[tuple[str, int | None], CopyScrape] = {}
    for scrape in scrapes:
        other = seen.setdefault((scrape.process_id, scrape.at_ms), scrape)
        if other.positions != scrape.positions:
            what = f"and {other.where} are of the same time and of process {shown(scrape.process_id)}, and differ"
            raise SnapshotError(what, where=scrape.where, fix="keep one of them")


def _ends_are_older(scrape: CopyScrape, ends: Offsets, starts: Offsets) -> bool:
    """Tell whether end offsets that seem to be older than a scrape are.

    Where the scrape says when it was, its time decides. A file without a time may have been copied since; then a copy
    that had come further than the end offsets tells.
    """
    if scrape.told:
        return True
    return any(
        position.lead is not None
        and (end := ends.newest(partition)) is not None
        and (starts.newest(partition) or 0) + position.lead + (position.lag or 0) > end
        for positions in scrape.positions.values()
        for partition, position in positions.items()
    )


def _store_lag(
    position: Position,
    partition: TopicPartition,
    at_ms: int | None,
    ends: Offsets,
    starts: Offsets,
    *,
    older_ends: bool,
) -> MeasuredLag | None:
    end = ends.then(partition, at_ms)
    least = position.lag or 0
    if position.lead is None or end is None:
        return None if position.lag is None else MeasuredLag(least, at_ms, at_least=True)
    start = starts.newest(partition) or 0
    behind = max(end.offset - start - position.lead, 0)
    if end.late_ms >= -_OLDEST_ENDS_MS:
        return MeasuredLag(behind, at_ms, ends_late_ms=end.late_ms)
    if older_ends:
        return MeasuredLag(max(behind, least), at_ms, at_least=True, ends_late_ms=end.late_ms)
    return MeasuredLag(behind, at_ms)


def _of_task(stores: Sequence[MeasuredLag], at_ms: int | None) -> MeasuredLag:
    return MeasuredLag(
        sum(lag.records for lag in stores),
        at_ms,
        any(lag.at_least for lag in stores),
        max((lag.ends_late_ms for lag in stores), key=abs, default=0),
    )


def _restoring(scrape: CopyScrape, task_id: str, positions: Mapping[TopicPartition, Position]) -> bool:
    """Tell whether a copy, if it is active, still restores.

    The series of a copy that was promoted may stay as they were: what remains decides where it is published.
    """
    if task_id in scrape.remaining:
        return scrape.remaining[task_id] > 0
    return any(position.lag for position in positions.values())


def _process_named(one: StoreLags, seats: Seats) -> str:
    if one.name.lower() in seats.processes:
        return one.name.lower()
    if one.name in seats.processes:
        return one.name
    host = one.name.rpartition(":")[0] or one.name
    found = [process for process, of in seats.processes.items() if of is not None and of in (one.name, host)]
    found = found or list(seats.clients.get(one.name, ()))
    if len(found) == 1:
        return found[0]
    how = "no instance" if not found else f"{len(found)} instances"
    what = f"names {shown(one.name)}, which is {how} of the group {shown(seats.application_id)}"
    fix = "use the process id, or the host as the snapshot has it"
    raise SnapshotError(what, where=one.where, fix=fix, application_id=seats.application_id)


def _task_of_store(one: StoreLags, store: str, partition: int, seats: Seats) -> str:
    found = [
        task_id
        for (topic, number), task_id in seats.tasks.items()
        if number == partition
        and topic == normal_topic(changelog_topic(seats.application_id, TaskId.parse(task_id).topology_name, store))
    ]
    if len(found) == 1:
        return found[0]
    what = f"has store {shown(store)}, partition {partition}, and nobody tells which task that is of"
    fix = "make the snapshot with --topology FILE: what Topology.describe() prints"
    raise SnapshotError(what, where=one.where, fix=fix, application_id=seats.application_id)
