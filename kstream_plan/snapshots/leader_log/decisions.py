"""Generations → what was decided in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kstream_plan.model import TaskId
from kstream_plan.snapshots.leader_log.generations import LoggedGeneration
from kstream_plan.snapshots.leader_log.rows import Names, texts, time_text


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
