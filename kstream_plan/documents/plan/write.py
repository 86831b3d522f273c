"""A plan as one line of JSON: the output contract, described by ``documents/schemas/plan.json``.

Keys are sorted by code point, lists stand in task or instance order, nothing depends on where or when it is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TypeAlias, assert_never

from kstream_plan.model import Group, Holding, Instance, Note, Task
from kstream_plan.plans import (
    Balance,
    Cause,
    Demote,
    Drop,
    HandOver,
    KeepTemporary,
    MemberJoined,
    MemberLeft,
    Place,
    Plan,
    Promote,
    Reason,
    Revoke,
    Role,
    Round,
    Seat,
    Step,
    Summary,
    ThreadMove,
    Withhold,
)
from kstream_plan.version import __version__

Json: TypeAlias = "dict[str, Json] | Sequence[Json] | str | int | float | bool | None"

FORMAT_VERSION = "1.0"
MODELS = "Kafka Streams 3.9-4.3, classic protocol"

_ROLES = tuple(Role)


def plan_json(plan: Plan, *, full: bool = False) -> str:
    """Return the plan as one line of ASCII, without the line end; ``full`` adds each round's outcome."""
    return json.dumps(plan_document(plan, full=full), sort_keys=True, separators=(",", ":"), allow_nan=False)


def plan_document(plan: Plan, *, full: bool = False) -> dict[str, Json]:
    """Return the plan as plain dictionaries, lists, texts and numbers; see :func:`plan_json`."""
    group = plan.group
    later: list[Json] = [{"round": first, "config": asdict(config)} for first, config in plan.later_configs]
    outages: list[Json] = [outage._asdict() for outage in plan.outages]
    return (
        ({"later_configs": later} if later else {})
        | ({"outages": outages} if outages else {})
        | {
            "format_version": FORMAT_VERSION,
            "kind": "plan",
            "application_id": group.application_id,
            "tool": {"name": "kstream-plan", "version": __version__, "models": MODELS},
            "input": {
                "digest": plan.digest,
                "snapshot_digest": plan.snapshot_digest,
                "generation": plan.generation,
                "captured_at": plan.captured_at,
            },
            "assignor": plan.assignor,
            "protocol": plan.protocol,
            "config": asdict(plan.config),
            "tasks": [_task(task) for task in group.tasks],
            "instances": [_instance(instance) for instance in group.instances],
            "assumptions": notes(plan.assumptions),
            "initial": _holdings(group, plan.initial),
            "initial_balance": _balance(plan.initial_balance),
            "stopping": [group.consumer_ids[consumer] for consumer in sorted(plan.stopping)],
            "rounds": [_round(group, round_, full=full) for round_ in plan.rounds],
            "final": _holdings(group, plan.final),
            "members": [_member(process_id, threads) for process_id, threads in plan.members],
            "target": _target(plan),
            "summary": _summary(plan.summary),
            "warnings": notes(plan.warnings),
            "verdict": {
                "kind": plan.verdict.kind,
                "tasks": [str(task_id) for task_id in plan.verdict.tasks],
                "reason": plan.verdict.reason,
                "cause": _cause(plan.verdict.cause),
            },
        }
    )


def _member(process_id: str, threads: int) -> Json:
    return {"process_id": process_id, "threads": threads}


def _cause(cause: Cause | None) -> Json:
    if cause is None:
        return None
    return {
        "code": cause.code.value,
        "task_id": str(cause.task_id),
        "process_id": cause.process_id,
        "message": cause.message,
    }


def _task(task: Task) -> Json:
    return {
        "task_id": str(task.task_id),
        "stateful": task.stateful,
        "end_offset_sum": task.end_offset_sum if task.end_offset_known else None,
        "topics": list(dict.fromkeys(partition.topic for partition in task.source_partitions)),
    }


def _instance(instance: Instance) -> Json:
    return {
        "process_id": instance.process_id,
        "host": instance.host,
        "rack": instance.rack,
        "client_tags": dict(instance.client_tags),
        "consumers": [
            {
                "consumer_id": consumer.consumer_id,
                "group_instance_id": consumer.group_instance_id,
                "protocols": list(consumer.protocols),
            }
            for consumer in instance.consumers
        ],
    }


