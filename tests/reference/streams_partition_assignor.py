"""``StreamsPartitionAssignor``, as far as it splits an instance's tasks over its consumers."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

from tests.reference.client_state import ClientState, TaskId
from tests.reference.java_collections import HashSet, PriorityQueue


def assign_tasks_to_threads(  # noqa: C901, PLR0912 - Kafka's method, in one
    tasks_to_assign: Collection[TaskId] | HashSet[TaskId],
    is_stateful: bool,
    consumers: Sequence[str],
    state: ClientState,
    thread_load: dict[str, int],
) -> dict[str, list[TaskId]]:
    """``StreamsPartitionAssignor.assignTasksToThreads``."""
    assignment: dict[str, list[TaskId]] = {consumer: [] for consumer in consumers}
    min_tasks_per_thread = (sum(thread_load.values()) + len(tasks_to_assign)) // len(consumers)
    unassigned_tasks = PriorityQueue(lambda task: task, tasks_to_assign)
    if unassigned_tasks:
        consumers_to_fill: deque[str] = deque()
        unassigned_task_to_previous_owner: dict[TaskId, str] = {}
        for consumer in consumers:
            tasks_target_count = min_tasks_per_thread - thread_load.get(consumer, 0)
            for task in state.prev_tasks_by_lag(consumer) if is_stateful else ():
                if task in unassigned_tasks.queue:
                    if len(assignment[consumer]) < tasks_target_count:
                        assignment[consumer].append(task)
                        unassigned_tasks.remove(task)
                    else:
                        unassigned_task_to_previous_owner[task] = consumer
            if len(assignment[consumer]) < tasks_target_count:
                consumers_to_fill.append(consumer)
        while consumers_to_fill:
            consumer = consumers_to_fill.popleft()
            assignment[consumer].append(unassigned_tasks.poll())
            if len(assignment[consumer]) + thread_load.get(consumer, 0) < min_tasks_per_thread:
                consumers_to_fill.append(consumer)
        if unassigned_tasks:
            for consumer in consumers:
                if len(assignment[consumer]) + thread_load.get(consumer, 0) == min_tasks_per_thread:
                    consumers_to_fill.append(consumer)
            for task, consumer in sorted(unassigned_task_to_previous_owner.items()):
                if consumer in consumers_to_fill and task in unassigned_tasks.queue:
                    assignment[consumer].append(task)
                    unassigned_tasks.remove(task)
                    consumers_to_fill.remove(consumer)
            for task in unassigned_tasks:
                assignment[consumers_to_fill.popleft()].append(task)
    for consumer, tasks in assignment.items():
        thread_load[consumer] = thread_load.get(consumer, 0) + len(tasks)
    return assignment


def assign_client_to_threads(
    consumers: Sequence[str], state: ClientState
) -> tuple[dict[str, list[TaskId]], dict[str, list[TaskId]]]:
    """``StreamsPartitionAssignor.computeNewAssignment``, as far as it splits: actives and standbys by consumer."""
    load: dict[str, int] = {}
    stateful = assign_tasks_to_threads(state.stateful_active_tasks(), True, consumers, state, load)
    standby = assign_tasks_to_threads(sorted(state.standby_tasks), True, consumers, state, load)
    stateless = assign_tasks_to_threads(state.stateless_active_tasks(), False, consumers, state, load)
    return {consumer: stateful[consumer] + stateless[consumer] for consumer in consumers}, standby
