"""Snapshots to simulations, one application after the other, and simulations to stdout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kstream_plan.cli.actions.alternatives import play_alternatives
from kstream_plan.cli.actions.each_application import each_application
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.plan import on_long_plan
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.actions.scenarios import ScenarioOf
from kstream_plan.cli.compare_page import compare_lines, compare_page
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies, outcome
from kstream_plan.cli.failures import report
from kstream_plan.cli.options.parameters import option_of
from kstream_plan.cli.options.simulation import Chance, SimulatesSnapshots
from kstream_plan.cli.output import page, say, written_at_once
from kstream_plan.cli.progress import Report, progress
from kstream_plan.cli.simulation_pages import simulation_lines, simulations_page
from kstream_plan.comparison.alternatives import Change, SameOutcome
from kstream_plan.errors import UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.simulated import Simulation
from kstream_plan.simulation.alternatives import Variant
from kstream_plan.simulation.draws import OnDraw, processors
from kstream_plan.simulation.simulate import simulate

_PROTOCOLS = ("classic", "streams", "connect")
#: What is asked of one simulation, not of a table of designs.
_OF_ONE = ("draws_within", "full", "record_size", "verbose")


def simulate_and_deliver(paths: Sequence[str], asked: SimulatesSnapshots, scenario_of: ScenarioOf) -> ExitCode:
    """Read the snapshots, simulate and show, by several designs beside each other; return the exit code.

    Raises:
        KstreamPlanError: something cannot be read, simulated or written.
    """
    check_before_reading(asked, asked.out, several_designs=True)
    if len(asked.designs) > 1:
        return _designs_beside_each_other(paths, asked, scenario_of)
    settings = overrides(asked)
    with progress(quiet=asked.quiet) as tell:
        tell("reading")

        def simulated(found: Snapshot, _done: int) -> Simulation:
            scenario = scenario_of(found.state.group)
            made = simulate_one(found, scenario, asked.plan_options, asked, tell, what_ifs=asked.what_if)
            return replace(made, record_size=asked.record_size)

        outcomes = read_snapshots(paths, asked, protocols=_PROTOCOLS)
        work = each_application(outcomes, settings, simulated, keep_going=asked.keep_going)
    for error in work.errors:
        report(error, debug=asked.debug)
    _deliver(work.results, asked)
    codes = [outcome(simulated.plan, fail_on_changes=False) for simulated in work.results]
    return first_that_applies(codes, work.errors)


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
    settings = overrides(asked)
    axis = [Variant(change=Change("design", name), options=(("design", name),)) for name in asked.designs]
    with progress(quiet=asked.quiet) as tell:
        tell("reading")

        def played(found: Snapshot, _done: int) -> Sequence[SameOutcome]:
            scenario = scenario_of(found.state.group)
            return play_alternatives(found, [axis], asked.plan_options, scenario, tell, number_of_draws=asked.draws)

        outcomes = read_snapshots(paths, asked, protocols=_PROTOCOLS)
        work = each_application(outcomes, settings, played, keep_going=asked.keep_going)
    for error in work.errors:
        report(error, debug=asked.debug)
    if asked.out is not None:
        with written_at_once(asked.out) as file:
            file.write(compare_lines(work.results))
    if work.results:
        say(compare_page(work.results, asked.output))
    return first_that_applies([], work.errors)


def simulate_one(
    snapshot: Snapshot, scenario: Scenario, options: PlanOptions, chance: Chance, tell: Report, *, what_ifs: bool
) -> Simulation:
    """Simulate one application; ``tell`` is told how far it is.

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
        workers=processors(),
        what_ifs=what_ifs,
        on_round=on_long_plan(what, tell, snapshot),
        on_draw=on_draw(what, tell),
    )


def on_draw(what: str, tell: Report) -> OnDraw:
    """Return what tells of every draw how far ``what`` is."""
    return lambda done, number: tell(f"{what}: draw {done} of {number}", done, number)


def _deliver(simulations: Sequence[Simulation], asked: SimulatesSnapshots) -> None:
    """Save the simulations if asked to, then show them."""
    if asked.out is not None:
        with written_at_once(asked.out) as file:
            file.write(simulation_lines(simulations, full=asked.full))
    if simulations:
        say(simulations_page(simulations, asked.output, page(), full=asked.full, verbose=asked.verbose))
