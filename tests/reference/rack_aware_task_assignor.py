"""``RackAwareTaskAssignor``: tasks change clients where that keeps traffic within racks.

Its graphs are those of ``tests/helpers/literal_rack_graph.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.helpers import literal_rack_graph
from tests.reference.client_state import AssignmentConfigs, ClientState, ClientStates, ProcessId, TaskId
from tests.reference.java_collections import to_int

STATELESS_TRAFFIC_COST, STATELESS_NON_OVERLAP_COST = 1, 0
STANDBY_OPTIMIZER_MAX_ITERATION = 4

#: of traffic, and of no overlap
Costs = tuple[int, int]
TopicPartition = tuple[str, int]
Partitions = Mapping[TaskId, Sequence[TopicPartition]]
MoveStandbyTaskPredicate = Callable[[ClientState, ClientState, TaskId], bool]
#: Returns each task's new client, from the costs of each task on each client, and each task's client.
Solve = Callable[[list[list[int]], list[int]], list[int]]


@dataclass(frozen=True)
class RackAwareTaskAssignor:
    """``RackAwareTaskAssignor``; replicas on a broker without a rack have ``None`` among their partition's racks."""

    partitions_for_task: Partitions
    changelog_partitions_for_task: Partitions
    racks_for_partition: Mapping[TopicPartition, Sequence[str | None]]
    rack_for_process: Mapping[ProcessId, str | None]
    configs: AssignmentConfigs

    def can_enable_rack_aware_assignor(self) -> bool:
        """``RackAwareTaskAssignor.canEnableRackAwareAssignor``."""
        if self.configs.rack_aware_assignment_strategy == "none" or None in self.rack_for_process.values():
            return False
        valid = self.validate_topic_partition_rack(self.partitions_for_task)
        if self.configs.num_standby_replicas == 0 or not valid:
            return valid
        return self.validate_topic_partition_rack(self.changelog_partitions_for_task)

    def validate_topic_partition_rack(self, partitions: Partitions) -> bool:
        """``RackAwareTaskAssignor.validateTopicPartitionRack``: every partition has replicas, each with a rack."""
        racks = [self.racks_for_partition.get(partition, ()) for row in partitions.values() for partition in row]
        return all(row and None not in row for row in racks)

    def get_cost(self, task: TaskId, client: ProcessId, assigned: bool, costs: Costs, standby: bool) -> int:
        """``RackAwareTaskAssignor.getCost``, an ``int``."""
        traffic_cost, non_overlap_cost = costs
        partitions = (self.changelog_partitions_for_task if standby else self.partitions_for_task)[task]
        elsewhere = sum(self.rack_for_process[client] not in self.racks_for_partition[tp] for tp in set(partitions))
        return to_int(elsewhere * traffic_cost + (0 if assigned else non_overlap_cost))

    def optimize_active_tasks(self, active_tasks: Sequence[TaskId], clients: ClientStates, costs: Costs) -> None:
        """``RackAwareTaskAssignor.optimizeActiveTasks``."""
        solve: Solve = literal_rack_graph.min_traffic
        if not active_tasks:
            return
        if self.configs.rack_aware_assignment_strategy == "balance_subtopology":
            active_tasks = sorted(active_tasks, key=lambda task: (task.subtopology, task))
            subtopologies = [(task.subtopology, task.topology_name) for task in active_tasks]
            number = {subtopology: number for number, subtopology in enumerate(dict.fromkeys(subtopologies))}

            def solve(rows: list[list[int]], owners: list[int]) -> list[int]:
                return literal_rack_graph.balance_subtopology(rows, owners, [number[name] for name in subtopologies])

        self.solve_and_assign(solve, active_tasks, list(clients), clients, costs, standby=False)

    def optimize_standby_tasks(self, clients: ClientStates, costs: Costs, can_move: MoveStandbyTaskPredicate) -> None:
        """``RackAwareTaskAssignor.optimizeStandbyTasks``."""
        pairs = [(first, second) for first in clients for second in clients if first < second]
        task_moved, iteration = True, 0
        while task_moved and iteration < STANDBY_OPTIMIZER_MAX_ITERATION:
            task_moved, iteration = False, iteration + 1
            for pair in pairs:
                if self.rack_for_process[pair[0]] == self.rack_for_process[pair[1]]:
                    continue
                movable = [
                    [
                        task
                        for task in clients[source].standby_tasks
                        if not clients[destination].has_assigned_task(task)
                        and can_move(clients[source], clients[destination], task)
                    ]
                    for source, destination in (pair, pair[::-1])
                ]
                if all(movable):
                    tasks = sorted(movable[0] + movable[1])
                    solve = literal_rack_graph.min_traffic
                    task_moved |= self.solve_and_assign(solve, tasks, pair, clients, costs, standby=True)

    def solve_and_assign(
        self,
        solve: Solve,
        tasks: Sequence[TaskId],
        client_list: Sequence[ProcessId],
        clients: ClientStates,
        costs: Costs,
        *,
        standby: bool,
    ) -> bool:
        """``constructTaskGraph``, ``solveMinCostFlow`` and ``assignTaskFromMinCostFlow``: whether a task has moved."""
        assigned = {c: clients[c].standby_tasks if standby else clients[c].active_tasks for c in client_list}
        owners = [next(n for n, client in enumerate(client_list) if task in assigned[client]) for task in tasks]
        rows = [
            [self.get_cost(task, client, task in assigned[client], costs, standby) for client in client_list]
            for task in tasks
        ]
        new_owners = solve(rows, owners)
        for task, owner, new_owner in zip(tasks, owners, new_owners, strict=True):
            assigned[client_list[owner]].remove(task)
            assigned[client_list[new_owner]].add(task)
        return new_owners != owners
