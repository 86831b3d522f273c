"""``StandbyTaskAssignor``: standbys on the least loaded clients, on other tags than their task where there are any."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reference.client_state import AssignmentConfigs, ClientState, ClientStates, ProcessId, TaskId
from tests.reference.constrained_priority_set import ConstrainedPrioritySet
from tests.reference.java_collections import HashSet

TagEntry = tuple[str, str]


class DefaultStandbyTaskAssignor:
    """``DefaultStandbyTaskAssignor``, with ``StandbyTaskAssignmentUtils``."""

    def __init__(self, clients: ClientStates, stateful_task_ids: Sequence[TaskId], configs: AssignmentConfigs) -> None:
        self.clients = clients
        self.tags = configs.rack_aware_assignment_tags
        self.tasks_to_remaining_standbys = dict.fromkeys(stateful_task_ids, configs.num_standby_replicas)
        self.clients_by_task_load = ConstrainedPrioritySet(
            lambda client, task: not clients[client].has_assigned_task(task),
            lambda client: clients[client].assigned_task_load(),
        )

    def assign(self) -> None:
        """``DefaultStandbyTaskAssignor.assign``."""
        self.clients_by_task_load.offer_all(self.clients)
        for task in self.tasks_to_remaining_standbys:
            self.poll_client_and_maybe_assign_and_update_remaining_standby_tasks(task)

    def poll_client_and_maybe_assign_and_update_remaining_standby_tasks(self, task: TaskId) -> None:
        """``StandbyTaskAssignmentUtils.pollClientAndMaybeAssignAndUpdateRemainingStandbyTasks``."""
        while self.tasks_to_remaining_standbys[task] > 0:
            client = self.clients_by_task_load.poll(task)
            if client is None:
                break
            self.clients[client].assign_standby(task)
            self.tasks_to_remaining_standbys[task] -= 1
            self.clients_by_task_load.offer(client)

    def is_allowed_task_movement(self, source: ClientState, destination: ClientState) -> bool:
        """``StandbyTaskAssignor.isAllowedTaskMovement`` of any task."""
        return True

    def is_allowed_movement_of(self, source: ClientState, destination: ClientState, task: TaskId) -> bool:
        """``StandbyTaskAssignor.isAllowedTaskMovement`` of one task."""
        return True


class ClientTagAwareStandbyTaskAssignor(DefaultStandbyTaskAssignor):
    """``ClientTagAwareStandbyTaskAssignor``."""

    def assign(self) -> None:
        """``ClientTagAwareStandbyTaskAssignor.assign``."""
        remaining_standbys_keys = HashSet(self.tasks_to_remaining_standbys)
        self.fill_clients_tag_statistics()
        for task in list(self.tasks_to_remaining_standbys):
            for client, state in self.clients.items():
                if task in state.active_tasks:
                    self.assign_standby_tasks_to_clients_with_different_tags(task, client)
        if self.tasks_to_remaining_standbys:  # assignPendingStandbyTasksToLeastLoadedClients
            self.clients_by_task_load.offer_all(self.clients)
            for task in remaining_standbys_keys:
                if task in self.tasks_to_remaining_standbys:
                    self.poll_client_and_maybe_assign_and_update_remaining_standby_tasks(task)

    def is_allowed_task_movement(self, source: ClientState, destination: ClientState) -> bool:
        """``ClientTagAwareStandbyTaskAssignor.isAllowedTaskMovement`` of any task."""
        return source.client_tags.items() <= destination.client_tags.items()

    def is_allowed_movement_of(self, source: ClientState, destination: ClientState, task: TaskId) -> bool:
        """``ClientTagAwareStandbyTaskAssignor.isAllowedTaskMovement`` of one task: no fewer distinct tags after it."""
        others = [state for state in self.clients.values() if state.has_assigned_task(task)]
        others = [state for state in others if state is not source and state is not destination]
        with_source = {tag for state in [*others, source] for tag in state.client_tags.items()}
        with_destination = {tag for state in [*others, destination] for tag in state.client_tags.items()}
        return len(with_destination) >= len(with_source)

    def fill_clients_tag_statistics(self) -> None:
        """``ClientTagAwareStandbyTaskAssignor.fillClientsTagStatistics``."""
        self.tag_key_to_values: dict[str, set[str]] = {}
        self.tag_entry_to_clients: dict[TagEntry, set[ProcessId]] = {}
        for client, state in self.clients.items():
            for key, value in state.client_tags.items():
                self.tag_key_to_values.setdefault(key, set()).add(value)
                self.tag_entry_to_clients.setdefault((key, value), set()).add(client)

    def assign_standby_tasks_to_clients_with_different_tags(self, task: TaskId, active_task_client: ProcessId) -> None:
        """``ClientTagAwareStandbyTaskAssignor.assignStandbyTasksToClientsWithDifferentTags``."""
        self.clients_by_task_load.offer_all(self.clients)
        count_of_used_clients = 1
        used: dict[TagEntry, set[ProcessId]] = {}
        last_used_client: ProcessId | None = active_task_client
        while last_used_client is not None and self.tasks_to_remaining_standbys[task] > 0:
            self.update_clients_on_already_used_tag_entries(last_used_client, count_of_used_clients, used)
            last_used_client = self.clients_by_task_load.poll(
                task, lambda client: all(client not in clients for clients in used.values())
            )
            if last_used_client is not None:
                count_of_used_clients += 1
                self.tasks_to_remaining_standbys[task] -= 1
                self.clients[last_used_client].assign_standby(task)
        if self.tasks_to_remaining_standbys[task] == 0:
            del self.tasks_to_remaining_standbys[task]

    def update_clients_on_already_used_tag_entries(
        self, used_client: ProcessId, count_of_used_clients: int, used: dict[TagEntry, set[ProcessId]]
    ) -> None:
        """``ClientTagAwareStandbyTaskAssignor.updateClientsOnAlreadyUsedTagEntries``."""
        for key, value in self.clients[used_client].client_tags.items():
            if key not in self.tags:
                continue
            if len(self.tag_key_to_values[key]) <= count_of_used_clients:
                for tag_value in self.tag_key_to_values[key]:
                    used.pop((key, tag_value), None)
            else:
                used[key, value] = self.tag_entry_to_clients[key, value]
