"""Which rows count: the newest of every application, or about every store, at or before a time.

They are collected once, as Arrow, and validated in plain Python, which names the field and the value that are wrong and
never takes ``1.0`` or ``"7"`` for a whole number, where Spark would give ``null`` or convert. One narrow pass and one
shuffle per table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import pyarrow
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from kstream_plan.snapshots.schema import LAG_KEYS, LAGS, SNAPSHOT, SNAPSHOT_KEYS
from kstream_plan.snapshots.selection import Selection
from kstream_plan.snapshots.sources import Input
from kstream_plan.snapshots.spark.failures import plain_path, spark_failure
from kstream_plan.snapshots.spark.texts import read_rows

#: A time that names no zone is in UTC, whatever the session's zone.
_ZONED_TIME = (
    "CASE WHEN captured_at RLIKE '(?i)(Z|[+-][0-9]{2}:[0-9]{2})$' THEN upper(captured_at) "
    "ELSE concat(captured_at, 'Z') END"
)
_UUID = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"


class SnapshotText(NamedTuple):
    """A snapshot row as collected: its file, its application as Spark read it, its JSON text in UTF-8.

    ``config_as_text``: the values of ``config`` are text because the file has a map from text to text.
    """

    file: str
    application_id: str | None
    text: bytes
    config_as_text: bool


class LagText(NamedTuple):
    """A lag row as collected: its file, application and JSON text, and how its store's figures changed over time."""

    file: str
    application_id: str | None
    text: bytes
    process_id: str | None
    task_id: str | None
    store: str | None
    restored_records: int
    restored_ms: int
    produced_records: int
    produced_ms: int


def newest_snapshots(spark: SparkSession, inputs: Sequence[Input], selection: Selection) -> list[SnapshotText]:
    """Return the newest row of every selected application; several if they are of the same time and generation.

    A row whose time or generation cannot be read comes before every other: it might be the newest. Of the rows without
    a readable application one per file is returned.

    Raises:
        SnapshotError: a file cannot be read.
        SparkError: Spark gave up.
    """
    names = {plain_path(file.path): file.name for file in inputs}
    with explained(names):
        rows = read_rows(spark, inputs, SNAPSHOT, SNAPSHOT_KEYS)
        generation = F.expr("coalesce(try_cast(generation AS BIGINT), 0)")
        unreadable = _unreadable_time() | F.expr("generation IS NOT NULL AND try_cast(generation AS BIGINT) IS NULL")
        rows = rows.withColumns({"at": _at_us(), "unreadable": unreadable, "number": generation})
        nameless = F.col("application_id").isNull()
        if selection.pattern is not None:
            rows = rows.where(nameless | F.col("application_id").rlike(rf"\A(?:{selection.pattern})\z"))
        if selection.as_of_us is not None:
            in_time = F.col("at").isNull() | (F.col("at") <= selection.as_of_us)
            rows = rows.where(nameless | in_time)
        order = [F.col("unreadable").desc(), F.col("at").desc_nulls_last(), F.col("number").desc()]
        window = Window.partitionBy("application_id", F.when(nameless, F.col("file"))).orderBy(
            *order, F.when(nameless, F.col("text")), F.when(nameless, F.monotonically_increasing_id())
        )
        newest = rows.withColumn("rank", F.rank().over(window)).where("rank = 1")
        table = newest.select("file", "application_id", F.col("text").cast("binary"), "config_as_text").toArrow()
    return [SnapshotText(**{**row, "file": _name(row["file"], names)}) for row in table.to_pylist()]


def known_applications(spark: SparkSession, inputs: Sequence[Input], at_most: int = 6) -> list[str]:
    """Return the first few application ids there are, to name them in an error message."""
    with explained({plain_path(file.path): file.name for file in inputs}):
        rows = read_rows(spark, inputs, SNAPSHOT, SNAPSHOT_KEYS).select("application_id").distinct()
        table = rows.where("application_id IS NOT NULL").orderBy("application_id").limit(at_most).toArrow()
    return [row["application_id"] for row in table.to_pylist()]


