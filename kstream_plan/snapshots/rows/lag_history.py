"""Lag snapshots: rows that stand in for a snapshot's own ``lags``, and the rates a history of them gives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.model import Group, Holding, Note, Rates
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.snapshots.rows.fields import FieldError, Row, shown
from kstream_plan.snapshots.rows.lags import LagRow, LagRows, UnknownNameError
from kstream_plan.snapshots.rows.members import normal_process_id
from kstream_plan.snapshots.rows.times import format_time, optional_time


class StoreGrowth(NamedTuple):
    """How one store's figures changed over the intervals between one row about it and the next.

    ``restored_records`` in ``restored_ms`` count the intervals in which its lag fell: by how much it fell, plus what
    was produced meanwhile if the rows tell. ``produced_records`` in ``produced_ms`` count the intervals whose ends both
    have an ``end_offset``, unless it fell.
    """

    process_id: str
    task_id: str
    store: str | None
    restored_records: int = 0
    restored_ms: int = 0
    produced_records: int = 0
    produced_ms: int = 0


class HistoryRow(NamedTuple):
    """A lag row and the file it is from; ``twice``: another row about the same store is of the same time."""

    row: Row
    file: str
    twice: bool = False


class LagHistory(NamedTuple):
    """What the lag snapshots say about one application.

    ``rows`` are the newest rows about every store at or before the time that counts;
    ``earliest`` is the time of the first row there is, for the case that none is early enough.
    """

    rows: Sequence[HistoryRow]
    growth: Sequence[StoreGrowth] = ()
    earliest: str | None = None


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
    rows, gone = _read_rows(history.rows, group)
    active, assigned = _held(group, holdings)
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
        if seat not in assigned and None not in (row.at_ms, deleted_before) and row.at_ms < deleted_before:  # type: ignore[operator]
            deleted.append(row.task)
            continue
        usable.append(row)
    return usable, _notes(group, gone, deleted, config)


def rates_of(growth: Sequence[StoreGrowth], group: Group) -> Rates:
    """Return the rates that a history gives, in records per second.

    * Restore rate of a task on an instance: what its stores restored while their lag fell, over the longest time that
      one of them took (stores restore side by side). Where a copy caught up between two rows it is a lower bound.
    * Produce rate of a task: the growth of its stores' end offsets over time, each the mean of what the instances saw.

    Rows about the whole task beat rows about its stores; what the group does not have is passed over.
    """
    by_copy: dict[tuple[int, int], list[StoreGrowth]] = defaultdict(list)
    task_index = {str(task.task_id): index for index, task in enumerate(group.tasks)}
    for row in growth:
        task, instance = task_index.get(row.task_id), group.instance_index.get(normal_process_id(row.process_id))
        if task is not None and instance is not None:
            by_copy[instance, task].append(row)
    restore = {copy: rate for copy, rows in sorted(by_copy.items()) if (rate := restore_rate(rows))}
    by_task: dict[int, list[StoreGrowth]] = defaultdict(list)
    for (_, task), rows in by_copy.items():
        by_task[task].extend(rows)
    produce = {task: rate for task, rows in sorted(by_task.items()) if (rate := produce_rate(rows)) is not None}
    return Rates(restore=MappingProxyType(restore), produce=MappingProxyType(produce))


def _nothing_in_time(history: LagHistory, captured_at_ms: int | None) -> FieldError:
    if history.earliest is None:
        return FieldError("", "has no row in the lag snapshots", "give lags of this application, or leave --lags out")
    at = "no time" if captured_at_ms is None else format_time(captured_at_ms)
    what = f"was captured at {at}, but its first lag row is of {history.earliest}"
    return FieldError("", what, "give lags of that time, or widen --lags-tolerance")


def _read_rows(items: Sequence[HistoryRow], group: Group) -> tuple[list[LagRow], list[str]]:
    """Return the rows, and what the rows that were dropped are about."""
    reader = LagRows(group, flat=True)
    rows, left_out = [], []
    for item in items:
        place = _place(item)
        if item.twice:
            raise FieldError(place, "is there twice with the same time", "keep one of them")
        try:
            row = reader.read(item.row, place)
        except UnknownNameError as error:
            left_out.append((item.row, error))
            continue
        rows.append(row)
    newest = max((_at_ms(item.row) for item in items), default=-1)
    for row_left_out, unknown in left_out:
        if _at_ms(row_left_out) >= newest:
            raise unknown
    return rows, sorted({shown(row_left_out["process_id"]) for row_left_out, _ in left_out})


def _at_ms(item: Row) -> int:
    at_ms = optional_time(item, "captured_at")
    return -1 if at_ms is None else at_ms


def _place(item: HistoryRow) -> str:
    row = item.row
    about = ", ".join(f"{name} {shown(row[name])}" for name in ("task_id", "process_id", "store") if row.get(name))
    return f"{item.file}: lag row of {about or 'nothing'}:"


def _held(group: Group, holdings: Sequence[Holding]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return the (task, instance) pairs that are active, and all that are assigned."""
    active: set[tuple[int, int]] = set()
    assigned: set[tuple[int, int]] = set()
    for consumer, holding in enumerate(holdings):
        instance = group.instance_of[consumer]
        active.update((task, instance) for task in holding.active)
        assigned.update((task, instance) for role in holding for task in role)
    return active, assigned


def _notes(group: Group, gone: Sequence[str], deleted: Sequence[int], config: AssignmentConfig) -> list[Note]:
    notes = []
    if gone:
        message = f"older lag rows of what the snapshot does not have were dropped: {gone[0]} first"
        notes.append(Note("lag-of-departed", message, tuple(gone)))
    if deleted:
        tasks = tuple(str(group.tasks[task].task_id) for task in sorted(set(deleted)))
        message = (
            f"lag rows about copies that nobody is assigned and older than state_cleanup_delay_ms "
            f"({config.state_cleanup_delay_ms}) were dropped, {tasks[0]} first"
        )
        notes.append(Note("lag-of-deleted-state", message, tasks))
    return notes


def _whole_or_stores(rows: Sequence[StoreGrowth]) -> Sequence[StoreGrowth]:
    return [row for row in rows if row.store is None] or rows


def restore_rate(rows: Sequence[StoreGrowth]) -> float | None:
    """Return the restore rate of one copy from the growth of its stores, see :func:`rates_of`; ``None`` if unknown."""
    rows = _whole_or_stores([row for row in rows if row.restored_ms > 0])
    if not rows:
        return None
    return sum(row.restored_records for row in rows) * 1000 / max(row.restored_ms for row in rows)


def produce_rate(rows: Sequence[StoreGrowth]) -> float | None:
    """Return the produce rate of one task from the growth of its stores, see :func:`rates_of`; ``None`` if unknown."""
    rows = _whole_or_stores([row for row in rows if row.produced_ms > 0])
    by_store: Mapping[str | None, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        by_store[row.store][0] += row.produced_records
        by_store[row.store][1] += row.produced_ms
    # exact sums first: the order of the rows must not show in the last digit
    return sum(by_store[store][0] * 1000 / by_store[store][1] for store in sorted(by_store, key=str)) if rows else None
