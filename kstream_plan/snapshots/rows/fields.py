"""One field of a row: its type, its range, and what to say when it is wrong.

Rows arrive as plain Python values, as ``json.loads`` gives them. Every check raises :class:`FieldError` with the path
from the row down (``instances[2].consumers[0].active[3]``); a caller that knows the file and the application turns it
into a :class:`~kstream_plan.errors.SnapshotError`.
"""

from __future__ import annotations

import math
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
        problem: what is wrong, one sentence without a full stop.
        fix: what to do about it.
    """

    def __init__(self, path: str, problem: str, fix: str) -> None:
        super().__init__(problem)
        self.path = path
        self.problem = problem
        self.fix = fix

    def inside(self, outer: str) -> FieldError:
        """Return the same error seen from further out: ``outer`` is put before the path."""
        dot = " " if outer.endswith(":") else "."
        joint = "" if not self.path or self.path.startswith("[") else dot
        return FieldError(f"{outer}{joint}{self.path}", self.problem, self.fix)


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
    """Return a text with escapes for all characters that could drive a terminal, hide or reorder text.

    These are the characters that Unicode calls not printable: control bytes, line ends, text direction marks,
    zero-width characters and lone surrogates.
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


def wrong_type(path: str, value: object, required_type: str, fix: str = "") -> FieldError:
    """Return the error for a value of another type than ``required_type``, which names the type in JSON's words."""
    if value is None:
        return FieldError(path, f"is null where {required_type} must be", fix or f"give {required_type}")
    return FieldError(
        path, f"is {shown(value)}, {kind(value)} where {required_type} must be", fix or f"give {required_type}"
    )


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
            problem = "does not fit into 64 bits"
        elif value < low:
            problem = "is negative" if low == 0 else f"is below {low}"
        else:
            problem = f"is above {high}"
        raise FieldError(path, f"is {value}, which {problem}", f"give a whole number from {low} to {high}")
    return value


def checked_number(path: str, value: object) -> float:
    """Return ``value`` if it is a number, 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type(path, value, "a number")
    if not (math.isfinite(value) and value >= 0):
        raise FieldError(path, f"is {shown(value)}, which is no rate", "give a number, 0 or more")
    return float(value)


def checked_boolean(path: str, value: object) -> bool:
    """Return ``value`` if it is true or false."""
    if not isinstance(value, bool):
        raise wrong_type(path, value, "true or false")
    return value


def checked_list(path: str, value: object, required_type: str = "a list") -> Sequence[Any]:
    """Return ``value`` if it is a list."""
    if not isinstance(value, list | tuple):
        raise wrong_type(path, value, required_type)
    return value


def checked_object(path: str, value: object, required_type: str = "an object") -> Row:
    """Return ``value`` if it is an object."""
    if not isinstance(value, Mapping):
        raise wrong_type(path, value, required_type)
    return value
