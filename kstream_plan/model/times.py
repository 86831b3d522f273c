"""Times as this project prints them: RFC 3339 in UTC, from milliseconds since 1970; and how long something takes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MS, _LAST_MS = (
    (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1) for moment in (datetime.min, datetime.max)
)
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000


def format_time(ms: int) -> str:
    """Return a time as this project prints it, ``2026-11-21T12:00:00.000Z``; beyond the calendar, its end."""
    ms = min(max(ms, _FIRST_MS), _LAST_MS)
    moment = EPOCH + timedelta(milliseconds=ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + f".{ms % 1000:03d}Z"


def later(time: str, milliseconds: int) -> str:
    """Return the time so much after one, both as :func:`format_time` has them."""
    return format_time((datetime.fromisoformat(time) - EPOCH) // timedelta(milliseconds=1) + milliseconds)


def duration(milliseconds: int) -> str:
    """Return a duration as options take it, two units at most: ``45ms``, ``28.5s``, ``5m30s``, ``11m``, ``20d18h``."""
    if 0 < milliseconds < _SECOND // 10:
        return f"{milliseconds}ms"
    if milliseconds < _MINUTE:
        return f"{milliseconds / _SECOND:.1f}s".replace(".0s", "s") if milliseconds < 59_950 else "1m"
    if milliseconds < _HOUR - 500:
        return _two_units(round(milliseconds / _SECOND), 60, "m", "s")
    if milliseconds < 2 * _DAY:
        return _two_units(round(milliseconds / _MINUTE), 60, "h", "m")
    return _two_units(round(milliseconds / _HOUR), 24, "d", "h")


def utc(time: str) -> str:
    """Return an RFC 3339 time to the second: ``2026-11-21 13:00:38 UTC``."""
    return f"{time[:10]} {time[11:19]} UTC"


def duration_span(times_ms: Iterable[int]) -> str:
    """Return the shortest and the longest of some durations, ``1m to 10m``; once if they are the same."""
    ends = sorted(set(times_ms))
    return duration(ends[0]) if len(ends) == 1 else f"{duration(ends[0])} to {duration(ends[-1])}"


def at_least(milliseconds: int) -> str:
    """Return a least time as :func:`duration` does, never more than it is."""
    unit_ms = _shown_to_ms(milliseconds)
    return duration(milliseconds // unit_ms * unit_ms)


def at_most(milliseconds: int) -> str:
    """Return how long to wait as :func:`duration` does, never less than it is."""
    unit_ms = _shown_to_ms(milliseconds)
    return duration(-(-milliseconds // unit_ms) * unit_ms)


def _shown_to_ms(milliseconds: int) -> int:
    """Return how exactly :func:`duration` shows what lasts so long."""
    if milliseconds < _SECOND // 10:
        return 1
    units = ((_MINUTE, _SECOND // 10), (_HOUR, _SECOND), (2 * _DAY, _MINUTE))
    return next((unit_ms for below_ms, unit_ms in units if milliseconds < below_ms), _HOUR)


def _two_units(number: int, ratio: int, larger: str, smaller: str) -> str:
    """Return so many of the smaller unit as ``5m30s``, or as ``11m`` where nothing is left over."""
    whole, rest = divmod(number, ratio)
    return f"{whole:,}{larger}{f'{rest:02}{smaller}' if rest else ''}"
