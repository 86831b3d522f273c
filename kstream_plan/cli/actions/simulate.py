"""Snapshots to simulations, one application after the other, and simulations to stdout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kstream_plan.cli.actions.each_application import each_application
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.actions.scenarios import ScenarioOf
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies, outcome
from kstream_plan.cli.failures import report
from kstream_plan.cli.output import ONE_IN_FULL, OutputForm, Page, page, say, written_at_once
from kstream_plan.cli.progress import Report, progress
from kstream_plan.model import Snapshot
from kstream_plan.render.simulation.fleet import simulation_badness, simulation_markdown_summary, simulation_summary
from kstream_plan.render.simulation.json_form import simulation_json
from kstream_plan.render.simulation.table import simulation_table
from kstream_plan.render.text.escape import fenced
from kstream_plan.simulation.draws import processors
from kstream_plan.simulation.simulate import Simulation, simulate


def simulate_and_deliver(given: Mapping[str, Any], scenario_of: ScenarioOf) -> ExitCode:
    """Read, simulate and show; return the exit code. ``given`` are the command's parameters.

    Raises:
        KstreamPlanError: something cannot be read, simulated or written.
    """
    check_before_reading(given)
    settings = overrides(given)
    with progress() as tell:
        tell("reading")

        def simulated(found: Snapshot, _done: int) -> Simulation:
            return simulate_one(found, given, scenario_of, tell, what_ifs=given["what_if"])

        work = each_application(read_snapshots(given), settings, given, simulated)
    for error in work.errors:
        report(error, debug=given["debug"])
    _deliver(work.results, given)
    codes = [outcome(simulated.plan, fail_on_changes=False) for simulated in work.results]
    return first_that_applies(codes, work.errors)


def simulate_one(
    snapshot: Snapshot, given: Mapping[str, Any], scenario_of: ScenarioOf, tell: Report, *, what_ifs: bool
) -> Simulation:
    """Simulate one application as the command was ``given`` it; ``tell`` is told how far it is.

    Raises:
        ScenarioError: the scenario does not fit the group.
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    name = snapshot.state.group.application_id
    return simulate(
        snapshot,
        scenario_of(snapshot.state.group),
        number_of_draws=given["draws"],
        draws_within_ms=given["draws_within"],
        workers=processors(),
        what_ifs=what_ifs,
        assignor=given["assignor"],
        protocol=given["protocol"],
        max_rounds=given["max_rounds"],
        bounds=given["bounds"],
        on_round=lambda rounds, queued: tell(f"simulating {name}: round {rounds}, {queued} tasks still to move"),
        on_draw=lambda done, number: tell(f"simulating {name}: draw {done} of {number}", done, number),
    )


def _deliver(simulations: Sequence[Simulation], given: Mapping[str, Any]) -> None:
    """Save the simulations if asked to, then show them."""
    if given["out"] is not None:
        with written_at_once(given["out"]) as file:
            file.write(_lines(simulations, full=given["full"]))
    if simulations:
        say(_page(simulations, given["output"], page(), given))


def _lines(simulations: Sequence[Simulation], *, full: bool) -> str:
    return "".join(f"{simulation_json(simulated, full=full)}\n" for simulated in simulations)


def _page(simulations: Sequence[Simulation], form: OutputForm, shown: Page, given: Mapping[str, Any]) -> str:
    if form is OutputForm.JSON:
        return _lines(simulations, full=given["full"])
    wide, verbose, several = form is OutputForm.MARKDOWN, given["verbose"], len(simulations) > 1
    in_full = sorted(simulations, key=simulation_badness) if verbose or not several else []
    tables = [
        simulation_table(
            simulated,
            width=shown.width,
            colour=shown.colour and not wide,
            verbose=verbose,
            record_size=given["record_size"],
        )
        for simulated in in_full
    ]
    pages = [f"{fenced(text)}\n" for text in tables] if wide else tables
    if several:
        pages.insert(0, _summary(simulations, form, shown))
    return "\n".join(pages) + (ONE_IN_FULL if several and not verbose and not wide else "")


def _summary(simulations: Sequence[Simulation], form: OutputForm, shown: Page) -> str:
    if form is OutputForm.MARKDOWN:
        return simulation_markdown_summary(simulations)
    return simulation_summary(simulations, width=shown.width, colour=shown.colour)
