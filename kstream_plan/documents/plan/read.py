"""Read plans that ``--output json`` or ``--out`` saved, without Spark and without the snapshot.

Unknown fields are ignored; what each round decided and left held is rebuilt from its steps.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from kstream_plan.documents.codec import WrongValueError
from kstream_plan.documents.plan import adds_up
from kstream_plan.documents.plan.fields import PLAN, PlanDocument, RoundDocument
from kstream_plan.documents.plan.group_fields import Held, HeldTasks
from kstream_plan.documents.plan.json_documents import documents_in
from kstream_plan.documents.plan.seal import with_known_ends
from kstream_plan.documents.plan.simulation import simulation_of
from kstream_plan.errors import PlanFileError
from kstream_plan.model import Group, Holding, Note, Target, TaskId, WorkId
from kstream_plan.plans import Balance, Plan, Role, Round
from kstream_plan.plans.note_codes import FROM_ROUNDS
from kstream_plan.plans.pauses import pauses_of
from kstream_plan.plans.plan import RESTORES_WITHIN_LIMIT
from kstream_plan.plans.python_gc import without_cycle_collector
from kstream_plan.plans.replay import Outcome, replay
from kstream_plan.plans.restore_times import RestoringStart
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.simulated import OverDraws, Simulation
from kstream_plan.plans.step_rows import StepMaker
from kstream_plan.protocols import PROTOCOLS, gives_up

_LOG = logging.getLogger(__name__)

_MAJOR_VERSION = "1"
_ROLES = tuple(Role)
_DAMAGED = "save the plan again with kstream-plan assign --out"


class SavedPlan(NamedTuple):
    """A plan, and what is known of the other draws if it is one of several of a simulation.

    ``simulation``: the plan is what came of it; ``None`` also if 0.1.0 saved it, which kept less of it.
    ``lacks_simulation``: it is the plan of one, but nothing else of it is there: nobody can tell of other draws.
    """

    plan: Plan
    draws: OverDraws | None = None
    simulation: Simulation | None = None
    lacks_simulation: bool = False


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


class NoPlanError(PlanFileError):
    """A row of results of an application that could not be planned."""


def all_sound(saved: Iterator[SavedPlan | PlanFileError]) -> list[SavedPlan]:
    """Return the plans.

    Raises:
        PlanFileError: the first of the errors, if there is one.
    """
    found = []
    for one in saved:
        if isinstance(one, NoPlanError):
            _LOG.warning("%s", one)
            continue
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
            with without_cycle_collector():
                saved = _saved(document.value)
            yield saved
        except WrongValueError as wrong:
            fix = _DAMAGED if wrong.fix is None else wrong.fix
            application_id = _application_id(document.value)
            yield PlanFileError(str(wrong), where=document.where, fix=fix, application_id=application_id)
    if not number:
        yield PlanFileError("there is no plan", where=where, fix="save one with kstream-plan assign --out")


def _application_id(document: Any) -> str | None:
    found = document.get("application_id") if isinstance(document, dict) else None
    return found if isinstance(found, str) else None


def _saved(document: Any) -> SavedPlan:
    _check_kind(document)
    read = PLAN.read(document)
    plan, beside = _plan(read), read.simulation
    adds_up.check_plan(plan)
    if beside is None:
        alone = with_known_ends(plan, read.seal, read.tool.version, document)
        return SavedPlan(alone, lacks_simulation=plan.digest != plan.snapshot_digest)
    simulated = simulation_of(beside, plan)
    if simulated is not None:
        adds_up.check_simulation(simulated)
    if beside.draws is not None:
        adds_up.check_draws(beside.draws, plan)
    plan = with_known_ends(plan, read.seal, read.tool.version, document)
    if simulated is not None:
        simulated = replace(simulated, plan=plan)
    return SavedPlan(plan, None if beside.draws is None else beside.draws.for_rules, simulated)


def _check_kind(document: Any) -> None:
    if not isinstance(document, dict):
        what = "this is not a saved plan, it is not an object"
        raise WrongValueError(what, fix="save one with kstream-plan assign --out")
    if document.get("kind") != "plan":
        is_snapshot = {"application_id", "instances"} <= document.keys()
        what = f"this is {'a snapshot, not' if is_snapshot else 'not'} a saved plan"
        raise WrongValueError(what, fix="plan a snapshot with kstream-plan assign; --out saves the plan")
    version = document.get("format_version")
    if isinstance(version, str) and version.split(".")[0] != _MAJOR_VERSION:
        what = f"is {version!r}; this version reads {_MAJOR_VERSION}.x"
        raise WrongValueError(what, ".format_version", fix="use the kstream-plan that saved the plan")


def _plan(document: PlanDocument) -> Plan:
    group = _group(document)
    if document.tool.design == "classic":
        _check_classic(document)
    initial = _holdings(document.initial, group, ".initial")
    rounds = _rounds(document, group, initial)
    final = _holdings(document.final, group, ".final")
    if (rounds[-1].assigned if rounds else initial) != final:
        raise WrongValueError("is not what the steps of the rounds lead to", ".final")
    _check_balance(document.initial_balance, group, ".initial_balance")
    _check_names(document, group)
    _check_members(document, group, final)
    stopping = _stopping(document, group)
    return Plan(
        group=group,
        digest=document.input.digest,
        snapshot_digest=document.input.snapshot_digest,
        generation=document.input.generation,
        captured_at=document.input.captured_at,
        design=document.tool.design,
        models=document.tool.models,
        probes=document.tool.probes,
        assignor=document.assignor,
        protocol=document.protocol,
        config=document.config,
        assumptions=document.assumptions,
        initial=initial,
        initial_balance=document.initial_balance,
        stopping=stopping,
        rounds=rounds,
        final=final,
        members=document.members,
        target=_target(document, group),
        pauses=pauses_of(
            group,
            initial,
            rounds,
            stopping,
            document.config,
            document.outages,
            from_start=document.pauses_from_start,
        ),
        pauses_from_start=document.pauses_from_start,
        summary=document.summary,
        warnings=tuple(note for note in (*document.warnings, *document.notes) if note.code not in FROM_ROUNDS),
        verdict=document.verdict,
        later_configs=document.later_configs,
        outages=document.outages,
        rates=document.rates,
        end=document.end,
        unproven_starts=document.unproven_starts,
        restoring_starts=document.restoring_starts or tuple(_unknown_restoring(document.warnings, rounds)),
        behind=document.behind,
    )


def _unknown_restoring(warnings: Sequence[Note], rounds: Sequence[Round]) -> Iterator[RestoringStart]:
    """Yield the starts that earlier builds warned of alone: how long each restores is not known."""
    tasks = {subject for note in warnings if note.code == RESTORES_WITHIN_LIMIT for subject in note.subjects}
    for rnd in rounds if tasks else ():
        for at_ms, steps in rnd.moments:
            for step in steps.starts_behind():
                if step.caught_up and str(step.task_id) in tasks and (records := step.restore_records) is not None:
                    yield RestoringStart(step.task_id, step.to.process_id, rnd.number, at_ms, records, None)


def _group(document: PlanDocument) -> Group:
    """Return who takes part in a plan, and its tasks."""
    tasks, instances = document.tasks, document.instances
    for field, ids in (
        (".tasks", [task.task_id for task in tasks]),
        (".instances", [instance.process_id for instance in instances]),
        (".instances", [consumer.consumer_id for instance in instances for consumer in instance.consumers]),
    ):
        if len(set(ids)) < len(ids):
            raise WrongValueError("name something twice", field)
    return Group.of(document.application_id, list(tasks), list(instances))


def _check_classic(document: PlanDocument) -> None:
    """Check what only the classic protocol promises: its tasks are Kafka Streams', and so are the ways it goes."""
    for place, task in enumerate(document.tasks):
        if not isinstance(task.task_id, TaskId):
            what = f"is not right: {str(task.task_id)!r} is not a task id like 0_3 or name__0_3"
            raise WrongValueError(what, ".task_id", f"[{place}]", ".tasks")
    if document.protocol not in PROTOCOLS:
        raise WrongValueError(f"is {document.protocol!r}, not one of {', '.join(PROTOCOLS)}", ".protocol")


