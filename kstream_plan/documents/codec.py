"""What a JSON value looks like, said once: its reader, its writer and its JSON Schema come from it.

Records follow dataclasses and named tuples (:meth:`Codecs.record`): their annotations decide, and who declares a format
adds what each field means. Readers raise :class:`WrongValueError`; the place in the document is added on the way up, so
that what is right costs nothing.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

Json: TypeAlias = "dict[str, Json] | Sequence[Json] | str | int | float | bool | None"

_T = TypeVar("_T")

#: Beyond any sum of records, milliseconds or copies, and small enough to be divided, shown and saved again.
_MOST = 2**95
_MOST_INTERNED = 1 << 16
#: The value of a field that may be missing and is, where null means something else.
ABSENT = object()
#: Instead of the value of a missing field: it has to be there.
NEEDED = object()


class WrongValueError(Exception):
    """What is wrong with a value; ``keys`` lead to it, the innermost first; ``fix``: if it is not the usual one."""

    def __init__(self, what: str, *keys: str, fix: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.keys = list(keys)
        self.fix = fix

    def within(self, key: str) -> WrongValueError:
        """Add that the value is in a field (``.name``), list (``[3]``) or mapping (``['name']``)."""
        self.keys.append(key)
        return self

    def __str__(self) -> str:
        place = "".join(reversed(self.keys)).removeprefix(".")
        return f"{place} {self.what}" if place else self.what


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

    def said(self, description: str) -> Codec[_T]:
        """Return the same with what it means."""
        return replace(self, schema={**self.schema, "description": description})

    def written(self, value: _T) -> Json:
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
        return _other(value, "a whole number")
    if not -_MOST < value < _MOST:
        return WrongValueError("is too large a number")
    beyond = f"below {least}" if least is not None and value < least else f"above {most}"
    return WrongValueError(f"is {value}, {beyond}")


def _number(value: Any) -> float:
    if type(value) is int and -_MOST < value < _MOST:
        return float(value)
    if type(value) is not float and type(value) is not int:
        raise _other(value, "a number")
    if type(value) is int or not math.isfinite(value):
        raise WrongValueError("is too large a number")
    return value


def _numbers(values: list[Any]) -> tuple[float, ...]:
    if set(map(type, values)) - {float} or not all(map(math.isfinite, values)):
        raise ValueError
    return tuple(values)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise _other(value, "text")
    return value


def _texts(values: list[Any]) -> tuple[str, ...]:
    if set(map(type, values)) - {str}:
        raise ValueError
    return tuple(values)


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise _other(value, "true or false")
    return value


WHOLE = whole(None)
COUNT = whole()
NUMBER = Codec(_number, None, {"type": "number"}, read_all=_numbers)
TEXT = Codec(_text, None, {"type": "string"}, read_all=_texts)
BOOLEAN = Codec(_boolean, None, {"type": "boolean"})


def parsed(parse: Callable[[str], _T], write: Callable[[_T], str] | None, **schema: Json) -> Codec[_T]:
    """Return the codec of a text that ``parse`` makes something of; its ``ValueError`` says what is wrong."""

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


def list_of(codec: Codec[_T]) -> Codec[tuple[_T, ...]]:
    """Return the codec of lists."""
    inner, read_all, write = codec.read, codec.read_all, codec.write

    def read(values: Any) -> tuple[_T, ...]:
        if type(values) is not list:
            raise _other(values, "a list")
        if read_all is not None:
            try:
                return read_all(values)
            except (ValueError, TypeError, KeyError):
                pass  # which one it is, is found below
        found: list[_T] = []
        try:
            for value in values:
                found.append(inner(value))  # noqa: PERF401 - their number says where it goes wrong
        except WrongValueError as wrong:
            raise wrong.within(f"[{len(found)}]") from None
        return tuple(found)

    items = list if write is None else lambda values: list(map(write, values))
    return Codec(read, items, {"type": "array", "items": codec.schema}, codec.defs)


def mapping_of(codec: Codec[_T]) -> Codec[Mapping[str, _T]]:
    """Return the codec of objects whose keys are names."""
    inner, write = codec.read, codec.write

    def read(values: Any) -> Mapping[str, _T]:
        if type(values) is not dict:
            raise _other(values, "an object")
        found: dict[str, _T] = {}
        name = ""
        try:
            for name, value in values.items():
                found[name] = inner(value)
        except WrongValueError as wrong:
            raise wrong.within(f"[{name!r}]") from None
        return found

    items = dict if write is None else lambda values: {name: write(value) for name, value in values.items()}
    return Codec(read, items, {"type": "object", "additionalProperties": codec.schema}, codec.defs)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record, where its annotation does not say everything.

    Attributes:
        codec: how it is read and written; ``None``: as the annotation says.
        description: what it means.
        get: the value to be written, of the record; by default its attribute.
        missing: what is read if it is not there; by default it has to be.
        left_out: it is not written if it is what is read when it is missing.
    """

    codec: Codec[Any] | None = None
    description: str = ""
    get: Callable[[Any], Any] | None = None
    missing: Any = NEEDED
    left_out: bool = False


