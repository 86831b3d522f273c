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
#: How long before the newest row the rows of a store are counted, to find its last ones.
LATELY_US = tuple(seconds * 1_000_000 for seconds in (60, 240, 900, 3_600, 14_400))

_ENOUGH_ROWS = RECENT_INTERVALS + 1
_FIRST_US = -(2**63)


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
    """How often a store was heard of, as its rows name it, and when last.

    ``process`` is the process id as it is compared. ``newest_us`` is the newest time that can be read. ``rows`` are
    those within each of :data:`DAYS`, ``lately`` those within each of :data:`LATELY_US`; ``unreadable`` those with a
    time that cannot be read.
    """

    process_id: str | None
    process: str | None
    task_id: str | None
    store: str | None
    newest_us: int | None
    unreadable: int
    rows: Sequence[int]
    lately: Sequence[int]

    def plus(self, other: StoreCount) -> StoreCount:
        """Return what is known of the store with what other files say of it."""
        times = [one.newest_us for one in (self, other) if one.newest_us is not None]
        return self._replace(
            newest_us=max(times, default=None),
            unreadable=self.unreadable + other.unreadable,
            rows=[sum(both) for both in zip(self.rows, other.rows, strict=True)],
            lately=[sum(both) for both in zip(self.lately, other.lately, strict=True)],
        )


class Pick(NamedTuple):
    """The rows of a store that count: those since a time, or those without one."""

    store: StoreCount
    since_us: int | None


def enough(wanted: LagsWanted, stores: Sequence[StoreCount], level: int) -> bool:
    """Tell whether what is within one of :data:`DAYS` says enough, so that what is older does not count."""
    if DAYS[level] is None:
        return True
    heard = [store for store in stores if store.rows[level]]
    often = max((store.rows[level] for store in heard), default=0) >= _ENOUGH_ROWS
    return often and wanted.found_by((store.process, store.task_id) for store in heard)


def picks(
    wanted: LagsWanted, stores: Sequence[StoreCount], level: int, anchor_us: int, rates_over_ms: int | None
) -> list[Pick]:
    """Return which rows of which stores are needed: the newest, and those that its last intervals begin and end with.

    A row whose time cannot be read might be the newest; one without a time is older than any other.

    Args:
        wanted: what is to be known.
        stores: what is known of the stores.
        level: which of :data:`DAYS` counts.
        anchor_us: when these days end.
        rates_over_ms: what rates go over; ``None``: the last few intervals.
    """
    days = DAYS[level]
    begin_us = _FIRST_US if days is None else anchor_us - days * wanted.day_us
    newest_us = max((store.newest_us for store in stores if store.newest_us is not None), default=anchor_us)
    found = []
    for store in stores:
        if store.unreadable or (days is None and store.newest_us is None):
            found.append(Pick(store, None))
        elif store.rows[level] and store.newest_us is not None:
            if rates_over_ms is not None:
                since_us = newest_us - rates_over_ms * 1000
            else:
                lately = zip(LATELY_US, store.lately, strict=True)
                since_us = next((anchor_us - us for us, rows in lately if rows >= _ENOUGH_ROWS), begin_us)
            found.append(Pick(store, min(max(since_us, begin_us), store.newest_us)))
    return found
