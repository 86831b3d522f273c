"""From files to rows: every row as JSON text, with the few columns that decide whether it counts beside it.

Those columns are parsed with an explicit schema; everything else stays text until the rows that count are validated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.files.kinds import BrokenFileError
from kstream_plan.snapshots.files.sources import Form, Input
from kstream_plan.snapshots.rows.fields import printable
from kstream_plan.snapshots.rows.json_text import COLUMNS_OF_RESULTS, WRITTEN
from kstream_plan.snapshots.rows.schema import Type, check_columns, spark_columns
from kstream_plan.snapshots.spark.failures import plain_path
from kstream_plan.snapshots.spark.parquet_schemas import ParquetSchemas

#: Parquet timestamps as text in UTC, whatever the session's time zone; those without a zone are in UTC.
_TIME_AS_TEXT = {
    "timestamp": "concat(CAST(timestampadd(MICROSECOND, at, TIMESTAMP_NTZ'1970-01-01 00:00:00') AS STRING), 'Z')",
    "timestamp_ntz": "concat(CAST(captured_at AS STRING), 'Z')",
}

#: The time of a row in microseconds since 1970, by the type of ``captured_at``. Text without a zone is in UTC; it is
#: enough to tell rows apart by, the rows that count are read more strictly.
_AT = {
    "string": "unix_micros(try_to_timestamp(CASE WHEN NOT captured_at RLIKE "
    r"r'^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?$' THEN NULL "
    "WHEN right(captured_at, 1) IN ('Z', 'z') "
    "OR substr(captured_at, -6, 1) IN ('+', '-') THEN upper(captured_at) ELSE concat(captured_at, 'Z') END))",
    "timestamp": "unix_micros(captured_at)",
    "timestamp_ntz": "timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', captured_at)",
}


def read_rows(
    spark: SparkSession, inputs: Sequence[Input], row: Mapping[str, Type], keys: Mapping[str, Type]
) -> DataFrame:
    """Return all rows: ``file``, ``text`` (JSON), ``config_as_text``, ``at``, ``unreadable`` and the columns ``keys``.

    ``at`` is the row's time in microseconds since 1970, ``null`` if it has none or cannot be read (``unreadable``).

    Args:
        spark: the session.
        inputs: the files, at least one.
        row: what a row must be, to check the columns of Parquet files by.
        keys: the flat columns to parse.
    """
    frames = [parse_keys(texts, keys) for texts in json_texts(spark, inputs)]
    frames += [_as_text(columns, row, keys) for columns in parquet_columns(ParquetSchemas(spark), inputs, row)]
    return reduce(DataFrame.unionByName, frames)


def json_texts(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[DataFrame]:
    """Yield the rows of the files that are JSON: ``file`` and ``text``."""
    paths = {form: [file.path for file in inputs if file.form is form] for form in Form}
    if paths[Form.LINES]:
        yield spark.read.text(paths[Form.LINES]).select(file_column(), F.col("value").alias("text"))
    if paths[Form.DOCUMENT]:
        whole = spark.read.text(paths[Form.DOCUMENT], wholetext=True)
        yield whole.select(file_column(), F.explode(_elements(F.col("value"))).alias("text"))


def parquet_columns(
    schemas: ParquetSchemas, inputs: Sequence[Input], row: Mapping[str, Type], *, with_file: bool = True
) -> Iterator[DataFrame]:
    """Yield what the Parquet files hold: their columns, which fit ``row``, and ``file``, ``at`` and ``unreadable``.

    Without ``file`` a row costs a tenth less to read.
    """
    names = {file.path: file.name for file in inputs if file.form is Form.PARQUET}
    if not names:
        return
    for part in schemas.frames(names):
        yield _checked_frame(part.rows, row, [names[path] for path in part.paths], with_file=with_file)


def file_column() -> Column:
    """Return the column ``file``: the URI of the file that a row is from."""
    return F.col("_metadata.file_path").alias("file")


def _elements(text: Column) -> Column:
    """Return the elements of a top-level array as JSON texts; what is no (whole) array is one text as it stands.

    So is what is no UTF-8: Spark would put other characters in its place without a word.
    """
    unmarked = F.ltrim(text, F.expr("'\ufeff'"))  # a byte order mark is no JSON
    null = F.expr("'null'")
    elements = F.transform(F.from_json(unmarked, "array<string>"), lambda element: F.coalesce(element, null))
    is_array = F.call_function("and", text.rlike(r"\A\uFEFF?\s*\["), text.rlike(r"\]\s*\z"))
    whole = F.call_function("and", is_array, F.is_valid_utf8(text))
    return F.when(whole, F.coalesce(elements, F.array(text))).otherwise(F.array(text))


def either(first: Column, second: Column) -> Column:
    """Return whether one or the other holds; Python's ``|`` has PySpark load its own tests' helpers, and pandas."""
    return F.call_function("or", first, second)


def parse_keys(texts: DataFrame, keys: Mapping[str, Type]) -> DataFrame:
    """Parse what decides about a row; a value of another type comes out as ``null``, so does a row that is not JSON."""
    texts = texts.withColumn("text", F.expr("trim(LEADING '\ufeff' FROM text)")).where(F.col("text").rlike(r"\S"))
    keyed_rows = texts.withColumn("keys", F.from_json("text", spark_columns(keys)))
    return _timed(keyed_rows.select("file", "text", F.expr("false").alias("config_as_text"), "keys.*"))


def _timed(rows: DataFrame, kind: str = "string", **columns: Column) -> DataFrame:
    at_us = _AT.get(kind, "CAST(NULL AS BIGINT)")
    unreadable = f"captured_at IS NOT NULL AND {at_us} IS NULL" if kind == "string" else "captured_at IS NOT NULL"
    if kind in ("timestamp", "timestamp_ntz"):
        unreadable = "false"
    return rows.withColumns({**columns, "at": F.expr(at_us), "unreadable": F.expr(unreadable)})


def _checked_frame(frame: DataFrame, row: Mapping[str, Type], names: Sequence[str], *, with_file: bool) -> DataFrame:
    place = printable(names[0]) + (f" or one of {len(names) - 1} others" if len(names) > 1 else "")
    try:
        if set(frame.columns) >= COLUMNS_OF_RESULTS:
            description, fix = WRITTEN["result"]
            raise SnapshotError(f"is {description}, not a snapshot", where=place, fix=fix)
        check_columns(frame.schema.jsonValue(), row, place)
    except SnapshotError as error:
        if len(names) > 1:
            raise
        raise BrokenFileError(names[0], error.what, error.fix) from None
    file = {"file": file_column()} if with_file else {}
    if "captured_at" in frame.columns:
        return _timed(frame, frame.schema["captured_at"].dataType.typeName(), **file)
    return frame.withColumns({**file, "at": F.expr("CAST(NULL AS BIGINT)"), "unreadable": F.expr("false")})


def whole_row(columns: DataFrame, row: Mapping[str, Type]) -> Column:
    """Return the columns of a Parquet row that ``row`` names, as one; its time is text."""
    columns_by_name = {name: F.col(name) for name in row if name in columns.columns}
    if "captured_at" in columns_by_name:
        kind = columns.schema["captured_at"].dataType.typeName()
        columns_by_name["captured_at"] = F.expr(_TIME_AS_TEXT.get(kind, "captured_at"))
    return F.struct(*(column.alias(name) for name, column in columns_by_name.items()))


def key_columns(columns: DataFrame, row: Mapping[str, Type], keys: Mapping[str, Type]) -> list[Column]:
    """Return the columns ``keys``, null where a Parquet file does not have them, or a ``row`` not."""
    types = {name: spark_columns({name: kind}).split()[1] for name, kind in keys.items()}
    present_names = set(columns.columns) & row.keys()
    return [
        (F.col(name) if name in present_names else F.expr("NULL")).cast(kind).alias(name)
        for name, kind in types.items()
    ]


def _as_text(columns: DataFrame, row: Mapping[str, Type], keys: Mapping[str, Type]) -> DataFrame:
    config = columns.schema["config"].dataType.simpleString() if "config" in columns.columns else ""
    text = F.to_json(whole_row(columns, row)).alias("text")
    as_text = F.expr(str(config == "map<string,string>")).alias("config_as_text")
    return columns.select("file", text, as_text, "at", "unreadable", *key_columns(columns, row, keys))


def file_name(file: str, names: Mapping[str, str]) -> str:
    """Return the name by which people know a file that Spark has read."""
    path = plain_path(file)
    return names.get(path, path)
