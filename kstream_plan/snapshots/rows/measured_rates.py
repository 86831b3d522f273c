"""Measured rates: what intervals measured, put together, and the ``rates`` of a snapshot, which hold that."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from types import MappingProxyType
from typing import Any, NamedTuple

from kstream_plan.model import Group, Rates
from kstream_plan.snapshots.rows import types as written
from kstream_plan.snapshots.rows.tasks_and_members import normal_process_id

#: How many of the last intervals count: rates are those of now.
RECENT_INTERVALS = 10

#: The highest number of intervals for rates over a time that an option gives.
INTERVALS_OVER = 60

#: Shorter intervals measure their own edges: copies are read some seconds apart, and restore in batches.
SHORTEST_INTERVAL_MS = 10_000


class Restored(NamedTuple):
    """What one instance restored in one interval, in records per second.

    ``at_least``: something was ready before the interval ended, so that the instance may have had time left.
    """

    per_second: float
    at_least: bool = False


class Measured(NamedTuple):
    """A rate in records per second, and the number of its intervals; ``at_least``: each gave a lower bound only."""

    per_second: float
    intervals: int
    at_least: bool = False


class Progress(NamedTuple):
    """What one copy restored in an interval; whether it was ready by its end, and whether it surely went on after it.

    Where every copy that restored went on, its instance had no time left.
    """

    records: int
    ended: bool
    goes_on: bool


def progress(lag_before: int, lag_after: int, written_records: int, ready_lag: int) -> Progress | None:
    """Return what a copy restored whose lag went from ``lag_before`` to ``lag_after``.

    ``written_records`` came to its changelogs meanwhile; with a lag of at most ``ready_lag`` it is ready. ``None``: it
    was ready from the beginning, and only followed.
    """
    goes_on = lag_after > ready_lag + written_records
    if lag_before <= ready_lag and not goes_on:
        return None
    return Progress(max(lag_before - lag_after + written_records, 0), ended=lag_after <= ready_lag, goes_on=goes_on)


def restored_by(copies: Sequence[Progress], elapsed_ms: int) -> Restored | None:
    """Return what an instance restored in an interval, all its copies together; ``None`` if it did not."""
    records = sum(copy.records for copy in copies)
    if records <= 0 or elapsed_ms <= 0:
        return None
    had_time_left = any(copy.ended for copy in copies) or not any(copy.goes_on for copy in copies)
    return Restored(records * 1000 / elapsed_ms, at_least=had_time_left)


def restore_rate(intervals: Sequence[Restored]) -> Measured | None:
    """Return the median of what an instance restored; ``None`` if it was never seen to.

    A bound says something only where it is above the median of what was measured; if there is nothing else, the
    highest bound is a bound of the rate.
    """
    exact = [interval.per_second for interval in intervals if not interval.at_least]
    bounds = [interval.per_second for interval in intervals if interval.at_least and interval.per_second > 0]
    if not exact:
        return Measured(max(bounds), len(bounds), at_least=True) if bounds else None
    rates = exact + [bound for bound in bounds if bound > median(exact)]
    return Measured(median(rates), len(rates))


def produce_rate(intervals: Sequence[float]) -> Measured | None:
    """Return the median of the rates at which a task's changelogs grew, 0 if idle; ``None``: not measured."""
    return Measured(median(intervals), len(intervals)) if intervals else None


def rate_fields(rate: Measured, source: str) -> dict[str, Any]:
    """Return a rate as in the ``rates`` of a snapshot; ``source``: what it was measured by."""
    fields = {"records_per_second": rate.per_second, "intervals": rate.intervals, "source": source}
    return fields | {"at_least": True} if rate.at_least else fields


def read_rates(rates_row: written.Rates | None, group: Group) -> Rates:
    """Return the rates in records per second; those of tasks and instances that the group does not have are left out.

    A restore rate is an instance's. One that names a task is of that copy alone; those of an instance add up.
    """
    if rates_row is None:
        return Rates()
    task_index = {str(task.task_id): index for index, task in enumerate(group.tasks)}
    produce = {task_index.get(rate.task_id, -1): rate for rate in rates_row.produce or ()}
    restore: dict[int, list[written.RestoreRate]] = defaultdict(list)
    for rate in rates_row.restore or ():
        if rate.task_id is None or rate.task_id in task_index:
            restore[group.instance_index.get(normal_process_id(rate.process_id), -1)].append(rate)
    produce.pop(-1, None)
    restore.pop(-1, None)
    exact_rates: dict[int, float] = {}
    bounds: dict[int, float] = {}
    for instance, rates in sorted(restore.items()):
        at_least = any(rate.at_least for rate in rates)
        (bounds if at_least else exact_rates)[instance] = math.fsum(rate.records_per_second for rate in rates)
    return Rates(
        restore=MappingProxyType(exact_rates),
        restore_at_least=MappingProxyType(bounds),
        restore_intervals=MappingProxyType({i: n for i, rates in sorted(restore.items()) if (n := _intervals(rates))}),
        produce=MappingProxyType({task: rate.records_per_second for task, rate in produce.items()}),
        produce_intervals=MappingProxyType({task: n for task, rate in produce.items() if (n := rate.intervals or 0)}),
        restore_source=MappingProxyType(
            {i: source for i, rates in sorted(restore.items()) if (source := rates[0].source)}
        ),
        produce_source=MappingProxyType({task: source for task, rate in produce.items() if (source := rate.source)}),
    )


def _intervals(rates: Sequence[written.RestoreRate]) -> int:
    return min(rate.intervals or 0 for rate in rates)
