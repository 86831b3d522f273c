"""Design I's decision: unassigned items are placed at once, surplus items are revoked at once.

What is free and what deleted follows from what is configured and what members report, not from who leads (connect
rules, designs I, II and III).
"""

from __future__ import annotations

from typing import Any

from kstream_plan.designs.connect.cluster import Rules
from kstream_plan.designs.connect.draft import ConnectAnswer, ConnectRound, Draft, LeaderMemory, not_decided


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
