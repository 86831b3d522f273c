"""Tasks placed evenly at the least cost: a minimum-cost flow, bounded by KIP-441's rules of balance.

Source: page ``rules``, "Balanced by the KIP".

Units flow task → (subtopology, instance) → instance. A task has an arc of its own to every instance that is special to
it; everybody else is reached through one "cold" node per subtopology. The bounds on the arcs are the balance rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, repeat
from operator import gt
from typing import NamedTuple, TypeAlias

import numpy as np

from kstream_plan.assignors.balanced.min_cost_flow import Network, Numbers, spread_order
from kstream_plan.model import Group

#: If the windows of a balance factor above 1 need more arcs than this, over all flows that are tried, the search ends.
_MOST_ARCS = 3_000_000


#: Records to restore, then moves (0 or 1).
Costs: TypeAlias = tuple[int, int]


class Placeable(NamedTuple):
    """One task and what it costs to place it.

    ``special`` is by instance; ``cold`` is everywhere else.
    """

    task: int
    special: Mapping[int, Costs]
    cold: Costs


class ActiveShares(NamedTuple):
    """The least and most tasks of each instance."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]


#: So much weighs the order of tasks and of cells more than the order of pairs among equal ones.
_TIES = 2**7

#: Row of the instances' own loads; the others are numbered by subtopology.
_INSTANCES = -1
_Rows: TypeAlias = dict[int, ActiveShares]


class FlowPlacement(NamedTuple):
    """Where each task goes, its total costs (records, moves), and whether no cheaper balanced placement exists."""

    instance_of: dict[int, int]
    costs: tuple[int, int]
    proven: bool


