"""Numbers and times as people read them."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.model.note import count as count  # noqa: PLC0414 - it is looked for among the numbers
from kstream_plan.model.note import count_range as count_range  # noqa: PLC0414 - so are ranges
from kstream_plan.model.note import name_list as name_list  # noqa: PLC0414 - so is this
from kstream_plan.model.note import span_to as span_to  # noqa: PLC0414 - and this
from kstream_plan.model.times import at_least as at_least  # noqa: PLC0414 - so is this
from kstream_plan.model.times import at_most as at_most  # noqa: PLC0414 - so is this
from kstream_plan.model.times import duration as duration  # noqa: PLC0414 - so is this
from kstream_plan.model.times import later as later  # noqa: PLC0414 - so is this
from kstream_plan.model.times import utc as utc  # noqa: PLC0414 - so is this


def is_are(number: int) -> str:
    """Return the verb of so many."""
    return "is" if number == 1 else "are"


def generation(number: int) -> str:
    """Return ``generation 7``; a snapshot that does not tell which has 0, for Kafka counts from 1."""
    return f"generation {number:,}" if number else "unknown generation"


def records(number: int | None) -> str:
    """Return a number of records, ``unknown`` for ``None``."""
    return "unknown" if number is None else f"{number:,}"


def rate_text(per_second: float) -> str:
    """Return a rate: whole from 100 on, to a tenth below, to two digits below 1."""
    if per_second >= 100 or per_second == round(per_second):
        return f"{per_second:,.0f}"
    return f"{per_second:.1f}" if per_second >= 1 else f"{per_second:.2g}"


def sample_text(names: Sequence[str], noun: str, change: str = "") -> str:
    """Return ``5 new instances (i1, i2, …)``."""
    ellipsis = ", …" if len(names) > 2 else ""
    return f"{len(names):,} {f'{change} ' if change else ''}{noun}s ({', '.join(names[:2])}{ellipsis})"


def amount(size: int) -> str:
    """Return a number of bytes as ``812 B``, ``5.8 MB``, ``1.2 TB``."""
    value, unit = float(size), "B"
    for bigger in ("kB", "MB", "GB", "TB", "PB"):
        if value < 1000:
            break
        value, unit = value / 1000, bigger
    return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"


def with_range(likely: str, least: str, most: str) -> str:
    """Return a figure with the ends of what it may be beside it: ``11m (9m54s to 12m06s)``; alone if they are equal."""
    return likely if least == most else f"{likely} ({least} to {most})"


def duration_range(likely_ms: int, least_ms: int, most_ms: int) -> str:
    """Return a duration with the ends of what it may be: ``11m (9m54s to 12m06s)``."""
    return with_range(duration(likely_ms), duration(least_ms), duration(most_ms))


def pause_text(likely_ms: int, least_ms: int, most_ms: int, *, is_open: bool = False) -> str:
    """Return how long a pause is; ``is_open``: nothing tells its upper end, for what restores is paused meanwhile."""
    if not is_open:
        return duration_range(likely_ms, least_ms, most_ms)
    bound = f"at least {at_least(least_ms)}"
    return bound if least_ms == likely_ms else f"{duration(likely_ms)} ({bound})"


def range_text(least_ms: int, most_ms: int) -> str:
    """Return both ends of a time; empty if they are the same."""
    return f"{duration(least_ms)} to {duration(most_ms)}" if least_ms < most_ms else ""


def arrow(*values: int | str) -> str:
    """Return ``10 → 0``, or ``0 → 5 → 0``; of what stays the same that."""
    texts = [value if isinstance(value, str) else f"{value:,}" for value in values]
    return " → ".join(text for place, text in enumerate(texts) if place == 0 or text != texts[place - 1])


def number_range(first: int, last: int) -> str:
    """Return the numbers of rebalances that follow each other: ``4`` or ``4–5``."""
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"


def utc_pair(first: str, last: str) -> tuple[str, str]:
    """Return two times to the second, of one day with its date once: ``2026-11-21 13:00:38``, ``13:01:42 UTC``."""
    texts = utc(first), utc(last)
    return (texts[0].removesuffix(" UTC"), texts[1][len("2026-11-21 ") :]) if first[:10] == last[:10] else texts
