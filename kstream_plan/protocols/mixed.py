"""A group of eager and cooperative members, as in the second of the two rolling bounces of an upgrade (KIP-429)."""

from __future__ import annotations

from kstream_plan.model import Assignment, Group, GroupState
from kstream_plan.protocols import cooperative
from kstream_plan.protocols.transition import COOPERATIVE, Transition


def rebalance(state: GroupState, decision: Assignment, *, any_temporary: bool = False) -> Transition:
    """Say what every member holds once it has received the decision; each consumer's ``protocols`` decide what it does.

    Who lists ``eager`` gives up everything before it joins, and its tasks are handed over at once; who lists
    ``cooperative`` alone keeps what it owns, and its tasks are withheld until it has revoked them. If any is, all join
    again, and the eager ones stop once more.
    """
    return cooperative.rebalance(state, decision, gives_up(state.group), any_temporary=any_temporary)


def gives_up(group: Group) -> frozenset[int]:
    """Return the consumers that give up everything before they join.

    These are the ones that list anything else beside or instead of ``cooperative``: a consumer does what every protocol
    it lists allows (KIP-429, upgrade path).
    """
    consumers = (consumer for instance in group.instances for consumer in instance.consumers)
    return frozenset(index for index, consumer in enumerate(consumers) if {*consumer.protocols} - {COOPERATIVE})
