"""Design III of incremental cooperative rebalancing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kstream_plan.designs.connect.cluster import Rules
from kstream_plan.designs.connect_design_1.design import ConnectDesign1
from kstream_plan.designs.connect_design_3.decision import Stepwise

#: The text names none; ours.
STEP, STEP_PAUSE_MS = 10, 60_000


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
