"""Rebalance protocols: how a group gets from what it holds to what was decided. One line each in ``PROTOCOLS``.

Source: page ``rules``, "One cooperative rebalance". What members then hold: ``engine.decision``.

Under the cooperative protocol (KIP-429) an active task is handed over only after its owner has revoked it. Whoever
gives it up before it joins owns nothing then, so that one generation moves it; no follow-up comes for that. The price
is that all its tasks stand still at every rebalance, moved or not. What it reports is the same either way: a suspended
task is as caught up as a running one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from kstream_plan.model import Group, Holdings, Owners
from kstream_plan.model.releases import NO_COPY_NO_TEMPORARY

EAGER = "eager"
COOPERATIVE = "cooperative"


@dataclass(frozen=True, slots=True)
class Protocol:
    """Which consumers of a group give up everything before they join a rebalance, so that it has no owner then.

    ``any_temporary``: a task that is withheld is a standby meanwhile, whether there is a copy of it or not.
    """

    gives_up: Callable[[Group], frozenset[int]]
    any_temporary: bool = False

    def of_release(self, release: str | None) -> Protocol:
        """Return the protocol of a release of Kafka; ``None``: it is unknown, and the newest counts."""
        return replace(self, any_temporary=not NO_COPY_NO_TEMPORARY.is_in(release))


def _no_consumers(_group: Group) -> frozenset[int]:
    """Return who gives up everything under the cooperative protocol: no consumer."""
    return frozenset()


def _all_consumers(group: Group) -> frozenset[int]:
    """Return who gives up everything under the protocol before KIP-429: every consumer."""
    return frozenset(range(len(group.consumer_ids)))


def _eager_consumers(group: Group) -> frozenset[int]:
    """Return who gives up everything in the second of the two rolling bounces of an upgrade (KIP-429).

    These are the ones that list anything else beside or instead of ``cooperative``: a consumer does what every protocol
    it lists allows. The others' tasks are withheld until they have revoked them; then all join again, and the eager
    ones stop once more.
    """
    consumers = (consumer for instance in group.instances for consumer in instance.consumers)
    return frozenset(index for index, consumer in enumerate(consumers) if {*consumer.protocols} - {COOPERATIVE})


#: Every protocol by its name on the command line.
PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        "cooperative": Protocol(_no_consumers),
        "eager": Protocol(_all_consumers),
        "mixed": Protocol(_eager_consumers),
    }
)


def gives_up(group: Group, protocol: str) -> frozenset[int]:
    """Return the consumers that give up everything before they join a rebalance.

    Raises:
        KeyError: no such protocol.
    """
    return PROTOCOLS[protocol].gives_up(group)


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
