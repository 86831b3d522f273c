"""``simulate``: a scenario file simulated on a group."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.actions.simulate import simulate_and_deliver
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.simulation import SimulatesSnapshots
from kstream_plan.documents.scenario_file import load_scenario
from kstream_plan.errors import UsageError


class SimulateOptions(SimulatesSnapshots):
    """What ``simulate`` is asked."""

    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SNAPSHOT...",
            help="Snapshots, JSON or Parquet: files, folders, globs; - is stdin.",
            show_default=False,
        ),
    ] = None
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO.yaml", help="Timed list of events (kstream-plan schema scenario).")
    ]


@takes(SimulateOptions)
def simulate(options: SimulateOptions) -> None:
    """Simulate what happens to a group by the scenario: who joins, leaves, stops, crashes, returns, and more."""
    with expected_failures(debug=options.debug):
        paths = _snapshots(options)
        events = load_scenario(options.scenario)
        code = simulate_and_deliver(paths, options, lambda _group: events)
    raise typer.Exit(code)


def _snapshots(options: SimulateOptions) -> list[str]:
    """Return what the scenario is simulated on."""
    if options.paths:
        return options.paths
    file = options.scenario
    absent_kind = "snapshot" if file.suffix in {".yaml", ".yml"} else "scenario"
    fix = "write kstream-plan simulate SNAPSHOT... SCENARIO.yaml"
    raise UsageError(f"there is no {absent_kind} beside {str(file)!r}", fix=fix)
