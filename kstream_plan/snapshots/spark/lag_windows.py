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
from kstream_plan.snapshots.rows.tasks_and_members import normal_process_id
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
        """The level to begin with: where every row has to be parsed to see its time, all are looked at."""
        return 0 if any(file.form is Form.PARQUET for file in self.files.inputs) else len(DAYS) - 1

    @property
    def step_us(self) -> int | None:
        """How far apart the points are that rates are of, at least; ``None``: the last few count."""
        return None if self.rates_over_ms is None else max(self.rates_over_ms * 1000 // INTERVALS_OVER, 1)


class LagQuery(NamedTuple):
    """Up to when the rows of an application count, when its days end, how many of them are looked at.

    ``is_moved``: they end with the newest row, because there is none in the day before the limit.
    """

    request: LagsWanted
    until_us: int
    anchor_us: int
    level: int
    is_moved: bool = False

    @property
    def since_us(self) -> int:
        """When the days begin that are looked at."""
        return begin_of(self.request, self.level, self.anchor_us)

    def limits(self) -> dict[str, int]:
        """Return between what times rows count, and when the shorter ones of :data:`DAYS` begin."""
        days = {f"days_{level}": begin_of(self.request, level, self.anchor_us) for level in range(len(DAYS) - 1)}
        return {"since_us": self.since_us, "until_us": self.until_us, **days}


class Window(NamedTuple):
    """What counts of an application, and the stores that there are in it."""

    query: LagQuery
    stores: Sequence[StoreCount] = ()

    @property
    def newest_us(self) -> int | None:
        """The newest time that is known."""
        return max((store.newest_us for store in self.stores if store.newest_us is not None), default=None)


def lag_windows(reading: LagReading, requests: Mapping[str, LagsWanted]) -> tuple[dict[str, Window], bool]:
    """Return what counts of every application, and whether there are rows without one."""
    queries = {}
    for app, lags in requests.items():
        until_us = LAST_US if lags.until_us is None else lags.until_us
        queries[app] = LagQuery(lags, until_us, until_us, reading.first_level)
    windows: dict[str, Window] = {}
    has_nameless = False
    while queries:
        stores_by_application = _count_stores(reading, queries)
        has_nameless |= None in stores_by_application
        silent: dict[str, Window] = {}
        next_queries: dict[str, LagQuery] = {}
        for app, query in queries.items():
            stores = stores_by_application.get(app, [])
            first = query.level == reading.first_level and not query.is_moved
            if first and not any(store.rows[0] for store in stores):
                silent[app] = Window(query, stores)
                continue
            level = next((level for level in range(query.level + 1) if enough(requests[app], stores, level)), None)
            if level is None:
                next_queries[app] = query._replace(level=query.level + 1)
            else:
                windows[app] = Window(query._replace(level=level), stores)
        for app, window in _with_moved_days(reading, silent).items():
            if window.query.is_moved:
                next_queries[app] = window.query
            else:
                windows[app] = window
        queries = next_queries
    return windows, has_nameless


def _with_moved_days(reading: LagReading, silent: Mapping[str, Window]) -> dict[str, Window]:
    """Let the days end with the newest row at or before the limit; those without any are as they are, to the end."""
    last = len(DAYS) - 1
    newest = {app: window.newest_us for app, window in silent.items() if window.newest_us is not None}
    unknown = {app: window.query for app, window in silent.items() if window.query.level < last}
    newest.update(times_of(reading, unknown, late=False))
    return {
        app: window._replace(
            query=window.query._replace(level=reading.first_level, anchor_us=newest[app], is_moved=True)
        )
        if app in newest
        else window._replace(query=window.query._replace(level=last))
        for app, window in silent.items()
    }


def times_of(reading: LagReading, queries: Mapping[str, LagQuery], *, late: bool) -> dict[str, int]:
    """Return the newest times at or before the limits, or the earliest ones after them, where there are any."""
    if not queries:
        return {}
    limits = [query.until_us for query in queries.values()]
    times = Times(since_us=min(limits)) if late else Times(until_us=max(limits))
    times_us: dict[str, int] = {}
    choose = min if late else max
    for frame in reading.files.rows(queries, times, with_file=False):
        rows = with_limits(
            frame.rows, reading.spark, {app: {"until_us": query.until_us} for app, query in queries.items()}
        )
        best = F.min("at") if late else F.max("at")
        rows = rows.where("at > until_us" if late else "at <= until_us")
        for row in rows.groupBy("application_id").agg(best.alias("at")).toArrow().to_pylist():
            app, at_us = row["application_id"], row["at"]
            if app in queries:
                times_us[app] = choose(at_us, times_us.get(app, at_us))
    return times_us


def with_limits(rows: DataFrame, spark: SparkSession, limits: Mapping[str, Mapping[str, int | None]]) -> DataFrame:
    """Add the limits of its application to every row; rows of other applications are left out."""
    different = list(limits.values())
    if len(limits) <= MOST_NAMES and all(limits_of_application == different[0] for limits_of_application in different):
        return rows.withColumns({name: F.expr(_long(value)) for name, value in different[0].items()})
    columns: dict[str, list[Any]] = {"application_id": list(limits), "wanted": [True] * len(limits)}
    for name in different[0]:
        columns[name] = [limits_of_application[name] for limits_of_application in different]
    table = spark.createDataFrame(pyarrow.table(columns))
    return rows.join(F.broadcast(table), "application_id", "left").where("wanted OR application_id IS NULL")


def _long(value: int | None) -> str:
    return f"CAST({'NULL' if value is None else value} AS BIGINT)"


def _count_stores(reading: LagReading, queries: Mapping[str, LagQuery]) -> dict[str | None, list[StoreCount]]:
    """Count the stores of applications; those of rows without one are under ``None``."""
    since_us = min(query.since_us for query in queries.values())
    times = Times(None if since_us == FIRST_US else since_us, max(query.until_us for query in queries.values()))
    counts_by_application: dict[str | None, dict[Any, StoreCount]] = defaultdict(dict)
    alike = len({(query.since_us, query.until_us) for query in queries.values()}) == 1
    shorter = [f"days_{level}" for level in range(reading.first_level)]
    for frame in reading.files.rows(queries, times, with_file=False):
        rows = with_limits(frame.rows, reading.spark, {app: query.limits() for app, query in queries.items()})
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
            query = queries.get(row["application_id"])
            level = reading.first_level if query is None else query.level
            days = range(len(DAYS))
            store = StoreCount(
                process_id=row["process_id"],
                process=_normal_process(row["process_id"]),
                task_id=row["task_id"],
                store=row["store"],
                oldest_us=row["oldest_us"],
                newest_us=row["newest_us"],
                unreadable=row["unreadable"],
                rows=[row["rows"] if number >= level else row.get(f"days_{number}", 0) for number in days],
            )
            counts_by_key = counts_by_application[row["application_id"]]
            key = (store.process_id, store.task_id, store.store)
            counts_by_key[key] = counts_by_key[key].plus(store) if key in counts_by_key else store
    return {app: list(stores.values()) for app, stores in counts_by_application.items()}


def _normal_process(process_id: str | None) -> str | None:
    return None if process_id is None else normal_process_id(process_id)
