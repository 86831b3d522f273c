"""A plan as one line of JSON: the output contract, described by ``kstream-plan schema plan``.

Keys are sorted by code point, lists stand in task or instance order, nothing depends on where or when it is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import cast

from kstream_plan.documents.codec import Json, list_of
from kstream_plan.documents.plan.fields import (
    FORMAT_VERSION,
    PLAN,
    LaterConfig,
    Member,
    Origin,
    PlanDocument,
    RoundDocument,
    Tool,
)
from kstream_plan.documents.plan.group_fields import NOTE, HoldingsDocument, InstanceHolding, TargetTasks, TaskIdsByRole
from kstream_plan.documents.plan.seal import seal_of
from kstream_plan.documents.plan.simulation_fields import SimulationDocument
from kstream_plan.model import Group, Holding, Note
from kstream_plan.plans import Plan, Round
from kstream_plan.plans.longest_pause import restored_pause
from kstream_plan.plans.remarks import remarks
from kstream_plan.version import __version__

_NOTES = list_of(NOTE)


def plan_json(plan: Plan, *, full: bool = False, simulation: SimulationDocument | None = None) -> str:
    """Return the plan as one line of ASCII, without the line end.

    ``full`` adds each round's outcome, ``simulation`` what is known of a simulation beside its plan.
    """
    document = plan_document(plan, full=full, simulation=simulation)
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def plan_document(plan: Plan, *, full: bool = False, simulation: SimulationDocument | None = None) -> dict[str, Json]:
    """Return the plan as plain dictionaries, lists, texts and numbers; see :func:`plan_json`."""
    document = cast("dict[str, Json]", PLAN.to_json(_document(plan, full, simulation)))
    return document | {"seal": seal_of(document)}


def notes(all_notes: Iterable[Note]) -> Json:
    """Return notes as every document has them."""
    return _NOTES.to_json(tuple(all_notes))


def _document(plan: Plan, full: bool, simulation: SimulationDocument | None) -> PlanDocument:
    draws = None if simulation is None else simulation.draws
    group, plan_remarks = plan.group, remarks(plan, draws=draws)
    return PlanDocument(
        format_version=FORMAT_VERSION,
        application_id=group.application_id,
        tool=Tool("kstream-plan", __version__, plan.models, plan.design, plan.probes),
        input=Origin(plan.digest, plan.snapshot_digest, plan.generation, plan.captured_at),
        assignor=plan.assignor,
        protocol=plan.protocol,
        config=plan.config,
        tasks=group.tasks,
        instances=group.instances,
        assumptions=plan.assumptions,
        initial=_holdings_document(group, plan.initial),
        initial_balance=plan.initial_balance,
        stopping=tuple(group.consumer_ids[consumer] for consumer in sorted(plan.stopping)),
        pauses_from_start=plan.pauses_from_start,
        rounds=tuple([_round(group, round_, full) for round_ in plan.rounds]),
        final=_holdings_document(group, plan.final),
        members=tuple(Member(*member) for member in plan.members),
        target={
            instance.process_id: TargetTasks(_task_ids(group, active), _task_ids(group, standby))
            for instance, active, standby in zip(group.instances, plan.target.active, plan.target.standby, strict=True)
        },
        summary=plan.summary,
        warnings=plan_remarks.warnings,
        notes=plan_remarks.notes,
        next=plan_remarks.next,
        verdict=plan.verdict,
        longest_pause=restored_pause(plan, draws),
        later_configs=tuple(LaterConfig(*later) for later in plan.later_configs),
        outages=plan.outages,
        rates=plan.rates,
        end=plan.end,
        unproven_starts=plan.unproven_starts,
        restoring_starts=plan.restoring_starts,
        behind=plan.behind,
        simulation=simulation,
    )


def _round(group: Group, rnd: Round, full: bool) -> RoundDocument:
    return RoundDocument(
        number=rnd.number,
        generation=rnd.generation,
        at_ms=rnd.at_ms,
        trigger=rnd.trigger,
        phases=rnd.phases,
        probing_rebalance=rnd.probing_rebalance,
        steps=rnd.steps,
        balance=rnd.balance,
        turns=rnd.turns,
        follows=rnd.follows,
        decided=_holdings_document(group, rnd.decided) if full else None,
        assigned=_holdings_document(group, rnd.assigned) if full else None,
    )


def _holdings_document(group: Group, holdings: Sequence[Holding]) -> HoldingsDocument:
    """Return the holdings by instance, and within it by consumer, by role."""
    document: dict[str, InstanceHolding] = {}
    for instance, consumers in zip(group.instances, group.consumers_of, strict=True):
        consumer_holdings = [holdings[consumer] for consumer in consumers]
        instance_holding = Holding(*(tuple(sorted(sum(tasks, ()))) for tasks in zip(*consumer_holdings, strict=True)))
        by_consumer = {group.consumer_ids[c]: _by_role(group, holdings[c]) for c in consumers}
        document[instance.process_id] = InstanceHolding(*_by_role(group, instance_holding), consumers=by_consumer)
    return document


def _by_role(group: Group, holding: Holding) -> TaskIdsByRole:
    return TaskIdsByRole(*(_task_ids(group, tasks) for tasks in holding))


def _task_ids(group: Group, tasks: Iterable[int]) -> tuple[str, ...]:
    return tuple([str(group.tasks[task].task_id) for task in tasks])
