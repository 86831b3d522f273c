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
from typing import NamedTuple

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
        self.objectives = objectives
        self.supplies: list[int] = []
        # One flat list each: there are hundreds of thousands of arcs.
        self.tails: list[int] = []
        self.heads: list[int] = []
        self.lower: list[int] = []
        self.upper: list[int] = []
        self.costs: list[tuple[int, ...]] = []
        self._free = (0,) * objectives

    def node(self, supply: int = 0) -> int:
        """Add a node that feeds ``supply`` units in (below 0: takes them out) and return its number."""
        self.supplies.append(supply)
        return len(self.supplies) - 1

    def arc(self, tail: int, head: int, upper: int, costs: tuple[int, ...] | None = None, lower: int = 0) -> int:
        """Add an arc that carries ``lower`` to ``upper`` units at these costs each (default: 0); return its number."""
        self.tails.append(tail)
        self.heads.append(head)
        self.lower.append(lower)
        self.upper.append(upper)
        self.costs.append(self._free if costs is None else costs)
        return len(self.costs) - 1

    def cheapest(self) -> tuple[list[int], tuple[int, ...]] | None:
        """Return the units on every arc of a cheapest flow and its total costs, or ``None`` if none keeps the bounds.

        Supplies must add up to 0.
        """
        ends_and_bounds = (self.tails, self.heads, self.lower, self.upper)
        solver = _Solver(self.supplies, *(np.array(of, dtype=np.int64) for of in ends_and_bounds))
        flow: _Numbers | None = None
        for digit in self._digits(solver.first_bits, solver.bits):
            if flow is not None:
                solver.reduce(flow)
            flow = solver.solve(digit)
            if flow is None:
                return None
        assert flow is not None
        units = [unit + least for unit, least in zip(flow.tolist(), self.lower, strict=True)]
        used = [(unit, of) for unit, of in zip(units, self.costs, strict=True) if unit and of is not self._free]
        return units, tuple(sum(unit * of[objective] for unit, of in used) for objective in range(self.objectives))

    def _digits(self, first_bits: int, bits: int) -> Iterator[_Digit]:
        """Yield the costs digit by digit, the first one of at most ``first_bits``, the others of at most ``bits``."""
        room = first_bits
        for objective in zip(*self.costs, strict=True):
            left, starts = max(objective).bit_length(), True
            while left > 0:
                width = min(left, room)
                left -= width
                yield _Digit(_bits(objective, left, (1 << width) - 1), width, starts)
                room, starts = bits, False
        if room == first_bits:
            yield _Digit(np.zeros(len(self.costs), dtype=np.int64), 0, True)  # nothing costs anything: any flow will do


class _Digit(NamedTuple):
    """One digit of every arc's cost, its width in bits, and whether it begins an objective."""

    costs: _Numbers
    width: int
    starts: bool


class _Solver:
    """The network above its lower bounds, with the reduced costs of the digits so far."""

    def __init__(self, supplies: list[int], tails: _Numbers, heads: _Numbers, lower: _Numbers, upper: _Numbers) -> None:
        self._tails, self._heads, self._room = tails, heads, upper - lower
        self._supplies = np.array(supplies, dtype=np.int64)
        np.subtract.at(self._supplies, tails, lower)
        np.add.at(self._supplies, heads, lower)
        self._nodes = len(supplies)
        # The solver multiplies costs by the number of nodes, and a settled arc costs that many units of a digit.
        width = (self._nodes + 2).bit_length()
        self.first_bits, self.bits = 60 - width, 60 - 2 * width
        self._reduced = np.zeros(len(tails), dtype=np.int64)

    def solve(self, digit: _Digit) -> _Numbers | None:
        """Return a cheapest flow for the digits so far, if there is any flow."""
        settled = self._nodes + 2
        higher = np.sign(self._reduced) * settled if digit.starts else np.clip(self._reduced, -settled, settled)
        self._reduced = (higher << digit.width) + digit.costs
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


def spread_order(*numbers: int) -> int:
    """Return a fixed number below 2^18 for these, so that different sums of such numbers hardly ever tie."""
    mixed = 0
    for number in numbers:
        mixed = (mixed ^ number) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        mixed ^= mixed >> 29
    return mixed * 0xBF58476D1CE4E5B9 >> 40 & 0x3FFFF
