"""How far back a lag history counts: its last day, more where that says too little. No Spark.

Whoever has a year of lags wants the newest, and nobody wants the year read for it. The rule goes by times alone: how
the rows are laid out in files does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from kstream_plan.snapshots.rows.measured_rates import RECENT_INTERVALS

DAY_US = 86_400_000_000

#: (process id, task id)
Seat: TypeAlias = tuple[str | None, str | None]

#: How much is looked at first, next, and in the end: so many days, then all there is.
DAYS = (1, 8, None)

#: So many rows of a store have all the last intervals.
ENOUGH_ROWS = RECENT_INTERVALS + 1
#: How many more rows may be read so that those of all stores of an application are of one time.
_SPARE = 2
#: The earliest time that there is, in microseconds since 1970.
FIRST_US = -(2**63)


class LagsWanted(NamedTuple):
    """What is to be known of the lags of one application.

    ``until_us`` is the latest time that counts, in microseconds since 1970, ``None`` for no limit; ``day_us`` how much
    counts in any case: a day, or as long as state is kept that nobody is assigned, or as rates go over. Of the copies
    that are assigned those in ``standby`` must be found, and those in ``active`` if any of them is: many histories
    leave them out.
    """

    until_us: int | None = None
    day_us: int = DAY_US
    active: frozenset[Seat] = frozenset()
    standby: frozenset[Seat] = frozenset()

    def over(self, time_ms: int) -> LagsWanted:
        """Return the same where so much counts at least."""
        return self._replace(day_us=max(self.day_us, time_ms * 1000))

    def found_by(self, seats: Iterable[Seat]) -> bool:
        """Tell whether all that must be found is among the seats."""
        found = set(seats)
        return self.standby <= found and (self.active <= found or not self.active & found)


class StoreCount(NamedTuple):
    """How often a store was heard of, as its rows name it, and when first and last.

    ``process`` is the process id as it is compared. ``oldest_us`` and ``newest_us`` are of the rows that were looked at
    and have a time that can be read; ``unreadable`` those with one that cannot. ``rows`` are how many are within each
    of :data:`DAYS`, 0 where that is known not to be enough.
    """

    process_id: str | None
    process: str | None
    task_id: str | None
    store: str | None
    oldest_us: int | None
    newest_us: int | None
    unreadable: int
    rows: Sequence[int]

    def plus(self, other: StoreCount) -> StoreCount:
        """Return what is known of the store with what other files say of it."""
        newest = [one.newest_us for one in (self, other) if one.newest_us is not None]
        oldest = [one.oldest_us for one in (self, other) if one.oldest_us is not None]
        return self._replace(
            oldest_us=min(oldest, default=None),
            newest_us=max(newest, default=None),
            unreadable=self.unreadable + other.unreadable,
            rows=[sum(both) for both in zip(self.rows, other.rows, strict=True)],
        )

    def rows_within(self, us: int) -> int:
        """Return how many rows there are so long before the newest one, if they come evenly."""
        if self.oldest_us is None or self.newest_us is None or self.oldest_us == self.newest_us:
            return 1
        return 1 + max(us, 0) * (self.rows[-1] - 1) // (self.newest_us - self.oldest_us)


class Pick(NamedTuple):
    """The rows of a store that count: those since a time, or those without one."""

    store: StoreCount
    since_us: int | None


def enough(wanted: LagsWanted, stores: Sequence[StoreCount], level: int) -> bool:
    """Tell whether what is within one of :data:`DAYS` says enough, so that what is older does not count."""
    if DAYS[level] is None:
        return True
    heard = [store for store in stores if store.rows[level]]
    often = max((store.rows[level] for store in heard), default=0) >= ENOUGH_ROWS
    return often and wanted.found_by((store.process, store.task_id) for store in heard)


def picks(
    wanted: LagsWanted, stores: Sequence[StoreCount], level: int, anchor_us: int, rates_over_ms: int | None
) -> list[Pick]:
    """Return which rows of which stores are needed: the newest, and those that its last intervals begin and end with.

    Without ``rates_over_ms`` the last intervals of a store are looked for where they are if its rows come evenly;
    whoever finds fewer there has to look at all of its rows. A row whose time cannot be read might be the newest; one
    without a time is older than any other.

    Args:
        wanted: what is to be known.
        stores: what is known of the stores.
        level: which of :data:`DAYS` counts.
        anchor_us: when these days end.
        rates_over_ms: what rates go over; ``None``: the last few intervals.
    """
    begin_us = begin_of(wanted, level, anchor_us)
    newest_us = max((store.newest_us for store in stores if store.newest_us is not None), default=anchor_us)
    found = []
    for store in stores:
        if store.unreadable or (DAYS[level] is None and store.newest_us is None):
            found.append(Pick(store, None))
        elif store.rows[level] and store.newest_us is not None:
            since_us = _since(store) if rates_over_ms is None else newest_us - rates_over_ms * 1000
            found.append(Pick(store, min(max(since_us, begin_us), store.newest_us)))
    return found


def begin_of(wanted: LagsWanted, level: int, anchor_us: int) -> int:
    """Return since when rows count at all."""
    days = DAYS[level]
    return FIRST_US if days is None else max(anchor_us - days * wanted.day_us, FIRST_US)


def _since(store: StoreCount) -> int:
    """Return since when a store was heard of often enough if its rows come evenly, with one to spare."""
    assert store.oldest_us is not None
    assert store.newest_us is not None
    if store.rows[-1] <= ENOUGH_ROWS:
        return store.oldest_us
    return store.newest_us - (store.newest_us - store.oldest_us) * ENOUGH_ROWS // (store.rows[-1] - 1)


def since_for_all(found: Sequence[Pick]) -> int | None:
    """Return a time since when the rows of all stores are hardly more than those picked; ``None``: there is none."""
    times = [pick.since_us for pick in found if pick.since_us is not None]
    if len(times) < len(found) or not times:
        return None
    first = min(times)
    rows = [0, 0]
    for store, since_us in found:
        for number, us in enumerate((first, since_us)):
            assert us is not None
            assert store.newest_us is not None
            rows[number] += store.rows_within(store.newest_us - us)
    return first if rows[0] <= _SPARE * rows[1] else None
