"""Times as this project prints them: RFC 3339 in UTC, from milliseconds since 1970; and how long something takes."""

from __future__ import annotations

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


def duration(milliseconds: int) -> str:
    """Return ``45 ms``, ``0.1 s``, ``30.1 s``, ``10m56s``, ``2h05m`` or ``3d04h``."""
    if 0 < milliseconds < _SECOND // 10:
        return f"{milliseconds} ms"
    if milliseconds < _MINUTE:
        return f"{milliseconds / _SECOND:.1f} s" if milliseconds < 59_950 else "1m00s"
    if milliseconds < _HOUR - 500:
        minutes, seconds = divmod(round(milliseconds / _SECOND), 60)
        return f"{minutes}m{seconds:02}s"
    if milliseconds < 2 * _DAY:
        hours, minutes = divmod(round(milliseconds / _MINUTE), 60)
        return f"{hours}h{minutes:02}m"
    days, hours = divmod(round(milliseconds / _HOUR), 24)
    return f"{days:,}d{hours:02}h"
