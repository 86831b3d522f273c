"""Which lag rows count: the newest about every store at or before a time, and its last intervals until then.

The stores are counted first. By that the few rows that count are picked, collected once, as Arrow, and validated in
plain Python.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from kstream_plan.snapshots.files.sources import Input
from kstream_plan.snapshots.rows.lag_history import StoreInterval
from kstream_plan.snapshots.rows.lag_window import ENOUGH_ROWS, LagsWanted, Pick, picks, since_for_all
from kstream_plan.snapshots.spark.failures import explained, plain_path
from kstream_plan.snapshots.spark.lag_rows import Frame, LagFiles, Times
from kstream_plan.snapshots.spark.lag_windows import (
    LAST_US,
    WRITTEN,
    LagReading,
    Window,
    lag_windows,
    times_of,
    with_limits,
)
from kstream_plan.snapshots.spark.texts import file_name

#: A row's own figures, without Kafka's markers.
POINT = {
    "log_end": "IF(end_offset >= 0, end_offset, NULL)",
    "behind": "coalesce(IF(lag >= 0, lag, NULL), IF(end_offset >= 0 AND offset >= 0, end_offset - offset, NULL))",
}

#: The last points of a store, the newest first; with rates over a time the last of each step of it.
_LAST_POINTS = f"slice(array_distinct(points), 1, {ENOUGH_ROWS})"
_LAST_OF_STEPS = """filter(points, (point, i) ->
    i = 0 OR (newest_us - point.at) DIV {step_us} != (newest_us - points[i - 1].at) DIV {step_us})"""

_PICKED = tuple(f"picked_{name}" for name in WRITTEN)

#: What rows name: application, process, task and store.
_StoreKey: TypeAlias = tuple[str | None, ...]

#: The figures of a store at a time: at, log_end, behind.
_Point: TypeAlias = Mapping[str, Any]


class LagText(NamedTuple):
    """A lag row as collected: its file, application and JSON text, and the last intervals of its store.

    ``has_duplicate``: another row about the same store is of the same time.
    """

    file: str
    application_id: str | None
    text: bytes
    has_duplicate: bool = False
    process_id: str | None = None
    task_id: str | None = None
    store: str | None = None
    intervals: Sequence[StoreInterval] = ()


def newest_lags(
    spark: SparkSession, inputs: Sequence[Input], requests: Mapping[str, LagsWanted], rates_over_ms: int | None = None
) -> tuple[list[LagText], dict[str, int | None]]:
    """Return the newest row about every store of the applications, at or before each one's limit.

    A row whose time cannot be read comes before every other: it might be the newest. Of the rows without a readable
    application one per file is returned.

    Args:
        spark: the session.
        inputs: the files.
        requests: what is to be known, for every application.
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
        reading = LagReading(spark, LagFiles(spark, inputs), rates_over_ms)
        windows, has_nameless = lag_windows(reading, requests)
        texts = _picked_rows(reading, windows)
        if has_nameless:
            texts += _nameless_rows(reading)
        queries_without_rows = {app: window.query for app, window in windows.items() if not window.stores}
        earliest: dict[str, int | None] = dict.fromkeys(queries_without_rows)
        earliest.update(times_of(reading, queries_without_rows, late=True))
    return [text._replace(file=file_name(text.file, names)) for text in texts], earliest


def _picked_rows(reading: LagReading, windows: Mapping[str, Window]) -> list[LagText]:
    """Return the newest row of every store, and its last intervals."""
    picks_by_application = {
        app: picks(query.request, stores, query.level, query.anchor_us, reading.rates_over_ms)
        for app, (query, stores) in windows.items()
    }
    since_us = {
        app: since_for_all(picks_of_application)
        for app, picks_of_application in picks_by_application.items()
        if picks_of_application
    }
    if None in since_us.values():
        read = _rows_of_stores(reading, windows, picks_by_application)
    else:
        read = _rows_since(reading, windows, {app: us for app, us in since_us.items() if us is not None})
    if reading.rates_over_ms is None:
        read |= _rows_of_stores(reading, windows, _missed(windows, picks_by_application, read))
    by_store: dict[Any, list[tuple[Pick, Mapping[str, Any]]]] = defaultdict(list)
    for app, picks_of_application in picks_by_application.items():
        for pick in picks_of_application:
            store = (app, pick.store.process, pick.store.task_id, pick.store.store)
            by_store[store] += [(pick, row) for row in read.get(_store_key(app, pick), ())]
    return [_lag_text(rows, reading) for rows in by_store.values() if rows]


