"""Who gives up everything before it joins a rebalance, by protocol.

Source: page ``rules``, "One cooperative rebalance".

Under the cooperative protocol (KIP-429) an active task is handed over only after its owner has revoked it. Whoever
gives it up before it joins owns nothing then, so that one generation moves it; no follow-up comes for that. The price
is that all its tasks stand still at every rebalance, moved or not. What it reports is the same either way: a suspended
task is as caught up as a running one.
"""

from __future__ import annotations

from kstream_plan.model import Group
from kstream_plan.protocols.transition import COOPERATIVE


def none(_group: Group) -> frozenset[int]:
    """Return the consumers that do under the cooperative protocol."""
    return frozenset()


def all_consumers(group: Group) -> frozenset[int]:
    """Return the consumers that do under the protocol before KIP-429."""
    return frozenset(range(len(group.consumer_ids)))


def eager_consumers(group: Group) -> frozenset[int]:
    """Return the consumers that do in the second of the two rolling bounces of an upgrade (KIP-429).

    These are the ones that list anything else beside or instead of ``cooperative``: a consumer does what every protocol
    it lists allows. The others' tasks are withheld until they have revoked them; then all join again, and the eager
    ones stop once more.
    """
    consumers = (consumer for instance in group.instances for consumer in instance.consumers)
    return frozenset(index for index, consumer in enumerate(consumers) if {*consumer.protocols} - {COOPERATIVE})
