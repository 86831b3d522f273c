"""What members hold after a rebalance, given a decision."""

from __future__ import annotations

from dataclasses import dataclass

from kstream_plan.model import Holdings, Owners

EAGER = "eager"
COOPERATIVE = "cooperative"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """What the members hold after one rebalance, by consumer index.

    ``previous_holdings`` are those before, ``decided_holdings`` those that the assignor decided. A follow-up rebalance
    comes at once if and only if something is revoked or withheld (``follow_up``). ``revoking_consumers`` give up an
    active task, from ``waiting_consumers`` one is withheld; both rejoin at once (``disturbed``), the others hear of the
    follow-up by heartbeat.
    """

    previous_holdings: Holdings
    decided_holdings: Holdings
    holdings: Holdings
    revoking_consumers: frozenset[int] = frozenset()
    waiting_consumers: frozenset[int] = frozenset()

    @property
    def owners(self) -> tuple[Owners, Owners, Owners]:
        """The owners of each stateless task: before, as decided, and after."""
        return self.previous_holdings.owners, self.decided_holdings.owners, self.holdings.owners

    @property
    def follow_up(self) -> bool:
        """Whether the next rebalance comes at once; it does, too, where a task is revoked for an unknown consumer."""
        return bool(self.waiting_consumers or self.revoking_consumers)

    @property
    def disturbed(self) -> frozenset[int]:
        """The consumers with a reason of their own to rejoin at once."""
        return self.revoking_consumers | self.waiting_consumers
