"""Lag rows as Spark has them: only the columns that decide, only of the times and applications that are wanted.

Of a data set in folders by day (``date=2026-11-21``, ``year=2026/month=11``) only files that may hold such times are
read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from kstream_plan.snapshots.files.sources import Input
from kstream_plan.snapshots.rows.schema import LAG_KEYS, LAGS
from kstream_plan.snapshots.spark.parquet_schemas import ParquetSchemas
from kstream_plan.snapshots.spark.texts import (
    either,
    json_texts,
    key_columns,
    parquet_columns,
    parse_keys,
    whole_row,
)

#: So many applications are asked for by name, which row groups are left out by; more are picked from all.
MOST_NAMES = 200

#: Where in a file's order of texts the times of a day are, whatever their zone; what is no time is kept.
_BETWEEN_DAYS = "captured_at IS NULL OR captured_at < '0' OR captured_at >= ':' OR captured_at BETWEEN '{}' AND '{}'"

_FOLDER = re.compile(r"(?:^|/)(date|day|dt|ds|year|month)=([^/]*)(?=/)", re.IGNORECASE)
_WHOLE_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)", re.ASCII)

#: How much earlier and later than in UTC days begin elsewhere, at most.
_EARLIEST_ZONE, _LATEST_ZONE = timedelta(hours=-14), timedelta(hours=12)


class Frame(NamedTuple):
    """Rows of the same form: ``file``, ``at``, ``unreadable``, the columns of a lag row that are flat, and ``row``.

    ``file`` may be left out. ``row`` is the whole row, which ``as_text`` makes JSON of.
    """

    rows: DataFrame
    as_text: Callable[[Column], Column]


class Times(NamedTuple):
    """First and last microsecond since 1970 that count; ``None``: no limit."""

    since_us: int | None = None
    until_us: int | None = None


class LagFiles:
    """Files of lag rows, which may be read several times; what columns those of Parquet have is asked once."""

    def __init__(self, spark: SparkSession, inputs: Sequence[Input]) -> None:
        """Read ``inputs``."""
        self.inputs = inputs
        self._spark = spark
        self._schemas = ParquetSchemas(spark)

    def rows(
        self, applications: Collection[str] | None, times: Times, *, with_file: bool = True, complete_only: bool = False
    ) -> list[Frame]:
        """Return the rows that may be of these applications (of all) and times; those without either, too.

        Files in folders of other days are not opened, row groups of other times and applications not read.
        ``complete_only``: only rows that have an application and a time, which takes fewer questions a row.
        """
        inputs = of_days(self.inputs, *times)
        frames = [
            Frame(
                _only(
                    parse_keys(texts, LAG_KEYS).withColumn("row", F.col("text")),
                    applications,
                    times,
                    complete_only=complete_only,
                ),
                lambda row: row,
            )
            for texts in json_texts(self._spark, inputs)
        ]
        file = ("file",) if with_file else ()
        for columns in parquet_columns(self._schemas, inputs, LAGS, with_file=with_file):
            filtered_columns = _times_of_columns(columns, times, complete_only=complete_only)
            rows = filtered_columns.select(
                *file,
                "at",
                "unreadable",
                *key_columns(filtered_columns, LAGS, LAG_KEYS),
                whole_row(filtered_columns, LAGS).alias("row"),
            )
            rest = Times() if _are_times(columns) else times
            frames.append(Frame(_only(rows, applications, rest, complete_only=complete_only), F.to_json))
        return frames


def _only(rows: DataFrame, applications: Collection[str] | None, times: Times, *, complete_only: bool) -> DataFrame:
    if complete_only:
        rows = rows.where("at IS NOT NULL AND application_id IS NOT NULL")
    if applications is not None and len(applications) <= MOST_NAMES:
        app = F.col("application_id")
        is_selected = app.isin(sorted(applications))
        rows = rows.where(is_selected if complete_only else either(app.isNull(), is_selected))
    or_unknown = "" if complete_only else " OR at IS NULL"
    if times.since_us is not None:
        rows = rows.where(f"at >= {times.since_us}{or_unknown}")
    if times.until_us is not None:
        rows = rows.where(f"at <= {times.until_us}{or_unknown}")
    return rows


def _times_of_columns(columns: DataFrame, times: Times, *, complete_only: bool) -> DataFrame:
    """Filter by the times in the column's own type, which Spark compares with the statistics of row groups."""
    if "captured_at" not in columns.columns or times == Times():
        return columns
    kind = columns.schema["captured_at"].dataType.typeName()
    earliest, latest = _moment(times.since_us, datetime.min), _moment(times.until_us, datetime.max)
    if kind == "string":
        day = timedelta(days=1)
        first = earliest - day if earliest - datetime.min > day else earliest
        last = latest + day if datetime.max - latest > day else latest
        return columns.where(_BETWEEN_DAYS.format(f"{first:%Y-%m-%d}".zfill(10), f"{last:%Y-%m-%d}".zfill(10) + "~"))
    if not _are_times(columns):
        return columns
    literal = "TIMESTAMP_NTZ'{}'" if kind == "timestamp_ntz" else "TIMESTAMP'{}Z'"
    lowest, highest = (literal.format(moment.isoformat(" ")) for moment in (earliest, latest))
    or_unknown = "" if complete_only else " OR captured_at IS NULL"
    return columns.where(f"captured_at BETWEEN {lowest} AND {highest}{or_unknown}")


