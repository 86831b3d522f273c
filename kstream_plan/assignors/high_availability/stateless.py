"""Stateless tasks, dealt last.

Source: page ``rules``, "Stateless tasks".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kstream_plan.assignors.high_availability.balancing import deal_to_least_loaded
from kstream_plan.assignors.racks import optimize as rack_aware
from kstream_plan.model import Group, Owners, no_owners
from kstream_plan.model.settings import AssignmentConfig


def deal_stateless(group: Group, config: AssignmentConfig, counts: Sequence[int]) -> Owners:
    """Give each stateless task in turn to the instance with the lowest (active tasks per thread, instance).

    They come last and are dealt anew at every rebalance; only the numbers of active stateful tasks matter.

    Args:
        group: who takes part.
        config: the settings; a rack strategy exchanges the stateless tasks afterwards.
        counts: the active stateful tasks of each instance.

    Returns:
        The instance that runs each.
    """
    owners = no_owners(group)
    if group.stateless:
        dealt = deal_to_least_loaded(len(owners), counts, group.capacities)
        owners[:] = _exchanged(group, config, dealt) if rack_aware.enabled(group, config) else dealt
    return owners


def _exchanged(group: Group, config: AssignmentConfig, owners: Owners) -> Owners:
    tasks = np.array(group.stateless)
    dealt: Sequence[set[int]] = [set(tasks[owners == instance].tolist()) for instance in range(len(group.instances))]
    exchanged = rack_aware.optimize_active(group, config, group.stateless, list(dealt), stateless=True)
    for instance, mine in enumerate(exchanged):
        owners[np.searchsorted(tasks, sorted(mine))] = instance
    return owners