def shares(tasks: int, capacities: Sequence[int], balance_factor: int) -> ActiveShares:
    """Return each instance's share of the tasks, rounded down and up, and ``balance_factor`` - 1 beyond."""
    whole, slack = sum(capacities), balance_factor - 1
    return ActiveShares(
        tuple(max(0, tasks * capacity // whole - slack) for capacity in capacities),
        tuple(-(-tasks * capacity // whole) + slack for capacity in capacities),
    )


def place_evenly(
    group: Group, tasks: Iterable[Placeable], balance_factor: int, loads: Sequence[int] | None = None
) -> FlowPlacement:
    """Place the tasks so that instances and subtopologies are balanced, at the least cost.

    Balanced: every instance has its share by capacity, rounded up or down, of all tasks (``loads`` included) and of
    each subtopology's, give or take ``balance_factor`` - 1; with equal capacities, moreover, most minus least is at
    most ``balance_factor``. The latter is a window whose place is free: where a flow breaks it, the search branches on
    the window's lower end, and the cheapest flow that breaks none is the optimum. Among equal costs a fixed order
    decides.

    Args:
        group: who takes part.
        tasks: what to place, in task order; costs as of :class:`Placeable`.
        balance_factor: 1 or more.
        loads: tasks that each instance has already. With unequal capacities they may make a balance impossible; then
            as few tasks as possible are out of bounds.
    """
    columns = _columns(group, tasks)
    return (
        _Search(group, columns, balance_factor, loads).run() if len(columns.task) else FlowPlacement({}, (0, 0), True)
    )


@dataclass(frozen=True, slots=True)
class _Flow:
    placement: dict[int, int]
    costs: tuple[int, ...]
    rows: _Rows


class _Columns(NamedTuple):
    """The arcs that every flow of a search has, column by column.

    By task: the ``task`` itself, its ``row``, and price and order of its cold arc. By arc of its own: the task's place,
    the instance, the place of the cell in ``cells`` (row · instances + instance), price, order, and what decides where
    the order does not.
    """

    task: Numbers
    row: Numbers
    cold_price: list[int]
    cold_order: Numbers
    own_place: Numbers
    own_instance: Numbers
    own_cell: Numbers
    own_price: list[int]
    own_order: Numbers
    own_rest: Numbers
    cells: Numbers


def _columns(group: Group, tasks: Iterable[Placeable]) -> _Columns:
    """Take the tasks one by one and keep none of them: so many objects at once are much work for the collector."""
    task_numbers, places, instances, cold, special = list[int](), list[int](), list[int](), list[Costs](), list[Costs]()
    for number, placeable in enumerate(tasks):
        task_numbers.append(placeable.task)
        cold.append(placeable.cold)
        places.extend(repeat(number, len(placeable.special)))
        instances.extend(placeable.special)
        special.extend(placeable.special.values())
    numbers: dict[str, int] = {}
    row = np.array(
        [numbers.setdefault(group.subtopologies[task], len(numbers)) for task in task_numbers], dtype=np.int64
    )
    task, place, instance = (np.array(column, dtype=np.int64) for column in (task_numbers, places, instances))
    base = len(task_numbers) + 1
    price = [records * base + moves for records, moves in special]
    cells, own_cell = np.unique(row[place] * len(group.instances) + instance, return_inverse=True)
    cold_order = _TIES * spread_order(task)
    # The order of a pair is what the cold arcs of the task and of the cell are worth together, so that a pair keeps its
    # place when its instance gets a copy. Beyond that it tells who of several tasks with copies on the same instances
    # goes where.
    pair, costs = spread_order(task[place], instance, 2), np.array(price, dtype=bool)
    order = cold_order[place] + _TIES * spread_order(row[place], instance, 1) + pair % _TIES
    return _Columns(
        task=task,
        row=row,
        cold_price=[records * base + moves for records, moves in cold],
        cold_order=cold_order,
        own_place=place,
        own_instance=instance,
        own_cell=own_cell,
        own_price=price,
        own_order=np.where(costs, order, 0),
        own_rest=np.where(costs, pair // _TIES, 0),
        cells=cells,
    )


class _Search:
    """Best first over boxes of windows."""

    def __init__(self, group: Group, columns: _Columns, balance_factor: int, loads: Sequence[int] | None) -> None:
        self._columns, self._factor = columns, balance_factor
        self._capacities = group.capacities
        self._equal = len(set(group.capacities)) == 1
        self._soft = loads is not None and not self._equal
        self._loads = tuple(loads) if loads is not None else (0,) * len(group.capacities)
        self._number = len(columns.task)
        self._sizes = dict(enumerate(np.bincount(columns.row).tolist()))
        self._sizes[_INSTANCES] = self._number + sum(self._loads)
        self._arcs = 0

    def run(self) -> FlowPlacement:
        widest = self._flow(self._shares())
        assert widest is not None
        order = count()
        queue = [(widest.costs, next(order), widest)]
        while queue:
            _, _, flow = heappop(queue)
            boxes = self._split(flow)
            if not boxes:
                return self._placement(flow, proven=True)
            for box in boxes:
                if self._arcs > _MOST_ARCS:
                    return self._placement(self._narrowed() or widest, proven=False)
                child = self._flow(box)
                if child is not None:
                    heappush(queue, (child.costs, next(order), child))
        raise AssertionError("there is always a balanced placement: every share rounded up or down")

    def _placement(self, flow: _Flow, *, proven: bool) -> FlowPlacement:
        return FlowPlacement(flow.placement, divmod(flow.costs[1], self._number + 1), proven)

    def _narrowed(self) -> _Flow | None:
        """Fix every window at the share rounded down; ``None``: ``loads`` leave no room for that."""
        rows = self._shares()
        for row, size in self._sizes.items():
            rounded_down = size // len(self._capacities)
            rows[row] = _narrowed_to(rows[row], rounded_down, rounded_down + self._factor)
        return self._flow(rows)

    def _shares(self) -> _Rows:
        by_size = {size: shares(size, self._capacities, self._factor) for size in self._sizes.values()}
        return {row: by_size[size] for row, size in self._sizes.items()}

    def _split(self, flow: _Flow) -> list[_Rows]:
        """Return the two halves of the box in which the first broken window lies; nothing if none is broken."""
        if not self._equal or self._factor == 1:
            return []
        counts = {row: [0] * len(self._capacities) for row in flow.rows}
        counts[_INSTANCES] = list(self._loads)
        for task, row in zip(self._columns.task.tolist(), self._columns.row.tolist(), strict=True):
            instance = flow.placement[task]
            counts[row][instance] += 1
            counts[_INSTANCES][instance] += 1
        for row, bounds in flow.rows.items():
            least, most = min(counts[row]), max(counts[row])
            if most - least > self._factor:
                middle = (least + most - self._factor - 1) // 2
                lower_half = _narrowed_to(bounds, 0, middle + self._factor)
                upper_half = _narrowed_to(bounds, middle + 1, most)
                return [{**flow.rows, row: lower_half}, {**flow.rows, row: upper_half}]
        return []

    def _flow(self, rows: _Rows) -> _Flow | None:
        """Return the cheapest flow within these bounds, if there is one."""
        if not self._soft and any(map(gt, self._loads, rows[_INSTANCES].upper)):
            return None
        network, arcs = Network(4), self._columns
        instances, pools = network.nodes(len(self._capacities)), network.nodes(len(rows) - 1)
        tasks, cells = network.nodes(self._number, 1), network.nodes(len(arcs.cells))
        own_arcs = network.arcs(
            arcs.own_place + tasks.start,
            arcs.own_cell + cells.start,
            1,
            (0, arcs.own_price, arcs.own_order, arcs.own_rest),
        )
        cold = network.arcs(tasks, arcs.row + pools.start, 1, (0, arcs.cold_price, arcs.cold_order, 0))
        slots = self._cells(network, rows, pools, cells, instances)
        self._sinks(network, rows[_INSTANCES], instances)
        self._arcs += len(network.tails)
        flow = network.cheapest()
        if flow is None:
            return None
        units, costs = flow
        used = np.flatnonzero(units[own_arcs.start : own_arcs.stop])
        placement = dict(zip(arcs.task[arcs.own_place[used]].tolist(), arcs.own_instance[used].tolist(), strict=True))
        places = np.flatnonzero(units[cold.start : cold.stop])
        by_slot = units[slots.start : slots.stop].reshape(len(pools), len(instances))
        for row, row_tasks in _grouped(zip(arcs.row[places].tolist(), arcs.task[places].tolist(), strict=True)).items():
            placement.update(zip(row_tasks, np.repeat(np.arange(len(instances)), by_slot[row]).tolist(), strict=True))
        return _Flow(placement, costs, rows)

    def _cells(self, network: Network, rows: _Rows, pools: range, cells: range, instances: range) -> range:
        """Connect the pools with the cells and these with the instances; return the pools' arcs, pool by pool."""
        pairs, of_cells = len(pools) * len(instances), self._columns.cells
        pool, instance = np.divmod(np.arange(pairs), len(instances))
        lower, upper = (np.array([rows[row][bound] for row in range(len(pools))]).reshape(pairs) for bound in (0, 1))
        heads, reserved = instance + instances.start, lower.copy()
        heads[of_cells], reserved[of_cells] = cells, 0
        order = _TIES * spread_order(pool, instance, 1)
        slots = network.arcs(pool + pools.start, heads, upper, (0, 0, order, 0), reserved)
        network.arcs(cells, instance[of_cells] + instances.start, upper[of_cells], (0, 0, 0, 0), lower[of_cells])
        return slots

    def _sinks(self, network: Network, bounds: ActiveShares, instances: range) -> None:
        sink = network.node(-self._number)
        for instance, node in enumerate(instances):
            lower = max(0, bounds.lower[instance] - self._loads[instance])
            upper = max(0, bounds.upper[instance] - self._loads[instance])
            if self._soft:
                soft_bounds(network, node, sink, lower, upper, self._number)
            else:
                network.arc(node, sink, upper, None, lower)


def soft_bounds(network: Network, node: int, sink: int, lower: int, upper: int, most: int) -> None:
    """Connect a node with the sink so that the first objective counts the units below ``lower`` and above ``upper``.

    A unit costs 0 up to ``lower``, 1 up to ``upper`` and 2 beyond: of a fixed number of units over all nodes that is,
    but for a constant, the units missing plus the units above.
    """
    rest = (0,) * (network.objectives - 1)
    network.arc(node, sink, lower, (0, *rest))
    network.arc(node, sink, upper - lower, (1, *rest))
    network.arc(node, sink, most, (2, *rest))


def _narrowed_to(bounds: ActiveShares, lower: int, upper: int) -> ActiveShares:
    return ActiveShares(
        tuple(max(lower, share) for share in bounds.lower), tuple(min(upper, share) for share in bounds.upper)
    )


def _grouped(pairs: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    tasks_of: dict[int, list[int]] = defaultdict(list)
    for row, task in pairs:
        tasks_of[row].append(task)
    return tasks_of
