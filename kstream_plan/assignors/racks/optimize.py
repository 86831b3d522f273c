"""Rack-aware optimisation of an assignment (KIP-925, Kafka's ``RackAwareTaskAssignor``).

Source: page ``rules``, "Racks".

Every instance keeps its number of tasks. ``min_traffic`` may otherwise exchange them at will, ``balance_subtopology``
spreads each subtopology in proportion to those numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import chain, combinations
from math import ceil
from typing import TypeAlias

from kstream_plan.assignors.racks.costs import RackCosts
from kstream_plan.assignors.racks.negative_cycles import minimize_cost
from kstream_plan.assignors.racks.network import TaskNetwork, assign_all
from kstream_plan.model import Group
from kstream_plan.model.holding import NOBODY
from kstream_plan.model.settings import AssignmentConfig

#: (source, destination, instances that hold the task in any role) → may a standby move there to save traffic?
#: Kafka asks ``client_tags.movement_keeps_tag_spread`` if standbys follow client tags, and nothing otherwise; it is
#: not the predicate of the balancing step.
MayMove: TypeAlias = Callable[[int, int, Collection[int]], bool]

_STANDBY_ROUNDS = 4


def optimize_active(
    group: Group, config: AssignmentConfig, tasks: Sequence[int], active: list[set[int]], *, stateless: bool = False
) -> list[set[int]]:
    """Exchange active tasks between instances so that less is read across racks.

    Args:
        group: who takes part; the optimisation must be :func:`~kstream_plan.assignors.racks.costs.is_rack_aware`.
        config: the strategy and its costs.
        tasks: the tasks that may be exchanged, sorted.
        active: the active tasks of each instance, ``tasks`` and maybe others.
        stateless: whether ``tasks`` are the stateless ones, which cost 1 and 0 whatever is configured.

    Returns:
        ``active`` after the exchange.
    """
    if not tasks:
        return [set(mine) for mine in active]
    costs = RackCosts.of_sources(group, config, tasks, stateless=stateless)
    owner_of = {task: instance for instance, mine in enumerate(active) for task in mine}
    instances = range(len(group.instances))
    if config.rack_aware_assignment_strategy == "balance_subtopology":
        tasks = sorted(tasks, key=lambda task: _subtopology_key(group, task))
        network = _balanced_network(group, tasks, [owner_of[task] for task in tasks], costs, instances)
    else:
        network = _plain_network(tasks, [owner_of[task] for task in tasks], costs, instances)
    minimize_cost(network)
    optimized = [mine.difference(tasks) for mine in active]
    for task, instance in zip(tasks, network.owner, strict=True):
        optimized[instance].add(task)
    return optimized


def optimize_standby(
    group: Group,
    config: AssignmentConfig,
    active: Sequence[Collection[int]],
    standby: list[set[int]],
    allows: MayMove | None = None,
) -> list[set[int]]:
    """Swap standby tasks between instances so that less is restored across racks.

    Instances of different racks are taken pair by pair, for a few rounds; the strategy does not matter here.

    Args:
        group: who takes part; the optimisation must be :func:`~kstream_plan.assignors.racks.costs.is_rack_aware`.
        config: the costs.
        active: the active tasks of each instance.
        standby: the standby tasks of each instance.
        allows: which of them may move where; without it all may.

    Returns:
        ``standby`` after the swaps.
    """
    swaps = _StandbySwaps(RackCosts.of_changelogs(group, config), active, standby, allows)
    racks = [instance.rack for instance in group.instances]
    pairs = [(first, second) for first, second in combinations(range(len(racks)), 2) if racks[first] != racks[second]]
    for _ in range(_STANDBY_ROUNDS):
        swapped = [swaps.swap(first, second) for first, second in pairs]
        if not any(swapped):
            break
    return swaps.standby


def _plain_network(tasks: Sequence[int], owners: list[int], costs: RackCosts, instances: Sequence[int]) -> TaskNetwork:
    """Return the network of ``min_traffic``: who owns the tasks (positions in ``instances``) may swap them at will."""
    by_kind, kinds = costs.by_kind(tasks, owners, instances)
    return TaskNetwork(by_kind, kinds, [0] * len(tasks), owners)


def _balanced_network(
    group: Group, tasks: Sequence[int], owners: list[int], costs: RackCosts, instances: Sequence[int]
) -> TaskNetwork:
    """Return the network of ``balance_subtopology``, assigned anew within its limits; ``tasks`` by subtopology."""
    numbers: dict[tuple[int, bytes], int] = {}
    subtopology_of = [numbers.setdefault(_subtopology_key(group, task), len(numbers)) for task in tasks]
    sizes, capacities = Counter(subtopology_of), Counter(owners)
    limits = [
        [ceil(capacities[instance] * 1.0 / len(tasks) * sizes[number]) for instance in instances]
        for number in range(len(numbers))
    ]
    by_kind, kinds = costs.by_kind(tasks, owners, instances)
    network = TaskNetwork(by_kind, kinds, subtopology_of, [NOBODY] * len(tasks), limits)
    assign_all(network, [capacities[instance] for instance in instances])
    return network


def _subtopology_key(group: Group, task: int) -> tuple[int, bytes]:
    """Return what Kafka sorts subtopologies by: number, then topology name (none first)."""
    topology, subtopology, _ = group.tasks[task].task_id.sort_key
    return subtopology, topology


class _StandbySwaps:
    """The standby tasks while they are swapped: ``standby`` per instance."""

    def __init__(
        self, costs: RackCosts, active: Sequence[Collection[int]], standby: Sequence[set[int]], allows: MayMove | None
    ) -> None:
        self.standby = [set(tasks) for tasks in standby]
        self._costs = costs
        self._allows = allows
        self._holders: dict[int, set[int]] = {}
        for tasks_by_instance in (active, standby):
            for instance, tasks in enumerate(tasks_by_instance):
                for task in tasks:
                    self._holders.setdefault(task, set()).add(instance)

    def swap(self, first: int, second: int) -> bool:
        """Swap tasks between two instances at the least cost; return whether any was."""
        movable = self._movable(first, second), self._movable(second, first)
        if not all(movable):
            return False
        tasks = sorted(chain(*movable))
        owners = [int(task in self.standby[second]) for task in tasks]
        network = _plain_network(tasks, owners, self._costs, (first, second))
        minimize_cost(network)
        swapped_tasks = [
            task for task, owner, new_owner in zip(tasks, owners, network.owner, strict=True) if owner != new_owner
        ]
        for task in swapped_tasks:
            self.standby[first] ^= {task}
            self.standby[second] ^= {task}
            self._holders[task] ^= {first, second}
        return bool(swapped_tasks)

    def _movable(self, source: int, destination: int) -> list[int]:
        """Return the standby tasks of ``source`` that ``destination`` has no copy of and may get."""
        tasks = [task for task in self.standby[source] if destination not in self._holders[task]]
        if self._allows is None:
            return tasks
        return [task for task in tasks if self._allows(source, destination, self._holders[task])]
