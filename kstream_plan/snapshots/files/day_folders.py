"""Which files of a data set in folders by day may hold rows of a time: ``date=2026-11-21``, ``year=2026/month=11``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from urllib.parse import unquote

from kstream_plan.snapshots.files.sources import Input

_FOLDER = re.compile(r"(?:^|/)(date|day|dt|ds|year|month)=([^/]*)(?=/)", re.IGNORECASE)
_WHOLE_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)", re.ASCII)

#: How much earlier and later than in UTC days begin elsewhere, at most.
_EARLIEST_ZONE, _LATEST_ZONE = timedelta(hours=-14), timedelta(hours=12)


class Days(NamedTuple):
    """The days, first and last, that a folder's name stands for."""

    first: date
    last: date


def days_of(path: str) -> Days | None:
    """Return the days that the folders of a file name, ``None`` if they name none."""
    values = {name.lower(): unquote(value) for name, value in _FOLDER.findall(path)}
    try:
        for name in ("date", "dt", "ds", "day"):
            match = _WHOLE_DATE.fullmatch(values.get(name, ""))
            if match is not None:
                day = date(*map(int, match.groups()))
                return Days(day, day)
        if "year" not in values:
            return None
        year, month = int(values["year"]), int(values.get("month", 0))
        if not month:
            return Days(date(year, 1, 1), date(year, 12, 31))
        if "day" in values:
            day = date(year, month, int(values["day"]))
            return Days(day, day)
        return Days(date(year, month, 1), date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1))
    except (ValueError, OverflowError):
        return None


def of_days(inputs: Sequence[Input], since_us: int | None, until_us: int | None) -> list[Input]:
    """Return the files that may hold rows of a time, for any time zone of their folders' names.

    Args:
        inputs: the files.
        since_us: the first microsecond since 1970 that counts, ``None`` for no limit.
        until_us: the last one.
    """
    first, last = _day(since_us, _LATEST_ZONE), _day(until_us, _EARLIEST_ZONE)
    matching_files = []
    for file in inputs:
        days = days_of(file.path)
        if days is None or not ((first is not None and days.last < first) or (last is not None and days.first > last)):
            matching_files.append(file)
    return matching_files


def _day(at_us: int | None, zone: timedelta) -> date | None:
    """Return the date of a time in a zone; ``None`` without a time, or for one beyond the calendar."""
    if at_us is None:
        return None
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us) - zone).date()
    except OverflowError:
        return None
