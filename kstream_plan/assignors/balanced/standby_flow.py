"""Where the ``balanced`` target keeps standbys: a minimum-cost flow beside the active tasks.

Source: page ``rules``, "Balanced by the KIP".
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from kstream_plan.assignors.balanced.active_flow import shares, soft_bounds
from kstream_plan.assignors.balanced.min_cost_flow import Network, Numbers, spread_order
from kstream_plan.assignors.balanced.task_costs import Prospect
from kstream_plan.assignors.racks.costs import is_rack_aware
from kstream_plan.model import Group
from kstream_plan.model.settings import AssignmentConfig

#: With more arcs than this, tasks with several standbys share the arcs to instances that have no copy of them. A shared
#: arc may lead to an instance that holds the task already; that is put right afterwards, and may cost the optimum.
_MOST_ARCS = 500_000

#: Tasks that may use one another's cold arcs: those of one owner, to instances of one zone.
_Pool: TypeAlias = tuple[int, int]


def place_standbys(
    group: Group, config: AssignmentConfig, stateful: Sequence[Prospect], owner: Mapping[int, int]
) -> tuple[dict[int, tuple[int, ...]], tuple[int, ...], tuple[int, ...]]:
    """Place ``num_standby_replicas`` standbys of every task on instances other than its owner and one another.

    First as few copies of a task as possible share a value of a client tag that counts (or a rack), then as few copies
    as possible are beyond an instance's share of all copies, then the least is restored, then the fewest are new.

    Args:
        group: who takes part.
        config: how many, the balance factor, and the tags.
        stateful: the stateful tasks.
        owner: who is to run them, by task.

    Returns:
        The instances of each task's standbys, sorted; the tasks of which copies share what they should not, sorted; the
        instances with more or fewer copies than their share, sorted. The latter two depend on the placement alone, not
        on the costs that led to it.
    """
    number = min(config.num_standby_replicas, len(group.instances) - 1)
    if not number or not stateful:
        return {prospect.task: () for prospect in stateful}, (), ()
    marks = _marks(group, config)
    placed = _StandbyNetwork(group, config, number, marks, owner).place(stateful)
    crowded = tuple(task for task in sorted(placed) if _shares_a_mark((owner[task], *placed[task]), marks))
    copies = Counter(i for task, standbys in placed.items() for i in (owner[task], *standbys))
    bounds = zip(*shares(copies.total(), group.capacities, config.balance_factor), strict=True)
    uneven = tuple(i for i, (lower, upper) in enumerate(bounds) if not lower <= copies[i] <= upper)
    return placed, crowded, uneven


class _StandbyNetwork:
    """task → (zone →) instance → sink; where a task has no copy, by way of a pool of all tasks of its owner.

    With several standbys and a tag that counts, zones are that tag's values, and the second copy of a task in a zone
    costs a violation. One violation of a tag weighs more than all copies out of bounds.
    """

    def __init__(
        self,
        group: Group,
        config: AssignmentConfig,
        number: int,
        marks: Sequence[Sequence[str | None]],
        owner: Mapping[int, int],
    ) -> None:
        self._group, self._factor, self._number, self._marks = group, config.balance_factor, number, marks
        self._owner, self._units = owner, number * len(owner)
        self._violation = 2 * self._units + 1
        self._pooled = number == 1 or len(owner) * len(group.instances) > _MOST_ARCS
        self._zones = [0] * len(group.instances)
        if marks and number > 1:
            names: dict[str | None, int] = {}
            self._zones = [names.setdefault(value, len(names)) for value in marks[0]]
        sizes = Counter(self._zones)
        self._several_zones = len(sizes) > 1
        self._other_zones = [[z for z in sorted(sizes) if sizes[z] > (z == mine)] for mine in self._zones]
        self._violations_by_owner = [self._violations_beside(owner_place) for owner_place in range(len(self._zones))]
        self._network = Network(3)
        self._instances = self._network.nodes(len(self._zones))
        self._pools: dict[_Pool, int] = {}
        self._warm, self._cold = _Arcs(), _Arcs()

    def place(self, stateful: Sequence[Prospect]) -> dict[int, tuple[int, ...]]:
        for prospect in stateful:
            self._connect(prospect, self._owner[prospect.task])
        warm, cold = self._warm, self._cold
        orders = spread_order(warm.tasks, warm.places, 2), spread_order(cold.tasks, cold.places)
        own_arcs, cold_arcs = (
            self._network.arcs(arcs.tails, arcs.heads, most, (arcs.violations, arcs.prices, order))
            for arcs, most, order in zip((warm, cold), (1, self._number), orders, strict=True)
        )
        sizes = Counter(cold.heads)
        slots = {pool: self._open(pool, node, sizes[node]) for pool, node in self._pools.items()}
        self._close()
        flow = self._network.cheapest()
        assert flow is not None, "no bound is hard"
        return self._placed(flow[0], own_arcs, cold_arcs, slots)

    def _connect(self, prospect: Prospect, owner: int) -> None:
        """Connect one task with the instances that have copies of it, and with its pools."""
        network, base = self._network, self._units + 1
        node = network.node(self._number)
        by_zone = {}
        for zone in self._other_zones[owner]:
            by_zone[zone] = node
            if self._several_zones:
                by_zone[zone] = network.node()
                network.arc(node, by_zone[zone], 1)
                network.arc(node, by_zone[zone], self._number, (self._violation, 0, 0))
            if self._pooled:
                pool = owner, zone
                if pool not in self._pools:
                    self._pools[pool] = network.node()
                self._cold.add(by_zone[zone], self._pools[pool], 0, prospect.whole * base + 1, prospect.task, zone)
        for i in prospect.ranks if self._pooled else range(len(self._instances)):
            if i != owner:
                records, moves = prospect.standby_cost(i)
                price = records * base + moves
                self._warm.add(
                    by_zone[self._zones[i]],
                    self._instances[i],
                    self._violations_by_owner[owner][i],
                    price,
                    prospect.task,
                    i,
                )

    def _open(self, pool: _Pool, node: int, size: int) -> tuple[range, list[int]]:
        """Connect a pool with the instances of its zone; return the arcs and the instances."""
        owner, zone = pool
        instances = [i for i in self._instances if i != owner and self._zones[i] == zone]
        violations = [self._violations_by_owner[owner][i] for i in instances]
        return self._network.arcs(
            node, instances, size, (violations, 0, spread_order(owner, zone, instances))
        ), instances

    def _close(self) -> None:
        """Let every instance have its share of all copies; the active ones are there already."""
        loads = Counter(self._owner.values())
        bounds = shares(self._units + len(self._owner), self._group.capacities, self._factor)
        sink = self._network.node(-self._units)
        for i, node in enumerate(self._instances):
            lower, upper = (max(0, bound[i] - loads[i]) for bound in bounds)
            soft_bounds(self._network, node, sink, lower, upper, self._units)

    def _violations_beside(self, owner: int) -> list[int]:
        """Return for every instance the violations of a copy there: the marks that it shares with the owner."""
        violations = [0] * len(self._zones)
        for values in self._marks:
            for instance, value in enumerate(values):
                violations[instance] += self._violation * (value is not None and value == values[owner])
        return violations

    def _placed(
        self, units: Numbers, own_arcs: range, cold_arcs: range, slots: Mapping[_Pool, tuple[range, list[int]]]
    ) -> dict[int, tuple[int, ...]]:
        placed: dict[int, list[int]] = {task: [] for task in self._owner}
        for arc in np.flatnonzero(units[own_arcs.start : own_arcs.stop]).tolist():
            placed[self._warm.tasks[arc]].append(self._warm.places[arc])
        of_cold = units[cold_arcs.start : cold_arcs.stop]
        cold_copies: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for arc in np.flatnonzero(of_cold).tolist():
            cold_copies[self._cold.heads[arc]].append((self._cold.tasks[arc], int(of_cold[arc])))
        for pool, (arcs, instances) in slots.items():
            free = np.repeat(instances, units[arcs.start : arcs.stop]).tolist()
            _deal(cold_copies[self._pools[pool]], free, placed)
        for task, instances_so_far in placed.items():
            if len(instances_so_far) < self._number:  # copies in the way left slots that nobody could take
                free = [i for i in range(len(self._zones)) if i not in (self._owner[task], *instances_so_far)]
                instances_so_far.extend(free[: self._number - len(instances_so_far)])
        return {task: tuple(sorted(instances_so_far)) for task, instances_so_far in placed.items()}


class _Arcs:
    """Arcs column by column; the ``places`` they lead to are instances or zones."""

    def __init__(self) -> None:
        self.tails: list[int] = []
        self.heads: list[int] = []
        self.violations: list[int] = []
        self.prices: list[int] = []
        self.tasks: list[int] = []
        self.places: list[int] = []

    def add(self, tail: int, head: int, violations: int, price: int, task: int, place: int) -> None:
        self.tails.append(tail)
        self.heads.append(head)
        self.violations.append(violations)
        self.prices.append(price)
        self.tasks.append(task)
        self.places.append(place)


def _deal(copies_by_task: Sequence[tuple[int, int]], free: Sequence[int], placed: dict[int, list[int]]) -> None:
    """Give every task as many of the free slots (sorted) as it wants, no instance twice.

    Slots of one instance go to tasks in turn, so that they are different ones. A slot that its task cannot take is
    exchanged with another task's.
    """
    turns = [
        task for turn in range(max((n for _, n in copies_by_task), default=0)) for task, n in copies_by_task if n > turn
    ]
    instances_of = {task: set(placed[task]) for task, _ in copies_by_task}
    slots, stuck = set(free), []
    for task, instance in zip(turns, free, strict=True):
        if instance in instances_of[task]:
            stuck.append((task, instance))
        else:
            instances_of[task].add(instance)
    for task, instance in stuck:
        for other_task, _ in copies_by_task:
            mine = [
                i for i in instances_of[other_task] - instances_of[task] if i in slots and i not in placed[other_task]
            ]
            if instance not in instances_of[other_task] and mine:
                instances_of[other_task] ^= {instance, min(mine)}
                instances_of[task].add(min(mine))
                break
    for task, _ in copies_by_task:
        placed[task] = sorted(instances_of[task])


def _marks(group: Group, config: AssignmentConfig) -> list[list[str | None]]:
    """Return for each client tag that counts, and for the rack if it does, every instance's value, if they differ."""
    tags = [dict(instance.client_tags) for instance in group.instances]
    marks = [
        [instance_tags.get(key) for instance_tags in tags] for key in dict.fromkeys(config.rack_aware_assignment_tags)
    ]
    if is_rack_aware(group, config):
        marks.append([instance.rack for instance in group.instances])
    return [values for values in marks if len(set(values) - {None}) > 1]


def _shares_a_mark(holders: Sequence[int], marks: Sequence[Sequence[str | None]]) -> bool:
    """Tell whether fewer values are used than could be: every holder another one, or all there are (KIP-708)."""
    for values in marks:
        used = [values[holder] for holder in holders if values[holder] is not None]
        if len(set(used)) < min(len(used), len(set(values) - {None})):
            return True
    return False
