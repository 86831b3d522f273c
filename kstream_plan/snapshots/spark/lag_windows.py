"""How far back lag rows count, and which stores there are: one narrow pass with sums that need no sort.

It goes over the last day only where files or folders say what times they hold, and further back where that says too
little.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from kstream_plan.snapshots.files.sources import Form
from kstream_plan.snapshots.rows.lag_window import DAYS, FIRST_US, LagsWanted, StoreCount, begin_of, enough
from kstream_plan.snapshots.rows.measured_rates import INTERVALS_OVER
from kstream_plan.snapshots.rows.members import normal_process_id
from kstream_plan.snapshots.spark.lag_rows import MOST_NAMES, LagFiles, Times

#: What a row is about, as it is written.
WRITTEN = ("application_id", "process_id", "task_id", "store")

LAST_US = 2**63 - 1


class LagReading(NamedTuple):
    """What is read, and what rates go over; ``None``: the last few intervals."""

    spark: SparkSession
    files: LagFiles
    rates_over_ms: int | None

    @property
    def first_level(self) -> int:
        """What to look at first: who has to take every row apart to see its time looks at all of them at once."""
        return 0 if any(file.form is Form.PARQUET for file in self.files.inputs) else len(DAYS) - 1

    @property
    def step_us(self) -> int | None:
        """How far apart the points are that rates are of, at least; ``None``: the last few count."""
        return None if self.rates_over_ms is None else max(self.rates_over_ms * 1000 // INTERVALS_OVER, 1)


class Asked(NamedTuple):
    """Up to when the rows of an application count, when its days end, how many of them are looked at.

    ``moved``: they end with the newest row, because there is none in the day before the limit.
    """

    wanted: LagsWanted
    until_us: int
    anchor_us: int
    level: int
    moved: bool = False

    @property
    def since_us(self) -> int:
        """When the days begin that are looked at."""
        return begin_of(self.wanted, self.level, self.anchor_us)

    def limits(self) -> dict[str, int]:
        """Return between what times rows count, and when the shorter ones of :data:`DAYS` begin."""
        days = {f"days_{level}": begin_of(self.wanted, level, self.anchor_us) for level in range(len(DAYS) - 1)}
        return {"since_us": self.since_us, "until_us": self.until_us, **days}


class Window(NamedTuple):
    """What counts of an application, and the stores that there are in it."""

    asked: Asked
    stores: Sequence[StoreCount] = ()

    @property
    def newest_us(self) -> int | None:
        """The newest time that is known."""
        return max((store.newest_us for store in self.stores if store.newest_us is not None), default=None)


def lag_windows(reading: LagReading, wanted: Mapping[str, LagsWanted]) -> tuple[dict[str, Window], bool]:
    """Return what counts of every application, and whether there are rows without one."""
    asked = {}
    for app, lags in wanted.items():
        until_us = LAST_US if lags.until_us is None else lags.until_us
        asked[app] = Asked(lags, until_us, until_us, reading.first_level)
    windows: dict[str, Window] = {}
    has_nameless = False
    while asked:
        counted = _counted(reading, asked)
        has_nameless |= None in counted
        silent: dict[str, Window] = {}
        again: dict[str, Asked] = {}
        for app, one in asked.items():
            stores = counted.get(app, [])
            first = one.level == reading.first_level and not one.moved
            if first and not any(store.rows[0] for store in stores):
                silent[app] = Window(one, stores)
                continue
            level = next((level for level in range(one.level + 1) if enough(wanted[app], stores, level)), None)
            if level is None:
                again[app] = one._replace(level=one.level + 1)
            else:
                windows[app] = Window(one._replace(level=level), stores)
        for app, window in _moved(reading, silent).items():
            if window.asked.moved:
                again[app] = window.asked
            else:
                windows[app] = window
        asked = again
    return windows, has_nameless


def _moved(reading: LagReading, silent: Mapping[str, Window]) -> dict[str, Window]:
    """Let the days end with the newest row at or before the limit; those without any are as they are, to the end."""
    last = len(DAYS) - 1
    newest = {app: window.newest_us for app, window in silent.items() if window.newest_us is not None}
    unknown = {app: window.asked for app, window in silent.items() if window.asked.level < last}
    newest.update(times_of(reading, unknown, late=False))
    return {
        app: window._replace(asked=window.asked._replace(level=reading.first_level, anchor_us=newest[app], moved=True))
        if app in newest
        else window._replace(asked=window.asked._replace(level=last))
        for app, window in silent.items()
    }


def times_of(reading: LagReading, asked: Mapping[str, Asked], *, late: bool) -> dict[str, int]:
    """Return the newest times at or before the limits, or the earliest ones after them, where there are any."""
    if not asked:
        return {}
    limits = [one.until_us for one in asked.values()]
    times = Times(since_us=min(limits)) if late else Times(until_us=max(limits))
    found: dict[str, int] = {}
    choose = min if late else max
    for frame in reading.files.rows(asked, times, with_file=False):
        rows = beside(frame.rows, reading.spark, {app: {"until_us": one.until_us} for app, one in asked.items()})
        best = F.min("at") if late else F.max("at")
        rows = rows.where("at > until_us" if late else "at <= until_us")
        for row in rows.groupBy("application_id").agg(best.alias("at")).toArrow().to_pylist():
            app, at = row["application_id"], row["at"]
            if app in asked:
                found[app] = choose(at, found.get(app, at))
    return found


def beside(rows: DataFrame, spark: SparkSession, limits: Mapping[str, Mapping[str, int | None]]) -> DataFrame:
    """Put the limits of its application beside every row; rows of other applications are left out."""
    different = list(limits.values())
    if len(limits) <= MOST_NAMES and all(one == different[0] for one in different):
        return rows.withColumns({name: F.expr(_long(value)) for name, value in different[0].items()})
    columns: dict[str, list[Any]] = {"application_id": list(limits), "wanted": [True] * len(limits)}
    for name in different[0]:
        columns[name] = [one[name] for one in different]
    table = spark.createDataFrame(pyarrow.table(columns))
    return rows.join(F.broadcast(table), "application_id", "left").where("wanted OR application_id IS NULL")


def _long(value: int | None) -> str:
    return f"CAST({'NULL' if value is None else value} AS BIGINT)"


def _counted(reading: LagReading, asked: Mapping[str, Asked]) -> dict[str | None, list[StoreCount]]:
    """Count the stores of applications; those of rows without one are under ``None``."""
    since_us = min(one.since_us for one in asked.values())
    times = Times(None if since_us == FIRST_US else since_us, max(one.until_us for one in asked.values()))
    found: dict[str | None, dict[Any, StoreCount]] = defaultdict(dict)
    alike = len({(one.since_us, one.until_us) for one in asked.values()}) == 1
    shorter = [f"days_{level}" for level in range(reading.first_level)]
    for frame in reading.files.rows(asked, times, with_file=False):
        rows = beside(frame.rows, reading.spark, {app: one.limits() for app, one in asked.items()})
        if not alike:  # else all that was read is within these times, and asking again costs a tenth
            rows = rows.where("application_id IS NULL OR at IS NULL OR at BETWEEN since_us AND until_us")
        counts = rows.groupBy(*WRITTEN).agg(
            F.min("at").alias("oldest_us"),
            F.max("at").alias("newest_us"),
            F.count("at").alias("rows"),
            F.expr("count_if(unreadable)").alias("unreadable"),
            *(F.expr(f"count_if(at >= {days})").alias(days) for days in shorter),
        )
        for row in counts.toArrow().to_pylist():
            one = asked.get(row["application_id"])
            level = reading.first_level if one is None else one.level
            days = range(len(DAYS))
            store = StoreCount(
                process_id=row["process_id"],
                process=_compared(row["process_id"]),
                task_id=row["task_id"],
                store=row["store"],
                oldest_us=row["oldest_us"],
                newest_us=row["newest_us"],
                unreadable=row["unreadable"],
                rows=[row["rows"] if number >= level else row.get(f"days_{number}", 0) for number in days],
            )
            of, key = found[row["application_id"]], (store.process_id, store.task_id, store.store)
            of[key] = of[key].plus(store) if key in of else store
    return {app: list(stores.values()) for app, stores in found.items()}


def _compared(process_id: str | None) -> str | None:
    return None if process_id is None else normal_process_id(process_id)
