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
from kstream_plan.plans.design import Due, Turn
from kstream_plan.protocols.transition import Transition


class Clock(NamedTuple):
    """How long after an assignment the next rebalance comes.

    A follow-up: ``at_once_ms`` if every consumer has a reason of its own to rejoin, else ``heartbeat`` of a heartbeat
    interval; a probing rebalance: the probing interval, then ``tick`` of the time until the next heartbeat, which come
    from the assignment on. ``all_ready``: whatever was restored by then is reported, though its consumer may rejoin too
    soon for that; one that is late makes it so. ``at_probes``: copies of unknown restore rate are not caught up at a
    follow-up, however old they are, and copies of known rate do not begin before a follow-up that comes right after
    they were placed; ``ready_last``: nor at a probe while a join or leave is still to come, as if they restored ever
    so slowly until then.
    """

    at_once_ms: int
    heartbeat: float
    tick: float
    all_ready: bool = False
    at_probes: bool = False
    ready_last: bool = False


TYPICAL = Clock(AT_ONCE_MS, 1.0, 1.0)
#: The least that was seen of 131 rebalances was 44 ms, 0.96, and 0.02 heartbeat intervals.
SOONEST = Clock(0, 0.95, 0.0, all_ready=True)
#: On a busy machine a follow-up came so late although every consumer had a reason of its own to rejoin.
LATE_MS = 1_300
LATE = Clock(LATE_MS, 1.0, 1.0, all_ready=True)
AT_PROBES = TYPICAL._replace(at_probes=True)
READY_LAST = AT_PROBES._replace(ready_last=True)


def next_rebalance(
    turn: Turn, transition: Transition, known_decision: KnownDecision | None, config: AssignmentConfig, clock: Clock
) -> Due | None:
    """Return when the follow-up or the probing rebalance after ``turn`` comes; ``None``: nothing is due.

    ``known_decision``: the turn is this decision from before the plan, whose next rebalance is known.
    """
    every_ms = probe_ms(turn, config)
    tick_ms = int(clock.tick * (config.heartbeat_interval_ms - every_ms % config.heartbeat_interval_ms))
    joining_consumers = () if known_decision is None else _joining_consumers(turn.state, known_decision)
    rejoining_consumers = () if known_decision is None else known_decision.rejoining
    follow_up = transition.follow_up or bool(rejoining_consumers)
    if joining_consumers and not follow_up:
        return Due(0, Trigger.JOIN)
    if known_decision is not None and known_decision.next_ms is not None:
        return Due(known_decision.next_ms + tick_ms, Trigger.PROBING)
    if follow_up:
        everyone_at_once = len(transition.disturbed.union(rejoining_consumers)) == len(turn.held) - len(
            joining_consumers
        )
        if not transition.waiting_consumers and not rejoining_consumers:
            everyone_at_once = clock == SOONEST  # for whom the tasks are revoked is not known: it may be the others
        after_ms = clock.at_once_ms if everyone_at_once else int(clock.heartbeat * config.heartbeat_interval_ms)
        return Due(turn.at_ms + after_ms, Trigger.FOLLOW_UP, begun=True)
    if turn.probing_rebalance:
        return Due(turn.at_ms + every_ms + tick_ms, Trigger.PROBING)
    return None


def probe_ms(turn: Turn, config: AssignmentConfig) -> int:
    """Return how long after a decision its leader probes: by the decision's own deadline, else by the settings."""
    own_ms = None if turn.follows is None else turn.follows.again_ms
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
