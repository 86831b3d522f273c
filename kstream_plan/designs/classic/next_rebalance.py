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
    soon for that; one that is late makes it so. ``at_probes``: where nobody knows how fast copies restore, none is
    caught up at a follow-up, however long it is there, and where somebody does, none begins before a follow-up that
    comes right after it was placed; ``ready_last``: nor at a probe while somebody is to come or go yet, as if they
    restored ever so slowly until then.
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
    turn: Turn, transition: Transition, known: KnownDecision | None, config: AssignmentConfig, clock: Clock
) -> Due | None:
    """Return when the follow-up or the probing rebalance after ``turn`` comes; ``None``: nothing is due.

    ``known``: the turn is a decision from before the plan, of which it is known what is due when.
    """
    every_ms = probe_ms(turn, config)
    tick_ms = int(clock.tick * (config.heartbeat_interval_ms - every_ms % config.heartbeat_interval_ms))
    joining = () if known is None else _joining(turn.state, known)
    told = () if known is None else known.rejoining
    follow_up = transition.follow_up or bool(told)
    if joining and not follow_up:
        return Due(0, Trigger.JOIN)
    if known is not None and known.next_ms is not None:
        return Due(known.next_ms + tick_ms, Trigger.PROBING)
    if follow_up:
        everyone_at_once = len(transition.disturbed.union(told)) == len(turn.held) - len(joining)
        if not transition.waiting and not told:
            everyone_at_once = clock == SOONEST  # for whom the tasks are revoked is not known: it may be the others
        after_ms = clock.at_once_ms if everyone_at_once else int(clock.heartbeat * config.heartbeat_interval_ms)
        return Due(turn.at_ms + after_ms, Trigger.FOLLOW_UP, under_way=True)
    if turn.probing_rebalance:
        return Due(turn.at_ms + every_ms + tick_ms, Trigger.PROBING)
    return None


def probe_ms(turn: Turn, config: AssignmentConfig) -> int:
    """Return how long after a decision its leader probes: by the decision's own deadline, else by the settings."""
    own_ms = None if turn.follows is None else turn.follows.again_ms
    return config.probing_rebalance_interval_ms if own_ms is None else own_ms


def _joining(state: GroupState, known: KnownDecision) -> tuple[int, ...]:
    """Return the consumers of instances that came after the decision: they join now."""
    of_new = [state.group.consumers_of[instance] for instance in newcomers(state)]
    return tuple(consumer for of in of_new if set(of) <= set(known.others) for consumer in of)
