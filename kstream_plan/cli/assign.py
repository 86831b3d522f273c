"""``assign``: what follows when a rebalance starts now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from kstream_plan import snapshots
from kstream_plan.cli import options
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies, outcome
from kstream_plan.cli.failures import expected_failures, report
from kstream_plan.cli.output import OutputForm, check_target, page, say, written_at_once
from kstream_plan.cli.pages import plan_lines, plans_page, ranks_page
from kstream_plan.cli.planning import Work, plan_all
from kstream_plan.cli.progress import progress
from kstream_plan.cli.settings import overrides
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import Snapshot

DEFAULT_LAGS_TOLERANCE_MS = 60_000


def assign(
    paths: options.Snapshots,
    lags: options.Lags = None,
    lags_tolerance: options.LagsTolerance = None,
    as_of: options.AsOf = None,
    application_id: options.ApplicationId = None,
    keep_going: options.KeepGoing = False,
    streams_config: options.StreamsConfig = None,
    acceptable_recovery_lag: options.AcceptableRecoveryLag = None,
    max_warmup_replicas: options.MaxWarmupReplicas = None,
    num_standby_replicas: options.NumStandbyReplicas = None,
    balance_factor: options.BalanceFactor = None,
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
    protocol: options.ProtocolName = "cooperative",
    trigger: options.TriggerName = None,
    max_rounds: options.MaxRounds = None,
    bounds: options.Bounds = False,
    output: options.Output = OutputForm.TABLE,
    out: options.Out = None,
    full: options.Full = False,
    verbose: options.Verbose = False,
    show_ranks: options.ShowRanks = False,
    fail_on_changes: options.FailOnChanges = False,
    master: options.Master = None,
    spark_conf: options.SparkConf = None,
    java_home: options.JavaHome = None,
    debug: options.Debug = False,
) -> None:
    """Plan what follows when a rebalance starts now, until the group has settled."""
    given = locals()
    with expected_failures(debug=debug):
        _check(given)
        settings = overrides(given)
        with progress() as tell:
            tell("reading")
            work = plan_all(_read(given), settings, given, tell)
        for error in work.errors:
            report(error, debug=debug)
        _deliver(work, given)
    codes = [outcome(plan, fail_on_changes=fail_on_changes) for plan in work.plans]
    raise typer.Exit(first_that_applies([*codes, *[ExitCode.FAILED] * len(work.errors)]))


def _check(given: Mapping[str, Any]) -> None:
    """Check what does not need the input.

    Raises:
        UsageError: options that do not go together.
        KstreamPlanError: the place for ``--out`` cannot be written to.
    """
    if given["show_ranks"] and given["output"] is OutputForm.JSON:
        raise UsageError("--show-ranks is for people", fix="leave out --output json, or save the plan with --out")
    if given["lags_tolerance"] is not None and not given["lags"]:
        raise UsageError("--lags-tolerance goes with --lags", fix="give --lags, or leave it out")
    if given["out"] is not None:
        check_target(given["out"])


def _read(given: Mapping[str, Any]) -> Sequence[Snapshot | SnapshotError]:
    tolerance = given["lags_tolerance"]
    return snapshots.read(
        given["paths"],
        lags=given["lags"] or (),
        as_of=given["as_of"],
        application_ids=given["application_id"] or (),
        lags_tolerance_ms=DEFAULT_LAGS_TOLERANCE_MS if tolerance is None else tolerance,
        keep_going=given["keep_going"],
        master=given["master"],
        spark_conf=dict(given["spark_conf"] or ()),
        java_home=given["java_home"] and str(given["java_home"]),
        debug=given["debug"],
    )


def _deliver(work: Work, given: Mapping[str, Any]) -> None:
    """Save the plans if asked to, then show them."""
    if given["out"] is not None:
        with written_at_once(given["out"]) as file:
            file.write(plan_lines(work.plans, full=given["full"]))
    if work.errors and not work.plans:
        return
    form, shown = given["output"], page()
    say(plans_page(work.plans, form, shown, full=given["full"], verbose=given["verbose"]))
    if given["show_ranks"]:
        say(ranks_page(work.snapshots, form, shown))
