"""The protocol before KIP-429: every member gives up everything before it joins, so one generation moves it all."""

from __future__ import annotations

from kstream_plan.model import Assignment, Group, GroupState
from kstream_plan.protocols import cooperative
from kstream_plan.protocols.transition import Transition


def rebalance(state: GroupState, decision: Assignment, *, any_temporary: bool = False) -> Transition:
    """Say what every member holds once it has received the decision: what was decided, since nobody owns anything.

    No follow-up ever comes. The price is that every task stands still at every rebalance, moved or not. Reports are
    taken as they are under the cooperative protocol (a suspended task is as caught up as a running one).
    """
    return cooperative.rebalance(state, decision, gives_up(state.group), any_temporary=any_temporary)


def gives_up(group: Group) -> frozenset[int]:
    """Return the consumers that give up everything before they join: all of them."""
    return frozenset(range(len(group.consumer_ids)))
