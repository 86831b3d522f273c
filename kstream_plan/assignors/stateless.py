"""Stateless tasks: rule 6 of the reference's section 4."""

from __future__ import annotations

from itertools import filterfalse

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
    is_stateless = group.stateless_set.__contains__
    active = [holdings.active_now(instance) for instance in range(len(group.instances))]
    before = [list(filter(is_stateless, tasks)) for tasks in active]
    stateful_counts = [len(tasks) - len(stateless) for tasks, stateless in zip(active, before, strict=True)]
    dealt = deal_to_least_loaded(group.stateless, stateful_counts, group.capacities)
    if rack_aware.enabled(group, config):
        exchanged = rack_aware.optimize_active(group, config, group.stateless, list(map(set, dealt)), stateless=True)
        dealt = list(map(sorted, exchanged))
    for instance, stateless in enumerate(dealt):
        if before[instance] != stateless:
            holdings.active(instance)[:] = sorted([*filterfalse(is_stateless, active[instance]), *stateless])
