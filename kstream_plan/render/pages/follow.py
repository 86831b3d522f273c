"""A group that is followed: each event in a sentence, and the page of where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.comparison.prediction import GenerationPair, Likeness
from kstream_plan.live.course import Course, MovedTask, RestoringCopy, Stage
from kstream_plan.live.events import Event, EventKind
from kstream_plan.model.note import Remarks
from kstream_plan.model.times import format_time
from kstream_plan.render.page import Cell, Fact, Page, Row, Table, Tone, columns_of, text_cell, text_row
from kstream_plan.render.pages.happened import (
    difference_tables,
    happened_first,
    happened_first_difference,
    happened_verdict,
    off_by,
    rebalance_row,
    started_by,
)
from kstream_plan.render.pages.plan_rounds import TRIGGER_WORDS
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, name_list, utc

#: So many rebalances that came, and that are due, are on the page; so many copies that restore.
_MOST_CAME, _MOST_DUE, _MOST_COPIES = 8, 4, 12
_TONES: dict[Stage, Tone] = {
    Stage.GOES_ON: "plain",
    Stage.AS_PLANNED: "good",
    Stage.OTHERWISE: "bad",
    Stage.DOES_NOT_SETTLE: "bad",
}


def follow_message(event: Event) -> str:
    """Return an event in a sentence, as the JSON has it."""
    if event.kind is EventKind.NO_ANSWER:
        return f"The source does not answer, and is asked again: {printable(event.problem)}"
    if event.kind is EventKind.ANSWER:
        return "The source answers again"
    course = event.course
    assert course is not None
    names = _names(course)
    match event.kind:
        case EventKind.BEGIN:
            outlook = "" if course.comparison is not None else _outlook(course)
            message = f"{names.escape(event.application_id)}: {_begin(course)}{outlook}"
        case EventKind.REBALANCE:
            assert event.pair is not None
            is_newest = course.comparison is None or event.pair is course.comparison.recorded_pairs[-1]
            message = f"{_rebalance(event.pair, course, names)}{_outlook(course) if is_newest else ''}"
        case EventKind.MOVED:
            message = f"{_moves(event.moved_tasks, names)}{_outlook(course)}"
        case EventKind.CAUGHT_UP:
            copies = name_list([f"{names.task(copy.task_id)} on {_name(copy, names)}" for copy in event.caught_up])
            rest = f"; {count(len(course.restoring), 'copy restores', 'copies restore')}" if course.restoring else ""
            message = f"Caught up: {copies}{rest}"
        case _:
            message = _end(course)
    return message


def _names(course: Course) -> Names:
    """Return the names of the plan's members, and of those that only the group has."""
    return Names(course.plan.group if course.comparison is None else course.comparison.group)


def follow_remarks(event: Event) -> Remarks:
    """Return the lines of an event: those of ``diff`` at the end, else none."""
    comparison = None if event.course is None else event.course.comparison
    return Remarks() if comparison is None or event.kind is not EventKind.END else comparison.remarks


def _begin(course: Course) -> str:
    if not course.plan.rounds:
        return "no rebalance is planned"
    return f"{count(len(course.plan.rounds), 'rebalance')} planned"


def _outlook(course: Course) -> str:
    """Return when the next rebalance is due and when the group is expected to have settled, after a full stop."""
    if course.stage is not Stage.GOES_ON:
        return ""
    if course.doubts:
        return f". {_doubts(course)}"
    parts = []
    if course.next_ms is not None and course.next_ms >= course.at_ms:
        parts.append(f"Next rebalance at {utc(format_time(course.next_ms))}")
    if course.ends_ms is not None and course.ends_ms >= course.at_ms:
        parts.append(f"settled at about {utc(format_time(course.ends_ms))}")
    text = ", ".join(parts)
    return f". {text[0].upper()}{text[1:]}" if text else ""


def _doubts(course: Course) -> str:
    """Return why it is unknown whether the group has settled."""
    return f"Whether the group has settled is unknown: {'; '.join(course.doubts)}"


def _moves(tasks: Sequence[MovedTask], names: Names) -> str:
    """Return which tasks run elsewhere since the previous poll."""
    moves = [
        f"{names.task(task.task_id)} on {_instance(task.destination, names)} (was {_instance(task.source, names)})"
        for task in tasks
    ]
    return f"{count(len(tasks), 'task runs', 'tasks run')} elsewhere: {name_list(moves)}"


