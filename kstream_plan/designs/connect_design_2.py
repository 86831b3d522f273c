"""Design II of incremental cooperative rebalancing: lost work waits until a deadline that the whole group remembers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, NamedTuple

from kstream_plan.designs.connect.cluster import Rules
from kstream_plan.designs.connect.draft import ConnectAnswer, ConnectRound, LeaderMemory, Surplus, not_decided
from kstream_plan.designs.connect_design_1 import ConnectDesign1, StatelessDraft
from kstream_plan.model.connect_group import GroupMemory


class RevocationStep(NamedTuple):
    """What a round revokes, the delay until the next one, and when more may be revoked."""

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

    def decide(self, connect_round: ConnectRound, memory: LeaderMemory) -> ConnectAnswer:
        """Decide one round."""
        if connect_round.leader_is_behind:
            return not_decided(connect_round, memory)
        draft, known_items = StatelessDraft(connect_round), connect_round.group_memory.known
        lost_items = [[item for item in items if item in known_items] for items in draft.free]
        new_items = [[item for item in items if item not in known_items] for items in draft.free]
        surplus = draft.surplus()
        deadline_ms = None
        if any(lost_items) or (self.defer_join and any(surplus)):
            deadline_ms = connect_round.group_memory.deadline_ms
            if deadline_ms is None:
                deadline_ms = connect_round.now_ms + (
                    connect_round.max_delay_ms if self.delay_ms is None else self.delay_ms
                )
        if deadline_ms is not None and connect_round.now_ms < deadline_ms:
            step = RevocationStep(({}, {}), deadline_ms - connect_round.now_ms, connect_round.group_memory.next_step_ms)
            waiting_items, placed = lost_items, new_items
        else:
            deadline_ms = None
            step = self.revocation_step(surplus, connect_round)
            waiting_items, placed = [[], []], [[*new, *old] for new, old in zip(new_items, lost_items, strict=True)]
        draft.take_first(step.surplus)
        draft.give(placed)
        return draft.answer(
            memory,
            # a worker that lost items joins again at once, and with it all
            0 if any(items for kind in draft.revoke for items in kind.values()) else step.delay_ms,
            group_memory=GroupMemory(
                known=frozenset(chain(*waiting_items, *(items for kind in draft.next for items in kind.values()))),
                deadline_ms=deadline_ms,
                next_step_ms=step.next_step_ms,
            ),
        )

    def revocation_step(self, surplus: Surplus, _connect_round: ConnectRound) -> RevocationStep:
        """Return the step when nothing waits: the whole surplus is revoked."""
        return RevocationStep(surplus)


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
