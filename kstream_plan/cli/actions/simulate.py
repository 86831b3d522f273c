"""Snapshots to simulations, one application after the other, and simulations to stdout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kstream_plan.cli.actions.each_application import each_application
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.plan import on_long_plan
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.actions.scenarios import ScenarioOf
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies, outcome
from kstream_plan.cli.failures import report
from kstream_plan.cli.options.simulation import Chance, SimulatesSnapshots
from kstream_plan.cli.output import page, say, written_at_once
from kstream_plan.cli.progress import Report, progress
from kstream_plan.cli.simulation_pages import simulation_lines, simulations_page
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.simulated import Simulation
from kstream_plan.simulation.draws import OnDraw, processors
from kstream_plan.simulation.simulate import simulate


def simulate_and_deliver(paths: Sequence[str], asked: SimulatesSnapshots, scenario_of: ScenarioOf) -> ExitCode:
    """Read the snapshots, simulate and show; return the exit code.

    Raises:
        KstreamPlanError: something cannot be read, simulated or written.
    """
    check_before_reading(asked, asked.out)
    settings = overrides(asked)
    with progress(quiet=asked.quiet) as tell:
        tell("reading")

        def simulated(found: Snapshot, _done: int) -> Simulation:
            scenario = scenario_of(found.state.group)
            made = simulate_one(found, scenario, asked.plan_options, asked, tell, what_ifs=asked.what_if)
            return replace(made, record_size=asked.record_size)

        outcomes = read_snapshots(paths, asked, protocols=("classic", "streams", "connect"))
        work = each_application(outcomes, settings, simulated, keep_going=asked.keep_going)
    for error in work.errors:
        report(error, debug=asked.debug)
    _deliver(work.results, asked)
    codes = [outcome(simulated.plan, fail_on_changes=False) for simulated in work.results]
    return first_that_applies(codes, work.errors)


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
