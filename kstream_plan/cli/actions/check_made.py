"""Snapshots to checked plans: planned, or simulated if something happens to the group, and cures tried the same way."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kstream_plan.cli.actions.check_saved import Source, check_beside
from kstream_plan.cli.actions.each_application import Work, each_application
from kstream_plan.cli.actions.overrides import Overrides
from kstream_plan.cli.actions.plan import on_round, place_among, plan_one
from kstream_plan.cli.actions.read import read_snapshots
from kstream_plan.cli.actions.scenarios import ScenarioOf
from kstream_plan.cli.actions.simulate import on_draw, simulate_one
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
from kstream_plan.simulation.draws import processors


class _Made(NamedTuple):
    """A plan, what is known of other draws, and how it gets the line under which it is saved."""

    plan: Plan
    draws: OverDraws | None
    line: Callable[[], str]


def check_snapshots(
    source: Source,
    scenario_of: ScenarioOf | None,
    standard: Standard,
    before: Mapping[str, SavedPlan],
    settings: Overrides,
    asked: CheckOptions,
    tell: Report,
) -> Work[CheckedPlan]:
    """Read and plan the snapshots, hold the plans against the policy, and look for cures; save the plans if asked to.

    With ``scenario_of`` this is what the groups are simulated under; without, a rebalance starts now.

    Raises:
        KstreamPlanError: something cannot be read or planned, and ``keep_going`` is not set.
    """
    tell("reading")
    stdin = None if source.snapshots_from_stdin is None else io.BytesIO(source.snapshots_from_stdin)
    outcomes = read_snapshots(source.snapshots, asked, stdin, protocols=("classic", "streams", "connect"))
    lines = []

    def checked(snapshot: Snapshot, done: int) -> CheckedPlan:
        group = snapshot.state.group
        scenario = None if scenario_of is None else scenario_of(group)
        made = _make(snapshot, scenario, asked, tell, place_among(done, len(outcomes)))
        if asked.out is not None:
            lines.append(made.line())
        first = check_beside(before, made.plan, made.draws, standard, str(asked.out or ""))
        return _with_cures(first, snapshot, standard, scenario, asked, tell)

    work = each_application(outcomes, settings, checked, keep_going=asked.keep_going)
    if asked.out is not None:
        with written_at_once(asked.out) as file:
            file.writelines(lines)
    return work


def _make(snapshot: Snapshot, scenario: Scenario | None, asked: CheckOptions, tell: Report, place: str) -> _Made:
    if scenario is None:
        plan = plan_one(snapshot, asked.plan_options, tell, place)
        return _Made(plan, None, lambda: f"{plan_json(plan, full=asked.full)}\n")
    simulated = simulate_one(snapshot, scenario, asked.plan_options, asked, tell, what_ifs=False)
    return _Made(simulated.plan, simulated.over_draws, lambda: f"{simulation_json(simulated, full=asked.full)}\n")


def _with_cures(
    checked: CheckedPlan,
    snapshot: Snapshot,
    standard: Standard,
    scenario: Scenario | None,
    asked: CheckOptions,
    tell: Report,
) -> CheckedPlan:
    doing = "planning" if scenario is None else "simulating"
    what = f"looking for cures, {doing} {checked.application_id}"
    return cures(
        checked,
        snapshot,
        standard,
        asked.plan_options,
        scenario=scenario,
        number_of_draws=asked.draws,
        draws_within_ms=asked.draws_within,
        workers=processors(),
        on_round=on_round(what, tell),
        on_draw=on_draw(what, tell),
    )
