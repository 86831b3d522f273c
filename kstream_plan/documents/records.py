"""Records: codecs that follow dataclasses and named tuples, whose annotations decide what each field is.

A format adds what each field means, and its codec where the annotation does not say everything.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from functools import cache, reduce
from operator import attrgetter, itemgetter, or_
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from kstream_plan.documents.codec import (
    BOOLEAN,
    COUNT,
    NUMBER,
    TEXT,
    Codec,
    Json,
    WrongValueError,
    const,
    defs_of,
    list_of,
    mapping_of,
    one_of,
    or_null,
    type_error,
    with_name,
)

_T = TypeVar("_T")

_MOST_INTERNED = 1 << 16
#: Instead of the value of a missing field: it has to be there.
NEEDED = object()


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record, where its annotation does not say everything.

    Attributes:
        codec: how it is read and written; ``None``: as the annotation says.
        description: what it means.
        get: the value to be written, of the record; by default its attribute. ``plan.summary.moves`` is that of an
            attribute's attribute, null if one on the way is ``None``; its annotation is the last one's.
        default: what is read if it is not there; by default it has to be.
        left_out: it is not written if it is what is read when it is missing.
    """

    codec: Codec[Any] | None = None
    description: str = ""
    get: Callable[[Any], Any] | str | None = None
    default: Any = NEEDED
    left_out: bool = False


class Codecs:
    """The codecs of a format by type: what an annotation stands for in its records.

    Whole numbers are none below 0 unless a field says otherwise. ``meanings``: what fields of a name mean by default.
    """

    def __init__(self, meanings: Mapping[str, str] | None = None) -> None:
        self._codecs: dict[Any, Codec[Any]] = {str: TEXT, bool: BOOLEAN, int: COUNT, float: NUMBER}
        self._meanings = meanings or {}

    def add(self, kind: Any, codec: Codec[_T]) -> Codec[_T]:
        """Take a codec in, and return it."""
        self._codecs[kind] = codec
        return codec

    def codec_of(self, annotation: Any) -> Codec[Any]:
        """Return the codec of a type that was taken in, of texts, numbers, and tuples or mappings of such.

        Raises:
            TypeError: of this type there is none.
        """
        if annotation in self._codecs:
            return self._codecs[annotation]
        origin, arguments = get_origin(annotation), get_args(annotation)
        if isinstance(annotation, type) and issubclass(annotation, StrEnum):
            return one_of(annotation)
        if origin is Literal:
            return const(arguments[0]) if len(arguments) == 1 else one_of(arguments)
        if origin in (types.UnionType, Union) and type(None) in arguments:
            return or_null(
                self.codec_of(reduce(or_, (argument for argument in arguments if argument is not type(None))))
            )
        if origin in (Sequence, tuple) and len(set(arguments) - {...}) == 1:
            size = len(arguments) if origin is tuple and ... not in arguments else None
            return list_of(self.codec_of(arguments[0]), size or 0, size)
        if origin is Mapping and issubclass(arguments[0], str):
            return mapping_of(self.codec_of(arguments[1]))
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
        parts = [self._part(kind, name, declared.get(name, "")) for name in _fields(kind)]
        if unknown := declared.keys() - {part.attribute for part in parts}:
            raise TypeError(f"{kind.__name__} has no {min(unknown)}")
        return self.add(kind, _codec(parts, _reader(parts, make or kind), description, ref))

    def view(
        self, kind: type, description: str = "", /, *, ref: str = "", **declared: Field | Codec[Any] | str
    ) -> Codec[Any]:
        """Return the codec of an object that is only written: the ``declared`` fields and properties of a class.

        Arguments are those of :meth:`record`; a field that the class does not have says what to get, and its codec.
        """
        return _codec(
            [self._part(kind, name, declaration) for name, declaration in declared.items()], _not_read, description, ref
        )

    def _part(self, kind: type, attribute: str, declared: Field | Codec[Any] | str) -> _Part:
        field = declared if isinstance(declared, Field) else Field()
        codec = declared if isinstance(declared, Codec) else field.codec
        description = declared if isinstance(declared, str) else field.description
        path = (field.get if isinstance(field.get, str) else attribute).split(".")
        codec = codec or self.codec_of(_annotation(kind, path))
        if not description and "description" not in codec.schema:
            description = self._meanings.get(attribute, "")
        return _Part(
            attribute,
            attribute.removesuffix("_"),
            codec.described(description) if description else codec,
            field.get if callable(field.get) else _getter(path),
            field.default,
            field.left_out,
        )


class _Part(NamedTuple):
    """A field of a record with everything that its reader and writer need."""

    attribute: str
    name: str
    codec: Codec[Any]
    get: Callable[[Any], Any]
    default: Any
    left_out: bool

    @property
    def constant(self) -> Json:
        """What it always is; ``None``: it is no constant."""
        return self.codec.schema.get("const")


