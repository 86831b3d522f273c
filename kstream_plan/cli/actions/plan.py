"""Snapshots to plans."""

from __future__ import annotations

from functools import partial

from kstream_plan.cli.actions.fleet_run import Job, JobContext
from kstream_plan.cli.actions.output_request import OutputRequest, RenderedAnswer
from kstream_plan.cli.exit_codes import outcome
from kstream_plan.cli.pages import answer_text, draw_page
from kstream_plan.cli.progress import Report
from kstream_plan.model import Snapshot
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan import OnRound
from kstream_plan.plans import Plan
from kstream_plan.plans.plan import remaining_work_of
from kstream_plan.plans.result import result_of
from kstream_plan.render.pages.plan_sentences import left_sentence
from kstream_plan.render.text.numbers import count
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.processes import at_once, work_of_one_ms

#: A plan that takes so long to simulate, and has so many probes to go, is announced before it is simulated.
_LONG_MS, _MANY_PROBES = 5_000, 100


def plan_job(
    options: PlanOptions, request: OutputRequest, *, fail_on_changes: bool = False, show_ranks: bool = False
) -> Job[Snapshot, RenderedAnswer]:
    """Return the job of planning what follows when a rebalance starts now."""
    work = partial(_render, request.options(options), request, fail_on_changes, show_ranks)
    return Job(prepare=lambda snapshot: snapshot, work=work, cost_ms=cost_of_plan_ms)


def cost_of_plan_ms(snapshot: Snapshot) -> float:
    """Return about how long a plan takes."""
    return work_of_one_ms(snapshot.state.group, snapshot.config)


def _render(
    options: PlanOptions,
    request: OutputRequest,
    fail_on_changes: bool,
    show_ranks: bool,
    snapshot: Snapshot,
    context: JobContext,
) -> RenderedAnswer:
    plan = plan_one(snapshot, options, context)
    in_full = request.in_full(only=context.only)
    source = request.source(snapshot.state.group.application_id, only=context.only)
    json = ranks = ""
    if request.json:
        from kstream_plan.documents.plan.write import plan_json  # noqa: PLC0415 - not for a table

        json = f"{plan_json(plan, full=request.full)}\n"
    if show_ranks:
        from kstream_plan.render.pages.ranks import ranks_page  # noqa: PLC0415

        ranks = draw_page(ranks_page(snapshot), request.form, request.page)
    return RenderedAnswer(
        result_of(plan),
        outcome(plan, fail_on_changes=fail_on_changes),
        json=json,
        text=answer_text(plan, request.form, request.page, verbose=request.verbose, source=source) if in_full else "",
        ranks=ranks,
    )


def plan_one(snapshot: Snapshot, options: PlanOptions, context: JobContext) -> Plan:
    """Plan one application.

    Raises:
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    message = f"planning {snapshot.state.group.application_id}{context.place}"
    context.progress(message)
    on_round = on_long_plan(message, context.progress, snapshot)
    with at_once(snapshot.state.group, snapshot.config, context.processes) as side_by_side:
        return plan_checked(snapshot, options, on_round=on_round, side_by_side=side_by_side)


def on_long_plan(message: str, progress: Report, snapshot: Snapshot) -> OnRound:
    """Return what tells of every round how far ``message`` is, and at first about how long a large plan will be."""
    config = snapshot.config
    report_round, long = on_round(message, progress), work_of_one_ms(snapshot.state.group, config) >= _LONG_MS
    is_estimated = False

    def report_estimate(rounds: int, tasks: int, movements: int) -> None:
        nonlocal is_estimated
        remaining_work = remaining_work_of(tasks, config) if long and not is_estimated else None
        if remaining_work is not None and remaining_work.probes >= _MANY_PROBES:
            is_estimated = True
            progress.announce(f"{message}: {left_sentence(remaining_work)}")
        report_round(rounds, tasks, movements)

    return report_estimate


def on_round(message: str, progress: Report) -> OnRound:
    """Return what tells of every round of a plan how far ``message`` is: how many of the movements are made.

    They say more than the tasks, of which none is done as long as its standby still has to move.
    """
    most = 0

    def report(rounds: int, tasks: int, movements: int) -> None:
        nonlocal most
        most = max(most, movements)
        text = f"{message}: round {rounds:,}, {count(tasks, 'task')} to go"
        progress(text, most - movements, most or None)

    return report
