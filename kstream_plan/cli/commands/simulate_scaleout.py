"""``simulate-scaleout``: what follows when instances are added, or removed, before anything is started."""

from __future__ import annotations

import typer

from kstream_plan.cli.actions.scenarios import scale_out_of
from kstream_plan.cli.actions.simulate import simulate_and_deliver
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared as options
from kstream_plan.cli.options.groups import (
    Applications,
    Chance,
    Deciding,
    Given,
    NewInstances,
    Reading,
    Settings,
    Simulating,
    Spark,
    takes,
)


class Options:
    """What only this command is asked."""

    paths: options.Snapshots


@takes(Options, NewInstances, Simulating, Chance, Reading, Settings, Deciding, Spark, Applications)
def simulate_scaleout(given: Given) -> None:
    """Simulate that instances join, or stop, before anything is started."""
    with expected_failures(debug=given["debug"]):
        code = simulate_and_deliver(given, scale_out_of(given))
    raise typer.Exit(code)
