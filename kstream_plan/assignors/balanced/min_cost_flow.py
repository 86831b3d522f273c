"""The cheapest of all flows through a network, exact for costs of any size.

The solver (OR-tools' cost-scaling minimum-cost flow) computes in 64 bits. Larger costs are handed to it digit by digit,
the highest first: a cheapest flow for the digits so far has node potentials under which no arc with room left costs
less than 0 (Bellman's inequalities). In terms of these reduced costs the next digit can make a cycle of ``n`` arcs
cheaper by less than ``n`` units of the digit before, so an arc that costs more than that is settled (Tardos 1985): it
stays as full or as empty as it is and is left out from then on. Objectives that matter only among the optima of an
earlier one are one more digit without a bound on what it is worth.

Import this module only when a flow is wanted: the solver takes a while to load, and is installed on request.

Raises:
    UsageError: on import, where it is not installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from operator import mul
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kstream_plan.errors import UsageError

try:
    from ortools.graph.python import min_cost_flow
except ImportError as error:
    message = "the assignor balanced and --set bounds=true need OR-tools, which is not installed"
    raise UsageError(message, fix="pip install 'kstream-plan[balanced]'") from error

Numbers: TypeAlias = npt.NDArray[np.int64]
#: One number for each of many arcs, or one for all of them.
Column: TypeAlias = Sequence[int] | Numbers | int


class Network:
    """A directed network with bounds on its arcs and one cost per arc and objective.

    Args:
        objectives: how many; an earlier one beats any amount of a later one.

    Nodes and arcs are numbered as they are added. Costs are whole numbers of any size, 0 or more.
    """

    def __init__(self, objectives: int) -> None:
        self.objectives = objectives
        self.supplies: list[int] = []
        # One flat list each: there are hundreds of thousands of arcs, and the garbage collector leaves numbers alone.
        self.tails: list[int] = []
        self.heads: list[int] = []
        self.lower: list[int] = []
        self.upper: list[int] = []
        self.costs: list[list[int]] = [[] for _ in range(objectives)]

    def node(self, supply: int = 0) -> int:
        """Add a node that feeds ``supply`` units in (below 0: takes them out) and return its number."""
        return self.nodes(1, supply).start

    def nodes(self, number: int, supply: int = 0) -> range:
        """Add so many nodes alike and return their numbers."""
        self.supplies.extend(repeat(supply, number))
        return range(len(self.supplies) - number, len(self.supplies))

    def arc(self, tail: int, head: int, upper: int, costs: tuple[int, ...] | None = None, lower: int = 0) -> int:
        """Add an arc that carries ``lower`` to ``upper`` units at these costs each (default: 0); return its number."""
        self.tails.append(tail)
        self.heads.append(head)
        self.upper.append(upper)
        self.lower.append(lower)
        for column, cost in zip(self.costs, costs or repeat(0), strict=False):
            column.append(cost)
        return len(self.tails) - 1

    def arcs(
        self, tails: Column, heads: Sequence[int] | Numbers, upper: Column, costs: Sequence[Column], lower: Column = 0
    ) -> range:
        """Add an arc for each of ``heads``; ``costs`` has a column per objective. Return their numbers."""
        number = len(heads)
        columns = (self.tails, self.heads, self.upper, self.lower, *self.costs)
        for column, values in zip(columns, (tails, heads, upper, lower, *costs), strict=True):
            if isinstance(values, int):
                column.extend(repeat(values, number))
            else:
                column.extend(values.tolist() if isinstance(values, np.ndarray) else values)
        return range(len(self.tails) - number, len(self.tails))

    def cheapest(self) -> tuple[Numbers, tuple[int, ...]] | None:
        """Return the units on every arc of a cheapest flow and its total costs, or ``None`` if none keeps the bounds.

        Supplies must add up to 0.
        """
        ends_and_bounds = (self.tails, self.heads, self.lower, self.upper)
        solver = _Solver(self.supplies, *(np.array(column, dtype=np.int64) for column in ends_and_bounds))
        costs = [_numbers(column) for column in self.costs]
        flow: Numbers | None = None
        for digit in self._digits(costs, solver.first_bits, solver.bits):
            if flow is not None:
                solver.reduce(flow)
            flow = solver.solve(digit)
            if flow is None:
                return None
        assert flow is not None
        units = flow + np.array(self.lower, dtype=np.int64)
        return units, tuple(_total(units, objective_costs) for objective_costs in costs)

    def _digits(self, costs: Sequence[npt.NDArray[Any]], first_bits: int, bits: int) -> Iterator[_Digit]:
        """Yield the costs digit by digit, the first one of at most ``first_bits``, the others of at most ``bits``."""
        room = first_bits
        for objective in costs:
            bits_to_go, starts = int(objective.max(initial=0)).bit_length(), True
            while bits_to_go > 0:
                width = min(bits_to_go, room)
                bits_to_go -= width
                yield _Digit((objective >> bits_to_go & ((1 << width) - 1)).astype(np.int64), width, starts)
                room, starts = bits, False
        if room == first_bits:
            yield _Digit(np.zeros(len(self.tails), dtype=np.int64), 0, True)  # nothing costs anything: any flow will do


class _Digit(NamedTuple):
    """One digit of every arc's cost, its width in bits, and whether it begins an objective."""

    costs: Numbers
    width: int
    starts: bool


