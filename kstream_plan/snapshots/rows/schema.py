"""The columns of snapshot and lag rows, which follow from their types, and whether those of a Parquet file fit.

A type is ``"text"``, ``"time"``, ``"integer"``, ``"number"``, ``"boolean"``, ``"settings"`` (an object read as a map,
so that a misspelt setting is seen), ``"texts"`` (an object of texts), a list of one type, or an object of named types.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple, TypeAlias, Union, cast, get_args, get_origin

from kstream_plan.errors import SnapshotError
from kstream_plan.model.settings import RANGES
from kstream_plan.snapshots.rows.types import TIME, LagSnapshot, Settings, Snapshot

#: One type of the schema, see the module.
Type: TypeAlias = "str | list[Type] | Mapping[str, Type]"

_FLAT: Mapping[Any, Type] = {str: "text", int: "integer", float: "number", bool: "boolean", Settings: "settings"}


def _type(annotation: Any) -> Type:
    """Return the type of a field with this annotation; of an object by names, the equivalent list."""
    while (origin := get_origin(annotation)) in (Annotated, types.UnionType, Union):
        if origin is Annotated and TIME in annotation.__metadata__:
            return "time"
        kinds = (annotation.__origin__,) if origin is Annotated else get_args(annotation)
        annotation = next(kind for kind in reversed(kinds) if kind is not type(None))
    if origin is tuple:
        return [_type(get_args(annotation)[0])]
    if origin is Mapping:
        return "texts"
    if hasattr(annotation, "_fields"):
        return {name: _type(inner_type) for name, inner_type in annotation.__annotations__.items()}
    return _FLAT.get(annotation, "text")


#: One row of an assignment snapshot, and of a lag snapshot.
SNAPSHOT, LAGS = (cast("Mapping[str, Type]", _type(row)) for row in (Snapshot, LagSnapshot))


def _names_of_times(row: Type) -> Iterator[str]:
    """Yield the names of all fields that are times, nested ones too."""
    if isinstance(row, list):
        yield from _names_of_times(row[0])
    elif isinstance(row, Mapping):
        for name, kind in row.items():
            yield from [name] if kind == "time" else _names_of_times(kind)


#: The names of all fields that are times.
TIMES = frozenset((*_names_of_times(SNAPSHOT), *_names_of_times(LAGS)))

#: What decides which snapshot rows count; as text, so that what is wrong with a value can still be told. A row with a
#: ``kind`` may be none at all.
SNAPSHOT_KEYS: Mapping[str, Type] = {
    "application_id": "text",
    "captured_at": "time",
    "generation": "text",
    "kind": "text",
}

#: What decides which lag rows count and how their figures change over time.
LAG_KEYS: Mapping[str, Type] = {name: kind for name, kind in LAGS.items() if isinstance(kind, str)}

_SPARK_TYPES = {
    "text": "string",
    "time": "string",
    "integer": "bigint",
    "boolean": "boolean",
    "texts": "map<string,string>",
}

#: What Spark makes of a column that pyarrow wrote without a type, because it holds nothing but nulls. Should there be
#: a number in it after all, the row's own validation says so.
_ALL_NULL = "integer"

#: Which of Spark's types (as its schemas spell them in JSON) fit.
_FITTING = {
    "text": {"string", _ALL_NULL},
    "time": {"string", "timestamp", "timestamp_ntz", _ALL_NULL},
    "integer": {"byte", "short", "integer", "long"},
    "number": {"byte", "short", "integer", "long", "float", "double"},
    "boolean": {"boolean", _ALL_NULL},
}

_WANTED = {
    "text": "string",
    "time": "string or timestamp",
    "integer": "long or integer",
    "number": "double",
    "boolean": "boolean",
}


def spark_columns(columns: Mapping[str, Type]) -> str:
    """Return flat columns as Spark's schema text: ``a string, b bigint``."""
    return ", ".join(f"`{name}` {_SPARK_TYPES[str(kind)]}" for name, kind in columns.items())


class _Misfit(NamedTuple):
    """A column of another type: its path (``tasks[].end_offset_sum``), what it is and what it must be."""

    path: str
    actual_type: str
    required_type: str


class _NameError(Exception):
    """A column at ``path`` is called as one that counts, ``name``, but for capital letters."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__()
        self.path, self.name = path, name


def check_columns(columns: Mapping[str, Any], row: Mapping[str, Type], file: str) -> None:
    """Check that a Parquet file's columns fit; what ``row`` does not name is ignored.

    Args:
        columns: a Spark schema, as its ``jsonValue()`` gives it.
        row: what a row must be.
        file: the file, for the error message.

    Raises:
        SnapshotError: a column of another type, or whose name differs in case only; whole numbers must be whole, also
            where a fraction would be 0.
    """
    try:
        misfit = _misfit(columns, row, "")
    except _NameError as error:
        problem = f"column {error.path} differs from {error.name} in case only"
        raise SnapshotError(problem, where=file, fix=f"rename it to {error.name}") from None
    if misfit is not None:
        problem = f"column {misfit.path} is of type {misfit.actual_type}, where {misfit.required_type} must be"
        raise SnapshotError(problem, where=file, fix="write the Parquet file with that type")


def _misfit(actual_type: Any, required_type: Type, path: str) -> _Misfit | None:
    if actual_type in ("void", _ALL_NULL):
        return None
    if isinstance(required_type, str):
        return (
            _settings_misfit(actual_type, path)
            if required_type in ("settings", "texts")
            else _flat_misfit(actual_type, required_type, path)
        )
    if isinstance(required_type, list):
        if not isinstance(actual_type, dict) or actual_type["type"] != "array":
            return _Misfit(path, _spelt(actual_type), "a list")
        return _misfit(actual_type["elementType"], required_type[0], f"{path}[]")
    if not isinstance(actual_type, dict) or actual_type["type"] != "struct":
        return _Misfit(path, _spelt(actual_type), "a struct")
    fields = {field["name"]: field["type"] for field in actual_type["fields"]}
    misspelt_name = next((name for name in fields if name not in required_type and name.lower() in required_type), None)
    if misspelt_name is not None:
        raise _NameError(f"{path}.{misspelt_name}" if path else misspelt_name, misspelt_name.lower())
    misfits = (
        _misfit(fields[name], required_type[name], f"{path}.{name}" if path else name)
        for name in required_type
        if name in fields
    )
    return next(filter(None, misfits), None)


def _flat_misfit(actual_type: Any, required_type: str, path: str) -> _Misfit | None:
    if isinstance(actual_type, str) and actual_type in _FITTING[required_type]:
        return None
    return _Misfit(path, _spelt(actual_type), _WANTED[required_type])


def _settings_misfit(actual_type: Any, path: str) -> _Misfit | None:
    """Settings and tags come as a map or as a struct; whole numbers must be whole there too."""
    if isinstance(actual_type, dict) and actual_type["type"] == "map":
        fits = actual_type["valueType"] in _FITTING["text"] | _FITTING["integer"]
        return None if fits else _Misfit(f"{path}.*", _spelt(actual_type["valueType"]), "string or long")
    if not isinstance(actual_type, dict) or actual_type["type"] != "struct":
        return _Misfit(path, _spelt(actual_type), "a map or a struct")
    numbers = (field for field in actual_type["fields"] if field["name"] in RANGES)
    misfits = (_flat_misfit(field["type"], "integer", f"{path}.{field['name']}") for field in numbers)
    return next(filter(None, misfits), None)


def _spelt(column_type: Any) -> str:
    return column_type if isinstance(column_type, str) else str(column_type["type"])
