"""Design III's decision: as Design II's, but what members have too much of is taken away in steps, with pauses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kstream_plan.designs.connect.draft import ConnectRound, Surplus
from kstream_plan.designs.connect_design_2.decision import Deferred, RevocationStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepwise(Deferred):
    """The rule of Design III: at most ``step`` connectors and as many tasks at once, then nothing for ``pause_ms``."""

    step: int
    pause_ms: int

    def revocation_step(self, surplus: Surplus, connect_round: ConnectRound) -> RevocationStep:
        """Return the step when nothing waits: the first of the surplus is revoked, unless it is too early."""
        next_step_ms = connect_round.group_memory.next_step_ms
        if next_step_ms is not None and connect_round.now_ms < next_step_ms:
            return RevocationStep(({}, {}), next_step_ms - connect_round.now_ms, next_step_ms)
        first = [self._first(kind) for kind in surplus]
        return RevocationStep(first, next_step_ms=None if first == [*surplus] else connect_round.now_ms + self.pause_ms)

    def _first(self, surplus: Mapping[str, int]) -> dict[str, int]:
        remaining, counts = self.step, {}
        for member, number in surplus.items():
            if remaining:
                counts[member] = min(number, remaining)
                remaining -= counts[member]
        return counts
