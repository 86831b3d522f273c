"""Cancelling negative cycles in the network of the rack strategies, in Kafka's own search order (KIP-925).

Source: page ``rules``, "Racks".

Kafka improves an assignment as long as Bellman-Ford finds a negative cycle in its residual graph: as many passes over
all arcs as there are nodes, nodes by number, arcs by destination; the first node that the last pass still relaxes is
walked back until a node repeats. There are several optima, so that search is part of the result. Here it is the same,
pass by pass, in far fewer steps:

* All tasks of one kind, subtopology and client have the same distance throughout, so the first of them stands for all,
  and a pass needs only the least step from each client to each other.
* Source and sink lie on no cycle: nothing leaves the source, nothing enters the sink.
* Once there is a negative cycle, distances fall for ever and soon in a rhythm, of which whole periods are left out.
"""

from __future__ import annotations

from itertools import chain, product
from operator import add, sub

from kstream_plan.assignors.racks.network import IMPASSABLE, TaskNetwork
from kstream_plan.errors import ConfigError

_SOURCE = -1


def minimize_cost(network: TaskNetwork) -> None:
    """Cancel one negative cycle after the other until there is none.

    Raises:
        ConfigError: there is no end to it, because costs overflow 32 bits.
    """
    network.update_steps()
    earlier_owners = set()
    while moves := _Search(network).negative_cycle():
        for task, client in moves:
            network.assign(task, client)
        network.update_steps()
        if network.may_never_end:
            owners = tuple(network.owner)
            if owners in earlier_owners:
                raise ConfigError(
                    "with these costs Kafka's rack-aware optimisation never ends: they overflow 32 bits",
                    fix="lower rack.aware.assignment.traffic_cost or rack.aware.assignment.non_overlap_cost",
                )
            earlier_owners.add(owners)


class _Distances:
    """Distances at the end of a pass; 0 everywhere before the first.

    ``clients`` are those of the clients' nodes per subtopology; ``scanned`` what they were when the pass came to
    them, which the distances of the tasks there follow from (and, last, the 0 that every task starts with);
    ``joints`` those of the joining nodes. Vectors of ``scanned`` are replaced, never changed.
    """

    def __init__(self, clients: list[list[int]], scanned: list[list[int]], joints: list[int]) -> None:
        self.clients = clients
        self.scanned = scanned
        self.joints = joints

    def copy(self) -> _Distances:
        return _Distances([list(row) for row in self.clients], list(self.scanned), list(self.joints))


