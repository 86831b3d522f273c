"""``simulate-scaleout``: what follows when instances are added, or removed, before anything is started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from kstream_plan.cli import options, simulation_options
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.output import OutputForm
from kstream_plan.cli.simulating import simulate_and_deliver
from kstream_plan.errors import UsageError
from kstream_plan.model import Group
from kstream_plan.scenario import Scenario
from kstream_plan.studies.scale_out import scale_out


def simulate_scaleout(
    paths: options.Snapshots,
    add: simulation_options.Add = None,
    to: simulation_options.To = None,
    remove: simulation_options.Remove = None,
    threads: simulation_options.NewThreads = None,
    client_tags: simulation_options.NewClientTags = None,
    rack: simulation_options.NewRack = None,
    add_at: simulation_options.AddAt = None,
    process_id: simulation_options.NewProcessId = None,
    draws: simulation_options.NumberOfDraws = None,
    draws_within: simulation_options.DrawsWithin = None,
    what_if: simulation_options.WhatIf = True,
    record_size: simulation_options.RecordSize = None,
    bounds: options.Bounds = False,
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
    max_rounds: options.MaxRounds = None,
    output: options.Output = OutputForm.TABLE,
    out: options.Out = None,
    full: options.Full = False,
    verbose: options.Verbose = False,
    master: options.Master = None,
    spark_conf: options.SparkConf = None,
    java_home: options.JavaHome = None,
    debug: options.Debug = False,
) -> None:
    """Simulate that instances join, or stop, before anything is started."""
    given = locals()
    with expected_failures(debug=debug):
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
