"""``assign``: what follows when a rebalance starts now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from kstream_plan.assignors import module_of
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.exit_codes import first_that_applies, outcome
from kstream_plan.cli.failures import expected_failures, report
from kstream_plan.cli.options import shared as options
from kstream_plan.cli.options.groups import Applications, Deciding, Given, Reading, Settings, Spark, takes
from kstream_plan.cli.output import OutputForm, page, say, written_at_once
from kstream_plan.cli.progress import progress
from kstream_plan.errors import UsageError

if TYPE_CHECKING:
    from kstream_plan.cli.actions.plan import Plans


class Options:
    """What only this command is asked."""

    paths: options.Snapshots
    trigger: options.TriggerName = None
    max_rounds: options.MaxRounds = None
    bounds: options.Bounds = False
    output: options.Output = OutputForm.TABLE
    out: options.Out = None
    full: options.Full = False
    verbose: options.Verbose = False
    show_ranks: options.ShowRanks = False
    fail_on_changes: options.FailOnChanges = False


@takes(Options, Reading, Settings, Deciding, Spark, Applications)
def assign(given: Given) -> None:
    """Plan what follows when a rebalance starts now, until the group has settled."""
    with expected_failures(debug=given["debug"]):
        _check(given)
        settings = overrides(given)
        with progress() as tell:
            tell("reading")
            needed_then = ("kstream_plan.cli.actions.plan", "kstream_plan.cli.pages", module_of(given["assignor"]))
            outcomes = read_snapshots(given, needed_then=needed_then)
            from kstream_plan.cli.actions.plan import plan_all  # noqa: PLC0415 - loaded while Java starts

            work = plan_all(outcomes, settings, given, tell)
        for error in work.errors:
            report(error, debug=given["debug"])
        _deliver(work, given)
    codes = [outcome(planned.plan, fail_on_changes=given["fail_on_changes"]) for planned in work.results]
    raise typer.Exit(first_that_applies(codes, work.errors))


def _check(given: Mapping[str, Any]) -> None:
    """Check what does not need the input.

    Raises:
        UsageError: options that do not go together.
        KstreamPlanError: the place for ``--out`` cannot be written to.
    """
    if given["show_ranks"] and given["output"] is OutputForm.JSON:
        raise UsageError("--show-ranks is for people", fix="leave out --output json, or save the plan with --out")
    check_before_reading(given)


def _deliver(work: Plans, given: Mapping[str, Any]) -> None:
    """Save the plans if asked to, then show them."""
    from kstream_plan.cli.pages import plan_lines, plans_page, ranks_page  # noqa: PLC0415 - loaded while Java starts

    plans = [planned.plan for planned in work.results]
    if given["out"] is not None:
        with written_at_once(given["out"]) as file:
            file.write(plan_lines(plans, full=given["full"]))
    if work.errors and not plans:
        return
    form, shown = given["output"], page()
    say(plans_page(plans, form, shown, full=given["full"], verbose=given["verbose"]))
    if given["show_ranks"]:
        say(ranks_page([planned.snapshot for planned in work.results], form, shown))