def notes(found: Iterable[Note]) -> Json:
    """Return notes as every document has them."""
    return [{"code": note.code, "message": note.message, "subjects": list(note.subjects)} for note in found]


def _holdings(group: Group, holdings: Sequence[Holding]) -> Json:
    """Return what is held, per instance and within it per consumer, by role."""
    document: dict[str, Json] = {}
    for instance, consumers in zip(group.instances, group.consumers_of, strict=True):
        held = [holdings[consumer] for consumer in consumers]
        document[instance.process_id] = {
            **_by_role(group, Holding(*(tuple(sorted(sum(tasks, ()))) for tasks in zip(*held, strict=True)))),
            "consumers": {group.consumer_ids[c]: _by_role(group, holdings[c]) for c in consumers},
        }
    return document


def _by_role(group: Group, held: Holding) -> dict[str, Json]:
    return {role.value: _task_ids(group, getattr(held, role)) for role in _ROLES}


def _task_ids(group: Group, tasks: Iterable[int]) -> list[Json]:
    return [str(group.tasks[task].task_id) for task in tasks]


def _target(plan: Plan) -> Json:
    return {
        instance.process_id: {
            "active": _task_ids(plan.group, plan.target.active[index]),
            "standby": _task_ids(plan.group, plan.target.standby[index]),
        }
        for index, instance in enumerate(plan.group.instances)
    }


def _round(group: Group, round_: Round, *, full: bool) -> Json:
    document: dict[str, Json] = {
        "number": round_.number,
        "generation": round_.generation,
        "at_ms": round_.at_ms,
        "trigger": round_.trigger.value,
        "phases": [phase.value for phase in round_.phases],
        "probing_rebalance": round_.probing_rebalance,
        "steps": [_step(step) for step in round_.steps],
        "balance": _balance(round_.balance),
    }
    if full:
        document["decided"] = _holdings(group, round_.decided)
        document["assigned"] = _holdings(group, round_.assigned)
    return document


def _balance(of: Balance) -> Json:
    return {
        "active": list(of.active),
        "standby": list(of.standby),
        "load_per_thread": list(of.load_per_thread),
        "instance_spread": of.instance_spread,
        "balance_factor": of.balance_factor,
        "subtopology_spread": of.subtopology_spread,
        "subtopology_task_spread": of.subtopology_task_spread,
    }


def _step(step: Step) -> Json:
    document: dict[str, Json] = {"kind": step.kind, "reason": _reason(step.reason)}
    match step:
        case MemberJoined():
            document |= {"process_id": step.process_id}
        case MemberLeft():
            document |= {"process_id": step.process_id, "stopped_at_ms": step.stopped_at_ms}
        case Place():
            document |= {"task_id": str(step.task_id), "from": _seat(step.from_), "to": _seat(step.to)}
            document |= {"restore_records": step.restore_records}
        case Withhold() | KeepTemporary() | Demote() | ThreadMove():
            document |= {"task_id": str(step.task_id), "from": _seat(step.from_), "to": _seat(step.to)}
        case Revoke() | Drop():
            document |= {"task_id": str(step.task_id), "from": _seat(step.from_)}
        case HandOver() | Promote():
            document |= {"task_id": str(step.task_id), "from": _seat(step.from_), "to": _seat(step.to)}
            document |= {"caught_up": step.caught_up, "restore_records": step.restore_records}
        case _:
            assert_never(step)
    return document


def _seat(seat: Seat | None) -> Json:
    if seat is None:
        return None
    return {"process_id": seat.process_id, "consumer_id": seat.consumer_id, "role": seat.role.value}


def _reason(reason: Reason) -> Json:
    numbers = {"lag": reason.lag, "limit": reason.limit, "other_lag": reason.other_lag}
    return {"code": reason.code.value} | {name: number for name, number in numbers.items() if number is not None}


def _summary(summary: Summary) -> Json:
    document: dict[str, Json] = asdict(summary)
    paused = summary.max_paused_task
    document["max_paused_task"] = paused and {"task_id": str(paused.task_id), "ms": paused.ms, "times": paused.times}
    return document
