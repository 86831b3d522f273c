"""``diff``: what changed between two generations, or in a plan; what a plan said beside what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from kstream_plan.cli.actions.elsewhere import plans_fetched
from kstream_plan.cli.actions.reports import check_reports, write_reports
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import Limited, Spark
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.reports import Paging, ReportFile
from kstream_plan.cli.output import OutputForm, Page, check_target, page, say, talk, written_at_once
from kstream_plan.cli.progress import progress
from kstream_plan.comparison.changes import Comparison
from kstream_plan.comparison.diff import compare
from kstream_plan.comparison.said_and_happened import SaidAndHappened
from kstream_plan.comparison.sides import Pair
from kstream_plan.documents.history import read_stretches
from kstream_plan.documents.said_and_happened import read_said_and_happened
from kstream_plan.documents.two_sides import Given, read_pairs
from kstream_plan.errors import UsageError
from kstream_plan.plans import Plan
from kstream_plan.render.diff.happened_json import happened_json
from kstream_plan.render.diff.happened_pages import happened_markdown, happened_table
from kstream_plan.render.diff.happened_story import happened_summary
from kstream_plan.render.diff.json_form import diff_json
from kstream_plan.render.diff.markdown import diff_markdown
from kstream_plan.render.diff.protocol_view import protocol_view_markdown, protocol_view_table
from kstream_plan.render.diff.rivals import rivals_markdown, rivals_table
from kstream_plan.render.diff.story import diff_summary
from kstream_plan.render.diff.table import diff_table
from kstream_plan.render.text.escape import MARKDOWN, TERMINAL


class DiffOptions(Spark, Paging, Limited):
    """What ``diff`` is asked."""

    old: Annotated[str, typer.Argument(metavar="OLD", help="Snapshot or saved plan; alone, a plan or a history.")]
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="NEW", help="Snapshot, saved plan, or the history that followed the plan.", show_default=False
        ),
    ] = None
    old_round: Annotated[
        int | None,
        typer.Option(
            "--old-round", metavar="N", min=0, help="Rebalance of the plan OLD to compare from (default: the last)."
        ),
    ] = None
    new_round: Annotated[
        int | None,
        typer.Option(
            "--new-round", metavar="N", min=0, help="Rebalance of the plan NEW to compare with (default: the last)."
        ),
    ] = None
    from_point: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="POINT",
            help="Start in a history: a generation or a time; of a plan, its event's time.",
        ),
    ] = None
    to_point: Annotated[
        str | None,
        typer.Option("--to", metavar="POINT", help="End in a history: a generation or a time (default: the newest)."),
    ] = None
    application_id: shared.ApplicationId = None
    view: Annotated[
        bool,
        typer.Option(
            "--protocol-view", help="Show the protocol (KIP-429): the leader's view, rejoins, callbacks of each member."
        ),
    ] = False
    output: shared.Output = OutputForm.TABLE
    out: shared.Out = None
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every task that changed, and all applications in full.")
    ] = False
    fail_on_changes: Annotated[
        bool, typer.Option("--fail-on-changes", help="Fail with exit code 5 if anything changed.")
    ] = False
    debug: shared.Debug = False


@takes(DiffOptions)
def diff(asked: DiffOptions) -> None:
    """Say what changed between two generations of a group, what it cost, and why."""
    with expected_failures(debug=asked.debug):
        _check(asked)
        given = [asked.old] if asked.new is None else [asked.old, asked.new]
        with progress() as tell, plans_fetched(given, asked, debug=asked.debug):
            tell("reading")
            happened = _happened(asked)
            found, rivals = _comparisons(asked) if happened is None else ([], [])
        _report(happened, found, rivals, asked.report)
        if happened is not None:
            _show_happened(happened, asked, page())
            changed = asked.fail_on_changes and not all(of.alike for of in happened)
            raise typer.Exit(ExitCode.CHANGES if changed else ExitCode.DONE)
        text = "".join(f"{diff_json(comparison, view=asked.view)}\n" for comparison in found)
        if asked.out is not None:
            with written_at_once(asked.out) as file:
                file.write(text)
        if rivals and len(found) == 1 and asked.output is not OutputForm.JSON:
            markdown = asked.output is OutputForm.MARKDOWN
            say(rivals_markdown(*rivals[0]) if markdown else rivals_table(*rivals[0], width=page().width))
        else:
            say(text if asked.output is OutputForm.JSON else _page(found, asked, page()))
    changed = asked.fail_on_changes and not all(comparison.empty for comparison in found)
    raise typer.Exit(ExitCode.CHANGES if changed else ExitCode.DONE)


def _check(asked: DiffOptions) -> None:
    """Check what does not need the input.

    Raises:
        UsageError: options that do not go together.
        KstreamPlanError: the place for ``--out`` cannot be written to.
    """
    points = [asked.from_point, asked.to_point] != [None, None]
    if points and (asked.old_round, asked.new_round) != (None, None):
        raise UsageError("a history has no rounds", fix="leave --old-round and --new-round out")
    if asked.out is not None:
        check_target(asked.out)
    check_reports(asked.report, asked.out)


def _happened(asked: DiffOptions) -> list[SaidAndHappened] | None:
    """Return what a plan said beside what happened, ``None`` if it is not that which is asked for.

    Raises:
        UsageError: points of a history are given, and what is given is no plan and its history.
    """
    if asked.new is None or (asked.old_round, asked.new_round) != (None, None):
        return None
    ids = tuple(asked.application_id or ())
    found = read_said_and_happened(asked.old, asked.new, asked.from_point, asked.to_point, ids)
    if found is None and (asked.from_point, asked.to_point) != (None, None):
        raise UsageError("--from and --to pick from one history", fix="give one file, or a saved plan and its history")
    if found is not None and asked.view:
        raise UsageError("--protocol-view is of one generation", fix="leave it out, or choose one with --old-round")
    return found


def _report(
    happened: Sequence[SaidAndHappened] | None,
    found: Sequence[Comparison],
    rivals: Sequence[tuple[Plan, Plan]],
    reports: Sequence[ReportFile] | None,
) -> None:
    if not reports:
        return
    from kstream_plan.render.report.diff_section import diff_html, happened_html, rivals_html  # noqa: PLC0415

    def html() -> str:
        if happened is not None:
            return happened_html(happened)
        return rivals_html(*rivals[0]) if rivals and len(found) == 1 else diff_html(found)

    write_reports(reports, {"html": html})


def _show_happened(found: Sequence[SaidAndHappened], asked: DiffOptions, shown: Page) -> None:
    text = "".join(f"{happened_json(of)}\n" for of in found)
    if asked.out is not None:
        with written_at_once(asked.out) as file:
            file.write(text)
    say(text if asked.output is OutputForm.JSON else _happened_page(found, asked, shown))


def _happened_page(found: Sequence[SaidAndHappened], asked: DiffOptions, shown: Page) -> str:
    markdown, verbose = asked.output is OutputForm.MARKDOWN, asked.verbose
    pages = [happened_summary(found, MARKDOWN if markdown else TERMINAL)] if len(found) > 1 else []
    for of in found if verbose or len(found) == 1 else ():
        if markdown:
            pages.append(happened_markdown(of, verbose=verbose))
        else:
            pages.append(happened_table(of, width=shown.width, colour=shown.colour, verbose=verbose))
    return "\n".join(pages)


def _comparisons(asked: DiffOptions) -> tuple[list[Comparison], list[tuple[Plan, Plan]]]:
    """Return what changed, and what of it are two plans of one snapshot."""
    pairs = _pairs(asked, tuple(asked.application_id or ()))
    for note in dict.fromkeys(note for pair in pairs for note in pair.warnings):
        talk(f"warning: {note.message}")
    found = [compare(pair.old, pair.new, pair.course) for pair in pairs]
    return found, [pair.rivals for pair in pairs if pair.rivals is not None]


def _pairs(asked: DiffOptions, application_ids: tuple[str, ...]) -> list[Pair]:
    if asked.from_point is not None or asked.to_point is not None:
        return read_stretches(asked.old, asked.from_point, asked.to_point, application_ids)
    return read_pairs(
        Given(asked.old, asked.old_round),
        Given(asked.old if asked.new is None else asked.new, asked.new_round),
        alone=asked.new is None,
        application_ids=application_ids,
        master=asked.master,
        spark_conf=dict(asked.spark_conf or ()),
        java_home=None if asked.java_home is None else str(asked.java_home),
        debug=asked.debug,
    )


def _page(found: Sequence[Comparison], asked: DiffOptions, shown: Page) -> str:
    """Return what changed in one application; of several a line each, and with ``verbose`` each of them as well."""
    form, verbose, view = asked.output, asked.verbose, asked.view
    pages = []
    if len(found) > 1:
        pages.append(diff_summary(found, MARKDOWN if form is OutputForm.MARKDOWN else TERMINAL))
    for comparison in found if verbose or len(found) == 1 else ():
        if form is OutputForm.MARKDOWN:
            text = diff_markdown(comparison, verbose=verbose)
            pages.append(text + protocol_view_markdown(comparison) if view else text)
        else:
            text = diff_table(comparison, width=shown.width, colour=shown.colour, verbose=verbose)
            pages.append(text + protocol_view_table(comparison, width=shown.width) if view else text)
    return "\n".join(pages)
