"""The flow network that the rack strategies optimise (KIP-925): which task runs where, and at what cost.

Source: page ``rules``, "Racks".

Kafka's graph has a node per task, per client (in ``balance_subtopology`` one per client and subtopology, joined in
one more per client), a source and a sink, numbered in that order. Every task can flow to every client. As each client
keeps its number of tasks, what flows is just who runs what, and that is all that is kept here.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from operator import add

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
