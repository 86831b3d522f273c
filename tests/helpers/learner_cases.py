"""Groups of KIP-441's draft: its walkthrough, one that is left, and what was recorded, as snapshots and scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from kstream_plan.designs.learner.design import Learner
from kstream_plan.designs.learner.memory import LearnerMemory
from kstream_plan.model import (
    LATEST,
    Consumer,
    Copy,
    Group,
    GroupState,
    Holding,
    Instance,
    Rates,
    Snapshot,
    Task,
    TaskId,
)
from kstream_plan.model.scenario import Event, Join, Leave, Return, Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan import plan
from kstream_plan.plans import Plan


def instance(name: str, threads: int = 1, *, static: bool = False) -> Instance:
    """An instance whose host is its name."""
    ids = [f"{name}-{number}" for number in range(1, threads + 1)]
    consumers = tuple(Consumer(consumer_id=item, group_instance_id=item if static else None) for item in ids)
    return Instance(process_id=name, host=name, consumers=consumers)


def group(*held: str, rate: float | None = 1_000.0, records: int = 10_000, standbys: int = 0) -> Snapshot:
    """S1, S2, … that each run the tasks named by these digits, every one with state of so many records."""
    tasks = [
        Task(task_id=TaskId(0, int(task)), stateful=True, end_offset_sum=records) for task in sorted("".join(held))
    ]
    found = Group.of("walk", tasks, [instance(f"S{number}") for number in range(1, len(held) + 1)])
    holdings = tuple(Holding(tuple(found.task_index_by_text[f"0_{task}"] for task in item)) for item in held)
    state = GroupState(group=found, generation=1, at_ms=0, holdings=holdings, copies=((),) * len(tasks), leader=0)
    config = AssignmentConfig(num_standby_replicas=standbys, acceptable_recovery_lag=0)
    return Snapshot(state=state, config=config, rates=Rates(restore_per_instance=rate) if rate else Rates())


def played(snapshot: Snapshot, *events: Event, design: Learner | None = None) -> Plan:
    """What follows from these events by the draft."""
    return plan(snapshot, design or Learner(), PlanOptions(), scenario=Scenario(events=events))


@cache
def walkthrough() -> Plan:
    """The seed's: S4 joins three instances with five tasks, and S5 while S4 is still learning."""
    joined = [Join(at_ms=at_ms, instances=(instance(name),)) for at_ms, name in ((0, "S4"), (5_000, "S5"))]
    return played(group("12", "34", "5"), *joined)


@cache
def left() -> Plan:
    """One of three announces that it leaves, and another one learns its tasks."""
    return played(group("12", "34", "56"), Leave(at_ms=0, process_ids=("S3",), announced=True))


def table(plan: Plan) -> list[dict[str, str]]:
    """By round what every instance runs, and what it learns in brackets."""
    return [
        {
            plan.group.instances[plan.group.instance_of[consumer]].process_id: " ".join(
                [f"T{plan.group.tasks[task].task_id.partition}" for task in held.active]
                + [f"(T{plan.group.tasks[task].task_id.partition})" for task in held.warmup]
            )
            for consumer, held in enumerate(rnd.assigned)
            if any(held)
        }
        for rnd in plan.rounds
    ]


@dataclass(frozen=True)
class Recorded:
    """A recorded history: what was there, what happened, and the rounds that came of it."""

    snapshot: Snapshot
    scenario: Scenario
    design: Learner
    rounds: list[tuple[float, dict[str, str], dict[str, str], dict[str, list[str]]]]


