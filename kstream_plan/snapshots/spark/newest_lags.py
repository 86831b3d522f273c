"""Which lag rows count: the newest about every store at or before a time, and its last intervals until then.

They are collected once, as Arrow, and validated in plain Python. One narrow pass and one shuffle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from kstream_plan.snapshots.files.sources import Input
from kstream_plan.snapshots.rows.measured_rates import RECENT_INTERVALS
from kstream_plan.snapshots.rows.schema import LAG_KEYS, LAGS
from kstream_plan.snapshots.spark.failures import plain_path
from kstream_plan.snapshots.spark.texts import explained, file_name, read_rows

_UUID = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"

#: What a row is about. Process ids are compared by value; of rows without an application one per file is enough.
_STORE = {
    "process_id": f"CASE WHEN application_id IS NULL THEN file WHEN process_id RLIKE '{_UUID}' THEN lower(process_id) "
    "ELSE process_id END",
    "task_id": "IF(application_id IS NULL, NULL, task_id)",
    "store": "IF(application_id IS NULL, NULL, store)",
}

#: A row's own figures, without Kafka's markers.
_FIGURES = {
    "log_end": "IF(end_offset >= 0, end_offset, NULL)",
    "behind": "coalesce(IF(lag >= 0, lag, NULL), IF(end_offset >= 0 AND offset >= 0, end_offset - offset, NULL))",
}

_TWICE = "previous IS NOT NULL AND at <=> previous.at"

#: A row beside the one before it about the same store; both have a time, and not the same one.
_INTERVAL = """IF(at > previous.at, named_struct(
    'at_ms', at DIV 1000, 'elapsed_ms', (at - previous.at) DIV 1000,
    'behind_before', previous.behind, 'behind', behind, 'end_before', previous.log_end, 'end', log_end), NULL)"""


class LagText(NamedTuple):
    """A lag row as collected: its file, application and JSON text, and the last intervals of its store.

    ``twice``: another row about the same store is of the same time. ``intervals`` have the fields of
    :class:`~kstream_plan.snapshots.rows.lag_history.StoreInterval`.
    """

    file: str
    application_id: str | None
    text: bytes
    twice: bool
    process_id: str | None
    task_id: str | None
    store: str | None
    intervals: Sequence[Mapping[str, Any]]


def newest_lags(
    spark: SparkSession, inputs: Sequence[Input], limits_us: Mapping[str, int | None]
) -> tuple[list[LagText], dict[str, int | None]]:
    """Return the newest row about every store of the applications, at or before each one's limit.

    A row whose time cannot be read comes before every other: it might be the newest. Of the rows without a readable
    application one per file is returned.

    Args:
        spark: the session.
        inputs: the files.
        limits_us: for every application the latest time that counts (microseconds since 1970), ``None`` for no limit.

    Returns:
        The rows, and for those applications that have none the earliest time of a row beyond the limit, ``None`` if
        there is no row at all.

    Raises:
        SnapshotError: a file cannot be read.
        SparkError: Spark gave up.
    """
    names = {plain_path(file.path): file.name for file in inputs}
    with explained(names):
        rows = read_rows(spark, inputs, LAGS, LAG_KEYS).join(
            F.broadcast(_limits(spark, limits_us)), "application_id", "left"
        )
        rows = rows.where("wanted OR application_id IS NULL")
        in_time = rows.where("application_id IS NULL OR limit IS NULL OR at IS NULL OR at <= limit")
        found = _newest(in_time).toArrow().to_pylist()
        earliest: dict[str, int | None] = dict.fromkeys(set(limits_us) - {row["application_id"] for row in found})
        if earliest:
            late = rows.where(F.col("application_id").isin(sorted(earliest))).groupBy("application_id")
            firsts = late.agg(F.min("at").alias("at")).toArrow().to_pylist()
            earliest.update((row["application_id"], row["at"]) for row in firsts)
    return [LagText(**{**row, "file": file_name(row["file"], names)}) for row in found], earliest


def _limits(spark: SparkSession, limits_us: Mapping[str, int | None]) -> DataFrame:
    columns = {
        "application_id": pyarrow.array(limits_us, pyarrow.string()),
        "limit": pyarrow.array(limits_us.values(), pyarrow.int64()),
        "wanted": pyarrow.array([True] * len(limits_us)),
    }
    return spark.createDataFrame(pyarrow.table(columns))


def _newest(rows: DataFrame) -> DataFrame:
    """Keep the newest row about every store, and beside it the last intervals of the store."""
    store = ["application_id", *_STORE]
    in_order = Window.partitionBy(*store).orderBy("at")
    previous = F.lag(F.struct("at", "log_end", "behind")).over(in_order)
    rows = rows.withColumns({name: F.expr(sql) for name, sql in _STORE.items()})
    rows = rows.withColumns({name: F.expr(sql) for name, sql in _FIGURES.items()}).withColumn("previous", previous)
    rows = rows.withColumn("twice", F.expr(_TWICE)).withColumn("interval", F.expr(_INTERVAL))
    newest = rows.groupBy(*store).agg(
        F.slice(F.sort_array(F.collect_list("interval"), asc=False), 1, RECENT_INTERVALS).alias("intervals"),
        F.max(F.struct("unreadable", "at", "twice", "text", "file")).alias("newest"),
    )
    return newest.select(
        *store, "intervals", "newest.file", F.col("newest.text").cast("binary").alias("text"), "newest.twice"
    )
