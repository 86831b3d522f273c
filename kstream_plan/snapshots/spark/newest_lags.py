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
from kstream_plan.snapshots.spark.failures import plain_path
from kstream_plan.snapshots.spark.lag_rows import Frame, LagFiles, Times
from kstream_plan.snapshots.spark.lag_windows import LAST_US, WRITTEN, LagReading, Window, beside, lag_windows, times_of
from kstream_plan.snapshots.spark.texts import explained, file_name

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
_Written: TypeAlias = tuple[str | None, ...]

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
        reading = LagReading(spark, LagFiles(spark, inputs), rates_over_ms)
        windows, has_nameless = lag_windows(reading, wanted)
        found = _picked_rows(reading, windows)
        if has_nameless:
            found += _nameless_rows(reading)
        missing = {app: window.asked for app, window in windows.items() if not window.stores}
        earliest: dict[str, int | None] = dict.fromkeys(missing)
        earliest.update(times_of(reading, missing, late=True))
    return [text._replace(file=file_name(text.file, names)) for text in found], earliest


def _picked_rows(reading: LagReading, windows: Mapping[str, Window]) -> list[LagText]:
    """Return the newest row of every store, and its last intervals."""
    picked = {
        app: picks(asked.wanted, stores, asked.level, asked.anchor_us, reading.rates_over_ms)
        for app, (asked, stores) in windows.items()
    }
    since_us = {app: since_for_all(found) for app, found in picked.items() if found}
    if None in since_us.values():
        read = _rows_of_stores(reading, windows, picked)
    else:
        read = _rows_since(reading, windows, {app: us for app, us in since_us.items() if us is not None})
    if reading.rates_over_ms is None:
        read |= _rows_of_stores(reading, windows, _missed(windows, picked, read))
    by_store: dict[Any, list[tuple[Pick, Mapping[str, Any]]]] = defaultdict(list)
    for app, found in picked.items():
        for pick in found:
            store = (app, pick.store.process, pick.store.task_id, pick.store.store)
            by_store[store] += [(pick, row) for row in read.get(_written(app, pick), ())]
    return [_lag_text(rows, reading) for rows in by_store.values() if rows]


def _written(app: str, pick: Pick) -> _Written:
    return (app, pick.store.process_id, pick.store.task_id, pick.store.store)


def _rows_since(
    reading: LagReading, windows: Mapping[str, Window], since_us: Mapping[str, int]
) -> dict[_Written, list[Any]]:
    """Return what there is of all stores of applications, of each since a time."""
    if not since_us:
        return {}
    asked = {app: windows[app].asked for app in since_us}
    limits = {
        app: {"since_us": us, "until_us": asked[app].until_us, "newest_us": windows[app].newest_us}
        for app, us in since_us.items()
    }
    times = Times(min(since_us.values()), max(one.until_us for one in asked.values()))
    found: dict[_Written, list[Any]] = defaultdict(list)
    alike = len({(one["since_us"], one["until_us"]) for one in limits.values()}) == 1
    for frame in reading.files.rows(since_us, times, known=True):
        rows = beside(frame.rows, reading.spark, limits)
        if not alike:  # else all that was read is within these times
            rows = rows.where("at BETWEEN since_us AND until_us")
        _collect(rows, frame, reading.step_us, found)
    return found


def _rows_of_stores(
    reading: LagReading, windows: Mapping[str, Window], picked: Mapping[str, Iterable[Pick]]
) -> dict[_Written, list[Any]]:
    """Return what there is of stores, of each since its own time."""
    columns: dict[str, list[Any]] = {name: [] for name in (*_PICKED, "since_us", "until_us", "newest_us")}
    for app, found in picked.items():
        window = windows[app]
        for pick in found:
            values = (*_written(app, pick), pick.since_us, window.asked.until_us, window.newest_us)
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
    read: dict[_Written, list[Any]] = defaultdict(list)
    for frame in reading.files.rows(windows, times):
        rows = frame.rows.join(F.broadcast(table), same)
        rows = rows.where("at BETWEEN since_us AND until_us OR (since_us IS NULL AND at IS NULL)")
        _collect(rows, frame, reading.step_us, read)
    return read


