"""Snapshots to plans, one application after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from kstream_plan.cli.actions.each_application import Work, each_application
from kstream_plan.cli.actions.overrides import Overrides
from kstream_plan.cli.progress import Report
from kstream_plan.errors import SnapshotError
from kstream_plan.model import Snapshot
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan import OnRound
from kstream_plan.plans import Plan
from kstream_plan.plans.plan import left_of
from kstream_plan.render.plan.headline import left_text
from kstream_plan.render.text.numbers import count
from kstream_plan.simulation.draws import work_of_one_ms
from kstream_plan.simulation.one_plan import plan_checked

#: A plan that takes so long to play, and has so many probes to go, is told of before it is played.
_LONG_MS, _MANY_PROBES = 5_000, 100


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
        return Planned(plan_one(snapshot, options, tell, place_among(done, len(outcomes))), snapshot)

    return each_application(outcomes, settings, planned, keep_going=keep_going)


def place_among(done: int, applications: int) -> str:
    """Return which of several applications is planned after so many; empty if there is one."""
    return f" ({done + 1:,} of {applications:,})" if applications > 1 else ""


def plan_one(snapshot: Snapshot, options: PlanOptions, tell: Report, place: str = "") -> Plan:
    """Plan one application, in this ``place``; ``tell`` is told how far it is.

    Raises:
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    what = f"planning {snapshot.state.group.application_id}{place}"
    tell(what)
    return plan_checked(snapshot, options, on_round=on_long_plan(what, tell, snapshot))


def on_long_plan(what: str, tell: Report, snapshot: Snapshot) -> OnRound:
    """Return what tells of every round how far ``what`` is, and at first about how long a large plan will be."""
    config = snapshot.config
    told, long = on_round(what, tell), work_of_one_ms(snapshot.state.group, config) >= _LONG_MS
    foretold = False

    def foretelling(rounds: int, tasks: int, movements: int) -> None:
        nonlocal foretold
        left = left_of(tasks, config) if long and not foretold else None
        if left is not None and left.probes >= _MANY_PROBES:
            foretold = True
            tell.beforehand(f"{what}: {left_text(left, config)}")
        told(rounds, tasks, movements)

    return foretelling


def on_round(what: str, tell: Report) -> OnRound:
    """Return what tells of every round of a plan how far ``what`` is: how many of the movements are made.

    They say more than the tasks, of which none is done as long as its standby still has to move.
    """
    most = 0

    def told(rounds: int, tasks: int, movements: int) -> None:
        nonlocal most
        most = max(most, movements)
        text = f"{what}: round {rounds:,}, {count(tasks, 'task')} to go"
        tell(text, most - movements, most or None)

    return told
