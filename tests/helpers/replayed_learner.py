"""Replays recorded rounds and histories of learner groups (``vectors/learner.jsonl.gz``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from kstream_plan.designs.learner.decision import LearnerDecision, decide
from kstream_plan.designs.learner.reported import LearnerSettings, Memory
from kstream_plan.model import NOBODY, TaskId, process_order
from tests.helpers.learner_clock import Disk, LearnerGroup, LearnerProcess, LearnerRound

_NOTICED = {"crash noticed": "crash {} noticed", "static_gone noticed": "static_gone {} noticed"}


def difference(record: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return what came out and what was recorded where they differ first, ``None`` if they do not."""
    names = _Names(record)
    replayed = _round(record, names) if record["kind"] == "round" else _sequence(record, names)
    expected = record["expect"]
    if record["kind"] == "round":
        expected = {**expected["assignment"], "memory": expected["memory"]}
    for rnd in [expected, *expected.get("rounds", ())]:
        if "active" in rnd:
            rnd["active"] = {task: owner for task, owner in rnd["active"].items() if owner is not None}
    return next(
        ((replayed[name], expected[name]) for name in replayed if replayed[name] != expected.get(name)),
        None,
    )


class _Names:
    """Tasks and instances of a record by number, in Kafka's order, and back."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        state, memory = record["state"], record["memory"]
        self.tasks = sorted(state["tasks"], key=lambda task: TaskId.parse(task).sort_key)
        ids = {*state["instances"], *memory["last_members"], *memory["leaving"]}
        ids |= {event[2] for event in record.get("events", ())} | {item for item in [memory["leader"]] if item}
        self.instances = process_order(sorted(ids))
        self.task = {name: number for number, name in enumerate(self.tasks)}
        self.instance = {name: number for number, name in enumerate(self.instances)}

    def owners(self, numbers: Sequence[int]) -> dict[str, str]:
        return {
            task: self.instances[number] for task, number in zip(self.tasks, numbers, strict=True) if number != NOBODY
        }

    def memory(self, memory: Memory) -> dict[str, Any]:
        return {
            "leader": None if memory.leader is None else self.instances[memory.leader],
            "last_members": [self.instances[number] for number in sorted(memory.last_members)],
            "leaving": {self.instances[number]: _shown(at) for number, at in memory.leaving_deadlines.items()},
        }

    def decision(self, decision: LearnerDecision) -> dict[str, Any]:
        standbys = zip(self.tasks, decision.standbys, strict=True)
        return {
            "active": self.owners(decision.owner),
            "learner": self.owners(decision.learner),
            "standby": {task: [self.instances[number] for number in item] for task, item in standbys if item},
            "took_over": [self.tasks[number] for number in decision.took_over],
            "new_learners": [self.tasks[number] for number in decision.new_learners],
            "new_standbys": [self.tasks[number] for number in decision.new_standbys],
            "next_at_once": decision.next_at_once,
            "removed": [self.instances[number] for number in decision.removed],
            "memory": self.memory(decision.memory),
        }


def _round(record: Mapping[str, Any], names: _Names) -> dict[str, Any]:
    group = _group(record, names)
    decision = decide(group.reported(), group.memory, group.settings)
    threads = record["state"]["instances"]
    return {
        **names.decision(decision),
        "why": {task: rule for task, rule in zip(names.tasks, decision.rule, strict=True) if rule},
        "load": {
            names.instances[number]: [numerator, threads[names.instances[number]]["threads"]]
            for number, numerator in decision.numerators.items()
        },
    }


def _sequence(record: Mapping[str, Any], names: _Names) -> dict[str, Any]:
    group = _group(record, names)
    events = sorted(record["events"], key=lambda event: event[0])
    rounds, end = play(group, [(event[0], event[1], names.instance[event[2]], *event[3:]) for event in events])
    answers = [
        {"at_ms": _shown(rnd.at_ms), "why": _causes(rnd, names), **names.decision(rnd.decision)} for rnd in rounds
    ]
    return {
        "rounds": answers,
        "pauses": group.pauses,
        "restored_records": _shown(group.restored),
        "end_ms": _shown(end),
    }


def play(group: LearnerGroup, events: Sequence[tuple[Any, ...]]) -> tuple[list[LearnerRound], Fraction | int]:
    """Play a group until nothing happens any more; events are (at, kind, instance, threads for some that join)."""
    rounds, end, waiting = [], group.now, list(events)
    while True:
        while waiting and waiting[0][0] <= group.now:
            _happen(group, *waiting.pop(0)[1:])
            end = max(end, group.now)
        group.notice()
        group.hear_ready()
        if not group.waits and (group.causes or group.next_unrated()):
            rounds.append(group.play())
            end = max(end, group.now)
            continue
        restores = group.restores
        times = [at for at in (group.next_time(), waiting[0][0] if waiting else None) if at is not None]
        if not times:
            return rounds, end
        group.pass_time(min(times))
        end = max(end, group.now) if restores else end


def _happen(group: LearnerGroup, kind: str, instance: int, threads: int | None = None) -> None:
    match kind:
        case "join":
            group.join(instance, threads)
        case "leave":
            group.leave(instance)
        case "return":
            group.come_back(instance)
        case _:
            group.stop(instance, static=kind == "static_gone")


def _causes(rnd: LearnerRound, names: _Names) -> list[str]:
    return sorted(_cause(names, *cause) for cause in rnd.causes)


def _cause(names: _Names, what: str, instance: int, task: int) -> str:
    if what == "standbys":
        return what
    name = names.instances[instance]
    if what in _NOTICED:
        return _NOTICED[what].format(name)
    return f"{what} {name} {names.tasks[task]}" if task != NOBODY else f"{what} {name}"


def _group(record: Mapping[str, Any], names: _Names) -> LearnerGroup:
    config, state, memory = record["config"], record["state"], record["memory"]
    number = len(names.tasks)
    group = LearnerGroup(
        settings=LearnerSettings(
            acceptable_recovery_lag=config["acceptable_recovery_lag"],
            balance_factor=config["balance_factor"],
            max_learners=config["max_learners"],
            num_standby_replicas=config["num_standby"],
            scale_down_timeout_ms=config["scale_down_timeout"],
        ),
        stateful=[state["tasks"][task]["stateful"] for task in names.tasks],
        ends=[state["tasks"][task]["end"] for task in names.tasks],
        processes=[LearnerProcess(1, member=False) for _ in names.instances],
        owner=[NOBODY] * number,
        standbys=[[] for _ in range(number)],
        learner=[NOBODY] * number,
        memory=Memory(
            leader=names.instance.get(memory["leader"]),
            last_members=frozenset(names.instance[name] for name in memory["last_members"]),
            leaving_deadlines={names.instance[name]: _number(at) for name, at in memory["leaving"].items()},
        ),
        rate=config["restore_rate"],
        session_timeout_ms=config["session_timeout"],
        cleanup_delay_ms=config["cleanup_delay"],
        now=_number(state["now_ms"]),
    )
    for name, reported in state["instances"].items():
        _report(group, names, names.instance[name], reported)
    return group


def _report(group: LearnerGroup, names: _Names, instance: int, reported: Mapping[str, Any]) -> None:
    group.processes[instance] = LearnerProcess(
        reported["threads"], announced=reported["leaving"], absent=reported["absent"]
    )
    for name in reported["active"]:
        group.owner[names.task[name]] = instance
        group.disks[instance, names.task[name]] = Disk(0)
    for name, lag in reported["standby"].items():
        group.standbys[names.task[name]].append(instance)
        group.disks[instance, names.task[name]] = Disk(_number(lag))
    for name, lag in reported["learner"].items():
        group.learner[names.task[name]] = instance
        group.disks[instance, names.task[name]] = Disk(_number(lag))


def _number(value: Any) -> Any:
    return Fraction(value) if isinstance(value, str) else value


def _shown(value: Any) -> int | str:
    fraction = Fraction(value)
    return int(fraction) if fraction.denominator == 1 else str(fraction)
