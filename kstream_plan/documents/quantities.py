"""Durations, rates, counts and parts of a whole as people type them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from kstream_plan.model.settings import MAX_LONG

if TYPE_CHECKING:
    from kstream_plan.policy.limits import Percent

_MS_PER_UNIT = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3_600}

_BYTES_PER_UNIT = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
}

_NUMBER = r"\d{1,19}(?:\.\d{1,9})?"
_PART = rf"({_NUMBER})(ms|s|m|h|d)"
_DURATION = rf"(?:{_NUMBER}(?:ms|s|m|h|d))+"
_BARE = r"\d{1,19}"
_WHOLE_NUMBER = r"[+-]?[0-9]{1,30}"
_COUNT = r"\d{1,19}(?:_\d{1,19})*"
_PERCENT = r"(0{0,17}(?:100(?:\.0{1,9})?|\d{1,2}(?:\.\d{1,9})?))[ ]?%"
_SIZE = rf"({_NUMBER}) ?(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)?"
_RATE = rf"({_NUMBER})(?:/(s|m|h))?"

#: What the texts are like that are read below, for JSON Schemas.
DURATION_TEXT = f"{_BARE}|{_DURATION}"
RATE_TEXT = _RATE
COUNT_TEXT = _COUNT
SHARE_TEXT = f"{_COUNT}|{_PERCENT}"


def parse_duration(text: str) -> int:
    """Return the milliseconds of ``90s``, ``10m``, ``1.5h``, ``1m30s``, ``250ms``; a bare number is milliseconds.

    Raises:
        ValueError: ``text`` is no such duration, not whole milliseconds, or beyond 64 bits.
    """
    text = text.strip()
    if re.fullmatch(_BARE, text, re.ASCII):
        milliseconds = Decimal(text)
    elif re.fullmatch(_DURATION, text, re.ASCII):
        milliseconds = sum(
            (Decimal(n) * _MS_PER_UNIT[unit] for n, unit in re.findall(_PART, text, re.ASCII)), Decimal(0)
        )
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
    match = re.fullmatch(_RATE, text.strip(), re.ASCII)
    if match is None:
        raise ValueError(
            f"{text!r} is not a rate in records like 5000/s, 300000/m or 100/h (a bare number is per second): "
            "divide bytes by the size of a record"
        )
    return float(match[1]) / _SECONDS_PER_UNIT[match[2] or "s"]


def parse_count(text: str) -> int:
    """Return the number of ``20`` or ``2_000_000``.

    Raises:
        ValueError: ``text`` is no such number, or beyond 64 bits.
    """
    text = text.strip()
    if not re.fullmatch(_COUNT, text, re.ASCII) or len(text) > 60 or int(text) > MAX_LONG:
        raise ValueError(f"{text!r} is not a whole number like 20 or 2_000_000")
    return int(text)


def parse_whole_number(text: str) -> int:
    """Return the number of ``20`` or ``-1``.

    Raises:
        ValueError: ``text`` is no such number, or has more than 30 digits.
    """
    if not re.fullmatch(_WHOLE_NUMBER, text, re.ASCII):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def parse_truth(text: str) -> bool:
    """Return whether ``true`` is meant, and not ``false``.

    Raises:
        ValueError: ``text`` is neither.
    """
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def parse_size(text: str) -> int:
    """Return the bytes of ``512MiB``, ``4GiB``, ``1.5 GB``; a bare number is bytes.

    Raises:
        ValueError: ``text`` is no such size, not whole bytes, or beyond 64 bits.
    """
    match = re.fullmatch(_SIZE, text.strip(), re.ASCII)
    size = None if match is None else Decimal(match[1]) * _BYTES_PER_UNIT[match[2] or "B"]
    if size is None or size != int(size) or size > MAX_LONG:
        raise ValueError(f"{text!r} is not a size like 512MiB or 4GiB (a bare number is bytes)")
    return int(size)


def parse_share(text: str) -> int | Percent:
    """Return the number of ``20`` or ``2_000_000``, or the part of a whole of ``5%`` or ``2.5 %``.

    Raises:
        ValueError: ``text`` is neither, or more than 100%.
    """
    from kstream_plan.policy.limits import Percent  # noqa: PLC0415 - only policies have shares

    text = text.strip()
    match = re.fullmatch(_PERCENT, text, re.ASCII)
    if match is not None:
        return Percent(Decimal(match[1]))
    try:
        return parse_count(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a whole number like 20 or 2_000_000 nor a part like 5%") from None
