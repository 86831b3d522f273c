"""``why``: why a group still probes, why a task moves, why an instance gets nothing, and so on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from kstream_plan.cli.actions.fleet_run import Work, each_application
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.plan import on_long_plan
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.exit_codes import first_that_applies, outcome
from kstream_plan.cli.failures import expected_failures, report_all
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import PlansSnapshots, Rounds
from kstream_plan.cli.options.parameters import option_of, parse_name, takes
from kstream_plan.cli.output import OutputForm, write_stdout, written_at_once
from kstream_plan.cli.pages import NOT_READ, answers_text, inputs_of, json_lines
from kstream_plan.cli.progress import Report, show_progress
from kstream_plan.documents.history import read_generations
from kstream_plan.errors import KstreamPlanError, NoSuchInstanceError, SnapshotError, UsageError
from kstream_plan.model import Snapshot, WorkId
from kstream_plan.model.group import work_id
from kstream_plan.plans.why_answers import Why
from kstream_plan.simulation.instance_names import process_id_of
from kstream_plan.simulation.why import why as explain


class NoSuchTaskError(KstreamPlanError):
    """No task of the group is called so."""


class WhyOptions(Rounds, PlansSnapshots):
    """What ``why`` is asked."""

    path: Annotated[
        str, typer.Argument(metavar="SNAPSHOT", help="Snapshot, or a history of snapshots; - is standard input.")
    ]
    task: Annotated[
        str | None,
        typer.Option(
            "--task", metavar="TASK", parser=parse_name, help="Explain why this task moves, or does not, e.g. 0_3."
        ),
    ] = None
    instance: Annotated[
        str | None,
        typer.Option(
            "--instance",
            metavar="INSTANCE",
            parser=parse_name,
            help="Explain why this instance runs no more than it does.",
        ),
    ] = None
    generation: Annotated[
        int | None,
        typer.Option("--generation", metavar="N", min=1, help="Generation of a history whose decision is explained."),
    ] = None
    replay: shared.Replay = False
    output: shared.Output = OutputForm.TABLE
    out: shared.Out = None


@takes(WhyOptions)
def why(options: WhyOptions) -> None:
    """Say why a group still probes, why a task moves, why an instance gets nothing, with figures."""
    with expected_failures(debug=options.debug):
        _check(options)
        settings = overrides(options)
        with show_progress(quiet=options.quiet) as progress:
            progress("reading")
            work = each_application(
                _read(options),
                settings,
                lambda snapshot: _answers(snapshot, options, progress),
                keep_going=options.keep_going,
            )
        errors = _errors(work)
        report_all(errors, debug=options.debug)
        _deliver(work.results, options)
    codes = [outcome(answers.plan, fail_on_changes=False) for answers in work.results]
    raise typer.Exit(first_that_applies(codes, errors))


def _check(options: WhyOptions) -> None:
    """Check what does not need the input."""
    if options.replay and options.now is not None:
        raise UsageError("--replay begins when the decision was made", fix="leave out --set now")
    names = [name for name in ("as_of", "metrics") if getattr(options.command_line, name)]
    if options.generation is not None and names:
        raise UsageError(f"{option_of(names[0])} and --generation both say of when it is", fix="give one of them")
    check_before_reading(options, options.out, only_classic=True)


def _read(options: WhyOptions) -> Sequence[Snapshot | SnapshotError]:
    if options.generation is None:
        return read_snapshots([options.path], options)
    return read_generations(
        options.path,
        options.generation,
        options.application_id or (),
        lags_as_reported=options.reading.get("lags_as_reported", False),
    )


def _answers(snapshot: Snapshot, options: WhyOptions, progress: Report) -> Why:
    """Answer for one application.

    Raises:
        NoSuchTaskError: it has no such task.
        ScenarioError: it has no such instance.
        UsageError: its newest decision is not known, and that is what is asked about.
        PlanInvariantError: a plan contradicts itself, which is a defect of this tool.
    """
    group = snapshot.state.group
    if options.replay and snapshot.decision is None:
        fix = "make it with kstream-plan snapshot LOG, or leave out --replay"
        raise UsageError("the snapshot does not tell its newest decision", fix=fix)
    report = on_long_plan(f"simulating {group.application_id}", progress, snapshot)
    return explain(
        snapshot,
        options.plan_options,
        task_id=None if options.task is None else _task(snapshot, options.task),
        process_id=None if options.instance is None else process_id_of(group, options.instance),
        other_settings=options.task is None and options.instance is None,
        on_round=report,
    )


def _task(snapshot: Snapshot, name: str) -> WorkId:
    work, tasks = work_id(name), snapshot.state.group.task_index
    if work not in tasks:
        names = ", ".join(str(task_id) for task_id in list(tasks)[:5])
        raise NoSuchTaskError(f"there is no task {name!r}", fix=f"name one of its tasks: {names}, …")
    return work


def _errors(work: Work[Why]) -> list[KstreamPlanError]:
    """Return what counts as an error: that one application has no such task or instance does not if another has."""
    absent = NoSuchInstanceError, NoSuchTaskError
    return [error for error in work.errors if not (work.results and isinstance(error, absent))]


def _deliver(results: Sequence[Why], options: WhyOptions) -> None:
    """Save the answers if asked to, then show them."""
    names = (result.plan.group.application_id for result in results)
    sources = inputs_of([options.path], names, options.option_words, is_selection=bool(options.application_id))
    if options.generation is not None:
        sources = [NOT_READ] * len(results)  # an older generation is a row among others: no command finds it
    if options.out is not None:
        with written_at_once(options.out) as file:
            file.write(json_lines(results, sources))
    if results:
        write_stdout(answers_text(results, sources, options.output))
