"""``show``: a saved plan, without Spark and without the snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.actions.elsewhere import plans_fetched
from kstream_plan.cli.actions.reports import check_reports, write_saved_reports
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import Limited, Spark
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.reports import Drawing
from kstream_plan.cli.output import OutputForm, bytes_written_at_once, check_target, page, say, talk
from kstream_plan.cli.pages import excerpts_text
from kstream_plan.cli.simulation_pages import saved_page
from kstream_plan.documents.plan.end_snapshot import end_snapshot
from kstream_plan.documents.plan.files import read_saved_file
from kstream_plan.documents.plan.read import SavedPlan, read_saved
from kstream_plan.errors import PlanFileError, ScenarioError, UsageError
from kstream_plan.model import WorkId, work_id
from kstream_plan.plans import Plan
from kstream_plan.render.pages.steps import Focus
from kstream_plan.render.text.names import Names
from kstream_plan.simulation.instance_names import process_id_of
from kstream_plan.snapshots.files.content import standard_input
from kstream_plan.snapshots.files.selection import Selection
from kstream_plan.snapshots.files.sources import check_paths
from kstream_plan.snapshots.rows.write import check_ending, file_bytes, row_lines


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
    final: Annotated[bool, typer.Option("--final", help="Take the end of the plan; goes with --as-snapshot.")] = False
    as_snapshot: Annotated[
        Path | None,
        typer.Option(
            "--as-snapshot",
            metavar="FILE",
            help="File for the end of the plan (--final) as a snapshot, to plan on from it; - is standard output.",
        ),
    ] = None
    application_id: shared.ApplicationId = None
    output: shared.Output = OutputForm.TABLE
    full: shared.Full = False
    verbose: shared.Verbose = False
    debug: shared.Debug = False


@takes(ShowOptions)
def show(asked: ShowOptions) -> None:
    """Show plans saved by --out or --output json."""
    with expected_failures(debug=asked.debug):
        _check_final(asked)
        check_reports(asked.report, None)
        with plans_fetched(asked.files, asked, debug=asked.debug):
            saved = _selected(_read(asked.files), asked.application_id or (), asked.files)
        if asked.as_snapshot is not None:
            _save_ends([of.plan for of in saved], asked.as_snapshot)
            return
        write_saved_reports(asked.report, saved)
        if asked.round_number is None and asked.task is None and asked.instance is None:
            say(saved_page(saved, asked.output, page(), full=asked.full, verbose=asked.verbose))
            return
        if asked.output is OutputForm.JSON:
            raise UsageError("--round, --task and --instance pick from the table", fix="leave out --output json")
        found, focuses = _focused([of.plan for of in saved], asked)
        say(excerpts_text(found, focuses, asked.output, page()))


def _check_final(asked: ShowOptions) -> None:
    """Check what is asked for about the plan's end.

    Raises:
        UsageError: options that do not go together, or a name that does not say what to write.
        KstreamPlanError: the file cannot be written.
    """
    if asked.as_snapshot is None:
        if asked.final:
            raise UsageError("--final goes with --as-snapshot", fix="give --as-snapshot FILE as well")
        return
    if not asked.final:
        raise UsageError("--as-snapshot saves a plan's end", fix="give --final as well")
    picked = asked.round_number is not None or asked.task is not None or asked.instance is not None
    if picked or asked.report or asked.full or asked.verbose or asked.output is not OutputForm.TABLE:
        what = "--as-snapshot writes a snapshot and shows nothing"
        raise UsageError(what, fix="leave out --round, --task, --instance, --report, --output, --full and --verbose")
    if str(asked.as_snapshot) != "-":
        check_ending(asked.as_snapshot.name, "--as-snapshot")
        check_target(asked.as_snapshot, "--as-snapshot", snapshots=True)


def _save_ends(plans: Sequence[Plan], target: Path) -> None:
    """Write the ends of plans as snapshots, one of each application.

    Raises:
        UsageError: there are several plans of one application.
        PlanFileError: a plan does not hold its end.
        KstreamPlanError: the file cannot be written.
    """
    twice = [name for name, times in Counter(plan.group.application_id for plan in plans).items() if times > 1]
    if twice:
        raise UsageError(f"there are several plans of {twice[0]!r}", fix="give one of them: each has an end of its own")
    rows = [end_snapshot(plan) for plan in plans]
    for plan in plans:
        if plan.end is not None and plan.end.to_come:
            talk(
                f"warning: {plan.group.application_id}: what comes after the plan's end is not in the snapshot: "
                "simulate it from there"
            )
    if str(target) == "-":
        say("".join(row_lines(rows)))
        return
    with bytes_written_at_once(target) as file:
        file.write(file_bytes(rows, target.name))


def _read(files: Sequence[str]) -> list[SavedPlan]:
    """Return the plans in the order given; those of a folder or glob by path."""
    saved: list[SavedPlan] = []
    for given in files:
        paths = check_paths([given])
        saved += read_saved(standard_input(), "standard input") if paths.stdin else []
        if paths.remote:
            what = "does not exist, or holds something else than saved plans and results"
            raise PlanFileError(what, where=given, fix="check the path")
        for file in paths.local:
            saved += read_saved_file(file.name)
    return saved


def _selected(saved: Sequence[SavedPlan], application_ids: Sequence[str], files: Sequence[str]) -> Sequence[SavedPlan]:
    """Return the plans of the applications that are wanted.

    Raises:
        SnapshotError: there is none of an application.
    """
    wanted = Selection(tuple(application_ids))
    known = sorted({of.plan.group.application_id for of in saved})
    missing = wanted.missing(known)
    if missing:
        raise wanted.nothing_found(missing, known, files)[0]
    return [of for of in saved if wanted.wants(of.plan.group.application_id)]


def _focused(plans: Sequence[Plan], asked: ShowOptions) -> tuple[list[Plan], list[Focus]]:
    """Return the plans that have what is asked for, each with its focus.

    Raises:
        UsageError: none of them has it.
    """
    found, misses = [], []
    for plan in plans:
        try:
            focus = Focus(_round(plan, asked.round_number), _task(plan, asked.task), _instance(plan, asked.instance))
        except UsageError as error:
            misses.append(error)
        else:
            found.append((plan, focus))
    if not found:
        raise misses[0]
    return [plan for plan, _ in found], [focus for _, focus in found]


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


def _examples(what: str, plan: Plan) -> str:
    if not plan.group.tasks:
        return f"the plan has no {what}"
    return f"the plan's {what} go from {plan.group.tasks[0].task_id} to {plan.group.tasks[-1].task_id}"


def _instance(plan: Plan, text: str | None) -> str | None:
    if text is None:
        return None
    names = Names(plan.group)
    shown = [process_id for process_id in plan.group.instance_index if names.instance(process_id) == text]
    try:
        return shown[0] if shown else process_id_of(plan.group, text)
    except ScenarioError as error:
        raise UsageError(error.what, where="--instance", fix=error.fix) from None
