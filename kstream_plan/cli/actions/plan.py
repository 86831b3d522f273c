"""Snapshots to plans."""

from __future__ import annotations

from functools import partial

from kstream_plan.cli.actions.many import Job, Workplace
from kstream_plan.cli.actions.shown import Shown, Wanted
from kstream_plan.cli.exit_codes import outcome
from kstream_plan.cli.pages import answer_text
from kstream_plan.cli.progress import Report
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Snapshot
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan import OnRound
from kstream_plan.plans import Plan
from kstream_plan.plans.plan import left_of
from kstream_plan.plans.result import result_of
from kstream_plan.render.pages.plan_sentences import left_sentence
from kstream_plan.render.plan.ranks import ranks
from kstream_plan.render.text.numbers import count
from kstream_plan.simulation.draws import at_once, work_of_one_ms
from kstream_plan.simulation.one_plan import plan_checked

#: A plan that takes so long to play, and has so many probes to go, is told of before it is played.
_LONG_MS, _MANY_PROBES = 5_000, 100


def plan_job(
    options: PlanOptions, wanted: Wanted, *, fail_on_changes: bool = False, show_ranks: bool = False
) -> Job[Snapshot, Shown]:
    """Return the job of planning what follows when a rebalance starts now."""
    work = partial(_shown, wanted.options(options), wanted, fail_on_changes, show_ranks)
    return Job(prepare=lambda snapshot: snapshot, work=work, cost_ms=cost_of_plan_ms)


def cost_of_plan_ms(snapshot: Snapshot) -> float:
    """Return about how long a plan takes."""
    return work_of_one_ms(snapshot.state.group, snapshot.config)


def _shown(
    options: PlanOptions, wanted: Wanted, fail_on_changes: bool, show_ranks: bool, snapshot: Snapshot, at: Workplace
) -> Shown:
    plan = plan_one(snapshot, options, at)
    in_full = wanted.in_full(only=at.only)
    return Shown(
        result_of(plan),
        outcome(plan, fail_on_changes=fail_on_changes),
        json=f"{plan_json(plan, full=wanted.full)}\n" if wanted.json else "",
        text=answer_text(plan, wanted.form, wanted.page, verbose=wanted.verbose) if in_full else "",
        ranks=ranks(snapshot, width=wanted.page.width) if show_ranks else "",
    )


def plan_one(snapshot: Snapshot, options: PlanOptions, at: Workplace) -> Plan:
    """Plan one application.

    Raises:
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    what = f"planning {snapshot.state.group.application_id}{at.place}"
    at.tell(what)
    on_round = on_long_plan(what, at.tell, snapshot)
    with at_once(snapshot.state.group, snapshot.config, at.processes) as side_by_side:
        return plan_checked(snapshot, options, on_round=on_round, side_by_side=side_by_side)


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
            tell.beforehand(f"{what}: {left_sentence(left)}")
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
