"""A snapshot row and what was measured of its copies → the same row with true lags.

Measured lags lie over the group's metadata and replace nothing but lags: who runs and copies what is the metadata's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kstream_plan.model import Note, TaskId
from kstream_plan.model.note import name_list
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.broker.topology_text import changelog_topic, changelogs_assumed
from kstream_plan.snapshots.metrics.lags import (
    CopyScrape,
    LogEnds,
    MeasuredLag,
    lags_of_stores,
    measured_lags,
    newer_lag,
    of_group,
)
from kstream_plan.snapshots.metrics.measurements import Measurements
from kstream_plan.snapshots.metrics.names import StoreLabel, normal_topic
from kstream_plan.snapshots.metrics.offsets import Offsets, OffsetSet
from kstream_plan.snapshots.metrics.rates import measured_rates
from kstream_plan.snapshots.metrics.scrapes import Scrape, TopicPartition
from kstream_plan.snapshots.metrics.seats import Seats, seats_of
from kstream_plan.snapshots.metrics.store_lags import StoreLags
from kstream_plan.snapshots.metrics.traps import notes_about_offsets, old_scrapes
from kstream_plan.snapshots.rows.fields import Row, parse_time, printable
from kstream_plan.snapshots.rows.tasks_and_members import normal_process_id
from kstream_plan.snapshots.rows.types import LagSource

_MEASURED = (LagSource.METRICS, LagSource.METRICS_AT_LEAST)

#: A copy: process id and task id.
_Seat = tuple[str, str]


class Overlaid(NamedTuple):
    """A snapshot row with measured lags, and warnings about them."""

    row: dict[str, Any]
    warnings: tuple[Note, ...]


def with_measured_lags(row: Row, measured: Measurements) -> Overlaid:
    """Return a snapshot row with the lags that were measured; every lag tells its ``source`` and ``reported_at``.

    * A copy that is assigned and was measured has the lag measured; a running active has none and is caught up.
    * ``metrics, at least`` takes the place of a lag of the last join only where it is no smaller, and never that of a
      copy that has reported nothing, which counts as without state: the least proves nothing but that a copy is behind.
    * Everything else, left-over state among it, keeps what was reported at the last join.
    * Tasks have the end offsets of now, and rates are those between scrapes and between sets of offsets.
    * The row is known until the last scrape that says itself when it was, so that plans begin there. Who runs what was
      seen only before (``seen_until``): a scrape has the copies of one instance, and no task that runs.

    Args:
        row: a snapshot row that can be read.
        measured: what was measured, of this group and maybe of others.

    Raises:
        SnapshotError: a process, a host, a topic or a store that the group does not have; instances that nothing tells
            apart.
    """
    ends = measured.ends or _own_ends(row)
    topology = measured.topology_of(row["application_id"])
    published = _published(measured, ends) | _published_by_stores(measured.store_lags, row)
    restored_topics = {normal_topic(topic) for scrape in measured.scrapes for _, (topic, _) in scrape.positions}
    seats = seats_of(row, topology, _stores(measured.scrapes), published, restored_topics)
    copies, notes = of_group(measured.scrapes, seats)
    input_lags = _input_lags(measured.scrapes, seats)
    unread_records = {partition: lag for partition, lag in input_lags.items() if partition in seats.read_too}
    bounds = LogEnds(
        ends, measured.starts, _probing_interval_ms(row), measured.committed, unread_records, _own_ends(row)
    )
    lags = measured_lags(copies, seats, bounds)
    for seat, lag in lags_of_stores(measured.store_lags, seats, bounds).items():
        lags[seat] = newer_lag(lags[seat], lag) if seat in lags else lag
    holdings = _Holdings.from_row(row)
    lags_of_copies = {seat: lag for seat, lag in lags.items() if holdings.counts(seat, lag)}
    newest_lags = _not_reported_since(row, lags_of_copies)
    lag_rows = _lag_rows(row, newest_lags, holdings)
    reference_ms = _reference_ms(row, newest_lags.values()) if measured.now_ms is None else measured.now_ms
    rates = measured_rates(copies, seats, measured.ends, reference_ms)
    warnings = [
        *measured.notes,
        *notes,
        *_not_scraped(measured, row, {copy.process_id for copy in copies}),
        *_nothing_measured(lag_rows, holdings),
        *_not_assigned(lags.keys() - lags_of_copies.keys() - holdings.active.keys()),
        *_before_reports(lags_of_copies.keys() - newest_lags.keys()),
        *_offsets_of_others(measured.ends, seats),
        *changelogs_assumed(() if _own_ends(row) else seats.assumed),
        *_restored_from_sources(seats, bounds),
        *_about_offsets(measured, lags_of_copies, seats, _merged_rates(row.get("rates") or {}, rates), ends),
        *old_scrapes(lags_of_copies.values(), reference_ms, _probing_interval_ms(row)),
    ]
    new_row = {
        **row,
        "tasks": _with_input_lags(
            _with_ends(row.get("tasks") or (), seats, bounds, reference_ms)
            if measured.ends
            else row.get("tasks") or (),
            input_lags,
        ),
        "lags": lag_rows,
    }
    if holdings.copies and not any(lag.get("source") in _MEASURED for lag in lag_rows):
        new_row["measuring_failed"] = True
    else:
        new_row.pop("measuring_failed", None)
    if (stores := _where_stores_are(measured, row)) is not None and row.get("stores") != "in-memory":
        new_row["stores"] = stores
    if (seen_until := _seen_until(row)) is not None:
        new_row["seen_until"] = seen_until
    if (known_until := _known_until(row, copies)) is not None:
        new_row["known_until"] = known_until
    if rates:
        new_row["rates"] = _merged_rates(row.get("rates") or {}, rates)
    return Overlaid(new_row, tuple(warnings))


class _Holdings(NamedTuple):
    """The copies that instances are assigned, by the consumer that holds them: after the decision that a row knows."""

    active: Mapping[_Seat, str]
    copies: Mapping[_Seat, str]

    @classmethod
    def from_row(cls, row: Row) -> _Holdings:
        active: dict[_Seat, str] = {}
        copies: dict[_Seat, str] = {}
        for process_id, consumer_id, holding in _holding_of_each_consumer(row):
            withheld_tasks = set(holding.get("withheld") or ())
            active.update(
                {(process_id, task): consumer_id for task in holding.get("active") or () if task not in withheld_tasks}
            )
            for role in ("standby", "warmup", "temporary"):
                copies.update({(process_id, task): consumer_id for task in holding.get(role) or ()})
        return cls(active, copies)

    def holder(self, seat: _Seat) -> str:
        """Return the consumer that holds a copy."""
        return self.copies[seat] if seat in self.copies else self.active[seat]

    def counts(self, seat: _Seat, lag: MeasuredLag) -> bool:
        """Tell whether a measured lag is that of a copy: one that is assigned, or an active that still restores."""
        return seat in self.copies or (seat in self.active and lag.restoring)


def _holding_of_each_consumer(row: Row) -> Iterator[tuple[str, str, Row]]:
    """Return what each consumer holds, with its process and its id."""
    decision = (row.get("decision") or {}).get("decided")
    if decision is not None:
        for process_id, instance in _entries(decision, "process_id"):
            for consumer_id, holding in _entries(instance["consumers"], "consumer_id"):
                yield normal_process_id(process_id), consumer_id, holding
        return
    for instance in row["instances"]:
        for consumer in instance["consumers"]:
            yield normal_process_id(instance["process_id"]), consumer["consumer_id"], consumer


def _entries(collection: Any, key: str) -> Iterator[tuple[str, Row]]:
    """Return the entries of an object, or of a list as Parquet has it."""
    yield from collection.items() if isinstance(collection, Mapping) else ((entry[key], entry) for entry in collection)


def _own_ends(row: Row) -> Offsets:
    """Return the end offsets that the row itself has, which are of when it was captured."""
    offsets = {
        (normal_topic(partition["topic"]), partition["partition"]): partition["end_offset"]
        for task in row.get("tasks") or ()
        for partition in task.get("changelog_partitions") or ()
        if partition.get("end_offset") is not None
    }
    captured_at = row.get("captured_at")
    return Offsets((OffsetSet(None if captured_at is None else parse_time(captured_at), offsets),))


def _stores(scrapes: Iterable[Scrape]) -> frozenset[StoreLabel]:
    return frozenset(label for scrape in scrapes for label in scrape.stores)


def _where_stores_are(measurements: Measurements, row: Row) -> str | None:
    """Return where the group's stores are, by the labels of their metrics; ``None``: none tells."""
    tasks = {task["task_id"] for task in row.get("tasks") or ()}
    in_memory_flags = {label.in_memory for label in _stores(measurements.scrapes) if label.task_id in tasks} - {None}
    if not in_memory_flags:
        return None
    return "mixed" if len(in_memory_flags) > 1 else "in-memory" if True in in_memory_flags else "persistent"


