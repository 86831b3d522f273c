"""Snapshots to simulations, and simulations to stdout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from kstream_plan.cli.actions.alternatives import inputs_compared, play_alternatives, report_compared
from kstream_plan.cli.actions.fleet_run import FleetRun, Job, JobContext, each_application
from kstream_plan.cli.actions.output_request import OutputRequest, RenderedAnswer, deliver, output_request
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.plan import cost_of_plan_ms, on_long_plan, on_round
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.actions.results import check_reports
from kstream_plan.cli.actions.scenarios import ScenarioOf
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies, outcome
from kstream_plan.cli.failures import report_all
from kstream_plan.cli.options.parameters import option_of
from kstream_plan.cli.options.simulation import Chance, SimulatesSnapshots
from kstream_plan.cli.output import write_stdout, written_at_once
from kstream_plan.cli.pages import answer_text, answers_text, json_lines
from kstream_plan.cli.progress import Report, show_progress
from kstream_plan.comparison.alternatives import Change, SameOutcome
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.errors import UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Join, Leave, Scenario
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.result import result_of
from kstream_plan.plans.simulated import Simulation
from kstream_plan.simulation.alternatives import Variant
from kstream_plan.simulation.draws import OnDraw, usual_draws
from kstream_plan.simulation.simulate import simulate

_PROTOCOLS = ("classic", "streams", "connect")
#: What is asked of one simulation, not of a table of designs.
_OF_ONE = ("draws_within", "full", "out_format", "record_size", "verbose")


def simulate_and_deliver(paths: Sequence[str], options: SimulatesSnapshots, scenario_of: ScenarioOf) -> ExitCode:
    """Read the snapshots, simulate and show, by several designs beside each other; return the exit code."""
    results = options.results
    check_before_reading(options, options.out_file, several_designs=True)
    check_reports(options.report, options.out_file)
    if len(options.designs) > 1:
        return _designs_beside_each_other(paths, options, scenario_of)
    settings = overrides(options)
    request = output_request(options, paths)
    job = simulation_job(options, request, scenario_of)
    with show_progress(quiet=options.quiet) as progress:
        progress("reading")
        fleet_run = FleetRun(
            lambda: job,
            settings,
            progress,
            keep_going=options.keep_going,
            out_file=options.out_file,
            keeps_lines=options.uses_json,
            results=results,
        )
        work = fleet_run.run(read_snapshots(paths, options, protocols=_PROTOCOLS, handler=fleet_run))
    report_all(work.errors, debug=options.debug)
    deliver(fleet_run, work, request, options.report)
    return first_that_applies([answer.code for answer in work.results], work.errors)


class Played(NamedTuple):
    """A snapshot, and what happens to its group."""

    snapshot: Snapshot
    scenario: Scenario


def simulation_job(
    options: SimulatesSnapshots, request: OutputRequest, scenario_of: ScenarioOf
) -> Job[Played, RenderedAnswer]:
    """Return the job of simulating."""
    return Job(
        prepare=lambda snapshot: Played(snapshot, scenario_of(snapshot.state.group)),
        work=partial(_render, options, request),
        cost_ms=partial(_cost_ms, options.draws, request.options(options.plan_options)),
    )


def _cost_ms(asked_draws: int | None, options: PlanOptions, snapshot: Snapshot) -> float:
    draws = usual_draws(snapshot, options) if asked_draws is None else asked_draws
    return draws * cost_of_plan_ms(snapshot)


def _render(arguments: SimulatesSnapshots, request: OutputRequest, item: Played, context: JobContext) -> RenderedAnswer:
    options, what_ifs = request.options(arguments.plan_options), arguments.what_if
    simulation = simulate_one(
        item.snapshot, item.scenario, options, arguments, context.progress, context.processes, what_ifs=what_ifs
    )
    simulation_with_size = replace(simulation, record_size=arguments.record_size)
    source = request.source(item.snapshot.state.group.application_id, only=context.only)
    text = ""
    if request.in_full(only=context.only):
        text = answer_text(simulation_with_size, request.form, request.page, verbose=request.verbose, source=source)
    return RenderedAnswer(
        result_of(simulation_with_size.plan, simulation_with_size),
        outcome(simulation_with_size.plan, fail_on_changes=False, draws=simulation_with_size.draws),
        json=f"{simulation_json(simulation_with_size, full=request.full)}\n" if request.json else "",
        text=text,
    )


def _designs_beside_each_other(
    paths: Sequence[str], arguments: SimulatesSnapshots, scenario_of: ScenarioOf
) -> ExitCode:
    """Simulate what happens by every design, and show one table; return the exit code."""
    for name in _OF_ONE:
        if getattr(arguments if name == "out_format" else arguments.command_line, name):
            message = f"{option_of(name)} is for a simulation by one design"
            raise UsageError(message, fix="leave it out, or give one --design")
    if any(report.form == "svg" for report in arguments.report or ()):
        message = "svg is the picture of one design"
        raise UsageError(message, where="--report", fix="write html=FILE, or give one --design")
    settings = overrides(arguments)
    axis = [
        Variant(change=Change("design", name), options=(("design", name), *arguments.design_options(name)))
        for name in arguments.designs
    ]
    options = replace(arguments.plan_options, long_ranges=True)
    with show_progress(quiet=arguments.quiet) as progress:
        progress("reading")

        def compare(snapshot: Snapshot) -> Sequence[SameOutcome]:
            scenario = scenario_of(snapshot.state.group)
            return play_alternatives(snapshot, [axis], options, scenario, progress, number_of_draws=arguments.draws)

        outcomes = read_snapshots(paths, arguments, protocols=_PROTOCOLS)
        work = each_application(outcomes, settings, compare, keep_going=arguments.keep_going)
    report_all(work.errors, debug=arguments.debug)
    sources = inputs_compared(work.results, paths, arguments)
    if arguments.out is not None:
        with written_at_once(arguments.out) as file:
            file.write(json_lines(work.results, sources))
    if work.results:
        report_compared(arguments.report, work.results)
        write_stdout(answers_text(work.results, sources, arguments.output))
    return first_that_applies([], work.errors)


def simulate_one(
    snapshot: Snapshot,
    scenario: Scenario,
    options: PlanOptions,
    chance: Chance,
    progress: Report,
    workers: int,
    *,
    what_ifs: bool,
) -> Simulation:
    """Simulate one application, its draws shared by so many ``workers``; ``progress`` is told how far it is.

    Raises:
        ScenarioError: the scenario does not fit the group.
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    message = f"simulating {snapshot.state.group.application_id}"
    return simulate(
        snapshot,
        scenario,
        options,
        number_of_draws=chance.draws,
        draws_within_ms=chance.draws_within,
        workers=workers,
        what_ifs=what_ifs,
        ranges_of_shown=True,
        on_round=on_round(message, progress) if _goes_on(scenario) else on_long_plan(message, progress, snapshot),
        on_draw=on_draw(message, progress),
    )


def _goes_on(scenario: Scenario) -> bool:
    """Tell whether more happens than at the beginning: what is to go then may never have to."""
    return any(event.at_ms or not isinstance(event, Join | Leave) for event in scenario.events)


def on_draw(message: str, progress: Report) -> OnDraw:
    """Return what tells of every draw how far ``message`` is."""
    return lambda draw, number: progress(f"{message}: draw {draw} of {number}", draw, number)