class Codecs:
    """The codecs of a format by type: what an annotation stands for in its records.

    Whole numbers are none below 0 unless a field says otherwise.
    """

    def __init__(self) -> None:
        self._of: dict[Any, Codec[Any]] = {str: TEXT, bool: BOOLEAN, int: COUNT, float: NUMBER}

    def add(self, kind: Any, codec: Codec[_T]) -> Codec[_T]:
        """Take a codec in, and return it."""
        self._of[kind] = codec
        return codec

    def of(self, annotation: Any) -> Codec[Any]:
        """Return the codec of a type that was taken in, of texts, numbers, and tuples or mappings of such.

        Raises:
            TypeError: of this type there is none.
        """
        if annotation in self._of:
            return self._of[annotation]
        origin, arguments = get_origin(annotation), get_args(annotation)
        if isinstance(annotation, type) and issubclass(annotation, StrEnum):
            return one_of(annotation)
        if origin is Literal:
            return _const(arguments[0]) if len(arguments) == 1 else one_of(arguments)
        if origin in (types.UnionType, Union) and len(arguments) == 2 and arguments[1] is type(None):
            return or_null(self.of(arguments[0]))
        if origin is Sequence or (origin is tuple and arguments[1:] == (...,)):
            return list_of(self.of(arguments[0]))
        if origin is Mapping and arguments[0] is str:
            return mapping_of(self.of(arguments[1]))
        raise TypeError(f"there is no codec of {annotation}")

    def record(
        self,
        kind: type[_T],
        description: str = "",
        /,
        *,
        ref: str = "",
        make: Callable[..., Any] | None = None,
        **declared: Field | Codec[Any] | str,
    ) -> Codec[_T]:
        """Take in, and return, the codec of a dataclass or named tuple: an object with its fields.

        Other fields of the object are ignored.

        Args:
            kind: the class; ``from_`` in it stands for ``from``.
            description: what it is.
            ref: its own name in the schema, to which others refer.
            make: what makes a value of the fields, by name; by default the class.
            declared: of a field its description, codec or :class:`Field`, where the annotation does not say it.
        """
        hints = get_type_hints(kind)
        parts = [_part(name, declared.get(name, ""), partial(self.of, hints[name])) for name in _fields(kind)]
        if unknown := declared.keys() - {part.attribute for part in parts}:
            raise TypeError(f"{kind.__name__} has no {min(unknown)}")
        codec = Codec(
            _reader(parts, make or kind), _writer(parts), _object(parts, description), _defs(of.codec for of in parts)
        )
        return self.add(kind, named(ref, codec) if ref else codec)


class _Part(NamedTuple):
    """A field of a record with everything that its reader and writer need."""

    attribute: str
    name: str
    codec: Codec[Any]
    get: Callable[[Any], Any]
    missing: Any
    left_out: bool

    @property
    def constant(self) -> Json:
        """What it always is; ``None``: it is no constant."""
        return self.codec.schema.get("const")


def _part(attribute: str, declared: Field | Codec[Any] | str, annotated: Callable[[], Codec[Any]]) -> _Part:
    of = declared if isinstance(declared, Field) else Field()
    codec = declared if isinstance(declared, Codec) else of.codec or annotated()
    description = declared if isinstance(declared, str) else of.description
    return _Part(
        attribute,
        attribute.rstrip("_"),
        codec.said(description) if description else codec,
        of.get or attrgetter(attribute),
        of.missing,
        of.left_out,
    )


def _fields(kind: type) -> Iterable[str]:
    return [one.name for one in fields(kind)] if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]


