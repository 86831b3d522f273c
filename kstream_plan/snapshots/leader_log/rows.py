"""Generations → snapshot rows: what the leader knew before it decided."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kstream_plan.model import TaskId
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.leader_log.copy_ages import Ages
from kstream_plan.snapshots.leader_log.generations import LoggedGeneration
from kstream_plan.snapshots.leader_log.log_times import Moment

#: What is known of a process from elsewhere: ``host``, ``rack``.
Names = Mapping[str, Mapping[str, str]]


def row_of(
    generation: LoggedGeneration,
    previous: LoggedGeneration | None,
    ages: Ages,
    *,
    application_id: str,
    config: Mapping[str, Any],
    names: Names,
) -> dict[str, Any]:
    """Return the row of a snapshot: the group as it was when ``generation`` was decided.

    Args:
        generation: what it is about.
        previous: the generation that it followed, ``None`` if the logs do not hold it. It tells which standbys were
            assigned; without it whatever was reported counts as assigned.
        ages: since when copies are where they are, and members run.
        application_id: its application.
        config: settings, by the names of the snapshot's ``config``.
        names: what is known of processes from elsewhere.
    """
    row: dict[str, Any] = {"format_version": "1.0", "application_id": application_id, "group_protocol": "classic"}
    if generation.number is not None:
        row["generation"] = generation.number - 1
    elif previous is not None and previous.number is not None:
        row["generation"] = previous.number
    if generation.decided_at is not None:
        row["captured_at"] = time_text(generation.decided_at)
    row["config"] = dict(config)
    row["tasks"] = [_task(task, generation) for task in _tasks(generation)]
    ids = sorted(generation.clients.states)
    row["instances"] = [
        _instance(process_id, generation, previous, names.get(process_id, {}), ages.started_at.get(process_id))
        for process_id in ids
    ]
    row["lags"] = [lag for process_id in ids for lag in _lags(process_id, generation)]
    copies = [age for process_id in ids for age in _ages(process_id, generation, ages)]
    if copies:
        row["copies_since"] = copies
    return row


def time_text(moment: Moment) -> str:
    """Return a time as snapshots have it."""
    return format_time(moment.us // 1000)


def texts(tasks: Collection[TaskId]) -> list[str]:
    """Return task ids as texts, in Kafka's order."""
    return [str(task) for task in sorted(tasks, key=lambda task: task.sort_key)]


def _tasks(generation: LoggedGeneration) -> list[TaskId]:
    tasks = set(generation.clients.stateful)
    for state in generation.clients.states.values():
        tasks |= state.active
    return sorted(tasks, key=lambda task: task.sort_key)


def _task(task: TaskId, generation: LoggedGeneration) -> dict[str, Any]:
    row: dict[str, Any] = {"task_id": str(task), "stateful": task in generation.clients.stateful}
    end = generation.end_offset_sums.get(task, generation.clients.end_offset_sums.get(task))
    if row["stateful"] and end is not None:
        row["end_offset_sum"] = end
    return row


def _instance(
    process_id: str,
    generation: LoggedGeneration,
    previous: LoggedGeneration | None,
    names: Mapping[str, str],
    started_at: Moment | None,
) -> dict[str, Any]:
    instance: dict[str, Any] = {"process_id": process_id}
    instance |= {name: names[name] for name in ("host", "rack") if name in names}
    if started_at is not None:
        instance["started_at"] = time_text(started_at)
    instance["client_tags"] = dict(generation.clients.states[process_id].tags)
    if generation.leader is not None:
        instance["leader"] = process_id == generation.leader
    owned = generation.splits[process_id].owned
    standby = _standby(process_id, generation, previous)
    instance["consumers"] = [
        {
            "consumer_id": consumer,
            "active": texts(owned.get(consumer, ())),
            "standby": texts(standby[consumer]),
            "warmup": [],
        }
        for consumer in sorted(generation.consumers[process_id])
    ]
    return instance


def _standby(
    process_id: str, generation: LoggedGeneration, previous: LoggedGeneration | None
) -> dict[str, list[TaskId]]:
    """Return the standbys that each consumer was assigned; what a member now says it owns is none any more."""
    split = generation.splits[process_id]
    assigned_tasks: Mapping[str, Sequence[TaskId]] = split.reported if previous is None else {}
    if previous is not None and process_id in previous.splits:
        assigned_tasks = previous.splits[process_id].standby
    owned_tasks = {task for tasks in split.owned.values() for task in tasks}
    standbys = {}
    for consumer in sorted(generation.consumers[process_id]):
        standbys[consumer] = [task for task in assigned_tasks.get(consumer, ()) if task not in owned_tasks]
        owned_tasks.update(standbys[consumer])
    return standbys


def _ages(process_id: str, generation: LoggedGeneration, ages: Ages) -> list[dict[str, str]]:
    running = {task for tasks in generation.splits[process_id].owned.values() for task in tasks}
    known_tasks = {
        task
        for owner_id, task in (*ages.unchanged_since, *ages.created_at)
        if owner_id == process_id and task in generation.clients.stateful
    }
    ages_of_process = []
    for task in sorted(known_tasks, key=lambda task: task.sort_key):
        age = {"process_id": process_id, "task_id": str(task)}
        if (process_id, task) in ages.unchanged_since and task not in running:
            age["since"] = time_text(ages.unchanged_since[process_id, task])
        if (process_id, task) in ages.created_at:
            age["made_at"] = time_text(ages.created_at[process_id, task])
        ages_of_process += [age] if len(age) > 2 else []
    return ages_of_process


def _lags(process_id: str, generation: LoggedGeneration) -> list[dict[str, Any]]:
    state, split = generation.clients.states[process_id], generation.splits[process_id]
    reporters: dict[TaskId, list[str]] = {}
    for consumer in sorted(generation.consumers[process_id]):
        for task in {*split.owned.get(consumer, ()), *split.reported.get(consumer, ())}:
            reporters.setdefault(task, []).append(consumer)
    rows = []
    for task in sorted(state.lags, key=lambda task: task.sort_key):
        lag: dict[str, Any] = {"process_id": process_id, "task_id": str(task), "lag": state.lags[task]}
        lag["consumer_ids"] = reporters.get(task, [])
        if generation.decided_at is not None:
            lag["reported_at"] = time_text(generation.decided_at)
        rows.append(lag)
    return rows
