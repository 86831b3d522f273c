"""Which snapshot rows count: the newest of every application at or before a time.

They are collected once, as Arrow, and validated in plain Python, which names the field and the value that are wrong and
never takes ``1.0`` or ``"7"`` for a whole number, where Spark would give ``null`` or convert. One narrow pass and one
shuffle, of what may be the newest in its part of the input.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from kstream_plan.snapshots.files.broken_files import broken_gzip, unreadable
from kstream_plan.snapshots.files.content import read_file, unpacked
from kstream_plan.snapshots.files.earlier_rows import EARLIER_BY_US, MOST_EARLIER
from kstream_plan.snapshots.files.newest_rows import RowText, newest_rows, rows_of
from kstream_plan.snapshots.files.selection import Selection
from kstream_plan.snapshots.files.sources import Form, Input, means_itself
from kstream_plan.snapshots.rows.document_kind import WRITTEN
from kstream_plan.snapshots.rows.schema import SNAPSHOT, SNAPSHOT_KEYS
from kstream_plan.snapshots.spark.failures import plain_path
from kstream_plan.snapshots.spark.texts import either, explained, file_name, read_rows

#: The generation, 0 without one; null if it cannot be read.
_GENERATION = "IF(generation IS NULL, 0, try_cast(generation AS BIGINT))"


class SnapshotText(NamedTuple):
    """A snapshot row as collected: its file, its application as Spark read it, its JSON text in UTF-8.

    ``config_as_text``: the values of ``config`` are text because the file has a map from text to text. ``older``: so
    many other rows of the application do not count; ``None``: they were not counted, which takes another pass.
    ``earlier``: those of them that it is held against, the latest first.
    """

    file: str
    application_id: str | None
    text: bytes
    config_as_text: bool
    older: int | None = None
    earlier: tuple[bytes, ...] = ()


def newest_little_snapshots(context: SparkContext, inputs: Sequence[Input], selection: Selection) -> list[SnapshotText]:
    """Return what :func:`newest_snapshots` does, sooner for little JSON in few files: Spark reads them, nothing else.

    Files with long rows are read here: on their way through Java they would take many times their size in its memory.
    So are those with paths that Spark would take for several, or for a pattern.
    """
    read = _read_by_spark(context, [file for file in inputs if not file.long_rows and means_itself(file.path)])
    rows = [row for file in inputs for row in _rows(file, _content(file, read)) if row.text.strip()]
    return [
        SnapshotText(keyed.row.file, keyed.application_id, keyed.row.text, False, keyed.older, keyed.earlier)
        for keyed in newest_rows(rows, selection)
    ]


def _read_by_spark(context: SparkContext, inputs: Sequence[Input]) -> dict[str, bytes]:
    """Return what is in each of the files, by its path; what Java fails at while it sends them is missing."""
    if not inputs:
        return {}
    with explained({plain_path(file.path): file.name for file in inputs}):
        contents = context.binaryFiles(",".join(file.path for file in inputs), minPartitions=1)
        return {plain_path(path): bytes(content) for path, content in contents.collect()}


def _content(file: Input, read: Mapping[str, bytes]) -> bytes:
    """Return what is in a file, unzipped; what Spark has not read is read here, or why it cannot be is found."""
    try:
        return unpacked(read[file.path] if file.path in read else read_file(file.path), sys.maxsize)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise broken_gzip(file.name, str(error)) from None
    except OSError as error:
        raise unreadable(file.name, error) from None


def _rows(file: Input, content: bytes) -> Iterator[RowText]:
    if file.form is Form.DOCUMENT:
        return rows_of(RowText(file.name, content))
    return (RowText(file.name, line) for line in content.removeprefix(BOM_UTF8).splitlines())


def newest_snapshots(spark: SparkSession, inputs: Sequence[Input], selection: Selection) -> list[SnapshotText]:
    """Return the newest row of every selected application; several if they are of the same time and generation.

    A row whose time or generation cannot be read comes before every other: it might be the newest. So does one that is
    no snapshot but a document that this tool has written. Of the rows without a readable application one per file is
    returned.

    Raises:
        SnapshotError: a file cannot be read.
        SparkError: Spark gave up.
    """
    names = {plain_path(file.path): file.name for file in inputs}
    with explained(names):
        rows = read_rows(spark, inputs, SNAPSHOT, SNAPSHOT_KEYS)
        no_snapshot = F.coalesce(F.col("kind").isin(sorted(WRITTEN)), F.expr("false"))
        rows = rows.withColumns(
            {
                "number": F.expr(_GENERATION),
                "unreadable": either(F.expr(f"unreadable OR {_GENERATION} IS NULL"), no_snapshot),
            }
        )
        nameless = F.col("application_id").isNull()
        if selection.pattern is not None:
            rows = rows.where(either(nameless, F.col("application_id").rlike(rf"\A(?:{selection.pattern})\z")))
        if selection.as_of_us is not None:
            in_time = F.expr(f"at IS NULL OR at <= {selection.as_of_us}")
            rows = rows.where(either(nameless, in_time))
        order = [F.col("unreadable").desc(), F.col("at").desc_nulls_last(), F.col("number").desc()]
        window = Window.partitionBy("application_id", F.when(nameless, F.col("file"))).orderBy(
            *order, F.when(nameless, F.col("text")), F.when(nameless, F.monotonically_increasing_id())
        )
        ranked = rows.withColumn("rank", F.rank().over(window)).where(f"rank <= {MOST_EARLIER + 1}")
        chosen = _with_earlier(ranked, window).where("rank = 1 OR early OR below")
        columns = ("file", "application_id", F.col("text").cast("binary"), "config_as_text", "rank", "at", "number")
        table = chosen.select(*columns).toArrow()
    return _texts_of(table.to_pylist(), names)


def _with_earlier(rows: DataFrame, newest_first: WindowSpec) -> DataFrame:
    """Add whether a row is one that the newest of its application is held against, as ``earlier_rows`` has it."""
    newest = {name: F.first(name).over(newest_first) for name in ("unreadable", "at", "number")}
    before = rows.withColumns({f"newest_{name}": value for name, value in newest.items()})
    known = before.where("application_id IS NOT NULL OR rank = 1")
    early = f"NOT newest_unreadable AND coalesce(at <= newest_at - {EARLIER_BY_US}, false)"
    found = known.withColumn("early", F.expr(early)).withColumn(
        "below", F.expr("early AND coalesce(number < newest_number, false)")
    )
    latest = [F.col("at").desc(), F.col("number").desc(), F.col("text").desc()]
    places = {
        f"{name}_place": F.row_number().over(Window.partitionBy("application_id", name).orderBy(*latest))
        for name in ("early", "below")
    }
    # no literals: those of Python load what Spark tests itself with
    return found.withColumns(places).withColumns(
        {name: F.expr(f"{name} AND {name}_place = 1") for name in ("early", "below")}
    )


def _texts_of(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[SnapshotText]:
    """Return the newest rows as texts, each with those before it that tell of its copies."""
    earlier: dict[str, list[bytes]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["at"] or 0, row["number"] or 0, row["text"]), reverse=True):
        if row["rank"] > 1:
            earlier[row["application_id"]].append(row["text"])
    return [
        SnapshotText(
            file_name(row["file"], names),
            row["application_id"],
            row["text"],
            row["config_as_text"],
            earlier=tuple(dict.fromkeys(earlier[row["application_id"]])),
        )
        for row in sorted(rows, key=lambda row: row["text"])
        if row["rank"] == 1
    ]


def known_applications(spark: SparkSession, inputs: Sequence[Input], at_most: int = 6) -> list[str]:
    """Return the first few application ids there are, to name them in an error message."""
    with explained({plain_path(file.path): file.name for file in inputs}):
        rows = read_rows(spark, inputs, SNAPSHOT, SNAPSHOT_KEYS).select("application_id").distinct()
        table = rows.where("application_id IS NOT NULL").orderBy("application_id").limit(at_most).toArrow()
    return [row["application_id"] for row in table.to_pylist()]
