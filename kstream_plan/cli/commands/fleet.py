"""``fleet``: many applications at a glance, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, NamedTuple

import typer

from kstream_plan.cli.actions.fleet_run import FleetRun
from kstream_plan.cli.actions.output_request import OutputRequest
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.plan import plan_job
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.actions.remote_plans import download_plans
from kstream_plan.cli.actions.results import check_reports, unreadable, write_reports
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies
from kstream_plan.cli.failures import expected_failures, report
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import PlansSnapshots
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.reports import Paging, ReportFile
from kstream_plan.cli.output import OutputForm, page, write_stderr, write_stdout
from kstream_plan.cli.pages import draw_pages, input_of, with_next
from kstream_plan.cli.progress import show_progress
from kstream_plan.documents.plan.files import each_saved_in, is_plan_file
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.documents.quantities import parse_duration
from kstream_plan.documents.results import each_result, is_results_file, result_line
from kstream_plan.errors import KstreamPlanError, PlanFileError, SnapshotError, merge_errors
from kstream_plan.fleet.figures import badness, by_figure
from kstream_plan.fleet.where import Condition, check_name, conditions
from kstream_plan.plans.result import Result, result_of
from kstream_plan.render.page import Page
from kstream_plan.render.pages.fleet import fleet_page
from kstream_plan.render.text.numbers import count, name_list
from kstream_plan.snapshots.files.newest_rows import Selection
from kstream_plan.snapshots.files.sources import STDIN, check_paths, is_of_another_kind
from kstream_plan.snapshots.rows.fields import printable


class FleetOptions(Paging, PlansSnapshots):
    """What ``fleet`` is asked."""

    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="RESULTS|SNAPSHOT...",
            help="Results of --set out.format, saved plans, and snapshots to plan first; - is standard input.",
        ),
    ]
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="CONDITION",
            help="Only applications that match, e.g. 'cold > 0' or 'left > 1h and outcome = moving'.",
        ),
    ] = None
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort", metavar="FIGURE", help="Figure to sort by, the largest first (default: the worst first)."
        ),
    ] = None
    top: int | None = None
    output: shared.Output = OutputForm.TABLE


@takes(FleetOptions)
def fleet(options: FleetOptions) -> None:
    """Show many applications at a glance, the worst first: results, saved plans, or snapshots to plan."""
    with expected_failures(debug=options.debug):
        check_before_reading(options, None)
        check_reports(options.report, None)
        picks = () if options.where is None else conditions(options.where, parse_duration)
        if options.sort is not None:
            check_name(options.sort, "--sort")
        with download_plans(options.paths, options, debug=options.debug):
            sources = _sorted(options.paths)
            results = [
                *_results_in_files(sources, options.application_id or ()),
                *_plan_results(sources.snapshots, options),
            ]
        if not results:
            message = "there is none of these applications"
            raise SnapshotError(message, where=", ".join(options.paths), fix="check --application-id")
        errors = [KstreamPlanError(result.error or "") for result in results if result.outcome == "unreadable"]
        if len(errors) == len(results):
            raise merge_errors(errors)
        if errors:
            report(merge_errors(errors), debug=options.debug)
        _tell_twice(results)
        choice = _choice(results, picks, options)
        _report(results, choice, options.report)
        write_stdout(_page(results, choice, options, sources))
    raise typer.Exit(first_that_applies(map(_code, results)))


class _Sources(NamedTuple):
    results: tuple[str, ...]
    plans: tuple[str, ...]
    snapshots: tuple[str, ...]


def _sorted(paths: Sequence[str]) -> _Sources:
    """Tell results, saved plans and snapshots apart by looking at them; folders and globs may hold all of them.

    Policies, settings, texts and pictures that lie beside them are passed over, and that is said.
    """
    files = check_paths(paths)
    results: list[str] = []
    plans: list[str] = []
    passed_over: list[str] = []
    snapshots = [*files.remote, *([STDIN] if files.stdin else [])]
    for file in files.local:
        if is_results_file(file.path):
            results.append(file.name)
        elif is_plan_file(file.path):
            plans.append(file.name)
        else:
            (passed_over if is_of_another_kind(file) else snapshots).append(file.name)
    if not (results or plans or snapshots):
        return _Sources((), (), tuple(passed_over))  # whose error says what is wrong with each
    if passed_over:
        ids = name_list([printable(name) for name in passed_over])
        write_stderr(
            f"note: {count(len(passed_over), 'file')} skipped, whose names say that they are no applications: {ids}"
        )
    return _Sources(tuple(results), tuple(plans), tuple(snapshots))


def _results_in_files(sources: _Sources, application_ids: Sequence[str]) -> Iterator[Result]:
    """Yield what was saved of the applications that are wanted; what cannot be read is a result, too."""
    selection = Selection(tuple(application_ids))
    results = (result for file in sources.results for result in each_result(file, with_plan=False))
    plans = (plan for file in sources.plans for plan in each_saved_in(file))
    for item in chain(results, plans):
        if isinstance(item, SavedPlan):
            result = result_of(item.plan, item.simulation)
        else:
            result = unreadable(item) if isinstance(item, PlanFileError) else item
        if result.application_id is None or selection.wants(result.application_id):
            yield result


def _plan_results(snapshots: Sequence[str], options: FleetOptions) -> list[Result]:
    """Plan what follows when a rebalance of each starts now; what goes wrong with one is its result."""
    if not snapshots:
        return []
    options = FleetOptions(**{**vars(options), "keep_going": True})
    settings = overrides(options)
    job = plan_job(options.plan_options, OutputRequest(options.output, page(), result=True))
    with show_progress(quiet=options.quiet) as progress:
        progress("reading")
        fleet_run = FleetRun(lambda: job, settings, progress, keep_going=True)
        outcomes = read_snapshots(snapshots, options, protocols=("classic", "streams", "connect"), handler=fleet_run)
        work = fleet_run.run(outcomes)
    _tell_older(fleet_run.older)
    return [*(answer.result for answer in work.results), *map(unreadable, work.errors)]


def _tell_older(older: Mapping[str, int | None]) -> None:
    """Say of which applications only the newest of several snapshots counts."""
    several_of = [f"{printable(name)}: {count(number + 1, 'snapshot')}" for name, number in older.items() if number]
    if several_of:
        newest_only = f"{'each time ' * (len(several_of) > 1)}the newest counts"
        write_stderr(f"note: {name_list(several_of)}, {newest_only} (of several clusters, ask about each alone)")
    elif None in older.values():
        write_stderr("note: where an application has several snapshots, the newest counts")


def _tell_twice(results: Sequence[Result]) -> None:
    """Say which applications are there more than once, as of results of several days: each of them counts."""
    numbers = Counter(result.application_id for result in results if result.application_id is not None)
    if duplicates := [printable(name) for name, number in sorted(numbers.items()) if number > 1]:
        write_stderr(f"note: more than once among the results, and counted each time: {name_list(duplicates)}")


def _choice(results: Sequence[Result], picks: Sequence[Condition], options: FleetOptions) -> list[Result]:
    choice = [result for result in results if all(condition.holds(result) for condition in picks)]
    choice.sort(key=badness if options.sort is None else by_figure(options.sort))
    return choice[: options.top]


def _page(results: Sequence[Result], selection: Sequence[Result], options: FleetOptions, sources: _Sources) -> str:
    if options.output is OutputForm.JSON:
        return "".join(f"{result_line(result)}\n" for result in selection)
    return draw_pages([_with_worst(fleet_page(results, selection), selection, options, sources)], options.output)


def _with_worst(page: Page, selection: Sequence[Result], options: FleetOptions, sources: _Sources) -> Page:
    """Return the page with the command that shows the first application in full, where one kind of file is there."""
    readable = [result.application_id for result in selection if result.outcome != "unreadable"]
    names = [name for name in readable if name is not None]
    is_saved = not sources.snapshots
    if not names or not (is_saved or (not sources.results and not sources.plans)):
        return page
    source = input_of(options.paths, names[0], is_plural=True, option_words=options.option_words)
    return with_next(page, "in-full", f"kstream-plan {'show' if is_saved else 'assign'} SNAPSHOT", source)


def _report(results: Sequence[Result], choice: Sequence[Result], reports: Sequence[ReportFile] | None) -> None:
    if reports:
        from kstream_plan.render.report.reports import fleet_html  # noqa: PLC0415 - only for reports

        write_reports(reports, {"html": lambda: fleet_html(results, choice)})


def _code(result: Result) -> ExitCode:
    if result.outcome == "unreadable":
        return ExitCode.FAILED
    settles = result.outcome in ("moving", "settled") and result.every_draw_settles
    return ExitCode.DONE if settles else ExitCode.NOT_SETTLED
