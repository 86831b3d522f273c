"""Stateless tasks: rule 6 of the reference's section 4."""

from __future__ import annotations

from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.assignors import rack_aware
from kstream_plan.assignors.holdings import HoldingsDraft
from kstream_plan.balancing import deal_to_least_loaded
from kstream_plan.model import Group


def deal_stateless(group: Group, config: AssignmentConfig, holdings: HoldingsDraft) -> None:
    """Give each stateless task in turn to the instance with the lowest (active tasks per thread, instance).

    They come last and are dealt anew at every rebalance; only the numbers of active stateful tasks matter.

    Args:
        group: who takes part.
        config: the settings; a rack strategy exchanges the stateless tasks afterwards.
        holdings: the active stateful tasks; stateless ones among them (of an earlier decision) are dealt anew.
    """
    if not group.stateless:
        return
    stateless = set(group.stateless)
    instances = range(len(group.instances))
    stateful_counts = [len(stateless.symmetric_difference(holdings.active(i)) - stateless) for i in instances]
    dealt = [set(tasks) for tasks in deal_to_least_loaded(group.stateless, stateful_counts, group.capacities)]
    if rack_aware.enabled(group, config):
        dealt = rack_aware.optimize_active(group, config, group.stateless, dealt, stateless=True)
    for instance in instances:
        active = holdings.active(instance)
        if stateless.intersection(active) != dealt[instance]:
            active[:] = sorted(dealt[instance].union(active) - (stateless - dealt[instance]))
