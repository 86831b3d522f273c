"""A scenario, simulated: the plan, what chance does to it, what each event leads to, and what other settings would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Unpack

from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.options import PlanKeywords, PlanOptions
from kstream_plan.planner.plan import OnRound
from kstream_plan.planner.runner import Runner
from kstream_plan.plans import Plan, Summary
from kstream_plan.plans.simulated import Simulation, event_outcomes
from kstream_plan.simulation import what_ifs as trials
from kstream_plan.simulation.draws import (
    OnDraw,
    by_chance_ms,
    draws,
    is_quick,
    one_draw,
    shown_draw,
    summarize_draws,
    usual_draws,
)
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.overlapping_restarts import outage_note
from kstream_plan.simulation.processes import at_once, work_of_one_ms
from kstream_plan.simulation.random_ids import is_random, with_random_ids

#: If one simulation takes longer than that, few other settings are tried.
_LONG_MS = 15_000


def simulate(
    snapshot: Snapshot,
    scenario: Scenario,
    options: PlanOptions = PlanOptions(),
    *,
    number_of_draws: int | None = None,
    draws_within_ms: int | None = None,
    workers: int = 1,
    what_ifs: bool = True,
    ranges_of_shown: bool = False,
    on_round: OnRound | None = None,
    on_draw: OnDraw = lambda _number, _total: None,
    **keywords: Unpack[PlanKeywords],
) -> Simulation:
    """Simulate ``scenario`` on the group of ``snapshot``.

    Ids of new instances that are not given are drawn ``number_of_draws`` times (default: by the size of the
    group, 200 at most), or until ``draws_within_ms`` is over, by so many ``workers`` (processes); the plan is the draw
    nearest to the medians. ``what_ifs``: simulate other settings as well. ``ranges_of_shown``: even without
    ``long_ranges`` simulate other outcomes of the draw that is shown, if that takes a few seconds. The ``options`` may
    be given one by one, too.

    Raises:
        ScenarioError: the scenario does not fit the group.
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    group = snapshot.state.group
    options = replace(options, **keywords)
    random = is_random(scenario, group)
    number = usual_draws(snapshot, options) if number_of_draws is None else number_of_draws
    with at_once(group, snapshot.config, workers, number if random else 1) as side_by_side:
        draw = partial(draws, side_by_side=side_by_side, within_ms=draws_within_ms, on_draw=on_draw)
        outcomes = draw(snapshot, scenario, options, number=number) if random and number > 1 else ()
        all_draws = summarize_draws(outcomes) if outcomes else None
        result = with_random_ids(scenario, group, all_draws.shown if all_draws else 0)
        plan_with = partial(_simulate_with, snapshot, options, result)
        if what_ifs and all_draws is not None:
            side_by_side.begin(_tries(outcomes[all_draws.shown].summary, snapshot, plan_with), surely=True)
        begin = partial(plan_checked, snapshot, scenario=result, on_round=on_round, side_by_side=side_by_side)
        if ranges_of_shown and random and is_quick(snapshot, options):
            options = replace(options, long_ranges=True)
        outcome, all_draws = shown_draw(begin, options, all_draws, outcomes) if all_draws else (begin(options), None)
        simulation = Simulation(
            plan=outcome,
            scenario=result,
            draws=one_draw(outcome) if random and all_draws is None else all_draws,
            events=event_outcomes(outcome, result),
            what_ifs=(),
        )
        if not what_ifs:
            return simulation
        return _with_what_ifs(simulation, snapshot, options, plan_with, by_chance_ms(outcomes), side_by_side)


def _tries(summary: Summary, snapshot: Snapshot, plan_with: trials.PlanWith) -> Sequence[trials.Try]:
    """Return the other settings that will be tried of a plan with this summary, if groups of this kind have such."""
    group = snapshot.state.group
    if snapshot.group_protocol != "classic":
        return ()
    return trials.tries(summary, snapshot.config, len(group.stateful), plan_with, long=_is_long(snapshot))


def _is_long(snapshot: Snapshot) -> bool:
    return work_of_one_ms(snapshot.state.group, snapshot.config) > _LONG_MS


def _with_what_ifs(
    simulation: Simulation,
    snapshot: Snapshot,
    options: PlanOptions,
    plan_with: trials.PlanWith,
    chance_ms: int,
    side_by_side: Runner,
) -> Simulation:
    """Add what other settings lead to, as far as groups of this kind have such."""
    result = simulation.plan
    if result.is_of_workers:
        return replace(simulation, what_ifs=trials.shorter_delays(result, plan_with))
    if snapshot.group_protocol != "classic":
        return simulation

    def play_other(other_scenario: Scenario) -> Plan:
        return plan_checked(snapshot, options, scenario=other_scenario, bounds=False, floor=False, ranges=False)

    note = outage_note(result, simulation.scenario, play_other)
    if note is not None:
        result = replace(result, warnings=(note, *result.warnings))
    what_ifs = trials.what_ifs(result, plan_with, chance_ms, long=_is_long(snapshot), side_by_side=side_by_side)
    return replace(simulation, plan=result, what_ifs=what_ifs, cure=trials.cure(result, plan_with))


def _simulate_with(snapshot: Snapshot, options: PlanOptions, scenario: Scenario, config: AssignmentConfig) -> Plan:
    """Simulate it with other settings, and other outcomes if that does not take long."""
    variant_options = replace(options.of_one_run(), ranges=options.ranges, long_ranges=False)
    return plan_checked(replace(snapshot, config=config), variant_options, scenario=scenario)
