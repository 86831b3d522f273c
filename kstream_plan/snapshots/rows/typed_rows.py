"""From JSON values to typed rows: every field is of its type and in its range, or an error names its problem.

The readers follow from the types (:mod:`kstream_plan.snapshots.rows.types`), as their JSON Schemas and columns do. How
fields belong together is checked by the readers of the rows. A ``null`` is the same as an absent field, except where a
value is required; so is an empty text, except where a name is required. Fields that the type does not have are
ignored. A list that must have items is empty if it is missing: the reader of the row names what is missing.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from enum import EnumType
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from kstream_plan.model import LATEST, UNKNOWN
from kstream_plan.snapshots.rows.fields import (
    FieldError,
    Row,
    checked_boolean,
    checked_integer,
    checked_list,
    checked_number,
    checked_object,
    checked_text,
    checked_time,
    shown,
)
from kstream_plan.snapshots.rows.types import MARKED, TIME, KeyedBy, Says, Settings

_T = TypeVar("_T")

#: A JSON value, which is not null → the value.
_Read = Callable[[Any], Any]

_FIX = "give it: kstream-plan schema snapshot says what a snapshot has; kstream-plan snapshot makes one"


#: What a field that must be there is, by its type.
_WANTED = {str: "text", int: "a whole number", float: "a number", tuple: "a list"}


def reader_of(kind: Callable[..., _T]) -> Callable[[Row], _T]:
    """Return what reads rows as this type.

    It raises :class:`FieldError` if a field is of the wrong type or out of range, or one that must be there is missing.
    """
    read: Callable[[Row], _T] = _record_reader(kind)
    return read


@cache
def _record_reader(kind: Any) -> _Read:
    readers = {}
    for place, (name, annotation) in enumerate(kind.__annotations__.items()):
        readers[name] = (place, _reader(annotation))
    requirements = {
        name: _requirement(annotation)
        for name, annotation in kind.__annotations__.items()
        if name not in kind._field_defaults
    }
    empty_values = [() if requirements.get(name) == "" else None for name in kind._fields]
    required_fields = [
        (kind._fields.index(name), name, requirement) for name, requirement in requirements.items() if requirement
    ]
    make = kind._make

    def read(row: Any) -> Any:
        values = empty_values.copy()
        name = ""
        try:
            for name, value in checked_object("", row).items():
                if value is not None and name in readers:
                    place, read_field = readers[name]
                    values[place] = read_field(value)
        except FieldError as error:
            raise error.inside(name) from None
        for place, name, requirement in required_fields:
            if values[place] is None:
                raise FieldError(name, f"is null where {requirement} must be" if name in row else "is missing", _FIX)
        return make(values)

    return read


def _requirement(annotation: Any) -> str:
    """Return what a field must be, as error messages name it; an empty text: a list, empty if the field is absent."""
    keywords = set[str]()
    while get_origin(annotation) is Annotated:
        keywords |= {word for mark in annotation.__metadata__ if isinstance(mark, Says) for word in mark.keywords}
        annotation = get_args(annotation)[0]
    return "" if "minItems" in keywords else _WANTED[get_origin(annotation) or annotation]


def _reader(annotation: Any) -> _Read:
    """Return the reader of values with this annotation."""
    kind, metadata = _without_null(annotation)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal or isinstance(kind, EnumType):
        return _choice_reader(kind, arguments)
    if hasattr(kind, "_fields"):
        return _record_reader(kind)
    if origin is not tuple:
        return _flat_reader(kind, metadata)
    key = next((mark.name for mark in metadata if isinstance(mark, KeyedBy)), None)
    read_item = _reader(arguments[0])
    if key is not None:
        return _keyed_reader(read_item, key)
    return _list_reader(read_item, may_be_null=type(None) in get_args(arguments[0]))


def _without_null(annotation: Any) -> tuple[Any, list[Any]]:
    """Return the type that an annotation allows beside ``None``, and the metadata around it."""
    metadata: list[Any] = []
    while (origin := get_origin(annotation)) in (Annotated, types.UnionType, Union):
        if origin is Annotated:
            metadata[:0] = annotation.__metadata__
            annotation = annotation.__origin__
        else:
            (annotation,) = (argument for argument in get_args(annotation) if argument is not type(None))
    return annotation, metadata


def _flat_reader(kind: Any, metadata: Sequence[Any]) -> _Read:
    keywords = {name: value for says in metadata if isinstance(says, Says) for name, value in says.keywords.items()}
    if TIME in metadata:
        return partial(checked_time, "")
    if kind is int:
        return _records if MARKED in metadata else _integer_reader(keywords["minimum"], keywords["maximum"])
    if kind is str:
        return _name if "minLength" in keywords else _text
    return _READERS[get_origin(kind) or kind]


def _integer_reader(low: int, high: int) -> _Read:
    def read(value: Any) -> int:
        return value if type(value) is int and low <= value <= high else checked_integer("", value, low, high)

    return read


def _records(value: Any) -> int:
    if type(value) is not int or value >= 0:
        return checked_integer("", value)
    if value not in (LATEST, UNKNOWN):
        fix = f"give a number of records, {LATEST} (running active) or {UNKNOWN} (unknown)"
        raise FieldError("", f"is {value}, which is negative and none of Kafka's markers", fix)
    return value


def _name(value: Any) -> str:
    return value if type(value) is str and value else checked_text("", value)


def _text(value: Any) -> str | None:
    return checked_text("", value, may_be_empty=True) or None


def _texts(value: Any) -> Mapping[str, str]:
    texts = checked_object("", value, "an object of texts")
    return {name: checked_text(name, text, may_be_empty=True) for name, text in texts.items()}


def _choice_reader(kind: Any, options: tuple[str, ...]) -> _Read:
    by_text = {str(option): option for option in options or kind}

    def read(value: Any) -> Any:
        text = checked_text("", value, may_be_empty=True)
        if text and text not in by_text:
            raise FieldError("", f"is {shown(text)}", f"write one of {', '.join(map(repr, by_text))}")
        return by_text.get(text)

    return read


def _list_reader(read_item: _Read, *, may_be_null: bool) -> _Read:
    def read_or_null(item: Any) -> Any:
        return None if item is None else read_item(item)

    read_each = read_or_null if may_be_null else read_item

    def read(value: Any) -> tuple[Any, ...]:
        items = checked_list("", value)
        try:
            return tuple(map(read_each, items))
        except FieldError:
            for number, item in enumerate(items):
                try:
                    read_each(item)
                except FieldError as error:
                    raise error.inside(f"[{number}]") from None
            raise

    return read


def _keyed_reader(read_item: _Read, key: str) -> _Read:
    """Return the reader of an object by name, or of Parquet's list of objects with the name in ``key``: as a list."""
    read_list = _list_reader(read_item, may_be_null=False)

    def read(value: Any) -> Sequence[Any]:
        if isinstance(value, Mapping):
            return tuple(read_named(name, item) for name, item in value.items())
        items: Sequence[Any] = read_list(checked_list("", value, "an object or a list"))
        nameless = next((number for number, item in enumerate(items) if getattr(item, key) is None), None)
        if nameless is not None:
            raise FieldError(f"[{nameless}].{key}", "is missing", "give it")
        return items

    def read_named(name: str, item: Any) -> Any:
        try:
            return read_item(item)._replace(**{key: name})
        except FieldError as error:
            raise error.inside(f"[{shown(name)}]") from None

    return read


_READERS: Mapping[Any, _Read] = {
    bool: partial(checked_boolean, ""),
    float: partial(checked_number, ""),
    Mapping: _texts,
    Settings: partial(checked_object, "", required_type="an object of settings"),
}
