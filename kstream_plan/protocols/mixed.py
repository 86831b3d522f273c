"""A group of eager and cooperative members, as in the second of the two rolling bounces of an upgrade (KIP-429)."""

from __future__ import annotations

from kstream_plan.model import Assignment, GroupState
from kstream_plan.protocols import cooperative
from kstream_plan.transition import Transition, gives_up


def rebalance(state: GroupState, decision: Assignment) -> Transition:
    """Say what every member holds once it has received the decision; each consumer's ``protocols`` decide what it does.

    Who lists ``eager`` gives up everything before it joins, and its tasks are handed over at once; who lists
    ``cooperative`` alone keeps what it owns, and its tasks are withheld until it has revoked them. If any is, all join
    again, and the eager ones stop once more.
    """
    return cooperative.rebalance(state, decision, gives_up(state.group, "mixed"))
