"""``show``: a saved plan, without Spark and without the snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.actions.remote_plans import download_plans
from kstream_plan.cli.actions.results import check_reports, write_saved_reports
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.reports import Drawing
from kstream_plan.cli.options.running import Limited, Spark
from kstream_plan.cli.output import OutputForm, Sort, bytes_written_at_once, check_target, write_stderr, write_stdout
from kstream_plan.cli.pages import Input, draw_pages, saved_page
from kstream_plan.documents.plan.files import read_saved_file
from kstream_plan.documents.plan.read import SavedPlan, read_saved
from kstream_plan.errors import PlanFileError, ScenarioError, UsageError
from kstream_plan.model import WorkId, work_id
from kstream_plan.plans import Plan
from kstream_plan.render.pages.plan import excerpt_page
from kstream_plan.render.pages.steps import Focus
from kstream_plan.render.text.names import Names
from kstream_plan.snapshots.files.content import standard_input
from kstream_plan.snapshots.files.newest_rows import Selection
from kstream_plan.snapshots.files.sources import check_paths


class ShowOptions(Drawing, Spark, Limited):
    """What ``show`` is asked."""

    files: Annotated[
        list[str], typer.Argument(metavar="PLAN...", help="Saved plans: files, folders, globs; - is standard input.")
    ]
    round_number: Annotated[
        int | None,
        typer.Option("--round", metavar="N", help="Show only the steps of this rebalance, with their reasons."),
    ] = None
    task: Annotated[str | None, typer.Option("--task", metavar="ID", help="Show only the steps of this task.")] = None
    instance: Annotated[
        str | None,
        typer.Option("--instance", metavar="ID", help="Show only this instance: process id, a prefix of it, or host."),
    ] = None
    as_snapshot: Annotated[
        Path | None,
        typer.Option(
            "--as-snapshot",
            metavar="FILE",
            help="File for the end of the plan as a snapshot, to plan on from it; - is standard output.",
        ),
    ] = None
    application_id: shared.ApplicationId = None
    output: shared.Output = OutputForm.TABLE
    full: bool = False


@takes(ShowOptions)
def show(options: ShowOptions) -> None:
    """Show plans saved by --out or --output json."""
    with expected_failures(debug=options.debug):
        _check_final(options)
        check_reports(options.report, None)
        with download_plans(options.files, options, debug=options.debug):
            entries = _select(_read(options.files), options.application_id or (), options.files)
        if options.as_snapshot is not None:
            _save_ends([entry.plan for entry in entries], options.as_snapshot)
            return
        write_saved_reports(options.report, entries)
        if options.round_number is None and options.task is None and options.instance is None:
            source = Input(() if options.verbose else tuple(options.files), is_plan=True)
            write_stdout(saved_page(entries, options.output, source, full=options.full, verbose=options.verbose))
            return
        if options.output is OutputForm.JSON:
            raise UsageError("--round, --task and --instance pick from the table", fix="leave out --output json")
        plans, focuses = _focus([entry.plan for entry in entries], options)
        write_stdout(draw_pages(map(excerpt_page, plans, focuses), options.output))


def _check_final(options: ShowOptions) -> None:
    """Check what is asked for about the plan's end."""
    if options.as_snapshot is None:
        return
    typed = options.command_line
    is_focus = options.round_number is not None or options.task is not None or options.instance is not None
    if is_focus or options.report or typed.full or typed.verbose or typed.output is not OutputForm.TABLE:
        message = "--as-snapshot writes a snapshot and shows nothing"
        raise UsageError(
            message, fix="leave out --round, --task, --instance, --report, --output, --set full=true and --verbose"
        )
    if str(options.as_snapshot) != "-":
        from kstream_plan.snapshots.rows.write import check_ending  # noqa: PLC0415 - only for snapshots

        check_ending(options.as_snapshot.name, "--as-snapshot")
        check_target(options.as_snapshot, "--as-snapshot", Sort.SNAPSHOT)