class _Search:
    """One search for a negative cycle."""

    def __init__(self, network: TaskNetwork) -> None:
        clients, subtopologies = network.clients, network.subtopologies
        self._network = network
        self._now = _Distances(
            clients=[[0 for _ in clients] for _ in subtopologies],
            scanned=[[*(IMPASSABLE for _ in clients), 0] for _ in subtopologies],
            joints=[0 for _ in clients],
        )
        #: The scanned distances at the start of the last pass, and those that the clients were last relaxed from.
        self._scanned_before = list(self._now.scanned)
        self._used: list[list[int]] = [[] for _ in subtopologies]
        #: Per subtopology and client the scanned distances that last relaxed its node; empty: its joint did.
        self._relaxed_by: list[list[list[int]]] = [[[] for _ in clients] for _ in subtopologies]
        #: Per client the subtopology whose node last relaxed its joint.
        self._joint_relaxed_by = [0 for _ in clients]
        self._into_joint: list[tuple[int, int]] = []
        self._out_of_joint: list[tuple[int, int]] = []
        if network.limits is not None:
            counts, limits = network.counts, network.limits
            self._into_joint = [(g, i) for g in subtopologies for i in clients if counts[g][i] < limits[g][i]]
            self._out_of_joint = [(g, i) for i in clients for g in subtopologies if counts[g][i] > 0]

    def negative_cycle(self) -> list[tuple[int, int]]:
        """Return the tasks of a negative cycle and the clients they go to; empty if there is none."""
        passes, reference, age, window = self._network.nodes - 1, None, 0, 1
        while passes > 0:
            if not self._pass():
                return []
            passes, age = passes - 1, age + 1
            if reference is not None and (rhythm := self._rhythm_since(reference)) is not None:
                self._lower(*rhythm, periods=passes // age)
                passes, reference, window = passes % age, None, 0
            elif age == window:
                reference, age, window = self._now.copy(), 0, 2 * window
        last = self._last_relaxed()
        return [] if last is None else self._cycle_behind(*last)

    def _pass(self) -> bool:
        """Relax every arc: the tasks', then the clients', then the joints'; return whether any distance fell."""
        now, fallen = self._now, False
        self._scanned_before = list(now.scanned)
        for g, vector in enumerate(now.scanned):
            if vector is not self._used[g]:
                fallen |= self._relax_clients(g, vector)
        for g, row in enumerate(now.clients):
            if now.scanned[g][:-1] != row:
                now.scanned[g] = [*row, 0]
                fallen = True
        for g, i in self._into_joint:
            if now.clients[g][i] < now.joints[i]:
                now.joints[i] = now.clients[g][i]
                self._joint_relaxed_by[i] = g
                fallen = True
        for g, i in self._out_of_joint:
            if now.joints[i] < now.clients[g][i]:
                now.clients[g][i] = now.joints[i]
                self._relaxed_by[g][i] = []
                fallen = True
        return fallen

    def _relax_clients(self, g: int, vector: list[int]) -> bool:
        """Relax the arcs from a subtopology's tasks to its clients."""
        self._used[g] = vector
        row, relaxed_by, fallen = self._now.clients[g], self._relaxed_by[g], False
        for i, steps in enumerate(self._network.steps[g]):
            distance = min(map(add, vector, steps))
            if distance < row[i]:
                row[i] = distance
                relaxed_by[i] = vector
                fallen = True
        return fallen

    def _rhythm_since(self, earlier: _Distances) -> tuple[list[int], list[int]] | None:
        """Return how much the distances of each subtopology and joint fell since ``earlier``, if that never ends.

        It will if a subtopology's distances all fell by the same, nothing can reach what fell less, and nothing that
        fell less has had a part in it.
        """
        now, drops = self._now, []
        for g, row in enumerate(now.clients):
            earlier_distances, distances = (
                chain(earlier.clients[g], earlier.scanned[g][:-1]),
                chain(row, now.scanned[g]),
            )
            fell = set(map(sub, earlier_distances, distances))
            if len(fell) > 1:
                return None
            drops.append(fell.pop())
        joint_drops = list(map(sub, earlier.joints, now.joints))
        if not any(drops):
            return None
        arcs = [
            *((drops[g], earlier.clients[g][i], joint_drops[i], earlier.joints[i]) for g, i in self._into_joint),
            *((joint_drops[i], earlier.joints[i], drops[g], earlier.clients[g][i]) for g, i in self._out_of_joint),
            *((0, start, drops[g], earlier.clients[g][i]) for g, i, start in self._network.starts()),
        ]
        if any(
            fell > end_fell or (fell < end_fell and distance - fell < end_distance)
            for fell, distance, end_fell, end_distance in arcs
        ):
            return None
        return drops, joint_drops

    def _lower(self, drops: list[int], joint_drops: list[int], *, periods: int) -> None:
        """Let all distances fall as in so many periods."""
        now = self._now
        for g, drop in enumerate(drops):
            fall, up_to_date = drop * periods, self._used[g] is now.scanned[g]
            now.clients[g] = [distance - fall for distance in now.clients[g]]
            now.scanned[g] = _lowered(now.scanned[g], fall)
            self._scanned_before[g] = _lowered(self._scanned_before[g], fall)
            if up_to_date:
                self._used[g] = now.scanned[g]
        now.joints[:] = [distance - drop * periods for distance, drop in zip(now.joints, joint_drops, strict=True)]

    def _last_relaxed(self) -> tuple[int, int] | None:
        """Return the first node that one more pass relaxes and the node it is relaxed from, if there is one."""
        network, now = self._network, self._now
        nearest = (
            min(map(add, distances, savings))
            for distances, savings in zip(self._scanned_before, network.least_savings, strict=True)
        )
        source = min(0, *nearest)
        fell = (
            (task, g, owner)
            for g, owner in product(network.subtopologies, network.clients)
            if now.scanned[g][owner] < self._scanned_before[g][owner]
            for task in network.first_by_kind(g, owner)
        )
        for task, g, owner in sorted(fell):
            distance, costs = network.distance(task, owner, now.scanned[g]), network.costs[network.kinds[task]]
            if distance < source:
                return _SOURCE, task
            for i, client_distance in enumerate(now.clients[g]):
                if distance + costs[i] < client_distance and i != owner:
                    return network.client_node(g, i), task
        return self._last_relaxed_by_a_client()

    def _last_relaxed_by_a_client(self) -> tuple[int, int] | None:
        """As :meth:`_last_relaxed`, no task having relaxed anything: only a client that its joint has just relaxed."""
        network, now = self._network, self._now
        for g, i in product(network.subtopologies, network.clients):
            distance = now.clients[g][i]
            if distance == now.scanned[g][i]:
                continue
            for task in sorted(network.first_by_kind(g, i)):
                if distance + network.savings[network.kinds[task]][i] < network.distance(task, i, now.scanned[g]):
                    return task, network.client_node(g, i)
            if distance < now.joints[i] and (g, i) in self._into_joint:
                return network.joint_node(i), network.client_node(g, i)
        return None

    def _cycle_behind(self, end: int, start: int) -> list[tuple[int, int]]:
        """Walk back from ``end`` (relaxed from ``start``) into the cycle; return its tasks and where they go."""
        visited, node = {end}, start
        while node not in visited:
            visited.add(node)
            node = self._relaxed_from(node)
        moves, first = [], node
        while True:
            previous_node = start if node == end else self._relaxed_from(node)
            if 0 <= previous_node < len(self._network.kinds):
                moves.append((previous_node, self._network.client_at(node)))
            node = previous_node
            if node == first:
                return moves

    def _relaxed_from(self, node: int) -> int:
        """Return the node by which a node of a task, client or joint was last relaxed."""
        network = self._network
        if node < len(network.kinds):
            return network.client_node(network.subtopology_of[node], network.owner[node])
        g, i = divmod(node - len(network.kinds), len(network.clients))
        if g == len(network.subtopologies):
            return network.client_node(self._joint_relaxed_by[i], i)
        vector = self._relaxed_by[g][i]
        return network.first_on_the_way(g, i, vector) if vector else network.joint_node(i)


def _lowered(vector: list[int], fall: int) -> list[int]:
    """Lower scanned distances, except the last, where every task starts."""
    return [distance - fall for distance in vector[:-1]] + vector[-1:]
