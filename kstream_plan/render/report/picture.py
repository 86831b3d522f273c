"""Time as columns, instances as rows: who runs how much when, what warms up, what restores, what stands still."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from rich.cells import cell_len

from kstream_plan.plans import MemberLeft, Plan, Trigger
from kstream_plan.plans.activity import Activity, membership, only_return
from kstream_plan.plans.loads import after, after_all, at_first
from kstream_plan.plans.role_counts import warming
from kstream_plan.render.plan.loads import counted
from kstream_plan.render.text.escape import markdown_row
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import clock, count, duration, span
from kstream_plan.render.text.wrapping import padded, paragraph

_PAUSED = "tasks paused"
_NOBODY = "nobody runs"
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
_ABSENT = "-"
#: So many columns has the picture in Markdown, where nobody knows how wide the page is.
_MOST_COLUMNS = 24


@dataclass(frozen=True, slots=True)
class PictureColumn:
    """What one event leaves: its heading, its time, per instance a cell, and the tasks that stood still.

    Of a Connect group ``paused`` is what nobody runs afterwards, ``meanwhile`` what nobody runs only until then.
    """

    head: str
    at: str
    cells: tuple[str, ...]
    paused: str
    plain: bool
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
        paused=_NOBODY if plan.is_of_workers else _PAUSED,
    )


def picture_lines(of: Picture, width: int) -> list[str]:
    """Return the lines of the picture, at most ``width`` columns wide."""
    left = max(cell_len(label) for label in [*of.instances, of.paused]) + 1
    cell = max(max(len(text) for text in (column.head, column.at, *column.cells)) for column in of.columns) + 1
    kept = kept_columns(of.columns, max(1, (width - left - 1) // cell))
    head, *rows = [_line(label, texts, left, cell) for label, *texts in _table(of, kept)]
    if len(kept) < len(of.columns):
        rows.append(f" ({len(kept)} of {count(len(of.columns), 'column')} fit)")
    return [head, *rows, *paragraph(of.legend, width, " ", "   ")]


def picture_markdown(of: Picture) -> str:
    """Return the picture as a Markdown table, and below it what there is to say of it."""
    kept = kept_columns(of.columns, _MOST_COLUMNS)
    head, *rows = _table(of, kept)
    table = [markdown_row(cells) for cells in (head, ["---", *["--:" for _ in kept]], *rows)]
    notes = [f"{len(kept)} of {count(len(of.columns), 'column')}"] if len(kept) < len(of.columns) else []
    return "\n".join([*table, "", f"<sub>{'; '.join([*notes, of.legend])}</sub>"])


def _table(of: Picture, kept: Sequence[PictureColumn]) -> list[list[str]]:
    """Return the rows of these columns, the heads first, each after its label."""
    rows = [[of.heads, *(column.head for column in kept)], ["at", *(column.at for column in kept)]]
    rows += [[label, *(column.cells[place] for column in kept)] for place, label in enumerate(of.instances)]
    return [*rows, *still_rows(of, kept)]


def still_rows(of: Picture, kept: Sequence[PictureColumn]) -> list[list[str]]:
    """Return the rows of what stands still, each after its label; none where nothing does."""
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
    signs = {sign for cell in cells for sign in cell.strip("0123456789-")} | (cells & {_ABSENT})
    possible = (meaning for sign, meaning in meanings.items() if sign in signs)
    heard = duration(plan.config.heartbeat_interval_ms)
    meanwhile = [f"{_MEANWHILE} = nobody runs it until that has taken effect, up to {heard} after the time above"]
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
                at=clock(event.rounds[0].at_ms),
                cells=tuple(cells(event, runs, warms_up, absent)),
                paused=str(still) if still else "",
                plain=event.probe is not None and not event.cold and event.ready == event.expected,
                meanwhile=str(meanwhile) if meanwhile else "",
            )
        )
    return columns


def _paused(numbers: Iterable[int]) -> list[tuple[int, int]]:
    return [(number, 0) for number in numbers]


def _unrun(plan: Plan, found: Sequence[Activity]) -> Iterator[tuple[int, int]]:
    """Yield how much of a Connect group nobody runs after each event, and how much only until then."""
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
        yield span(min(numbers), max(numbers)) if numbers else _ABSENT


def kept_columns(columns: Sequence[PictureColumn], room: int) -> list[PictureColumn]:
    """Return as many columns as there is room for: the first and last, what is not plain, then what shows a change.

    What is the same as the column before it goes first. Of those that count alike, some evenly between are kept.
    """
    if len(columns) <= room:
        return list(columns)
    places = range(len(columns))
    seen = [0, len(columns) - 1, *(place for place in places if not columns[place].plain)]
    chosen = set(list(dict.fromkeys(seen))[:room])
    for wanted in ([place for place in places if place and not _same(columns[place - 1], columns[place])], places):
        rest = [place for place in wanted if place not in chosen]
        free = min(room - len(chosen), len(rest))
        chosen.update(rest[(2 * number + 1) * len(rest) // (2 * free)] for number in range(free))
    return [columns[place] for place in sorted(chosen)]


def _same(before: PictureColumn, after: PictureColumn) -> bool:
    return before.cells == after.cells and (before.paused, before.meanwhile) == (after.paused, after.meanwhile)


def _line(label: str, texts: Sequence[str], left: int, cell: int) -> str:
    return " " + padded(label, left) + "".join(padded(text, cell, right=True) for text in texts)