def _published(measurements: Measurements, ends: Offsets) -> set[str]:
    restored_topics = {normal_topic(topic) for scrape in measurements.scrapes for _, (topic, _) in scrape.positions}
    return restored_topics | ends.topics() | measurements.starts.topics()


def _published_by_stores(store_lags: Iterable[StoreLags], row: Row) -> set[str]:
    """Return the topics of the changelogs that instances tell of themselves."""
    stores = {store for instance_lags in store_lags for store, _ in instance_lags.lags}
    names = {TaskId.parse(task["task_id"]).topology_name for task in row.get("tasks") or ()}
    return {normal_topic(changelog_topic(row["application_id"], name, store)) for store in stores for name in names}


def _lag_rows(row: Row, lags: Mapping[_Seat, MeasuredLag], holdings: _Holdings) -> list[dict[str, Any]]:
    """Return the row's lags with the measured ones."""
    ends = {task["task_id"]: task.get("end_offset_sum") for task in row.get("tasks") or ()}
    reported: dict[_Seat, list[Row]] = {}
    for lag in row.get("lags") or ():
        reported.setdefault((normal_process_id(lag["process_id"]), lag["task_id"]), []).append(lag)
    used = {
        seat: lag
        for seat, lag in lags.items()
        if not lag.at_least or lag.records >= _join_lag(reported.get(seat, ()), ends.get(seat[1]))
    }
    lag_rows = []
    for seat, of_seat in reported.items():
        if seat in used:
            lag_rows.append(_measured_row(seat, used[seat], holdings.holder(seat)))
        else:
            lag_rows += [
                {**reported_lag, "source": reported_lag.get("source") or LagSource.JOIN} for reported_lag in of_seat
            ]
    order = {normal_process_id(instance["process_id"]): place for place, instance in enumerate(row["instances"])}
    silent = sorted(used.keys() - reported.keys(), key=lambda seat: (order[seat[0]], TaskId.parse(seat[1]).sort_key))
    return [*lag_rows, *(_measured_row(seat, used[seat], holdings.holder(seat)) for seat in silent)]


