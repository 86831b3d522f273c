"""Stateless tasks, dealt last.

Source: page ``rules``, "Stateless tasks".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kstream_plan.assignors.high_availability.balancing import deal_to_least_loaded
from kstream_plan.assignors.racks import optimize as rack_aware
from kstream_plan.model import Group, Holding, Holdings, Owners, no_owners
from kstream_plan.model.settings import AssignmentConfig


def deal_stateless(group: Group, config: AssignmentConfig, stateful: Sequence[Holding]) -> Holdings:
    """Give each stateless task in turn to the instance with the lowest (active tasks per thread, instance).

    They come last and are dealt anew at every rebalance; only the numbers of active stateful tasks matter.

    Args:
        group: who takes part.
        config: the settings; a rack strategy exchanges the stateless tasks afterwards.
        stateful: what each instance holds but for stateless tasks.

    Returns:
        What each instance holds of all tasks.
    """
    if not group.stateless:
        return Holdings(stateful, (), no_owners(group))
    owners = deal_to_least_loaded(len(group.stateless), [len(held.active) for held in stateful], group.capacities)
    if rack_aware.enabled(group, config):
        owners = _exchanged(group, config, owners)
    return Holdings(stateful, group.stateless, owners.astype(no_owners(group).dtype))


def _exchanged(group: Group, config: AssignmentConfig, owners: Owners) -> Owners:
    tasks = np.array(group.stateless)
    dealt: Sequence[set[int]] = [set(tasks[owners == instance].tolist()) for instance in range(len(group.instances))]
    exchanged = rack_aware.optimize_active(group, config, group.stateless, list(dealt), stateless=True)
    for instance, mine in enumerate(exchanged):
        owners[np.searchsorted(tasks, sorted(mine))] = instance
    return owners
