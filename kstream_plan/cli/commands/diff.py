"""``diff``: what changed between two generations, or in a plan; what a plan said beside what happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

import typer

from kstream_plan.cli.actions.remote_plans import download_plans
from kstream_plan.cli.actions.results import check_reports, write_reports
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.reports import Paging, ReportFile
from kstream_plan.cli.options.running import Limited, Spark
from kstream_plan.cli.output import OutputForm, check_target, warn, write_stdout, written_at_once
from kstream_plan.cli.pages import Input, draw_pages, inputs_of, with_commands
from kstream_plan.cli.progress import show_progress
from kstream_plan.comparison.changes import Comparison
from kstream_plan.comparison.diff import compare
from kstream_plan.comparison.prediction import SaidAndHappened
from kstream_plan.comparison.sides import Pair
from kstream_plan.documents.history import read_stretches
from kstream_plan.documents.prediction import read_said_and_happened
from kstream_plan.documents.two_sides import DiffInput, read_pairs
from kstream_plan.errors import UsageError
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.answers import to_json
from kstream_plan.render.page import Page
from kstream_plan.render.pages.diff import diff_page, diffs_page
from kstream_plan.render.pages.happened import happened_overview, happened_page
from kstream_plan.render.pages.two_plans import two_plans_page
from kstream_plan.render.text.escape import printable


class DiffOptions(Spark, Paging, Limited):
    """What ``diff`` is asked."""

    old: Annotated[str, typer.Argument(metavar="OLD", help="Snapshot or saved plan; alone, a plan or a history.")]
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="NEW", help="Snapshot, saved plan, or the history that followed the plan.", show_default=False
        ),
    ] = None
    old_round: int | None = None
    new_round: int | None = None
    from_point: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="POINT", help="Start in a history: a generation or a time; of a plan, its event's time."
        ),
    ] = None
    to_point: Annotated[
        str | None,
        typer.Option("--to", metavar="POINT", help="End in a history: a generation or a time (default: the newest)."),
    ] = None
    application_id: shared.ApplicationId = None
    protocol_view: bool = False
    output: shared.Output = OutputForm.TABLE
    out: shared.Out = None
    fail_on_changes: Annotated[
        bool, typer.Option("--fail-on-changes", help="Fail with exit code 5 if anything changed.")
    ] = False


@takes(DiffOptions)
def diff(options: DiffOptions) -> None:
    """Compare two generations, plans, or both."""
    with expected_failures(debug=options.debug):
        _check(options)
        files = [options.old] if options.new is None else [options.old, options.new]
        with show_progress(quiet=options.quiet) as progress, download_plans(files, options, debug=options.debug):
            progress("reading")
            predictions = _predictions(options)
            comparisons = _comparisons(options) if predictions is None else _Compared((), ())
        _report(predictions, comparisons, options.report)
        if predictions is not None:
            _deliver(
                "".join(f"{to_json(prediction)}\n" for prediction in predictions),
                _prediction_pages(predictions, options),
                options,
            )
            is_changed = not all(comparison.alike for comparison in predictions)
        else:
            text = "".join(
                f"{to_json(comparison, view=options.protocol_view, command=source.command)}\n"
                for comparison, source in zip(comparisons.comparisons, _sources(comparisons, options), strict=True)
            )
            _deliver(text, _pages(comparisons, options), options)
            is_changed = not all(comparison.empty for comparison in comparisons.comparisons)
    raise typer.Exit(ExitCode.CHANGES if is_changed and options.fail_on_changes else ExitCode.DONE)


class _Compared(NamedTuple):
    """What was compared.

    comparisons: what changed, by application.
    rivals: the plans of those that are two plans of one snapshot.
    """

    comparisons: Sequence[Comparison]
    rivals: Sequence[tuple[Plan | Simulation, Plan | Simulation]]

    @property
    def two_plans(self) -> tuple[Plan | Simulation, Plan | Simulation] | None:
        """Two plans of one snapshot, if nothing else was compared."""
        return self.rivals[0] if self.rivals and len(self.comparisons) == 1 else None


def _check(options: DiffOptions) -> None:
    """Check what does not need the input."""
    points = [options.from_point, options.to_point] != [None, None]
    if points and (options.old_round, options.new_round) != (None, None):
        raise UsageError("a history has no rounds", fix="leave out --set old.round and new.round")
    if options.out is not None:
        check_target(options.out)
    check_reports(options.report, options.out)


def _predictions(options: DiffOptions) -> list[SaidAndHappened] | None:
    """Return what a plan said beside what happened, ``None`` if it is not that which is asked for."""
    if options.new is None or (options.old_round, options.new_round) != (None, None):
        return None
    ids = tuple(options.application_id or ())
    comparisons = read_said_and_happened(options.old, options.new, options.from_point, options.to_point, ids)
    if comparisons is None and (options.from_point, options.to_point) != (None, None):
        raise UsageError("--from and --to pick from one history", fix="give one file, or a saved plan and its history")
    if comparisons is not None and options.protocol_view:
        raise UsageError(
            "--set protocol.view=true is of one generation", fix="leave it out, or choose one with --set old.round"
        )
    return comparisons


def _report(
    predictions: Sequence[SaidAndHappened] | None, comparisons: _Compared, reports: Sequence[ReportFile] | None
) -> None:
    if not reports:
        return
    from kstream_plan.render.report.reports import diff_html, happened_html, two_plans_html  # noqa: PLC0415

    def html() -> str:
        if predictions is not None:
            return happened_html(predictions)
        two_plans = comparisons.two_plans
        return diff_html(comparisons.comparisons) if two_plans is None else two_plans_html(*two_plans)

    write_reports(reports, {"html": html})


def _deliver(text: str, pages: Iterable[Page], options: DiffOptions) -> None:
    """Save the JSON if asked to, then show it or the pages."""
    if options.out is not None:
        with written_at_once(options.out) as file:
            file.write(text)
    write_stdout(text if options.output is OutputForm.JSON else draw_pages(pages, options.output))


def _prediction_pages(comparisons: Sequence[SaidAndHappened], options: DiffOptions) -> Iterator[Page]:
    """Yield the page of one application; of several an overview, and with ``verbose`` each of them as well."""
    if len(comparisons) > 1:
        yield happened_overview(comparisons)
    if len(comparisons) == 1 or options.verbose:
        yield from (happened_page(comparison, verbose=options.verbose) for comparison in comparisons)


def _comparisons(options: DiffOptions) -> _Compared:
    """Return what changed, and what of it are two plans of one snapshot."""
    pairs = _pairs(options, tuple(options.application_id or ()))
    warn(note.message for note in dict.fromkeys(note for pair in pairs for note in pair.warnings))
    comparisons = [compare(pair.old, pair.new, pair.course) for pair in pairs]
    return _Compared(comparisons, [pair.rivals for pair in pairs if pair.rivals is not None])


def _pairs(options: DiffOptions, application_ids: tuple[str, ...]) -> list[Pair]:
    if options.from_point is not None or options.to_point is not None:
        return read_stretches(options.old, options.from_point, options.to_point, application_ids)
    return read_pairs(
        DiffInput(options.old, options.old_round),
        DiffInput(options.old if options.new is None else options.new, options.new_round),
        is_single=options.new is None,
        application_ids=application_ids,
        **options.session,
        debug=options.debug,
    )


def _pages(comparisons: _Compared, options: DiffOptions) -> Iterator[Page]:
    """Yield the page of one application; of several an overview, and with ``verbose`` each of them as well."""
    if comparisons.two_plans is not None:
        yield two_plans_page(*comparisons.two_plans)
        return
    if len(comparisons.comparisons) > 1:
        yield diffs_page(comparisons.comparisons)
    if len(comparisons.comparisons) == 1 or options.verbose:
        for comparison, source in zip(comparisons.comparisons, _sources(comparisons, options), strict=True):
            page = diff_page(comparison, verbose=options.verbose, protocol_view=options.protocol_view)
            yield with_commands(_with_files(page, comparison, options), source.command)


def _sources(comparisons: _Compared, options: DiffOptions) -> list[Input]:
    """Return where the newer side of each comparison was read."""
    names = (comparison.new.group.application_id for comparison in comparisons.comparisons)
    return inputs_of([options.new or options.old], names, options.option_words)


def _with_files(page: Page, comparison: Comparison, options: DiffOptions) -> Page:
    """Return a page with the names of two files whose generations have one number."""
    if options.new is None or comparison.old.generation != comparison.new.generation:
        return page
    files = printable(f"{options.old} → {options.new}")
    return replace(page, source="; ".join(filter(None, (page.source, files))))
