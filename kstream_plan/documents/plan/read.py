"""Read plans that ``--output json`` or ``--out`` saved, without Spark and without the snapshot.

Unknown fields are ignored; what each round decided and left held is rebuilt from its steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kstream_plan.documents.json_fields import JsonFields
from kstream_plan.documents.plan.read_documents import documents_in
from kstream_plan.documents.plan.read_figures import read_balance, read_notes, read_outages, read_summary, read_verdict
from kstream_plan.documents.plan.read_group import read_group
from kstream_plan.documents.plan.read_steps import read_step
from kstream_plan.documents.plan.simulation import read_over_draws, read_simulation
from kstream_plan.errors import ConfigError, PlanFileError
from kstream_plan.model import Group, Holding, Target, TaskId
from kstream_plan.model.settings import CONFIG_NAMES, AssignmentConfig
from kstream_plan.plans import Phase, Plan, Role, Round, Step, Trigger
from kstream_plan.plans.pauses import pauses_of
from kstream_plan.plans.replay import Outcome, replay
from kstream_plan.plans.simulated import OverDraws, Simulation
from kstream_plan.protocols import PROTOCOLS, gives_up
from kstream_plan.snapshots.rows.times import parse_time

_MAJOR_VERSION = "1"
_DIGEST = re.compile(r"[0-9a-f]{64}")


class SavedPlan(NamedTuple):
    """A plan, and what is known of the other draws if it is one of several of a simulation.

    ``simulation``: the plan is what came of it; ``None`` also if 0.1.0 saved it, which kept less of it.
    """

    plan: Plan
    draws: OverDraws | None = None
    simulation: Simulation | None = None


def read_plans(data: bytes, where: str) -> list[Plan]:
    """Return the plans in ``data``; see :func:`read_saved`.

    Raises:
        PlanFileError: not JSON, no plan, a plan of another major version, or one that contradicts itself.
    """
    return [saved.plan for saved in read_saved(data, where)]


def read_saved(data: bytes, where: str) -> list[SavedPlan]:
    """Return what is in ``data``, as :func:`each_saved` reads it.

    Raises:
        PlanFileError: not JSON, no plan, a plan of another major version, or one that contradicts itself.
    """
    return all_sound(each_saved(data, where))


def all_sound(saved: Iterator[SavedPlan | PlanFileError]) -> list[SavedPlan]:
    """Return the plans.

    Raises:
        PlanFileError: the first of the errors, if there is one.
    """
    found = []
    for one in saved:
        if isinstance(one, PlanFileError):
            raise one
        found.append(one)
    return found


def each_saved(data: bytes, where: str) -> Iterator[SavedPlan | PlanFileError]:
    """Yield every plan in ``data``, or what is wrong with it.

    Args:
        data: JSON documents one after another, usually one a line; UTF-8, plain or gzip.
        where: the source, to name it with the line.
    """
    number = 0
    for document in documents_in(data, where):
        number += 1
        if isinstance(document, PlanFileError):
            yield document
            continue
        try:
            plan = _plan(document)
            yield SavedPlan(plan, _draws(document), read_simulation(document, plan))
        except PlanFileError as error:
            error.application_id = document.text_or_none("application_id")
            yield error
    if not number:
        yield PlanFileError("there is no plan", where=where, fix="save one with kstream-plan assign --out")


def _plan(document: JsonFields) -> Plan:
    _check_kind(document)
    group = read_group(document)
    initial = _holdings(document["initial"], group)
    rounds = _rounds(document, group, initial)
    final = _holdings(document["final"], group)
    if (rounds[-1].assigned if rounds else initial) != final:
        raise document["final"].fail("is not what the steps of the rounds lead to")
    origin = document["input"]
    protocol = document["protocol"].choice(list(PROTOCOLS))
    config, stopping = _config(document["config"]), _stopping(document.get("stopping"), group, protocol)
    outages = document.get("outages").or_none(lambda field: read_outages(field, group)) or ()
    return Plan(
        group=group,
        digest=_digest(origin["digest"]),
        snapshot_digest=_digest(origin["snapshot_digest"]),
        generation=origin["generation"].integer(),
        captured_at=origin.get("captured_at").or_none(_time),
        assignor=document["assignor"].text(),
        protocol=protocol,
        config=config,
        assumptions=read_notes(document["assumptions"]),
        initial=initial,
        initial_balance=read_balance(document["initial_balance"], group),
        stopping=stopping,
        rounds=rounds,
        final=final,
        members=_members(document["members"], group, final),
        target=_target(document["target"], group),
        pauses=pauses_of(group, initial, rounds, stopping, config, outages),
        summary=read_summary(document["summary"], group),
        warnings=read_notes(document["warnings"]),
        verdict=read_verdict(document["verdict"], group),
        later_configs=document.get("later_configs").or_none(_later_configs) or (),
        outages=outages,
    )


def _stopping(field: JsonFields, group: Group, protocol: str) -> frozenset[int]:
    """Return the consumers that give up everything before a rebalance; 0.1.0 left that to the protocol."""
    if field.is_null:
        return gives_up(group, protocol)
    index = {consumer_id: consumer for consumer, consumer_id in enumerate(group.consumer_ids)}
    unknown = next((name for name in field.texts() if name not in index), None)
    if unknown is not None:
        raise field.fail(f"name {unknown!r}, which is no consumer of the plan")
    return frozenset(map(index.__getitem__, field.texts()))


def _digest(field: JsonFields) -> str:
    if _DIGEST.fullmatch(field.text()) is None:
        raise field.fail("is not a SHA-256 digest, 64 hexadecimal digits")
    return field.text()


def _time(field: JsonFields) -> str:
    field.parsed(parse_time)
    return field.text()


def _draws(document: JsonFields) -> OverDraws | None:
    simulation = document.get("simulation")
    if simulation.is_null or simulation.get("draws").is_null:
        return None
    number, settled, worst = read_over_draws(simulation["draws"])
    return OverDraws(number, number - settled, worst)


def _check_kind(document: JsonFields) -> None:
    if document.get("kind").is_null or document["kind"].text() != "plan":
        raise document.fail(
            "this is not a saved plan", fix="kstream-plan assign plans a snapshot; --out saves the plan"
        )
    version = document["format_version"].text()
    if version.split(".")[0] != _MAJOR_VERSION:
        raise document["format_version"].fail(
            f"is {version!r}; this version reads {_MAJOR_VERSION}.x", fix="use the kstream-plan that saved the plan"
        )


def _rounds(document: JsonFields, group: Group, initial: tuple[Holding, ...]) -> tuple[Round, ...]:
    items = list(document["rounds"])
    steps = [tuple(read_step(step) for step in item["steps"]) for item in items]
    outcomes = replay(group, initial, steps)
    rounds = []
    for item, its_steps in zip(items, steps, strict=True):
        try:
            outcome = next(outcomes)
        except ValueError as error:
            raise item["steps"].fail(f"do not fit what is held: {error}") from None
        rounds.append(_round(item, its_steps, outcome, group))
    return tuple(rounds)


def _round(item: JsonFields, steps: tuple[Step, ...], outcome: Outcome, group: Group) -> Round:
    return Round(
        number=item["number"].integer(),
        generation=item["generation"].integer(),
        at_ms=item["at_ms"].integer(),
        trigger=item["trigger"].one_of(Trigger),
        phases=tuple(phase.one_of(Phase) for phase in item["phases"]),
        probing_rebalance=item["probing_rebalance"].boolean(),
        steps=steps,
        balance=read_balance(item["balance"], group),
        decided=outcome.decided,
        assigned=outcome.assigned,
    )


def _holdings(field: JsonFields, group: Group) -> tuple[Holding, ...]:
    held = {
        (process_id, consumer_id): Holding(*(_task_indices(roles[role], group) for role in Role))
        for process_id, instance in field.items()
        for consumer_id, roles in instance["consumers"].items()
    }
    expected = {(i.process_id, c.consumer_id) for i in group.instances for c in i.consumers}
    if held.keys() != expected:
        raise field.fail("does not name the instances and consumers of the plan")
    return tuple(held[i.process_id, c.consumer_id] for i in group.instances for c in i.consumers)


def _members(field: JsonFields, group: Group, final: tuple[Holding, ...]) -> tuple[tuple[str, int], ...]:
    members = tuple(_member(item, group) for item in field)
    process_ids = {process_id for process_id, _ in members}
    if len(process_ids) < len(members):
        raise field.fail("name an instance twice")
    holding = {group.instances[group.instance_of[c]].process_id for c, held in enumerate(final) if any(held)}
    if holding - process_ids:
        raise field.fail(f"do not name {min(holding - process_ids)!r}, which holds tasks at the end")
    return members


def _member(item: JsonFields, group: Group) -> tuple[str, int]:
    process_id, threads = item["process_id"].text(), item["threads"].integer()
    if process_id not in group.instance_index:
        raise item["process_id"].fail(f"is {process_id!r}, which is not among the instances")
    if threads < 1:
        raise item["threads"].fail(f"is {threads}, which is no number of threads")
    return process_id, threads


def _task_indices(field: JsonFields, group: Group) -> tuple[int, ...]:
    known = group.task_index_by_text
    try:
        return tuple(sorted(map(known.__getitem__, field.texts())))
    except KeyError:
        return tuple(sorted(_task_index(item, group) for item in field))


def _task_index(item: JsonFields, group: Group) -> int:
    index = group.task_index.get(item.parsed(TaskId.parse))
    if index is None:
        raise item.fail(f"is {item.text()!r}, which is not among the tasks")
    return index


def _target(field: JsonFields, group: Group) -> Target:
    targets = [field[instance.process_id] for instance in group.instances]
    return Target(
        active=tuple(_task_indices(target["active"], group) for target in targets),
        standby=tuple(_task_indices(target["standby"], group) for target in targets),
    )


def _later_configs(field: JsonFields) -> tuple[tuple[int, AssignmentConfig], ...]:
    return tuple((item["round"].integer(), _config(item["config"])) for item in field)


def _config(field: JsonFields) -> AssignmentConfig:
    values: dict[str, object] = {}
    for name, value in field.items():
        if name == "rack_aware_assignment_tags":
            values[name] = tuple(tag.text() for tag in value)
        elif name == "rack_aware_assignment_strategy":
            values[name] = value.text()
        elif name in CONFIG_NAMES and not value.is_null:
            values[name] = value.integer()
    try:
        return AssignmentConfig(**values)  # type: ignore[arg-type]
    except ConfigError as error:
        raise field.fail(f"does not hold: {error.what}") from None
