"""``HighAvailabilityTaskAssignor``: the decision, phase by phase."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tests.reference.client_state import LATEST_OFFSET, AssignmentConfigs, ClientState, ClientStates, ProcessId, TaskId
from tests.reference.constrained_priority_set import ConstrainedPrioritySet
from tests.reference.rack_aware_task_assignor import (
    STATELESS_NON_OVERLAP_COST,
    STATELESS_TRAFFIC_COST,
    RackAwareTaskAssignor,
)
from tests.reference.standby_task_assignor import ClientTagAwareStandbyTaskAssignor, DefaultStandbyTaskAssignor
from tests.reference.task_movement import TaskMovements

MAX_LONG = 2**63 - 1


class HighAvailabilityTaskAssignor:
    """``HighAvailabilityTaskAssignor``; keeps its target and movements, which Kafka does not, for comparisons."""

    def __init__(self, rack_aware_task_assignor: RackAwareTaskAssignor, configs: AssignmentConfigs) -> None:
        self.rack_aware_task_assignor = rack_aware_task_assignor
        self.configs = configs
        self.costs = (configs.rack_aware_assignment_traffic_cost, configs.rack_aware_assignment_non_overlap_cost)

    def assign(
        self, clients: ClientStates, all_task_ids: Collection[TaskId], stateful_task_ids: Collection[TaskId]
    ) -> bool:
        """``HighAvailabilityTaskAssignor.assign``."""
        stateful_tasks = sorted(stateful_task_ids)
        client_states = dict(sorted(clients.items()))
        self.assign_active_stateful_tasks(client_states, stateful_tasks)
        self.assign_standby_replica_tasks(client_states, stateful_tasks)
        self.target = {c: (sorted(s.active_tasks), sorted(s.standby_tasks)) for c, s in client_states.items()}
        self.movements = TaskMovements(
            tasks_to_caught_up_clients(stateful_tasks, client_states, self.configs.acceptable_recovery_lag),
            tasks_to_client_by_lag(stateful_tasks, client_states),
            client_states,
            self.configs.max_warmup_replicas,
        )
        needed_active_task_movements = self.movements.assign_active_task_movements()
        needed_standby_task_movements = self.movements.assign_standby_task_movements()
        self.assign_stateless_active_tasks(client_states, sorted(set(all_task_ids) - set(stateful_tasks)))
        return needed_active_task_movements + needed_standby_task_movements > 0

    def assign_active_stateful_tasks(self, client_states: ClientStates, stateful_tasks: Sequence[TaskId]) -> None:
        """``HighAvailabilityTaskAssignor.assignActiveStatefulTasks``."""
        states = list(client_states.values())
        for number, task in enumerate(stateful_tasks):
            states[number % len(states)].assign_active(task)
        balance_tasks_over_threads(client_states, lambda state: state.active_tasks, lambda source, destination: True)
        if self.rack_aware_task_assignor.can_enable_rack_aware_assignor():
            self.rack_aware_task_assignor.optimize_active_tasks(stateful_tasks, client_states, self.costs)

    def assign_standby_replica_tasks(self, client_states: ClientStates, stateful_tasks: Sequence[TaskId]) -> None:
        """``HighAvailabilityTaskAssignor.assignStandbyReplicaTasks``, with ``StandbyTaskAssignorFactory.create``."""
        if self.configs.num_standby_replicas == 0:
            return
        tags = self.configs.rack_aware_assignment_tags
        create = ClientTagAwareStandbyTaskAssignor if tags else DefaultStandbyTaskAssignor
        assignor = create(client_states, stateful_tasks, self.configs)
        assignor.assign()
        balance_tasks_over_threads(client_states, lambda state: state.standby_tasks, assignor.is_allowed_task_movement)
        if self.rack_aware_task_assignor.can_enable_rack_aware_assignor():
            self.rack_aware_task_assignor.optimize_standby_tasks(
                client_states, self.costs, assignor.is_allowed_movement_of
            )

    def assign_stateless_active_tasks(self, client_states: ClientStates, stateless_tasks: Sequence[TaskId]) -> None:
        """``HighAvailabilityTaskAssignor.assignStatelessActiveTasks``."""
        clients_by_task_load = ConstrainedPrioritySet(
            lambda client, task: True, lambda client: client_states[client].active_task_load()
        )
        clients_by_task_load.offer_all(client_states)
        for task in stateless_tasks:
            client = clients_by_task_load.poll(task)
            assert client is not None
            client_states[client].assign_active(task)
            clients_by_task_load.offer(client)
        if self.rack_aware_task_assignor.can_enable_rack_aware_assignor():
            costs = (STATELESS_TRAFFIC_COST, STATELESS_NON_OVERLAP_COST)
            self.rack_aware_task_assignor.optimize_active_tasks(stateless_tasks, client_states, costs)


def balance_tasks_over_threads(
    client_states: ClientStates,
    current_assignment: Callable[[ClientState], set[TaskId]],
    is_allowed_movement: Callable[[ClientState, ClientState], bool],
) -> None:
    """``HighAvailabilityTaskAssignor.balanceTasksOverThreads``."""
    keep_balancing = True
    while keep_balancing:
        keep_balancing = False
        for source in client_states.values():
            for destination in client_states.values():
                if source is destination or not should_move_a_task(source, destination):
                    continue
                for task in sorted(current_assignment(source)):
                    if not should_move_a_task(source, destination):
                        break
                    if not destination.has_assigned_task(task) and is_allowed_movement(source, destination):
                        current_assignment(source).remove(task)
                        current_assignment(destination).add(task)
                        keep_balancing = True


def should_move_a_task(source: ClientState, destination: ClientState) -> bool:
    """``HighAvailabilityTaskAssignor.shouldMoveATask``."""
    skew = source.assigned_task_load() - destination.assigned_task_load()
    if skew <= 0:
        return False
    proposed_at_destination = (destination.assigned_task_count() + 1.0) / destination.capacity
    proposed_at_source = (source.assigned_task_count() - 1.0) / source.capacity
    return 0 <= proposed_at_source - proposed_at_destination < skew


def tasks_to_caught_up_clients(
    stateful_tasks: Sequence[TaskId], client_states: ClientStates, acceptable_recovery_lag: int
) -> dict[TaskId, list[ProcessId]]:
    """``HighAvailabilityTaskAssignor.tasksToCaughtUpClients``."""

    def is_caught_up(lag: int) -> bool:
        return lag == LATEST_OFFSET or acceptable_recovery_lag == MAX_LONG or 0 <= lag <= acceptable_recovery_lag

    return {t: [c for c, state in client_states.items() if is_caught_up(state.lag_for(t))] for t in stateful_tasks}


def tasks_to_client_by_lag(
    stateful_tasks: Sequence[TaskId], client_states: ClientStates
) -> dict[TaskId, list[ProcessId]]:
    """``HighAvailabilityTaskAssignor.tasksToClientByLag``."""
    return {t: sorted(client_states, key=lambda c: (client_states[c].lag_for(t), c)) for t in stateful_tasks}
