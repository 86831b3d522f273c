"""What a rebalance protocol makes of a decision."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Protocol

from kstream_plan.model import Assignment, GroupState, Holdings, Owners

EAGER = "eager"
COOPERATIVE = "cooperative"


class Withheld(NamedTuple):
    """An active stateful task kept from its new owner until the present one has revoked it.

    ``temporary``: the new owner holds its copy as a standby meanwhile.
    """

    task: int
    owner: int
    consumer: int
    temporary: bool


class ActiveChange(NamedTuple):
    """The active stateful tasks that a consumer held before a rebalance and not after it, and the other way round."""

    consumer: int
    lost: AbstractSet[int]
    gained: AbstractSet[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """What the members hold after one rebalance, by consumer index.

    A follow-up rebalance comes at once if and only if something is revoked or withheld (``follow_up``). ``revoking``
    are the consumers that give up an active task, ``waiting`` those from which one is withheld; both rejoin at once
    (``disturbed``), the others hear of the follow-up by heartbeat.

    What happens to the stateless tasks follows from their ``owners``. The rest is about stateful tasks: ``changed``
    has, in order, every consumer that holds something else than before, ``active_changes`` the active tasks that
    changed hands, and ``given_up`` maps every active task that was given up before the rebalance to the consumer that
    had it.
    """

    before: Holdings
    decided: Holdings
    holdings: Holdings
    changed: tuple[int, ...] = ()
    active_changes: tuple[ActiveChange, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    revoking: frozenset[int] = frozenset()
    waiting: frozenset[int] = frozenset()
    given_up: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def owners(self) -> tuple[Owners, Owners, Owners]:
        """Who owns each stateless task before, was decided to, and owns it after."""
        return self.before.owners, self.decided.owners, self.holdings.owners

    @property
    def follow_up(self) -> bool:
        """Whether the next rebalance comes at once: so too where a task is revoked and nobody knows for whom."""
        return bool(self.waiting or self.revoking)

    @property
    def disturbed(self) -> frozenset[int]:
        """The consumers with a reason of their own to rejoin at once."""
        return self.revoking | self.waiting


class Rebalance(Protocol):
    """What a protocol makes of a decision."""

    def __call__(self, state: GroupState, decision: Assignment, *, any_temporary: bool = False) -> Transition:
        """Return what the members then hold; ``any_temporary``: what is withheld needs no copy to be a standby."""
        ...
