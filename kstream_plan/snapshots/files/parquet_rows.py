"""Rows of little Parquet files as JSON texts, without Spark SQL, which takes longer to start than all else together.

Only plain columns are read here: texts, whole numbers, doubles, truth values, lists, structs and maps of them, and the
row's own time. Everything else, and what is wrong with a file, is left to Spark SQL, which knows every type.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kstream_plan.errors import SnapshotError
from kstream_plan.model.times import EPOCH
from kstream_plan.snapshots.files.newest_rows import RowText
from kstream_plan.snapshots.rows.json_text import COLUMNS_OF_RESULTS
from kstream_plan.snapshots.rows.schema import SNAPSHOT, check_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import FileMetaData, ParquetFile

#: Makes of a value of Arrow, which is not null, what its JSON has.
_ToJson: TypeAlias = Callable[[Any], Any]

#: Arrow's type → what Spark's schemas call it.
_FLAT_TYPES = {
    "null": "void",
    "string": "string",
    "large_string": "string",
    "bool": "boolean",
    "int8": "byte",
    "int16": "short",
    "int32": "integer",
    "int64": "long",
    "double": "double",
}
#: The most that a file may unpack to: its pages, and its values if each were as long as all of its column together.
_MOST_BYTES, _MOST_EXPANDED = 16 << 20, 1 << 30


class _NotPlainError(Exception):
    """Spark SQL has to read this file."""


def has_plain_columns(path: str) -> bool:
    """Return True if :func:`parquet_rows` reads the columns of a file; values are checked there."""
    try:
        with Path(path).open("rb") as stream:
            _columns(_plain_file(stream))
    except (_NotPlainError, OSError):
        return False
    return True


def parquet_rows(name: str, content: bytes) -> list[RowText] | None:
    """Return the rows of a Parquet file as Spark SQL writes them: without the fields that are null.

    Args:
        name: the file, as people know it.
        content: all of it.

    Returns:
        The rows; ``None``: Spark SQL has to read the file, or to say what is wrong with it.
    """
    try:
        file = _plain_file(BytesIO(content))
        columns = _columns(file)
        table = file.read(list(columns))
        times = {"captured_at": _micros(table)} if "captured_at" in columns else {}
        values = [times.get(column) or table.column(column).to_pylist() for column in columns]
        config_as_text = "config" in columns and _spark_type(table.schema.field("config").type) == _TEXTS
        to_json = _struct_to_json(columns)
        return [
            RowText(name, _json(to_json(dict(zip(columns, row, strict=True)))), config_as_text)
            for row in zip(*values, strict=True)
        ]
    except (_NotPlainError, OSError, OverflowError, ValueError):  # pyarrow's own errors are among them
        return None


def _plain_file(stream: Any) -> ParquetFile:
    from pyarrow.lib import ArrowException  # noqa: PLC0415 - takes its time, and most snapshots are JSON
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415

    try:
        file = ParquetFile(stream)
    except (ArrowException, OSError, ValueError) as error:
        raise _NotPlainError from error
    if not _is_little(file.metadata):
        raise _NotPlainError
    return file


def _is_little(metadata: FileMetaData) -> bool:
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    parts = [group.column(number) for group in groups for number in range(group.num_columns)]
    expanded = sum(part.num_values * max(1, part.total_uncompressed_size) for part in parts)
    return bool(expanded <= _MOST_EXPANDED and sum(part.total_uncompressed_size for part in parts) <= _MOST_BYTES)


def _columns(file: ParquetFile) -> dict[str, _ToJson]:
    """Return the columns of a snapshot row, each with how its values are written.

    Raises:
        _NotPlainError: Spark SQL has to read them.
    """
    schema = file.schema_arrow
    names = list(schema.names)
    columns = [name for name in SNAPSHOT if name in names]
    if not columns or set(names) >= COLUMNS_OF_RESULTS or _differ_in_case_only(names):
        raise _NotPlainError
    types = {name: schema.field(name).type for name in columns}
    spark_types = {name: "timestamp" if _is_time(name, types[name]) else _spark_type(types[name]) for name in columns}
    other_columns = dict.fromkeys(set(names) - set(columns), "void")
    fields = [{"name": name, "type": kind} for name, kind in {**other_columns, **spark_types}.items()]
    try:
        check_columns({"type": "struct", "fields": fields}, SNAPSHOT, "")
    except SnapshotError as error:
        raise _NotPlainError from error
    return {name: _to_json(kind) for name, kind in types.items()}


def _differ_in_case_only(names: list[str]) -> bool:
    return len({name.lower() for name in names}) < len(names)


def _is_time(name: str, kind: pa.DataType) -> bool:
    return name == "captured_at" and str(kind).startswith("timestamp[")


#: A map from text to text, as Spark calls it.
_TEXTS = {"type": "map", "keyType": "string", "valueType": "string"}


def _spark_type(kind: pa.DataType) -> Any:
    """Return the type as Spark's schemas write it.

    Raises:
        _NotPlainError: it is not plain.
    """
    from pyarrow import types  # noqa: PLC0415 - loaded already

    if types.is_list(kind) or types.is_large_list(kind):
        return {"type": "array", "elementType": _spark_type(kind.value_type)}
    if types.is_struct(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        if _differ_in_case_only([field.name for field in fields]):
            raise _NotPlainError
        return {"type": "struct", "fields": [{"name": child.name, "type": _spark_type(child.type)} for child in fields]}
    if types.is_map(kind):
        return {"type": "map", "keyType": _spark_type(kind.key_type), "valueType": _spark_type(kind.item_type)}
    if str(kind) not in _FLAT_TYPES:
        raise _NotPlainError
    return _FLAT_TYPES[str(kind)]


def _to_json(kind: pa.DataType) -> _ToJson:
    """Return what makes of a value of this type what its JSON has."""
    from pyarrow import types  # noqa: PLC0415 - loaded already

    if types.is_list(kind) or types.is_large_list(kind):
        return _list_to_json(_to_json(kind.value_type))
    if types.is_struct(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        return _struct_to_json({field.name: _to_json(field.type) for field in fields})
    if types.is_map(kind):
        return _map_to_json(_to_json(kind.item_type))
    return lambda value: value


def _list_to_json(element: _ToJson) -> _ToJson:
    return lambda values: [None if value is None else element(value) for value in values]


def _struct_to_json(fields: dict[str, _ToJson]) -> _ToJson:
    return lambda values: {name: field(values[name]) for name, field in fields.items() if values[name] is not None}


def _map_to_json(value_to_json: _ToJson) -> _ToJson:
    def write(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
        values = {key: None if value is None else value_to_json(value) for key, value in pairs}
        if len(values) < len(pairs) or not all(isinstance(key, str) for key in values):
            raise _NotPlainError
        return values

    return write


def _micros(table: pa.Table) -> list[str | None] | None:
    """Return the times of the rows as text in UTC, which a time without a zone is in; ``None``: they are no times."""
    import pyarrow as pa  # noqa: PLC0415 - loaded already

    column = table.column("captured_at")
    if not _is_time("captured_at", column.type):
        return None
    micros = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    return [None if value is None else str(EPOCH + timedelta(microseconds=value)) for value in micros.to_pylist()]


def _json(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