def _store_key(app: str, pick: Pick) -> _StoreKey:
    return (app, pick.store.process_id, pick.store.task_id, pick.store.store)


def _rows_since(
    reading: LagReading, windows: Mapping[str, Window], since_us: Mapping[str, int]
) -> dict[_StoreKey, list[Any]]:
    """Return what there is of all stores of applications, of each since a time."""
    if not since_us:
        return {}
    queries = {app: windows[app].query for app in since_us}
    limits = {
        app: {"since_us": us, "until_us": queries[app].until_us, "newest_us": windows[app].newest_us}
        for app, us in since_us.items()
    }
    times = Times(min(since_us.values()), max(query.until_us for query in queries.values()))
    rows_by_store: dict[_StoreKey, list[Any]] = defaultdict(list)
    alike = len({(limit["since_us"], limit["until_us"]) for limit in limits.values()}) == 1
    for frame in reading.files.rows(since_us, times, complete_only=True):
        rows = with_limits(frame.rows, reading.spark, limits)
        if not alike:  # else all that was read is within these times
            rows = rows.where("at BETWEEN since_us AND until_us")
        _collect(rows, frame, reading.step_us, rows_by_store)
    return rows_by_store


def _rows_of_stores(
    reading: LagReading, windows: Mapping[str, Window], picks_by_application: Mapping[str, Iterable[Pick]]
) -> dict[_StoreKey, list[Any]]:
    """Return what there is of stores, of each since its own time."""
    columns: dict[str, list[Any]] = {name: [] for name in (*_PICKED, "since_us", "until_us", "newest_us")}
    for app, picks_of_application in picks_by_application.items():
        window = windows[app]
        for pick in picks_of_application:
            values = (*_store_key(app, pick), pick.since_us, window.query.until_us, window.newest_us)
            for name, value in zip(columns, values, strict=True):
                columns[name].append(value)
    if not columns["since_us"]:
        return {}
    types = [pyarrow.string()] * len(_PICKED) + [pyarrow.int64()] * 3
    table = reading.spark.createDataFrame(
        pyarrow.table(columns, schema=pyarrow.schema(list(zip(columns, types, strict=True))))
    )
    times = Times(min((us for us in columns["since_us"] if us is not None), default=LAST_US), max(columns["until_us"]))
    same = [F.col(name).eqNullSafe(F.col(f"picked_{name}")) for name in WRITTEN]
    read: dict[_StoreKey, list[Any]] = defaultdict(list)
    for frame in reading.files.rows(windows, times):
        rows = frame.rows.join(F.broadcast(table), same)
        rows = rows.where("at BETWEEN since_us AND until_us OR (since_us IS NULL AND at IS NULL)")
        _collect(rows, frame, reading.step_us, read)
    return read


def _collect(rows: DataFrame, frame: Frame, step_us: int | None, rows_by_store: dict[_StoreKey, list[Any]]) -> None:
    """Collect the newest row of every store and its last points; with steps they depend on ``newest_us``."""
    keys = WRITTEN if step_us is None else (*WRITTEN, "newest_us")
    points = _LAST_POINTS if step_us is None else _LAST_OF_STEPS.format(step_us=step_us)
    point = F.struct("at", *(F.expr(sql).alias(name) for name, sql in POINT.items()))
    last = rows.groupBy(*keys).agg(
        F.max(F.struct("unreadable", "at", "row", "file")).alias("newest"),
        F.sort_array(F.collect_list(point), asc=False).alias("points"),
    )
    table = last.select(
        *keys,
        "newest.file",
        "newest.unreadable",
        "newest.at",
        frame.as_text(F.col("newest.row")).cast("binary").alias("row"),
        F.size("points").alias("rows"),
        F.expr("size(filter(points, point -> point.at <=> newest.at)) > 1").alias("has_duplicate"),
        F.expr(points).alias("points"),
    )
    for row in table.toArrow().to_pylist():
        rows_by_store[tuple(row[name] for name in WRITTEN)].append(row)