def recorded(record: Mapping[str, Any]) -> Recorded | None:
    """Return a recorded history as a command plays it; ``None``: a scenario cannot say what happens in it.

    That is: lags that are no whole records, members absent from the beginning, that come back with other threads, or
    that are static today and not tomorrow.
    """
    config, state, events = record["config"], record["state"], sorted(record["events"], key=lambda item: item[0])
    now_ms, static = int(state["now_ms"]), {event[2] for event in events if event[1] == "static_gone"}
    lags = [
        lag for entry in state["instances"].values() for lag in (*entry["standby"].values(), *entry["learner"].values())
    ]
    threads = {name: entry["threads"] for name, entry in state["instances"].items()}
    found: list[Event] = []
    for at_ms, kind, name, *more in events:
        if kind == "join" and more and threads.setdefault(name, more[0]) != more[0]:
            return None
        if kind == "crash" and name in static:
            return None
        known = name in state["instances"] or any(isinstance(entry, Join) and entry.where == name for entry in found)
        found.append(_event(int(at_ms) - now_ms, kind, instance(name, threads[name], static=name in static), known))
    if any(isinstance(lag, str) for lag in lags) or any(entry["absent"] for entry in state["instances"].values()):
        return None
    rate = config["restore_rate"]
    snapshot = Snapshot(
        state=_state(record, static),
        config=AssignmentConfig(
            num_standby_replicas=config["num_standby"],
            acceptable_recovery_lag=config["acceptable_recovery_lag"],
            balance_factor=config["balance_factor"],
            session_timeout_ms=config["session_timeout"],
            state_cleanup_delay_ms=config["cleanup_delay"],
        ),
        rates=Rates() if rate is None else Rates(restore_per_instance=float(rate)),
    )
    rounds = [
        (
            float(Fraction(round_["at_ms"])) - now_ms,
            {task: owner for task, owner in round_["active"].items() if owner},
            round_["learner"],
            {task: sorted(on) for task, on in round_["standby"].items()},
        )
        for round_ in record["expect"]["rounds"]
    ]
    return Recorded(
        snapshot,
        Scenario(events=tuple(replace(entry, where="") for entry in found)),
        Learner(config["max_learners"], config["scale_down_timeout"]),
        rounds,
    )


def rounds_of(plan: Plan) -> list[tuple[float, dict[str, str], dict[str, str], dict[str, list[str]]]]:
    """The rounds of a plan in the form of recorded ones."""
    found = []
    for rnd in plan.rounds:
        roles: list[dict[str, list[str]]] = [{}, {}, {}]
        for consumer, held in enumerate(rnd.assigned):
            name = plan.group.instances[plan.group.instance_of[consumer]].process_id
            for role, tasks in zip(roles, (held.active, held.warmup, held.standby), strict=True):
                for task in tasks:
                    role.setdefault(str(plan.group.tasks[task].task_id), []).append(name)
        active, learner = ({task: name for task, [name] in role.items()} for role in roles[:2])
        found.append((float(rnd.at_ms), active, learner, {task: sorted(on) for task, on in roles[2].items()}))
    return found


def _event(at_ms: int, kind: str, instance: Instance, known: bool) -> Event:
    match kind:
        case "join" if not known:
            return Join(at_ms=at_ms, instances=(instance,), where=instance.process_id)
        case "join" | "return":
            return Return(at_ms=at_ms, process_ids=(instance.process_id,), state="kept")
        case "leave":
            return Leave(at_ms=at_ms, process_ids=(instance.process_id,), announced=True)
        case _:
            return Stop(at_ms=at_ms, process_ids=(instance.process_id,), crash=kind == "crash")


def _state(record: Mapping[str, Any], static: set[str]) -> GroupState:
    state, memory, now_ms = record["state"], record["memory"], int(record["state"]["now_ms"])
    tasks = [
        Task(task_id=TaskId.parse(name), stateful=entry["stateful"], end_offset_sum=entry["end"])
        for name, entry in state["tasks"].items()
    ]
    members = [instance(name, entry["threads"], static=name in static) for name, entry in state["instances"].items()]
    found = Group.of("recorded", tasks, members)
    index = found.task_index_by_text
    holdings = [Holding()] * len(found.consumer_ids)
    copies: list[list[Copy]] = [[] for _ in found.tasks]
    for name, item in state["instances"].items():
        place = found.instance_index[name]
        first = found.consumers_of[place].start
        holdings[first] = Holding(*(_indices(index, item[role]) for role in ("active", "standby", "learner")))
        for task in item["active"]:
            if state["tasks"][task]["stateful"]:
                copies[index[task]].append(Copy(place, LATEST, (first,), 0, first, True))
        for task, lag in {**item["standby"], **item["learner"]}.items():
            copies[index[task]].append(Copy(place, lag, (first,), lag, first, False))
    remembered = LearnerMemory(
        leader=memory["leader"],
        last_members=tuple(memory["last_members"]),
        leaving_deadlines=tuple((name, int(at_ms) - now_ms) for name, at_ms in memory["leaving"].items()),
        announced=tuple(name for name, entry in state["instances"].items() if entry["leaving"]),
    )
    return GroupState(
        group=found,
        generation=1,
        at_ms=0,
        holdings=tuple(holdings),
        copies=tuple(tuple(sorted(copy)) for copy in copies),
        memory=remembered,
    )


def _indices(index: Mapping[str, int], names: Sequence[str]) -> tuple[int, ...]:
    return tuple(sorted(index[name] for name in names))
