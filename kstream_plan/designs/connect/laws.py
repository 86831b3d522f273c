"""What an older release of Connect decides otherwise than the newest, by the changes of :mod:`model.releases`."""

from __future__ import annotations

from typing import NamedTuple

from kstream_plan.model.releases import (
    DELAY_ENDS,
    LOST_TO_ALL_IDLE,
    NO_DELAY_AT_ONCE,
    REPEATS_COUNT,
    SHARES_EVENED_OUT,
    ZOMBIES,
)


class ConnectLaws(NamedTuple):
    """What holds in a release that later ones have changed; all are false in the newest.

    Attributes:
        waits_without_delay: without a delay, what a worker had that is gone runs nowhere until the next rebalance.
        evens_out_seldom: work is revoked only where a worker has none, never twice in a row, down to the share rounded
            up; and work is given out as if nothing were revoked.
        repeats_count_once: what two have counts once where shares are found; from 3.4 on it has no share.
        lost_to_one: what is lost goes to the first idle worker, and fewer items are revoked for new ones.
        trusts_reports: what two report stays with both, and a leader remembers neither its generation nor its members:
            its memory always counts, and whatever is lost is waited for.
        keeps_delay: a delay goes on where nothing is lost any more.
    """

    waits_without_delay: bool = False
    evens_out_seldom: bool = False
    repeats_count_once: bool = False
    lost_to_one: bool = False
    trusts_reports: bool = False
    keeps_delay: bool = False


#: The laws of the newest release.
NEWEST = ConnectLaws()


def connect_laws_of(release: str | None) -> ConnectLaws:
    """Return the laws of a release; ``None``: it is unknown, and the newest counts."""
    return ConnectLaws(
        waits_without_delay=not NO_DELAY_AT_ONCE.is_in(release),
        evens_out_seldom=not SHARES_EVENED_OUT.is_in(release),
        repeats_count_once=not REPEATS_COUNT.is_in(release),
        lost_to_one=not LOST_TO_ALL_IDLE.is_in(release),
        trusts_reports=not ZOMBIES.is_in(release),
        keeps_delay=not DELAY_ENDS.is_in(release),
    )
