"""Which rows before the newest one of an application tell whether its copies come closer.

The rule is that of :mod:`kstream_plan.snapshots.spark.newest_snapshots`, to the last row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kstream_plan.snapshots.files.newest_rows import Keyed

#: So many rows before the newest one are looked at.
MOST_EARLIER = 10

#: So much earlier a row has to be: what changes within less says little.
EARLIER_BY_US = 60_000_000


def earlier_rows(newest: Keyed, rows: Sequence[Keyed]) -> tuple[bytes, ...]:
    """Return the texts of the rows to hold the newest one against, the latest first; none if nothing tells.

    Of those a minute or more before it the latest, and the latest of a lower generation: members report their offsets
    when they join, so that within a generation rows may repeat the same report.

    Args:
        newest: the newest row.
        rows: all rows of its application, the newest too.
    """
    if newest.unreadable or newest.at_us is None:
        return ()
    latest = sorted(rows, key=lambda row: (row.age, row.row.text), reverse=True)
    last = latest[min(MOST_EARLIER, len(latest) - 1)]
    limit_us = newest.at_us - EARLIER_BY_US
    early = [row for row in latest if row.age >= last.age and row.at_us is not None and row.at_us <= limit_us]
    below = [row for row in early if (row.generation or 0) < (newest.generation or 0)]
    return tuple(dict.fromkeys(row.row.text for row in (*early[:1], *below[:1])))
