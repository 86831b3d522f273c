"""How far back a lag history counts: its last day, more if that has too few rows. No Spark.

Of a year of lags the newest are needed, and reading all of it would take long. The rule depends on times alone, not on
how the rows are laid out in files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from kstream_plan.snapshots.rows.measured_rates import RECENT_INTERVALS

DAY_US = 86_400_000_000

#: (process id, task id)
Seat: TypeAlias = tuple[str | None, str | None]

#: How many days are read first and next; ``None``: all rows.
DAYS = (1, 8, None)

#: The number of rows of a store that have all its last intervals.
ENOUGH_ROWS = RECENT_INTERVALS + 1
#: How many more rows may be read so that those of all stores of an application are of one time.
_SPARE = 2
#: The earliest time that there is, in microseconds since 1970.
FIRST_US = -(2**63)


class LagsWanted(NamedTuple):
    """The lags that are needed of one application.

    ``until_us`` is the latest time that counts, in microseconds since 1970, ``None`` for no limit; ``day_us`` how much
    counts in any case: a day, or as long as left-over state is kept, or as rates go over. Of the assigned copies those
    in ``standby`` must be found, and those in ``active`` if any of them is: many histories leave them out.
    """

    until_us: int | None = None
    day_us: int = DAY_US
    active: frozenset[Seat] = frozenset()
    standby: frozenset[Seat] = frozenset()

    def extended_to(self, time_ms: int) -> LagsWanted:
        """Return the same for at least this long a time."""
        return self._replace(day_us=max(self.day_us, time_ms * 1000))

    def found_by(self, seats: Iterable[Seat]) -> bool:
        """Tell whether all that must be found is among the seats."""
        seat_set = set(seats)
        return self.standby <= seat_set and (self.active <= seat_set or not self.active & seat_set)


class StoreCount(NamedTuple):
    """How many rows a store has, as its rows name it, and when first and last.

    ``process`` is the process id as it is compared. ``oldest_us`` and ``newest_us`` are of the rows that were read and
    have a readable time; ``unreadable`` counts those without. ``rows`` counts those within each of :data:`DAYS`, 0
    where they are known to be too few.
    """

    process_id: str | None
    process: str | None
    task_id: str | None
    store: str | None
    oldest_us: int | None
    newest_us: int | None
    unreadable: int
    rows: Sequence[int]

    def plus(self, addition: StoreCount) -> StoreCount:
        """Return the count of the store with its count in other files added."""
        newest = [count.newest_us for count in (self, addition) if count.newest_us is not None]
        oldest = [count.oldest_us for count in (self, addition) if count.oldest_us is not None]
        return self._replace(
            oldest_us=min(oldest, default=None),
            newest_us=max(newest, default=None),
            unreadable=self.unreadable + addition.unreadable,
            rows=[sum(row_counts) for row_counts in zip(self.rows, addition.rows, strict=True)],
        )

    def rows_within(self, us: int) -> int:
        """Return the number of rows in the ``us`` microseconds up to the newest one, if they come evenly."""
        if self.oldest_us is None or self.newest_us is None or self.oldest_us == self.newest_us:
            return 1
        return 1 + max(us, 0) * (self.rows[-1] - 1) // (self.newest_us - self.oldest_us)


class Pick(NamedTuple):
    """The rows of a store that count: those since a time, or those without one."""

    store: StoreCount
    since_us: int | None


def enough(request: LagsWanted, stores: Sequence[StoreCount], level: int) -> bool:
    """Tell whether the rows within one of :data:`DAYS` are enough, so that older ones do not count."""
    if DAYS[level] is None:
        return True
    reported_stores = [store for store in stores if store.rows[level]]
    has_enough_rows = max((store.rows[level] for store in reported_stores), default=0) >= ENOUGH_ROWS
    return has_enough_rows and request.found_by((store.process, store.task_id) for store in reported_stores)


def picks(
    request: LagsWanted, stores: Sequence[StoreCount], level: int, anchor_us: int, rates_over_ms: int | None
) -> list[Pick]:
    """Return the rows that are needed of each store: the newest, and those at both ends of its last intervals.

    Without ``rates_over_ms`` these are the rows that have the last intervals if rows come evenly; if they turn out to
    be too few, all rows of the store are needed. A row with an unreadable time might be the newest; one without a time
    is older than any other.

    Args:
        request: the lags that are needed.
        stores: the counts of the stores' rows.
        level: which of :data:`DAYS` counts.
        anchor_us: when these days end.
        rates_over_ms: what rates go over; ``None``: the last few intervals.
    """
    begin_us = begin_of(request, level, anchor_us)
    newest_us = max((store.newest_us for store in stores if store.newest_us is not None), default=anchor_us)
    store_picks = []
    for store in stores:
        if store.unreadable or (DAYS[level] is None and store.newest_us is None):
            store_picks.append(Pick(store, None))
        elif store.rows[level] and store.newest_us is not None:
            since_us = _likely_since_us(store) if rates_over_ms is None else newest_us - rates_over_ms * 1000
            store_picks.append(Pick(store, min(max(since_us, begin_us), store.newest_us)))
    return store_picks


def begin_of(request: LagsWanted, level: int, anchor_us: int) -> int:
    """Return since when rows count at all."""
    days = DAYS[level]
    return FIRST_US if days is None else max(anchor_us - days * request.day_us, FIRST_US)


def _likely_since_us(store: StoreCount) -> int:
    """Return since when a store has rows enough if they come evenly, with one to spare."""
    assert store.oldest_us is not None
    assert store.newest_us is not None
    if store.rows[-1] <= ENOUGH_ROWS:
        return store.oldest_us
    return store.newest_us - (store.newest_us - store.oldest_us) * ENOUGH_ROWS // (store.rows[-1] - 1)


def since_for_all(store_picks: Sequence[Pick]) -> int | None:
    """Return one time since when all stores have hardly more rows than those picked; ``None``: there is none."""
    times = [pick.since_us for pick in store_picks if pick.since_us is not None]
    if len(times) < len(store_picks) or not times:
        return None
    first = min(times)
    rows = [0, 0]
    for store, since_us in store_picks:
        for number, us in enumerate((first, since_us)):
            assert us is not None
            assert store.newest_us is not None
            rows[number] += store.rows_within(store.newest_us - us)
    return first if rows[0] <= _SPARE * rows[1] else None
