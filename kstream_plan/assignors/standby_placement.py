"""Where the ``balanced`` target keeps standbys: a minimum-cost flow beside the active tasks (reference section 6)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.assignors import rack_aware
from kstream_plan.assignors.even_placement import shares, soft_bounds
from kstream_plan.assignors.exact_flow import Network, spread_order
from kstream_plan.assignors.prospects import Prospect
from kstream_plan.model import Group

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
        The instances of each task's standbys, sorted; the tasks of which copies share what they should not; the
        instances with more or fewer copies than their share.
    """
    number = min(config.num_standby_replicas, len(group.instances) - 1)
    if not number or not stateful:
        return {one.task: () for one in stateful}, (), ()
    marks = _marks(group, config)
    network = _StandbyNetwork(group, config, number, marks)
    placed = network.place(stateful, owner)
    crowded = tuple(task for task, standbys in placed.items() if _shares_a_mark((owner[task], *standbys), marks))
    copies = Counter(i for task, standbys in placed.items() for i in (owner[task], *standbys))
    bounds = zip(*shares(copies.total(), group.capacities, config.balance_factor), strict=True)
    uneven = tuple(i for i, (lower, upper) in enumerate(bounds) if not lower <= copies[i] <= upper)
    return placed, crowded, uneven


@dataclass(slots=True)
class _Arcs:
    """What the arcs mean: (arc, task, instance), (arc, task) by pool, and (arc, instance) by pool."""

    own: list[tuple[int, int, int]] = field(default_factory=list)
    cold: dict[_Pool, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    slots: dict[_Pool, list[tuple[int, int]]] = field(default_factory=dict)


class _StandbyNetwork:
    """task → (zone →) instance → sink; where a task has no copy, by way of a pool of all tasks of its owner.

    With several standbys and a tag that counts, zones are that tag's values, and the second copy of a task in a zone
    costs a violation.
    """

    def __init__(
        self, group: Group, config: AssignmentConfig, number: int, marks: Sequence[Sequence[str | None]]
    ) -> None:
        self._group, self._factor, self._number, self._marks = group, config.balance_factor, number, marks
        self._pooled = number == 1 or len(group.stateful) * len(group.instances) > _MOST_ARCS
        self._zones = [0] * len(group.instances)
        if marks and number > 1:
            names: dict[str | None, int] = {}
            self._zones = [names.setdefault(value, len(names)) for value in marks[0]]
        sizes = Counter(self._zones)
        self._several_zones = len(sizes) > 1
        self._other_zones = [[z for z in sorted(sizes) if sizes[z] > (z == mine)] for mine in self._zones]

    def place(self, stateful: Sequence[Prospect], owner: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
        network, arcs = Network(3), _Arcs()
        instances = [network.node() for _ in self._zones]
        # One violation of a tag weighs more than all copies out of bounds.
        violation = 2 * self._number * len(stateful) + 1
        shared = [[violation * number for number in self._shared(of)] for of in range(len(instances))]
        pools: dict[_Pool, int] = {}
        for one in stateful:
            self._connect(network, arcs, pools, instances, one, owner[one.task], shared, len(stateful))
        for pool, node in pools.items():
            arcs.slots[pool] = [
                (
                    network.arc(node, target, len(arcs.cold[pool]), (shared[pool[0]][i], 0, spread_order(*pool, i))),
                    i,
                )
                for i, target in enumerate(instances)
                if i != pool[0] and self._zones[i] == pool[1]
            ]
        self._sinks(network, instances, stateful, owner)
        found = network.cheapest()
        assert found is not None, "no bound is hard"
        return self._placed(found[0], arcs, stateful, owner)

    def _connect(
        self,
        network: Network,
        arcs: _Arcs,
        pools: dict[_Pool, int],
        instances: Sequence[int],
        one: Prospect,
        owner: int,
        shared: Sequence[Sequence[int]],
        tasks: int,
    ) -> None:
        """Connect one task with the instances that have copies of it, and with its pools."""
        base = self._number * tasks + 1
        node = network.node(self._number)
        by_zone = {}
        for zone in self._other_zones[owner]:
            by_zone[zone] = node
            if self._several_zones:
                by_zone[zone] = network.node()
                network.arc(node, by_zone[zone], 1)
                network.arc(node, by_zone[zone], self._number, (2 * self._number * tasks + 1, 0, 0))
            pool = owner, zone
            if self._pooled:
                if pool not in pools:
                    pools[pool] = network.node()
                costs = (0, one.whole * base + 1, spread_order(one.task, zone))
                arcs.cold[pool].append((network.arc(by_zone[zone], pools[pool], self._number, costs), one.task))
        for i in one.ranks if self._pooled else range(len(instances)):
            if i != owner:
                records, moves = one.standby_cost(i)
                costs = (shared[owner][i], records * base + moves, spread_order(one.task, i, 2))
                arcs.own.append((network.arc(by_zone[self._zones[i]], instances[i], 1, costs), one.task, i))

    def _sinks(
        self, network: Network, instances: Sequence[int], stateful: Sequence[Prospect], owner: Mapping[int, int]
    ) -> None:
        loads = [0] * len(instances)
        for instance in owner.values():
            loads[instance] += 1
        units = len(stateful) * self._number
        bounds = shares(units + len(stateful), self._group.capacities, self._factor)
        sink = network.node(-units)
        for i, node in enumerate(instances):
            lower, upper = (max(0, bound[i] - loads[i]) for bound in bounds)
            soft_bounds(network, node, sink, lower, upper, units)

    def _shared(self, owner: int) -> list[int]:
        """Return for every instance how many marks it shares with the owner; a mark that all share does not count."""
        shared = [0] * len(self._zones)
        for values in self._marks:
            for instance, value in enumerate(values):
                shared[instance] += value is not None and value == values[owner]
        return shared

    def _placed(
        self, units: Sequence[int], arcs: _Arcs, stateful: Sequence[Prospect], owner: Mapping[int, int]
    ) -> dict[int, tuple[int, ...]]:
        placed: dict[int, list[int]] = {one.task: [] for one in stateful}
        for arc, task, instance in arcs.own:
            if units[arc]:
                placed[task].append(instance)
        for pool, cold in arcs.cold.items():
            wanted = [(task, units[arc]) for arc, task in cold if units[arc]]
            free = [instance for arc, instance in arcs.slots[pool] for _ in range(units[arc])]
            _deal(wanted, free, placed)
        for task, found in placed.items():
            if len(found) < self._number:  # copies in the way left slots that nobody could take
                free = [i for i in range(len(self._zones)) if i not in (owner[task], *found)]
                found.extend(free[: self._number - len(found)])
        return {task: tuple(sorted(standbys)) for task, standbys in placed.items()}


def _deal(wanted: Sequence[tuple[int, int]], free: Sequence[int], placed: dict[int, list[int]]) -> None:
    """Give every task as many of the free slots (sorted) as it wants, no instance twice.

    Slots of one instance go to tasks in turn, so that they are different ones. A slot that its task cannot take is
    exchanged with another task's.
    """
    turns = [task for turn in range(max((n for _, n in wanted), default=0)) for task, n in wanted if n > turn]
    dealt = list(zip(turns, free, strict=True))
    given = {task: set(placed[task]) for task, _ in wanted}
    stuck = []
    for task, instance in dealt:
        if instance in given[task]:
            stuck.append((task, instance))
        else:
            given[task].add(instance)
    for task, instance in stuck:
        for other, _ in wanted:
            mine = [i for i in given[other] - given[task] if i in free and i not in placed[other]]
            if instance not in given[other] and mine:
                given[other] ^= {instance, min(mine)}
                given[task].add(min(mine))
                break
    for task, _ in wanted:
        placed[task] = sorted(given[task])


def _marks(group: Group, config: AssignmentConfig) -> list[list[str | None]]:
    """Return for each client tag that counts, and for the rack if it does, every instance's value, if they differ."""
    tags = [dict(instance.client_tags) for instance in group.instances]
    marks = [[of.get(key) for of in tags] for key in dict.fromkeys(config.rack_aware_assignment_tags)]
    if rack_aware.enabled(group, config):
        marks.append([instance.rack for instance in group.instances])
    return [values for values in marks if len(set(values) - {None}) > 1]


def _shares_a_mark(holders: Sequence[int], marks: Sequence[Sequence[str | None]]) -> bool:
    """Tell whether fewer values are used than could be: every holder another one, or all there are (KIP-708)."""
    for values in marks:
        used = [values[holder] for holder in holders if values[holder] is not None]
        if len(set(used)) < min(len(used), len(set(values) - {None})):
            return True
    return False
