"""Options in groups, and those that commands share: one added here is an option of every command that plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature
from typing import Any, TypeAlias, get_type_hints

from kstream_plan.cli.options import shared as options
from kstream_plan.cli.options import simulation as simulation_options
from kstream_plan.cli.output import OutputForm

#: What a command was given, by parameter.
Given: TypeAlias = Mapping[str, Any]
#: A class whose annotated attributes are options, with their defaults unless they must be given.
OptionGroup: TypeAlias = type


class Reading:
    """Of when a snapshot is, and what it says of lags."""

    lags: options.Lags = None
    lags_tolerance: options.LagsTolerance = None
    lags_as_reported: options.LagsAsReported = False
    as_of: options.AsOf = None


class Settings:
    """The application's settings and rates."""

    streams_config: options.StreamsConfig = None
    acceptable_recovery_lag: options.AcceptableRecoveryLag = None
    max_warmup_replicas: options.MaxWarmupReplicas = None
    num_standby_replicas: options.NumStandbyReplicas = None
    balance_factor: options.BalanceFactor = None
    probing_rebalance_interval: options.ProbingRebalanceInterval = None
    rack_aware_assignment_tags: options.RackTags = None
    rack_aware_assignment_strategy: options.RackStrategy = None
    rack_aware_assignment_traffic_cost: options.TrafficCost = None
    rack_aware_assignment_non_overlap_cost: options.NonOverlapCost = None
    heartbeat_interval: options.HeartbeatInterval = None
    session_timeout: options.SessionTimeout = None
    state_cleanup_delay: options.StateCleanupDelay = None
    restore_rate: options.RestoreRate = None
    produce_rate: options.ProduceRate = None


class Deciding:
    """Who decides, and how the group gets there."""

    assignor: options.AssignorName = "high-availability"
    protocol: options.ProtocolName = "cooperative"


class NewInstances:
    """Who joins and who stops."""

    add: simulation_options.Add = None
    to: simulation_options.To = None
    remove: simulation_options.Remove = None
    threads: simulation_options.NewThreads = None
    client_tags: simulation_options.NewClientTags = None
    rack: simulation_options.NewRack = None
    add_at: simulation_options.AddAt = None
    process_id: simulation_options.NewProcessId = None


class Chance:
    """How often the random ids of new instances are drawn."""

    draws: simulation_options.NumberOfDraws = None
    draws_within: simulation_options.DrawsWithin = None


class Simulating:
    """What is simulated besides, and what is shown of it."""

    what_if: simulation_options.WhatIf = True
    record_size: simulation_options.RecordSize = None
    bounds: options.Bounds = False
    max_rounds: options.MaxRounds = None
    output: options.Output = OutputForm.TABLE
    out: options.Out = None
    full: options.Full = False
    verbose: options.Verbose = False


class Spark:
    """Where Spark runs, and on which Java."""

    master: options.Master = None
    spark_conf: options.SparkConf = None
    java_home: options.JavaHome = None


class Applications:
    """Which applications, and what an error in one of them does."""

    application_id: options.ApplicationId = None
    keep_going: options.KeepGoing = False
    debug: options.Debug = False


def defaults(*groups: OptionGroup) -> dict[str, Any]:
    """Return the options of the groups that have a default, and which."""
    return {name: getattr(group, name) for group in groups for name in group.__annotations__ if hasattr(group, name)}


def option_of(name: str) -> str:
    """Return how a parameter is written on the command line: ``--add-at`` for ``add_at``."""
    return f"--{name.replace('_', '-')}"


def takes(*groups: OptionGroup) -> Callable[[Callable[[Given], None]], Callable[..., None]]:
    """Let a command take the options of these groups, in this order; it is called with all of them."""
    parameters = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(group, name, Parameter.empty), annotation=kind)
        for group in groups
        for name, kind in get_type_hints(group, include_extras=True).items()
    ]

    def extended(command: Callable[[Given], None]) -> Callable[..., None]:
        @wraps(command)
        def run(**given: Any) -> None:
            command(given)

        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {of.name: of.annotation for of in parameters}
        return run

    return extended
