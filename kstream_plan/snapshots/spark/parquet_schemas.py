"""Which columns Parquet files have, and times in nanoseconds, as pandas writes them, as times that Spark knows."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its customary name
from pyspark.sql.types import ArrayType, DataType, LongType, StructType

from kstream_plan.snapshots.files.kinds import BrokenFileError
from kstream_plan.snapshots.rows.fields import shown
from kstream_plan.snapshots.rows.schema import TIMES
from kstream_plan.snapshots.spark.private_names import hadoop

#: The setting with which Spark reads times in nanoseconds, as whole numbers.
NANOSECONDS = "spark.sql.legacy.parquet.nanosAsLong"

#: A line of a Parquet schema as text: ``optional int64 captured_at (TIMESTAMP(NANOS,true));``.
_LINE = re.compile(r"\s*(?:message (?P<message>.*)|\w+ \S+ (?P<name>.*?)(?P<note> \(.*\))?(?: = \d+)?)(?P<end> \{|;)")


class Part(NamedTuple):
    """Parquet files in which a column is of the same type, and their rows."""

    paths: Sequence[str]
    rows: DataFrame


class _Leaf(NamedTuple):
    """A column of a file: the groups around it, its name, and what it says of its type."""

    inside: tuple[str, ...]
    name: str
    note: str


class ParquetSchemas:
    """What columns Parquet files have: asked once, however often the files are read."""

    def __init__(self, spark: SparkSession) -> None:
        """Know of none yet."""
        self._spark = spark
        self._schema_by_path: dict[str, StructType] = {}
        self._frames: dict[tuple[str, ...], list[Part]] = {}

    def frames(self, names: Mapping[str, str]) -> list[Part]:
        """Return the files' rows together, or in several parts if the same column is of different types in them.

        Args:
            names: the files, and by which names people know them.

        Raises:
            BrokenFileError: Spark does not read the columns of one.
        """
        paths = tuple(names)
        if paths not in self._frames:
            try:
                parts = self._read(paths)
            except PySparkException as error:
                self._explain(str(error), names)
                raise
            self._frames[paths] = [part._replace(rows=self._with_times(part)) for part in parts]
        return self._frames[paths]

    def _read(self, paths: Sequence[str]) -> list[Part]:
        if not all(path in self._schema_by_path for path in paths):
            try:
                rows = self._spark.read.option("mergeSchema", "true").parquet(*paths)
                self._schema_by_path |= dict.fromkeys(paths, rows.schema)
                return [Part(paths, rows)]
            except (PySparkException, Py4JError) as error:
                if len(paths) == 1 or "MERGE_SCHEMA" not in str(error):
                    raise
                half = len(paths) // 2  # the few that differ are found in few jobs, however many files there are
                self._read(paths[:half])
                self._read(paths[half:])
        alike: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            alike[self._schema_by_path[path].json()].append(path)
        return [
            Part(alike_paths, self._spark.read.schema(self._schema_by_path[alike_paths[0]]).parquet(*alike_paths))
            for alike_paths in alike.values()
        ]

    def _with_times(self, part: Part) -> DataFrame:
        """Return the rows with times where a file has nanoseconds, which Spark reads as whole numbers."""
        schema = part.rows.schema
        if not any(_has_whole_times(field.dataType, field.name) for field in schema):
            return part.rows
        leaves = list(_leaves(self._footer(part.paths[0])))
        other_names = {leaf.name for leaf in leaves if "NANOS" not in leaf.note}
        times = {leaf.name for leaf in leaves if "NANOS" in leaf.note} & TIMES - other_names
        time_columns = {
            field.name: _as_times(F.col(field.name), field.dataType, field.name, times)
            for field in schema
            if _has_whole_times(field.dataType, field.name, times)
        }
        return part.rows.withColumns(time_columns)

    def _footer(self, path: str) -> str:
        """Return what a file says of its columns."""
        jvm, configuration = hadoop(self._spark)
        file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(
            jvm.org.apache.hadoop.fs.Path(path), configuration
        )
        reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
        try:
            return str(reader.getFileMetaData().getSchema().toString())
        finally:
            reader.close()

    def _explain(self, message: str, names: Mapping[str, str]) -> None:
        """Tell which file it is whose columns Spark does not read, and why.

        Raises:
            BrokenFileError: there is such a file.
        """
        if "COLUMN_ALREADY_EXISTS" not in message and "PARQUET_TYPE_ILLEGAL" not in message:
            return
        for path, name in names.items():
            leaves = list(_leaves(self._footer(path)))
            alike = _differing_in_case(leaves)
            if alike:
                problem = f"columns {' and '.join(map(shown, alike))} differ in case only"
                raise BrokenFileError(name, problem, "keep one of them, or rename one")
            if "PARQUET_TYPE_ILLEGAL" in message and any("NANOS" in leaf.note for leaf in leaves):
                column = next(leaf.name for leaf in leaves if "NANOS" in leaf.note)
                fix = f"set {NANOSECONDS}=true in this Spark, or write microseconds"
                raise BrokenFileError(name, f"column {shown(column)} is a time in nanoseconds", fix)


def _leaves(schema: str) -> Iterator[_Leaf]:
    """Yield the columns and groups of a Parquet schema as text."""
    inside: list[str] = []
    for line in schema.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            if line.strip() == "}" and inside:
                inside.pop()
            continue
        if match["message"] is None:
            yield _Leaf(tuple(inside), match["name"], match["note"] or "")
        if match["end"] == " {":
            inside.append(match["name"] or "")


def _differing_in_case(leaves: Sequence[_Leaf]) -> list[str]:
    """Return the names of columns beside one another that differ in case only."""
    times = Counter((leaf.inside, leaf.name.lower()) for leaf in leaves)
    duplicate_key = next((key for key, number in times.items() if number > 1), None)
    return [leaf.name for leaf in leaves if (leaf.inside, leaf.name.lower()) == duplicate_key]


def _has_whole_times(kind: DataType, name: str, times: frozenset[str] | set[str] = TIMES) -> bool:
    """Return True if a field with the name of a time is a whole number, or has such a field in it."""
    if isinstance(kind, ArrayType):
        return _has_whole_times(kind.elementType, name, times)
    if isinstance(kind, StructType):
        return any(_has_whole_times(field.dataType, field.name, times) for field in kind)
    return isinstance(kind, LongType) and name in times


def _as_times(column: Column, kind: DataType, name: str, times: set[str]) -> Column:
    """Return a column in which nanoseconds are times."""
    if not _has_whole_times(kind, name, times):
        return column
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda element: _as_times(element, kind.elementType, name, times))
    if isinstance(kind, StructType):
        fields = [
            _as_times(column.getField(field.name), field.dataType, field.name, times).alias(field.name)
            for field in kind
        ]
        return F.when(column.isNotNull(), F.struct(*fields))
    return F.timestamp_micros(F.call_function("div", column, F.lit(1000)))