def _collect(rows: DataFrame, frame: Frame, step_us: int | None, found: dict[_Written, list[Any]]) -> None:
    """Collect the newest row of every store and its last points; only with steps they hang on ``newest_us``."""
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
        F.expr("size(filter(points, point -> point.at <=> newest.at)) > 1").alias("twice"),
        F.expr(points).alias("points"),
    )
    for row in table.toArrow().to_pylist():
        found[tuple(row[name] for name in WRITTEN)].append(row)


def _missed(
    windows: Mapping[str, Window], picked: Mapping[str, Iterable[Pick]], read: Mapping[_Written, Sequence[Any]]
) -> dict[str, list[Pick]]:
    """Return the stores that have more points than were read of them, of the few that count, with all their rows."""
    missed = defaultdict(list)
    for app, found in picked.items():
        asked = windows[app].asked
        for pick in found:
            rows = read.get(_written(app, pick), ())
            all_read = sum(row["rows"] for row in rows) >= pick.store.rows[asked.level]
            if pick.since_us is None or all_read or any(len(row["points"]) >= ENOUGH_ROWS for row in rows):
                continue
            if len({_figures(point) for row in rows for point in row["points"]}) < ENOUGH_ROWS:
                missed[app].append(Pick(pick.store, asked.since_us))
    return missed


def _figures(point: _Point) -> tuple[int, int, int]:
    """Return what Spark sorts points by: what is not known comes before what is."""
    at, log_end, behind = (-1 if point[name] is None else point[name] for name in ("at", "log_end", "behind"))
    return at, log_end, behind


def _lag_text(picked: Sequence[tuple[Pick, Mapping[str, Any]]], reading: LagReading) -> LagText:
    """Put together what is said of a store, perhaps by several names of its process and in several forms of files."""
    rows = [row for _, row in picked]
    newest = max(rows, key=lambda row: (row["unreadable"], row["at"] is not None, row["at"] or 0, row["row"]))
    alike = [row for row in rows if (row["unreadable"], row["at"]) == (newest["unreadable"], newest["at"])]
    points = rows[0]["points"] if len(rows) == 1 else _together(rows, reading.step_us)
    since_us = max((pick.since_us for pick, _ in picked if pick.since_us is not None), default=None)
    if reading.rates_over_ms is not None and since_us is not None:
        points = [point for point in points if point["at"] >= since_us]
    return LagText(
        newest["file"],
        newest["application_id"],
        newest["row"],
        newest["twice"] or len(alike) > 1,
        picked[0][0].store.process,
        newest["task_id"],
        newest["store"],
        _intervals(points),
    )


def _together(rows: Sequence[Mapping[str, Any]], step_us: int | None) -> list[_Point]:
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
            elapsed_ms=(point["at"] - before["at"]) // 1000,
            lag_before=before["behind"],
            lag=point["behind"],
            end_before=before["log_end"],
            end=point["log_end"],
        )
        for point, before in pairwise(points)
        if before["at"] is not None and point["at"] > before["at"]
    )


def _nameless_rows(reading: LagReading) -> list[LagText]:
    """Return a row without an application of every file that has one."""
    found = []
    for frame in reading.files.rows((), Times()):
        nameless = frame.rows.where("application_id IS NULL").groupBy("file")
        newest = nameless.agg(F.max(F.struct("unreadable", "at", "row")).alias("newest"))
        texts = (
            newest.select("file", frame.as_text(F.col("newest.row")).cast("binary").alias("row")).toArrow().to_pylist()
        )
        found += [LagText(text["file"], None, text["row"]) for text in texts]
    return found
