"""Snapshots to plans, one application after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from kstream_plan.cli.actions.each_application import Work, each_application
from kstream_plan.cli.actions.overrides import Overrides
from kstream_plan.cli.progress import Report
from kstream_plan.errors import SnapshotError
from kstream_plan.model import Snapshot
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Plan
from kstream_plan.simulation.one_plan import plan_checked


class Planned(NamedTuple):
    """A plan, and the snapshot it was made from."""

    plan: Plan
    snapshot: Snapshot


#: What came of every application that could be planned, and the errors of the others.
Plans: TypeAlias = Work[Planned]


def plan_all(
    outcomes: Sequence[Snapshot | SnapshotError],
    settings: Overrides,
    options: PlanOptions,
    tell: Report,
    *,
    keep_going: bool,
) -> Plans:
    """Plan every application; with ``keep_going`` an error of one does not stop the others.

    Raises:
        KstreamPlanError: an application cannot be planned, and ``keep_going`` is not set.
    """

    def planned(snapshot: Snapshot, done: int) -> Planned:
        return Planned(plan_one(snapshot, options, partial(tell, done=done, total=len(outcomes))), snapshot)

    return each_application(outcomes, settings, planned, keep_going=keep_going)


def plan_one(snapshot: Snapshot, options: PlanOptions, tell: Callable[[str], None]) -> Plan:
    """Plan one application; ``tell`` is told how far it is.

    Raises:
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    what = f"planning {snapshot.state.group.application_id}"
    tell(what)
    return plan_checked(snapshot, options, on_round=on_round(what, tell))


def on_round(what: str, tell: Callable[[str], None]) -> Callable[[int, int], None]:
    """Return what tells of every round of a plan how far ``what`` is."""
    return lambda rounds, queued: tell(f"{what}: round {rounds}, {queued} tasks still to move")
