"""Which snapshot rows may count: Spark narrows them, Python decides (:mod:`kstream_plan.snapshots.files.newest_rows`).

Those are collected once, as Arrow, and validated in plain Python, which names the field and the value that are wrong
and never takes ``1.0`` or ``"7"`` for a whole number, where Spark would give ``null`` or convert. One narrow pass and
one shuffle, of what may be the newest in its part of the input.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from kstream_plan.snapshots.files.content import read_file, unpacked
from kstream_plan.snapshots.files.kinds import broken_gzip, unreadable
from kstream_plan.snapshots.files.newest_rows import (
    MOST_ROWS,
    KeyedRow,
    NewestRow,
    RowText,
    Selection,
    keyed_row,
    newest_rows,
    rows_of,
)
from kstream_plan.snapshots.files.sources import Form, Input, means_itself
from kstream_plan.snapshots.rows.json_text import WRITTEN
from kstream_plan.snapshots.spark.failures import explained, plain_path
from kstream_plan.snapshots.spark.session import sql_session

#: The generation, 0 without one; null if it cannot be read.
_GENERATION = "IF(generation IS NULL, 0, try_cast(generation AS BIGINT))"

#: What decides about a row, in the order of :class:`KeyedRow`.
_KEYS = ("application_id", "unreadable", "at", "number")


def newest_little_snapshots(context: SparkContext, inputs: Sequence[Input], selection: Selection) -> list[NewestRow]:
    """Return what :func:`newest_snapshots` does, sooner for little in few files: Spark reads them, nothing else.

    Files with long rows are read here: on their way through Java they would take many times their size in its memory.
    So are those with paths that Spark would take for several, or for a pattern. Parquet with values that are not plain
    takes Spark SQL nevertheless.
    """
    read = _read_by_spark(context, [file for file in inputs if not file.long_rows and means_itself(file.path)])
    rows: list[RowText] = []
    for file in inputs:
        rows_of_file = _rows(file, _content(file, read))
        if rows_of_file is None:
            return newest_snapshots(sql_session(context), inputs, selection)
        rows += (row for row in rows_of_file if row.text.strip())
    return newest_rows(map(keyed_row, rows), selection)


def _read_by_spark(context: SparkContext, inputs: Sequence[Input]) -> dict[str, bytes]:
    """Return what is in each of the files, by its path; what Java fails at while it sends them is missing."""
    if not inputs:
        return {}
    with explained({plain_path(file.path): file.name for file in inputs}):
        contents = context.binaryFiles(",".join(file.path for file in inputs), minPartitions=1)
        return {plain_path(path): bytes(content) for path, content in contents.collect()}


def _content(file: Input, read: Mapping[str, bytes]) -> bytes:
    """Return what is in a file, JSON unzipped; what Spark has not read is read here, or why it cannot be is found."""
    try:
        content = read[file.path] if file.path in read else read_file(file.path)
        return content if file.form is Form.PARQUET else unpacked(content, sys.maxsize)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise broken_gzip(file.name, str(error)) from None
    except OSError as error:
        raise unreadable(file.name, error) from None


def _rows(file: Input, content: bytes) -> Iterable[RowText] | None:
    """Return the rows of a file; ``None``: it takes Spark SQL."""
    if file.form is Form.PARQUET:
        from kstream_plan.snapshots.files.parquet_rows import parquet_rows  # noqa: PLC0415 - only for Parquet

        return parquet_rows(file.name, content)
    if file.form is Form.DOCUMENT:
        return rows_of(RowText(file.name, content))
    return (RowText(file.name, line) for line in content.removeprefix(BOM_UTF8).splitlines())


def newest_snapshots(spark: SparkSession, inputs: Sequence[Input], selection: Selection) -> list[NewestRow]:
    """Return the rows that count, as :func:`newest_rows` decides; how many are older is not counted.

    Raises:
        SnapshotError: a file cannot be read.
        SparkError: Spark gave up.
    """
    from kstream_plan.snapshots.spark.texts import file_name  # noqa: PLC0415 - not for little

    names = {plain_path(file.path): file.name for file in inputs}
    with explained(names):
        columns = ("file", F.col("text").cast("binary"), "config_as_text", *_KEYS)
        table = _narrowed(_all_rows(spark, inputs), selection).select(*columns).toArrow()
    rows = (
        KeyedRow(
            RowText(file_name(row["file"], names), row["text"], row["config_as_text"]), *(row[key] for key in _KEYS)
        )
        for row in table.to_pylist()
    )
    return [row._replace(older=None) for row in newest_rows(rows, selection)]


def _all_rows(spark: SparkSession, inputs: Sequence[Input]) -> DataFrame:
    from kstream_plan.snapshots.rows.schema import SNAPSHOT, SNAPSHOT_KEYS  # noqa: PLC0415 - not for little
    from kstream_plan.snapshots.spark.texts import read_rows  # noqa: PLC0415

    return read_rows(spark, inputs, SNAPSHOT, SNAPSHOT_KEYS)


def _narrowed(rows: DataFrame, selection: Selection) -> DataFrame:
    """Return the rows that may count, with their keys: few of each application, however many there are.

    Of rows without an application, a few of each file.
    """
    from kstream_plan.snapshots.spark.texts import either  # noqa: PLC0415 - not for little

    no_snapshot = F.coalesce(F.col("kind").isin(sorted(WRITTEN)), F.expr("false"))
    unreadable = either(F.expr(f"unreadable OR {_GENERATION} IS NULL"), no_snapshot)
    rows = rows.withColumns({"number": F.expr(_GENERATION), "unreadable": unreadable})
    nameless = F.col("application_id").isNull()
    if selection.pattern is not None:
        rows = rows.where(either(nameless, F.col("application_id").rlike(rf"\A(?:{selection.pattern})\z")))
    if selection.as_of_us is not None:
        rows = rows.where(either(nameless, F.expr(f"at IS NULL OR at <= {selection.as_of_us}")))
    newest_first = [F.col("unreadable").desc(), F.col("at").desc_nulls_last(), F.col("number").desc()]
    apart = [F.when(nameless, F.col("text")), F.when(nameless, F.monotonically_increasing_id())]
    window = Window.partitionBy("application_id", F.when(nameless, F.col("file"))).orderBy(*newest_first, *apart)
    return rows.withColumn("rank", F.rank().over(window)).where(f"rank <= {MOST_ROWS}")


def known_applications(spark: SparkSession, inputs: Sequence[Input], at_most: int = 6) -> list[str]:
    """Return the first few application ids there are, to name them in an error message."""
    with explained({plain_path(file.path): file.name for file in inputs}):
        rows = _all_rows(spark, inputs).select("application_id").distinct()
        table = rows.where("application_id IS NOT NULL").orderBy("application_id").limit(at_most).toArrow()
    return [row["application_id"] for row in table.to_pylist()]
