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

from kstream_plan.model import Group
from kstream_plan.model.releases import NO_COPY_NO_TEMPORARY
from kstream_plan.protocols.transition import COOPERATIVE, Transition

__all__ = ["PROTOCOLS", "Protocol", "Transition", "gives_up"]


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
    """Return the consumers that do under the cooperative protocol."""
    return frozenset()


def _all_consumers(group: Group) -> frozenset[int]:
    """Return the consumers that do under the protocol before KIP-429."""
    return frozenset(range(len(group.consumer_ids)))


def _eager_consumers(group: Group) -> frozenset[int]:
    """Return the consumers that do in the second of the two rolling bounces of an upgrade (KIP-429).

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
