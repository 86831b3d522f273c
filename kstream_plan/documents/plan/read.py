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
from kstream_plan.documents.plan.group_fields import HoldingsDocument, TaskIdsByRole
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
    """A plan, with its simulation if it has one.

    ``simulation``: the plan is what came of it; ``None`` also if 0.1.0 saved it, which kept less of it.
    ``lacks_simulation``: it is the plan of a simulation that was not saved: other draws are unknown.
    """

    plan: Plan
    draws: OverDraws | None = None
    simulation: Simulation | None = None
    lacks_simulation: bool = False


def read_plans(data: bytes, source: str) -> list[Plan]:
    """Return the plans in ``data``; see :func:`read_saved`.

    Raises:
        PlanFileError: not JSON, no plan, a plan of another major version, or one that contradicts itself.
    """
    return [saved_plan.plan for saved_plan in read_saved(data, source)]


def read_saved(data: bytes, source: str) -> list[SavedPlan]:
    """Return the saved plans in ``data``, as :func:`each_saved` reads them.

    Raises:
        PlanFileError: not JSON, no plan, a plan of another major version, or one that contradicts itself.
    """
    return all_sound(each_saved(data, source))


class NoPlanError(PlanFileError):
    """A row of results of an application that could not be planned."""


def all_sound(saved_plans: Iterator[SavedPlan | PlanFileError]) -> list[SavedPlan]:
    """Return the plans.

    Raises:
        PlanFileError: the first of the errors, if there is one.
    """
    sound_plans = []
    for saved_plan in saved_plans:
        if isinstance(saved_plan, NoPlanError):
            _LOG.warning("%s", saved_plan)
            continue
        if isinstance(saved_plan, PlanFileError):
            raise saved_plan
        sound_plans.append(saved_plan)
    return sound_plans


def each_saved(data: bytes, source: str) -> Iterator[SavedPlan | PlanFileError]:
    """Yield every plan in ``data``, or its error.

    Args:
        data: JSON documents one after another, usually one a line; UTF-8, plain or gzip.
        source: the source, to name it with the line.
    """
    number = 0
    for document in documents_in(data, source):
        number += 1
        if isinstance(document, PlanFileError):
            yield document
            continue
        try:
            with without_cycle_collector():
                saved_plan = _read_saved_plan(document.value)
            yield saved_plan
        except WrongValueError as wrong:
            fix = _DAMAGED if wrong.fix is None else wrong.fix
            application_id = _application_id(document.value)
            yield PlanFileError(str(wrong), where=document.location, fix=fix, application_id=application_id)
    if not number:
        yield PlanFileError("there is no plan", where=source, fix="save one with kstream-plan assign --out")


def _application_id(document: Any) -> str | None:
    application_id = document.get("application_id") if isinstance(document, dict) else None
    return application_id if isinstance(application_id, str) else None


def _read_saved_plan(document: Any) -> SavedPlan:
    _check_kind(document)
    read = PLAN.read(document)
    plan, simulation_document = _plan(read), read.simulation
    adds_up.check_plan(plan)
    if simulation_document is None:
        plan_with_ends = with_known_ends(plan, read.seal, read.tool.version, document)
        return SavedPlan(plan_with_ends, lacks_simulation=plan.digest != plan.snapshot_digest)
    simulation = simulation_of(simulation_document, plan)
    if simulation is not None:
        adds_up.check_simulation(simulation)
    if simulation_document.draws is not None:
        adds_up.check_draws(simulation_document.draws, plan)
    plan = with_known_ends(plan, read.seal, read.tool.version, document)
    if simulation is not None:
        simulation = replace(simulation, plan=plan)
    return SavedPlan(
        plan, None if simulation_document.draws is None else simulation_document.draws.for_rules, simulation
    )


def _check_kind(document: Any) -> None:
    if not isinstance(document, dict):
        problem = "this is not a saved plan, it is not an object"
        raise WrongValueError(problem, fix="save one with kstream-plan assign --out")
    if document.get("kind") != "plan":
        is_snapshot = {"application_id", "instances"} <= document.keys()
        problem = f"this is {'a snapshot, not' if is_snapshot else 'not'} a saved plan"
        raise WrongValueError(problem, fix="plan a snapshot with kstream-plan assign; --out saves the plan")
    version = document.get("format_version")
    if isinstance(version, str) and version.split(".")[0] != _MAJOR_VERSION:
        problem = f"is {version!r}; this version reads {_MAJOR_VERSION}.x"
        raise WrongValueError(problem, ".format_version", fix="use the kstream-plan that saved the plan")


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
    """Return the group of a plan: its members and tasks."""
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
    """Check what only the classic protocol promises: tasks and protocols of Kafka Streams."""
    for place, task in enumerate(document.tasks):
        if not isinstance(task.task_id, TaskId):
            problem = f"is not right: {str(task.task_id)!r} is not a task id like 0_3 or name__0_3"
            raise WrongValueError(problem, ".task_id", f"[{place}]", ".tasks")
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
    for round_document in document.rounds:
        place = f"[{len(rounds)}]"
        try:
            steps.append(RoundSteps.from_steps(maker, round_document.steps))
            outcome = next(outcomes)
        except ValueError as error:
            raise WrongValueError(f"do not fit what is held: {error}", ".steps", place, ".rounds") from None
        _check_balance(round_document.balance, group, ".balance", place, ".rounds")
        previous_first = 0
        for number, turn in enumerate(round_document.turns):
            if (turn.process_id, turn.consumer_id) not in group.consumer_index:
                raise WrongValueError("is of no consumer of the plan", f"[{number}]", ".turns", place, ".rounds")
            if not previous_first <= turn.first <= len(round_document.steps):
                problem = f"is {turn.first}, not from {previous_first} to {len(round_document.steps)}"
                raise WrongValueError(problem, ".first", f"[{number}]", ".turns", place, ".rounds")
            previous_first = turn.first
        _check_outcome(round_document, outcome, group, place)
        rounds.append(_round(round_document, steps[-1], outcome))
    return tuple(rounds)


