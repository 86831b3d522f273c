"""``assign``: what follows when a rebalance starts now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from kstream_plan.cli.actions.many import Many
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.actions.reports import check_reports
from kstream_plan.cli.exit_codes import first_that_applies
from kstream_plan.cli.failures import expected_failures, report
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import PlansSnapshots, Ranged, Triggered
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.saving import Saving
from kstream_plan.cli.output import OutputForm, page, say
from kstream_plan.cli.progress import progress
from kstream_plan.errors import UsageError
from kstream_plan.planner.options import PlanOptions

if TYPE_CHECKING:
    from kstream_plan.cli.actions.each_application import Work
    from kstream_plan.cli.actions.many import Job
    from kstream_plan.cli.actions.shown import Shown, Wanted
    from kstream_plan.model import Snapshot


class AssignOptions(Saving, Ranged, Triggered, PlansSnapshots):
    """What ``assign`` is asked."""

    paths: shared.Snapshots
    full: shared.Full = False
    verbose: shared.Verbose = False
    replay: shared.Replay = False
    show_ranks: Annotated[bool, typer.Option("--show-ranks", help="Show the ranked candidates of each task.")] = False
    fail_on_changes: Annotated[
        bool, typer.Option("--fail-on-changes", help="Fail with exit code 5 if anything would move.")
    ] = False

    @property
    def plan_options(self) -> PlanOptions:
        """How to plan."""
        return replace(super().plan_options, replay=self.replay)


@takes(AssignOptions)
def assign(asked: AssignOptions) -> None:
    """Plan what follows when a rebalance starts now, until the group has settled."""
    with expected_failures(debug=asked.debug):
        _check(asked)
        results = asked.results
        settings = overrides(asked)
        with progress(quiet=asked.quiet) as tell:
            tell("reading")
            protocols = ("classic",) if asked.show_ranks else ("classic", "streams", "connect")
            many = Many(lambda: _job(asked), settings, tell, keep_going=asked.keep_going, results=results)
            outcomes = read_snapshots(asked.paths, asked, protocols=protocols, then=many)
            work = many.done(outcomes)
        for error in work.errors:
            report(error, debug=asked.debug)
        _deliver(many, work, asked)
    raise typer.Exit(first_that_applies([one.code for one in work.results], work.errors))


def _check(asked: AssignOptions) -> None:
    """Check what does not need the input.

    Raises:
        UsageError: options that do not go together.
        KstreamPlanError: the place for ``--out`` cannot be written to.
    """
    if asked.show_ranks and asked.output is OutputForm.JSON:
        raise UsageError("--show-ranks is for people", fix="leave out --output json, or save the plan with --out")
    if asked.replay and asked.now is not None:
        raise UsageError("--replay begins when the decision was made", fix="leave out --now")
    check_before_reading(asked, asked.out_file)
    check_reports(asked.report, asked.out_file)


def _wanted(asked: AssignOptions) -> Wanted:
    from kstream_plan.cli.actions.shown import Wanted  # noqa: PLC0415 - loaded while Java starts

    saved, result = asked.out is not None or bool(asked.report), asked.out_format is not None
    return Wanted(asked.output, page(), saved=saved, full=asked.full, verbose=asked.verbose, result=result)


def _job(asked: AssignOptions) -> Job[Snapshot, Shown]:
    from kstream_plan.cli.actions.plan import plan_job  # noqa: PLC0415 - loaded while Java starts

    return plan_job(
        asked.plan_options, _wanted(asked), fail_on_changes=asked.fail_on_changes, show_ranks=asked.show_ranks
    )


def _deliver(many: Many[Snapshot, Shown], work: Work[Shown], asked: AssignOptions) -> None:
    """Save the plans if asked to, then show them."""
    from kstream_plan.cli.actions.shown import deliver  # noqa: PLC0415 - loaded while Java starts
    from kstream_plan.cli.pages import ranks_page  # noqa: PLC0415

    deliver(many, work, _wanted(asked), asked.out_file, asked.report)
    if asked.show_ranks and work.results:
        say(ranks_page([one.ranks for one in work.results], asked.output))