def _reader(parts: Sequence[_Part], make: Callable[..., _T]) -> Callable[[Any], _T]:
    needed = [(p.name, p.attribute, p.codec.read) for p in parts if p.missing is NEEDED and p.constant is None]
    others = [(p.name, p.attribute, p.codec.read, p.missing) for p in parts if p.missing is not NEEDED]

    def read(value: Any) -> _T:
        if type(value) is not dict:
            raise _other(value, "an object")
        found = {}
        name = ""
        try:
            for name, attribute, read_field in needed:
                found[attribute] = read_field(value[name])
            for name, attribute, read_field, missing in others:
                found[attribute] = read_field(value[name]) if name in value else missing
        except KeyError:
            raise WrongValueError(f"has no field {name!r}") from None
        except WrongValueError as wrong:
            raise wrong.within(f".{name}") from None
        return make(**found)

    return read


def _writer(parts: Sequence[_Part]) -> Callable[[Any], Json]:
    constants = {part.name: part.constant for part in parts if part.constant is not None}
    always = [part for part in parts if part.constant is None and not part.left_out]
    same = [(part.name, part.get) for part in always if part.codec.write is None]
    other = [(part.name, part.get, part.codec.write) for part in always if part.codec.write is not None]
    seldom = [part for part in parts if part.left_out]

    def write(value: Any) -> Json:
        document: dict[str, Json] = {name: get(value) for name, get in same}
        for name, get, write_field in other:
            document[name] = write_field(get(value))
        for part in seldom:
            held = part.get(value)
            if held != part.missing:
                document[part.name] = part.codec.written(held)
        return document | constants

    return write


def _object(parts: Sequence[_Part], description: str) -> dict[str, Json]:
    properties: dict[str, Json] = {part.name: part.codec.schema for part in parts}
    required: list[Json] = [part.name for part in parts if part.missing is NEEDED]
    said: dict[str, Json] = {"description": description} if description else {}
    return {**said, "type": "object", "properties": properties, "required": required}


def named(name: str, codec: Codec[_T]) -> Codec[_T]:
    """Return the codec with a name of its own in the schema, to which others refer."""
    return replace(codec, schema={"$ref": f"#/$defs/{name}"}, defs={**codec.defs, name: codec.schema})


def interned(codec: Codec[_T], *names: str) -> Codec[_T]:
    """Return the codec of a record of texts, in the fields of these names, that reads what is alike as one object."""
    inner, key_of = codec.read, itemgetter(*names)
    seen: dict[tuple[str, ...], _T] = {}

    def read(value: Any) -> _T:
        try:
            return seen[key_of(value)]  # nothing but a text is equal to a text
        except (KeyError, TypeError, IndexError):
            found = inner(value)
        if len(seen) >= _MOST_INTERNED:
            seen.clear()
        seen[key_of(value)] = found
        return found

    return replace(codec, read=read)


def tagged(tag: str, description: str, codecs: Sequence[Codec[Any]]) -> Codec[Any]:
    """Return the codec of objects of several kinds; the constant in the field ``tag`` says which one it is."""
    by_tag: dict[str, Codec[Any]] = {_constant(codec, tag): codec for codec in codecs}
    readers = {name: codec.read for name, codec in by_tag.items()}
    writers = {name: codec.write for name, codec in by_tag.items()}

    def read(value: Any) -> Any:
        try:
            reader = readers[value[tag]]
        except (KeyError, TypeError, IndexError):
            raise _no_kind(value) from None
        return reader(value)

    def _no_kind(value: Any) -> WrongValueError:
        if type(value) is not dict:
            return _other(value, "an object")
        if tag not in value:
            return WrongValueError(f"has no field {tag!r}")
        kind = value[tag]
        what = f"is {kind!r}, not one of {', '.join(by_tag)}" if type(kind) is str else _other(kind, "text").what
        return WrongValueError(what, f".{tag}")

    def write(value: Any) -> Json:
        writer = writers[getattr(value, tag)]
        assert writer is not None
        return writer(value)

    schema: dict[str, Json] = {"description": description, "oneOf": [codec.schema for codec in codecs]}
    return Codec(read, write, schema, _defs(codecs))


def _const(value: str) -> Codec[str]:
    return replace(one_of([value]), schema={"const": value})


def _constant(codec: Codec[Any], tag: str) -> str:
    properties: Any = codec.schema["properties"]
    return str(properties[tag]["const"])


def _defs(codecs: Iterable[Codec[Any]]) -> dict[str, Json]:
    return {name: schema for codec in codecs for name, schema in codec.defs.items()}


def _other(value: object, wanted: str) -> WrongValueError:
    return WrongValueError("is missing" if value is None else f"is not {wanted}")
