"""What a rebalance makes of a decision."""

from __future__ import annotations

from dataclasses import dataclass

from kstream_plan.model import Holdings, Owners

EAGER = "eager"
COOPERATIVE = "cooperative"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """What the members hold after one rebalance, by consumer index.

    ``before`` is what they held, ``decided`` what they are to hold. A follow-up rebalance comes at once if and only if
    something is revoked or withheld (``follow_up``). ``revoking`` are the consumers that give up an active task,
    ``waiting`` those from which one is withheld; both rejoin at once (``disturbed``), the others hear of the follow-up
    by heartbeat.
    """

    before: Holdings
    decided: Holdings
    holdings: Holdings
    revoking: frozenset[int] = frozenset()
    waiting: frozenset[int] = frozenset()

    @property
    def owners(self) -> tuple[Owners, Owners, Owners]:
        """Who owns each stateless task before, was decided to, and owns it after."""
        return self.before.owners, self.decided.owners, self.holdings.owners

    @property
    def follow_up(self) -> bool:
        """Whether the next rebalance comes at once: so too where a task is revoked and for whom is unknown."""
        return bool(self.waiting or self.revoking)

    @property
    def disturbed(self) -> frozenset[int]:
        """The consumers with a reason of their own to rejoin at once."""
        return self.revoking | self.waiting