def _are_times(columns: DataFrame) -> bool:
    """Return True if ``captured_at`` is a timestamp column, so that its filter is exact."""
    types = {field.name: field.dataType.typeName() for field in columns.schema}
    return types.get("captured_at") in ("timestamp", "timestamp_ntz")


def _moment(at_us: int | None, default: datetime) -> datetime:
    """Return a time as Spark spells it, or the nearest one that there is."""
    if at_us is None:
        return default
    try:
        return datetime(1970, 1, 1) + timedelta(microseconds=at_us)
    except OverflowError:
        return datetime.min if at_us < 0 else datetime.max


class Days(NamedTuple):
    """The days, first and last, that a folder's name stands for."""

    first: date
    last: date


def days_of(path: str) -> Days | None:
    """Return the days that the folders of a file name, ``None`` if they name none."""
    values = {name.lower(): unquote(value) for name, value in _FOLDER.findall(path)}
    try:
        for name in ("date", "dt", "ds", "day"):
            match = _WHOLE_DATE.fullmatch(values.get(name, ""))
            if match is not None:
                day = date(*map(int, match.groups()))
                return Days(day, day)
        if "year" not in values:
            return None
        year, month = int(values["year"]), int(values.get("month", 0))
        if not month:
            return Days(date(year, 1, 1), date(year, 12, 31))
        if "day" in values:
            day = date(year, month, int(values["day"]))
            return Days(day, day)
        return Days(date(year, month, 1), date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1))
    except (ValueError, OverflowError):
        return None


def of_days(inputs: Sequence[Input], since_us: int | None, until_us: int | None) -> list[Input]:
    """Return the files that may hold rows of a time, for any time zone of their folders' names.

    Args:
        inputs: the files.
        since_us: the first microsecond since 1970 that counts, ``None`` for no limit.
        until_us: the last one.
    """
    first, last = _day(since_us, _LATEST_ZONE), _day(until_us, _EARLIEST_ZONE)
    matching_files = []
    for file in inputs:
        days = days_of(file.path)
        if days is None or not ((first is not None and days.last < first) or (last is not None and days.first > last)):
            matching_files.append(file)
    return matching_files


def _day(at_us: int | None, zone: timedelta) -> date | None:
    """Return the date of a time in a zone; ``None`` without a time, or for one beyond the calendar."""
    if at_us is None:
        return None
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us) - zone).date()
    except OverflowError:
        return None
