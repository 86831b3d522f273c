"""Lag snapshots: rows that stand in for a snapshot's own ``lags``, and the rates a history of them gives."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.model import Group, Holding, Note, Rates
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.rows.fields import FieldError, Row, shown, time_ms
from kstream_plan.snapshots.rows.json_text import refuse_written
from kstream_plan.snapshots.rows.lags import LagRow, LagRows, UnknownNameError
from kstream_plan.snapshots.rows.measured_rates import (
    RECENT_INTERVALS,
    Measured,
    Progress,
    produce_rate,
    progress,
    restore_rate,
    restored_by,
)
from kstream_plan.snapshots.rows.tasks_and_members import normal_process_id
from kstream_plan.snapshots.rows.typed_rows import reader_of
from kstream_plan.snapshots.rows.types import LagSnapshot


class StoreInterval(NamedTuple):
    """What one store's figures were at two times that follow each other, ``None`` where they are not known.

    ``at_ms`` is the later time, ``elapsed_ms`` how much later it is; ``lag*`` are records, ``end*`` end offsets.
    """

    at_ms: int
    elapsed_ms: int
    lag_before: int | None = None
    lag: int | None = None
    end_before: int | None = None
    end: int | None = None

    @property
    def written_records(self) -> int | None:
        """How many records were written in the interval; ``None``: unknown."""
        if self.end_before is None or self.end is None or self.end < self.end_before:
            return None
        return self.end - self.end_before


class StoreHistory(NamedTuple):
    """The last intervals of one store."""

    process_id: str
    task_id: str
    store: str | None
    intervals: tuple[StoreInterval, ...] = ()


class HistoryRow(NamedTuple):
    """A lag row and the file it is from; ``is_duplicate``: another row about the same store is of the same time."""

    row: Row
    file: str
    is_duplicate: bool = False


class LagHistory(NamedTuple):
    """The lag snapshots of one application.

    ``rows`` are the newest rows about every store at or before the time that counts; ``earliest`` is the time of the
    first row at all, for the case that none is early enough. Rates are of at most ``most_intervals`` last intervals.
    """

    rows: Sequence[HistoryRow]
    stores: Sequence[StoreHistory] = ()
    earliest: str | None = None
    most_intervals: int = RECENT_INTERVALS


def usable_lag_rows(
    history: LagHistory, group: Group, holdings: Sequence[Holding], config: AssignmentConfig, captured_at_ms: int | None
) -> tuple[list[LagRow], list[Note]]:
    """Return the rows that count, with warnings about those that were dropped.

    * Rows about the running active owner are passed over (it is caught up), unless one of them says ``restoring``.
    * Rows about copies that are not assigned and older than ``state_cleanup_delay_ms`` are dropped: Kafka Streams has
      deleted that state since.
    * Rows about members or tasks that the snapshot does not have are dropped if other rows are newer: they have
      left meanwhile. If they are among the newest, they contradict the snapshot.

    Raises:
        FieldError: no row at or before the time that counts; a row that breaks the schema or contradicts the snapshot.
    """
    if not history.rows:
        raise _nothing_in_time(history, captured_at_ms)
    rows, departed_ids = _read_rows(history.rows, group)
    active, assigned_seats = _assigned_seats(group, holdings)
    restoring = {(row.task, row.instance) for row in rows if row.restoring and row.logged}
    deleted_before = None if captured_at_ms is None else captured_at_ms - config.state_cleanup_delay_ms
    usable, deleted = [], []
    for row in rows:
        seat = (row.task, row.instance)
        if not row.logged:
            usable.append(row)
            continue
        if seat in active and seat not in restoring:
            continue
        if seat not in assigned_seats and None not in (row.at_ms, deleted_before) and row.at_ms < deleted_before:  # type: ignore[operator]
            deleted.append(row.task)
            continue
        usable.append(row)
    return usable, _notes(group, departed_ids, deleted, config)


def by_seat(stores: Sequence[StoreHistory], group: Group) -> dict[tuple[int, int], Sequence[StoreHistory]]:
    """Return the histories that count of every copy of a group, by task and instance, in the order of instances."""
    by_copy: dict[tuple[int, int], list[StoreHistory]] = defaultdict(list)
    task_index = {str(task.task_id): index for index, task in enumerate(group.tasks)}
    for store in stores:
        task, instance = task_index.get(store.task_id), group.instance_index.get(normal_process_id(store.process_id))
        if task is not None and instance is not None:
            by_copy[instance, task].append(store)
    return {
        (task, instance): _whole_or_stores(copy_stores) for (instance, task), copy_stores in sorted(by_copy.items())
    }


def rates_of(
    stores: Sequence[StoreHistory], group: Group, ready_lag: int, most_intervals: int = RECENT_INTERVALS
) -> Rates:
    """Return the rates that the last intervals of a history give, in records per second.

    * Restore rate of an instance: the median of what all its copies restored in the same interval: what was written,
      and by how much their lag fell. An interval in which one of them became ready (its lag at most ``ready_lag``) is
      a lower bound.
    * Produce rate of a task: the median growth of each of its stores' end offsets, all of them together. The first
      growth from nothing is left out.

    Rows about the whole task beat rows about its stores; what the group does not have is passed over.
    """
    stores_by_instance: dict[int, list[StoreHistory]] = defaultdict(list)
    stores_by_task: dict[int, list[StoreHistory]] = defaultdict(list)
    for (task, instance), copy_stores in by_seat(stores, group).items():
        stores_by_instance[instance] += copy_stores
        stores_by_task[task] += copy_stores
    instance_rates = {
        i: _restore_rate(histories, ready_lag, most_intervals) for i, histories in stores_by_instance.items()
    }
    restore = {i: rate for i, rate in instance_rates.items() if rate is not None}
    produce = {
        task: rate for task, histories in stores_by_task.items() if (rate := _produce_rate(histories)) is not None
    }
    return Rates(
        restore=MappingProxyType({i: rate.per_second for i, rate in restore.items() if not rate.at_least}),
        restore_at_least=MappingProxyType({i: rate.per_second for i, rate in restore.items() if rate.at_least}),
        restore_intervals=MappingProxyType({i: rate.intervals for i, rate in restore.items()}),
        produce=MappingProxyType({task: rate.per_second for task, rate in produce.items()}),
        produce_intervals=MappingProxyType({task: rate.intervals for task, rate in produce.items()}),
        restore_source=MappingProxyType(dict.fromkeys(restore, "lags")),
        produce_source=MappingProxyType(dict.fromkeys(produce, "lags")),
    )


def _nothing_in_time(history: LagHistory, captured_at_ms: int | None) -> FieldError:
    if history.earliest is None:
        return FieldError("", "has no row in the lag snapshots", "give lags of this application, or leave them out")
    capture_time = "no time" if captured_at_ms is None else format_time(captured_at_ms)
    problem = f"was captured at {capture_time}, but its first lag row is of {history.earliest}"
    return FieldError("", problem, "give lags of that time, or widen --set lags.tolerance")


def _read_rows(history_rows: Sequence[HistoryRow], group: Group) -> tuple[list[LagRow], list[str]]:
    """Return the rows, and the process ids of the rows that were dropped."""
    reader = LagRows(group)
    rows, left_out = [], []
    for history_row in history_rows:
        place = _place(history_row)
        if history_row.is_duplicate:
            raise FieldError(place, "is there twice with the same time", "keep one of them")
        lag_snapshot = _typed(history_row, place)
        try:
            row = reader.read(lag_snapshot, place)
        except UnknownNameError as error:
            left_out.append((lag_snapshot, error))
            continue
        rows.append(row)
    newest = max(
        [_at_ms(row.at_ms) for row in rows] + [_at_ms(time_ms(row.captured_at)) for row, _ in left_out], default=-1
    )
    for row_left_out, unknown in left_out:
        if _at_ms(time_ms(row_left_out.captured_at)) >= newest:
            raise unknown
    return rows, sorted({shown(row_left_out.process_id) for row_left_out, _ in left_out})


def _typed(history_row: HistoryRow, place: str) -> LagSnapshot:
    try:
        refuse_written(history_row.row)
        return reader_of(LagSnapshot)(history_row.row)
    except FieldError as error:
        raise error.inside(place) from None


def _at_ms(at_ms: int | None) -> int:
    return -1 if at_ms is None else at_ms


def _place(history_row: HistoryRow) -> str:
    row = history_row.row
    copy_name = ", ".join(f"{name} {shown(row[name])}" for name in ("task_id", "process_id", "store") if row.get(name))
    return f"{history_row.file}: lag row of {copy_name or 'nothing'}:"


def _assigned_seats(group: Group, holdings: Sequence[Holding]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return the (task, instance) pairs that are active, and all that are assigned."""
    active: set[tuple[int, int]] = set()
    assigned_seats: set[tuple[int, int]] = set()
    for consumer, holding in enumerate(holdings):
        instance = group.instance_of[consumer]
        active.update((task, instance) for task in holding.active)
        assigned_seats.update((task, instance) for role in holding for task in role)
    return active, assigned_seats


