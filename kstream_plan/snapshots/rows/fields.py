"""One field of a row: its type, its range, and what to say when it is wrong.

Rows arrive as plain Python values, as ``json.loads`` gives them. Every reader takes the row and the field's name and
raises :class:`FieldError` with the path from the row down (``instances[2].consumers[0].active[3]``); whoever knows the
file and the application turns that into a :class:`~kstream_plan.errors.SnapshotError`. An absent field and a ``null``
are the same thing: Parquet cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from kstream_plan.model.settings import MAX_LONG

#: A row or an object inside it, as ``json.loads`` gives it.
Row: TypeAlias = Mapping[str, Any]

_SHOWN_LENGTH = 80


class FieldError(Exception):
    """A field breaks the input contract.

    Args:
        path: the field's path from the row down, as ``tasks[3].task_id``; empty for the row itself.
        what: what is wrong, one sentence without a full stop.
        fix: what to do about it.
    """

    def __init__(self, path: str, what: str, fix: str) -> None:
        super().__init__(what)
        self.path = path
        self.what = what
        self.fix = fix

    def inside(self, outer: str) -> FieldError:
        """Return the same error seen from further out: ``outer`` is put before the path."""
        dot = " " if outer.endswith(":") else "."
        joint = "" if not self.path or self.path.startswith("[") else dot
        return FieldError(f"{outer}{joint}{self.path}", self.what, self.fix)


def shown(value: object) -> str:
    """Return ``value`` as error messages show it: like ``repr``, shortened.

    Control bytes and lone surrogates come out as escapes, so that no name can drive a terminal.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 1]}…"


def printable(text: str) -> str:
    """Return a text with whatever could drive a terminal, hide or reorder text written as an escape.

    That is every character Unicode calls not printable: control bytes, line ends, text direction marks, zero-width
    characters and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def kind(value: object) -> str:
    """Return what sort of value this is, in JSON's words."""
    if value is None:
        return "null"
    for types, word in (
        (bool, "true or false"),
        (int, "a whole number"),
        (float, "a number with a fraction or an exponent"),
        (str, "text"),
        (Mapping, "an object"),
        (Sequence, "a list"),
    ):
        if isinstance(value, types):
            return word
    return type(value).__name__


def wrong_type(path: str, value: object, wanted: str, fix: str = "") -> FieldError:
    """Return the error for a value of another type than ``wanted``, which names the type in JSON's words."""
    if value is None:
        return FieldError(path, f"is null where {wanted} must be", fix or f"give {wanted}")
    return FieldError(path, f"is {shown(value)}, {kind(value)} where {wanted} must be", fix or f"give {wanted}")


def checked_text(path: str, value: object, *, may_be_empty: bool = False) -> str:
    """Return ``value`` if it is text, of at least one character unless it ``may_be_empty``."""
    if not isinstance(value, str):
        fix = f'write "{value}" in quotes' if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
        raise wrong_type(path, value, "text", fix)
    if not (value or may_be_empty):
        raise FieldError(path, "is empty", "give at least one character")
    return value


def checked_integer(path: str, value: object, low: int = 0, high: int = MAX_LONG) -> int:
    """Return ``value`` if it is a whole number from ``low`` to ``high``."""
    if type(value) is not int:
        fix = "write it without a fraction or an exponent" if isinstance(value, float) else ""
        raise wrong_type(path, value, "a whole number", fix)
    if not low <= value <= high:
        if value > MAX_LONG:
            what = "does not fit into 64 bits"
        elif value < low:
            what = "is negative" if low == 0 else f"is below {low}"
        else:
            what = f"is above {high}"
        raise FieldError(path, f"is {value}, which {what}", f"give a whole number from {low} to {high}")
    return value


_FIX = "give it: kstream-plan schema snapshot says what a snapshot has; kstream-plan snapshot makes one"


def required_text(row: Row, name: str) -> str:
    """Return the text in a field that must be there."""
    value = row.get(name)
    if value is None:
        raise FieldError(name, "is missing" if name not in row else "is null where text must be", _FIX)
    return checked_text(name, value)


def optional_text(row: Row, name: str) -> str | None:
    """Return the text in a field, ``None`` if there is none or it is empty (as Kafka's ``client.rack`` by default)."""
    value = row.get(name)
    return None if value is None else checked_text(name, value, may_be_empty=True) or None


def optional_integer(row: Row, name: str, low: int = 0) -> int | None:
    """Return the whole number in a field, at least ``low`` and within 64 bits, ``None`` if there is none."""
    value = row.get(name)
    return None if value is None else checked_integer(name, value, low)


def optional_boolean(row: Row, name: str) -> bool | None:
    """Return the truth value in a field, ``None`` if there is none."""
    value = row.get(name)
    if value is not None and not isinstance(value, bool):
        raise wrong_type(name, value, "true or false")
    return value


def optional_list(row: Row, name: str) -> Sequence[Any]:
    """Return the list in a field, empty if there is none."""
    value = row.get(name)
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise wrong_type(name, value, "a list")
    return value


def optional_rows(row: Row, name: str) -> Sequence[Row]:
    """Return the list of objects in a field, empty if there is none."""
    values = optional_list(row, name)
    for index, value in enumerate(values):
        if not isinstance(value, Mapping):
            raise wrong_type(f"{name}[{index}]", value, "an object")
    return values


def optional_texts(row: Row, name: str) -> tuple[str, ...] | None:
    """Return the list of texts in a field, ``None`` if there is none (which is not the same as an empty list)."""
    if row.get(name) is None:
        return None
    return tuple(checked_text(f"{name}[{index}]", value) for index, value in enumerate(optional_list(row, name)))