def _rebalance(pair: GenerationPair, course: Course, names: Names) -> str:
    """Return how a rebalance came: as planned, or what it has otherwise."""
    trigger = started_by(pair)
    place = f"Rebalance {pair.number:,} of {len(course.plan.rounds):,}"
    if pair.likeness is Likeness.NOT_SAID:
        return f"Rebalance {pair.number:,} is not planned{f' ({trigger})' if trigger else ''}"
    late = off_by(pair.late_ms)
    if pair.likeness.is_as_planned:
        threads = ", on other threads" if pair.likeness is Likeness.OTHER_THREADS else ""
        return f"{place} came as planned{threads} ({', '.join(filter(None, (trigger, late)))})"
    reasons = []
    if pair.members_seen:
        reasons.append(f"{name_list(names.instances(pair.members_seen))} took part, which the plan does not have")
    if pair.members_said:
        reasons.append(f"{name_list(names.instances(pair.members_said))} did not take part")
    if pair.tasks:
        tasks = name_list([names.task(task.task_id) for task in pair.tasks])
        reasons.append(f"{count(len(pair.tasks), 'task differs', 'tasks differ')}: {tasks}")
    return f"{place} came otherwise than planned ({', '.join(filter(None, (trigger, late)))}): {'; '.join(reasons)}"


def _end(course: Course) -> str:
    """Return how it ended."""
    if course.stage is Stage.DOES_NOT_SETTLE:
        assert course.rest is not None
        return f"The group does not settle: {course.rest.verdict.reason}"
    if not course.is_recorded:
        if not course.misplaced_tasks:
            return "The group has settled, and every task is assigned where planned"
        tasks = name_list([str(task.task_id) for task in course.misplaced_tasks])
        number = count(len(course.misplaced_tasks), "task is assigned", "tasks are assigned")
        return printable(f"The group has settled, and {number} elsewhere than planned: {tasks}")
    if course.comparison is None:
        return (
            "The group has settled" if course.stage is Stage.AS_PLANNED else "The group has settled, and nothing came"
        )
    difference = happened_first_difference(course.comparison)
    first = "" if difference is None else f" Rebalance {difference.first.pair.number:,}: {difference.message}."
    return f"The group has settled. {happened_verdict(course.comparison)}{first}"


def follow_page(event: Event) -> Page:
    """Return the page of where a group stands that is followed."""
    course = event.course
    name = printable(event.application_id)
    if course is None:
        return Page(title=f"{name}: followed", tone="unknown", sentences=(follow_message(event),))
    names = _names(course)
    problem = (follow_message(event),) if event.problem else ()
    return Page(
        title=f"{name}: {'followed' if course.stage is Stage.GOES_ON else 'has been followed'}",
        tone="unknown" if event.problem else _TONES[course.stage],
        sentences=(*problem, _state(course), *([f"{_doubts(course)}."] if course.doubts else [])),
        facts=tuple(_facts(course)),
        source=f"as of {utc(format_time(event.at_ms))}",
        tables=tuple(_tables(course, names)),
    )


def _state(course: Course) -> str:
    if course.stage is not Stage.GOES_ON:
        return _end(course)
    if course.comparison is None:
        if not course.is_recorded:
            return "The group has not settled where planned yet."
        return "No planned rebalance has come yet." if course.plan.rounds else "No rebalance is planned."
    return f"{happened_verdict(course.comparison)}{_difference(course)}"


def _difference(course: Course) -> str:
    """Return what the first rebalance that came otherwise than planned comes from, after a blank."""
    comparison = course.comparison
    is_otherwise = comparison is not None and not comparison.ends_early
    return happened_first(comparison) if comparison is not None and is_otherwise else ""


def _facts(course: Course) -> Iterator[Fact]:
    number = 0 if course.comparison is None else len(course.comparison.recorded_pairs)
    if course.is_recorded:
        yield Fact("rebalances", "Rebalances", f"{number:,} of {len(course.plan.rounds):,} planned")
    if course.late_ms is not None:
        yield Fact("late", "Newest one", off_by(course.late_ms))
    if course.stage is Stage.GOES_ON:
        yield Fact("next", "Next one", _in(course.next_ms, course.at_ms))
        if course.rest is not None:
            yield Fact("left", "Left", count(len(course.rest.rounds), "rebalance"))
        yield Fact("ends", "Settled", f"about {_in(course.ends_ms, course.at_ms)}" if course.ends_ms else "unknown")
    yield Fact("restoring", "Restoring", _restoring(course.restoring))