def _notes(group: Group, departed_ids: Sequence[str], deleted: Sequence[int], config: AssignmentConfig) -> list[Note]:
    notes = []
    if departed_ids:
        message = f"older lag rows of what the snapshot does not have were dropped: {departed_ids[0]} first"
        notes.append(Note("lag-of-departed", message, tuple(departed_ids)))
    if deleted:
        tasks = tuple(str(group.tasks[task].task_id) for task in sorted(set(deleted)))
        message = (
            f"lag rows about unassigned copies older than state_cleanup_delay_ms "
            f"({config.state_cleanup_delay_ms}) were dropped, {tasks[0]} first"
        )
        notes.append(Note("lag-of-deleted-state", message, tasks))
    return notes


def _whole_or_stores(stores: Sequence[StoreHistory]) -> Sequence[StoreHistory]:
    return [store for store in stores if store.store is None and store.intervals] or stores


def _restore_rate(stores: Iterable[StoreHistory], ready_lag: int, most_intervals: int) -> Measured | None:
    by_time: dict[int, list[Progress]] = defaultdict(list)
    elapsed_ms: dict[int, int] = {}
    for interval in (interval for store in stores for interval in store.intervals):
        lag_before, lag_after = interval.lag_before, interval.lag
        if lag_before is None or lag_after is None:
            continue
        copy_progress = progress(lag_before, lag_after, interval.written_records or 0, ready_lag)
        if copy_progress is not None and copy_progress.records:
            by_time[interval.at_ms].append(copy_progress)
            elapsed_ms[interval.at_ms] = max(interval.elapsed_ms, elapsed_ms.get(interval.at_ms, 0))
    rates = [restored_by(by_time[at_ms], elapsed_ms[at_ms]) for at_ms in sorted(by_time)[-most_intervals:]]
    return restore_rate([rate for rate in rates if rate is not None])


def _produce_rate(stores: Iterable[StoreHistory]) -> Measured | None:
    by_store: dict[str | None, list[float]] = defaultdict(list)
    for store in stores:
        by_store[store.store] += [
            records * 1000 / interval.elapsed_ms
            for interval in store.intervals
            if (records := interval.written_records) is not None
            and interval.elapsed_ms > 0
            and (interval.end_before or not interval.end)
        ]
    rates = [
        rate for _, store_rates in sorted(by_store.items(), key=str) if (rate := produce_rate(store_rates)) is not None
    ]
    if not rates:
        return None
    return Measured(math.fsum(rate.per_second for rate in rates), min(rate.intervals for rate in rates))
