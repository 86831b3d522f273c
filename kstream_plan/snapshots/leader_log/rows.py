"""Generations → snapshot rows: what the leader knew before it decided, what it decided, and how old each copy was."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kstream_plan.model import TaskId
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.leader_log.generations import LoggedGeneration
from kstream_plan.snapshots.leader_log.log_times import Moment

#: What is known of a process from elsewhere: ``host``, ``rack``.
Names = Mapping[str, Mapping[str, str]]

#: (process id, task)
_Copy = tuple[str, TaskId]


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


def decision_of(generation: LoggedGeneration, previous: LoggedGeneration | None, names: Names) -> dict[str, Any]:
    """Return what a leader decided.

    ``decided`` has for every process its ``active`` and ``standby`` (warm-ups included) and the same per consumer:
    ``active`` with what is ``withheld`` until its owner has revoked it, ``standby``, and what it holds as ``temporary``
    standby meanwhile. ``plan`` is the id of the plan that it was decided by, ``without_plan`` why by none, if the class
    that follows target files decided it.
    """
    decision: dict[str, Any] = {"generation": generation.number} if generation.number is not None else {}
    if generation.decided_at is not None:
        decision["at"] = time_text(generation.decided_at)
    leader = generation.leader
    decision["trigger"] = trigger_of(generation, previous)
    decision["leader"] = None if leader is None else names.get(leader, {}).get("host", leader)
    decision["probing_rebalance"] = generation.has_probe
    if generation.followed is not None:
        plan, code = generation.followed.plan, generation.followed.without_plan
        decision |= {"plan": plan} if plan is not None else {"without_plan": code}
    decision["decided"] = {
        process_id: _process(process_id, generation, names) for process_id in sorted(generation.clients.states)
    }
    return decision


def trigger_of(generation: LoggedGeneration, previous: LoggedGeneration | None) -> str | None:
    """Return why a generation came about, as far as members and the generation before tell; ``None`` if they do not."""
    if previous is None:
        has_tasks = any(split.owned or any(split.reported.values()) for split in generation.splits.values())
        return None if has_tasks else "join"
    new_consumers = _consumers(generation) - _consumers(previous)
    departed_consumers = _consumers(previous) - _consumers(generation)
    if new_consumers and departed_consumers:
        return "member-restart"
    if new_consumers or departed_consumers:
        return "join" if new_consumers else "leave"
    if any(split.revoking for split in previous.splits.values()):
        return "follow-up"
    return "probing" if previous.has_probe else None


def moved_tasks(generation: LoggedGeneration, previous: LoggedGeneration | None) -> int:
    """Return how many tasks that were another process's are decided for a process."""
    owners = _owners(generation)
    if previous is None:
        previous_owners = {
            task: process_id
            for process_id, split in generation.splits.items()
            for tasks in split.owned.values()
            for task in tasks
        }
        return sum(owners.get(task, process_id) != process_id for task, process_id in previous_owners.items())
    return sum(owners.get(task, process_id) != process_id for task, process_id in _owners(previous).items())


def _process(process_id: str, generation: LoggedGeneration, names: Names) -> dict[str, Any]:
    state, split = generation.clients.states[process_id], generation.splits[process_id]
    consumers = {
        consumer: {
            "active": texts(split.active.get(consumer, ())),
            "withheld": texts(split.revoking.get(consumer, ())),
            "standby": texts(state.standby & set(split.standby.get(consumer, ()))),
            "temporary": texts(frozenset(split.standby.get(consumer, ())) - state.standby),
        }
        for consumer in sorted(generation.consumers[process_id])
    }
    host = names.get(process_id, {}).get("host")
    return {"instance": host, "active": texts(state.active), "standby": texts(state.standby), "consumers": consumers}


def _consumers(generation: LoggedGeneration) -> set[str]:
    return {consumer for consumers in generation.consumers.values() for consumer in consumers}


def _owners(generation: LoggedGeneration) -> Mapping[TaskId, str]:
    return {task: process_id for process_id, state in generation.clients.states.items() for task in state.active}


@dataclass(frozen=True, slots=True)
class Ages:
    """Ages of copies and processes, as far as they are known.

    ``unchanged_since``: when the task was assigned to the process, or left over on it. ``created_at``: when its copy
    was created, at the latest. ``started_at``: when each process joined, with whatever it had on its disk.
    """

    unchanged_since: Mapping[_Copy, Moment] = field(default_factory=dict)
    created_at: Mapping[_Copy, Moment] = field(default_factory=dict)
    started_at: Mapping[str, Moment] = field(default_factory=dict)


def copies_since(pairs: Iterable[tuple[LoggedGeneration, LoggedGeneration | None]]) -> Iterator[Ages]:
    """Yield since when, as far as the generations before tell, copies were where each generation found them.

    Args:
        pairs: each generation with the one that it followed, ``None`` where that is not in the logs: then nothing is
            known of what was before.
    """
    unchanged_since: dict[_Copy, Moment] = {}
    created_at: dict[_Copy, Moment] = {}
    started_at: dict[str, Moment] = {}
    assigned_copies: set[_Copy] = set()
    for generation, previous in pairs:
        if previous is None:
            unchanged_since, created_at, assigned_copies = {}, {}, set()
        else:
            copies = set(_assigned_copies(previous))
            changed_copies = copies ^ assigned_copies
            if previous.decided_at is not None:
                unchanged_since.update(dict.fromkeys(changed_copies, previous.decided_at))
                created_at = {**dict.fromkeys(copies, previous.decided_at), **created_at}
            members = previous.clients.states.keys()
            unchanged_since = {copy: moment for copy, moment in unchanged_since.items() if copy[0] in members}
            assigned_copies = copies
        reported_copies = {
            (process_id, task) for process_id, state in generation.clients.states.items() for task in state.lags
        }
        if generation.decided_at is not None:
            created_at = {**dict.fromkeys(reported_copies, generation.decided_at), **created_at}
        created_at = {
            copy: moment for copy, moment in created_at.items() if copy in assigned_copies or copy in reported_copies
        }
        started_at = _start_times(generation, previous, started_at)
        yield Ages(
            {copy: moment for copy, moment in unchanged_since.items() if copy in created_at}, created_at, started_at
        )


def _start_times(
    generation: LoggedGeneration, previous: LoggedGeneration | None, known_starts: Mapping[str, Moment]
) -> dict[str, Moment]:
    """Return when processes joined, by the members before; a process that comes back has started again."""
    if previous is None and generation.number != 1:
        return {}
    earlier = {} if previous is None else previous.consumers
    started_at = {}
    for process_id, consumers in generation.consumers.items():
        stays = not set(consumers).isdisjoint(earlier.get(process_id, ()))
        moment = known_starts.get(process_id) if stays else generation.decided_at
        if moment is not None:
            started_at[process_id] = moment
    return started_at


def _assigned_copies(generation: LoggedGeneration) -> Iterator[_Copy]:
    """Yield what every process is assigned from a generation on: not what is withheld, but what is temporary."""
    for process_id, split in generation.splits.items():
        for consumer in generation.consumers[process_id]:
            withheld_tasks = split.revoking.get(consumer, ())
            yield from ((process_id, task) for task in split.active.get(consumer, ()) if task not in withheld_tasks)
            yield from ((process_id, task) for task in split.standby.get(consumer, ()))
