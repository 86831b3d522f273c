"""``fleet``: many applications at a glance, the worst first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from kstream_plan.cli.actions.elsewhere import plans_fetched
from kstream_plan.cli.actions.many import Many
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.plan import plan_job
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.actions.reports import check_reports, write_reports
from kstream_plan.cli.actions.results import unreadable
from kstream_plan.cli.actions.shown import Wanted
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies
from kstream_plan.cli.failures import expected_failures, report
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import PlansSnapshots
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.reports import Paging, ReportFile
from kstream_plan.cli.options.shared import parser, whole_number
from kstream_plan.cli.output import OutputForm, page, say, talk
from kstream_plan.cli.progress import progress
from kstream_plan.documents.plan.files import each_saved_in, is_plan_file
from kstream_plan.documents.quantities import parse_duration
from kstream_plan.documents.results import RESULT, each_result, is_results_file
from kstream_plan.errors import KstreamPlanError, PlanFileError, SnapshotError, together
from kstream_plan.fleet.figures import badness, by_figure
from kstream_plan.fleet.where import Condition, check_name, conditions
from kstream_plan.model import Snapshot
from kstream_plan.plans.result import Result, result_of
from kstream_plan.render.fleet import fleet_markdown, fleet_table
from kstream_plan.render.text.numbers import count, several
from kstream_plan.snapshots.files.broken_files import BrokenFileError
from kstream_plan.snapshots.files.selection import Selection
from kstream_plan.snapshots.files.sources import PARQUET_MAGIC, STDIN, LocalFile, check_paths, read_head
from kstream_plan.snapshots.rows.fields import printable

#: How the names of files end that never hold an application: policies, scenarios, settings, texts, pages, pictures.
_OF_ANOTHER_KIND = (".yaml", ".yml", ".properties", ".md", ".rst", ".html", ".svg", ".png", ".pdf", ".py", ".sh")


class FleetOptions(Paging, PlansSnapshots):
    """What ``fleet`` is asked."""

    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="RESULTS|SNAPSHOT...",
            help="Results of --out-format, saved plans, and snapshots to plan first; - is standard input.",
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
    top: Annotated[
        int | None, typer.Option("--top", metavar="N", parser=parser(whole_number, 1), help="Show at most N rows.")
    ] = None
    output: shared.Output = OutputForm.TABLE


@takes(FleetOptions)
def fleet(asked: FleetOptions) -> None:
    """Show many applications at a glance, the worst first: results, saved plans, or snapshots to plan."""
    with expected_failures(debug=asked.debug):
        check_before_reading(asked, None)
        check_reports(asked.report, None)
        picked = () if asked.where is None else conditions(asked.where, parse_duration)
        if asked.sort is not None:
            check_name(asked.sort, "--sort")
        with plans_fetched(asked.paths, asked, debug=asked.debug):
            sources = _sorted(asked.paths)
            results = [*_saved(sources, asked.application_id or ()), *_planned(sources.snapshots, asked)]
        if not results:
            what = "there is none of these applications"
            raise SnapshotError(what, where=", ".join(asked.paths), fix="check --application-id")
        errors = [KstreamPlanError(result.error or "") for result in results if result.outcome == "unreadable"]
        if len(errors) == len(results):
            raise together(errors)
        if errors:
            report(together(errors), debug=asked.debug)
        _tell_twice(results)
        chosen = _chosen(results, picked, asked)
        _report(results, chosen, asked.report)
        say(_page(results, chosen, asked.output))
    raise typer.Exit(first_that_applies(map(_code, results)))


class _Sources(NamedTuple):
    results: tuple[str, ...]
    plans: tuple[str, ...]
    snapshots: tuple[str, ...]


def _sorted(paths: Sequence[str]) -> _Sources:
    """Tell results, saved plans and snapshots apart by looking at them; folders and globs may hold all of them.

    Policies, settings, texts and pictures that lie beside them are passed over, and that is said.
    """
    found = check_paths(paths)
    results: list[str] = []
    plans: list[str] = []
    passed_over: list[str] = []
    snapshots = [*found.remote, *([STDIN] if found.stdin else [])]
    for file in found.local:
        if is_results_file(file.path):
            results.append(file.name)
        elif is_plan_file(file.path):
            plans.append(file.name)
        else:
            (passed_over if _is_of_another_kind(file) else snapshots).append(file.name)
    if not (results or plans or snapshots):
        return _Sources((), (), tuple(passed_over))  # whose error says what is wrong with each
    if passed_over:
        which = several([printable(name) for name in passed_over])
        talk(f"note: {count(len(passed_over), 'file')} skipped, whose names say that they are no applications: {which}")
    return _Sources(tuple(results), tuple(plans), tuple(snapshots))


def _is_of_another_kind(file: LocalFile) -> bool:
    """Tell whether a file is by its name what this tool reads as something else, and neither JSON nor Parquet."""
    if Path(file.path).suffix.lower() not in _OF_ANOTHER_KIND:
        return False
    try:
        return not read_head(file).content.lstrip().startswith((b"{", b"[", PARQUET_MAGIC))
    except BrokenFileError:
        return False


def _saved(sources: _Sources, application_ids: Sequence[str]) -> Iterator[Result]:
    """Yield what was saved of the applications that are wanted; what cannot be read is a result, too."""
    wanted = Selection(tuple(application_ids))
    for file in sources.results:
        for result in each_result(file, with_plan=False):
            found = unreadable(result) if isinstance(result, PlanFileError) else result
            if found.application_id is None or wanted.wants(found.application_id):
                yield found
    for file in sources.plans:
        for saved in each_saved_in(file):
            found = unreadable(saved) if isinstance(saved, PlanFileError) else result_of(saved.plan, saved.simulation)
            if found.application_id is None or wanted.wants(found.application_id):
                yield found


def _planned(snapshots: Sequence[str], asked: FleetOptions) -> list[Result]:
    """Plan what follows when a rebalance of each starts now; what goes wrong with one is its result."""
    if not snapshots:
        return []
    asked = FleetOptions(**{**vars(asked), "keep_going": True})
    settings = overrides(asked)
    job = plan_job(asked.plan_options, Wanted(asked.output, page(), result=True))
    with progress(quiet=asked.quiet) as tell:
        tell("reading")
        many = Many(lambda: job, settings, tell, keep_going=True)
        found = read_snapshots(snapshots, asked, protocols=("classic", "streams", "connect"), then=many)
        work = many.done(found)
    _tell_older(found)
    return [*(one.result for one in work.results), *map(unreadable, work.errors)]


def _tell_older(found: Sequence[Snapshot | SnapshotError]) -> None:
    """Say of which applications only the newest of several snapshots counts."""
    read = [one for one in found if isinstance(one, Snapshot)]
    several_of = [printable(one.state.group.application_id) for one in read if one.older]
    if several_of:
        older = sum(one.older or 0 for one in read)
        which = f"of {several(several_of)} only the newest counts"
        talk(f"note: {which}: {count(older, 'older snapshot')} passed over")
    elif any(one.older is None for one in read):
        talk("note: of an application with several snapshots only the newest counts")


def _tell_twice(results: Sequence[Result]) -> None:
    """Say which applications are there more than once, as of results of several days: each of them counts."""
    found = Counter(result.application_id for result in results if result.application_id is not None)
    if twice := [printable(name) for name, number in sorted(found.items()) if number > 1]:
        talk(f"note: more than once among the results, and counted each time: {several(twice)}")


def _chosen(results: Sequence[Result], picked: Sequence[Condition], asked: FleetOptions) -> list[Result]:
    found = [result for result in results if all(condition.holds(result) for condition in picked)]
    found.sort(key=badness if asked.sort is None else by_figure(asked.sort))
    return found[: asked.top]


def _page(results: Sequence[Result], shown: Sequence[Result], form: OutputForm) -> str:
    if form is OutputForm.JSON:
        lines = (json.dumps(RESULT.written(one), sort_keys=True, separators=(",", ":")) for one in shown)
        return "".join(f"{line}\n" for line in lines)
    if form is OutputForm.MARKDOWN:
        return fleet_markdown(results, shown)
    of = page()
    return fleet_table(results, shown, width=of.width, colour=of.colour)


def _report(results: Sequence[Result], chosen: Sequence[Result], reports: Sequence[ReportFile] | None) -> None:
    if reports:
        from kstream_plan.render.report.reports import fleet_html  # noqa: PLC0415 - only for reports

        write_reports(reports, {"html": lambda: fleet_html(results, chosen)})


def _code(result: Result) -> ExitCode:
    if result.outcome == "unreadable":
        return ExitCode.FAILED
    settles = result.outcome in ("moving", "settled") and result.every_draw_settles
    return ExitCode.DONE if settles else ExitCode.NOT_SETTLED
