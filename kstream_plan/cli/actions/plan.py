"""Snapshots to plans, one application after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from kstream_plan.cli.actions.each_application import Work, each_application
from kstream_plan.cli.actions.overrides import Overrides
from kstream_plan.cli.progress import Report
from kstream_plan.errors import SnapshotError
from kstream_plan.model import Snapshot
from kstream_plan.planner.checked import plan_checked
from kstream_plan.plans import Plan, Trigger


class Planned(NamedTuple):
    """A plan, and the snapshot it was made from."""

    plan: Plan
    snapshot: Snapshot


#: What came of every application that could be planned, and the errors of the others.
Plans: TypeAlias = Work[Planned]


def plan_all(
    outcomes: Sequence[Snapshot | SnapshotError], settings: Overrides, given: Mapping[str, Any], tell: Report
) -> Plans:
    """Plan every application; with ``keep_going`` among what is ``given`` an error of one does not stop the others.

    Raises:
        KstreamPlanError: an application cannot be planned, and ``keep_going`` is not set.
    """

    def planned(snapshot: Snapshot, done: int) -> Planned:
        return Planned(plan_one(snapshot, given, partial(tell, done=done, total=len(outcomes))), snapshot)

    return each_application(outcomes, settings, given, planned)


def plan_one(snapshot: Snapshot, given: Mapping[str, Any], tell: Callable[[str], None]) -> Plan:
    """Plan one application as the command was ``given`` it; ``tell`` is told how far it is.

    Raises:
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    name = snapshot.state.group.application_id
    tell(f"planning {name}")
    trigger = given["trigger"]
    return plan_checked(
        snapshot,
        assignor=given["assignor"],
        protocol=given["protocol"],
        trigger=Trigger(trigger) if trigger else None,
        max_rounds=given["max_rounds"],
        bounds=given["bounds"],
        on_round=lambda rounds, queued: tell(f"planning {name}: round {rounds}, {queued} tasks still to move"),
    )
