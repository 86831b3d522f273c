"""One field of a row: its type, its range, and what to say when it is wrong; times, from text to a number since 1970.

Rows arrive as plain Python values, as ``json.loads`` gives them. Every check raises :class:`FieldError` with the path
from the row down (``instances[2].consumers[0].active[3]``); a caller that knows the file and the application turns it
into a :class:`~kstream_plan.errors.SnapshotError`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, TypeAlias

from kstream_plan.errors import UsageError
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.model.times import EPOCH

#: A row or an object inside it, as ``json.loads`` gives it.
Row: TypeAlias = Mapping[str, Any]

_SHOWN_LENGTH = 80

#: What a time is written like; that there is such a day it does not say.
RFC_3339 = r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))?"
_RFC_3339 = re.compile(RFC_3339, re.ASCII)
_TIME_OF_DAY = re.compile(r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?", re.ASCII)
_FIX = "write it as RFC 3339, like 2026-11-21T12:00:00.000Z"


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


def parse_time(text: str) -> int:
    """Read a time as :func:`parse_time_us` does, in milliseconds since 1970; finer digits are cut off."""
    return parse_time_us(text) // 1000


@lru_cache(4096)  # most rows of a snapshot are of few times
def parse_time_us(text: str) -> int:
    """Read a time: RFC 3339, in UTC if it names no zone.

    Returns:
        Microseconds since 1970-01-01T00:00:00Z; finer digits are cut off.

    Raises:
        ValueError: ``text`` is no such time.
    """
    match = _RFC_3339.fullmatch(text)
    try:
        if match is None:
            raise ValueError(text)
        year, month, day, hour, minute, second = map(int, match.groups()[:6])
        microsecond = int((match[7] or "")[:6].ljust(6, "0"))
        moment = datetime(year, month, day, hour, minute, second, microsecond, _zone(match))
        return (moment.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)  # year 0 in UTC is refused here
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a time like 2026-11-21T12:00:00.000Z") from None


def time_asked_for(text: str, option: str, fix: str = "write it as 2026-11-21T12:00:00Z") -> int:
    """Return the time that an option gives, in microseconds since 1970, as :func:`parse_time_us` reads it.

    Raises:
        UsageError: it is no time. A time of day without a date is none: its day is unknown.
    """
    try:
        return parse_time_us(text)
    except ValueError:
        no_date = _TIME_OF_DAY.fullmatch(text) is not None
        problem = "is a time of day without its date" if no_date else "is not a time"
        raise UsageError(f"{shown(text)} {problem}", where=option, fix=fix) from None


def checked_time(path: str, value: object) -> str:
    """Return ``value`` if it is a time."""
    if not isinstance(value, str):
        raise wrong_type(path, value, "text", _FIX)
    try:
        parse_time_us(value)
    except ValueError:
        raise FieldError(path, f"is {shown(value)}, not a time", _FIX) from None
    return value


def time_ms(text: str | None) -> int | None:
    """Return a time as :func:`parse_time` does, ``None`` if there is none."""
    return None if text is None else parse_time(text)


def _zone(match: re.Match[str]) -> timezone:
    if match[9] is None:
        return UTC
    if int(match[11]) > 59:
        raise ValueError(match[0])
    offset = timedelta(hours=int(match[10]), minutes=int(match[11]))
    return timezone(-offset if match[9] == "-" else offset)
