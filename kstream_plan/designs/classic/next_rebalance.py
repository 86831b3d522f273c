"""When the next rebalance comes by itself: what is withheld follows up, and while copies warm up, the leader probes.

Source: page ``rules``, "From one generation to the next".
"""

from __future__ import annotations

from typing import NamedTuple

from kstream_plan.engine.codes import AT_ONCE_MS
from kstream_plan.model import GroupState, KnownDecision
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import newcomers
from kstream_plan.plans import Trigger
from kstream_plan.plans.design import NextRebalance, Rebalance
from kstream_plan.protocols import Transition


class RebalanceTiming(NamedTuple):
    """Delays from an assignment to the next rebalance.

    ``at_once_ms``: of a follow-up, if every consumer has a reason of its own to rejoin; ``heartbeat``: of any other
    follow-up, in heartbeat intervals. ``probe_slack``: after the probing interval, as a part of the time until the next
    heartbeat; heartbeats count from the assignment. ``assume_caught_up``: copies restored by then are reported, though
    their consumer may rejoin too soon for that; a late consumer reports them. ``at_probes``: copies of unknown restore
    rate are not caught up at a follow-up, however old they are, and copies of known rate do not begin before a
    follow-up that comes right after they were placed. ``ready_last``: nor are the former at a probe while a join or
    leave is still to come, as if they restored ever so slowly until then.
    """

    at_once_ms: int
    heartbeat: float
    probe_slack: float
    assume_caught_up: bool = False
    at_probes: bool = False
    ready_last: bool = False


TYPICAL = RebalanceTiming(AT_ONCE_MS, 1.0, 1.0)
#: The least that was seen of 131 rebalances was 44 ms, 0.96, and 0.02 heartbeat intervals.
SOONEST = RebalanceTiming(0, 0.95, 0.0, assume_caught_up=True)
#: On a busy machine a follow-up came so late although every consumer had a reason of its own to rejoin.
LATE_MS = 1_300
LATE = RebalanceTiming(LATE_MS, 1.0, 1.0, assume_caught_up=True)
AT_PROBES = TYPICAL._replace(at_probes=True)
READY_LAST = AT_PROBES._replace(ready_last=True)


def next_rebalance(
    rebalance: Rebalance,
    transition: Transition,
    known_decision: KnownDecision | None,
    config: AssignmentConfig,
    timing: RebalanceTiming,
) -> NextRebalance | None:
    """Return when the follow-up or the probing rebalance after ``rebalance`` comes; ``None``: nothing is due.

    ``known_decision``: the rebalance is this decision from before the plan, whose next rebalance is known.
    """
    every_ms = probe_ms(rebalance, config)
    slack_ms = int(timing.probe_slack * (config.heartbeat_interval_ms - every_ms % config.heartbeat_interval_ms))
    joining_consumers = () if known_decision is None else _joining_consumers(rebalance.state, known_decision)
    rejoining_consumers = () if known_decision is None else known_decision.rejoining
    follow_up = transition.follow_up or bool(rejoining_consumers)
    if joining_consumers and not follow_up:
        return NextRebalance(0, Trigger.JOIN)
    if known_decision is not None and known_decision.next_ms is not None:
        return NextRebalance(known_decision.next_ms + slack_ms, Trigger.PROBING)
    if follow_up:
        everyone_at_once = len(transition.disturbed.union(rejoining_consumers)) == len(rebalance.held) - len(
            joining_consumers
        )
        if not transition.waiting_consumers and not rejoining_consumers:
            everyone_at_once = timing == SOONEST  # for whom the tasks are revoked is not known: it may be the others
        after_ms = timing.at_once_ms if everyone_at_once else int(timing.heartbeat * config.heartbeat_interval_ms)
        return NextRebalance(rebalance.at_ms + after_ms, Trigger.FOLLOW_UP, under_way=True)
    if rebalance.probing_rebalance:
        return NextRebalance(rebalance.at_ms + every_ms + slack_ms, Trigger.PROBING)
    return None


def probe_ms(rebalance: Rebalance, config: AssignmentConfig) -> int:
    """Return how long after a decision its leader probes: by the decision's own deadline, else by the settings."""
    own_ms = None if rebalance.follows is None else rebalance.follows.again_ms
    return config.probing_rebalance_interval_ms if own_ms is None else own_ms


def _joining_consumers(state: GroupState, known_decision: KnownDecision) -> tuple[int, ...]:
    """Return the consumers of instances that came after the decision: they join now."""
    consumers_by_newcomer = [state.group.consumers_of[instance] for instance in newcomers(state)]
    return tuple(
        consumer
        for consumers in consumers_by_newcomer
        if set(consumers) <= set(known_decision.others)
        for consumer in consumers
    )
