"""Typed access to the fields of a JSON document, with the place in every error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import TypeVar

from kstream_plan.errors import PlanFileError

_Enum = TypeVar("_Enum", bound=StrEnum)
_Value = TypeVar("_Value")

#: Beyond any sum of records, milliseconds or copies, and small enough to be divided, shown and saved again.
_MOST = 2**95
_DAMAGED = "save the plan again with kstream-plan assign --out"


class JsonFields:
    """One value of a document and where it stands (``rounds[3].steps[0].to``).

    Every accessor raises :class:`PlanFileError` if the value is missing or of another type.
    """

    __slots__ = ("_key", "_parent", "_value", "_where")

    def __init__(self, value: object, where: str, parent: JsonFields | None = None, key: str | int = "") -> None:
        self._value = value
        self._where = where
        self._parent = parent
        self._key = key

    @property
    def _path(self) -> str:
        """Where it stands, put together only when it is asked for."""
        if self._parent is None:
            return ""
        above = self._parent._path
        if isinstance(self._key, int) or self._key.startswith("["):
            return f"{above}[{self._key}]" if isinstance(self._key, int) else f"{above}{self._key}"
        return f"{above}.{self._key}" if above else self._key

    def fail(self, what: str, fix: str = _DAMAGED) -> PlanFileError:
        """Return the error that ``what`` is wrong with this value."""
        return PlanFileError(f"{self._path} {what}" if self._path else what, where=self._where, fix=fix)

    def __getitem__(self, name: str) -> JsonFields:
        """Return a field that has to be there."""
        document = self._value
        if not isinstance(document, dict) or name not in document:
            self._typed(dict, "an object")
            raise self.fail(f"has no field {name!r}")
        return JsonFields(document[name], self._where, self, name)

    def get(self, name: str) -> JsonFields:
        """Return a field that may be missing; it is null then."""
        document = self._typed(dict, "an object")
        return JsonFields(document.get(name), self._where, self, name)

    def text_or_none(self, name: str) -> str | None:
        """Return the text in a field; ``None`` if there is no such field, or no text in it."""
        value = self._value.get(name) if isinstance(self._value, dict) else None
        return value if isinstance(value, str) else None

    def text_at(self, name: str) -> str:
        """Return the text in a field that has to be there."""
        value = self._value.get(name) if isinstance(self._value, dict) else None
        return value if isinstance(value, str) else self[name].text()

    def parsed_at(self, name: str, parse: Callable[[str], _Value]) -> _Value:
        """Return what ``parse`` makes of the text in a field that has to be there."""
        text = self.text_at(name)
        try:
            return parse(text)
        except ValueError:
            return self[name].parsed(parse)

    def one_of_at(self, name: str, kind: type[_Enum]) -> _Enum:
        """Return the member of ``kind`` that the text in a field names that has to be there."""
        try:
            return kind(self.text_at(name))
        except ValueError:
            return self[name].one_of(kind)

    def boolean_at(self, name: str) -> bool:
        """Return true or false in a field that has to be there."""
        value = self._value.get(name) if isinstance(self._value, dict) else None
        return value if isinstance(value, bool) else self[name].boolean()

    def texts_at(self, name: str) -> Sequence[str]:
        """Return the list of texts in a field that has to be there."""
        value = self._value.get(name) if isinstance(self._value, dict) else None
        return value if isinstance(value, list) and not set(map(type, value)) - {str} else self[name].texts()

    def all_parsed(self, parse: Callable[[str], _Value]) -> tuple[_Value, ...]:
        """Return what ``parse`` makes of a list of texts."""
        texts = self.texts()
        try:
            return tuple(map(parse, texts))
        except ValueError:
            return tuple(item.parsed(parse) for item in self)

    def integer_at(self, name: str) -> int | None:
        """Return the whole number in a field; ``None`` if it is null or missing."""
        value = self._value.get(name) if isinstance(self._value, dict) else True
        return value if value is None or (type(value) is int and -_MOST < value < _MOST) else self[name].integer()

    def items(self) -> Iterator[tuple[str, JsonFields]]:
        """Yield an object's fields with their names."""
        for name, value in self._typed(dict, "an object").items():
            yield name, JsonFields(value, self._where, self, f"[{name!r}]")

    def __iter__(self) -> Iterator[JsonFields]:
        """Yield a list's items."""
        for index, value in enumerate(self._typed(list, "a list")):
            yield JsonFields(value, self._where, self, index)

    def has(self, name: str) -> bool:
        """Whether there is such a field, be it null."""
        return name in self._typed(dict, "an object")

    def is_a(self, kind: type) -> bool:
        """Whether the value is of this type of Python's."""
        return isinstance(self._value, kind)

    @property
    def is_null(self) -> bool:
        """Whether the value is null or missing."""
        return self._value is None

    def text(self) -> str:
        """Return a string."""
        return self._typed(str, "text")

    def integer(self) -> int:
        """Return a whole number; true, false and 1.0 are none."""
        if isinstance(self._value, bool):
            raise self.fail("is not a whole number")
        value = self._typed(int, "a whole number")
        if not -_MOST < value < _MOST:
            raise self.fail("is too large a number")
        return value

    def number(self) -> float:
        """Return a number."""
        if isinstance(self._value, int) and not isinstance(self._value, bool):
            return float(self.integer())
        value = self._typed(float, "a number")
        if not math.isfinite(value):
            raise self.fail("is too large a number")
        return value

    def integers(self) -> tuple[int, ...]:
        """Return a list of whole numbers, looked at as a whole: there may be many."""
        values = self._typed(list, "a list")
        if set(map(type, values)) - {int} or not -_MOST < min(values, default=0) <= max(values, default=0) < _MOST:
            return tuple(item.integer() for item in self)
        return tuple(values)

    def numbers(self) -> tuple[float, ...]:
        """Return a list of numbers."""
        values = self._typed(list, "a list")
        if set(map(type, values)) - {float} or not all(map(math.isfinite, values)):
            return tuple(item.number() for item in self)
        return tuple(values)

    def texts(self) -> Sequence[str]:
        """Return a list of texts, looked at as a whole: there may be many."""
        values = self._typed(list, "a list")
        if set(map(type, values)) - {str}:
            return [item.text() for item in self]
        return values

    def boolean(self) -> bool:
        """Return true or false."""
        return self._typed(bool, "true or false")

    def one_of(self, kind: type[_Enum]) -> _Enum:
        """Return the member of ``kind`` that the text names."""
        try:
            return kind(self.text())
        except ValueError:
            return self.choice(tuple(kind))

    def choice(self, options: Sequence[_Value]) -> _Value:
        """Return the one of ``options`` that the text equals."""
        text = self.text()
        for option in options:
            if option == text:
                return option
        raise self.fail(f"is {text!r}, not one of {', '.join(map(str, options))}")

    def parsed(self, parse: Callable[[str], _Value]) -> _Value:
        """Return what ``parse`` makes of the text; its ``ValueError`` becomes the error."""
        text = self.text()
        try:
            return parse(text)
        except ValueError as error:
            raise self.fail(f"is not right: {error}") from None

    def or_none(self, read: Callable[[JsonFields], _Value]) -> _Value | None:
        """Return ``None`` for null, else what ``read`` makes of it."""
        return None if self.is_null else read(self)

    def _typed(self, kind: type[_Value], name: str) -> _Value:
        if not isinstance(self._value, kind):
            if self._parent is None:
                raise self.fail(
                    f"this is not a saved plan, it is not {name}", "save one with kstream-plan assign --out"
                )
            raise self.fail("is missing" if self._value is None else f"is not {name}")
        return self._value