def newest_lags(
    spark: SparkSession, inputs: Sequence[Input], limits_us: Mapping[str, int | None]
) -> tuple[list[LagText], dict[str, int | None]]:
    """Return the newest row about every store of the applications, at or before each one's limit.

    Args:
        spark: the session.
        inputs: the files.
        limits_us: for every application the latest time that counts (microseconds since 1970), ``None`` for no limit.

    Returns:
        The rows (several about one store if they are of the same time), and for those applications that have none the
        earliest time of a row beyond the limit, ``None`` if there is no row at all.

    Raises:
        SnapshotError: a file cannot be read.
        SparkError: Spark gave up.
    """
    names = {plain_path(file.path): file.name for file in inputs}
    with explained(names):
        rows = read_rows(spark, inputs, LAGS, LAG_KEYS).withColumns({"at": _at_us(), "unreadable": _unreadable_time()})
        limits = spark.createDataFrame(
            pyarrow.table(
                {
                    "application_id": pyarrow.array(limits_us, pyarrow.string()),
                    "limit": pyarrow.array(limits_us.values(), pyarrow.int64()),
                }
            ).append_column("wanted", pyarrow.array([True] * len(limits_us)))
        )
        wanted = rows.join(F.broadcast(limits), "application_id", "left").where("wanted OR application_id IS NULL")
        in_time = wanted.where("application_id IS NULL OR limit IS NULL OR at IS NULL OR at <= limit")
        newest = _with_growth(in_time).select(
            *(name for name in LagText._fields if name != "text"), F.col("text").cast("binary")
        )
        found = newest.toArrow().to_pylist()
        missing = sorted(set(limits_us) - {row["application_id"] for row in found})
        earliest: dict[str, int | None] = dict.fromkeys(missing)
        if missing:
            late = (
                wanted.where(F.col("application_id").isin(missing))
                .groupBy("application_id")
                .agg(F.min("at").alias("at"))
            )
            earliest.update((row["application_id"], row["at"]) for row in late.toArrow().to_pylist())
    return [LagText(**{**row, "file": _name(row["file"], names)}) for row in found], earliest


def _with_growth(rows: DataFrame) -> DataFrame:
    """Keep the newest row about every store and put beside it how the store's figures changed over its rows."""
    nameless = F.col("application_id").isNull()
    about = {name: F.when(~nameless, F.col(name)) for name in ("process_id", "task_id", "store")}
    about["process_id"] = F.when(F.col("process_id").rlike(_UUID), F.lower("process_id")).otherwise(about["process_id"])
    store = Window.partitionBy("application_id", *about)
    previous = {f"previous_{name}": F.lag(name).over(store.orderBy("at")) for name in ("at", "lag_now", "end_offset")}
    records = {
        name: F.expr(f"CAST(IF({name} >= 0, {name}, NULL) AS DECIMAL(38, 0))")
        for name in ("lag", "offset", "end_offset")
    }
    elapsed = F.expr("(at - previous_at) DIV 1000")
    produced = F.expr(
        "IF(end_offset >= previous_end_offset AND at > previous_at, end_offset - previous_end_offset, NULL)"
    )
    fell = F.expr("IF(lag_now < previous_lag_now AND at > previous_at, previous_lag_now - lag_now, NULL)")
    per_interval = {
        "produced_records": produced,
        "produced_ms": F.when(produced.isNotNull(), elapsed),
        "restored_records": fell + F.coalesce(produced, F.lit(0)),
        "restored_ms": F.when(fell.isNotNull(), elapsed),
    }
    nothing = F.lit(0)
    return (
        rows.withColumns(about)
        .withColumns(records)
        .withColumn("lag_now", F.coalesce("lag", F.col("end_offset") - F.col("offset")))
        .withColumns(previous)
        .withColumns(per_interval)
        .withColumns({name: F.coalesce(F.sum(name).over(store), nothing) for name in per_interval})
        .withColumn("newest", F.max("at").over(store))
        .withColumn("first", F.min(F.when(nameless, F.struct("file", "text"))).over(store))
        .where("IF(application_id IS NULL, struct(file, text) <=> first, unreadable OR at <=> newest)")
    )


def _at_us() -> Column:
    return F.expr(f"unix_micros(try_to_timestamp({_ZONED_TIME}))")


def _unreadable_time() -> Column:
    return F.expr(f"captured_at IS NOT NULL AND try_to_timestamp({_ZONED_TIME}) IS NULL")


def _name(file: str, names: Mapping[str, str]) -> str:
    path = plain_path(file)
    return names.get(path, path)


@contextmanager
def explained(names: Mapping[str, str]) -> Iterator[None]:
    """Turn whatever Spark raises into one clear error."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise spark_failure(f"{error}\n{getattr(error, '_stackTrace', None) or ''}", names) from None
