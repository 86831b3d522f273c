"""The flow network that the rack strategies optimise (KIP-925): which task runs where, and at what cost.

Source: page ``rules``, "Racks".

Kafka's graph has a node per task, per client (in ``balance_subtopology`` one per client and subtopology, joined in
one more per client), a source and a sink, numbered in that order. Every task can flow to every client. As each client
keeps its number of tasks, what flows is just who runs what, and that is all that is kept here.

``balance_subtopology`` begins with a maximum flow, whatever it costs (:func:`assign_all`). Kafka runs Ford and
Fulkerson's algorithm with a breadth-first search from the source, arcs by destination. It augments by one task at a
time, along a shortest way from an unassigned task over clients, their joining nodes and tasks already assigned to a
joining node with room for one more.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import add

from kstream_plan.errors import PlanInvariantError
from kstream_plan.model.holding import NOBODY
from kstream_plan.model.java_hash import signed_int

#: The cost of a step that no task can take.
IMPASSABLE = 1 << 62
_LEAST_INT = -(2**31)


class TaskNetwork:
    """Tasks, clients and who runs what; a draft, private to one optimisation.

    Args:
        costs: per kind of task its cost on each client, 32-bit numbers; tasks of one kind cost the same everywhere.
        kinds: per task its kind. Tasks are numbered as Kafka numbers their nodes.
        subtopology_of: per task its subtopology, numbered from 0 without gaps, ascending; all 0 if that is no matter.
        owner: per task the client that runs it, or :data:`NOBODY`.
        limits: per subtopology and client the most tasks; ``None`` if there are no joining nodes.
    """

    def __init__(
        self,
        costs: Sequence[Sequence[int]],
        kinds: Sequence[int],
        subtopology_of: Sequence[int],
        owner: Sequence[int],
        limits: Sequence[Sequence[int]] | None = None,
    ) -> None:
        clients, subtopologies = range(len(costs[0])), range(subtopology_of[-1] + 1)
        self.clients = clients
        self.subtopologies = subtopologies
        self.costs = costs
        #: What it saves to take a task of a kind away from a client: the cost with its sign turned, in 32 bits.
        self.savings = [[signed_int(-cost) for cost in by_client] for by_client in costs]
        self.kinds = kinds
        self.subtopology_of = subtopology_of
        self.limits = limits
        self.owner = [NOBODY] * len(kinds)
        self.counts = [[0 for _ in clients] for _ in subtopologies]
        #: ``steps[g][to][from]``: the least cost of passing a task of subtopology g on; last, of starting one there.
        self.steps = [[[IMPASSABLE] * (len(clients) + 1) for _ in clients] for _ in subtopologies]
        #: The least that it saves to take a task of subtopology g away from each client.
        self.least_savings = [[IMPASSABLE for _ in clients] for _ in subtopologies]
        self._by_kind: list[list[dict[int, list[int]]]] = [[{} for _ in clients] for _ in subtopologies]
        self._outdated: dict[tuple[int, int], None] = {}
        least = min(map(min, costs))
        self._some_cost_is_negative = least < 0
        #: Whether a cost has no counterpart in 32 bits, so that a task may go to and fro, saving more and more.
        self.may_never_end = least == _LEAST_INT
        for task, client in enumerate(owner):
            if client != NOBODY:
                self.assign(task, client)

    @property
    def nodes(self) -> int:
        """The number of nodes of Kafka's graph: with source, sink and the dummy node that its search starts from."""
        per_client = 1 if self.limits is None else len(self.subtopologies) + 1
        return len(self.kinds) + len(self.clients) * per_client + 3

    def client_node(self, g: int, client: int) -> int:
        """Return the number of a client's node in subtopology ``g``."""
        return len(self.kinds) + g * len(self.clients) + client

    def joint_node(self, client: int) -> int:
        """Return the number of the node that joins a client's nodes."""
        return self.client_node(len(self.subtopologies), client)

    def client_at(self, node: int) -> int:
        """Return the client that a client's or joining node belongs to."""
        return (node - len(self.kinds)) % len(self.clients)

    def assign(self, task: int, client: int) -> None:
        """Let ``client`` run ``task`` instead of its present owner."""
        g, kind, owner = self.subtopology_of[task], self.kinds[task], self.owner[task]
        if owner != NOBODY:
            self._by_kind[g][owner][kind].remove(task)
            if not self._by_kind[g][owner][kind]:
                del self._by_kind[g][owner][kind]
            self.counts[g][owner] -= 1
            self._outdated[g, owner] = None
        insort(self._by_kind[g][client].setdefault(kind, []), task)
        self.counts[g][client] += 1
        self._outdated[g, client] = None
        self.owner[task] = client

    def first_by_kind(self, g: int, client: int) -> list[int]:
        """Return the first task of each kind that the client runs of subtopology ``g``."""
        return [tasks[0] for tasks in self._by_kind[g][client].values()]

    def first_on_the_way(self, g: int, client_to: int, distances: Sequence[int]) -> int:
        """Return the first task by which ``client_to`` is nearest, at the distances of ``steps[g][client_to]``."""
        steps = self.steps[g][client_to]
        nearest = min(map(add, distances, steps))
        starting = nearest == distances[-1] + steps[-1]
        return min(
            task
            for client in self.clients
            if client != client_to and (starting or nearest == distances[client] + steps[client])
            for task in self.first_by_kind(g, client)
            if nearest == self.costs[self.kinds[task]][client_to] + self.distance(task, client, distances)
        )

    def distance(self, task: int, client: int, distances: Sequence[int]) -> int:
        """Return a task's distance if its owner ``client`` was scanned at ``distances``, which end with its start."""
        return min(distances[-1], distances[client] + self.savings[self.kinds[task]][client])

    def starts(self) -> Iterator[tuple[int, int, int]]:
        """Yield (subtopology, client, least cost of starting a task there) where that can be a shortest way."""
        if self._some_cost_is_negative:
            for g, steps_by_client in enumerate(self.steps):
                for client, steps in enumerate(steps_by_client):
                    yield g, client, steps[-1]

    def update_steps(self) -> None:
        """Bring ``steps`` up to date."""
        for g, client in self._outdated:
            kinds = list(self._by_kind[g][client])
            self.least_savings[g][client] = min((self.savings[kind][client] for kind in kinds), default=IMPASSABLE)
            for client_to, steps in enumerate(self.steps[g]):
                if client_to != client:
                    ways = (self.costs[kind][client_to] + self.savings[kind][client] for kind in kinds)
                    steps[client] = min(ways, default=IMPASSABLE)
        if self._some_cost_is_negative:
            for g in self.subtopologies:
                self._update_starts(g)
        self._outdated.clear()

    def _update_starts(self, g: int) -> None:
        """Update the cost of letting a client run a task of another one without taking it away there.

        Kafka's search sets out from everywhere at distance 0, so also from a task. Unless its cost is negative that
        never is the shortest way to a client.
        """
        for client_to, steps in enumerate(self.steps[g]):
            kinds = {kind for client in self.clients if client != client_to for kind in self._by_kind[g][client]}
            steps[-1] = min((self.costs[kind][client_to] for kind in kinds), default=IMPASSABLE)


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
