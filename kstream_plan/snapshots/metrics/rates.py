"""Two scrapes, two sets of end offsets → how fast instances restore and tasks are written to.

Metrics that call themselves rates are not used: they count batches, or fade for minutes after restoring has ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from kstream_plan.snapshots.metrics.lags import CopyScrape, position_of
from kstream_plan.snapshots.metrics.offsets import Offsets
from kstream_plan.snapshots.metrics.scrapes import TopicPartition
from kstream_plan.snapshots.metrics.seats import Seats
from kstream_plan.snapshots.rows.measured_rates import (
    RECENT_INTERVALS,
    SHORTEST_INTERVAL_MS,
    Measured,
    Restored,
    produce_rate,
    rate_fields,
    restore_rate,
)

_T = TypeVar("_T")

_SOURCE = "metrics"

#: Rates are those of now: so far back, in the sets of end offsets.
_RECENT_MS = 300_000


def measured_rates(
    scrapes: Sequence[CopyScrape], seats: Seats, ends: Offsets, now_ms: int
) -> dict[str, list[dict[str, Any]]]:
    """Return ``rates`` as a snapshot has them; empty where there are no two moments to tell from.

    * ``produce``: the median of the growth of a task's end offsets in the intervals of the last minutes.
    * ``restore``: of an instance, the median over its last intervals of what its copies restored together, of those
      that were behind all the time.
    """
    recent = _recent(ends, now_ms)
    produce = [
        {"task_id": task_id, **rate_fields(rate, _SOURCE)}
        for task_id in sorted(seats.changelogs)
        if (rate := _task_produce_rate(seats.changelogs[task_id], recent)) is not None
    ]
    by_process: dict[str, list[CopyScrape]] = defaultdict(list)
    for scrape in scrapes:
        by_process[scrape.process_id].append(scrape)
    restore = [
        {"process_id": process_id, **rate_fields(rate, _SOURCE)}
        for process_id, own_scrapes in sorted(by_process.items())
        if (rate := restore_rate(list(_restore_intervals(own_scrapes, seats, ends))[-RECENT_INTERVALS:])) is not None
    ]
    return {name: rates for name, rates in (("produce", produce), ("restore", restore)) if rates}


def _recent(ends: Offsets, now_ms: int) -> list[tuple[int, Mapping[TopicPartition, int]]]:
    """Return the sets of the last minutes, with their times; sets after now count only where there are too few."""
    timed = [(offset_set.at_ms, offset_set.offsets) for offset_set in ends.sets if offset_set.at_ms is not None]
    advance_to_now = [(at_ms, offsets) for at_ms, offsets in timed if at_ms <= now_ms]
    timed = advance_to_now if len(advance_to_now) > 1 else timed
    return [(at_ms, offsets) for at_ms, offsets in timed if at_ms >= timed[-1][0] - _RECENT_MS]


def _task_produce_rate(
    partitions: Sequence[TopicPartition], sets: Sequence[tuple[int, Mapping[TopicPartition, int]]]
) -> Measured | None:
    totals = [
        (at_ms, sum(offsets[partition] for partition in partitions))
        for at_ms, offsets in sets
        if all(partition in offsets for partition in partitions)
    ]
    return produce_rate(
        [
            (end_total - start_total) * 1000 / (end_ms - start_ms)
            for (start_ms, start_total), (end_ms, end_total) in pairwise(_spaced(totals, lambda moment: moment[0]))
            if end_ms > start_ms and end_total >= start_total
        ]
    )


def _spaced(moments: Sequence[_T], at_ms: Callable[[_T], int]) -> list[_T]:
    """Return the moments that each are long enough after the one before; the first and the last at least."""
    spaced = list(moments[:1])
    for moment in moments[1:]:
        if at_ms(moment) - at_ms(spaced[-1]) >= SHORTEST_INTERVAL_MS:
            spaced.append(moment)
    return spaced if len(spaced) > 1 else [*moments[:1], *moments[1:][-1:]]


def _restore_intervals(scrapes: Sequence[CopyScrape], seats: Seats, ends: Offsets) -> Iterator[Restored]:
    """Return what one instance, whose scrapes are in the order of time, restored in each interval between them.

    Those that do not say when they were taken tell no interval: their files may have been copied since.
    """
    timed = [(scrape.at_ms, scrape) for scrape in scrapes if scrape.has_own_time and scrape.at_ms is not None]
    for (start_ms, start_scrape), (end_ms, end_scrape) in pairwise(_spaced(timed, lambda moment: moment[0])):
        records = 0
        for task_id in sorted(start_scrape.positions.keys() & end_scrape.positions.keys()):
            first, last = position_of(start_scrape, task_id, seats), position_of(end_scrape, task_id, seats)
            if first is None or last is None or last < first:
                continue
            if _was_behind(start_scrape, end_scrape, task_id, start_ms, last, seats, ends):
                records += last - first
        if records and end_ms > start_ms:
            yield Restored(records * 1000 / (end_ms - start_ms))


def _was_behind(
    start_scrape: CopyScrape,
    end_scrape: CopyScrape,
    task_id: str,
    start_ms: int,
    position: int,
    seats: Seats,
    ends: Offsets,
) -> bool:
    """Tell whether a copy was behind all the time between two scrapes, and not only following the end.

    It was if its ``position`` at the last of them is short of where its changelogs ended at the first. Without end
    offsets, or with only one set of them, what it says itself at both ends decides.
    """
    ends_before = [ends.offset_at(partition, start_ms) for partition in seats.changelogs[task_id]]
    known_offsets = [end.offset for end in ends_before if end is not None]
    if len(ends.sets) < 2 or len(known_offsets) < len(ends_before):
        return all(
            any(position.lag for position in scrape.positions[task_id].values())
            for scrape in (start_scrape, end_scrape)
        )
    return position < sum(known_offsets)
