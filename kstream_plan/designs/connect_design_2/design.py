"""Design II of incremental cooperative rebalancing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kstream_plan.designs.connect.cluster import Rules
from kstream_plan.designs.connect_design_1.design import ConnectDesign1
from kstream_plan.designs.connect_design_2.decision import Deferred


@dataclass(frozen=True, slots=True)
class ConnectDesign2(ConnectDesign1):
    """Deferred resolution of imbalance: lost work waits for ``delay_ms``, under any leader.

    ``delay_ms``: ``None`` for ``scheduled.rebalance.max.delay.ms``. ``defer_join``: surplus work waits as long
    when a worker joins.
    """

    delay_ms: int | None = None
    defer_join: bool = False
    name: ClassVar[str] = "connect-design-2"
    models: ClassVar[str] = "Design II of incremental cooperative rebalancing (never released)"
    assignor: ClassVar[str] = "design-2"

    @property
    def rules(self) -> Rules:
        """How rounds go."""
        return Rules(Deferred(self.delay_ms, self.defer_join).decide)
