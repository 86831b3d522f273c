"""``simulate``: a scenario file played on a group."""

from __future__ import annotations

import typer

from kstream_plan.cli.actions.simulate import simulate_and_deliver
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared as options
from kstream_plan.cli.options import simulation as simulation_options
from kstream_plan.cli.options.groups import (
    Applications,
    Chance,
    Deciding,
    Given,
    Reading,
    Settings,
    Simulating,
    Spark,
    takes,
)
from kstream_plan.documents.scenario_file import load_scenario
from kstream_plan.errors import UsageError


class Options:
    """What only this command is asked."""

    paths: options.SnapshotsFirst = None
    scenario: simulation_options.ScenarioFile


@takes(Options, Simulating, Chance, Reading, Settings, Deciding, Spark, Applications)
def simulate(given: Given) -> None:
    """Simulate what happens to a group by the scenario: who joins, leaves, stops, crashes, returns, and more."""
    with expected_failures(debug=given["debug"]):
        _check(given)
        events = load_scenario(given["scenario"])
        code = simulate_and_deliver(given, lambda _group: events)
    raise typer.Exit(code)


def _check(given: Given) -> None:
    """Check that there is something to play, and something to play it on.

    Raises:
        UsageError: only one of them is there.
    """
    if given["paths"]:
        return
    file = given["scenario"]
    missing = "snapshot" if file.suffix in {".yaml", ".yml"} else "scenario"
    fix = "write kstream-plan simulate SNAPSHOT... SCENARIO.yaml"
    raise UsageError(f"there is no {missing} beside {str(file)!r}", fix=fix)
