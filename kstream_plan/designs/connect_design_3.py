"""Design III of incremental cooperative rebalancing: as II, and surplus work is taken away in steps, with pauses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kstream_plan.designs.connect.cluster import Rules
from kstream_plan.designs.connect.draft import ConnectRound, Surplus
from kstream_plan.designs.connect_design_1 import ConnectDesign1
from kstream_plan.designs.connect_design_2 import Deferred, RevocationStep

#: The text names none; ours.
STEP, STEP_PAUSE_MS = 10, 60_000


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


@dataclass(frozen=True, slots=True)
class ConnectDesign3(ConnectDesign1):
    """Incremental resolution of imbalance: what is lost waits for ``delay_ms``, and what is too much goes in steps.

    ``delay_ms``: ``None`` for ``scheduled.rebalance.max.delay.ms``. At most ``step`` connectors and as many tasks are
    taken away at once, and then none for ``pause_ms``.
    """

    delay_ms: int | None = None
    step: int = STEP
    pause_ms: int = STEP_PAUSE_MS
    name: ClassVar[str] = "connect-design-3"
    models: ClassVar[str] = "Design III of incremental cooperative rebalancing (never released)"
    assignor: ClassVar[str] = "design-3"

    @property
    def rules(self) -> Rules:
        """How rounds go."""
        return Rules(Stepwise(self.delay_ms, step=self.step, pause_ms=self.pause_ms).decide)
