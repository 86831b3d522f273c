"""``assign``: what follows when a rebalance starts now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kstream_plan.cli.actions.fleet_run import FleetRun
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.actions.results import check_reports
from kstream_plan.cli.exit_codes import first_that_applies
from kstream_plan.cli.failures import expected_failures, report_all
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import PlansSnapshots, Ranged, Triggered
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.saving import Saving
from kstream_plan.cli.output import OutputForm, write_stdout
from kstream_plan.cli.progress import show_progress
from kstream_plan.errors import UsageError

if TYPE_CHECKING:
    from kstream_plan.cli.actions.fleet_run import Job, Work
    from kstream_plan.cli.actions.output_request import OutputRequest, RenderedAnswer
    from kstream_plan.model import Snapshot


class AssignOptions(Saving, Ranged, Triggered, PlansSnapshots):
    """What ``assign`` is asked."""

    paths: shared.Snapshots
    full: bool = False
    replay: shared.Replay = False
    show_ranks: bool = False
    fail_on_changes: Annotated[
        bool, typer.Option("--fail-on-changes", help="Fail with exit code 5 if anything would move.")
    ] = False


@takes(AssignOptions)
def assign(options: AssignOptions) -> None:
    """Plan what follows when a rebalance starts now, until the group has settled."""
    with expected_failures(debug=options.debug):
        _check(options)
        results = options.results
        settings = overrides(options)
        with show_progress(quiet=options.quiet) as progress:
            progress("reading")
            protocols = ("classic",) if options.show_ranks else ("classic", "streams", "connect")
            fleet_run = FleetRun(
                lambda: _job(options),
                settings,
                progress,
                keep_going=options.keep_going,
                out_file=options.out_file,
                keeps_lines=options.uses_json,
                results=results,
            )
            outcomes = read_snapshots(options.paths, options, protocols=protocols, handler=fleet_run)
            work = fleet_run.run(outcomes)
        report_all(work.errors, debug=options.debug)
        _deliver(fleet_run, work, options)
    raise typer.Exit(first_that_applies([answer.code for answer in work.results], work.errors))


def _check(options: AssignOptions) -> None:
    """Check what does not need the input."""
    if options.show_ranks and options.output is OutputForm.JSON:
        raise UsageError(
            "--set show.ranks=true is for people", fix="leave out --output json, or save the plan with --out"
        )
    if options.replay and options.now is not None:
        raise UsageError("--replay begins when the decision was made", fix="leave out --set now")
    check_before_reading(options, options.out_file)
    check_reports(options.report, options.out_file)


def _request(options: AssignOptions) -> OutputRequest:
    from kstream_plan.cli.actions.output_request import output_request  # noqa: PLC0415 - loaded while Java starts

    return output_request(options, options.paths)


def _job(options: AssignOptions) -> Job[Snapshot, RenderedAnswer]:
    from kstream_plan.cli.actions.plan import plan_job  # noqa: PLC0415 - loaded while Java starts

    return plan_job(
        options.plan_options, _request(options), fail_on_changes=options.fail_on_changes, show_ranks=options.show_ranks
    )


def _deliver(fleet_run: FleetRun[Snapshot, RenderedAnswer], work: Work[RenderedAnswer], options: AssignOptions) -> None:
    """Show the plans."""
    from kstream_plan.cli.actions.output_request import deliver  # noqa: PLC0415 - loaded while Java starts

    deliver(fleet_run, work, _request(options), options.report)
    if options.show_ranks and work.results:
        write_stdout("".join(f"\n{answer.ranks}" for answer in work.results))
