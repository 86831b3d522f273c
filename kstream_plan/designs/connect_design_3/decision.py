"""Design III's decision: as Design II's, but what members have too much of is taken away in steps, with pauses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kstream_plan.designs.connect.draft import ConnectRound, Surplus
from kstream_plan.designs.connect_design_2.decision import Deferred, Taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepwise(Deferred):
    """The rule of Design III: at most ``step`` connectors and as many tasks at once, then nothing for ``pause_ms``."""

    step: int
    pause_ms: int

    def taken(self, surplus: Surplus, of: ConnectRound) -> Taken:
        """Return what is taken away when nothing waits: the first of what is too much, unless it is too early."""
        next_step_ms = of.shared.next_step_ms
        if next_step_ms is not None and of.now_ms < next_step_ms:
            return Taken(({}, {}), next_step_ms - of.now_ms, next_step_ms)
        first = [self._first(kind) for kind in surplus]
        return Taken(first, next_step_ms=None if first == [*surplus] else of.now_ms + self.pause_ms)

    def _first(self, surplus: Mapping[str, int]) -> dict[str, int]:
        left, found = self.step, {}
        for member, number in surplus.items():
            if left:
                found[member] = min(number, left)
                left -= found[member]
        return found