def _annotation(kind: Any, path: Sequence[str]) -> Any:
    """Return the type of an attribute's attribute; it includes ``None`` if one on the way may be ``None``."""
    may_be_none = False
    for name in path:
        if get_origin(kind) in (types.UnionType, Union):
            kind, may_be_none = next(argument for argument in get_args(kind) if argument is not type(None)), True
        member = getattr(kind, name, None)
        kind = get_type_hints(member.fget)["return"] if isinstance(member, property) else _hints(kind)[name]
    return kind | None if may_be_none else kind


_hints = cache(get_type_hints)


def _getter(path: Sequence[str]) -> Callable[[Any], Any]:
    if len(path) == 1:
        return attrgetter(path[0])

    def get(value: Any) -> Any:
        for name in path:
            value = None if value is None else getattr(value, name)
        return value

    return get


def _codec(parts: Sequence[_Part], read: Callable[[Any], Any], description: str, ref: str) -> Codec[Any]:
    codec = Codec(read, _writer(parts), _object(parts, description), defs_of(part.codec for part in parts))
    return with_name(ref, codec) if ref else codec


def _not_read(_value: Any) -> NoReturn:
    raise TypeError("what is only written is not read")


def _fields(kind: type) -> Iterable[str]:
    return [field.name for field in fields(kind)] if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]


def _reader(parts: Sequence[_Part], make: Callable[..., _T]) -> Callable[[Any], _T]:
    required = [(p.name, p.attribute, p.codec.read) for p in parts if p.default is NEEDED and p.constant is None]
    optional = [(p.name, p.attribute, p.codec.read, p.default) for p in parts if p.default is not NEEDED]

    def read(value: Any) -> _T:
        if type(value) is not dict:
            raise type_error(value, "an object")
        attributes = {}
        name = ""
        try:
            for name, attribute, read_field in required:
                attributes[attribute] = read_field(value[name])
            for name, attribute, read_field, default in optional:
                attributes[attribute] = read_field(value[name]) if name in value else default
        except KeyError:
            raise WrongValueError(f"has no field {name!r}") from None
        except WrongValueError as wrong:
            raise wrong.with_path(f".{name}") from None
        return make(**attributes)

    return read


def _writer(parts: Sequence[_Part]) -> Callable[[Any], Json]:
    constants = {part.name: part.constant for part in parts if part.constant is not None}
    regular_parts = [part for part in parts if part.constant is None and not part.left_out]
    unconverted = [(part.name, part.get) for part in regular_parts if part.codec.write is None]
    converted = [(part.name, part.get, part.codec.write) for part in regular_parts if part.codec.write is not None]
    optional_parts = [part for part in parts if part.left_out]

    def write(value: Any) -> Json:
        document: dict[str, Json] = {name: get(value) for name, get in unconverted}
        for name, get, write_field in converted:
            document[name] = write_field(get(value))
        for part in optional_parts:
            field_value = part.get(value)
            if field_value != part.default:
                document[part.name] = part.codec.to_json(field_value)
        return document | constants

    return write


def _object(parts: Sequence[_Part], description: str) -> dict[str, Json]:
    properties: dict[str, Json] = {part.name: part.codec.schema for part in parts}
    required: list[Json] = [part.name for part in parts if part.default is NEEDED]
    description_keyword: dict[str, Json] = {"description": description} if description else {}
    return {**description_keyword, "type": "object", "properties": properties, "required": required}


def interned(codec: Codec[_T], *names: str) -> Codec[_T]:
    """Wrap a codec so that records with equal texts in these fields are read as one shared object."""
    inner, key_of = codec.read, itemgetter(*names)
    record_by_key: dict[tuple[str, ...], _T] = {}

    def read(value: Any) -> _T:
        try:
            return record_by_key[key_of(value)]  # nothing but a text is equal to a text
        except (KeyError, TypeError, IndexError):
            record = inner(value)
        if len(record_by_key) >= _MOST_INTERNED:
            record_by_key.clear()
        record_by_key[key_of(value)] = record
        return record

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
            return type_error(value, "an object")
        if tag not in value:
            return WrongValueError(f"has no field {tag!r}")
        kind = value[tag]
        problem = (
            f"is {kind!r}, not one of {', '.join(by_tag)}" if type(kind) is str else type_error(kind, "text").problem
        )
        return WrongValueError(problem, f".{tag}")

    def write(value: Any) -> Json:
        writer = writers[getattr(value, tag)]
        assert writer is not None
        return writer(value)

    schema: dict[str, Json] = {"description": description, "oneOf": [codec.schema for codec in codecs]}
    return Codec(read, write, schema, defs_of(codecs))


def _constant(codec: Codec[Any], tag: str) -> str:
    properties: Any = codec.schema["properties"]
    return str(properties[tag]["const"])
