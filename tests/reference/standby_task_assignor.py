"""``StandbyTaskAssignor``: standbys on the least loaded clients, on other tags than their task where there are any."""

from __future__ import annotations

from collections.abc import Iterable

from tests.reference.client_state import AssignmentConfigs, ClientState, ClientStates, ProcessId, TaskId
from tests.reference.constrained_priority_set import ConstrainedPrioritySet
from tests.reference.java_collections import HashSet

TagEntry = tuple[str, str]


class DefaultStandbyTaskAssignor:
    """``DefaultStandbyTaskAssignor``."""

    def __init__(self, configs: AssignmentConfigs) -> None:
        self.configs = configs

    def assign(self, clients: ClientStates, stateful_task_ids: Iterable[TaskId]) -> None:
        """``DefaultStandbyTaskAssignor.assign``."""
        remaining = dict.fromkeys(stateful_task_ids, self.configs.num_standby_replicas)
        by_task_load = create_least_loaded_priority_set_constrained_by_assigned_task(clients)
        by_task_load.offer_all(clients)
        for task in remaining:
            poll_client_and_maybe_assign_and_update_remaining_standby_tasks(clients, remaining, by_task_load, task)

    def is_allowed_task_movement(self, source: ClientState, destination: ClientState) -> bool:
        """``StandbyTaskAssignor.isAllowedTaskMovement``."""
        return True

    def is_allowed_movement_of(
        self, source: ClientState, destination: ClientState, task: TaskId, clients: ClientStates
    ) -> bool:
        """``StandbyTaskAssignor.isAllowedTaskMovement`` of one task."""
        return True


class ClientTagAwareStandbyTaskAssignor(DefaultStandbyTaskAssignor):
    """``ClientTagAwareStandbyTaskAssignor``."""

    def assign(self, clients: ClientStates, stateful_task_ids: Iterable[TaskId]) -> None:
        """``ClientTagAwareStandbyTaskAssignor.assign``."""
        self.remaining = dict.fromkeys(stateful_task_ids, self.configs.num_standby_replicas)
        self.remaining_keys = HashSet(self.remaining)
        self.fill_clients_tag_statistics(clients)
        by_task_load = create_least_loaded_priority_set_constrained_by_assigned_task(clients)
        for task in list(self.remaining):
            for client, state in clients.items():
                if task in state.active_tasks:
                    self.assign_standby_tasks_to_clients_with_different_tags(by_task_load, task, client, clients)
        if self.remaining:
            self.assign_pending_standby_tasks_to_least_loaded_clients(by_task_load, clients)

    def assign_pending_standby_tasks_to_least_loaded_clients(
        self, by_task_load: ConstrainedPrioritySet, clients: ClientStates
    ) -> None:
        """``ClientTagAwareStandbyTaskAssignor.assignPendingStandbyTasksToLeastLoadedClients``."""
        by_task_load.offer_all(clients)
        for task in self.remaining_keys:  # in the order of a hash map
            poll_client_and_maybe_assign_and_update_remaining_standby_tasks(clients, self.remaining, by_task_load, task)

    def is_allowed_task_movement(self, source: ClientState, destination: ClientState) -> bool:
        """``ClientTagAwareStandbyTaskAssignor.isAllowedTaskMovement``."""
        return source.client_tags.items() <= destination.client_tags.items()

    def is_allowed_movement_of(
        self, source: ClientState, destination: ClientState, task: TaskId, clients: ClientStates
    ) -> bool:
        """``ClientTagAwareStandbyTaskAssignor.isAllowedTaskMovement`` of one task: no fewer distinct tags after it."""
        others = [
            state
            for state in clients.values()
            if state.has_assigned_task(task) and state is not source and state is not destination
        ]
        with_source = {tag for state in [*others, source] for tag in state.client_tags.items()}
        with_destination = {tag for state in [*others, destination] for tag in state.client_tags.items()}
        return len(with_destination) >= len(with_source)

    def fill_clients_tag_statistics(self, clients: ClientStates) -> None:
        """``ClientTagAwareStandbyTaskAssignor.fillClientsTagStatistics``."""
        self.tag_key_to_values: dict[str, set[str]] = {}
        self.tag_entry_to_clients: dict[TagEntry, set[ProcessId]] = {}
        for client, state in clients.items():
            for key, value in state.client_tags.items():
                self.tag_key_to_values.setdefault(key, set()).add(value)
                self.tag_entry_to_clients.setdefault((key, value), set()).add(client)

    def assign_standby_tasks_to_clients_with_different_tags(
        self, by_task_load: ConstrainedPrioritySet, task: TaskId, active_task_client: ProcessId, clients: ClientStates
    ) -> None:
        """``ClientTagAwareStandbyTaskAssignor.assignStandbyTasksToClientsWithDifferentTags``."""
        by_task_load.offer_all(clients)
        count_of_used_clients = 1
        num_remaining_standbys = self.remaining[task]
        used: dict[TagEntry, set[ProcessId]] = {}
        last_used_client = active_task_client
        while True:
            self.update_clients_on_already_used_tag_entries(clients[last_used_client], count_of_used_clients, used)
            client = by_task_load.poll(task, lambda client: all(client not in on_tag for on_tag in used.values()))
            if client is None:
                break
            count_of_used_clients += 1
            num_remaining_standbys -= 1
            clients[client].assign_standby(task)
            last_used_client = client
            if num_remaining_standbys <= 0:
                break
        if num_remaining_standbys > 0:
            self.remaining[task] = num_remaining_standbys
        else:
            del self.remaining[task]
            self.remaining_keys.remove(task)

    def update_clients_on_already_used_tag_entries(
        self, used_client: ClientState, count_of_used_clients: int, used: dict[TagEntry, set[ProcessId]]
    ) -> None:
        """``ClientTagAwareStandbyTaskAssignor.updateClientsOnAlreadyUsedTagEntries``."""
        for key, value in used_client.client_tags.items():
            if key not in self.configs.rack_aware_assignment_tags:
                continue
            all_tag_values = self.tag_key_to_values[key]
            if len(all_tag_values) <= count_of_used_clients:
                for tag_value in all_tag_values:
                    used.pop((key, tag_value), None)
            else:
                used[key, value] = self.tag_entry_to_clients[key, value]


def create_standby_task_assignor(configs: AssignmentConfigs) -> DefaultStandbyTaskAssignor:
    """``StandbyTaskAssignorFactory.create``, as it is called: without a rack-aware assignor."""
    if configs.rack_aware_assignment_tags:
        return ClientTagAwareStandbyTaskAssignor(configs)
    return DefaultStandbyTaskAssignor(configs)


def create_least_loaded_priority_set_constrained_by_assigned_task(clients: ClientStates) -> ConstrainedPrioritySet:
    """``StandbyTaskAssignmentUtils.createLeastLoadedPrioritySetConstrainedByAssignedTask``."""
    return ConstrainedPrioritySet(
        lambda client, task: not clients[client].has_assigned_task(task),
        lambda client: clients[client].assigned_task_load(),
    )


def poll_client_and_maybe_assign_and_update_remaining_standby_tasks(
    clients: ClientStates, remaining: dict[TaskId, int], by_task_load: ConstrainedPrioritySet, task: TaskId
) -> None:
    """``StandbyTaskAssignmentUtils.pollClientAndMaybeAssignAndUpdateRemainingStandbyTasks``."""
    while remaining[task] > 0:
        client = by_task_load.poll(task)
        if client is None:
            break
        clients[client].assign_standby(task)
        remaining[task] -= 1
        by_task_load.offer(client)
