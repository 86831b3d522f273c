"""Many events as few rows: runs of one shape become one row; what a reader must not miss never does."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from kstream_plan.plans.activity import Activity

#: Up to so many events are shown one by one.
WHOLE = 12
#: A shorter run is not worth folding.
_SHORTEST_RUN = 3


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """Consecutive probes of one shape, shown as one row."""

    activities: tuple[Activity, ...]


TimelineRow: TypeAlias = Activity | FoldedRun


def fold(activities: Sequence[Activity]) -> list[TimelineRow]:
    """Return the rows to show: all events if they are few, else with runs of at least three folded.

    First only probes that move and warm up equally many tasks are folded, after the first of each run. If that leaves
    too many rows, the middle of every stretch of plain probes is folded, whatever their shape, as much as needed.
    Never folded: a join or leave, a cold start, and a probe at which not every copy was ready.
    """
    if len(activities) <= WHOLE:
        return list(activities)
    rows: list[TimelineRow] = []
    for run in _runs(activities, by_shape=True):
        rows += _fold_run(run, shown_first=1, shown_last=0)
    return rows if len(rows) <= WHOLE else _middles_folded(_runs(activities, by_shape=False))


def _runs(activities: Sequence[Activity], *, by_shape: bool) -> list[list[Activity]]:
    """Cut the events into runs of plain probes (of one shape) and single events that must be seen."""

    def key(item: tuple[int, Activity]) -> Hashable:
        number, event = item
        if not _is_plain(event):
            return number
        return (len(event.moves), len(event.copies)) if by_shape else "plain"

    return [[event for _, event in run] for _, run in groupby(enumerate(activities), key)]


def _middles_folded(runs: list[list[Activity]]) -> list[TimelineRow]:
    stretches = sum(_is_plain(run[0]) for run in runs)
    room = max(1, (WHOLE - len(runs) + stretches) // max(1, stretches))
    rows: list[TimelineRow] = []
    for run in runs:
        row_count = max(0, room - 1) if len(run) > room else len(run)
        rows += _fold_run(run, shown_first=row_count - row_count // 3, shown_last=row_count // 3)
    return rows


def _fold_run(run: list[Activity], *, shown_first: int, shown_last: int) -> list[TimelineRow]:
    end = len(run) - shown_last
    if end - shown_first < _SHORTEST_RUN:
        return list(run)
    return [*run[:shown_first], FoldedRun(tuple(run[shown_first:end])), *run[end:]]


def _is_plain(event: Activity) -> bool:
    return event.probe is not None and event.ready == event.expected and not event.cold
