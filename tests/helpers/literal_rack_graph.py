"""The rack strategies' minimum-cost flow done literally: every node, every arc, every pass. Slow; for comparison."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from itertools import pairwise
from math import ceil

_SOURCE, _DUMMY = -1, -2


class Graph:
    """Arcs by (start, end): ``[cost, residual]``; a reverse arc beside each."""

    def __init__(self) -> None:
        self.arcs: dict[int, dict[int, list[int]]] = {}

    def add(self, start: int, end: int, capacity: int, cost: int, flow: int) -> None:
        self.arcs.setdefault(start, {})[end] = [cost, capacity - flow]
        self.arcs.setdefault(end, {})[start] = [-cost, flow]

    def push(self, nodes: Sequence[int]) -> None:
        steps = list(pairwise(nodes))
        amount = min(self.arcs[a][b][1] for a, b in steps)
        for a, b in steps:
            self.arcs[a][b][1] -= amount
            self.arcs[b][a][1] += amount

    def fill(self, sink: int) -> None:
        """Ford-Fulkerson, breadth first, arcs by destination."""
        while True:
            above, queue = {_SOURCE: _SOURCE}, deque([_SOURCE])
            while queue and sink not in above:
                node = queue.popleft()
                for end in sorted(self.arcs[node]):
                    if end not in above and self.arcs[node][end][1] > 0:
                        above[end] = node
                        queue.append(end)
                        if end == sink:
                            break
            if sink not in above:
                return
            way = [sink]
            while way[-1] != _SOURCE:
                way.append(above[way[-1]])
            self.push(way[::-1])

    def cancel_cycles(self) -> None:
        while (found := self._relaxed_last()) is not None:
            node, above = found
            visited = set()
            while node not in visited:
                visited.add(node)
                node = above[node]
            cycle = [node, above[node]]
            while cycle[-1] != node:
                cycle.append(above[cycle[-1]])
            self.push(cycle[::-1])

    def _relaxed_last(self) -> tuple[int, dict[int, int]] | None:
        """Bellman-Ford from a dummy node: the node relaxed in the pass that should not relax any, and all parents."""
        nodes = sorted(self.arcs)
        distance, above = dict.fromkeys(nodes, 0), dict.fromkeys(nodes, _DUMMY)
        for number in range(len(nodes) + 1):
            fallen = False
            for start in nodes:
                for end in sorted(self.arcs[start]):
                    cost, residual = self.arcs[start][end]
                    if residual > 0 and distance[start] + cost < distance[end]:
                        distance[end] = distance[start] + cost
                        above[end] = start
                        fallen = True
                        if number == len(nodes):
                            return end, above
            if not fallen:
                return None
        return None


def min_traffic(costs: Sequence[Sequence[int]], owners: Sequence[int]) -> list[int]:
    """Return the new owner of every task."""
    tasks, clients = len(costs), len(costs[0])
    graph, counts = Graph(), Counter(owners)
    for task, owner in enumerate(owners):
        graph.add(_SOURCE, task, 1, 0, 1)
        for client in range(clients):
            graph.add(task, tasks + client, 1, costs[task][client], int(client == owner))
    for client in range(clients):
        graph.add(tasks + client, tasks + clients, counts[client], 0, counts[client])
    graph.cancel_cycles()
    return [next(c for c in range(clients) if graph.arcs[tasks + c][task][1] > 0) for task in range(tasks)]


def balance_subtopology(
    costs: Sequence[Sequence[int]], owners: Sequence[int], subtopology_of: Sequence[int]
) -> list[int]:
    """Return the new owner of every task; tasks must be sorted by subtopology."""
    tasks, clients, groups = len(costs), len(costs[0]), max(subtopology_of) + 1
    graph, counts, sizes = Graph(), Counter(owners), Counter(subtopology_of)
    sink = tasks + clients * (groups + 1)
    for task, group in enumerate(subtopology_of):
        graph.add(_SOURCE, task, 1, 0, 0)
        for client in range(clients):
            graph.add(task, tasks + clients * group + client, 1, costs[task][client], 0)
    for client in range(clients):
        joint = tasks + clients * groups + client
        for group in range(groups):
            limit = ceil(counts[client] * 1.0 / tasks * sizes[group])
            graph.add(tasks + clients * group + client, joint, limit, 0, 0)
        graph.add(joint, sink, counts[client], 0, 0)
    graph.fill(sink)
    graph.cancel_cycles()
    return [
        next(c for c in range(clients) if graph.arcs[tasks + clients * group + c][task][1] > 0)
        for task, group in enumerate(subtopology_of)
    ]