def _stopping(document: PlanDocument, group: Group) -> frozenset[int]:
    """Return the consumers that give up everything before a rebalance; 0.1.0 left that to the protocol."""
    if document.stopping is None:
        if document.protocol not in PROTOCOLS:
            raise WrongValueError("is missing", ".stopping")
        return gives_up(group, document.protocol)
    index = {consumer_id: consumer for consumer, consumer_id in enumerate(group.consumer_ids)}
    for place, consumer_id in enumerate(document.stopping):
        if consumer_id not in index:
            raise WrongValueError(f"is {consumer_id!r}, which is no consumer of the plan", f"[{place}]", ".stopping")
    return frozenset(map(index.__getitem__, document.stopping))


def _rounds(document: PlanDocument, group: Group, initial: tuple[Holding, ...]) -> tuple[Round, ...]:
    maker, steps = StepMaker(group), list[RoundSteps]()
    outcomes = replay(group, initial, steps)
    rounds: list[Round] = []
    for of in document.rounds:
        place = f"[{len(rounds)}]"
        try:
            steps.append(RoundSteps.from_steps(maker, of.steps))
            outcome = next(outcomes)
        except ValueError as error:
            raise WrongValueError(f"do not fit what is held: {error}", ".steps", place, ".rounds") from None
        _check_balance(of.balance, group, ".balance", place, ".rounds")
        before = 0
        for number, turn in enumerate(of.turns):
            if (turn.process_id, turn.consumer_id) not in group.consumer_index:
                raise WrongValueError("is of no consumer of the plan", f"[{number}]", ".turns", place, ".rounds")
            if not before <= turn.first <= len(of.steps):
                what = f"is {turn.first}, not from {before} to {len(of.steps)}"
                raise WrongValueError(what, ".first", f"[{number}]", ".turns", place, ".rounds")
            before = turn.first
        _check_outcome(of, outcome, group, place)
        rounds.append(_round(of, steps[-1], outcome))
    return tuple(rounds)


