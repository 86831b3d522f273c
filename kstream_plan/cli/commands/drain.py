"""``drain``: which tasks would start cold or pause if instances stopped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias, assert_never

import typer

from kstream_plan.cli.actions.each_application import Work
from kstream_plan.cli.actions.many import Job, Many, Workplace
from kstream_plan.cli.actions.measure import check_measuring
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.plan import cost_of_plan_ms, on_long_plan, on_round
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.actions.reports import check_reports, write_reports
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies
from kstream_plan.cli.failures import expected_failures, report
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import PlansSnapshots
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.reports import Drawing, ReportFile
from kstream_plan.cli.output import OutputForm, Page, page, say, written_at_once
from kstream_plan.cli.pages import answer_text
from kstream_plan.cli.progress import Report, progress
from kstream_plan.errors import KstreamPlanError, NoSuchInstanceError, ScenarioError, UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.planner.plan import OnRound
from kstream_plan.render.simulation.drain_json import drain_json
from kstream_plan.render.simulation.drain_workers_json import workers_drained_json
from kstream_plan.simulation.drain import Drain, DrainNow
from kstream_plan.simulation.drain import drain as drain_study
from kstream_plan.simulation.drain_workers import WorkersDrained, drain_workers

if TYPE_CHECKING:
    from kstream_plan.render.report.page import Section

#: What is said of one group.
Drained: TypeAlias = Drain | WorkersDrained

_CHOOSE = "choose the application with --application-id"


class DrainOptions(Drawing, PlansSnapshots):
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
            parser=shared.name,
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
def drain(asked: DrainOptions) -> None:
    """Ask whether instances may stop: which of their tasks would start cold or pause, now and after waiting."""
    with expected_failures(debug=asked.debug):
        check_before_reading(asked, asked.out)
        check_reports(asked.report, asked.out)
        check_measuring(asked, reads_stdin=False, others=asked.instances)
        settings = overrides(asked)
        with progress(quiet=asked.quiet) as tell:
            tell("reading")
            job = Job(lambda snapshot: snapshot, partial(_shown, asked, page()), cost_of_plan_ms)
            many = Many(lambda: job, settings, tell, keep_going=asked.keep_going)
            work = many.done(
                read_snapshots([asked.path], asked, protocols=("classic", "streams", "connect"), then=many)
            )
        errors = _errors(work)
        for error in errors:
            report(error, debug=asked.debug)
        _deliver(many, work.results, asked)
    may_be_cold = asked.require_warm and any(shown.answer is not Answer.YES for shown in work.results)
    raise typer.Exit(first_that_applies([ExitCode.POLICY] if may_be_cold else [], errors))


class _Shown(NamedTuple):
    """The answer for one application: as JSON, and what of it is still to be shown."""

    json: str
    text: str
    answer: Answer
    section: Section | None = None


def _shown(asked: DrainOptions, shown: Page, snapshot: Snapshot, at: Workplace) -> _Shown:
    """Answer for one application."""
    answer = _drain(snapshot, asked, at.tell, several=not at.only)
    text = "" if asked.output is OutputForm.JSON else answer_text(answer, asked.output, shown, verbose=False)
    return _Shown(f"{_as_json(answer)}\n", text, answer.answer, _section(answer) if asked.report else None)


def _section(answer: Drained) -> Section:
    from kstream_plan.render.report.drain_section import drain_section  # noqa: PLC0415 - only for reports

    return drain_section(answer)


def _drain(snapshot: Snapshot, asked: DrainOptions, tell: Report, *, several: bool) -> Drained:
    """Answer for one application; of ``several`` an error names it.

    Raises:
        ScenarioError: there is no such instance in it, or none would be left.
        UsageError: ``--require-warm`` of a Connect group.
        PlanInvariantError: a plan contradicts itself, which is a defect of this tool.
    """
    try:
        what = f"simulating {snapshot.state.group.application_id}"
        if snapshot.group_protocol == "connect":
            return _drain_workers(snapshot, asked, on_round(what, tell))
        soon, waiting = on_round(what, tell), on_long_plan(what, tell, snapshot)
        told_now = False

        def on_now(_now: DrainNow) -> None:
            nonlocal told_now
            told_now = True

        def told(rounds: int, tasks: int, movements: int) -> None:
            (waiting if told_now else soon)(rounds, tasks, movements)  # only waiting is played to its end

        return drain_study(
            snapshot, asked.instances, asked.plan_options, leave=asked.leave, on_round=told, on_now=on_now
        )
    except ScenarioError as error:
        if not several:
            raise
        where = f"application {snapshot.state.group.application_id!r}"
        fix = f"{error.fix}; or choose the application with --application-id" if error.fix else _CHOOSE
        raise type(error)(error.what, where=where, fix=fix) from error


def _drain_workers(snapshot: Snapshot, asked: DrainOptions, told: OnRound) -> WorkersDrained:
    """Answer for the workers of one Connect group.

    Raises:
        UsageError: ``--require-warm``: nothing there is cold or warm, and it would pass minutes of standstill.
    """
    if asked.require_warm:
        what = "--require-warm is about state, and connectors and tasks have none"
        fix = "leave it out; check --scenario with a policy of max_pause_per_task says whether they are paused too long"
        raise UsageError(what, where=f"application {snapshot.state.group.application_id!r}", fix=fix)
    return drain_workers(snapshot, asked.instances, asked.plan_options, on_round=told)


def _errors(work: Work[_Shown]) -> list[KstreamPlanError]:
    """Return what counts as an error: that an application has no such instance does not if another one has it."""
    return [error for error in work.errors if not (work.results and isinstance(error, NoSuchInstanceError))]


def _deliver(many: Many[Snapshot, _Shown], shown: Sequence[_Shown], asked: DrainOptions) -> None:
    """Save the shown if asked to, then show what of them is not shown yet."""
    if asked.out is not None:
        with written_at_once(asked.out) as file:
            file.writelines(many.lines())
    _report(asked.report, [one.section for one in shown if one.section is not None])
    if asked.output is OutputForm.JSON:
        for line in many.lines():
            say(line)
    elif shown:
        say("\n".join(one.text for one in shown))


def _report(reports: Sequence[ReportFile] | None, sections: Sequence[Section]) -> None:
    if reports and sections:
        from kstream_plan.render.report.drain_section import drains_html, drains_svg  # noqa: PLC0415 - only for reports

        write_reports(reports, {"html": lambda: drains_html(sections), "svg": lambda: drains_svg(sections)})


def _as_json(drained: Drained) -> str:
    match drained:
        case Drain():
            return drain_json(drained)
        case WorkersDrained():
            return workers_drained_json(drained)
        case _:
            assert_never(drained)