def _save_ends(plans: Sequence[Plan], target: Path) -> None:
    """Write the ends of plans as snapshots, one of each application."""
    from kstream_plan.documents.plan.end_snapshot import end_snapshot  # noqa: PLC0415 - only for snapshots
    from kstream_plan.snapshots.rows.write import file_bytes, row_lines  # noqa: PLC0415

    repeats = [name for name, times in Counter(plan.group.application_id for plan in plans).items() if times > 1]
    if repeats:
        raise UsageError(
            f"there are several plans of {repeats[0]!r}", fix="give one of them: each has an end of its own"
        )
    rows = [end_snapshot(plan) for plan in plans]
    for plan in plans:
        if plan.end is not None and plan.end.to_come:
            write_stderr(
                f"warning: {plan.group.application_id}: what comes after the plan's end is not in the snapshot: "
                "simulate it from there"
            )
    if str(target) == "-":
        write_stdout("".join(row_lines(rows)))
        return
    with bytes_written_at_once(target) as file:
        file.write(file_bytes(rows, target.name))


def _read(files: Sequence[str]) -> list[SavedPlan]:
    """Return the plans in the order given; those of a folder or glob by path."""
    entries: list[SavedPlan] = []
    for name in files:
        paths = check_paths([name])
        entries += read_saved(standard_input(), "standard input") if paths.stdin else []
        if paths.remote:
            message = "does not exist, or holds something else than saved plans and results"
            raise PlanFileError(message, where=name, fix="check the path")
        for file in paths.local:
            entries += read_saved_file(file.name)
    return entries


def _select(entries: Sequence[SavedPlan], application_ids: Sequence[str], files: Sequence[str]) -> Sequence[SavedPlan]:
    """Return the plans of the applications that are wanted."""
    selection = Selection(tuple(application_ids))
    ids = sorted({entry.plan.group.application_id for entry in entries})
    absent_ids = selection.unmatched_globs(ids)
    if absent_ids:
        raise selection.nothing_found(absent_ids, ids, files)[0]
    return [entry for entry in entries if selection.wants(entry.plan.group.application_id)]


def _focus(plans: Sequence[Plan], options: ShowOptions) -> tuple[list[Plan], list[Focus]]:
    """Return the plans that have what is asked for, each with its focus."""
    plans_in_focus, misses = [], []
    for plan in plans:
        try:
            focus = Focus(
                _round(plan, options.round_number), _task(plan, options.task), _instance(plan, options.instance)
            )
        except UsageError as error:
            misses.append(error)
        else:
            plans_in_focus.append((plan, focus))
    if not plans_in_focus:
        raise misses[0]
    return [plan for plan, _ in plans_in_focus], [focus for _, focus in plans_in_focus]


def _round(plan: Plan, number: int | None) -> int | None:
    if number is not None and not 1 <= number <= len(plan.rounds):
        rounds = f"has rounds 1 to {len(plan.rounds)}" if plan.rounds else "has no rounds: nothing would change"
        raise UsageError(f"there is no round {number}", where="--round", fix=f"the plan {rounds}")
    return number


def _task(plan: Plan, text: str | None) -> WorkId | None:
    if text is None:
        return None
    task_id = work_id(text) if text else None
    if task_id not in plan.group.task_index:
        raise UsageError(f"there is no task {text!r}", where="--task", fix=_examples("tasks", plan))
    return task_id


def _examples(noun: str, plan: Plan) -> str:
    if not plan.group.tasks:
        return f"the plan has no {noun}"
    return f"the plan's {noun} go from {plan.group.tasks[0].task_id} to {plan.group.tasks[-1].task_id}"


def _instance(plan: Plan, text: str | None) -> str | None:
    if text is None:
        return None
    from kstream_plan.simulation.instance_names import process_id_of  # noqa: PLC0415 - only for --instance

    names = Names(plan.group)
    ids = [process_id for process_id in plan.group.instance_index if names.instance(process_id) == text]
    try:
        return ids[0] if ids else process_id_of(plan.group, text)
    except ScenarioError as error:
        raise UsageError(error.what, where="--instance", fix=error.fix) from None
