"""``drain``: which tasks would start cold or pause if instances stopped."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
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
from kstream_plan.cli.output import OutputForm, Page, page, say, talk, written_at_once
from kstream_plan.cli.progress import Report, progress
from kstream_plan.errors import KstreamPlanError, NoSuchInstanceError, ScenarioError, UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.planner.plan import OnRound
from kstream_plan.render.simulation.drain import (
    doubt_text,
    drain_markdown,
    drain_markdown_begun,
    drain_table,
    drain_table_begun,
    settling,
)
from kstream_plan.render.simulation.drain_json import drain_json
from kstream_plan.render.simulation.drain_workers import (
    workers_drained_json,
    workers_drained_markdown,
    workers_drained_table,
)
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.numbers import count
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
    not_warm = [_told_not_warm(one.warmth) for one in work.results] if asked.require_warm else []
    raise typer.Exit(first_that_applies([ExitCode.POLICY] if any(not_warm) else [], errors))


class _Warmth(NamedTuple):
    """Why tasks are not known to start warm; nothing, if they are: then what that rests on."""

    reasons: tuple[str, ...]
    rests_on: tuple[str, ...]
    answer: Answer = Answer.YES


class _Shown(NamedTuple):
    """The answer for one application: as JSON, and what of it is still to be shown."""

    json: str
    text: str
    warmth: _Warmth
    section: Section | None = None


def _shown(asked: DrainOptions, shown: Page, snapshot: Snapshot, at: Workplace) -> _Shown:
    """Answer for one application; for the only one say at once what is known first."""
    begun = ""

    def begin(now: DrainNow) -> None:
        nonlocal begun
        if at.only and asked.output is not OutputForm.JSON:
            with at.tell.aside():
                begun = _begun(now, asked.output, shown)
                say(begun)

    answer = _drain(snapshot, asked, at.tell, begin, several=not at.only)
    text = "" if asked.output is OutputForm.JSON else _text(answer, asked, shown).removeprefix(begun)
    warmth = _warmth(answer) if isinstance(answer, Drain) else _Warmth((), ())
    return _Shown(f"{_as_json(answer)}\n", text, warmth, _section(answer) if asked.report else None)


def _section(answer: Drained) -> Section:
    from kstream_plan.render.report.drain_section import drain_section  # noqa: PLC0415 - only for reports

    return drain_section(answer)


def _drain(
    snapshot: Snapshot, asked: DrainOptions, tell: Report, begin: Callable[[DrainNow], None], *, several: bool
) -> Drained:
    """Answer for one application, ``begin`` with what is known first; of ``several`` an error names it.

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

        def on_now(now: DrainNow) -> None:
            nonlocal told_now
            begin(now)
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


def _warmth(drained: Drain) -> _Warmth:
    reasons = [doubt_text(doubt) for doubt in drained.doubts]
    best, worst = drained.how_many_cold
    if worst:
        cold = f"{worst:,}" if best == worst else f"{best:,}-{worst:,}"
        reasons.insert(0, f"{cold} of {len(drained.now):,} tasks would start cold")
    others = drained.follows.others_cold
    reasons += [f"{count(others, 'task')} that others run would start cold"] if others else []
    return _Warmth(tuple(reasons), tuple(map(doubt_text, drained.rests_on)), drained.answer)


def _told_not_warm(warmth: _Warmth) -> bool:
    """Say on stderr why this is not known to be warm, if it is not; else what that rests on."""
    unwarm = warmth.answer is not Answer.YES
    for text in warmth.reasons if unwarm else warmth.rests_on:
        talk(f"--require-warm: {text}")
    return unwarm


def _errors(work: Work[_Shown]) -> list[KstreamPlanError]:
    """Return what counts as an error: that an application has no such instance does not if another one has it."""
    return [error for error in work.errors if not (work.results and isinstance(error, NoSuchInstanceError))]


def _begun(now: DrainNow, form: OutputForm, shown: Page) -> str:
    """Return the beginning of an answer, which is known before the rest of it."""
    if form is OutputForm.MARKDOWN:
        return drain_markdown_begun(now)
    return drain_table_begun(now, width=shown.width, colour=shown.colour)


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


def _what_settles(drained: Drain, asked: DrainOptions) -> str:
    """Return the command that tells what is unknown; nothing where nothing is."""
    options = settling(drained)
    if drained.answer is not Answer.UNKNOWN or not options:
        return ""
    first, values = options[0], {"--metrics": "DIR", "--produce-rate": "RATE", "--restore-rate": "RATE"}
    command = shlex.join(["kstream-plan", "drain", asked.path, *asked.instances])
    others = f" (or {', '.join(options[1:])})" if options[1:] else ""
    value = f" {values[first]}" if first in values else ""
    return f"To settle it{others}:\n  {printable(command)} {first}{value}\n"


def _if_only_restarted(drained: Drain, asked: DrainOptions) -> str:
    """Return which command says what a restart of one does, that comes back soon; nothing where none does."""
    if drained.plan.design != "classic" or len(drained.process_ids) > 1:
        return ""
    command = shlex.join(["kstream-plan", "bounce", asked.path, "--instance", asked.instances[0]])
    return f"Only a restart, and back soon? Ask (with the same settings):\n  {printable(command)}\n"


def _as_json(drained: Drained) -> str:
    match drained:
        case Drain():
            return drain_json(drained)
        case WorkersDrained():
            return workers_drained_json(drained)
        case _:
            assert_never(drained)


def _text(drained: Drained, asked: DrainOptions, shown: Page) -> str:
    markdown = asked.output is OutputForm.MARKDOWN
    match drained:
        case Drain():
            if markdown:
                return drain_markdown(drained)
            text = drain_table(drained, width=shown.width, colour=shown.colour)
            return text + _what_settles(drained, asked) + _if_only_restarted(drained, asked)
        case WorkersDrained():
            if markdown:
                return workers_drained_markdown(drained)
            return workers_drained_table(drained, width=shown.width, colour=shown.colour)
        case _:
            assert_never(drained)
