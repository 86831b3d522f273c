"""State on disk, and how far behind it is as Kafka sees it.

Source: page ``rules``, "Lag and rank".
"""

from __future__ import annotations

from typing import NamedTuple

from kstream_plan.model.settings import MAX_LONG

#: Kafka's marker for the running active owner: caught up whatever the limit.
LATEST = -2
#: Kafka's marker for a copy whose offset sum is unknown: not caught up, but sorted before every other lag.
UNKNOWN = -3


class Copy(NamedTuple):
    """State of one task on one instance's disk, assigned to one of its consumers or left over.

    ``lag`` is what the instance last reported, as Kafka sees it: :data:`LATEST`, :data:`UNKNOWN`, records behind
    (0 … the task's end-offset sum), or ``None`` if it has reported nothing yet, which counts as no state at all.
    ``reporters`` are the consumers that reported it (the split calls it their previous task).
    ``remaining`` is what there is still to restore, reported or not. ``consumer`` is the one that holds it, in
    whatever role, ``active`` tells whether that role is active. ``placed_in`` is the generation whose assignment put
    the copy there; ``lost_at_ms`` the time since which it is left over (``None`` while it is assigned), ``made_at_ms``
    when there was none before it (``None``: not known).
    """

    instance: int
    lag: int | None
    reporters: tuple[int, ...] = ()
    remaining: int = 0
    consumer: int | None = None
    active: bool = False
    placed_in: int = -1
    lost_at_ms: int | None = None
    made_at_ms: int | None = None


def whole_sum(lag: int | None, end_offset_sum: int) -> int:
    """The lag as Kafka's ``lagFor`` gives it: what was not reported counts as the task's whole end-offset sum."""
    return min(end_offset_sum, MAX_LONG) if lag is None else lag