class _Solver:
    """The network above its lower bounds, with the reduced costs of the digits so far."""

    def __init__(self, supplies: list[int], tails: Numbers, heads: Numbers, lower: Numbers, upper: Numbers) -> None:
        self._tails, self._heads, self._room = tails, heads, upper - lower
        self._supplies = np.array(supplies, dtype=np.int64)
        np.subtract.at(self._supplies, tails, lower)
        np.add.at(self._supplies, heads, lower)
        self._nodes = len(supplies)
        # The solver multiplies costs by the number of nodes, and a settled arc costs that many units of a digit.
        width = (self._nodes + 2).bit_length()
        self.first_bits, self.bits = 60 - width, 60 - 2 * width
        self._reduced = np.zeros(len(tails), dtype=np.int64)

    def solve(self, digit: _Digit) -> Numbers | None:
        """Return a cheapest flow for the digits so far, if there is any flow."""
        bound = self._nodes + 2
        higher = np.sign(self._reduced) * bound if digit.starts else np.clip(self._reduced, -bound, bound)
        open_arcs = np.flatnonzero(np.abs(higher) < bound)
        flow: Numbers = np.where(higher < 0, self._room, 0)
        flow[open_arcs] = 0
        supplies = self._supplies.copy()
        np.subtract.at(supplies, self._tails, flow)
        np.add.at(supplies, self._heads, flow)
        self._reduced = (higher << digit.width) + digit.costs
        solver = min_cost_flow.SimpleMinCostFlow()
        # From the sink to the sources: that way round the solver takes less time for a large scale-out.
        arcs = solver.add_arcs_with_capacity_and_unit_cost(
            self._heads[open_arcs], self._tails[open_arcs], self._room[open_arcs], self._reduced[open_arcs]
        )
        solver.set_nodes_supplies(np.arange(self._nodes), -supplies)
        status = solver.solve()
        if status == solver.INFEASIBLE:
            return None
        if status != solver.OPTIMAL:
            raise ArithmeticError(f"the flow solver gave up: {status}")
        flow[open_arcs] = solver.flows(arcs)
        return flow

    def reduce(self, flow: Numbers) -> None:
        """Reduce the costs by the distances in the residual network (Bellman-Ford, all nodes as sources)."""
        forward, backward = flow < self._room, flow > 0
        tails = np.concatenate([self._tails[forward], self._heads[backward]])
        heads = np.concatenate([self._heads[forward], self._tails[backward]])
        costs = np.concatenate([self._reduced[forward], -self._reduced[backward]])
        by_head = np.argsort(heads, kind="stable")
        tails, heads, costs = tails[by_head], heads[by_head], costs[by_head]
        firsts = np.flatnonzero(np.concatenate([[True], heads[1:] != heads[:-1]]))
        reached = heads[firsts]
        distances = np.zeros(self._nodes, dtype=np.int64)
        while True:
            nearer = np.minimum(distances[reached], np.minimum.reduceat(distances[tails] + costs, firsts))
            if np.array_equal(nearer, distances[reached]):
                break
            distances[reached] = nearer
        self._reduced += distances[self._tails] - distances[self._heads]


def _numbers(values: list[int]) -> npt.NDArray[Any]:
    """Return the numbers as an array, of Python's own where 64 bits are too few."""
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=object)


def _total(units: Numbers, costs: npt.NDArray[Any]) -> int:
    """Add up units times costs, of any size."""
    paid = np.flatnonzero((units != 0) & (costs != 0))
    return sum(map(mul, units[paid].tolist(), costs[paid].tolist()))


def spread_order(*columns: Column) -> Numbers:
    """Return a fixed number below 2^18 for each row of these; different sums of such numbers hardly ever tie."""
    mixed = np.zeros(1, dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ np.asarray(column, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)  # modulo 2^64
        mixed ^= mixed >> np.uint64(29)
    return (mixed * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(40) & np.uint64(0x3FFFF)).astype(np.int64)