def _restoring(copies: Sequence[RestoringCopy]) -> str:
    """Return how many copies restore, and how much that is, as far as it is known."""
    if not copies:
        return "none"
    lags = [copy.lag for copy in copies if copy.lag is not None]
    parts = [count(len(copies), "copy", "copies")]
    parts += [f"{count(sum(lags), 'record')} to go"] if lags else []
    unknown = len(copies) - len(lags)
    parts += [f"{unknown:,} of unknown lag" if lags else "lags unknown"] if unknown else []
    return ", ".join(parts)


def _in(time_ms: int | None, now_ms: int) -> str:
    if time_ms is None:
        return "unknown"
    wait = duration(time_ms - now_ms)
    return (
        f"in {wait}, at {utc(format_time(time_ms))}" if time_ms > now_ms else f"due since {duration(now_ms - time_ms)}"
    )


def _tables(course: Course, names: Names) -> Iterator[Table]:
    rows = list(_came_rows(course)) + list(_due_rows(course))
    if rows:
        columns = columns_of(">#", ">Planned", ">Happened", ">Off by", "Rebalance", "Decision")
        yield Table("Rebalances", columns, tuple(rows))
    if course.comparison is not None:
        yield from difference_tables(course.comparison, names, verbose=False)
    if course.restoring:
        columns = columns_of("Task", "Instance", ">Records behind", "Restored")
        copies = sorted(course.restoring, key=lambda copy: (-(copy.lag or 0), copy.task_id.sort_key, copy.process_id))
        left_out = len(copies) - _MOST_COPIES
        note = f"and {left_out:,} more" if left_out > 0 else ""
        yield Table(
            "Copies that restore", columns, tuple(_copy_row(copy, names) for copy in copies[:_MOST_COPIES]), note
        )


def _came_rows(course: Course) -> Iterator[Row]:
    pairs = () if course.comparison is None else course.comparison.recorded_pairs
    if len(pairs) > _MOST_CAME:
        rest = pairs[:-_MOST_CAME]
        as_planned = sum(pair.likeness.is_as_planned for pair in rest)
        text = f"{as_planned:,} of {len(rest):,} as planned"
        yield text_row(f"{rest[0].number}–{rest[-1].number}", "", "", "", "", text_cell(text, "dim"))
    yield from map(rebalance_row, pairs[-_MOST_CAME:])


def _due_rows(course: Course) -> Iterator[Row]:
    if course.stage is not Stage.GOES_ON or not course.is_recorded:
        return
    numbers = course.due
    for place, number in enumerate(numbers[:_MOST_DUE]):
        rnd = course.plan.rounds[number - 1]
        state = text_cell("under way" if place == 0 and course.comparison is not None else "due", "dim")
        yield text_row(text_cell(f"{number:,}", "dim"), duration(rnd.at_ms), "", "", TRIGGER_WORDS[rnd.trigger], state)
    if len(numbers) > _MOST_DUE:
        rest = numbers[_MOST_DUE:]
        last = duration(course.plan.rounds[rest[-1] - 1].at_ms)
        span = f"{rest[0]:,}–{rest[-1]:,}" if len(rest) > 1 else f"{rest[0]:,}"
        yield text_row(text_cell(span, "dim"), f"to {last}", "", "", "", text_cell("due", "dim"))


def _copy_row(copy: RestoringCopy, names: Names) -> Row:
    share = 0.0 if not copy.most or copy.lag is None else 1 - copy.lag / copy.most
    progress = Cell((f"{share:.0%}",), bar=share) if copy.lag is not None else text_cell("")
    lag = "unknown" if copy.lag is None else f"{copy.lag:,}"
    return text_row(names.task(copy.task_id), _name(copy, names), lag, progress)


def _name(copy: RestoringCopy, names: Names) -> str:
    """Return the name of a copy's instance."""
    return _instance(copy.process_id, names)


def _instance(process_id: str | None, names: Names) -> str:
    """Return the name of an instance; of one that the plan does not know its id."""
    if process_id is None:
        return "none"
    try:
        return names.instance(process_id)
    except KeyError:
        return printable(process_id)
