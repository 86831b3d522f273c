"""Workers that leave a Connect group: whether and for how long their work is kept for them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import NamedTuple

from kstream_plan.plans.plan import Plan
from kstream_plan.plans.reasons import ReasonCode
from kstream_plan.plans.steps import MemberLeft, NobodyRuns


class Departure(NamedTuple):
    """A worker that ran something leaves; ``was_leader``: it was the leader, so the next one does not keep its work.

    ``kept_ms`` is how long its work is kept from then on; ``None``: it is not kept, or it is unknown until when.
    """

    process_id: str
    at_ms: int
    was_leader: bool
    kept_ms: int | None


def departures(plan: Plan) -> Iterator[Departure]:
    """Yield the workers that leave, in time, and for how long their work is kept."""
    group, holdings = plan.group, plan.initial
    for place, rnd in enumerate(plan.rounds):
        for step in rnd.member_steps:
            if not isinstance(step, MemberLeft):
                continue
            consumers = group.consumers_of[group.instance_index[step.process_id]]
            worker_tasks = {task for consumer in consumers for task in holdings[consumer].active}
            until_ms = _kept_until_ms(plan, place, worker_tasks)
            was_leader = step.reason.code is ReasonCode.LEADER_LEFT
            if worker_tasks:
                yield Departure(
                    step.process_id, rnd.at_ms, was_leader, None if until_ms is None else until_ms - rnd.at_ms
                )
        holdings = rnd.assigned


def _kept_until_ms(plan: Plan, place: int, worker_tasks: Set[int]) -> int | None:
    """Return until when work of a worker that left in that round is kept: the delay, or until it is run again."""
    until_ms_of_task = {
        plan.group.task_index[task_id]: step.until_ms
        for step in plan.rounds[place].single_steps
        if isinstance(step, NobodyRuns) and step.reason.code is ReasonCode.KEPT_FOR_RETURN
        for task_id in step.task_ids
    }
    waits = {
        task: until_ms for task, until_ms in until_ms_of_task.items() if task in worker_tasks and until_ms is not None
    }
    if not waits:
        return None
    last_ms = max(waits.values())
    for rnd in plan.rounds[place + 1 :]:
        if rnd.at_ms >= last_ms or any(not waits.keys().isdisjoint(holding.active) for holding in rnd.assigned):
            return min(rnd.at_ms, last_ms)
    return last_ms
