"""``simulate``: a scenario file played on a group."""

from __future__ import annotations

import typer

from kstream_plan.cli import options, simulation_options
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.output import OutputForm
from kstream_plan.cli.simulating import simulate_and_deliver
from kstream_plan.config import load_scenario


def simulate(
    paths: options.Snapshots,
    scenario: simulation_options.ScenarioFile,
    draws: simulation_options.NumberOfDraws = None,
    draws_within: simulation_options.DrawsWithin = None,
    what_if: simulation_options.WhatIf = True,
    record_size: simulation_options.RecordSize = None,
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
    """Simulate what happens to a group by the scenario: who joins, leaves, stops, crashes, returns, and more."""
    given = locals()
    with expected_failures(debug=debug):
        events = load_scenario(scenario)
        code = simulate_and_deliver(given, lambda _group: events)
    raise typer.Exit(code)
