"""Snapshots to simulations, and simulations to stdout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from kstream_plan.cli.actions.alternatives import play_alternatives
from kstream_plan.cli.actions.each_application import each_application
from kstream_plan.cli.actions.many import Job, Many, Workplace
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.plan import cost_of_plan_ms, on_long_plan, on_round
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.actions.reports import check_reports
from kstream_plan.cli.actions.scenarios import ScenarioOf
from kstream_plan.cli.actions.shown import Shown, Wanted, deliver
from kstream_plan.cli.compare_page import compare_lines, compare_page, report_compared
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies, outcome
from kstream_plan.cli.failures import report
from kstream_plan.cli.options.parameters import option_of
from kstream_plan.cli.options.simulation import Chance, SimulatesSnapshots
from kstream_plan.cli.output import page, say, written_at_once
from kstream_plan.cli.pages import answer_text
from kstream_plan.cli.progress import Report, progress
from kstream_plan.comparison.alternatives import Change, SameOutcome
from kstream_plan.errors import UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Join, Leave, Scenario
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.result import result_of
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.simulation.json_form import simulation_json
from kstream_plan.simulation.alternatives import Variant
from kstream_plan.simulation.draws import OnDraw, usual_draws
from kstream_plan.simulation.simulate import simulate

_PROTOCOLS = ("classic", "streams", "connect")
#: What is asked of one simulation, not of a table of designs.
_OF_ONE = ("draws_within", "full", "out_format", "record_size", "verbose")


def simulate_and_deliver(paths: Sequence[str], asked: SimulatesSnapshots, scenario_of: ScenarioOf) -> ExitCode:
    """Read the snapshots, simulate and show, by several designs beside each other; return the exit code.

    Raises:
        KstreamPlanError: something cannot be read, simulated or written.
    """
    results = asked.results
    check_before_reading(asked, asked.out_file, several_designs=True)
    check_reports(asked.report, asked.out_file)
    if len(asked.designs) > 1:
        return _designs_beside_each_other(paths, asked, scenario_of)
    settings = overrides(asked)
    saved, result = asked.out is not None or bool(asked.report), results is not None
    wanted = Wanted(asked.output, page(), saved=saved, full=asked.full, verbose=asked.verbose, result=result)
    job = simulation_job(asked, wanted, scenario_of)
    with progress(quiet=asked.quiet) as tell:
        tell("reading")
        many = Many(lambda: job, settings, tell, keep_going=asked.keep_going, results=results)
        work = many.done(read_snapshots(paths, asked, protocols=_PROTOCOLS, then=many))
    for error in work.errors:
        report(error, debug=asked.debug)
    deliver(many, work, wanted, asked.out_file, asked.report)
    return first_that_applies([one.code for one in work.results], work.errors)


class Played(NamedTuple):
    """A snapshot, and what happens to its group."""

    snapshot: Snapshot
    scenario: Scenario


def simulation_job(asked: SimulatesSnapshots, wanted: Wanted, scenario_of: ScenarioOf) -> Job[Played, Shown]:
    """Return the job of simulating."""
    return Job(
        prepare=lambda snapshot: Played(snapshot, scenario_of(snapshot.state.group)),
        work=partial(_shown, asked, wanted),
        cost_ms=partial(_cost_ms, asked.draws, wanted.options(asked.plan_options)),
    )


def _cost_ms(asked_draws: int | None, options: PlanOptions, snapshot: Snapshot) -> float:
    draws = usual_draws(snapshot, options) if asked_draws is None else asked_draws
    return draws * cost_of_plan_ms(snapshot)


def _shown(asked: SimulatesSnapshots, wanted: Wanted, played: Played, at: Workplace) -> Shown:
    options, what_ifs = wanted.options(asked.plan_options), asked.what_if
    made = simulate_one(played.snapshot, played.scenario, options, asked, at.tell, at.processes, what_ifs=what_ifs)
    simulated = replace(made, record_size=asked.record_size)
    in_full = wanted.in_full(only=at.only)
    return Shown(
        result_of(simulated.plan, simulated),
        outcome(simulated.plan, fail_on_changes=False, draws=simulated.draws),
        json=f"{simulation_json(simulated, full=wanted.full)}\n" if wanted.json else "",
        text=answer_text(simulated, wanted.form, wanted.page, verbose=wanted.verbose) if in_full else "",
    )


def _designs_beside_each_other(paths: Sequence[str], asked: SimulatesSnapshots, scenario_of: ScenarioOf) -> ExitCode:
    """Play what happens by every design, and show one table; return the exit code.

    Raises:
        UsageError: an option is asked for that a table has no use for.
        KstreamPlanError: something cannot be read, simulated or written.
    """
    for name in _OF_ONE:
        if getattr(asked, name):
            what = f"{option_of(name)} is for a simulation by one design"
            raise UsageError(what, fix="leave it out, or give one --design")
    if any(one.form == "svg" for one in asked.report or ()):
        what = "svg is the picture of one design"
        raise UsageError(what, where="--report", fix="write html=FILE, or give one --design")
    settings = overrides(asked)
    axis = [Variant(change=Change("design", name), options=(("design", name),)) for name in asked.designs]
    options = replace(asked.plan_options, long_ranges=True)
    with progress(quiet=asked.quiet) as tell:
        tell("reading")

        def played(found: Snapshot, _done: int) -> Sequence[SameOutcome]:
            scenario = scenario_of(found.state.group)
            return play_alternatives(found, [axis], options, scenario, tell, number_of_draws=asked.draws)

        outcomes = read_snapshots(paths, asked, protocols=_PROTOCOLS)
        work = each_application(outcomes, settings, played, keep_going=asked.keep_going)
    for error in work.errors:
        report(error, debug=asked.debug)
    if asked.out is not None:
        with written_at_once(asked.out) as file:
            file.write(compare_lines(work.results))
    if work.results:
        report_compared(asked.report, work.results)
        say(compare_page(work.results, asked.output))
    return first_that_applies([], work.errors)


def simulate_one(
    snapshot: Snapshot,
    scenario: Scenario,
    options: PlanOptions,
    chance: Chance,
    tell: Report,
    workers: int,
    *,
    what_ifs: bool,
) -> Simulation:
    """Simulate one application, its draws shared by so many ``workers``; ``tell`` is told how far it is.

    Raises:
        ScenarioError: the scenario does not fit the group.
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    what = f"simulating {snapshot.state.group.application_id}"
    return simulate(
        snapshot,
        scenario,
        options,
        number_of_draws=chance.draws,
        draws_within_ms=chance.draws_within,
        workers=workers,
        what_ifs=what_ifs,
        ranges_of_shown=True,
        on_round=on_round(what, tell) if _goes_on(scenario) else on_long_plan(what, tell, snapshot),
        on_draw=on_draw(what, tell),
    )


def _goes_on(scenario: Scenario) -> bool:
    """Tell whether more happens than at the beginning: what is to go then may never have to."""
    return any(event.at_ms or not isinstance(event, Join | Leave) for event in scenario.events)


def on_draw(what: str, tell: Report) -> OnDraw:
    """Return what tells of every draw how far ``what`` is."""
    return lambda done, number: tell(f"{what}: draw {done} of {number}", done, number)
