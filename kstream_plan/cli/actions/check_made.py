"""Snapshots to checked plans: planned, or simulated if something happens to the group, and cures tried the same way."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from kstream_plan.cli.actions.check_saved import Source, check_beside
from kstream_plan.cli.actions.each_application import Work
from kstream_plan.cli.actions.many import Job, Many, Workplace
from kstream_plan.cli.actions.overrides import Overrides
from kstream_plan.cli.actions.plan import cost_of_plan_ms, on_round, plan_one
from kstream_plan.cli.actions.read import read_snapshots
from kstream_plan.cli.actions.scenarios import ScenarioOf
from kstream_plan.cli.actions.simulate import on_draw, simulate_one
from kstream_plan.cli.actions.told import Telling, Told, told
from kstream_plan.cli.options.check import CheckOptions
from kstream_plan.cli.output import written_at_once
from kstream_plan.cli.progress import Report
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.policy.findings import CheckedPlan, Standard
from kstream_plan.render.simulation.json_form import simulation_json
from kstream_plan.simulation.cures import cures


class _Made(NamedTuple):
    """A plan, what is known of other draws, and how it gets the line under which it is saved."""

    plan: Plan
    draws: OverDraws | None
    line: Callable[[], str]


class _Checked(NamedTuple):
    """What is told of a checked plan, and its JSON if it is saved."""

    told: Told
    json: str


class _ToCheck(NamedTuple):
    """A snapshot, what happens to its group (``None``: a rebalance starts now), and the saved plan for before."""

    snapshot: Snapshot
    scenario: Scenario | None
    before: SavedPlan | None


def check_snapshots(
    source: Source,
    scenario_of: ScenarioOf | None,
    standard: Standard,
    before: Mapping[str, SavedPlan],
    telling: Telling,
    settings: Overrides,
    asked: CheckOptions,
    tell: Report,
) -> Work[Told]:
    """Read and plan the snapshots, hold the plans against the policy, and look for cures; save the plans if asked to.

    What is told of a plan is made where it is, and the plan stays there.

    With ``scenario_of`` this is what the groups are simulated under; without, a rebalance starts now.

    Raises:
        KstreamPlanError: something cannot be read or planned, and ``keep_going`` is not set.
    """
    tell("reading")
    stdin = None if source.snapshots_from_stdin is None else io.BytesIO(source.snapshots_from_stdin)

    def to_check(snapshot: Snapshot) -> _ToCheck:
        group = snapshot.state.group
        scenario = None if scenario_of is None else scenario_of(group)
        return _ToCheck(snapshot, scenario, before.get(group.application_id))

    job = Job(to_check, partial(_checked, standard, telling, asked), cost_of_plan_ms)
    many = Many(lambda: job, settings, tell, keep_going=asked.keep_going)
    work = many.done(
        read_snapshots(source.snapshots, asked, stdin, protocols=("classic", "streams", "connect"), then=many)
    )
    if asked.out is not None:
        with written_at_once(asked.out) as file:
            file.writelines(many.lines())
    return Work([one.told for one in work.results], work.errors)


def _checked(standard: Standard, telling: Telling, asked: CheckOptions, of: _ToCheck, at: Workplace) -> _Checked:
    made = _make(of, asked, at)
    checked = check_beside(of.before, made.plan, made.draws, standard, str(asked.out or ""))
    cured = _with_cures(checked, of, standard, asked, at)
    return _Checked(told(cured, telling), "" if asked.out is None else made.line())


def _make(of: _ToCheck, asked: CheckOptions, at: Workplace) -> _Made:
    # no rule goes by the least time: it is played for a plan that is saved, or told on a page
    paged = any(one.form == "html" for one in asked.report or ())
    options = replace(asked.plan_options, floor=paged or asked.out is not None)
    if of.scenario is None:
        plan = plan_one(of.snapshot, options, at)
        return _Made(plan, None, lambda: f"{plan_json(plan, full=asked.full)}\n")
    processes = at.processes
    simulated = simulate_one(of.snapshot, of.scenario, options, asked, at.tell, processes, what_ifs=False)
    return _Made(simulated.plan, simulated.over_draws, lambda: f"{simulation_json(simulated, full=asked.full)}\n")


def _with_cures(
    checked: CheckedPlan, of: _ToCheck, standard: Standard, asked: CheckOptions, at: Workplace
) -> CheckedPlan:
    doing = "planning" if of.scenario is None else "simulating"
    what = f"looking for cures, {doing} {checked.application_id}"
    return cures(
        checked,
        of.snapshot,
        standard,
        asked.plan_options,
        scenario=of.scenario,
        number_of_draws=asked.draws,
        draws_within_ms=asked.draws_within,
        workers=at.processes,
        on_round=on_round(what, at.tell),
        on_draw=on_draw(what, at.tell),
    )