def _round(of: RoundDocument, steps: RoundSteps, outcome: Outcome) -> Round:
    return Round(
        number=of.number,
        generation=of.generation,
        at_ms=of.at_ms,
        trigger=of.trigger,
        phases=of.phases,
        probing_rebalance=of.probing_rebalance,
        steps=steps,
        balance=of.balance,
        turns=of.turns,
        follows=of.follows,
        decided=outcome.decision,
        assigned=outcome.assignment,
    )


def _check_outcome(of: RoundDocument, outcome: Outcome, group: Group, place: str) -> None:
    for name, held, holdings in (
        (".decided", of.decided, outcome.decision),
        (".assigned", of.assigned, outcome.assignment),
    ):
        if held is not None and _holdings(held, group, name, place, ".rounds") != holdings:
            raise WrongValueError("is not what the steps lead to", name, place, ".rounds")


def _check_balance(balance: Balance, group: Group, *keys: str) -> None:
    for name in ("active", "standby", "load_per_thread"):
        if len(getattr(balance, name)) != len(group.instances):
            what = f"does not hold one number for each of {len(group.instances)} instances"
            raise WrongValueError(what, f".{name}", *keys)


def _holdings(document: Held, group: Group, *keys: str) -> tuple[Holding, ...]:
    """Return what every consumer holds; ``keys`` lead to it."""
    expected = {i.process_id: {c.consumer_id for c in i.consumers} for i in group.instances}
    if {process_id: of.consumers.keys() for process_id, of in document.items()} != expected:
        raise WrongValueError("does not name the instances and consumers of the plan", *keys)
    found: list[Holding] = []
    for instance in group.instances:
        of, here = document[instance.process_id], (f"[{instance.process_id!r}]", *keys)
        held = [
            _holding(of.consumers[c.consumer_id], group, f"[{c.consumer_id!r}]", ".consumers", *here)
            for c in instance.consumers
        ]
        together = _holding(HeldTasks(of.active, of.standby, of.warmup, of.temporary), group, *here)
        for role, tasks, of_consumers in zip(_ROLES, together, zip(*held, strict=True), strict=True):
            if list(tasks) != sorted(chain.from_iterable(of_consumers)):
                raise WrongValueError("is not what its consumers hold", f".{role}", *here)
        found += held
    return tuple(found)