def _measured_row(seat: _Seat, lag: MeasuredLag, consumer_id: str) -> dict[str, Any]:
    process_id, task_id = seat
    row: dict[str, Any] = {"process_id": process_id, "task_id": task_id, "store": None, "lag": lag.records}
    row["source"] = LagSource.METRICS_AT_LEAST if lag.at_least else LagSource.METRICS
    if lag.at_ms is not None:
        row["reported_at"] = format_time(lag.at_ms)
    return {**row, "consumer_ids": [consumer_id]}


def _join_lag(rows: Sequence[Row], end_offset_sum: int | None) -> int:
    """Return how far a copy was behind at its last join; one that reported nothing as far as anything can be."""
    total = 0
    for row in rows:
        lag, offset = row.get("lag"), row.get("offset")
        if lag is None and offset is not None:
            end = row.get("end_offset") if row.get("end_offset") is not None else end_offset_sum
            lag = MAX_LONG if end is None else max(end - offset, 0) if offset >= 0 else offset
        if lag is not None:
            total += lag if lag >= 0 else MAX_LONG if lag == -3 else 0
    return total if rows else MAX_LONG


def _with_ends(tasks: Sequence[Row], seats: Seats, bounds: LogEnds, reference_ms: int) -> list[dict[str, Any]]:
    """Return the tasks with the end offsets of now, where all of a task's are known; none falls behind its own."""
    tasks_with_ends = []
    for task in tasks:
        of_task = [
            (partition, bounds.ends.offset_at(partition, reference_ms))
            for partition in seats.changelogs.get(task["task_id"], ())
        ]
        limits = {partition: bounds.limit(partition, end.offset) for partition, end in of_task if end is not None}
        total = min(sum(limits.values()), MAX_LONG)
        if not of_task or len(limits) < len(of_task) or total < (task.get("end_offset_sum") or 0):
            tasks_with_ends.append(dict(task))
            continue
        new = {**task, "end_offset_sum": total}
        if task.get("changelog_partitions"):
            new["changelog_partitions"] = [
                {**partition, "end_offset": limits[normal_topic(partition["topic"]), partition["partition"]]}
                for partition in task["changelog_partitions"]
            ]
        tasks_with_ends.append(new)
    return tasks_with_ends


