"""Workers that leave a Connect group: whose work is kept for them, for how long, and whose is dealt out at once."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import NamedTuple

from kstream_plan.plans.plan import Plan
from kstream_plan.plans.reasons import ReasonCode
from kstream_plan.plans.steps import MemberLeft, NobodyRuns


class Departure(NamedTuple):
    """A worker that ran something leaves; ``led``: as the leader, so that nobody remembers to keep what it ran.

    ``kept_ms`` is how long what it ran is kept from then on; ``None``: it is not kept, or nobody knows until when.
    """

    process_id: str
    at_ms: int
    led: bool
    kept_ms: int | None


def departures(plan: Plan) -> Iterator[Departure]:
    """Yield the workers that leave, in time, and what becomes of what they ran."""
    group, held = plan.group, plan.initial
    for place, rnd in enumerate(plan.rounds):
        for step in rnd.member_steps:
            if not isinstance(step, MemberLeft):
                continue
            consumers = group.consumers_of[group.instance_index[step.process_id]]
            ran = {task for consumer in consumers for task in held[consumer].active}
            until_ms = _kept_until_ms(plan, place, ran)
            led = step.reason.code is ReasonCode.LEADER_LEFT
            if ran:
                yield Departure(step.process_id, rnd.at_ms, led, None if until_ms is None else until_ms - rnd.at_ms)
        held = rnd.assigned


def _kept_until_ms(plan: Plan, place: int, ran: Set[int]) -> int | None:
    """Return until when any of what a worker ran is kept that left in that round: the delay, or until it is run."""
    kept = {
        plan.group.task_index[task_id]: step.until_ms
        for step in plan.rounds[place].single_steps
        if isinstance(step, NobodyRuns) and step.reason.code is ReasonCode.KEPT_FOR_RETURN
        for task_id in step.task_ids
    }
    waits = {task: until_ms for task, until_ms in kept.items() if task in ran and until_ms is not None}
    if not waits:
        return None
    last_ms = max(waits.values())
    for rnd in plan.rounds[place + 1 :]:
        if rnd.at_ms >= last_ms or any(not waits.keys().isdisjoint(held.active) for held in rnd.assigned):
            return min(rnd.at_ms, last_ms)
    return last_ms
