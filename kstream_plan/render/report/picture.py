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

    Of a Connect group ``pauses`` is what is unassigned afterwards, ``interim`` what is so only until then.
    """

    head: str
    time: str
    cells: tuple[str, ...]
    pauses: str
    interim: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """Every column, before anything decides which of them fit, and the labels of their cells.

    Of many ``instances`` the last row is what all have that have none of their own, from the least to the most.
    ``heads`` is what the heads of the columns tell: numbers of probes, where there are any. ``pause_label``: what
    is counted below them.
    """

    instances: tuple[str, ...]
    columns: tuple[PictureColumn, ...]
    legend: str
    heads: str = "probe"
    pause_label: str = _PAUSED


def picture(plan: Plan, activities: Sequence[Activity], names: Names) -> Picture:
    """Return the picture of a plan that has rounds; ``activities`` are its events."""
    instances, hidden_count = shown_instances(plan, names)
    columns = _columns(plan, activities, instances)
    labels = [names.instance(plan.group.instances[index].process_id) for index in instances]
    return Picture(
        instances=(*labels, *([f"{hidden_count:,} others"] if hidden_count else [])),
        columns=tuple(columns),
        legend=_legend(plan, columns),
        heads="probe" if plan.probes else "why",
        pause_label=_UNASSIGNED if plan.is_of_workers else _PAUSED,
    )


def still_rows(picture: Picture, columns: Sequence[PictureColumn]) -> list[list[str]]:
    """Return the rows of what is paused, each after its label; none where nothing does."""
    rows = [[picture.pause_label, *(column.pauses or "0" for column in columns)]] * any(
        column.pauses for column in columns
    )
    unassigned_row = [[_MEANWHILE, *(column.interim or "0" for column in columns)]]
    return rows + unassigned_row * any(column.interim for column in columns)


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
    notice = duration(plan.config.heartbeat_interval_ms)
    unassigned_note = [f"{_MEANWHILE} = unassigned until that has taken effect, up to {notice} after the time above"]
    brief = unassigned_note if any(column.interim for column in columns) else []
    has_deadline = plan.is_of_workers and any(column.head == _HEADS[Trigger.DEADLINE] for column in columns)
    brief += ["over = a delay is over"] if has_deadline else []
    return "; ".join([f"N = {count_text(plan)}s it runs", *possible, *brief])


def shown_instances(plan: Plan, names: Names) -> tuple[list[int], int]:
    """Return the instances to show, in the order people count in, and the number of the others."""
    group = plan.group
    order = sorted(
        range(len(group.instances)), key=lambda index: names.reading_order(group.instances[index].process_id)
    )
    if len(order) <= _ALL:
        return order, 0
    first, last = at_first(plan), after_all(plan)
    by_change = sorted(order, key=lambda index: -abs(first[index] - last[index]))
    return [index for index in order if index in by_change[:_MOST_CHANGED]], len(order) - _MOST_CHANGED


def _columns(plan: Plan, activities: Sequence[Activity], instances: Sequence[int]) -> list[PictureColumn]:
    ids = [instance.process_id for instance in plan.group.instances]
    rest = sorted(set(range(len(ids))).difference(instances))
    cells = partial(_cells, [(index, ids[index]) for index in instances], [(index, ids[index]) for index in rest])
    absent = set(membership(plan)[0])
    starts_ms = [event.rounds[0].at_ms for event in activities]
    pauses = (
        list(_idle_numbers(plan, activities))
        if plan.is_of_workers
        else _pause_numbers(plan.pauses.tasks_between(starts_ms))
    )
    columns = []
    last = {event.rounds[-1].number for event in activities}
    counts = (
        counts_of_round
        for rnd, *counts_of_round in zip(plan.rounds, after(plan), warming(plan), strict=True)
        if rnd.number in last
    )
    for event, (still, interim), (runs, warms_up) in zip(activities, pauses, counts, strict=True):
        for rnd in event.rounds:
            for step in rnd.member_steps:
                if isinstance(step, MemberLeft):
                    absent.add(step.process_id)
                else:
                    absent.discard(step.process_id)
        columns.append(
            PictureColumn(
                head=head_of(event),
                time=duration(event.rounds[0].at_ms),
                cells=tuple(cells(event, runs, warms_up, absent)),
                pauses=str(still) if still else "",
                interim=str(interim) if interim else "",
            )
        )
    return columns


def _pause_numbers(numbers: Iterable[int]) -> list[tuple[int, int]]:
    return [(number, 0) for number in numbers]


def _idle_numbers(plan: Plan, activities: Sequence[Activity]) -> Iterator[tuple[int, int]]:
    """Yield how much of a Connect group is unassigned after each event, and how much only until then."""
    for event, idle in zip(
        activities, plan.pauses.unrun_from([activity.rounds[0].at_ms for activity in activities]), strict=True
    ):
        last = event.rounds[-1]
        run = {plan.group.tasks[task].task_id for holding in last.assigned for task in holding.active}
        idle_tasks = {task.task_id for task in plan.group.tasks} - run - last.not_configured
        yield len(idle_tasks), len(idle - idle_tasks)


def head_of(event: Activity) -> str:
    """Return an event in a word: the number of the probe, or what started it."""
    if event.probe is not None:
        return str(event.probe)
    if event.resized:
        return "thread"
    trigger = event.rounds[0].trigger
    return _HEADS[Trigger.MEMBER_RESTART if trigger is Trigger.JOIN and only_return(event) else trigger]


def _cells(
    instances: Sequence[tuple[int, str]],
    rest: Sequence[tuple[int, str]],
    event: Activity,
    runs: Sequence[int],
    warms_up: Sequence[int],
    absent: set[str],
) -> Iterator[str]:
    restoring = {move.destination for move in event.cold}
    for index, process_id in instances:
        if process_id in absent:
            yield _ABSENT
            continue
        yield f"{runs[index]}{'w' * (warms_up[index] > 0)}{'r' * (process_id in restoring)}"

    if rest:
        numbers = [runs[index] for index, process_id in rest if process_id not in absent]
        yield span_to(min(numbers), max(numbers)) if numbers else _ABSENT


def count_text(plan: Plan) -> str:
    """Return what is counted; an item is a connector or a task of Kafka Connect."""
    if plan.is_of_workers:
        return "item"
    return "stateless task" if plan.group.stateless and not plan.group.stateful else "stateful task"
