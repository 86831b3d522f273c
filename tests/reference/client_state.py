"""What Kafka's assignor is given: ids, settings and one ``ClientState`` an instance."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.reference.java_collections import HashSet, string_hash_code, to_int, utf_16

#: ``Task.LATEST_OFFSET`` and ``SubscriptionInfo.UNKNOWN_OFFSET_SUM``
LATEST_OFFSET, UNKNOWN_OFFSET_SUM = -2, -3


class TaskId(NamedTuple):
    """``TaskId``; the tuple sorts as ``TaskId.compareTo``."""

    topology_name: bytes
    subtopology: int
    partition: int
    text: str

    @classmethod
    def parse(cls, text: str) -> TaskId:
        """``TaskId.parse``."""
        name, _, numbers = text.rpartition("__")
        subtopology, partition = numbers.split("_")
        return cls(utf_16(name), int(subtopology), int(partition), text)

    def hash_code(self) -> int:
        """``TaskId.hashCode``."""
        name = self.topology_name.decode("utf-16-be", "surrogatepass")
        return to_int(31 * (31 * (31 + self.subtopology) + self.partition) + string_hash_code(name))


class ProcessId(NamedTuple):
    """``ProcessId`` of a ``UUID``, whose signed halves sort as ``UUID.compareTo``."""

    most: int
    least: int
    text: str

    @classmethod
    def parse(cls, text: str) -> ProcessId:
        """``UUID.fromString``."""
        most, least = divmod(uuid.UUID(text).int, 2**64)
        return cls(most - (most >> 63 << 64), least - (least >> 63 << 64), text)

    def hash_code(self) -> int:
        """``UUID.hashCode``."""
        mixed = self.most ^ self.least
        return to_int(mixed >> 32 ^ mixed)


@dataclass(frozen=True, kw_only=True)
class AssignmentConfigs:
    """``AssignmentConfigs``, with Kafka's defaults."""

    acceptable_recovery_lag: int = 10_000
    max_warmup_replicas: int = 2
    num_standby_replicas: int = 0
    rack_aware_assignment_tags: tuple[str, ...] = ()
    rack_aware_assignment_traffic_cost: int = 10
    rack_aware_assignment_non_overlap_cost: int = 1
    rack_aware_assignment_strategy: str = "none"


@dataclass
class ClientState:
    """``ClientState``: what an instance reported and what it is assigned."""

    process_id: ProcessId
    client_tags: Mapping[str, str]
    capacity: int
    task_offset_sums: dict[TaskId, int] = field(default_factory=dict)
    task_lag_totals: dict[TaskId, int] = field(default_factory=dict)
    consumer_to_previous_stateful_task_ids: dict[str, set[TaskId]] = field(default_factory=dict)
    active_tasks: set[TaskId] = field(default_factory=set)
    standby_tasks: set[TaskId] = field(default_factory=set)

    def add_previous_tasks_and_offset_sums(self, consumer: str, task_offset_sums: Mapping[TaskId, int]) -> None:
        """``ClientState.addPreviousTasksAndOffsetSums``."""
        self.task_offset_sums.update(task_offset_sums)
        self.consumer_to_previous_stateful_task_ids[consumer] = set(task_offset_sums)

    def compute_task_lags(self, all_task_end_offset_sums: Mapping[TaskId, int]) -> None:
        """``ClientState.computeTaskLags``."""
        for task, end_offset_sum in all_task_end_offset_sums.items():
            offset_sum = self.task_offset_sums.get(task, 0)
            if offset_sum in (LATEST_OFFSET, UNKNOWN_OFFSET_SUM):
                self.task_lag_totals[task] = offset_sum
            elif end_offset_sum < offset_sum:
                self.task_lag_totals[task] = end_offset_sum
            else:
                self.task_lag_totals[task] = end_offset_sum - offset_sum

    def lag_for(self, task: TaskId) -> int:
        """``ClientState.lagFor``."""
        return self.task_lag_totals[task]

    def prev_tasks_by_lag(self, consumer: str) -> list[TaskId]:
        """``ClientState.prevTasksByLag``."""
        previous = self.consumer_to_previous_stateful_task_ids[consumer]
        return sorted(self.task_lag_totals.keys() & previous, key=lambda task: (self.lag_for(task), task))

    def assign_active(self, task: TaskId) -> None:
        """``ClientState.assignActive``."""
        assert not self.has_assigned_task(task)
        self.active_tasks.add(task)

    def unassign_active(self, task: TaskId) -> None:
        """``ClientState.unassignActive``."""
        self.active_tasks.remove(task)

    def assign_standby(self, task: TaskId) -> None:
        """``ClientState.assignStandby``."""
        assert not self.has_assigned_task(task)
        self.standby_tasks.add(task)

    def unassign_standby(self, task: TaskId) -> None:
        """``ClientState.unassignStandby``."""
        self.standby_tasks.remove(task)

    def has_assigned_task(self, task: TaskId) -> bool:
        """``ClientState.hasAssignedTask``."""
        return task in self.active_tasks or task in self.standby_tasks

    def assigned_task_count(self) -> int:
        """``ClientState.assignedTaskCount``."""
        return len(self.active_tasks) + len(self.standby_tasks)

    def assigned_task_load(self) -> float:
        """``ClientState.assignedTaskLoad``."""
        return (len(self.active_tasks) + len(self.standby_tasks)) / self.capacity

    def active_task_load(self) -> float:
        """``ClientState.activeTaskLoad``."""
        return len(self.active_tasks) / self.capacity

    def stateful_active_tasks(self) -> HashSet[TaskId]:
        """``ClientState.statefulActiveTasks``: collected into a ``HashSet``, from a sorted one."""
        return HashSet(task for task in sorted(self.active_tasks) if task in self.task_lag_totals)

    def stateless_active_tasks(self) -> HashSet[TaskId]:
        """``ClientState.statelessActiveTasks``: collected likewise."""
        return HashSet(task for task in sorted(self.active_tasks) if task not in self.task_lag_totals)


#: By process id, in the order of a ``TreeMap``.
ClientStates = dict[ProcessId, ClientState]
