"""Numbers over time: series of levels, each until the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, groupby
from operator import attrgetter
from typing import NamedTuple


class Level(NamedTuple):
    """The number from a time on, until the next level of the same series."""

    at_ms: int
    number: int


def levels_of(spans: Iterable[tuple[tuple[int, int], int]], from_ms: int, to_ms: int) -> tuple[Level, ...]:
    """Return the number of spans at once; each comes with the number it stands for. At ``to_ms`` none has ended."""
    changes: Counter[int] = Counter({from_ms: 0})
    for (begin_ms, end_ms), number in spans:
        if begin_ms < end_ms:
            changes[begin_ms] += number
        if begin_ms < end_ms < to_ms:
            changes[end_ms] -= number
    return _added_up(changes)


def summed(all_series: Iterable[Sequence[Level]]) -> tuple[Level, ...]:
    """Return the sum of these series; they begin at the same time."""
    changes: Counter[int] = Counter()
    for series in all_series:
        previous_number = 0
        for at_ms, number in series:
            changes[at_ms] += number - previous_number
            previous_number = number
    return _added_up(changes)


def _added_up(changes: Mapping[int, int]) -> tuple[Level, ...]:
    times = sorted(changes)
    levels = map(Level, times, accumulate(changes[at_ms] for at_ms in times))
    return tuple(next(same) for _, same in groupby(levels, attrgetter("number")))


def level_at(series: Sequence[Level], at_ms: int) -> int:
    """Return the number at a time, after the changes of that time."""
    return next((level.number for level in reversed(series) if level.at_ms <= at_ms), 0)
