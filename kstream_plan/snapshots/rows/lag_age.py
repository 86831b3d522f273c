"""Lags that are as old as the last join: a running group reports its offsets when it joins and not in between.

After three quiet days every hot standby would look three days behind. What is assigned follows its changelog, so a copy
that was caught up when its instance joined, and is assigned, is caught up still.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kstream_plan.model import Group, Holding, Note
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.model.snapshot import Coverage
from kstream_plan.snapshots.rows.copies import Reports
from kstream_plan.snapshots.rows.lags import LagRow
from kstream_plan.snapshots.rows.types import LagSource


def still_caught_up(
    reports: Reports, group: Group, holdings: Sequence[Holding], acceptable_recovery_lag: int
) -> tuple[Reports, tuple[Note, ...]]:
    """Return the reports with the lags of then where that is right, and the assumption that this is.

    Rows count that say when they were reported and how far the changelog was then (``end_offset``).
    """
    instance_of = group.instance_of
    assigned_seats = {
        (t, instance_of[c]) for c, holding in enumerate(holdings) for t in (*holding.standby, *holding.warmup)
    }
    corrected, tasks = dict(reports), set()
    for seat in sorted(assigned_seats & reports.keys()):
        rows, now = reports[seat], group.tasks[seat[0]].end_offset_sum
        lags = _lags_then(rows)
        if lags is not None and is_caught_up(sum(lags), acceptable_recovery_lag):
            if sum(lags) < now - sum(row.offset or 0 for row in rows):
                tasks.add(seat[0])
            corrected[seat] = [row._replace(lag=lag, offset=None) for row, lag in zip(rows, lags, strict=True)]
    if not tasks:
        return corrected, ()
    message = (
        "Assigned copies that were caught up when their instances last joined are assumed to be caught up now "
        "(--set lags.as.reported=true: as far behind as the changelog has grown since)"
    )
    return corrected, (Note("lags-aged", message, tuple(str(group.tasks[task].task_id) for task in sorted(tasks))),)


def lags_when_told(reports: Reports) -> dict[tuple[int, int], int]:
    """Return the known lags of copies at the moment of their reports, by task and instance."""
    lags_by_seat = {seat: _lags_then(rows) for seat, rows in reports.items()}
    return {seat: sum(lags) for seat, lags in lags_by_seat.items() if lags is not None}


def lags_at_most(reports: Reports, group: Group) -> dict[tuple[int, int], int]:
    """Return upper bounds of the lags of copies now, by what was written since their reports, where known."""
    highest_lags = {}
    for seat, rows in reports.items():
        offsets = [_offset(row) for row in rows]
        known_offsets = [offset for offset in offsets if offset is not None]
        task = group.tasks[seat[0]]
        if task.stateful and task.end_offset_known and len(known_offsets) == len(offsets):
            highest_lags[seat] = max(0, task.end_offset_sum - sum(known_offsets))
    return highest_lags


def ends_seen_at_ms(reports: Reports, tasks: Iterable[int], captured_at_ms: int | None) -> dict[int, int]:
    """Return when the end offsets of these tasks were seen, which reports alone tell, if before the snapshot was taken.

    It is the time of the report with the highest end offset, of several stores the oldest such time.
    """
    task_indices, newest = set(tasks), dict[tuple[int, str | None], tuple[int, int]]()
    for (task, _), rows in reports.items():
        for row in rows if task in task_indices else ():
            at_ms = row.at_ms if row.reported_at_ms is None else row.reported_at_ms
            if row.end_offset is None or captured_at_ms is None:
                continue
            end_and_time = row.end_offset, captured_at_ms if at_ms is None else at_ms
            newest[task, row.store] = max(end_and_time, newest.get((task, row.store), end_and_time))
    oldest_ms = dict[int, int]()
    for (task, _), (_, at_ms) in newest.items():
        assert captured_at_ms is not None
        oldest_ms[task] = min(at_ms - captured_at_ms, oldest_ms.get(task, 0))
    return {task: at_ms for task, at_ms in oldest_ms.items() if at_ms < 0}


def _offset(row: LagRow) -> int | None:
    """Return the offset that a row tells; ``None``: it tells none."""
    if row.offset is not None:
        return row.offset if row.offset >= 0 else None
    if row.lag is None or row.lag < 0 or row.end_offset is None:
        return None
    return row.end_offset - row.lag


def _lags_then(rows: Sequence[LagRow]) -> list[int] | None:
    """Return the lag of each row when it was reported, ``None`` if that is not known of all."""
    lags = [
        row.end_offset - row.offset
        for row in rows
        if row.reported_at_ms is not None and row.end_offset is not None and row.offset is not None and row.offset >= 0
    ]
    return lags if len(lags) == len(rows) and min(lags) >= 0 else None


def coverage(
    reports: Reports, holdings: Sequence[Holding], group: Group, captured_at_ms: int | None
) -> Coverage | None:
    """Return of how many copies the lag was measured, and when; ``None`` if none was."""
    sources = {seat: {row.source for row in rows} for seat, rows in reports.items()}
    at_least_seats = {seat for seat, seat_sources in sources.items() if LagSource.METRICS_AT_LEAST in seat_sources}
    measured_seats = {
        seat for seat, seat_sources in sources.items() if LagSource.METRICS in seat_sources
    } - at_least_seats
    if not (at_least_seats or measured_seats):
        return None
    instance_of = group.instance_of
    active = {(t, instance_of[c]) for c, holding in enumerate(holdings) for t in holding.active}
    assigned_seats = {
        (t, instance_of[c]) for c, holding in enumerate(holdings) for t in (*holding.standby, *holding.warmup)
    }
    joined_seats = reports.keys() - active - at_least_seats - measured_seats
    times = [
        row.reported_at_ms
        for seat in at_least_seats | measured_seats
        for row in reports[seat]
        if row.reported_at_ms is not None
    ]
    zero_ms = max(times, default=0) if captured_at_ms is None else captured_at_ms
    return Coverage(
        measured=len(measured_seats),
        least=len(at_least_seats),
        joined=len(joined_seats),
        silent=len(
            (assigned_seats | joined_seats | at_least_seats | measured_seats)
            - joined_seats
            - at_least_seats
            - measured_seats
        ),
        oldest_ms=min(times) - zero_ms if times else None,
        newest_ms=max(times) - zero_ms if times else None,
    )
