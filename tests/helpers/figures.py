"""Which figures stand in a text, and which ones a JSON document gives."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, combinations
from typing import Any

from kstream_plan.model.times import duration
from kstream_plan.render.text.numbers import at_least, at_most
from kstream_plan.snapshots.rows.fields import parse_time

_TIME = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d)?|\b\d\d:\d\d:\d\d\b")
_TASK = re.compile(r"\b\d+_\d+\b")
#: A number or duration that is no part of a name, such as orders-1, w1-0, max.warmup.replicas=2 or 1d296588….
_FIGURE = re.compile(r"(?<![\w.\-/=:])\d[\d,]*(?:\.\d+)?(?:[dhm](?:\d+[hms])?|ms|s)?(?![\w\-/…])")


def figures_in(text: str) -> set[str]:
    """Return the numbers and durations of a text as they are written; times and names of tasks are none."""
    return {figure[0].rstrip(",") for figure in _FIGURE.finditer(_TASK.sub(" ", _TIME.sub(" ", text)))}


def figures_of(document: Any) -> set[str]:
    """Return the figures that a document gives.

    Its durations are those of fields that end in ``ms``, their sums over a list, and the times between its moments. Its
    numbers are all others, how long lists are, what they add up to, and how many parts of a list are alike in a field.
    """
    return {*_between_moments(document), *(figure for part in _parts("", document) for figure in _given(*part))}


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every value of a document with the name of the field that it is in."""
    yield name, value
    if isinstance(value, dict):
        for field, part in value.items():
            yield from _parts(name if name.endswith("ms") else field, part)
    elif isinstance(value, list):
        for part in value:
            yield from _parts(name, part)


def _given(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from figures_in(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _written(name, value)
    elif isinstance(value, dict):
        yield f"{len(value):,}"
        yield from _sum(name, list(value.values()))
    elif isinstance(value, list):
        yield f"{len(value):,}"
        yield from _sum(name, value)
        rows = [row for row in value if isinstance(row, dict)]
        yield from _restored_together([row["steps"] for row in rows if "steps" in row])
        for field in {field for row in rows for field in row}:
            yield from _sum(field, [row.get(field) for row in rows])
            yield from _alike([row.get(field) for row in rows])


def _written(name: str, value: float) -> Iterator[str]:
    """Yield a number as pages write it."""
    if re.search(r"ms($|_)", name):
        yield from (duration(int(value)), at_least(int(value)), at_most(int(value))) if value >= 0 else ()
    else:
        yield from (f"{value:,}", f"{round(value):,}", f"{value:,.1f}")


def _sum(name: str, values: Sequence[Any]) -> Iterator[str]:
    numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if numbers:
        yield from _written(name, sum(numbers))
    if lists := [value for value in values if isinstance(value, list)]:
        yield f"{sum(map(len, lists)):,}"


def _restored_together(rounds: Sequence[Sequence[dict[str, Any]]]) -> Iterator[str]:
    """Yield how many records are restored in rebalances that share a row."""
    ends = [0, *accumulate(sum(step.get("restore_records") or 0 for step in steps) for steps in rounds)]
    yield from (f"{later - earlier:,}" for earlier, later in combinations(ends, 2))


def _alike(values: Sequence[Any]) -> Iterator[str]:
    """Yield how many values of a field are the same."""
    known = [value for value in values if isinstance(value, str | bool | int)]
    yield from (f"{number:,}" for number in Counter(known).values())


def _between_moments(document: Any) -> Iterator[str]:
    """Yield how far the moments of a document are apart."""
    texts = {value for name, value in _parts("", document) if isinstance(value, str) and _TIME.match(value)}
    moments = sorted({parse_time(text) for text in texts if "T" in text and len(texts) < 50})
    yield from (duration(later - earlier) for earlier, later in combinations(moments, 2))
