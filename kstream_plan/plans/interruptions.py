"""How often, and for how long, work is paused over a plan: figures by which designs are compared."""

from __future__ import annotations

from typing import NamedTuple

from kstream_plan.model.connect_group import is_connector
from kstream_plan.plans.pauses import pauses_of
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.steps import HandOver, MemberLeft, Revoke


class Stops(NamedTuple):
    """Pauses of work: how often, and for how long over all tasks, connectors apart.

    ``stop_count`` are the items of a Connect group that rebalances stop while a worker runs them, each time, and
    ``start_count`` those that they start; of other groups both are 0. Of a Connect group it counts from rebalance to
    rebalance: until all have heard of what a rebalance comes from, it is the same by any design.
    """

    pauses: int
    paused_task_ms: int
    paused_connector_ms: int = 0
    stop_count: int = 0
    start_count: int = 0


def stops_of(plan: Plan) -> Stops:
    """Count the pauses of a plan, from its beginning to its end."""
    if not plan.is_of_workers:
        return Stops(len(plan.pauses), plan.summary.paused_task_ms)
    pauses = pauses_of(
        plan.group, plan.initial, plan.rounds, plan.stopping, plan.config, plan.outages, heard_at_once=True
    )
    of_connectors_ms = sum(ms for task_id, ms in pauses.ms.items() if is_connector(str(task_id)))
    stop_count = start_count = 0
    holdings = plan.initial
    for rnd in plan.rounds:
        if plan.stopping:
            departed_ids = {step.process_id for step in rnd.steps if isinstance(step, MemberLeft)}
            stop_count += sum(
                len(holdings[consumer].active)
                for consumer in plan.stopping
                if plan.group.instances[plan.group.instance_of[consumer]].process_id not in departed_ids
            )
            start_count += sum(len(rnd.assigned[consumer].active) for consumer in plan.stopping)
        else:
            stop_count += sum(isinstance(step, Revoke) for step in rnd.steps)
            start_count += sum(isinstance(step, HandOver) for step in rnd.steps)
        holdings = rnd.assigned
    return Stops(
        pauses=len(plan.pauses),
        paused_task_ms=sum(pauses.ms.values()) - of_connectors_ms,
        paused_connector_ms=of_connectors_ms,
        stop_count=stop_count,
        start_count=start_count,
    )
