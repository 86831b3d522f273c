"""What a round says beside the steps of its tasks: who came and went, and what the round is for."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from kstream_plan.model import Assignment, Group, GroupState
from kstream_plan.model.holding_changes import apart_from_stateless
from kstream_plan.model.starting_state import newcomers
from kstream_plan.planner.timeline import GroupChange
from kstream_plan.plans import (
    Drop,
    HandOver,
    MemberJoined,
    MemberLeft,
    Phase,
    Promote,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Seat,
    Step,
    ThreadMove,
    stateless_changes,
)
from kstream_plan.protocols.transition import Transition


def first_joined(state: GroupState) -> tuple[Step, ...]:
    """Return a step for every instance that a snapshot shows as new."""
    reason = Reason(ReasonCode.MEMBERSHIP)
    return tuple(MemberJoined(state.group.instances[instance].process_id, reason) for instance in newcomers(state))


def membership_steps(change: GroupChange) -> list[Step]:
    """Return who left, then who joined."""
    reason = Reason(ReasonCode.MEMBERSHIP)
    return [
        *(MemberLeft(left.process_id, left.stopped_at_ms, reason) for left in change.left),
        *(MemberJoined(arrival.instance.process_id, reason) for arrival in change.joined),
    ]


def given_up(state: GroupState, group: Group, emptied: frozenset[str]) -> list[Step]:
    """Return the end of what the threads held that their instance has stopped."""
    old, held, steps = state.group, tuple(state.holdings), list[Step]()
    present, reason = set(group.consumer_ids), Reason(ReasonCode.THREAD_STOPPED)
    for consumer, consumer_id in enumerate(old.consumer_ids):
        process_id = old.instances[old.instance_of[consumer]].process_id
        if consumer_id in present or process_id in emptied:
            continue
        for role in Role:
            for task in getattr(held[consumer], role.value):
                seat, task_id = Seat(process_id, consumer_id, role), old.tasks[task].task_id
                steps.append((Revoke if role is Role.ACTIVE else Drop)(task_id, seat, reason))
    return steps


def phases_of(
    decision: Assignment, transition: Transition, steps: Sequence[Step], *, settled: bool
) -> tuple[Phase, ...]:
    """Return what the round is for."""
    warming_up = any(map(attrgetter("warmup"), apart_from_stateless(decision.instances)))
    cutting_over = transition.follow_up or stateless_changes(steps) is not None or any(map(_starts, steps))
    phases = [phase for phase, holds in ((Phase.WARM_UP, warming_up), (Phase.CUT_OVER, cutting_over)) if holds]
    if settled:
        phases.append(Phase.SETTLED)
    elif decision.probing_rebalance and (not steps or not phases):
        phases.append(Phase.PROBING)
    return tuple(phases)


def _starts(step: Step) -> bool:
    return isinstance(step, HandOver | Promote) or (isinstance(step, ThreadMove) and step.to.role is Role.ACTIVE)
