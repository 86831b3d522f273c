"""Snapshots to simulations, one application after the other, and simulations to stdout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kstream_plan.cli.exit_codes import ExitCode, first_that_applies, outcome
from kstream_plan.cli.failures import report
from kstream_plan.cli.output import OutputForm, Page, page, say, written_at_once
from kstream_plan.cli.progress import Report, progress
from kstream_plan.cli.reading import check_before_reading, read_snapshots
from kstream_plan.cli.settings import Overrides, overrides
from kstream_plan.errors import KstreamPlanError, SnapshotError
from kstream_plan.model import Group, Snapshot
from kstream_plan.render.escape import fenced
from kstream_plan.render.simulation import simulation_table
from kstream_plan.render.simulation_json import simulation_json
from kstream_plan.scenario import Scenario
from kstream_plan.studies.draws import processors
from kstream_plan.studies.simulation import Simulation, simulate


@dataclass(slots=True)
class _Work:
    simulations: list[Simulation] = field(default_factory=list)
    errors: list[KstreamPlanError] = field(default_factory=list)


def simulate_and_deliver(given: Mapping[str, Any], scenario_of: Callable[[Group], Scenario]) -> ExitCode:
    """Read, simulate and show; return the exit code. ``given`` are the command's parameters.

    Raises:
        KstreamPlanError: something cannot be read, simulated or written.
    """
    check_before_reading(given)
    settings = overrides(given)
    with progress() as tell:
        tell("reading")
        work = _simulate_all(read_snapshots(given), settings, given, scenario_of, tell)
    for error in work.errors:
        report(error, debug=given["debug"])
    _deliver(work, given)
    codes = [outcome(simulated.plan, fail_on_changes=False) for simulated in work.simulations]
    return first_that_applies([*codes, *[ExitCode.FAILED] * len(work.errors)])


def _simulate_all(
    outcomes: Sequence[Snapshot | SnapshotError],
    settings: Overrides,
    given: Mapping[str, Any],
    scenario_of: Callable[[Group], Scenario],
    tell: Report,
) -> _Work:
    work = _Work()
    for found in outcomes:
        try:
            if isinstance(found, KstreamPlanError):
                raise found
            work.simulations.append(_simulate(settings.over(found), given, scenario_of, tell))
        except KstreamPlanError as error:
            if not given["keep_going"]:
                raise
            work.errors.append(error)
    return work


def _simulate(
    snapshot: Snapshot, given: Mapping[str, Any], scenario_of: Callable[[Group], Scenario], tell: Report
) -> Simulation:
    name = snapshot.state.group.application_id
    return simulate(
        snapshot,
        scenario_of(snapshot.state.group),
        number_of_draws=given["draws"],
        draws_within_ms=given["draws_within"],
        workers=processors(),
        what_ifs=given["what_if"],
        assignor=given["assignor"],
        protocol=given["protocol"],
        max_rounds=given["max_rounds"],
        bounds=given.get("bounds", False),
        on_round=lambda rounds, queued: tell(f"simulating {name}: round {rounds}, {queued} tasks still to move"),
        on_draw=lambda done, number: tell(f"simulating {name}: draw {done} of {number}", done, number),
    )


def _deliver(work: _Work, given: Mapping[str, Any]) -> None:
    """Save the simulations if asked to, then show them."""
    if given["out"] is not None:
        with written_at_once(given["out"]) as file:
            file.write(_lines(work.simulations, full=given["full"]))
    if work.simulations:
        say(_page(work.simulations, given["output"], page(), given))


def _lines(simulations: Sequence[Simulation], *, full: bool) -> str:
    return "".join(f"{simulation_json(simulated, full=full)}\n" for simulated in simulations)


def _page(simulations: Sequence[Simulation], form: OutputForm, shown: Page, given: Mapping[str, Any]) -> str:
    if form is OutputForm.JSON:
        return _lines(simulations, full=given["full"])
    wide = form is OutputForm.MARKDOWN
    tables = [
        simulation_table(
            simulated,
            width=shown.width,
            colour=shown.colour and not wide,
            verbose=given["verbose"],
            record_size=given["record_size"],
        )
        for simulated in simulations
    ]
    return "\n".join(f"{fenced(text)}\n" for text in tables) if wide else "\n".join(tables)
