"""``drain``: which tasks would start cold or pause if instances stopped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

import typer

from kstream_plan.cli.actions.fleet_run import FleetRun, Job, JobContext, Work
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.plan import cost_of_plan_ms, on_long_plan, on_round
from kstream_plan.cli.actions.read import check_before_reading, check_measuring, read_snapshots
from kstream_plan.cli.actions.results import check_reports, write_reports
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies
from kstream_plan.cli.failures import expected_failures, report_all
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import Following, PlansSnapshots
from kstream_plan.cli.options.parameters import parse_name, takes
from kstream_plan.cli.options.reports import Drawing, ReportFile
from kstream_plan.cli.output import OutputForm, Page, page, write_stdout
from kstream_plan.cli.pages import answer_text, input_of, json_lines
from kstream_plan.cli.progress import Report, show_progress
from kstream_plan.errors import KstreamPlanError, NoSuchInstanceError, ScenarioError, UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.planner.plan import OnRound
from kstream_plan.simulation.drain import Drain, DrainNow
from kstream_plan.simulation.drain import drain as drain_study
from kstream_plan.simulation.drain_workers import WorkersDrained, drain_workers

if TYPE_CHECKING:
    from kstream_plan.render.report.markup import Section

#: What is said of one group.
Drained: TypeAlias = Drain | WorkersDrained

_CHOOSE = "choose the application with --application-id"


class DrainOptions(Drawing, Following, PlansSnapshots):
    """What ``drain`` is asked."""

    path: Annotated[
        str,
        typer.Argument(
            metavar="SNAPSHOT", help="Snapshot: a file, folder or glob of JSON or Parquet; - is standard input."
        ),
    ]
    instances: Annotated[
        list[str],
        typer.Argument(
            metavar="INSTANCE...",
            parser=parse_name,
            help="Instances to stop: process ids, prefixes of them, or hosts.",
        ),
    ]
    require_warm: Annotated[
        bool, typer.Option("--require-warm", help="Fail with exit code 3 unless all tasks are sure to start warm.")
    ] = False
    leave: Annotated[
        bool,
        typer.Option("--leave", help="Let the instances leave the group cleanly, not by Kafka Streams' default close."),
    ] = False
    output: shared.Output = OutputForm.TABLE
    out: shared.Out = None

    @property
    def is_about_now(self) -> bool:
        """Whether the question is about now: it is."""
        return True


@takes(DrainOptions)
def drain(options: DrainOptions) -> None:
    """Ask whether instances may stop: which of their tasks would start cold or pause, now and after waiting."""
    with expected_failures(debug=options.debug):
        check_before_reading(options, options.out)
        check_reports(options.report, options.out)
        check_measuring(options, reads_stdin=False, other_options=options.instances)
        settings = overrides(options)
        with show_progress(quiet=options.quiet) as progress:
            progress("reading")
            job = Job(lambda snapshot: snapshot, partial(_render, options, page()), cost_of_plan_ms)
            fleet_run = FleetRun(
                lambda: job,
                settings,
                progress,
                keep_going=options.keep_going,
                out_file=options.out,
                keeps_lines=options.output is OutputForm.JSON,
            )
            work = fleet_run.run(
                read_snapshots([options.path], options, protocols=("classic", "streams", "connect"), handler=fleet_run)
            )
        errors = _errors(work)
        report_all(errors, debug=options.debug)
        _deliver(fleet_run, work.results, options)
    may_be_cold = options.require_warm and any(answer.answer is not Answer.YES for answer in work.results)
    raise typer.Exit(first_that_applies([ExitCode.POLICY] if may_be_cold else [], errors))


class _Shown(NamedTuple):
    """The answer for one application: as JSON, and what of it is still to be shown."""

    json: str
    text: str
    answer: Answer
    section: Section | None = None


def _render(options: DrainOptions, page: Page, snapshot: Snapshot, context: JobContext) -> _Shown:
    """Answer for one application."""
    answer = _drain(snapshot, options, context.progress, is_plural=not context.only)
    is_plural = bool(options.application_id) or not context.only
    name = snapshot.state.group.application_id
    source = input_of([options.path], name, is_plural=is_plural, option_words=options.option_words)
    in_json = options.output is OutputForm.JSON
    text = "" if in_json else answer_text(answer, options.output, page, verbose=options.verbose, source=source)
    return _Shown(json_lines([answer], [source]), text, answer.answer, _section(answer) if options.report else None)


def _section(answer: Drained) -> Section:
    from kstream_plan.render.report.sections import drain_section  # noqa: PLC0415 - only for reports

    return drain_section(answer)


def _drain(snapshot: Snapshot, options: DrainOptions, progress: Report, *, is_plural: bool) -> Drained:
    """Answer for one application; of ``is_plural`` an error names it.

    Raises:
        ScenarioError: there is no such instance in it, or none would be left.
        UsageError: ``--require-warm`` of a Connect group.
        PlanInvariantError: a plan contradicts itself, which is a defect of this tool.
    """
    try:
        message = f"simulating {snapshot.state.group.application_id}"
        if snapshot.group_protocol == "connect":
            return _drain_workers(snapshot, options, on_round(message, progress))
        report_soon, report_wait = on_round(message, progress), on_long_plan(message, progress, snapshot)
        told_now = False

        def on_now(_now: DrainNow) -> None:
            nonlocal told_now
            told_now = True

        def report(rounds: int, tasks: int, movements: int) -> None:
            (report_wait if told_now else report_soon)(rounds, tasks, movements)  # only waiting is simulated to its end

        return drain_study(
            snapshot, options.instances, options.plan_options, leave=options.leave, on_round=report, on_now=on_now
        )
    except ScenarioError as error:
        if not is_plural:
            raise
        place = f"application {snapshot.state.group.application_id!r}"
        fix = f"{error.fix}; or choose the application with --application-id" if error.fix else _CHOOSE
        raise type(error)(error.what, where=place, fix=fix) from error


def _drain_workers(snapshot: Snapshot, options: DrainOptions, report: OnRound) -> WorkersDrained:
    """Answer for the workers of one Connect group."""
    if options.require_warm:
        message = "--require-warm is about state, and connectors and tasks have none"
        fix = "leave it out; check --scenario with a policy of max_pause_per_task says whether they are paused too long"
        raise UsageError(message, where=f"application {snapshot.state.group.application_id!r}", fix=fix)
    return drain_workers(snapshot, options.instances, options.plan_options, on_round=report)


def _errors(work: Work[_Shown]) -> list[KstreamPlanError]:
    """Return what counts as an error: that an application has no such instance does not if another one has it."""
    return [error for error in work.errors if not (work.results and isinstance(error, NoSuchInstanceError))]


def _deliver(fleet_run: FleetRun[Snapshot, _Shown], answers: Sequence[_Shown], options: DrainOptions) -> None:
    """Write reports if asked to, then show the answers."""
    _report(options.report, [answer.section for answer in answers if answer.section is not None])
    if options.output is OutputForm.JSON:
        for line in fleet_run.lines():
            write_stdout(line)
    elif answers:
        write_stdout("\n".join(answer.text for answer in answers))


def _report(reports: Sequence[ReportFile] | None, sections: Sequence[Section]) -> None:
    if reports and sections:
        from kstream_plan.render.report.reports import sections_html, sections_svg  # noqa: PLC0415 - only for reports

        html = partial(sections_html, sections, len(sections))
        write_reports(reports, {"html": html, "svg": lambda: sections_svg(sections)})
