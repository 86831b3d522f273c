"""``assign``: what follows when a rebalance starts now."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from kstream_plan.cli import options
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies, outcome
from kstream_plan.cli.failures import expected_failures, report
from kstream_plan.cli.output import OutputForm, page, say, written_at_once
from kstream_plan.cli.progress import progress
from kstream_plan.cli.reading import check_before_reading, read_snapshots
from kstream_plan.cli.settings import overrides
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import Snapshot

if TYPE_CHECKING:
    from kstream_plan.cli.planning import Work


def assign(
    paths: options.Snapshots,
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
    protocol: options.ProtocolName = "cooperative",
    trigger: options.TriggerName = None,
    max_rounds: options.MaxRounds = None,
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
            outcomes = _read(given)
            from kstream_plan.cli.planning import plan_all  # noqa: PLC0415 - see _read

            work = plan_all(outcomes, settings, given, tell)
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
    check_before_reading(given)


def _read(given: Mapping[str, Any]) -> Sequence[Snapshot | SnapshotError]:
    for later in ("kstream_plan.cli.planning", "kstream_plan.cli.pages"):  # loaded while Java starts
        threading.Thread(target=import_module, args=(later,), daemon=True).start()
    return read_snapshots(given, given["paths"])


def _deliver(work: Work, given: Mapping[str, Any]) -> None:
    """Save the plans if asked to, then show them."""
    from kstream_plan.cli.pages import plan_lines, plans_page, ranks_page  # noqa: PLC0415 - see _read

    if given["out"] is not None:
        with written_at_once(given["out"]) as file:
            file.write(plan_lines(work.plans, full=given["full"]))
    if work.errors and not work.plans:
        return
    form, shown = given["output"], page()
    say(plans_page(work.plans, form, shown, full=given["full"], verbose=given["verbose"]))
    if given["show_ranks"]:
        say(ranks_page(work.snapshots, form, shown))
