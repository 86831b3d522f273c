"""Snapshots to plans, one application after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kstream_plan.cli.progress import Report
from kstream_plan.cli.settings import Overrides
from kstream_plan.errors import KstreamPlanError, SnapshotError
from kstream_plan.model import Snapshot
from kstream_plan.steps import Plan, Trigger
from kstream_plan.studies import plan_checked


@dataclass(slots=True)
class Work:
    """What came out: a plan per application that could be planned, beside its snapshot, and the others' errors."""

    plans: list[Plan] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    errors: list[KstreamPlanError] = field(default_factory=list)


def plan_all(
    outcomes: Sequence[Snapshot | SnapshotError], given: Overrides, parameters: Mapping[str, Any], tell: Report
) -> Work:
    """Plan every application; with ``keep_going`` among the parameters an error of one does not stop the others.

    Raises:
        KstreamPlanError: an application cannot be planned, and ``keep_going`` is not set.
    """
    work = Work()
    for number, outcome in enumerate(outcomes):
        try:
            if isinstance(outcome, KstreamPlanError):
                raise outcome
            snapshot = given.over(outcome)
            work.plans.append(plan_one(snapshot, parameters, partial(tell, done=number, total=len(outcomes))))
            work.snapshots.append(snapshot)
        except KstreamPlanError as error:
            if not parameters["keep_going"]:
                raise
            work.errors.append(error)
    return work


def plan_one(snapshot: Snapshot, parameters: Mapping[str, Any], tell: Callable[[str], None] | None = None) -> Plan:
    """Plan one application as the command's parameters say; ``tell`` is told how far it is.

    Raises:
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    tell = tell or (lambda _what: None)
    name = snapshot.state.group.application_id
    tell(f"planning {name}")
    trigger = parameters["trigger"]
    return plan_checked(
        snapshot,
        assignor=parameters["assignor"],
        protocol=parameters["protocol"],
        trigger=Trigger(trigger) if trigger else None,
        max_rounds=parameters["max_rounds"],
        bounds=parameters["bounds"],
        on_round=lambda rounds, queued: tell(f"planning {name}: round {rounds}, {queued} tasks still to move"),
    )
