"""``drain``: which tasks would start cold or pause if instances stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import typer

from kstream_plan.cli import options, simulation_options
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies
from kstream_plan.cli.failures import expected_failures, report
from kstream_plan.cli.output import OutputForm, page, say, written_at_once
from kstream_plan.cli.progress import progress
from kstream_plan.cli.reading import check_before_reading, read_snapshots
from kstream_plan.cli.settings import Overrides, overrides
from kstream_plan.errors import KstreamPlanError, SnapshotError
from kstream_plan.model import Snapshot
from kstream_plan.render.drain import drain_json, drain_table
from kstream_plan.render.escape import fenced
from kstream_plan.studies.drain import Drain
from kstream_plan.studies.drain import drain as drain_study


def drain(
    path: simulation_options.OneSnapshot,
    instances: simulation_options.Instances,
    require_warm: simulation_options.RequireWarm = False,
    leave: simulation_options.LeaveCleanly = False,
    lags: options.Lags = None,
    lags_tolerance: options.LagsTolerance = None,
    lags_as_reported: options.LagsAsReported = False,
    as_of: options.AsOf = None,
    application_id: options.ApplicationId = None,
    keep_going: options.KeepGoing = False,
    streams_config: options.StreamsConfig = None,
    acceptable_recovery_lag: options.AcceptableRecoveryLag = None,
    max_warmup_replicas: options.MaxWarmupReplicas = None,
    num_standby_replicas: options.NumStandbyReplicas = None,
    probing_rebalance_interval: options.ProbingRebalanceInterval = None,
    rack_aware_assignment_tags: options.RackTags = None,
    rack_aware_assignment_strategy: options.RackStrategy = None,
    rack_aware_assignment_traffic_cost: options.TrafficCost = None,
    rack_aware_assignment_non_overlap_cost: options.NonOverlapCost = None,
    heartbeat_interval: options.HeartbeatInterval = None,
    session_timeout: options.SessionTimeout = None,
    state_cleanup_delay: options.StateCleanupDelay = None,
    restore_rate: options.RestoreRate = None,
    produce_rate: options.ProduceRate = None,
    assignor: options.AssignorName = "high-availability",
    balance_factor: options.BalanceFactor = None,
    protocol: options.ProtocolName = "cooperative",
    output: options.Output = OutputForm.TABLE,
    out: options.Out = None,
    master: options.Master = None,
    spark_conf: options.SparkConf = None,
    java_home: options.JavaHome = None,
    debug: options.Debug = False,
) -> None:
    """Ask whether instances may stop: which of their tasks would start cold or pause, now and after waiting."""
    given = {**locals(), "paths": [path]}
    with expected_failures(debug=debug):
        check_before_reading(given)
        settings = overrides(given)
        with progress() as tell:
            tell("reading")
            found = read_snapshots(given)
            work = _drain_all(found, settings, given)
        for error in work.errors:
            report(error, debug=debug)
        _deliver(work, given)
    codes = [ExitCode.POLICY for drained in work.drains if require_warm and drained.cold_now]
    raise typer.Exit(first_that_applies([*codes, *[ExitCode.FAILED] * len(work.errors)]))


@dataclass(slots=True)
class _Work:
    drains: list[Drain] = field(default_factory=list)
    errors: list[KstreamPlanError] = field(default_factory=list)


def _drain_all(outcomes: Sequence[Snapshot | SnapshotError], settings: Overrides, given: Mapping[str, Any]) -> _Work:
    work = _Work()
    for found in outcomes:
        try:
            if isinstance(found, KstreamPlanError):
                raise found
            work.drains.append(
                drain_study(
                    settings.over(found),
                    given["instances"],
                    leave=given["leave"],
                    assignor=given["assignor"],
                    protocol=given["protocol"],
                )
            )
        except KstreamPlanError as error:
            if not given["keep_going"]:
                raise
            work.errors.append(error)
    return work


def _deliver(work: _Work, given: Mapping[str, Any]) -> None:
    """Save the answers if asked to, then show them."""
    lines = "".join(f"{drain_json(drained)}\n" for drained in work.drains)
    if given["out"] is not None:
        with written_at_once(given["out"]) as file:
            file.write(lines)
    if not work.drains:
        return
    shown, form = page(), given["output"]
    if form is OutputForm.JSON:
        say(lines)
        return
    colour = shown.colour and form is OutputForm.TABLE
    text = "\n".join(drain_table(drained, width=shown.width, colour=colour) for drained in work.drains)
    say(f"{fenced(text)}\n" if form is OutputForm.MARKDOWN else text)
