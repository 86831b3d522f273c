"""``TaskMovement``: tasks stay where they are caught up, and warm up where they are to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.reference.client_state import ClientStates, ProcessId, TaskId
from tests.reference.constrained_priority_set import ConstrainedPrioritySet
from tests.reference.java_collections import PriorityQueue


class TaskMovement(NamedTuple):
    """``TaskMovement``: a task whose destination is not caught up while another client is more so."""

    task: TaskId
    destination: ProcessId
    caught_up_clients: list[ProcessId]


class Move(NamedTuple):
    """What became of a movement; Kafka keeps no such list, the recorded decisions have it."""

    kind: str
    how: str
    task: TaskId
    source: ProcessId
    destination: ProcessId
    warmup: bool


@dataclass
class Movements:
    """What the movements of one assignment share; ``remaining_warmup_replicas`` falls below zero."""

    tasks_to_caught_up_clients: dict[TaskId, list[ProcessId]]
    tasks_to_client_by_lag: dict[TaskId, list[ProcessId]]
    client_states: ClientStates
    remaining_warmup_replicas: int
    warmups: dict[ProcessId, set[TaskId]] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)

    def task_is_not_caught_up_on_client_and_other_more_caught_up_clients_exist(
        self, task: TaskId, client: ProcessId
    ) -> bool:
        """``TaskMovement.taskIsNotCaughtUpOnClientAndOtherMoreCaughtUpClientsExist``."""
        if self.task_is_caught_up_on_client(client, task):
            return False
        most_caught_up_lag = self.client_states[self.tasks_to_client_by_lag[task][0]].lag_for(task)
        return most_caught_up_lag < self.client_states[client].lag_for(task)

    def task_is_caught_up_on_client(self, client: ProcessId, task: TaskId) -> bool:
        """``TaskMovement.taskIsCaughtUpOnClient``."""
        return client in self.tasks_to_caught_up_clients[task]

    def caught_up_clients_by_task_load(self) -> ConstrainedPrioritySet:
        """Make the set of clients that both phases poll."""
        return ConstrainedPrioritySet(
            self.task_is_caught_up_on_client, lambda client: self.client_states[client].assigned_task_load()
        )

    def assign_active_task_movements(self) -> int:
        """``TaskMovement.assignActiveTaskMovements``."""
        clients = self.caught_up_clients_by_task_load()
        task_movements = movement_queue()
        for client, state in self.client_states.items():
            for task in sorted(state.active_tasks):
                if self.task_is_not_caught_up_on_client_and_other_more_caught_up_clients_exist(task, client):
                    task_movements.offer(TaskMovement(task, client, self.tasks_to_caught_up_clients[task]))
            clients.offer(client)
        movements_needed = len(task_movements)
        while task_movements:
            movement = task_movements.poll()
            moved = (
                self.try_to_swap_standby_and_active_on_caught_up_client(clients, movement)
                or self.try_to_move_active_to_caught_up_client_and_try_to_warm_up(clients, movement)
                or self.try_to_move_active_to_most_caught_up_client(clients, movement)
            )
            assert moved
        return movements_needed

    def assign_standby_task_movements(self) -> int:
        """``TaskMovement.assignStandbyTaskMovements``."""
        clients = self.caught_up_clients_by_task_load()
        task_movements = movement_queue()
        for destination, state in self.client_states.items():
            for task in sorted(state.standby_tasks):
                if task in self.warmups.get(destination, ()):
                    continue
                if self.task_is_not_caught_up_on_client_and_other_more_caught_up_clients_exist(task, destination):
                    task_movements.offer(TaskMovement(task, destination, self.tasks_to_caught_up_clients[task]))
            clients.offer(destination)
        movements_needed = 0
        while task_movements:
            task, destination, _ = task_movements.poll()

            def eligible(client: ProcessId, task: TaskId = task) -> bool:
                return not self.client_states[client].has_assigned_task(task)

            source = clients.poll(task, eligible)
            if source is None:
                source = self.most_caught_up_eligible_client(task, destination, eligible)
            if source is not None:
                self.move_standby_and_try_to_warm_up(task, source, destination)
                clients.offer_all([source, destination])
                movements_needed += 1
        return movements_needed

    def try_to_swap_standby_and_active_on_caught_up_client(
        self, clients: ConstrainedPrioritySet, movement: TaskMovement
    ) -> bool:
        """``TaskMovement.tryToSwapStandbyAndActiveOnCaughtUpClient``."""
        task, destination, _ = movement
        source = clients.poll(task, lambda client: task in self.client_states[client].standby_tasks)
        if source is None:
            return False
        self.swap_standby_and_active(task, source, destination)
        clients.offer_all([source, destination])
        return True

    def try_to_move_active_to_caught_up_client_and_try_to_warm_up(
        self, clients: ConstrainedPrioritySet, movement: TaskMovement
    ) -> bool:
        """``TaskMovement.tryToMoveActiveToCaughtUpClientAndTryToWarmUp``."""
        task, destination, _ = movement
        source = clients.poll(task)
        if source is None:
            return False
        self.move_active_and_try_to_warm_up(task, source, destination)
        clients.offer_all([source, destination])
        return True

    def try_to_move_active_to_most_caught_up_client(
        self, clients: ConstrainedPrioritySet, movement: TaskMovement
    ) -> bool:
        """``TaskMovement.tryToMoveActiveToMostCaughtUpClient``."""
        task, destination, _ = movement
        source = self.most_caught_up_eligible_client(task, destination, lambda client: True)
        if source is None:
            return False
        if task in self.client_states[source].standby_tasks:
            self.swap_standby_and_active(task, source, destination)
        else:
            self.move_active_and_try_to_warm_up(task, source, destination)
        clients.offer_all([source, destination])
        return True

    def move_active_and_try_to_warm_up(self, task: TaskId, source: ProcessId, destination: ProcessId) -> None:
        """``TaskMovement.moveActiveAndTryToWarmUp``."""
        self.client_states[source].assign_active(task)
        self.client_states[destination].unassign_active(task)
        warmup = self.warm_up()
        if warmup:
            self.client_states[destination].assign_standby(task)
            self.warmups.setdefault(destination, set()).add(task)
        self._moved("active", "move", task, source, destination, warmup)

    def move_standby_and_try_to_warm_up(self, task: TaskId, source: ProcessId, destination: ProcessId) -> None:
        """``TaskMovement.moveStandbyAndTryToWarmUp``."""
        self.client_states[source].assign_standby(task)
        warmup = self.warm_up()
        if not warmup:
            self.client_states[destination].unassign_standby(task)
        self._moved("standby", "move", task, source, destination, warmup)

    def swap_standby_and_active(self, task: TaskId, source: ProcessId, destination: ProcessId) -> None:
        """``TaskMovement.swapStandbyAndActive``."""
        self.client_states[source].unassign_standby(task)
        self.client_states[source].assign_active(task)
        self.client_states[destination].unassign_active(task)
        self.client_states[destination].assign_standby(task)
        self._moved("active", "swap", task, source, destination, warmup=False)

    def warm_up(self) -> bool:
        """``remainingWarmupReplicas.getAndDecrement() > 0``."""
        self.remaining_warmup_replicas -= 1
        return self.remaining_warmup_replicas >= 0

    def most_caught_up_eligible_client(
        self, task: TaskId, destination: ProcessId, constraint: Callable[[ProcessId], bool]
    ) -> ProcessId | None:
        """``TaskMovement.mostCaughtUpEligibleClient``."""
        for client in self.tasks_to_client_by_lag[task]:
            if client == destination:
                break
            if constraint(client):
                return client
        return None

    def _moved(
        self, kind: str, verb: str, task: TaskId, source: ProcessId, destination: ProcessId, warmup: bool
    ) -> None:
        how = f"{verb}_caught_up" if self.task_is_caught_up_on_client(source, task) else f"{verb}_most_caught_up"
        self.moves.append(Move(kind, how, task, source, destination, warmup))


def movement_queue() -> PriorityQueue[TaskMovement]:
    """Make the queue of both phases: by number of caught-up clients, then by task."""
    return PriorityQueue(lambda movement: (len(movement.caught_up_clients), movement.task))
