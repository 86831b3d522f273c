"""``simulate-scaleout``: what follows when instances are added, or removed, before anything is started."""

from __future__ import annotations

import typer

from kstream_plan.cli.actions.scenarios import scale_out_of
from kstream_plan.cli.actions.simulate import simulate_and_deliver
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.simulation import NewInstances, SimulatesSnapshots


class ScaleOutOptions(NewInstances, SimulatesSnapshots):
    """What ``simulate-scaleout`` is asked."""

    paths: shared.Snapshots


@takes(ScaleOutOptions)
def simulate_scaleout(options: ScaleOutOptions) -> None:
    """Simulate that instances join, or stop, before anything is started."""
    with expected_failures(debug=options.debug):
        code = simulate_and_deliver(options.paths, options, scale_out_of(options))
    raise typer.Exit(code)
