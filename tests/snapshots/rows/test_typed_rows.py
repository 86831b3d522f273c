"""Every field of a row is read as its type says."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from enum import EnumType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest

from kstream_plan.snapshots.rows.fields import FieldError
from kstream_plan.snapshots.rows.typed_rows import reader_of
from kstream_plan.snapshots.rows.types import TIME, Connector, Instance, Lag, LagSnapshot, Settings, Snapshot


def _value(annotation: Any, metadata: tuple[Any, ...] = ()) -> Any:
    """A value that is right."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Annotated, types.UnionType, Union):
        return _value(arguments[0], (*metadata, *getattr(annotation, "__metadata__", ())))
    if origin is tuple:
        return [_value(arguments[0])]
    if origin is Literal or isinstance(annotation, EnumType):
        return str(next(iter(arguments or annotation)))
    if hasattr(annotation, "_fields"):
        return {name: _value(each) for name, each in annotation.__annotations__.items()}
    values = {str: "0_0", int: 7, float: 0.5, bool: True, Settings: {}, Mapping: {"zone": "a"}}
    return "2026-11-21T12:00:00Z" if TIME in metadata else values[origin or annotation]


def _places(value: Any, place: str = "") -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The path of every value in a row, as errors name it and as keys."""
    items: Any = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for key, inner in items:
        path = f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}".removeprefix(".")
        yield path, (key,)
        yield from ((below, (key, *keys)) for below, keys in _places(inner, path))


def _with(value: Any, keys: tuple[Any, ...], changed: Any) -> Any:
    if not keys:
        return changed
    if isinstance(value, list):
        return [_with(value[0], keys[1:], changed)]
    return {**value, keys[0]: _with(value[keys[0]], keys[1:], changed)}


@pytest.mark.parametrize("kind", [Snapshot, LagSnapshot])
def test_of_every_field_another_type_is_an_error_that_names_it(kind: type) -> None:
    row = _value(kind)
    reader_of(kind)(row)
    places = dict(_places(row))
    assert len(places) > (130 if kind is Snapshot else 10)
    for path, keys in places.items():
        with pytest.raises(FieldError) as caught:
            reader_of(kind)(_with(row, keys, 1j))
        assert caught.value.path == path
        assert "complex where" in caught.value.problem


def test_what_is_missing_is_none_or_an_error() -> None:
    assert reader_of(Instance)({"process_id": "p", "host": None, "rack": "", "unknown": 5}) == Instance("p")
    with pytest.raises(FieldError, match="is missing"):
        reader_of(Connector)({"name": "n"})
    with pytest.raises(FieldError, match="is null where a whole number must be"):
        reader_of(Connector)({"name": "n", "task_count": None})
    assert reader_of(Snapshot)({"application_id": "a"}).instances == (), "whoever reads it says that there must be one"


def test_records_may_be_a_marker() -> None:
    row = {"process_id": "p", "task_id": "0_0"}
    assert [reader_of(Lag)({**row, "lag": lag}).lag for lag in (-3, -2, 0, 2**63 - 1)] == [-3, -2, 0, 2**63 - 1]
    for lag in (-1, -4, 2**63, True, 1.0, "5"):
        with pytest.raises(FieldError) as caught:
            reader_of(Lag)({**row, "lag": lag})
        assert caught.value.path == "lag"


def test_what_is_by_name_may_be_a_list() -> None:
    by_name = {"p": {"consumers": {"c": {"active": ["0_0"]}}}}
    listed = [{"process_id": "p", "consumers": [{"consumer_id": "c", "active": ["0_0"]}]}]
    one, other = (
        reader_of(Snapshot)({"application_id": "a", "decision": {"decided": decided}}) for decided in (by_name, listed)
    )
    assert one == other
