"""Many events as few rows: runs of one shape become one row; what a reader must not miss never does."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import groupby

from kstream_plan.plans.rebalance_events import RebalanceEvent

#: Up to this many events are shown one by one.
_WHOLE = 12
#: More rows than this are too many to read.
_MOST_ROWS = 100
#: A shorter run is not worth folding.
_SHORTEST_RUN = 3


def fold(activities: Sequence[RebalanceEvent]) -> list[list[RebalanceEvent]]:
    """Return the events of each row to show: one each if they are few, else runs of at least three share a row.

    First only probes that move and warm up equally many tasks are folded, after the first of each run. If that leaves
    too many rows, the middle of every stretch of plain probes is folded, whatever their shape, as much as needed; and
    if that leaves hundreds, of every stretch of probes, plain or not.
    Never folded: a join or leave, a cold start, and up to a hundred rows a probe at which not every copy was ready.
    """
    if len(activities) <= _WHOLE:
        return [[event] for event in activities]
    runs = _runs(activities, _is_plain, by_shape=True)
    rows = [row for run in runs for row in _fold_run(run, shown_first=1, shown_last=0)]
    if len(rows) > _WHOLE:
        rows = _middles_folded(activities, _is_plain)
    return rows if len(rows) <= _MOST_ROWS else _middles_folded(activities, _is_warm_probe)


def _runs(
    activities: Sequence[RebalanceEvent], folds: Callable[[RebalanceEvent], bool], *, by_shape: bool = False
) -> list[list[RebalanceEvent]]:
    """Cut the events into runs of those that fold (of one shape) and single events that must be seen."""

    def key(item: tuple[int, RebalanceEvent]) -> Hashable:
        number, event = item
        if not folds(event):
            return number
        return (len(event.moves), len(event.copies)) if by_shape else "folds"

    return [[event for _, event in run] for _, run in groupby(enumerate(activities), key)]


def _middles_folded(
    activities: Sequence[RebalanceEvent], folds: Callable[[RebalanceEvent], bool]
) -> list[list[RebalanceEvent]]:
    runs = _runs(activities, folds)
    stretches = sum(folds(run[0]) for run in runs)
    room = max(1, (_WHOLE - len(runs) + stretches) // max(1, stretches))
    rows: list[list[RebalanceEvent]] = []
    for run in runs:
        row_count = max(0, room - 1) if len(run) > room else len(run)
        rows += _fold_run(run, shown_first=row_count - row_count // 3, shown_last=row_count // 3)
    return rows


def _fold_run(run: list[RebalanceEvent], *, shown_first: int, shown_last: int) -> list[list[RebalanceEvent]]:
    end = len(run) - shown_last
    if end - shown_first < _SHORTEST_RUN:
        return [[event] for event in run]
    return [*([event] for event in run[:shown_first]), run[shown_first:end], *([event] for event in run[end:])]


def _is_plain(event: RebalanceEvent) -> bool:
    return _is_warm_probe(event) and event.ready_warmups == event.probed_warmups


def _is_warm_probe(event: RebalanceEvent) -> bool:
    return event.probe is not None and not event.cold
