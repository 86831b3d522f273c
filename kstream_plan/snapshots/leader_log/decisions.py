"""Generations → what was decided in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kstream_plan.model import TaskId
from kstream_plan.snapshots.leader_log.generations import LoggedGeneration
from kstream_plan.snapshots.leader_log.rows import Names, texts, time_text


def decision_of(generation: LoggedGeneration, before: LoggedGeneration | None, names: Names) -> dict[str, Any]:
    """Return what a leader decided.

    ``decided`` has for every process its ``active`` and ``standby`` (warm-ups included) and the same per consumer:
    ``active`` with what is ``withheld`` until its owner has revoked it, ``standby``, and what it holds as ``temporary``
    standby meanwhile. ``plan`` is the id of the plan that it was decided by, ``without_plan`` why by none, if the class
    that follows target files decided it.
    """
    found: dict[str, Any] = {"generation": generation.number} if generation.number is not None else {}
    if generation.at is not None:
        found["at"] = time_text(generation.at)
    leader = generation.leader
    found["trigger"] = trigger_of(generation, before)
    found["leader"] = None if leader is None else names.get(leader, {}).get("host", leader)
    found["probing_rebalance"] = generation.probing
    if generation.followed is not None:
        plan, code = generation.followed.plan, generation.followed.without_plan
        found |= {"plan": plan} if plan is not None else {"without_plan": code}
    found["decided"] = {
        process_id: _process(process_id, generation, names) for process_id in sorted(generation.clients.states)
    }
    return found


def trigger_of(generation: LoggedGeneration, before: LoggedGeneration | None) -> str | None:
    """Return why a generation came about, as far as members and the generation before tell; ``None`` if they do not."""
    if before is None:
        held = any(split.owned or any(split.reported.values()) for split in generation.splits.values())
        return None if held else "join"
    joined, left = _consumers(generation) - _consumers(before), _consumers(before) - _consumers(generation)
    if joined and left:
        return "member-restart"
    if joined or left:
        return "join" if joined else "leave"
    if any(split.revoking for split in before.splits.values()):
        return "follow-up"
    return "probing" if before.probing else None


def moved_tasks(generation: LoggedGeneration, before: LoggedGeneration | None) -> int:
    """Return how many tasks that were another process's are decided for a process."""
    owner = _owners(generation)
    if before is None:
        previous = {
            task: process_id
            for process_id, split in generation.splits.items()
            for tasks in split.owned.values()
            for task in tasks
        }
        return sum(owner.get(task, process_id) != process_id for task, process_id in previous.items())
    return sum(owner.get(task, process_id) != process_id for task, process_id in _owners(before).items())


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
