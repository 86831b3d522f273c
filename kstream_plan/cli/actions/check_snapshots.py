"""Snapshots to checked plans: planned, or simulated if something happens to the group, and cures tried the same way."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from kstream_plan.cli.actions.check_report import PlanParts, ReportForms, report_parts
from kstream_plan.cli.actions.check_saved import Source, check_beside
from kstream_plan.cli.actions.fleet_run import FleetRun, Job, JobContext, Work
from kstream_plan.cli.actions.overrides import Overrides
from kstream_plan.cli.actions.plan import cost_of_plan_ms, on_round, plan_one
from kstream_plan.cli.actions.read import read_snapshots
from kstream_plan.cli.actions.scenarios import ScenarioOf
from kstream_plan.cli.actions.simulate import on_draw, simulate_one
from kstream_plan.cli.options.check import CheckOptions
from kstream_plan.cli.progress import Report
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.policy.findings import CheckedPlan, Standard
from kstream_plan.simulation.cures import cures


class _Made(NamedTuple):
    """A plan, what is known of other draws, and how it gets the line under which it is saved."""

    plan: Plan
    draws: OverDraws | None
    line: Callable[[], str]


class _Checked(NamedTuple):
    """The reports of a checked plan, and its JSON if it is saved."""

    parts: PlanParts
    json: str


class _ToCheck(NamedTuple):
    """A snapshot, what happens to its group (``None``: a rebalance starts now), and the saved plan for before."""

    snapshot: Snapshot
    scenario: Scenario | None
    plan_before: SavedPlan | None


def check_snapshots(
    source: Source,
    scenario_of: ScenarioOf | None,
    standard: Standard,
    plans_before: Mapping[str, SavedPlan],
    forms: ReportForms,
    settings: Overrides,
    options: CheckOptions,
    progress: Report,
) -> Work[PlanParts]:
    """Read and plan the snapshots, hold the plans against the policy, and look for cures; save the plans if asked to.

    The reports of a plan are made in the process that has it, and the plan stays there.

    With ``scenario_of`` this is what the groups are simulated under; without, a rebalance starts now.
    """
    progress("reading")
    stdin = None if source.snapshots_from_stdin is None else io.BytesIO(source.snapshots_from_stdin)

    def to_check(snapshot: Snapshot) -> _ToCheck:
        group = snapshot.state.group
        scenario = None if scenario_of is None else scenario_of(group)
        return _ToCheck(snapshot, scenario, plans_before.get(group.application_id))

    job = Job(to_check, partial(_check_plan, standard, forms, options), cost_of_plan_ms)
    fleet_run = FleetRun(lambda: job, settings, progress, keep_going=options.keep_going, out_file=options.out)
    work = fleet_run.run(
        read_snapshots(source.snapshots, options, stdin, protocols=("classic", "streams", "connect"), handler=fleet_run)
    )
    return Work([part.parts for part in work.results], work.errors)


def _check_plan(
    standard: Standard, forms: ReportForms, options: CheckOptions, item: _ToCheck, context: JobContext
) -> _Checked:
    simulation = _make(item, options, context)
    check_result = check_beside(item.plan_before, simulation.plan, simulation.draws, standard, str(options.out or ""))
    cured_plan = _with_cures(check_result, item, standard, options, context)
    return _Checked(report_parts(cured_plan, forms), "" if options.out is None else simulation.line())


def _make(item: _ToCheck, arguments: CheckOptions, context: JobContext) -> _Made:
    # no rule goes by the minimum time: it is simulated for a plan that is saved or shown
    for_page = any(report.form == "html" for report in arguments.report or ())
    options = replace(arguments.plan_options, floor=for_page or arguments.out is not None)
    if item.scenario is None:
        plan = plan_one(item.snapshot, options, context)
        return _Made(plan, None, lambda: f"{plan_json(plan, full=arguments.full)}\n")
    processes = context.processes
    simulation = simulate_one(
        item.snapshot, item.scenario, options, arguments, context.progress, processes, what_ifs=False
    )
    return _Made(
        simulation.plan, simulation.over_draws, lambda: f"{simulation_json(simulation, full=arguments.full)}\n"
    )


def _with_cures(
    checkup: CheckedPlan, item: _ToCheck, standard: Standard, options: CheckOptions, context: JobContext
) -> CheckedPlan:
    activity = "planning" if item.scenario is None else "simulating"
    message = f"looking for cures, {activity} {checkup.application_id}"
    return cures(
        checkup,
        item.snapshot,
        standard,
        options.plan_options,
        scenario=item.scenario,
        number_of_draws=options.draws,
        draws_within_ms=options.draws_within,
        workers=context.processes,
        on_round=on_round(message, context.progress),
        on_draw=on_draw(message, context.progress),
    )
