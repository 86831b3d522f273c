"""The cheapest of all flows through a network, exact for costs of any size.

The solver (OR-tools' cost-scaling minimum-cost flow) computes in 64 bits. Larger costs are handed to it digit by digit,
the highest first: a cheapest flow for the digits so far has node potentials under which no arc with room left costs
less than 0 (Bellman's inequalities). In terms of these reduced costs the next digit can make a cycle of ``n`` arcs
cheaper by less than ``n`` units of the digit before, so an arc that costs more than that is settled, and cutting its
cost off there changes nothing (Tardos 1985). Objectives that matter only among the optima of an earlier one are one
more digit without a bound on what it is worth.

Import this module only when a flow is wanted: the solver takes a while to load.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from ortools.graph.python import min_cost_flow

_Numbers = npt.NDArray[np.int64]


class Network:
    """A directed network with bounds on its arcs and one cost per arc and objective.

    Args:
        objectives: how many; an earlier one beats any amount of a later one.

    Nodes and arcs are numbered as they are added. Costs are whole numbers of any size, 0 or more.
    """

    def __init__(self, objectives: int) -> None:
        self.supplies: list[int] = []
        self._tails: list[int] = []
        self._heads: list[int] = []
        self._lower: list[int] = []
        self._upper: list[int] = []
        self._costs: list[tuple[int, ...]] = []
        self.objectives = objectives
        self._free = (0,) * objectives

    @property
    def size(self) -> int:
        """The number of arcs."""
        return len(self._tails)

    def node(self, supply: int = 0) -> int:
        """Add a node that feeds ``supply`` units in (below 0: takes them out) and return its number."""
        self.supplies.append(supply)
        return len(self.supplies) - 1

    def arc(self, tail: int, head: int, upper: int, costs: tuple[int, ...] | None = None, lower: int = 0) -> int:
        """Add an arc that carries ``lower`` to ``upper`` units at these costs each (default: 0); return its number."""
        self._tails.append(tail)
        self._heads.append(head)
        self._lower.append(lower)
        self._upper.append(upper)
        self._costs.append(self._free if costs is None else costs)
        return len(self._tails) - 1

    def cheapest(self) -> tuple[list[int], tuple[int, ...]] | None:
        """Return the units on every arc of a cheapest flow and its total costs, or ``None`` if nothing fits the bounds.

        Supplies must add up to 0.
        """
        lower = np.array(self._lower, dtype=np.int64)
        solver = _Solver(self, lower)
        flow: _Numbers | None = None
        for digits, last in _with_last(self._digits(solver.first_bits, solver.bits)):
            flow = solver.solve(*digits)
            if flow is None:
                return None
            if not last:
                solver.reduce(flow)
        assert flow is not None
        units = (flow + lower).tolist()
        used = [
            (unit, costs) for unit, costs in zip(units, self._costs, strict=True) if unit and costs is not self._free
        ]
        return units, tuple(sum(unit * costs[of] for unit, costs in used) for of in range(self.objectives))

    def _digits(self, first_bits: int, bits: int) -> Iterator[tuple[_Numbers, bool]]:
        """Yield the costs digit by digit and, with each digit, whether it begins an objective."""
        room = first_bits
        for objective in zip(*self._costs, strict=True):
            left, starts = max(objective).bit_length(), True
            while left > 0:
                left = max(0, left - room)
                yield _bits(objective, left, (1 << room) - 1), starts
                room, starts = bits, False
        if room == first_bits:
            yield np.zeros(self.size, dtype=np.int64), True  # nothing costs anything: any flow is a cheapest one

    def ends(self) -> tuple[_Numbers, _Numbers, _Numbers]:
        """Return tail, head and upper bound of every arc."""
        return (
            np.array(self._tails, dtype=np.int64),
            np.array(self._heads, dtype=np.int64),
            np.array(self._upper, dtype=np.int64),
        )


class _Solver:
    """The network above its lower bounds, with the reduced costs of the digits so far."""

    def __init__(self, network: Network, lower: _Numbers) -> None:
        self._tails, self._heads, upper = network.ends()
        self._room = upper - lower
        self._supplies = np.array(network.supplies, dtype=np.int64)
        np.subtract.at(self._supplies, self._tails, lower)
        np.add.at(self._supplies, self._heads, lower)
        self._nodes = len(network.supplies)
        # The solver multiplies costs by the number of nodes, and a settled arc costs that many units of a digit.
        width = (self._nodes + 2).bit_length()
        self.first_bits, self.bits = 60 - width, 60 - 2 * width
        self._reduced = np.zeros(len(self._tails), dtype=np.int64)

    def solve(self, digit: _Numbers, starts: bool) -> _Numbers | None:
        settled = self._nodes + 2
        higher = np.sign(self._reduced) * settled if starts else np.clip(self._reduced, -settled, settled)
        self._reduced = (higher << self.bits) + digit
        solver = min_cost_flow.SimpleMinCostFlow()
        arcs = solver.add_arcs_with_capacity_and_unit_cost(self._tails, self._heads, self._room, self._reduced)
        solver.set_nodes_supplies(np.arange(self._nodes), self._supplies)
        status = solver.solve()
        if status == solver.INFEASIBLE:
            return None
        if status != solver.OPTIMAL:
            raise ArithmeticError(f"the flow solver gave up: {status}")
        flow: _Numbers = solver.flows(arcs)
        return flow

    def reduce(self, flow: _Numbers) -> None:
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


def _bits(numbers: tuple[int, ...], shift: int, mask: int) -> _Numbers:
    """Return the bits of every number that the mask covers after a shift to the right."""
    try:
        return np.array(numbers, dtype=np.int64) >> shift & mask
    except OverflowError:
        return np.array([number >> shift & mask for number in numbers], dtype=np.int64)


def _with_last(digits: Iterator[tuple[_Numbers, bool]]) -> Iterator[tuple[tuple[_Numbers, bool], bool]]:
    """Say of each digit whether it is the last one."""
    before = next(digits)
    for digit in digits:
        yield before, False
        before = digit
    yield before, True


def spread_order(*numbers: int) -> int:
    """Return a fixed number below 2^18 for these, so that different sums of such numbers hardly ever tie."""
    mixed = 0
    for number in numbers:
        mixed = (mixed ^ number) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        mixed ^= mixed >> 29
    return mixed * 0xBF58476D1CE4E5B9 >> 40 & 0x3FFFF
