"""The first assignment of ``balance_subtopology`` (KIP-925): a maximum flow, whatever it costs.

Source: page ``rules``, "Racks".

Kafka runs Ford and Fulkerson's algorithm with a breadth-first search from the source, arcs by destination. It augments
by one task at a time, along a shortest way from an unassigned task over clients, their joining nodes and tasks
already assigned to a joining node with room for one more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from kstream_plan.assignors.racks.network import TaskNetwork
from kstream_plan.errors import PlanInvariantError


def assign_all(network: TaskNetwork, capacities: Sequence[int]) -> None:
    """Assign every task of a network that has none assigned yet.

    Args:
        network: the tasks and the limits per subtopology and client.
        capacities: the number of tasks that each client takes in all.
    """
    spare = list(capacities)
    unassigned_tasks: list[deque[int]] = [deque() for _ in network.subtopologies]
    for task, g in enumerate(network.subtopology_of):
        unassigned_tasks[g].append(task)
    while any(unassigned_tasks):
        way = _shortest_way(network, [tasks[0] for tasks in unassigned_tasks if tasks], spare)
        for previous_node, node in pairwise(way):
            if previous_node < len(network.kinds):
                network.assign(previous_node, network.client_at(node))
        unassigned_tasks[network.subtopology_of[way[0]]].popleft()
        spare[network.client_at(way[-1])] -= 1


def _shortest_way(network: TaskNetwork, heads: Sequence[int], spare: Sequence[int]) -> list[int]:
    """Return the nodes of the way that is found first, from one of ``heads`` to a joining node with spare room.

    ``heads`` are the first unassigned tasks of the subtopologies; whatever another one could reach, they reach first.
    """
    previous_nodes: dict[int, int | None] = dict.fromkeys(heads)
    queue, reached = deque(heads), set[int]()
    while queue:
        node = queue.popleft()
        for next_node in _arcs(network, node, reached):
            if next_node in previous_nodes:
                continue
            previous_nodes[next_node] = node
            if next_node >= network.joint_node(0) and spare[network.client_at(next_node)] > 0:
                return _way_to(next_node, previous_nodes)
            queue.append(next_node)
    raise PlanInvariantError("the limits of balance_subtopology leave no room for all tasks")


def _arcs(network: TaskNetwork, node: int, reached: set[int]) -> Iterator[int]:
    """Yield where an arc with room leads from ``node``, if that may be new; ``reached``: subtopologies all reached."""
    if node < len(network.kinds):
        g = network.subtopology_of[node]
        if g not in reached:
            reached.add(g)
            yield from (network.client_node(g, i) for i in network.clients if i != network.owner[node])
        return
    i = network.client_at(node)
    if node >= network.joint_node(0):
        yield from (network.client_node(g, i) for g in network.subtopologies if network.counts[g][i] > 0)
        return
    g = (node - len(network.kinds)) // len(network.clients)
    if g not in reached:
        yield from sorted(network.first_by_kind(g, i))[:1]
    if network.limits is not None and network.counts[g][i] < network.limits[g][i]:
        yield network.joint_node(i)


def _way_to(end: int, previous_nodes: Mapping[int, int | None]) -> list[int]:
    way: list[int] = []
    node: int | None = end
    while node is not None:
        way.append(node)
        node = previous_nodes[node]
    return way[::-1]
