"""``simulate-scaleout``: what follows when instances are added, or removed, before anything is started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from kstream_plan.cli import options, simulation_options
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.option_groups import (
    Applications,
    Chance,
    Deciding,
    Given,
    NewInstances,
    Reading,
    Settings,
    Spark,
    takes,
)
from kstream_plan.cli.output import OutputForm
from kstream_plan.cli.simulating import simulate_and_deliver
from kstream_plan.errors import UsageError
from kstream_plan.model import Group
from kstream_plan.scenario import Scenario
from kstream_plan.studies.scale_out import scale_out


class Options:
    """What only this command is asked."""

    paths: options.Snapshots
    what_if: simulation_options.WhatIf = True
    record_size: simulation_options.RecordSize = None
    max_rounds: options.MaxRounds = None
    output: options.Output = OutputForm.TABLE
    out: options.Out = None
    full: options.Full = False
    verbose: options.Verbose = False


@takes(Options, NewInstances, Chance, Reading, Settings, Deciding, Spark, Applications)
def simulate_scaleout(given: Given) -> None:
    """Simulate that instances join, or stop, before anything is started."""
    with expected_failures(debug=given["debug"]):
        _check(given)
        code = simulate_and_deliver(given, lambda group: _scenario(group, given))
    raise typer.Exit(code)


def _check(given: Mapping[str, Any]) -> None:
    if given["add"] is not None and given["to"] is not None:
        raise UsageError("--add and --to say the same thing", fix="give one of them")
    if given["add"] is None and given["to"] is None and not given["remove"]:
        raise UsageError("nobody joins or stops", fix="give --add N, --to N or --remove ID")


def _scenario(group: Group, given: Mapping[str, Any]) -> Scenario:
    remove, to = given["remove"] or (), given["to"]
    add = given["add"] or 0
    if to is not None:
        add = to - (len(group.instances) - len(set(remove)))
        if add < 0:
            raise UsageError(
                f"{group.application_id!r} has {len(group.instances)} instances already, --to {to} is less",
                fix="say which ones stop with --remove",
            )
    return scale_out(
        group,
        add=add,
        threads=given["threads"],
        client_tags=given["client_tags"] or (),
        racks=given["rack"] or (),
        add_at_ms=given["add_at"] or 0,
        process_ids=given["process_id"] or (),
        remove=remove,
    )
