"""When the members of a streams group speak to the broker, and what they say then.

The broker pushes nothing: a member hears of anything at its own heartbeat, and nobody knows when those are. They count
as spread evenly over the interval here; the soonest and the latest that they can be are the ends of what may happen.

Source: page ``streams-rules``, "One heartbeat"; page ``streams-rules``, "Time in streams groups".
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

#: From a member's new tasks until it has revoked and applied them, and confirms so in a heartbeat of its own.
APPLY_MS = 100


class Pace(StrEnum):
    """When members speak, once they would hear something new.

    ``APART``: members that give up active tasks speak at once, all others as late as can be: tasks pause longest.
    """

    TYPICAL = "typical"
    SOONEST = "soonest"
    LATEST = "latest"
    APART = "apart"

    def of_member(self, *, gives_up: bool) -> Pace:
        """Return the pace of one that hears something new: whether it ``gives_up`` active tasks then."""
        if self is not Pace.APART:
            return self
        return Pace.SOONEST if gives_up else Pace.LATEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Beats:
    """The heartbeats of one member.

    They come at ``phase_ms`` and every interval from then. ``applied_at_ms``: when it confirms its last
    assignment, if it has not yet. ``hears_at_ms``: when it hears something new, if there is anything to hear.
    """

    phase_ms: int
    applied_at_ms: int | None = None
    hears_at_ms: int | None = None

    def after_assignment(self, at_ms: int) -> Beats:
        """Return the heartbeats of a member that has just got new tasks."""
        return replace(self, applied_at_ms=at_ms + APPLY_MS)

    def after_heartbeat(self, at_ms: int) -> Beats:
        """Return the heartbeats of a member that has just sent one."""
        applied_at_ms = None if self.reports_tasks(at_ms) else self.applied_at_ms
        return replace(self, applied_at_ms=applied_at_ms, hears_at_ms=None)

    def reports_tasks(self, at_ms: int) -> bool:
        """Tell whether its heartbeat of now reports its tasks, because they have changed."""
        return self.applied_at_ms is not None and self.applied_at_ms <= at_ms

    def next_ms(self, from_ms: int, interval_ms: int, pace: Pace) -> int:
        """Return when it speaks, at ``from_ms`` or later."""
        if self.applied_at_ms is not None and self.applied_at_ms >= from_ms:
            return self.applied_at_ms
        if pace is Pace.SOONEST:
            return from_ms
        if pace in (Pace.LATEST, Pace.APART):
            return from_ms + interval_ms
        return from_ms + (self.phase_ms - from_ms) % interval_ms


def spread_beats(member_ids: Sequence[str], interval_ms: int, *, from_now: bool, draw: int = 0) -> dict[str, Beats]:
    """Return heartbeats whose times are unknown, by member: spread evenly over the interval, or at random.

    ``from_now``: the first of them speaks now, at 0. ``draw``: above 0, the number of a random spread.
    """
    half_steps = 2 * len(member_ids)
    phases_ms = [(2 * place + (not from_now)) * interval_ms // half_steps for place in range(len(member_ids))]
    if draw:
        source = random.Random(draw)
        phases_ms = [source.randrange(interval_ms) for _ in member_ids]
        first_ms = min(phases_ms, default=0) if from_now else 0
        phases_ms = [phase_ms - first_ms for phase_ms in phases_ms]
    return {member_id: Beats(phase_ms=phase_ms) for member_id, phase_ms in zip(member_ids, phases_ms, strict=True)}
