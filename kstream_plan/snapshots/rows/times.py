"""Times: from RFC 3339 text to a number since 1970 in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from kstream_plan.errors import UsageError
from kstream_plan.model.times import EPOCH
from kstream_plan.snapshots.rows.fields import FieldError, shown, wrong_type

#: What a time is written like; that there is such a day it does not say.
RFC_3339 = r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))?"
_RFC_3339 = re.compile(RFC_3339, re.ASCII)
_TIME_OF_DAY = re.compile(r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?", re.ASCII)
_FIX = "write it as RFC 3339, like 2026-11-21T12:00:00.000Z"


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
