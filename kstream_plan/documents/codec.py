"""Codecs: what a JSON value looks like, declared once for its reader, its writer and its JSON Schema.

Readers raise :class:`WrongValueError`; the place in the document is added on the way up, so that what is right costs
nothing. Objects with fields are ``records``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar

Json: TypeAlias = "dict[str, Json] | Sequence[Json] | str | int | float | bool | None"

_T = TypeVar("_T")

#: Beyond any sum of records, milliseconds or copies, and small enough to be divided, shown and saved again.
_MOST = 2**95
#: The value of a field that may be missing and is, where null means something else.
ABSENT = object()


class WrongValueError(Exception):
    """A wrong value: the problem, the keys that lead to it, innermost first, and the fix if it is not the usual one."""

    def __init__(self, problem: str, *keys: str, fix: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.keys = list(keys)
        self.fix = fix

    def with_path(self, key: str) -> WrongValueError:
        """Add that the value is in a field (``.name``), list (``[3]``) or mapping (``['name']``)."""
        self.keys.append(key)
        return self

    def __str__(self) -> str:
        place = "".join(reversed(self.keys)).removeprefix(".")
        return f"{place} {self.problem}" if place else self.problem


@dataclass(frozen=True, slots=True)
class Codec(Generic[_T]):
    """How one kind of value is read, written and described.

    Attributes:
        read: JSON value → value; raises :class:`WrongValueError`.
        write: value → JSON value; ``None``: it is the same.
        schema: the JSON Schema; may refer to ``defs``, by name.
        read_all: a list's values at once, where that is quicker; it raises no matter what if any is wrong.
    """

    read: Callable[[Any], _T]
    write: Callable[[_T], Json] | None
    schema: dict[str, Json]
    defs: dict[str, Json] = field(default_factory=dict)
    read_all: Callable[[list[Any]], tuple[_T, ...]] | None = None

    def described(self, description: str) -> Codec[_T]:
        """Return the codec with a description in its schema."""
        return replace(self, schema={**self.schema, "description": description})

    def to_json(self, value: _T) -> Json:
        """Return the JSON value."""
        return value if self.write is None else self.write(value)  # type: ignore[return-value]


def whole(least: int | None = 0, most: int | None = None) -> Codec[int]:
    """Return the codec of whole numbers from ``least`` to ``most``; true, false and 1.0 are none."""
    low, high = -_MOST + 1 if least is None else least, _MOST - 1 if most is None else most

    def read(value: Any) -> int:
        if type(value) is int and low <= value <= high:
            return value
        raise _not_within(value, least, most)

    def read_all(values: list[Any]) -> tuple[int, ...]:
        if set(map(type, values)) - {int} or (values and not low <= min(values) <= max(values) <= high):
            raise ValueError
        return tuple(values)

    bounds = {"minimum": least, "maximum": most}
    schema: dict[str, Json] = {name: bound for name, bound in bounds.items() if bound is not None}
    return Codec(read, None, {"type": "integer", **schema}, read_all=read_all)


def _not_within(value: Any, least: int | None, most: int | None) -> WrongValueError:
    if type(value) is not int:
        return type_error(value, "a whole number")
    if not -_MOST < value < _MOST:
        return WrongValueError("is too large a number")
    violation = f"below {least}" if least is not None and value < least else f"above {most}"
    return WrongValueError(f"is {value}, {violation}")


def _number(value: Any) -> float:
    if type(value) is int and -_MOST < value < _MOST:
        return float(value)
    if type(value) is not float and type(value) is not int:
        raise type_error(value, "a number")
    if type(value) is int or not math.isfinite(value):
        raise WrongValueError("is too large a number")
    return value


def _numbers(values: list[Any]) -> tuple[float, ...]:
    if set(map(type, values)) - {float} or not all(map(math.isfinite, values)):
        raise ValueError
    return tuple(values)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise type_error(value, "text")
    return value


def _texts(values: list[Any]) -> tuple[str, ...]:
    if set(map(type, values)) - {str}:
        raise ValueError
    return tuple(values)


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise type_error(value, "true or false")
    return value


WHOLE = whole(None)
COUNT = whole()
NUMBER = Codec(_number, None, {"type": "number"}, read_all=_numbers)
TEXT = Codec(_text, None, {"type": "string"}, read_all=_texts)
BOOLEAN = Codec(_boolean, None, {"type": "boolean"})


def parsed_text(parse: Callable[[str], _T], write: Callable[[_T], str] | None, **schema: Json) -> Codec[_T]:
    """Return the codec of a text that ``parse`` reads; its ``ValueError`` has the problem."""

    def read(value: Any) -> _T:
        try:
            return parse(_text(value))
        except ValueError as error:
            raise WrongValueError(f"is not right: {error}") from None

    return Codec(read, write, {"type": "string", **schema})


def one_of(options: Iterable[str]) -> Codec[Any]:
    """Return the codec of some texts, or of a :class:`~enum.StrEnum`."""
    by_text: dict[str, Any] = {str(option): option for option in options}

    def read(value: Any) -> Any:
        try:
            return by_text[value]
        except (KeyError, TypeError):
            raise WrongValueError(f"is {_text(value)!r}, not one of {', '.join(by_text)}") from None

    return Codec(read, str, {"enum": list(by_text)})


def or_null(codec: Codec[_T]) -> Codec[_T | None]:
    """Return the codec of values that may be null."""
    inner, inner_write = codec.read, codec.write

    def read(value: Any) -> _T | None:
        return None if value is None else inner(value)

    def write(value: _T | None) -> Json:
        return None if value is None or inner_write is None else inner_write(value)

    schema: dict[str, Json]
    if isinstance(codec.schema.get("type"), str):
        schema = {**codec.schema, "type": [codec.schema["type"], "null"]}
    else:
        schema = {"anyOf": [codec.schema, {"type": "null"}]}
    return Codec(read, None if inner_write is None else write, schema, codec.defs)


def list_of(codec: Codec[_T], least: int = 0, most: int | None = None) -> Codec[tuple[_T, ...]]:
    """Return the codec of lists; of how many values only the schema says."""
    inner, read_all, write = codec.read, codec.read_all, codec.write

    def read(values: Any) -> tuple[_T, ...]:
        if type(values) is not list:
            raise type_error(values, "a list")
        if read_all is not None:
            try:
                return read_all(values)
            except (ValueError, TypeError, KeyError):
                pass  # which one it is, is found below
        elements: list[_T] = []
        try:
            for value in values:
                elements.append(inner(value))  # noqa: PERF401 - their number says where it goes wrong
        except WrongValueError as wrong:
            raise wrong.with_path(f"[{len(elements)}]") from None
        return tuple(elements)

    items = list if write is None else lambda values: list(map(write, values))
    bounds = {"minItems": least or None, "maxItems": most}
    schema: dict[str, Json] = {name: bound for name, bound in bounds.items() if bound is not None}
    return Codec(read, items, {"type": "array", "items": codec.schema, **schema}, codec.defs)


def mapping_of(codec: Codec[_T]) -> Codec[Mapping[str, _T]]:
    """Return the codec of objects whose keys are names."""
    inner, write = codec.read, codec.write

    def read(values: Any) -> Mapping[str, _T]:
        if type(values) is not dict:
            raise type_error(values, "an object")
        values_by_name: dict[str, _T] = {}
        name = ""
        try:
            for name, value in values.items():
                values_by_name[name] = inner(value)
        except WrongValueError as wrong:
            raise wrong.with_path(f"[{name!r}]") from None
        return values_by_name

    items = dict if write is None else lambda values: {name: write(value) for name, value in values.items()}
    return Codec(read, items, {"type": "object", "additionalProperties": codec.schema}, codec.defs)


def with_name(name: str, codec: Codec[_T]) -> Codec[_T]:
    """Return the codec with a name of its own in the schema, to which others refer."""
    return replace(codec, schema={"$ref": f"#/$defs/{name}"}, defs={**codec.defs, name: codec.schema})


def const(value: str) -> Codec[str]:
    """Return the codec of a constant text."""
    return replace(one_of([value]), schema={"const": value})


def defs_of(codecs: Iterable[Codec[Any]]) -> dict[str, Json]:
    """Return the named schemas that these refer to."""
    return {name: schema for codec in codecs for name, schema in codec.defs.items()}


def schema_of(kind: str, title: str, codec: Codec[Any]) -> dict[str, Json]:
    """Return the JSON Schema of a kind of documents."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kstream-plan:schema:{kind}:1.0",
        "title": title,
        **codec.schema,
        **({"$defs": codec.defs} if codec.defs else {}),
    }


def type_error(value: object, kind: str) -> WrongValueError:
    """Return the error for a value that is not of this kind."""
    return WrongValueError("is missing" if value is None else f"is not {kind}")
