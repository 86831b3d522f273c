"""``ConstrainedPrioritySet``: the least loaded client that is allowed to have a task."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.reference.client_state import ProcessId, TaskId
from tests.reference.java_collections import HashSet, PriorityQueue


class ConstrainedPrioritySet:
    """``ConstrainedPrioritySet``: nothing re-sorts it while loads change, so that its history decides."""

    def __init__(self, constraint: Callable[[ProcessId, TaskId], bool], weight: Callable[[ProcessId], float]) -> None:
        self.constraint = constraint
        self.clients_by_task_load: PriorityQueue[ProcessId] = PriorityQueue(lambda client: (weight(client), client))
        self.unique_clients: set[ProcessId] = set()

    def poll(
        self, task: TaskId, extra_constraint: Callable[[ProcessId], bool] = lambda client: True
    ) -> ProcessId | None:
        """``ConstrainedPrioritySet.poll``."""
        invalid_polled_clients: HashSet[ProcessId] = HashSet()
        while self.clients_by_task_load:
            candidate = self.poll_next_client()
            if self.constraint(candidate, task) and extra_constraint(candidate):
                self.offer_all(invalid_polled_clients)
                return candidate
            invalid_polled_clients.add(candidate)
        self.offer_all(invalid_polled_clients)
        return None

    def offer_all(self, clients: Iterable[ProcessId]) -> None:
        """``ConstrainedPrioritySet.offerAll``."""
        for client in clients:
            self.offer(client)

    def offer(self, client: ProcessId) -> None:
        """``ConstrainedPrioritySet.offer``."""
        if client in self.unique_clients:
            self.clients_by_task_load.remove(client)
        else:
            self.unique_clients.add(client)
        self.clients_by_task_load.offer(client)

    def poll_next_client(self) -> ProcessId:
        """``ConstrainedPrioritySet.pollNextClient``."""
        client = self.clients_by_task_load.poll()
        self.unique_clients.remove(client)
        return client
