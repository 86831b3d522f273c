"""Durations and rates as people type them."""

from __future__ import annotations

import re
from decimal import Decimal

from kstream_plan.assignment_config import MAX_LONG

_MS_PER_UNIT = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3_600}

_NUMBER = r"\d{1,19}(?:\.\d{1,9})?"
_PART = re.compile(rf"({_NUMBER})(ms|s|m|h|d)", re.ASCII)
_DURATION = re.compile(rf"(?:{_NUMBER}(?:ms|s|m|h|d))+", re.ASCII)
_BARE = re.compile(r"\d{1,19}", re.ASCII)
_RATE = re.compile(rf"({_NUMBER})(?:/(s|m|h))?", re.ASCII)


def parse_duration(text: str) -> int:
    """Return the milliseconds of ``90s``, ``10m``, ``1.5h``, ``1m30s``, ``250ms``; a bare number is milliseconds.

    Raises:
        ValueError: ``text`` is no such duration, not whole milliseconds, or beyond 64 bits.
    """
    text = text.strip()
    if _BARE.fullmatch(text):
        milliseconds = Decimal(text)
    elif _DURATION.fullmatch(text):
        milliseconds = sum((Decimal(n) * _MS_PER_UNIT[unit] for n, unit in _PART.findall(text)), Decimal(0))
    else:
        raise ValueError(f"{text!r} is not a duration like 90s, 10m, 1.5h or 250ms (a bare number is milliseconds)")
    if milliseconds != int(milliseconds) or milliseconds > MAX_LONG:
        raise ValueError(f"{text!r} is not a whole number of milliseconds within 64 bits")
    return int(milliseconds)


def parse_rate(text: str) -> float:
    """Return the records per second of ``5000/s``, ``300000/m``, ``1.5/h``; a bare number is per second.

    Raises:
        ValueError: ``text`` is no such rate.
    """
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a rate like 5000/s, 300000/m or 100/h (a bare number is per second)")
    return float(match[1]) / _SECONDS_PER_UNIT[match[2] or "s"]