def _input_lags(scrapes: Iterable[Scrape], seats: Seats) -> dict[TopicPartition, int]:
    """Return, by partition of the input, how far behind its stream thread was when it was last scraped."""
    newest: dict[TopicPartition, tuple[int, int]] = {}
    for scrape in scrapes:
        for (client, partition), lag in scrape.input_lags.items():
            if client in seats.clients:
                newest[partition] = max(newest.get(partition, (-1, 0)), (scrape.at_ms or 0, lag))
    return {partition: lag for partition, (_, lag) in newest.items()}


def _with_input_lags(tasks: Iterable[Row], lags: Mapping[TopicPartition, int]) -> list[dict[str, Any]]:
    """Return the tasks with the records of their input that wait, where any of it was measured."""
    tasks_with_lags = []
    for task in tasks:
        sources = [
            (normal_topic(source["topic"]), source["partition"]) for source in task.get("source_partitions") or ()
        ]
        known_lags = [lags[partition] for partition in sources if partition in lags]
        tasks_with_lags.append({**task, "input_lag": min(sum(known_lags), MAX_LONG)} if known_lags else dict(task))
    return tasks_with_lags


def _restored_from_sources(seats: Seats, bounds: LogEnds) -> list[Note]:
    """Return a warning about tables that are restored from what is read, and how far that was read is unknown."""
    unknown = sorted(seats.read_too - bounds.committed.keys() - bounds.unread_records.keys())
    if not unknown:
        return []
    tasks = tuple(
        sorted({seats.tasks[partition] for partition in unknown}, key=lambda task: TaskId.parse(task).sort_key)
    )
    topics = name_list(sorted({printable(topic) for topic, _ in unknown}), 1)
    message = (
        f"tables of {topics} are restored from that topic, up "
        "to what the group has committed of it, which is unknown: their lags are those to the topic's end, and may be "
        "too large. snapshot --bootstrap-server asks for it; scrapes of stream threads (records-lag) tell about it"
    )
    return [Note("committed-offsets-unknown", message, tasks)]


def _seen_until(row: Row) -> str | None:
    """Return when the owners of tasks were last seen, which no measured lag tells; ``None``: unknown."""
    times = (row.get(key) for key in ("seen_until", "known_until", "captured_at"))
    return next((time for time in times if time is not None), None)


def _known_until(row: Row, copies: Sequence[CopyScrape]) -> str | None:
    """Return when the last scrape was, if that is later than the row is known until; a file's time proves nothing."""
    row_times = [parse_time(time) for time in (row.get("captured_at"), row.get("known_until")) if time is not None]
    scrape_times = [copy.at_ms for copy in copies if copy.has_own_time and copy.at_ms is not None]
    return format_time(max(scrape_times)) if row_times and scrape_times and max(scrape_times) > max(row_times) else None


