"""The least state that any way to the same balance restores: the bound that a plan is shown beside.

Whoever ends up with a task has restored what its copy lacked, unless that is within ``acceptable.recovery.lag`` or the
copy was assigned, and so restored, already. Standbys are left out of account. Import this module only when the bound is
wanted: it loads the flow solver.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.assignors.even_placement import Placeable, place_evenly
from kstream_plan.assignors.exact_flow import Network
from kstream_plan.model import GroupState, Target
from kstream_plan.ranking import rank


def least_restored(
    state: GroupState, target: Target, config: AssignmentConfig, *, subtopologies: bool = False
) -> int | None:
    """Return the fewest records that have to be restored until active stateful tasks are as balanced as in the target.

    Which task goes where is free. With ``subtopologies``, balance is KIP-441's, that of the subtopologies included;
    else it is the target's number of tasks on every instance, where instances of equal capacity may trade theirs.
    ``None``: an end offset is not known.
    """
    if not all(state.group.tasks[task].end_offset_known for task in state.group.stateful):
        return None
    tasks = list(_lacking(state, config))
    if subtopologies:
        return place_evenly(state.group, tasks, config.balance_factor).costs[0]
    network = Network(1)
    instances, cold = [network.node() for _ in state.group.instances], network.node()
    for one in tasks:
        node = network.node(1)
        network.arc(node, cold, 1, one.cold[:1])
        for instance, costs in one.special.items():
            network.arc(node, instances[instance], 1, costs[:1])
    sink = network.node(-len(tasks))
    loads: dict[int, list[int]] = defaultdict(list)
    for capacity, of in zip(state.group.capacities, target.active, strict=True):
        loads[capacity].append(len(of))
    for node, capacity in zip(instances, state.group.capacities, strict=True):
        most = max(loads[capacity])
        network.arc(cold, node, most)
        network.arc(node, sink, most, None, min(loads[capacity]))
    found = network.cheapest()
    assert found is not None, "the target itself has these loads"
    return found[1][0]


def _lacking(state: GroupState, config: AssignmentConfig) -> Iterator[Placeable]:
    """Yield every stateful task with what the instances lack of it, in records."""
    limit = config.acceptable_recovery_lag
    for task in state.group.stateful:
        whole = state.group.end_offset_sums[task]
        cold = rank(None, whole, limit)
        special = {
            copy.instance: (copy.remaining if copy.consumer is None and rank(copy.lag, whole, limit) else 0, 0)
            for copy in state.copies[task]
        }
        yield Placeable(task, {i: costs for i, costs in special.items() if costs[0] < cold}, (cold, 0))