def _missed(
    windows: Mapping[str, Window],
    picks_by_application: Mapping[str, Iterable[Pick]],
    read: Mapping[_StoreKey, Sequence[Any]],
) -> dict[str, list[Pick]]:
    """Return the stores that have more points than were read of them, of the few that count, with all their rows."""
    missed = defaultdict(list)
    for app, picks_of_application in picks_by_application.items():
        query = windows[app].query
        for pick in picks_of_application:
            rows = read.get(_store_key(app, pick), ())
            all_read = sum(row["rows"] for row in rows) >= pick.store.rows[query.level]
            if pick.since_us is None or all_read or any(len(row["points"]) >= ENOUGH_ROWS for row in rows):
                continue
            if len({_figures(point) for row in rows for point in row["points"]}) < ENOUGH_ROWS:
                missed[app].append(Pick(pick.store, query.since_us))
    return missed


def _figures(point: _Point) -> tuple[int, int, int]:
    """Return the figures that Spark sorts points by: unknown ones come first."""
    at_us, log_end, lag = (-1 if point[name] is None else point[name] for name in ("at", "log_end", "behind"))
    return at_us, log_end, lag


def _lag_text(picks_and_rows: Sequence[tuple[Pick, Mapping[str, Any]]], reading: LagReading) -> LagText:
    """Put together what is said of a store, perhaps by several names of its process and in several forms of files."""
    rows = [row for _, row in picks_and_rows]
    newest = max(rows, key=lambda row: (row["unreadable"], row["at"] is not None, row["at"] or 0, row["row"]))
    alike = [row for row in rows if (row["unreadable"], row["at"]) == (newest["unreadable"], newest["at"])]
    points = rows[0]["points"] if len(rows) == 1 else _merge_points(rows, reading.step_us)
    since_us = max((pick.since_us for pick, _ in picks_and_rows if pick.since_us is not None), default=None)
    if reading.rates_over_ms is not None and since_us is not None:
        points = [point for point in points if point["at"] >= since_us]
    return LagText(
        newest["file"],
        newest["application_id"],
        newest["row"],
        newest["has_duplicate"] or len(alike) > 1,
        picks_and_rows[0][0].store.process,
        newest["task_id"],
        newest["store"],
        _intervals(points),
    )


def _merge_points(rows: Sequence[Mapping[str, Any]], step_us: int | None) -> list[_Point]:
    """Return the last points of all rows, as they are taken of one."""
    different = {_figures(point): point for row in rows for point in row["points"] if point["at"] is not None}
    points = [different[figures] for figures in sorted(different, reverse=True)]
    if step_us is None:
        return points[:ENOUGH_ROWS]
    steps = [(rows[0]["newest_us"] - point["at"]) // step_us for point in points]
    return [point for place, point in enumerate(points) if not place or steps[place] != steps[place - 1]]


def _intervals(points: Sequence[_Point]) -> tuple[StoreInterval, ...]:
    """Return what lies between points, which come the newest first."""
    return tuple(
        StoreInterval(
            at_ms=point["at"] // 1000,
            elapsed_ms=(point["at"] - previous["at"]) // 1000,
            lag_before=previous["behind"],
            lag=point["behind"],
            end_before=previous["log_end"],
            end=point["log_end"],
        )
        for point, previous in pairwise(points)
        if previous["at"] is not None and point["at"] > previous["at"]
    )


def _nameless_rows(reading: LagReading) -> list[LagText]:
    """Return a row without an application of every file that has one."""
    nameless_texts = []
    for frame in reading.files.rows((), Times()):
        nameless = frame.rows.where("application_id IS NULL").groupBy("file")
        newest = nameless.agg(F.max(F.struct("unreadable", "at", "row")).alias("newest"))
        texts = (
            newest.select("file", frame.as_text(F.col("newest.row")).cast("binary").alias("row")).toArrow().to_pylist()
        )
        nameless_texts += [LagText(text["file"], None, text["row"]) for text in texts]
    return nameless_texts
