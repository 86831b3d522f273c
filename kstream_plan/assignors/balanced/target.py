"""The ``balanced`` target: active tasks, then standbys, at the least state to restore.

Source: page ``rules``, "Balanced by the KIP".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kstream_plan.assignors.balanced.active_flow import Placeable, place_evenly
from kstream_plan.assignors.balanced.standby_flow import place_standbys
from kstream_plan.assignors.balanced.task_costs import Prospect
from kstream_plan.model import Group
from kstream_plan.model.settings import AssignmentConfig


class CheapestTarget(NamedTuple):
    """Who is to run each stateful task and who is to hold its standbys, by task.

    ``crowded``: the tasks of which copies share a value of a client tag (or a rack) that should keep them apart;
    ``uneven``: the instances with more or fewer copies, in all roles, than their share; ``proven``: no balanced
    placement of the active tasks is cheaper.
    """

    owner: Mapping[int, int]
    standbys: Mapping[int, tuple[int, ...]]
    crowded: tuple[int, ...]
    uneven: tuple[int, ...]
    proven: bool


def cheapest_target(group: Group, config: AssignmentConfig, stateful: Sequence[Prospect]) -> CheapestTarget:
    """Return the balanced target with the least state to restore, then the fewest moves, then in a fixed order.

    Active tasks come first: an additional copy costs what it has to restore. Standbys follow, each on another
    instance than its active and, where they can be kept apart, with other values of the configured client tags (and in
    another rack, if a rack strategy is configured); then the copies of all roles are evened out per instance.
    """
    placed = place_evenly(group, map(_placeable, stateful), config.balance_factor)
    return CheapestTarget(
        placed.instance_of, *place_standbys(group, config, stateful, placed.instance_of), placed.proven
    )


def _placeable(prospect: Prospect) -> Placeable:
    cold = (prospect.cold, int(prospect.home is not None))
    special = {i: cost for i in prospect.ranks if (cost := prospect.active_cost(i)) < cold}
    return Placeable(prospect.task, special, cold)


def place_stateless(
    group: Group, config: AssignmentConfig, owners: Mapping[int, int], loads: Sequence[int]
) -> dict[int, int]:
    """Place the stateless tasks beside the stateful ones of each instance (``loads``), moving as few as balance allows.

    Args:
        group: who takes part.
        config: the balance factor.
        owners: the instances that run the tasks now, by task.
        loads: the stateful tasks of each instance, balanced.
    """
    tasks = [
        Placeable(task, {owners[task]: (0, 0)} if task in owners else {}, (0, int(task in owners)))
        for task in group.stateless
    ]
    return place_evenly(group, tasks, config.balance_factor, loads).instance_of
