"""How often, and for how long, work stands still over a plan: what designs are set beside each other by."""

from __future__ import annotations

from typing import NamedTuple

from kstream_plan.model.connect_group import is_connector
from kstream_plan.plans.pauses import pauses_of
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.steps import HandOver, MemberLeft, Revoke


class Stops(NamedTuple):
    """What stands still: how often, and for how long over all tasks, connectors apart.

    ``stopped`` are the items of a Connect group that rebalances stop while somebody runs them, each time, and
    ``started`` those that they start; of other groups both are 0. Of a Connect group it counts from rebalance to
    rebalance: until all have heard of what a rebalance comes from, it is the same by any design.
    """

    pauses: int
    paused_task_ms: int
    paused_connector_ms: int = 0
    stopped: int = 0
    started: int = 0


def stops_of(plan: Plan) -> Stops:
    """Count what stands still in a plan, from the beginning to its end."""
    if not plan.is_of_workers:
        return Stops(len(plan.pauses), plan.summary.paused_task_ms)
    found = pauses_of(
        plan.group, plan.initial, plan.rounds, plan.stopping, plan.config, plan.outages, heard_at_once=True
    )
    of_connectors_ms = sum(ms for task_id, ms in found.ms.items() if is_connector(str(task_id)))
    stopped = started = 0
    held = plan.initial
    for rnd in plan.rounds:
        if plan.stopping:
            gone = {step.process_id for step in rnd.steps if isinstance(step, MemberLeft)}
            stopped += sum(
                len(held[consumer].active)
                for consumer in plan.stopping
                if plan.group.instances[plan.group.instance_of[consumer]].process_id not in gone
            )
            started += sum(len(rnd.assigned[consumer].active) for consumer in plan.stopping)
        else:
            stopped += sum(isinstance(step, Revoke) for step in rnd.steps)
            started += sum(isinstance(step, HandOver) for step in rnd.steps)
        held = rnd.assigned
    return Stops(
        pauses=len(plan.pauses),
        paused_task_ms=sum(found.ms.values()) - of_connectors_ms,
        paused_connector_ms=of_connectors_ms,
        stopped=stopped,
        started=started,
    )
