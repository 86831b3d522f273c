"""Times as this project prints them: RFC 3339 in UTC, from milliseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MS, _LAST_MS = (
    (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1) for moment in (datetime.min, datetime.max)
)


def format_time(ms: int) -> str:
    """Return a time as this project prints it, ``2026-11-21T12:00:00.000Z``; beyond the calendar, its end."""
    ms = min(max(ms, _FIRST_MS), _LAST_MS)
    moment = EPOCH + timedelta(milliseconds=ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + f".{ms % 1000:03d}Z"
