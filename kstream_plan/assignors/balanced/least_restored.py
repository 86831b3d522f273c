"""The least state that any way to the same balance restores: the bound that a plan is shown beside.

Whoever ends up with a task has restored what its copy lacked, unless that is within ``acceptable.recovery.lag`` or the
copy was assigned, and so restored, already. Standbys are left out of account. Import this module only when the bound is
wanted: it loads the flow solver.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kstream_plan.assignors.balanced.active_flow import Placeable, place_evenly
from kstream_plan.assignors.balanced.min_cost_flow import Network
from kstream_plan.model import Group, GroupState, Target
from kstream_plan.model.ranking import rank
from kstream_plan.model.settings import AssignmentConfig


def least_restored(
    state: GroupState, present: Group, target: Target, config: AssignmentConfig, *, subtopologies: bool = False
) -> int | None:
    """Return the fewest records that have to be restored until active stateful tasks are as balanced as in the target.

    Which task goes where is free. With ``subtopologies``, balance is KIP-441's, that of the subtopologies included;
    else it is the target's number of tasks on every instance, where instances of equal capacity may trade theirs.

    Args:
        state: the group at the start, and its copies.
        present: who takes part in the end; the copies of others are of no use, and newcomers have none.
        target: by instance of ``present``.
        config: settings of the end; its ``acceptable_recovery_lag`` is the largest there was.
        subtopologies: what balance is (see above).

    Returns:
        Records; ``None``: an end offset is not known.
    """
    if not all(state.group.tasks[task].end_offset_known for task in state.group.stateful):
        return None
    tasks = _placeable_tasks(state, present, config)
    if subtopologies:
        return place_evenly(present, tasks, config.balance_factor).costs[0]
    network = Network(1)
    instances, cold = [network.node() for _ in present.instances], network.node()
    for placeable in tasks:
        node = network.node(1)
        network.arc(node, cold, 1, placeable.cold[:1])
        for instance, costs in placeable.special.items():
            network.arc(node, instances[instance], 1, costs[:1])
    sink = network.node(-len(state.group.stateful))
    loads: dict[int, list[int]] = defaultdict(list)
    for capacity, active_tasks in zip(present.capacities, target.active, strict=True):
        loads[capacity].append(len(active_tasks))
    for node, capacity in zip(instances, present.capacities, strict=True):
        most = max(loads[capacity])
        network.arc(cold, node, most)
        network.arc(node, sink, most, None, min(loads[capacity]))
    flow = network.cheapest()
    assert flow is not None, "the target itself has these loads"
    return flow[1][0]


def _placeable_tasks(state: GroupState, present: Group, config: AssignmentConfig) -> Iterator[Placeable]:
    """Yield every stateful task with what the instances present in the end lack of it, in records."""
    limit = config.acceptable_recovery_lag
    index = [present.instance_index.get(instance.process_id) for instance in state.group.instances]
    for task in state.group.stateful:
        whole = state.group.end_offset_sums[task]
        cold = rank(None, whole, limit)
        special = {
            instance: (copy.remaining if copy.consumer is None and rank(copy.lag, whole, limit) else 0, 0)
            for copy in state.copies[task]
            if (instance := index[copy.instance]) is not None
        }
        yield Placeable(task, {i: costs for i, costs in special.items() if costs[0] < cold}, (cold, 0))
