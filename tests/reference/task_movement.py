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
class TaskMovements:
    """What the methods of ``TaskMovement`` hand to each other; ``remaining_warmup_replicas`` falls below zero."""

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

    def queue_task_movements(self, tasks: Callable[[ProcessId], set[TaskId]]) -> PriorityQueue[TaskMovement]:
        """Fill the queues with which both phases begin: of movements, and of clients by load."""
        self.caught_up_clients_by_task_load = ConstrainedPrioritySet(
            self.task_is_caught_up_on_client, lambda client: self.client_states[client].assigned_task_load()
        )
        task_movements = PriorityQueue(movement_order)
        for client in self.client_states:
            for task in sorted(tasks(client)):
                if self.task_is_not_caught_up_on_client_and_other_more_caught_up_clients_exist(task, client):
                    task_movements.offer(TaskMovement(task, client, self.tasks_to_caught_up_clients[task]))
            self.caught_up_clients_by_task_load.offer(client)
        return task_movements

    def assign_active_task_movements(self) -> int:
        """``TaskMovement.assignActiveTaskMovements``."""
        task_movements = self.queue_task_movements(lambda client: self.client_states[client].active_tasks)
        movements_needed = len(task_movements)
        while task_movements:
            movement = task_movements.poll()
            moved = (
                self.try_to_swap_standby_and_active_on_caught_up_client(movement)
                or self.try_to_move_active_to_caught_up_client_and_try_to_warm_up(movement)
                or self.try_to_move_active_to_most_caught_up_client(movement)
            )
            assert moved
        return movements_needed

    def assign_standby_task_movements(self) -> int:
        """``TaskMovement.assignStandbyTaskMovements``."""
        task_movements = self.queue_task_movements(
            lambda client: self.client_states[client].standby_tasks - self.warmups.get(client, set())
        )
        movements_needed = 0
        while task_movements:
            task, destination, _ = task_movements.poll()

            def eligible(client: ProcessId, task: TaskId = task) -> bool:
                return not self.client_states[client].has_assigned_task(task)

            source = self.caught_up_clients_by_task_load.poll(task, eligible)
            if source is None:
                source = self.most_caught_up_eligible_client(task, destination, eligible)
            if source is not None:
                self.move_standby_and_try_to_warm_up(task, source, destination)
                self.caught_up_clients_by_task_load.offer_all([source, destination])
                movements_needed += 1
        return movements_needed

    def try_to_swap_standby_and_active_on_caught_up_client(self, movement: TaskMovement) -> bool:
        """``TaskMovement.tryToSwapStandbyAndActiveOnCaughtUpClient``."""
        task, destination, _ = movement
        source = self.caught_up_clients_by_task_load.poll(
            task, lambda client: task in self.client_states[client].standby_tasks
        )
        if source is None:
            return False
        self.swap_standby_and_active(task, source, destination)
        self.caught_up_clients_by_task_load.offer_all([source, destination])
        return True

    def try_to_move_active_to_caught_up_client_and_try_to_warm_up(self, movement: TaskMovement) -> bool:
        """``TaskMovement.tryToMoveActiveToCaughtUpClientAndTryToWarmUp``."""
        task, destination, _ = movement
        source = self.caught_up_clients_by_task_load.poll(task)
        if source is None:
            return False
        self.move_active_and_try_to_warm_up(task, source, destination)
        self.caught_up_clients_by_task_load.offer_all([source, destination])
        return True

    def try_to_move_active_to_most_caught_up_client(self, movement: TaskMovement) -> bool:
        """``TaskMovement.tryToMoveActiveToMostCaughtUpClient``."""
        task, destination, _ = movement
        source = self.most_caught_up_eligible_client(task, destination, lambda client: True)
        if source is None:
            return False
        if task in self.client_states[source].standby_tasks:
            self.swap_standby_and_active(task, source, destination)
        else:
            self.move_active_and_try_to_warm_up(task, source, destination)
        self.caught_up_clients_by_task_load.offer_all([source, destination])
        return True

    def move_active_and_try_to_warm_up(self, task: TaskId, source: ProcessId, destination: ProcessId) -> None:
        """``TaskMovement.moveActiveAndTryToWarmUp``."""
        self.client_states[source].assign_active(task)
        self.client_states[destination].unassign_active(task)
        if warmup := self.take_warmup_replica():
            self.client_states[destination].assign_standby(task)
            self.warmups.setdefault(destination, set()).add(task)
        self.moves.append(Move("active", self.how("move", task, source), task, source, destination, warmup))

    def move_standby_and_try_to_warm_up(self, task: TaskId, source: ProcessId, destination: ProcessId) -> None:
        """``TaskMovement.moveStandbyAndTryToWarmUp``."""
        self.client_states[source].assign_standby(task)
        if not (warmup := self.take_warmup_replica()):
            self.client_states[destination].unassign_standby(task)
        self.moves.append(Move("standby", self.how("move", task, source), task, source, destination, warmup))

    def swap_standby_and_active(self, task: TaskId, source: ProcessId, destination: ProcessId) -> None:
        """``TaskMovement.swapStandbyAndActive``."""
        self.client_states[source].unassign_standby(task)
        self.client_states[source].assign_active(task)
        self.client_states[destination].unassign_active(task)
        self.client_states[destination].assign_standby(task)
        self.moves.append(Move("active", self.how("swap", task, source), task, source, destination, warmup=False))

    def take_warmup_replica(self) -> bool:
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

    def how(self, verb: str, task: TaskId, source: ProcessId) -> str:
        """Name the move as the recorded decisions do."""
        return f"{verb}_{'' if self.task_is_caught_up_on_client(source, task) else 'most_'}caught_up"


def movement_order(movement: TaskMovement) -> tuple[int, TaskId]:
    """``comparing(TaskMovement::numCaughtUpClients).thenComparing(TaskMovement::task)``."""
    return len(movement.caught_up_clients), movement.task