def _holding(of: HeldTasks, group: Group, *keys: str) -> Holding:
    return Holding(*[_task_indices(texts, group, role, keys) for role, texts in zip(_ROLES, of, strict=True)])


def _task_indices(texts: Sequence[str], group: Group, role: str, keys: Sequence[str]) -> tuple[int, ...]:
    known = group.task_index_by_text
    try:
        return tuple(sorted(map(known.__getitem__, texts)))
    except KeyError:
        place = next(place for place, text in enumerate(texts) if text not in known)
        what = f"is {texts[place]!r}, which is not among the tasks"
        raise WrongValueError(what, f"[{place}]", f".{role}", *keys) from None


def _target(document: PlanDocument, group: Group) -> Target:
    active, standby = [], []
    for instance in group.instances:
        if instance.process_id not in document.target:
            raise WrongValueError(f"has no field {instance.process_id!r}", ".target")
        of, keys = document.target[instance.process_id], (f"[{instance.process_id!r}]", ".target")
        active.append(_task_indices(of.active, group, "active", keys))
        standby.append(_task_indices(of.standby, group, "standby", keys))
    return Target(tuple(active), tuple(standby))


def _check_names(document: PlanDocument, group: Group) -> None:
    """Check that the figures and the verdict name only tasks and instances that are there."""
    paused, verdict = document.summary.max_paused_task, document.verdict
    tasks: list[tuple[WorkId, list[str]]] = [
        (task_id, [f"[{place}]", ".tasks", ".verdict"]) for place, task_id in enumerate(verdict.tasks)
    ]
    instances = [(of.process_id, [f"[{place}]", ".outages"]) for place, of in enumerate(document.outages)]
    if paused is not None:
        tasks.append((paused.task_id, [".task_id", ".max_paused_task", ".summary"]))
    if verdict.cause is not None:
        tasks.append((verdict.cause.task_id, [".task_id", ".cause", ".verdict"]))
        instances.append((verdict.cause.process_id, [".cause", ".verdict"]))
    for task_id, keys in tasks:
        if task_id not in group.task_index:
            raise WrongValueError(f"is {str(task_id)!r}, which is not among the tasks", *keys)
    for process_id, keys in instances:
        _check_instance(process_id, group, keys)
    for place, outage in enumerate(document.outages):
        if outage.to_ms <= outage.from_ms:
            raise WrongValueError(f"is {outage.to_ms}, which is not after from_ms", ".to_ms", f"[{place}]", ".outages")


def _check_instance(process_id: str, group: Group, keys: Iterable[str]) -> None:
    if process_id not in group.instance_index:
        raise WrongValueError(f"is {process_id!r}, which is not among the instances", ".process_id", *keys)


def _check_members(document: PlanDocument, group: Group, final: tuple[Holding, ...]) -> None:
    for place, member in enumerate(document.members):
        _check_instance(member.process_id, group, [f"[{place}]", ".members"])
        most = group.instances[group.instance_index[member.process_id]].capacity
        if member.threads > most:
            what = f"is {member.threads}, and the instance never has more than {most}"
            raise WrongValueError(what, ".threads", f"[{place}]", ".members")
    process_ids = {member.process_id for member in document.members}
    if len(process_ids) < len(document.members):
        raise WrongValueError("name an instance twice", ".members")
    holding = {group.instances[group.instance_of[c]].process_id for c, held in enumerate(final) if any(held)}
    if holding - process_ids:
        what = f"do not name {min(holding - process_ids)!r}, which holds tasks at the end"
        raise WrongValueError(what, ".members")
