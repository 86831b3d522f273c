"""One row of the time table: when, which generations, why, what is cut over, what warms up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kstream_plan.model import WorkId
from kstream_plan.plans import Trigger
from kstream_plan.plans.activity import Activity, Move, only_return, records_of
from kstream_plan.render.plan.counts import counts
from kstream_plan.render.plan.folding import Row, Run
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import clock, count, records, several, span


@dataclass(frozen=True, slots=True)
class Line:
    """The cells of one row; ``cut_over`` and ``warm_up`` are lists of items, ``alarm`` marks what needs a look.

    Where a list does not fit, its counts stand for it, unless there are none: what starts cold is told by name.
    """

    at: str
    generations: str
    why: str
    cut_over: tuple[str, ...]
    stateless: str
    warm_up: tuple[str, ...]
    records: str
    cut_over_counts: tuple[str, ...] = ()
    warm_up_counts: tuple[str, ...] = ()
    alarm: bool = False
    is_probe: bool = True


def line(row: Row, names: Names) -> Line:
    """Return the row of one event or of a run of events."""
    return _run_line(row) if isinstance(row, Run) else _event_line(row, names)


def _event_line(event: Activity, names: Names) -> Line:
    cut_over = tuple(_move(move, names) for move in [*event.cold, *event.warm])
    warm_up = _copies(event, names)
    if event.awaited:
        cut_over = ("none: it waits for",)
        warm_up = tuple(names.move(*copy) for copy in event.awaited)
    return Line(
        at=clock(event.rounds[0].at_ms),
        generations=span(event.rounds[0].generation, event.rounds[-1].generation),
        why=_why(event, names),
        cut_over=cut_over,
        stateless=_number(event.stateless),
        warm_up=warm_up,
        records=records(event.records) if event.records != 0 else "",
        cut_over_counts=()
        if event.cold
        else counts([(of.task_id, of.destination) for of in event.warm], ("task", "tasks"), names),
        warm_up_counts=counts([of.place for of in event.kept_copies()], ("copy", "copies"), names),
        alarm=event.ready < event.expected or bool(event.cold),
        is_probe=event.probe is not None,
    )


def _why(event: Activity, names: Names) -> str:
    if event.probe is not None:
        found = f": {event.ready}/{event.expected}" if event.expected else ""
        return f"probe {event.probe}{found}"
    joined, left = several(names.instances(event.joined), 2), several(names.instances(event.left), 2)
    if event.resized:
        return "new threads" if event.rounds[0].trigger is Trigger.JOIN else "fewer threads"
    match event.rounds[0].trigger:
        case Trigger.JOIN if joined:
            does = "return" if only_return(event) else "join"
            return f"{joined} {f'{does}s' if len(event.joined) == 1 else does}"
        case Trigger.LEAVE if left:
            return f"{left} {'leaves' if len(event.left) == 1 else 'leave'}"
        case Trigger.DEADLINE if not names.have_disks:
            return "delay over"
        case trigger:
            return _TRIGGER_WORDS.get(trigger, trigger.value)


_TRIGGER_WORDS = {
    Trigger.MANUAL: "rebalance",
    Trigger.JOIN: "join",
    Trigger.LEAVE: "leave",
    Trigger.MEMBER_RESTART: "restart",
    Trigger.CONFIG_CHANGE: "new settings",
    Trigger.LEARNER_READY: "learners ready",
    Trigger.DEADLINE: "deadline",
}


def _move(move: Move, names: Names) -> str:
    text = names.move(move.task_id, move.source, move.destination)
    return f"{text} COLD {records(move.records)}" if move.cold else text


def _copies(event: Activity, names: Names) -> tuple[str, ...]:
    """Return the copies that prepare a move, then the future standbys, two tasks of one instance together."""
    kept = event.kept_copies()
    moves = [names.move(copy.task_id, copy.source, copy.destination) for copy in kept if copy.to_run]
    tasks_of: dict[str, list[WorkId]] = {}
    for copy in kept:
        if not copy.to_run:
            tasks_of.setdefault(copy.destination, []).append(copy.task_id)
    standbys = [
        names.copies(tasks[start : start + 2], destination)
        for destination, tasks in tasks_of.items()
        for start in range(0, len(tasks), 2)
    ]
    return (*moves, *standbys)


def _number(number: int) -> str:
    return f"{number:,}" if number else ""


def _run_line(run: Run) -> Line:
    first, last = run.events[0], run.events[-1]
    expected = {event.expected for event in run.events}
    ready = f": {first.expected}/{first.expected}" if expected == {first.expected} != {0} else ": all"
    return Line(
        at=clock(first.rounds[0].at_ms),
        generations=span(first.rounds[0].generation, last.rounds[-1].generation),
        why=f"probes {first.probe}-{last.probe}{ready}",
        cut_over=_together([len(event.moves) for event in run.events]),
        stateless=_number(sum(event.stateless for event in run.events)),
        warm_up=_together([len(event.copies) for event in run.events]),
        records=records(records_of(event.records for event in run.events)),
    )


def _together(numbers: Sequence[int]) -> tuple[str, ...]:
    if not any(numbers):
        return ()
    least, most = min(numbers), max(numbers)
    return (f"{count(sum(numbers), 'task')},", f"{span(least, most)} a probe")
