"""Lag rows as Spark has them: only the columns that decide, only of the times and applications that are wanted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from kstream_plan.snapshots.files.day_folders import of_days
from kstream_plan.snapshots.files.sources import Input
from kstream_plan.snapshots.rows.schema import LAG_KEYS, LAGS
from kstream_plan.snapshots.spark.parquet_schemas import ParquetSchemas
from kstream_plan.snapshots.spark.texts import (
    either,
    json_texts,
    key_columns,
    parquet_columns,
    parsed,
    whole_row,
)

#: So many applications are asked for by name, which row groups are left out by; more are picked from all.
MOST_NAMES = 200

#: Where in a file's order of texts the times of a day are, whatever their zone; what is no time is kept.
_BETWEEN_DAYS = "captured_at IS NULL OR captured_at < '0' OR captured_at >= ':' OR captured_at BETWEEN '{}' AND '{}'"


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
        self, applications: Collection[str] | None, times: Times, *, with_file: bool = True, known: bool = False
    ) -> list[Frame]:
        """Return the rows that may be of these applications (of all) and times; those without either, too.

        Files in folders of other days are not opened, row groups of other times and applications not read. ``known``:
        only rows that have an application and a time, which takes fewer questions a row.
        """
        within = of_days(self.inputs, *times)
        frames = [
            Frame(
                _only(parsed(texts, LAG_KEYS).withColumn("row", F.col("text")), applications, times, known=known),
                lambda row: row,
            )
            for texts in json_texts(self._spark, within)
        ]
        file = ("file",) if with_file else ()
        for columns in parquet_columns(self._schemas, within, LAGS, with_file=with_file):
            picked = _times_of_columns(columns, times, known=known)
            rows = picked.select(
                *file, "at", "unreadable", *key_columns(picked, LAGS, LAG_KEYS), whole_row(picked, LAGS).alias("row")
            )
            rest = Times() if _are_times(columns) else times
            frames.append(Frame(_only(rows, applications, rest, known=known), F.to_json))
        return frames


def _only(rows: DataFrame, applications: Collection[str] | None, times: Times, *, known: bool) -> DataFrame:
    if known:
        rows = rows.where("at IS NOT NULL AND application_id IS NOT NULL")
    if applications is not None and len(applications) <= MOST_NAMES:
        app = F.col("application_id")
        one = app.isin(sorted(applications))
        rows = rows.where(one if known else either(app.isNull(), one))
    or_unknown = "" if known else " OR at IS NULL"
    if times.since_us is not None:
        rows = rows.where(f"at >= {times.since_us}{or_unknown}")
    if times.until_us is not None:
        rows = rows.where(f"at <= {times.until_us}{or_unknown}")
    return rows


def _times_of_columns(columns: DataFrame, times: Times, *, known: bool) -> DataFrame:
    """Say the times as the column has them, which Spark compares with what the row groups of a file say they hold."""
    if "captured_at" not in columns.columns or times == Times():
        return columns
    kind = columns.schema["captured_at"].dataType.typeName()
    since, until = _moment(times.since_us, datetime.min), _moment(times.until_us, datetime.max)
    if kind == "string":
        day = timedelta(days=1)
        first = since - day if since - datetime.min > day else since
        last = until + day if datetime.max - until > day else until
        return columns.where(_BETWEEN_DAYS.format(f"{first:%Y-%m-%d}".zfill(10), f"{last:%Y-%m-%d}".zfill(10) + "~"))
    if not _are_times(columns):
        return columns
    literal = "TIMESTAMP_NTZ'{}'" if kind == "timestamp_ntz" else "TIMESTAMP'{}Z'"
    lowest, highest = (literal.format(moment.isoformat(" ")) for moment in (since, until))
    or_unknown = "" if known else " OR captured_at IS NULL"
    return columns.where(f"captured_at BETWEEN {lowest} AND {highest}{or_unknown}")


def _are_times(columns: DataFrame) -> bool:
    """Tell whether the times are such, of which what is picked by the column is just what is wanted."""
    types = {field.name: field.dataType.typeName() for field in columns.schema}
    return types.get("captured_at") in ("timestamp", "timestamp_ntz")


def _moment(at_us: int | None, otherwise: datetime) -> datetime:
    """Return a time as Spark spells it, or the nearest one that there is."""
    if at_us is None:
        return otherwise
    try:
        return datetime(1970, 1, 1) + timedelta(microseconds=at_us)
    except OverflowError:
        return datetime.min if at_us < 0 else datetime.max
