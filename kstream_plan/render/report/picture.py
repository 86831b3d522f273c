"""Time as columns, instances as rows: who runs how much when, what warms up, what restores, what is paused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from kstream_plan.plans import MemberLeft, Plan, Trigger
from kstream_plan.plans.activity import Activity, membership, only_return
from kstream_plan.plans.loads import after, after_all, at_first
from kstream_plan.plans.role_counts import warming
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration, span_to

_PAUSED = "tasks paused"
_UNASSIGNED = "unassigned"
_MEANWHILE = "meanwhile"

#: Up to so many instances are all shown; of more, the ten that change most.
_ALL = 12
_MOST_CHANGED = 10

_HEADS = {
    Trigger.JOIN: "join",
    Trigger.LEAVE: "leave",
    Trigger.MEMBER_RESTART: "back",
    Trigger.CONFIG_CHANGE: "conf",
    Trigger.MANUAL: "now",
    Trigger.FOLLOW_UP: "then",
    Trigger.LEARNER_READY: "ready",
    Trigger.DEADLINE: "over",
}


#: The cell of an instance that is no member.
_ABSENT = "–"


@dataclass(frozen=True, slots=True)
class PictureColumn:
    """What one event leaves: its heading, its time, per instance a cell, and the tasks that were paused.

    Of a Connect group ``paused`` is what is unassigned afterwards, ``meanwhile`` what is so only until then.
    """

    head: str
    at: str
    cells: tuple[str, ...]
    paused: str
    meanwhile: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """Every column, before anything decides which of them fit, and the labels of their cells.

    Of many ``instances`` the last row is what all have that have none of their own, from the least to the most.
    ``heads`` is what the heads of the columns tell: numbers of probes, where there are any. ``paused``: what is counted
    below them.
    """

    instances: tuple[str, ...]
    columns: tuple[PictureColumn, ...]
    legend: str
    heads: str = "probe"
    paused: str = _PAUSED


def picture(plan: Plan, found: Sequence[Activity], names: Names) -> Picture:
    """Return the picture of a plan that has rounds; ``found`` are its events."""
    shown, others = shown_instances(plan, names)
    columns = _columns(plan, found, shown)
    labels = [names.instance(plan.group.instances[index].process_id) for index in shown]
    return Picture(
        instances=(*labels, *([f"{others:,} others"] if others else [])),
        columns=tuple(columns),
        legend=_legend(plan, columns),
        heads="probe" if plan.probes else "why",
        paused=_UNASSIGNED if plan.is_of_workers else _PAUSED,
    )


def still_rows(of: Picture, kept: Sequence[PictureColumn]) -> list[list[str]]:
    """Return the rows of what is paused, each after its label; none where nothing does."""
    rows = [[of.paused, *(column.paused or "0" for column in kept)]] * any(column.paused for column in kept)
    meanwhile = [[_MEANWHILE, *(column.meanwhile or "0" for column in kept)]]
    return rows + meanwhile * any(column.meanwhile for column in kept)


def _legend(plan: Plan, columns: Sequence[PictureColumn]) -> str:
    """Return what the signs of the picture mean, as far as they can be in it."""
    cells = {cell for column in columns for cell in column.cells}
    meanings = {
        "w": "w = a copy warms up there and takes no load yet",
        "r": "r = a task restores there before it runs",
        _ABSENT: f"{_ABSENT} = no member",
    }
    signs = {sign for cell in cells for sign in cell.strip("0123456789 to,")} | (cells & {_ABSENT})
    possible = (meaning for sign, meaning in meanings.items() if sign in signs)
    heard = duration(plan.config.heartbeat_interval_ms)
    meanwhile = [f"{_MEANWHILE} = unassigned until that has taken effect, up to {heard} after the time above"]
    brief = meanwhile if any(column.meanwhile for column in columns) else []
    over = plan.is_of_workers and any(column.head == _HEADS[Trigger.DEADLINE] for column in columns)
    brief += ["over = a delay is over"] if over else []
    return "; ".join([f"N = {counted(plan)}s it runs", *possible, *brief])


def shown_instances(plan: Plan, names: Names) -> tuple[list[int], int]:
    """Return the instances to show, in the order people count in, and the number of the others."""
    group = plan.group
    everyone = sorted(
        range(len(group.instances)), key=lambda index: names.reading_order(group.instances[index].process_id)
    )
    if len(everyone) <= _ALL:
        return everyone, 0
    first, last = at_first(plan), after_all(plan)
    by_change = sorted(everyone, key=lambda index: -abs(first[index] - last[index]))
    return [index for index in everyone if index in by_change[:_MOST_CHANGED]], len(everyone) - _MOST_CHANGED


def _columns(plan: Plan, found: Sequence[Activity], shown: Sequence[int]) -> list[PictureColumn]:
    ids = [instance.process_id for instance in plan.group.instances]
    others = sorted(set(range(len(ids))).difference(shown))
    cells = partial(_cells, [(index, ids[index]) for index in shown], [(index, ids[index]) for index in others])
    absent = set(membership(plan)[0])
    starts_ms = [event.rounds[0].at_ms for event in found]
    paused = list(_unrun(plan, found)) if plan.is_of_workers else _paused(plan.pauses.tasks_between(starts_ms))
    columns = []
    last = {event.rounds[-1].number for event in found}
    counts = (of for rnd, *of in zip(plan.rounds, after(plan), warming(plan), strict=True) if rnd.number in last)
    for event, (still, meanwhile), (runs, warms_up) in zip(found, paused, counts, strict=True):
        for rnd in event.rounds:
            for step in rnd.member_steps:
                if isinstance(step, MemberLeft):
                    absent.add(step.process_id)
                else:
                    absent.discard(step.process_id)
        columns.append(
            PictureColumn(
                head=head_of(event),
                at=duration(event.rounds[0].at_ms),
                cells=tuple(cells(event, runs, warms_up, absent)),
                paused=str(still) if still else "",
                meanwhile=str(meanwhile) if meanwhile else "",
            )
        )
    return columns


def _paused(numbers: Iterable[int]) -> list[tuple[int, int]]:
    return [(number, 0) for number in numbers]


def _unrun(plan: Plan, found: Sequence[Activity]) -> Iterator[tuple[int, int]]:
    """Yield how much of a Connect group is unassigned after each event, and how much only until then."""
    for event, unrun in zip(found, plan.pauses.unrun_from([of.rounds[0].at_ms for of in found]), strict=True):
        last = event.rounds[-1]
        run = {plan.group.tasks[task].task_id for held in last.assigned for task in held.active}
        left = {task.task_id for task in plan.group.tasks} - run - last.not_configured
        yield len(left), len(unrun - left)


def head_of(event: Activity) -> str:
    """Return an event in a word: the number of the probe, or what started it."""
    if event.probe is not None:
        return str(event.probe)
    if event.resized:
        return "thread"
    trigger = event.rounds[0].trigger
    return _HEADS[Trigger.MEMBER_RESTART if trigger is Trigger.JOIN and only_return(event) else trigger]


def _cells(
    shown: Sequence[tuple[int, str]],
    others: Sequence[tuple[int, str]],
    event: Activity,
    runs: Sequence[int],
    warms_up: Sequence[int],
    absent: set[str],
) -> Iterator[str]:
    restoring = {move.destination for move in event.cold}
    for index, process_id in shown:
        if process_id in absent:
            yield _ABSENT
            continue
        yield f"{runs[index]}{'w' * (warms_up[index] > 0)}{'r' * (process_id in restoring)}"

    if others:
        numbers = [runs[index] for index, process_id in others if process_id not in absent]
        yield span_to(min(numbers), max(numbers)) if numbers else _ABSENT


def counted(plan: Plan) -> str:
    """Return what is counted; an item is a connector or a task of Kafka Connect."""
    if plan.is_of_workers:
        return "item"
    return "stateless task" if plan.group.stateless and not plan.group.stateful else "stateful task"
