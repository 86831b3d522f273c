"""From lag rows to the copies on every disk, as Kafka's leader sees them (input contract, "From rows to lags")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kstream_plan.model import LATEST, UNKNOWN, Copy, Group, Holding, Note, Task
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.snapshots.rows import types as written
from kstream_plan.snapshots.rows.fields import FieldError, shown, time_ms
from kstream_plan.snapshots.rows.lags import LagRow
from kstream_plan.snapshots.rows.tasks_and_members import normal_process_id

#: What one instance reported about one task: its rows by (task, instance).
Reports: TypeAlias = Mapping[tuple[int, int], Sequence[LagRow]]


class _Seat(NamedTuple):
    consumer: int
    active: bool


def reports_of(rows: Sequence[LagRow]) -> Reports:
    """Gather the rows of every (task, instance) that count: the row about the whole task beats those about its stores.

    It does so unless one of them is newer than it, or they are further behind than it and not known to be older.
    """
    gathered: dict[tuple[int, int], list[LagRow]] = defaultdict(list)
    for row in rows:
        if row.logged:
            gathered[row.task, row.instance].append(row)
    return {key: _rows_that_count(copy_rows) for key, copy_rows in gathered.items()}


def reported_end_offsets(reports: Reports) -> dict[int, int | None]:
    """Return the end-offset sum of every task with a report, by its rows; ``None``: unknown.

    Instances may have read it at different moments; the highest figure of each store is the latest one.
    """
    whole: dict[int, int] = {}
    stores: dict[int, dict[str, int | None]] = defaultdict(dict)
    for (task, _), rows in reports.items():
        for row in rows:
            if row.store is not None:
                stores[task][row.store] = _highest(stores[task].get(row.store), row.end_offset)
            elif row.end_offset is not None:
                whole[task] = max(whole.get(task, 0), row.end_offset)
    return {task: whole[task] if task in whole else _sum_if_all_known(stores[task]) for task, _ in reports}


def told_in_part(reports: Reports, tasks: Sequence[Task]) -> frozenset[tuple[int, int]]:
    """Return the seats (task, instance) that report fewer stores than the task has changelogs."""
    return frozenset(
        (task, instance)
        for (task, instance), rows in reports.items()
        if all(row.store is not None for row in rows)
        and len({row.store for row in rows if row.logged})
        < len({partition.topic for partition in tasks[task].changelog_partitions})
    )


def copies_of(
    group: Group, holdings: Sequence[Holding], reports: Reports
) -> tuple[tuple[tuple[Copy, ...], ...], list[Note]]:
    """Return every task's copies, by task index, and warnings about reports that cannot be true.

    * reported: the lag that the rows give; its reporters, unless named, are the consumer that is assigned the task,
      else the instance's first one;
    * not reported, but active: running, so ``LATEST``, reported by its owner;
    * not reported, but assigned: unknown yet, and no consumer's previous task; likewise a copy with an offset, but no
      end offset.

    Raises:
        FieldError: an instance's rows about one task cannot be added up, a stateless task has a copy assigned, or a
            task has two running owners.
    """
    seats = _seats(group, holdings)
    owners = {task: instance for (task, instance), seat in seats.items() if seat.active}
    copies: list[list[Copy]] = [[] for _ in group.tasks]
    doubts = _Doubts([], [], [])
    for task, instance in sorted(seats.keys() | reports.keys()):
        if not group.tasks[task].stateful:
            if (task, instance) in reports:
                doubts.stateless.append(str(group.tasks[task].task_id))
            continue
        seat = seats.get((task, instance))
        rows = reports.get((task, instance))
        if rows is not None and not _is_silent(group.tasks[task], rows, seat):
            if not (seat is not None and seat.active):
                rows = [_not_running(group, row, owners.get(task), doubts) for row in rows]
            copies[task].append(_reported_copy(group, task, instance, rows, seat, doubts))
        elif seat is not None:
            copies[task].append(_silent_copy(group.tasks[task], instance, seat))
    return tuple(map(tuple, copies)), doubts.notes()


def _is_silent(task: Task, rows: Sequence[LagRow], seat: _Seat | None) -> bool:
    """Tell whether a copy is assigned and its lag is unknown."""
    if seat is None or seat.active or task.end_offset_known:
        return False
    return any(row.lag is None and (row.offset or 0) >= 0 for row in rows)


class CopyAges(NamedTuple):
    """By (task, instance): since when copies are assigned or left over, and when they were made, if known.

    ``to_restore``: the records to restore, if they are known to differ from the report.
    """

    since_ms: Mapping[tuple[int, int], int]
    made_ms: Mapping[tuple[int, int], int]
    to_restore: Mapping[tuple[int, int], int]


def read_copies_since(age_rows: Sequence[written.CopySince], group: Group, zero_ms: int | None) -> CopyAges:
    """Read how old copies are, in milliseconds counted from ``zero_ms``.

    Without ``zero_ms`` no age is known. Rows about unknown members or tasks are ignored.
    """
    since_ms: dict[tuple[int, int], int] = {}
    made_ms: dict[tuple[int, int], int] = {}
    to_restore: dict[tuple[int, int], int] = {}
    for age_row in age_rows:
        task = group.task_index_by_text.get(age_row.task_id)
        instance = group.instance_index.get(normal_process_id(age_row.process_id))
        if task is None or instance is None:
            continue
        if age_row.to_restore is not None:
            to_restore[task, instance] = age_row.to_restore
        for times, at_ms in ((since_ms, time_ms(age_row.since)), (made_ms, time_ms(age_row.made_at))):
            if at_ms is not None and zero_ms is not None:
                times[task, instance] = at_ms - zero_ms
    return CopyAges(since_ms, made_ms, to_restore)


def with_ages(copies: Sequence[tuple[Copy, ...]], ages: CopyAges) -> tuple[tuple[Copy, ...], ...]:
    """Return the copies with their ages: when each was made, and since when left-over ones are unassigned.

    An owner that has something to restore has not reported a lag.
    """

    def aged(task: int, copy: Copy) -> Copy:
        seat = (task, copy.instance)
        lost_ms = None if copy.lost_at_ms is None else ages.since_ms.get(seat, copy.lost_at_ms)
        remaining = ages.to_restore.get(seat, copy.remaining)
        if copy.lag == LATEST and seat in ages.to_restore:
            copy = copy._replace(lag=None, reporters=())
        return copy._replace(lost_at_ms=lost_ms, made_at_ms=ages.made_ms.get(seat), remaining=remaining)

    return tuple(tuple(aged(task, copy) for copy in task_copies) for task, task_copies in enumerate(copies))


class _Doubts(NamedTuple):
    impossible: list[tuple[str, str]]
    stateless: list[str]
    running: list[tuple[str, str]]

    def notes(self) -> list[Note]:
        notes = []
        if self.impossible:
            tasks = tuple(dict.fromkeys(task for task, _ in self.impossible))
            count = len(self.impossible)
            message = (
                f"{count} reported lag{'s'[: count > 1]} cannot be true, so the whole changelog counts as lag: "
                f"{self.impossible[0][1]}"
            )
            notes.append(Note("lag-above-end", message, tasks))
        if self.stateless:
            tasks = tuple(dict.fromkeys(self.stateless))
            message = f"lag rows about stateless tasks are ignored, {tasks[0]} first"
            notes.append(Note("lag-of-stateless-task", message, tasks))
        if self.running:
            tasks = tuple(dict.fromkeys(task for task, _ in self.running))
            message = f"{self.running[0][1]} but is not assigned it: its state is assumed to be caught up"
            notes.append(Note("running-elsewhere", message, tasks))
        return notes


def _rows_that_count(rows: list[LagRow]) -> list[LagRow]:
    if len(rows) == 1:
        return rows
    whole = [row for row in rows if row.store is None]
    stores = [row for row in rows if row.store is not None]
    if whole and stores:
        whole_age_ms = max(map(_age_key, whole))
        if max(map(_age_key, stores)) > whole_age_ms:
            return stores
        not_older = [row for row in stores if _age_key(row) in (-1, whole_age_ms)]
        if _is_further_behind(not_older, whole[0]):
            return stores
    return whole or stores


def _is_further_behind(stores: Sequence[LagRow], whole: LagRow) -> bool:
    """Tell whether a task is further behind by the lags of its stores than by its own."""
    lags = [row.lag for row in stores if row.lag is not None]
    return whole.lag is not None and whole.lag >= 0 and (UNKNOWN in lags or sum(lags) > whole.lag)


def _age_key(row: LagRow) -> int:
    """Sort by time, rows without one first."""
    times = [time for time in (row.at_ms, row.reported_at_ms) if time is not None]
    return max(times, default=-1)


def _highest(first: int | None, second: int | None) -> int | None:
    return max((end for end in (first, second) if end is not None), default=None)


def _sum_if_all_known(ends: Mapping[str, int | None]) -> int | None:
    known_ends = [end for end in ends.values() if end is not None]
    return min(sum(known_ends), MAX_LONG) if known_ends and len(known_ends) == len(ends) else None


def _seats(group: Group, holdings: Sequence[Holding]) -> dict[tuple[int, int], _Seat]:
    seats = {}
    for consumer, holding in enumerate(holdings):
        instance = group.instance_of[consumer]
        for task in holding.active:
            seats[task, instance] = _Seat(consumer, True)
        for task in (*holding.standby, *holding.warmup):
            if not group.tasks[task].stateful:
                problem = f"holds a copy of {group.tasks[task].task_id}, which is stateless"
                path = f"consumer {shown(group.consumer_ids[consumer])}"
                raise FieldError(path, problem, 'say "stateful": true in tasks, or take the copy out')
            seats[task, instance] = _Seat(consumer, False)
    return seats


def _silent_copy(task: Task, instance: int, seat: _Seat) -> Copy:
    if seat.active:
        return Copy(instance, LATEST, (seat.consumer,), 0, seat.consumer, active=True)
    return Copy(instance, None, (), task.end_offset_sum, seat.consumer)


def _reported_copy(
    group: Group, task: int, instance: int, rows: Sequence[LagRow], seat: _Seat | None, doubts: _Doubts
) -> Copy:
    end_offset_sum = group.tasks[task].end_offset_sum
    lag = _lag(group, rows, end_offset_sum)
    if lag not in (LATEST, UNKNOWN) and not 0 <= lag <= end_offset_sum:
        doubts.impossible.append((str(group.tasks[task].task_id), _impossible(group, task, instance, lag)))
        lag = end_offset_sum
    named_reporters = [row.reporters for row in rows if row.reporters is not None]
    default = seat.consumer if seat is not None else group.consumers_of[instance].start
    return Copy(
        instance,
        lag,
        tuple(sorted({consumer for reporters in named_reporters for consumer in reporters}))
        if named_reporters
        else (default,),
        {LATEST: 0, UNKNOWN: end_offset_sum}.get(lag, lag),
        seat.consumer if seat is not None else None,
        active=seat is not None and seat.active,
        lost_at_ms=None if seat is not None else 0,
    )


def _not_running(group: Group, row: LagRow, owner: int | None, doubts: _Doubts) -> LagRow:
    """Return a row of an instance that does not own the task: lag 0 instead of the marker that it runs the task.

    A row of a lag history may be of an earlier owner; inside a snapshot the task has one owner.
    """
    if LATEST not in (row.lag, row.offset):
        return row
    task_id, process_id = str(group.tasks[row.task].task_id), shown(group.instances[row.instance].process_id)
    if owner is not None and row.at_ms is None:
        problem = (
            f"say that {process_id} runs task {task_id} ({LATEST}), which {shown(group.instances[owner].process_id)} "
            "has active: two running owners"
        )
        raise FieldError("lags", problem, "give its lag or offset instead, or correct who has the task active")
    doubts.running.append((task_id, f"{process_id} reports task {task_id} as running ({LATEST})"))
    return row._replace(lag=0, offset=None)


def _lag(group: Group, rows: Sequence[LagRow], end_offset_sum: int) -> int:
    """Return the lag that one instance's rows about one task give, not yet checked against the whole sum."""
    values = [row.offset if row.lag is None else row.lag for row in rows]
    for marker in (UNKNOWN, LATEST):  # one store unknown: the task is
        if marker in values:
            return marker
    lags = [row.lag for row in rows if row.lag is not None]
    if len(lags) == len(rows):
        return sum(lags)
    if not lags:
        return end_offset_sum - sum(row.offset for row in rows if row.offset is not None)
    for row in rows:
        if row.offset is not None:
            if row.end_offset is None:
                raise _mixed(group, row)
            lags.append(row.end_offset - row.offset)
    return sum(lags)


def _mixed(group: Group, row: LagRow) -> FieldError:
    task_id, process_id = group.tasks[row.task].task_id, group.instances[row.instance].process_id
    problem = f"rows about task {task_id} on {shown(process_id)} mix lag with an offset that has no end_offset"
    return FieldError("lags", problem, "give lag for every store of the task, or offset for every store")


def _impossible(group: Group, task: int, instance: int, lag: int) -> str:
    place = f"{group.tasks[task].task_id} on {shown(group.instances[instance].process_id)}"
    end_offset_sum = group.tasks[task].end_offset_sum
    if lag < 0:
        return f"{place} has offset {end_offset_sum - lag}, above its end offset {end_offset_sum}"
    return f"{place} has lag {lag}, above its end offset {end_offset_sum}"
