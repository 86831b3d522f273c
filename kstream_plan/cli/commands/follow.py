"""``follow``: what a running group does, beside what was planned, until it has settled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kstream_plan.cli.actions.live_group import Generations, LiveGroup, live_group
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.live import Live
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.output import (
    OutputForm,
    check_target,
    page,
    takes_color,
    warn,
    write_stderr,
    write_stdout,
    written_at_once,
)
from kstream_plan.cli.pages import draw_pages
from kstream_plan.documents.plan.files import read_plan_file
from kstream_plan.errors import UsageError
from kstream_plan.live.course import Course, Follower, Stage
from kstream_plan.live.events import Event, EventKind, events
from kstream_plan.live.polls import Clock, Poll, SystemClock, polls
from kstream_plan.model.note import name_list
from kstream_plan.model.settings import DEFAULT_SETTINGS, NO_CONFIG
from kstream_plan.model.times import duration, format_time, utc
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Plan
from kstream_plan.render.answers import to_json
from kstream_plan.render.pages.follow import follow_message, follow_page
from kstream_plan.render.pages.happened import happened_page
from kstream_plan.render.terminal import to_terminal
from kstream_plan.snapshots.files.newest_rows import Selection
from kstream_plan.snapshots.rows.fields import printable

if TYPE_CHECKING:
    from rich.live import Live as RichLive

#: The codes of the warnings that Kafka's defaults are assumed, for the settings are unknown.
_OF_DEFAULTS = frozenset({NO_CONFIG, DEFAULT_SETTINGS})
#: How a group that is followed has ended → exit code.
_CODES = {
    Stage.AS_PLANNED: ExitCode.DONE,
    Stage.OTHERWISE: ExitCode.POLICY,
    Stage.DOES_NOT_SETTLE: ExitCode.NOT_SETTLED,
    Stage.GOES_ON: ExitCode.TIMED_OUT,
}


class FollowOptions(Live):
    """What ``follow`` is asked."""

    plan: Annotated[
        Path | None,
        typer.Argument(
            metavar="PLAN", help="Saved plan; without one, what follows from what is there.", show_default=False
        ),
    ] = None
    output: shared.Output = OutputForm.TABLE
    out: shared.Out = None


@takes(FollowOptions)
def follow(options: FollowOptions) -> None:
    """Follow a running group until it has settled; exit code 3 if it went otherwise than planned."""
    with expected_failures(debug=options.debug):
        if options.out is not None:
            check_target(options.out)
        course = follow_group(options, None if options.plan is None else _plan(options), SystemClock())
        stage = Stage.GOES_ON if course is None else course.stage
        if stage is Stage.GOES_ON:
            write_stderr(f"gave up after {duration(options.give_up_after or 0)}")
    raise typer.Exit(_CODES[stage])


def _plan(options: FollowOptions) -> Plan:
    """Return the saved plan of the group."""
    assert options.plan is not None
    plans, place = read_plan_file(options.plan), printable(str(options.plan))
    selection = Selection(tuple(options.group or options.application_id or ()))
    plans_of_group = [plan for plan in plans if selection.wants(plan.group.application_id)]
    if len(plans_of_group) != 1:
        names = name_list([printable(plan.group.application_id) for plan in plans])
        group = name_list([*map(printable, options.group or options.application_id or ())])
        if plans_of_group:
            option = "--application-id" if options.leader_log else "--group"
            message, fix = f"holds plans of {names}", f"name one of them with {option}"
        else:
            message, fix = f"is a plan of {names}, not of {group}", "give the plan of this group"
        raise UsageError(message, where=place, fix=fix)
    return plans_of_group[0]


def follow_group(options: FollowOptions, plan: Plan | None, clock: Clock) -> Course | None:
    """Show what happens until the group has settled; return how far it has come.

    Raises:
        ClusterError: the source does not answer the first time.
        SnapshotError: what it answers cannot be read.
    """
    follower = Follower(plan, PlanOptions(trust_ms=options.trust_reports_of))
    course: Course | None = None
    warnings = set[str]()
    try:
        with live_group(options) as ask, _screen(options) as show:
            problem = ""
            for poll in polls(
                lambda now_ms: _next_course(follower, plan, ask, warnings, now_ms),
                clock,
                every_ms=options.every_ms,
                give_up_after_ms=options.give_up_after,
            ):
                name = _name(options, plan, poll)
                if poll.answer is None:
                    if str(poll.problem) != problem:
                        problem = str(poll.problem)
                        show(
                            Event(
                                kind=EventKind.NO_ANSWER,
                                at_ms=poll.at_ms,
                                application_id=name,
                                course=course,
                                problem=problem,
                            )
                        )
                    continue
                last, (course, generations) = course, poll.answer
                if problem:
                    problem = ""
                    show(Event(kind=EventKind.ANSWER, at_ms=poll.at_ms, application_id=name, course=course))
                for event in events(last, course):
                    show(event)
                show.refresh(course)
                if course.stage is not Stage.GOES_ON:
                    break
                generations.check_goes_on()
    finally:
        _finish(options, course)
    return course


def _next_course(
    follower: Follower,
    plan: Plan | None,
    ask: Callable[[int, int | None], LiveGroup],
    warnings: set[str],
    now_ms: int,
) -> tuple[Course, Generations]:
    """Ask the group as it is, and for the generations that are new; warn once of what is not known of it.

    Settings that the source does not know are those of the plan.

    Raises:
        UsageError: the plan is of another group.
    """
    group = ask(now_ms, follower.since_ms)
    snapshot, notes = group.snapshot, group.notes
    name = snapshot.state.group.application_id
    if plan is not None and name != plan.group.application_id:
        message = f"the plan is of {printable(plan.group.application_id)}, and the group is {printable(name)}"
        raise UsageError(message, fix="give the plan of this group")
    if plan is not None and not _OF_DEFAULTS.isdisjoint(note.code for note in notes):
        snapshot = replace(snapshot, config=plan.config)
        notes = [note for note in notes if note.code not in _OF_DEFAULTS]
    course = follower.take(snapshot, group.generations.rows, group.now_ms)
    new = list(dict.fromkeys(note.message for note in notes if note.message not in warnings))
    warnings.update(new)
    warn(new)
    return course, group.generations


def _name(options: FollowOptions, plan: Plan | None, poll: Poll[tuple[Course, Generations]]) -> str:
    if poll.answer is not None:
        return poll.answer[0].plan.group.application_id
    return plan.group.application_id if plan is not None else (options.group or options.application_id or [""])[0]


class _Screen:
    """Shows events: a page that is drawn anew on a terminal, else a line for each."""

    def __init__(self, options: FollowOptions, live: RichLive | None = None) -> None:
        self._options, self._live = options, live
        self._event: Event | None = None

    def __call__(self, event: Event) -> None:
        """Show an event."""
        self._event = event
        if self._live is not None:
            self._draw(event)
        elif self._options.output is OutputForm.JSON:
            write_stdout(f"{to_json(event)}\n")
        else:
            write_stdout(f"{utc(format_time(event.recorded_ms))}  {follow_message(event)}\n")

    def refresh(self, course: Course) -> None:
        """Draw the page anew, for time has passed."""
        if self._live is not None and self._event is not None:
            name = course.plan.group.application_id
            self._draw(Event(kind=self._event.kind, at_ms=course.at_ms, application_id=name, course=course))

    def _draw(self, event: Event) -> None:
        from rich.text import Text  # noqa: PLC0415 - on a terminal only

        size = page()
        text = to_terminal(follow_page(event), width=size.width, colour=size.colour)
        assert self._live is not None
        self._live.update(Text.from_ansi(text), refresh=True)


@contextmanager
def _screen(options: FollowOptions) -> Iterator[_Screen]:
    """Give what shows events; on a terminal the page goes once it has ended, for the last one stands instead."""
    if options.output is not OutputForm.TABLE or not sys.stdout.isatty():
        yield _Screen(options)
        return
    from rich.console import Console  # noqa: PLC0415 - on a terminal only
    from rich.live import Live as RichLive  # noqa: PLC0415

    console = Console(no_color=not takes_color(sys.stdout), highlight=False)
    with RichLive(console=console, auto_refresh=False, transient=True, vertical_overflow="crop") as live:
        yield _Screen(options, live)


def _finish(options: FollowOptions, course: Course | None) -> None:
    """Show the last page, and save what was planned and what happened if asked to; also where nobody waits any more."""
    if course is None:
        return
    comparison = course.comparison
    if options.out is not None and comparison is not None:
        with written_at_once(options.out) as file:
            file.write(f"{to_json(comparison)}\n")
    if options.output is OutputForm.JSON:
        return
    if course.stage is Stage.GOES_ON or comparison is None:
        name = course.plan.group.application_id
        event = Event(kind=EventKind.END, at_ms=course.at_ms, application_id=name, course=course)
        write_stdout(draw_pages([follow_page(event)], options.output))
    else:
        write_stdout(draw_pages([happened_page(comparison)], options.output))
