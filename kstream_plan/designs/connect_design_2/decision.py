"""Design II's decision: as Design I's, but what is lost waits until a deadline that the whole group remembers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from kstream_plan.designs.connect.draft import ConnectAnswer, ConnectRound, LeaderMemory, Surplus, not_decided
from kstream_plan.designs.connect_design_1.decision import StatelessDraft
from kstream_plan.model.connect_group import GroupMemory


class Taken(NamedTuple):
    """What is taken away in a round, after how long the next one comes, and when more may be taken away."""

    surplus: Surplus
    delay_ms: int = 0
    next_step_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Deferred:
    """The rule of Design II: what is lost waits for ``delay_ms`` (``None``: as long as workers are configured to).

    ``defer_join``: what members have too much of waits in the same way.
    """

    delay_ms: int | None = None
    defer_join: bool = False

    def decide(self, of: ConnectRound, memory: LeaderMemory) -> ConnectAnswer:
        """Decide one round."""
        if of.behind:
            return not_decided(of, memory)
        draft, known = StatelessDraft(of), of.shared.known
        lost = [[item for item in items if item in known] for items in draft.free]
        others = [[item for item in items if item not in known] for items in draft.free]
        surplus = draft.surplus()
        deadline_ms = None
        if any(lost) or (self.defer_join and any(surplus)):
            deadline_ms = of.shared.deadline_ms
            if deadline_ms is None:
                deadline_ms = of.now_ms + (of.max_delay_ms if self.delay_ms is None else self.delay_ms)
        if deadline_ms is not None and of.now_ms < deadline_ms:
            taken = Taken(({}, {}), deadline_ms - of.now_ms, of.shared.next_step_ms)
            waiting, placed = lost, others
        else:
            deadline_ms = None
            taken = self.taken(surplus, of)
            waiting, placed = [[], []], [[*new, *old] for new, old in zip(others, lost, strict=True)]
        draft.take_first(taken.surplus)
        draft.give(placed)
        return draft.answer(
            memory,
            # who has lost something joins again at once, and with it all
            0 if any(items for kind in draft.revoke for items in kind.values()) else taken.delay_ms,
            shared=GroupMemory(
                known=frozenset(chain(*waiting, *(items for kind in draft.next for items in kind.values()))),
                deadline_ms=deadline_ms,
                next_step_ms=taken.next_step_ms,
            ),
        )

    def taken(self, surplus: Surplus, _of: ConnectRound) -> Taken:
        """Return what is taken away when nothing waits: all that is too much."""
        return Taken(surplus)
