"""Decides a case of ``tests/vectors`` and answers in their form, as the program that recorded them does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.reference.client_state import (
    LATEST_OFFSET,
    UNKNOWN_OFFSET_SUM,
    AssignmentConfigs,
    ClientState,
    ProcessId,
    TaskId,
)
from tests.reference.high_availability_task_assignor import HighAvailabilityTaskAssignor
from tests.reference.java_collections import utf_16
from tests.reference.rack_aware_task_assignor import RackAwareTaskAssignor, TopicPartition
from tests.reference.streams_partition_assignor import assign_client_to_threads

Case = Mapping[str, Any]


def decide(case: Case) -> dict[str, Any]:
    """Return what Kafka decides: assignment, target, movements, and the split over consumers in its order."""
    tasks = {TaskId.parse(row["id"]): row for row in case["tasks"]}
    end_offset_sums = {task: row.get("end_offset_sum") or 0 for task, row in tasks.items() if row.get("stateful")}
    clients = {ProcessId.parse(row["process_id"]): row for row in case["clients"]}
    states = {client: _client_state(client, row, end_offset_sums) for client, row in clients.items()}
    configs = _configs(case)
    assignor = HighAvailabilityTaskAssignor(_rack_aware_task_assignor(tasks, clients, configs), configs)
    followup = assignor.assign(states, tasks.keys(), end_offset_sums.keys())
    moves = assignor.movements.moves
    rows = [
        {
            "process_id": client.text,
            "active": _texts(sorted(state.active_tasks)),
            "standby": _texts(sorted(state.standby_tasks)),
            "warmup": _texts(sorted({move.task for move in moves if move.warmup and move.destination == client})),
            "target_active": _texts(assignor.target[client][0]),
            "target_standby": _texts(assignor.target[client][1]),
            "threads": _threads(state, sorted(clients[client]["consumers"], key=utf_16)),
        }
        for client, state in states.items()
    ]
    movements = [
        move._asdict() | {"task": move.task.text, "source": move.source.text, "destination": move.destination.text}
        for move in moves
    ]
    return {"followup_probing_rebalance": followup, "clients": rows, "movements": movements}


def _texts(tasks: Iterable[TaskId]) -> list[str]:
    return [task.text for task in tasks]


def _threads(state: ClientState, consumers: list[str]) -> dict[str, dict[str, list[str]]]:
    active, standby = assign_client_to_threads(consumers, state)
    return {
        consumer: {"active": _texts(active[consumer]), "standby": _texts(standby[consumer])} for consumer in consumers
    }


def _configs(case: Case) -> AssignmentConfigs:
    known = AssignmentConfigs.__dataclass_fields__
    given = {name: value for name, value in (case.get("config") or {}).items() if name in known and value is not None}
    return AssignmentConfigs(**given)


def _client_state(client: ProcessId, row: Case, end_offset_sums: Mapping[TaskId, int]) -> ClientState:
    state = ClientState(client, row.get("client_tags") or {}, capacity=len(row["consumers"]))
    offset_sums = {}
    for text, lag in (row.get("task_lags") or {}).items():
        task = TaskId.parse(text)
        offset_sums[task] = lag if lag in (LATEST_OFFSET, UNKNOWN_OFFSET_SUM) else end_offset_sums.get(task, lag) - lag
    reported = _reported_by_consumer(row)
    for consumer in row["consumers"]:
        state.add_previous_tasks_and_offset_sums(
            consumer, {task: offset_sums[task] for task in reported[consumer] if task in offset_sums}
        )
    state.compute_task_lags(end_offset_sums)
    return state


def _reported_by_consumer(row: Case) -> dict[str, set[TaskId]]:
    consumers = sorted(row["consumers"], key=utf_16)
    texts = [*(row.get("task_lags") or ()), *(row.get("prev_active") or ()), *(row.get("prev_standby") or ())]
    everything = sorted({TaskId.parse(text) for text in texts})
    by_consumer = row.get("prev_tasks_by_consumer")
    if by_consumer is None:
        return {consumer: set(everything[first :: len(consumers)]) for first, consumer in enumerate(consumers)}
    reported = {consumer: set(map(TaskId.parse, by_consumer.get(consumer, ()))) for consumer in consumers}
    reported[consumers[0]] |= set(everything).difference(*reported.values())
    return reported


def _rack_aware_task_assignor(
    tasks: Mapping[TaskId, Case], clients: Mapping[ProcessId, Case], configs: AssignmentConfigs
) -> RackAwareTaskAssignor:
    racks: dict[TopicPartition, list[str | None]] = {}

    def partitions(task: TaskId, kind: str) -> list[TopicPartition]:
        rows = tasks[task].get(f"{kind}_partitions") or [
            {"topic": f"{kind}-{task.subtopology}", "partition": task.partition}
        ]
        for row in rows:
            if row.get("racks") is not None:
                racks[row["topic"], row["partition"]] = row["racks"]
        return [(row["topic"], row["partition"]) for row in rows]

    return RackAwareTaskAssignor(
        {task: partitions(task, "source") for task in tasks},
        {task: partitions(task, "changelog") for task in tasks if tasks[task].get("stateful")},
        racks,
        {client: row.get("rack_id") for client, row in clients.items()},
        configs,
    )