def _merged_rates(row_rates: Row, new_rates: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Return rates; one measured now takes the place of one of the past, an instance's restore rate as a whole."""
    merged = dict(row_rates)
    for name, key in (("produce", "task_id"), ("restore", "process_id")):
        if name in new_rates:
            new = {rate[key] for rate in new_rates[name]}
            merged[name] = [*(rate for rate in row_rates.get(name) or () if rate[key] not in new), *new_rates[name]]
    return merged


def _about_offsets(
    measurements: Measurements,
    lags: Mapping[_Seat, MeasuredLag],
    seats: Seats,
    rates: Mapping[str, Sequence[Row]],
    ends: Offsets,
) -> list[Note]:
    if not measurements.scrapes:
        return []
    measured_tasks = sorted({task_id for _, task_id in lags})
    groups = {TaskId.parse(label.task_id).group for label in _stores(measurements.scrapes) if label.windowed}
    return notes_about_offsets(
        lags,
        {rate["task_id"]: rate["records_per_second"] for rate in rates.get("produce") or ()},
        windowed=[task_id for task_id in measured_tasks if TaskId.parse(task_id).group in groups],
        without_starts=[
            task_id
            for task_id in measured_tasks
            if any(measurements.starts.newest(partition) is None for partition in seats.changelogs[task_id])
        ]
        if ends
        else [],
        any_ends=bool(ends),
    )


def _offsets_of_others(ends: Offsets, seats: Seats) -> list[Note]:
    """Return a warning if there are end offsets, and none of the group's changelogs."""
    topics, own_topics = ends.topics(), {topic for topic, _ in seats.tasks}
    if not topics or topics & own_topics:
        return []
    message = (
        f"{printable(ends.sets[0].place) or 'the cluster'} has end offsets of no changelog of "
        f"{printable(seats.application_id)}, but of {name_list(sorted(map(printable, topics)), 1)}"
    )
    return [Note("end-offsets-of-others", message)]


def _not_scraped(measurements: Measurements, row: Row, scraped: Collection[str]) -> list[Note]:
    if not measurements.scrapes or measurements.store_lags:
        return []
    missing_instances = tuple(
        instance.get("host") or instance["process_id"]
        for instance in row["instances"]
        if normal_process_id(instance["process_id"]) not in scraped
    )
    if not missing_instances:
        return []
    total = len(row["instances"])
    message = (
        f"{len(missing_instances)} of {total} instances {'have' if len(missing_instances) > 1 else 'has'} no scrape, "
        f"{printable(missing_instances[0])} first: the lags of their last join are used"
    )
    return [Note("not-scraped", message, missing_instances)]


def _nothing_measured(lag_rows: Iterable[Row], holdings: _Holdings) -> list[Note]:
    if not holdings.copies or any(lag.get("source") in _MEASURED for lag in lag_rows):
        return []
    message = f"0 of {len(holdings.copies):,} copies measured: only the lags of the last join are known"
    return [Note("nothing-measured", message)]


def _not_assigned(seats: Iterable[_Seat]) -> list[Note]:
    copies = sorted(seats)
    if not copies:
        return []
    message = (
        f"{len(copies)} measured {'copies are' if len(copies) > 1 else 'copy is'} not assigned where "
        f"{'they were' if len(copies) > 1 else 'it was'} measured, task {copies[0][1]} first: the group has rebalanced "
        "between snapshot and metrics; the lags of the last join are used"
    )
    return [Note("measured-not-assigned", message, tuple(sorted({task_id for _, task_id in copies})))]


def _not_reported_since(row: Row, lags: Mapping[_Seat, MeasuredLag]) -> dict[_Seat, MeasuredLag]:
    """Return the measured lags but those of copies that were reported later, or whose process has started since."""
    decided_at = (row.get("decision") or {}).get("at")
    reported_ms: dict[_Seat, int] = {}
    for lag in row.get("lags") or ():
        if (reported_at := lag.get("reported_at") or decided_at) is not None:
            seat = normal_process_id(lag["process_id"]), lag["task_id"]
            reported_ms[seat] = max(parse_time(reported_at), reported_ms.get(seat, 0))
    started_ms = {
        normal_process_id(instance["process_id"]): parse_time(instance["started_at"])
        for instance in row["instances"]
        if instance.get("started_at") is not None
    }
    return {
        seat: lag
        for seat, lag in lags.items()
        if lag.at_ms is None or lag.at_ms >= max(reported_ms.get(seat, 0), started_ms.get(seat[0], 0))
    }


def _before_reports(seats: Iterable[_Seat]) -> list[Note]:
    copies = sorted(seats)
    if not copies:
        return []
    message = (
        f"{len(copies)} measured {'lags are' if len(copies) > 1 else 'lag is'} older than what the copy's instance "
        f"reported, or than its process, task {copies[0][1]} first: what was reported later counts; scrape again"
    )
    return [Note("measured-before-reported", message, tuple(sorted({task_id for _, task_id in copies})))]


def _reference_ms(row: Row, lags: Iterable[MeasuredLag]) -> int:
    """Return the moment that ages are counted from: the newest that snapshot and measurements know."""
    captured_at = row.get("captured_at")
    return max(
        [0 if captured_at is None else parse_time(captured_at), *(lag.at_ms for lag in lags if lag.at_ms is not None)]
    )


def _probing_interval_ms(row: Row) -> int:
    interval_ms = (row.get("config") or {}).get("probing_rebalance_interval_ms")
    return int(interval_ms) if interval_ms is not None else AssignmentConfig().probing_rebalance_interval_ms
