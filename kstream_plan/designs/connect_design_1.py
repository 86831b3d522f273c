"""Design I of incremental cooperative rebalancing, and what the designs that build on it share.

Unassigned items are placed at once, surplus items are revoked at once. What is free and what deleted follows from what
is configured and what members report, not from who leads (page ``connect-rules``, designs I, II and III).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from kstream_plan.designs.connect.cluster import Rules
from kstream_plan.designs.connect.design import Connect
from kstream_plan.designs.connect.draft import ConnectAnswer, ConnectRound, Draft, LeaderMemory, not_decided
from kstream_plan.designs.connect.frozen import without_memory
from kstream_plan.model import Note
from kstream_plan.model.connect_group import ConnectGroup, GroupMemory
from kstream_plan.plans.design import FinishedRun


class StatelessDraft(Draft):
    """A round under way that needs no memory: ``free`` are, by kind, the items that nobody reports, sorted."""

    def __init__(self, connect_round: ConnectRound) -> None:
        super().__init__(connect_round)
        self.take_away([self.active[kind].difference(self.configured[kind]) for kind in (0, 1)])
        self.free: list[list[Any]] = [
            [item for item in self.configured[kind] if item not in self.active[kind]] for kind in (0, 1)
        ]


def decide(connect_round: ConnectRound, memory: LeaderMemory) -> ConnectAnswer:
    """Decide one round."""
    if connect_round.leader_is_behind:
        return not_decided(connect_round, memory)
    draft = StatelessDraft(connect_round)
    draft.take_first(draft.surplus())
    draft.give(draft.free)
    return draft.answer(memory, delay_ms=0)


#: How rounds go.
DESIGN_1 = Rules(decide)


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