def _round(round_document: RoundDocument, steps: RoundSteps, outcome: Outcome) -> Round:
    return Round(
        number=round_document.number,
        generation=round_document.generation,
        at_ms=round_document.at_ms,
        trigger=round_document.trigger,
        phases=round_document.phases,
        probing_rebalance=round_document.probing_rebalance,
        steps=steps,
        balance=round_document.balance,
        turns=round_document.turns,
        follows=round_document.follows,
        decided=outcome.decision,
        assigned=outcome.assignment,
    )


def _check_outcome(round_document: RoundDocument, outcome: Outcome, group: Group, place: str) -> None:
    for name, document, holdings in (
        (".decided", round_document.decided, outcome.decision),
        (".assigned", round_document.assigned, outcome.assignment),
    ):
        if document is not None and _holdings(document, group, name, place, ".rounds") != holdings:
            raise WrongValueError("is not what the steps lead to", name, place, ".rounds")


def _check_balance(balance: Balance, group: Group, *keys: str) -> None:
    for name in ("active", "standby", "load_per_thread"):
        if len(getattr(balance, name)) != len(group.instances):
            problem = f"does not hold one number for each of {len(group.instances)} instances"
            raise WrongValueError(problem, f".{name}", *keys)


def _holdings(document: HoldingsDocument, group: Group, *keys: str) -> tuple[Holding, ...]:
    """Return the holdings of every consumer; ``keys`` lead to the document."""
    consumers_of_group = {i.process_id: {c.consumer_id for c in i.consumers} for i in group.instances}
    consumers_of_document = {process_id: instance.consumers.keys() for process_id, instance in document.items()}
    if consumers_of_document != consumers_of_group:
        raise WrongValueError("does not name the instances and consumers of the plan", *keys)
    holdings: list[Holding] = []
    for instance in group.instances:
        saved_holding, instance_keys = document[instance.process_id], (f"[{instance.process_id!r}]", *keys)
        consumer_holdings = [
            _holding(
                saved_holding.consumers[c.consumer_id], group, f"[{c.consumer_id!r}]", ".consumers", *instance_keys
            )
            for c in instance.consumers
        ]
        instance_tasks = TaskIdsByRole(
            saved_holding.active, saved_holding.standby, saved_holding.warmup, saved_holding.temporary
        )
        by_role = _ROLES, _holding(instance_tasks, group, *instance_keys), zip(*consumer_holdings, strict=True)
        for role, tasks, of_consumers in zip(*by_role, strict=True):
            if list(tasks) != sorted(chain.from_iterable(of_consumers)):
                raise WrongValueError("is not what its consumers hold", f".{role}", *instance_keys)
        holdings += consumer_holdings
    return tuple(holdings)


def _holding(task_ids_by_role: TaskIdsByRole, group: Group, *keys: str) -> Holding:
    return Holding(
        *[_task_indices(texts, group, role, keys) for role, texts in zip(_ROLES, task_ids_by_role, strict=True)]
    )


def _task_indices(texts: Sequence[str], group: Group, role: str, keys: Sequence[str]) -> tuple[int, ...]:
    task_index = group.task_index_by_text
    try:
        return tuple(sorted(map(task_index.__getitem__, texts)))
    except KeyError:
        place = next(place for place, text in enumerate(texts) if text not in task_index)
        problem = f"is {texts[place]!r}, which is not among the tasks"
        raise WrongValueError(problem, f"[{place}]", f".{role}", *keys) from None


def _target(document: PlanDocument, group: Group) -> Target:
    active, standby = [], []
    for instance in group.instances:
        if instance.process_id not in document.target:
            raise WrongValueError(f"has no field {instance.process_id!r}", ".target")
        target_tasks, keys = document.target[instance.process_id], (f"[{instance.process_id!r}]", ".target")
        active.append(_task_indices(target_tasks.active, group, "active", keys))
        standby.append(_task_indices(target_tasks.standby, group, "standby", keys))
    return Target(tuple(active), tuple(standby))


def _check_names(document: PlanDocument, group: Group) -> None:
    """Check that the figures and the verdict name only tasks and instances that are there."""
    paused_task, verdict = document.summary.max_paused_task, document.verdict
    tasks: list[tuple[WorkId, list[str]]] = [
        (task_id, [f"[{place}]", ".tasks", ".verdict"]) for place, task_id in enumerate(verdict.tasks)
    ]
    instances = [(outage.process_id, [f"[{place}]", ".outages"]) for place, outage in enumerate(document.outages)]
    if paused_task is not None:
        tasks.append((paused_task.task_id, [".task_id", ".max_paused_task", ".summary"]))
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
            problem = f"is {member.threads}, and the instance never has more than {most}"
            raise WrongValueError(problem, ".threads", f"[{place}]", ".members")
    process_ids = {member.process_id for member in document.members}
    if len(process_ids) < len(document.members):
        raise WrongValueError("name an instance twice", ".members")
    holder_ids = {group.instances[group.instance_of[c]].process_id for c, holding in enumerate(final) if any(holding)}
    if holder_ids - process_ids:
        problem = f"do not name {min(holder_ids - process_ids)!r}, which holds tasks at the end"
        raise WrongValueError(problem, ".members")
