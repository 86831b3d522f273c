"""Which lag rows count: the newest about every store at or before a time, and its last intervals until then.

The stores are counted first: when each was last heard of, and how often lately. That is one narrow pass with sums that
need no sort, over the last day only where files or folders say what times they hold. By it the few rows that count are
picked, collected once, as Arrow, and validated in plain Python.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from kstream_plan.snapshots.files.sources import Form, Input
from kstream_plan.snapshots.rows.lag_history import StoreInterval
from kstream_plan.snapshots.rows.lag_window import DAYS, LATELY_US, LagsWanted, StoreCount, enough, picks
from kstream_plan.snapshots.rows.measured_rates import INTERVALS_OVER, RECENT_INTERVALS
from kstream_plan.snapshots.spark.failures import plain_path
from kstream_plan.snapshots.spark.lag_rows import MOST_NAMES, Frame, Times, lag_rows
from kstream_plan.snapshots.spark.texts import explained, file_name

_UUID = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
#: Process ids are compared by value.
PROCESS = f"CASE WHEN process_id RLIKE '{_UUID}' THEN lower(process_id) ELSE process_id END"

#: What a row is about, as it is written, and as it is compared.
_WRITTEN = ("application_id", "process_id", "task_id", "store")
_COMPARED = ("application_id", "process", "task_id", "store")

#: A row's own figures, without Kafka's markers.
POINT = {
    "log_end": "IF(end_offset >= 0, end_offset, NULL)",
    "behind": "coalesce(IF(lag >= 0, lag, NULL), IF(end_offset >= 0 AND offset >= 0, end_offset - offset, NULL))",
}

#: The last points of a store, the newest first; with rates over a time the last of each step of it.
_LAST_POINTS = f"slice(array_distinct(points), 1, {RECENT_INTERVALS + 1})"
_LAST_OF_STEPS = """filter(points, (point, i) ->
    i = 0 OR (newest_us - point.at) DIV {step_us} != (newest_us - points[i - 1].at) DIV {step_us})"""

_PICKED = tuple(f"picked_{name}" for name in _WRITTEN)

_FIRST_US, _LAST_US = -(2**63), 2**63 - 1

#: The figures of a store at a time: at, log_end, behind.
_Point: TypeAlias = Mapping[str, Any]


class LagText(NamedTuple):
    """A lag row as collected: its file, application and JSON text, and the last intervals of its store.

    ``twice``: another row about the same store is of the same time.
    """

    file: str
    application_id: str | None
    text: bytes
    twice: bool = False
    process_id: str | None = None
    task_id: str | None = None
    store: str | None = None
    intervals: Sequence[StoreInterval] = ()


def newest_lags(
    spark: SparkSession, inputs: Sequence[Input], wanted: Mapping[str, LagsWanted], rates_over_ms: int | None = None
) -> tuple[list[LagText], dict[str, int | None]]:
    """Return the newest row about every store of the applications, at or before each one's limit.

    A row whose time cannot be read comes before every other: it might be the newest. Of the rows without a readable
    application one per file is returned.

    Args:
        spark: the session.
        inputs: the files.
        wanted: what is to be known, for every application.
        rates_over_ms: what the intervals go over, up to the newest row of an application; ``None``: the last few.

    Returns:
        The rows, and for those applications that have none the earliest time of a row beyond the limit, ``None`` if
        there is no row at all.

    Raises:
        SnapshotError: a file cannot be read.
        SparkError: Spark gave up.
    """
    names = {plain_path(file.path): file.name for file in inputs}
    with explained(names):
        reading = _Reading(spark, inputs, rates_over_ms)
        windows, has_nameless = _windows(reading, wanted)
        found = _picked_rows(reading, wanted, windows)
        if has_nameless:
            found += _nameless_rows(reading)
        missing = {app: window.asked for app, window in windows.items() if not window.stores}
        earliest: dict[str, int | None] = dict.fromkeys(missing)
        earliest.update(_times(reading, missing, late=True))
    return [text._replace(file=file_name(text.file, names)) for text in found], earliest


class _Reading(NamedTuple):
    spark: SparkSession
    inputs: Sequence[Input]
    rates_over_ms: int | None

    @property
    def first_level(self) -> int:
        """What to look at first: who has to take every row apart to see its time looks at all of them at once."""
        return 0 if any(file.form is Form.PARQUET for file in self.inputs) else len(DAYS) - 1

    @property
    def step_us(self) -> int | None:
        """How far apart the points are that rates are of, at least; ``None``: the last few count."""
        return None if self.rates_over_ms is None else max(self.rates_over_ms * 1000 // INTERVALS_OVER, 1)


class _Asked(NamedTuple):
    """Up to when the rows of an application count, when its days end, how long they are, how many are looked at.

    ``moved``: they end with the newest row, because there is none in the day before the limit.
    """

    until_us: int
    anchor_us: int
    day_us: int
    level: int
    moved: bool = False

    def since_us(self, level: int) -> int:
        """Return when the days of a level begin."""
        days = DAYS[level]
        return _FIRST_US if days is None else max(self.anchor_us - days * self.day_us, _FIRST_US)

    def limits(self) -> dict[str, int]:
        """Return all times that rows are compared with, by name."""
        days = {f"days_{level}": self.since_us(level) for level in range(len(DAYS))}
        lately = {f"lately_{number}": max(self.anchor_us - us, _FIRST_US) for number, us in enumerate(LATELY_US)}
        return {"since_us": self.since_us(self.level), "until_us": self.until_us, **days, **lately}


class _Window(NamedTuple):
    """What counts of an application, and the stores that there are in it."""

    asked: _Asked
    stores: Sequence[StoreCount] = ()


def _windows(reading: _Reading, wanted: Mapping[str, LagsWanted]) -> tuple[dict[str, _Window], bool]:
    """Return what counts of every application, and whether there are rows without one."""
    asked = {}
    for app, lags in wanted.items():
        until_us = _LAST_US if lags.until_us is None else lags.until_us
        asked[app] = _Asked(until_us, until_us, lags.day_us, reading.first_level)
    windows: dict[str, _Window] = {}
    has_nameless = False
    while asked:
        counted = _counted(reading, asked)
        has_nameless |= None in counted
        silent: dict[str, _Window] = {}
        again: dict[str, _Asked] = {}
        for app, one in asked.items():
            stores = counted.get(app, [])
            if not one.moved and not any(store.rows[0] for store in stores):
                silent[app] = _Window(one, stores)
                continue
            level = next((level for level in range(one.level + 1) if enough(wanted[app], stores, level)), None)
            if level is None:
                again[app] = one._replace(level=one.level + 1)
            else:
                windows[app] = _Window(one._replace(level=level), stores)
        for app, window in _moved(reading, silent).items():
            if window.asked.moved:
                again[app] = window.asked
            else:
                windows[app] = window
        asked = again
    return windows, has_nameless


def _moved(reading: _Reading, silent: Mapping[str, _Window]) -> dict[str, _Window]:
    """Let the days end with the newest row at or before the limit; those without any are as they are, to the end."""
    last = len(DAYS) - 1
    newest = {
        app: max(times)
        for app, window in silent.items()
        if (times := [store.newest_us for store in window.stores if store.newest_us is not None])
    }
    unknown = {app: window.asked for app, window in silent.items() if window.asked.level < last}
    newest.update(_times(reading, unknown, late=False))
    return {
        app: window._replace(asked=window.asked._replace(level=reading.first_level, anchor_us=newest[app], moved=True))
        if app in newest
        else window._replace(asked=window.asked._replace(level=last))
        for app, window in silent.items()
    }


def _times(reading: _Reading, asked: Mapping[str, _Asked], *, late: bool) -> dict[str, int]:
    """Return the newest times at or before the limits, or the earliest ones after them, where there are any."""
    if not asked:
        return {}
    limits = [one.until_us for one in asked.values()]
    times = Times(since_us=min(limits)) if late else Times(until_us=max(limits))
    found: dict[str, int] = {}
    choose = min if late else max
    for frame in lag_rows(reading.spark, reading.inputs, asked, times):
        rows = _beside(frame.rows, reading.spark, asked).where("at > until_us" if late else "at <= until_us")
        best = F.min("at") if late else F.max("at")
        for row in rows.groupBy("application_id").agg(best.alias("at")).toArrow().to_pylist():
            app, at = row["application_id"], row["at"]
            if app in asked:
                found[app] = choose(at, found.get(app, at))
    return found


def _beside(rows: DataFrame, spark: SparkSession, asked: Mapping[str, _Asked]) -> DataFrame:
    """Put the limits of its application beside every row; rows of other applications are left out."""
    different = set(asked.values())
    if len(different) == 1 and len(asked) <= MOST_NAMES:
        limits = different.pop().limits()
        return rows.withColumns({name: F.lit(value).cast("bigint") for name, value in limits.items()})
    columns: dict[str, list[Any]] = defaultdict(list)
    for app, one in asked.items():
        columns["application_id"].append(app)
        columns["wanted"].append(True)
        for name, value in one.limits().items():
            columns[name].append(value)
    table = spark.createDataFrame(pyarrow.table(dict(columns)))
    return rows.join(F.broadcast(table), "application_id", "left").where("wanted OR application_id IS NULL")


def _counted(reading: _Reading, asked: Mapping[str, _Asked]) -> dict[str | None, list[StoreCount]]:
    """Count the stores of applications; those of rows without one are under ``None``."""
    since_us = min(one.since_us(one.level) for one in asked.values())
    times = Times(None if since_us == _FIRST_US else since_us, max(one.until_us for one in asked.values()))
    numbers = {f"days_{level}": F.expr(f"count_if(at >= days_{level})") for level in range(len(DAYS))}
    numbers |= {f"lately_{n}": F.expr(f"count_if(at >= lately_{n})") for n in range(len(LATELY_US))}
    found: dict[str | None, dict[Any, StoreCount]] = defaultdict(dict)
    for frame in lag_rows(reading.spark, reading.inputs, asked, times):
        rows = _beside(frame.rows, reading.spark, asked)
        rows = rows.where("application_id IS NULL OR at IS NULL OR at BETWEEN since_us AND until_us")
        counts = rows.groupBy(*_WRITTEN).agg(
            F.max("at").alias("newest_us"),
            F.expr("count_if(unreadable)").alias("unreadable"),
            *(number.alias(name) for name, number in numbers.items()),
        )
        for row in counts.withColumn("process", F.expr(PROCESS)).toArrow().to_pylist():
            store = StoreCount(
                **{
                    name: row[name] for name in ("process_id", "process", "task_id", "store", "newest_us", "unreadable")
                },
                rows=[row[f"days_{level}"] for level in range(len(DAYS))],
                lately=[row[f"lately_{n}"] for n in range(len(LATELY_US))],
            )
            of, key = found[row["application_id"]], (store.process_id, store.task_id, store.store)
            of[key] = of[key].plus(store) if key in of else store
    return {app: list(stores.values()) for app, stores in found.items()}


def _picked_rows(reading: _Reading, wanted: Mapping[str, LagsWanted], windows: Mapping[str, _Window]) -> list[LagText]:
    """Return the newest row of every store, and its last intervals."""
    columns: dict[str, list[Any]] = {name: [] for name in (*_PICKED, "process", "since_us", "until_us", "newest_us")}
    for app, (asked, stores) in windows.items():
        found = picks(wanted[app], stores, asked.level, asked.anchor_us, reading.rates_over_ms)
        newest_us = max((pick.store.newest_us for pick in found if pick.store.newest_us is not None), default=None)
        for store, since_us in found:
            written = (app, store.process_id, store.task_id, store.store)
            for name, value in zip(
                columns, (*written, store.process, since_us, asked.until_us, newest_us), strict=True
            ):
                columns[name].append(value)
    if not columns["picked_application_id"]:
        return []
    times = Times(min((us for us in columns["since_us"] if us is not None), default=_LAST_US), max(columns["until_us"]))
    types = [pyarrow.string()] * (len(_PICKED) + 1) + [pyarrow.int64()] * 3
    table = reading.spark.createDataFrame(
        pyarrow.table(columns, schema=pyarrow.schema(list(zip(columns, types, strict=True))))
    )
    by_store: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for frame in lag_rows(reading.spark, reading.inputs, windows, times):
        for row in _last_rows(frame, table, reading.step_us).toArrow().to_pylist():
            by_store[tuple(row[name] for name in _COMPARED)].append(row)
    return [_lag_text(rows, reading.step_us) for rows in by_store.values()]


def _last_rows(frame: Frame, picked: DataFrame, step_us: int | None) -> DataFrame:
    same = [F.col(name).eqNullSafe(F.col(f"picked_{name}")) for name in _WRITTEN]
    in_time = "at BETWEEN since_us AND until_us OR (since_us IS NULL AND at IS NULL)"
    rows = (
        frame.rows.join(F.broadcast(picked), same)
        .where(in_time)
        .withColumn("point", F.struct("at", *(F.expr(sql).alias(name) for name, sql in POINT.items())))
    )
    last = rows.groupBy(*_COMPARED, "newest_us").agg(
        F.max(F.struct("unreadable", "at", "row", "file")).alias("newest"),
        F.sort_array(F.collect_list("point"), asc=False).alias("points"),
    )
    points = _LAST_POINTS if step_us is None else _LAST_OF_STEPS.format(step_us=step_us)
    return last.select(
        *_COMPARED,
        "newest_us",
        "newest.file",
        "newest.unreadable",
        "newest.at",
        "newest.row",
        F.expr("size(filter(points, point -> point.at <=> newest.at)) > 1").alias("twice"),
        F.expr(points).alias("points"),
    ).withColumn("row", frame.as_text.cast("binary"))


def _lag_text(rows: Sequence[Mapping[str, Any]], step_us: int | None) -> LagText:
    """Put together what is said of a store; more than one row is of files of more than one form."""
    newest = max(rows, key=lambda row: (row["unreadable"], row["at"] is not None, row["at"] or 0, row["row"]))
    alike = [row for row in rows if (row["unreadable"], row["at"]) == (newest["unreadable"], newest["at"])]
    points = rows[0]["points"] if len(rows) == 1 else _together(rows, step_us)
    return LagText(
        newest["file"],
        newest["application_id"],
        newest["row"],
        newest["twice"] or len(alike) > 1,
        newest["process"],
        newest["task_id"],
        newest["store"],
        _intervals(points),
    )


def _together(rows: Sequence[Mapping[str, Any]], step_us: int | None) -> list[_Point]:
    """Return the last points of all rows, as they are taken of one."""
    points = [point for row in rows for point in row["points"] if point["at"] is not None]
    points.sort(key=lambda point: (point["at"], str(point)), reverse=True)
    if step_us is None:
        return points[: RECENT_INTERVALS + 1]
    steps = [(rows[0]["newest_us"] - point["at"]) // step_us for point in points]
    return [point for place, point in enumerate(points) if not place or steps[place] != steps[place - 1]]


def _intervals(points: Sequence[_Point]) -> tuple[StoreInterval, ...]:
    """Return what lies between points, which come the newest first."""
    return tuple(
        StoreInterval(
            at_ms=point["at"] // 1000,
            elapsed_ms=(point["at"] - before["at"]) // 1000,
            behind_before=before["behind"],
            behind=point["behind"],
            end_before=before["log_end"],
            end=point["log_end"],
        )
        for point, before in pairwise(points)
        if before["at"] is not None and point["at"] > before["at"]
    )


def _nameless_rows(reading: _Reading) -> list[LagText]:
    """Return a row without an application of every file that has one."""
    found = []
    for frame in lag_rows(reading.spark, reading.inputs, (), Times()):
        nameless = frame.rows.where("application_id IS NULL").groupBy("file")
        newest = nameless.agg(F.max(F.struct("unreadable", "at", "row")).alias("newest")).select("file", "newest.row")
        texts = newest.withColumn("row", frame.as_text.cast("binary")).toArrow().to_pylist()
        found += [LagText(text["file"], None, text["row"]) for text in texts]
    return found
