"""Design I of incremental cooperative rebalancing, and what the designs that build on it share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from kstream_plan.designs.connect.cluster import Rules
from kstream_plan.designs.connect.design import Connect
from kstream_plan.designs.connect.frozen import without_memory
from kstream_plan.designs.connect_design_1.decision import DESIGN_1
from kstream_plan.model import Note
from kstream_plan.model.connect_group import ConnectGroup, GroupMemory
from kstream_plan.plans.design import FinishedRun


@dataclass(frozen=True, slots=True)
class ConnectDesign1(Connect):
    """Simple cooperative rebalancing: what is lost is placed at once, what is too much revoked at once."""

    name: ClassVar[str] = "connect-design-1"
    differs_by_release: ClassVar[bool] = False
    models: ClassVar[str] = "Design I of incremental cooperative rebalancing (never released)"
    assignor: ClassVar[str] = "design-1"
    protocol: ClassVar[str] = "cooperative"

    @property
    def rules(self) -> Rules:
        """How rounds go."""
        return DESIGN_1

    def remembering(self, group: ConnectGroup) -> ConnectGroup:
        """Let the group know the running items, and the leader's lost ones, for which a delay may run."""
        leader = next(worker for worker in group.workers if worker.member_id == group.leader)
        items = (leader.memory.previous, *(worker.held for worker in group.workers))
        known_items = frozenset(item for item_sets in items for kind in item_sets for item in kind)
        group_memory = GroupMemory(known=known_items, deadline_ms=leader.memory.scheduled_at_ms)
        return replace(without_memory(group), shared=group_memory)

    def assumptions(self, run: FinishedRun) -> tuple[Note, ...]:
        """Return the note that the design was never released."""
        message = "This design is in no release: weigh it, do not expect it"
        return (Note("never-released", message), *Connect.assumptions(self, run))
