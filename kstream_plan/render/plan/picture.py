"""Time as columns, instances as rows: who runs how much when, what warms up, what restores, what stands still."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from kstream_plan.model.holding_changes import apart_from_stateless
from kstream_plan.plans import MemberLeft, Plan, Trigger
from kstream_plan.render.plan.activity import Event, membership, only_return
from kstream_plan.render.plan.loads import after, at_first, counted
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import clock, count
from kstream_plan.render.text.wrapping import padded, paragraph

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
}


@dataclass(frozen=True, slots=True)
class _Column:
    """What one event leaves: its heading, its time, per instance a cell, and the tasks that stood still."""

    head: str
    at: str
    cells: tuple[str, ...]
    paused: str
    plain: bool


def picture(plan: Plan, found: Sequence[Event], names: Names, width: int) -> list[str]:
    """Return the lines of the picture, at most ``width`` columns wide; ``found`` are the plan's events."""
    shown, others = _rows(plan, names)
    labels = [names.instance(plan.group.instances[index].process_id) for index in shown]
    columns = _columns(plan, found, shown)
    left = max(cell_len(label) for label in [*labels, "tasks paused"]) + 1
    cell = max(max(len(text) for text in (column.head, column.at, *column.cells)) for column in columns) + 1
    kept = _kept(columns, max(1, (width - left - 1) // cell))
    lines = [_line("probe", [column.head for column in kept], left, cell)]
    lines.append(_line("at", [column.at for column in kept], left, cell))
    lines += [_line(label, [column.cells[place] for column in kept], left, cell) for place, label in enumerate(labels)]
    if others:
        lines.append(f" {others}")
    if any(column.paused for column in kept):
        lines.append(_line("tasks paused", [column.paused or "0" for column in kept], left, cell))
    if len(kept) < len(columns):
        lines.append(f" ({len(kept)} of {count(len(columns), 'column')} fit)")
    return [*lines, *paragraph(_legend(plan, columns), width, " ", "   ")]


def _legend(plan: Plan, columns: Sequence[_Column]) -> str:
    """Return what the signs of the picture mean, as far as they can be in it."""
    signs = {cell.lstrip("0123456789") for column in columns for cell in column.cells}
    meanings = {
        "w": "w = a copy warms up there and takes no load yet",
        "r": "r = a task restores there before it runs",
        "-": "- = no member",
    }
    possible = (meaning for sign, meaning in meanings.items() if sign in "".join(signs))
    return "; ".join([f"N = {counted(plan)}s it runs", *possible])


def _rows(plan: Plan, names: Names) -> tuple[list[int], str]:
    """Return the instances to show, in the order people count in, and what to say of the others."""
    group = plan.group
    everyone = sorted(
        range(len(group.instances)), key=lambda index: names.reading_order(group.instances[index].process_id)
    )
    if len(everyone) <= _ALL:
        return everyone, ""
    first, [last] = at_first(plan), after(plan, plan.rounds[-1:])
    by_change = sorted(everyone, key=lambda index: -abs(first[index] - last[index]))
    return [index for index in everyone if index in by_change[:_MOST_CHANGED]], count(
        len(everyone) - _MOST_CHANGED, "other instance"
    )


def _columns(plan: Plan, found: Sequence[Event], shown: Sequence[int]) -> list[_Column]:
    ids = [plan.group.instances[index].process_id for index in shown]
    absent = set(membership(plan)[0])
    paused = plan.pauses.tasks_between([event.rounds[0].at_ms for event in found])
    columns = []
    loads = after(plan, [event.rounds[-1] for event in found])
    for event, paused_tasks, counts in zip(found, paused, loads, strict=True):
        for rnd in event.rounds:
            for step in rnd.member_steps:
                if isinstance(step, MemberLeft):
                    absent.add(step.process_id)
                else:
                    absent.discard(step.process_id)
        columns.append(
            _Column(
                head=_head(event),
                at=clock(event.rounds[0].at_ms),
                cells=tuple(_cells(plan, event, counts, shown, ids, absent)),
                paused=str(paused_tasks) if paused_tasks else "",
                plain=event.probe is not None and not event.cold and event.ready == event.expected,
            )
        )
    return columns


def _head(event: Event) -> str:
    if event.probe is not None:
        return str(event.probe)
    if event.resized:
        return "thread"
    trigger = event.rounds[0].trigger
    return _HEADS[Trigger.MEMBER_RESTART if trigger is Trigger.JOIN and only_return(event) else trigger]


def _cells(
    plan: Plan, event: Event, counts: Sequence[int], shown: Sequence[int], ids: Sequence[str], absent: set[str]
) -> Iterable[str]:
    held = apart_from_stateless(event.rounds[-1].assigned)
    restoring = {move.destination for move in event.cold}
    for index, process_id in zip(shown, ids, strict=True):
        if process_id in absent:
            yield "-"
            continue
        warms_up = any(held[consumer].warmup for consumer in plan.group.consumers_of[index])
        yield f"{counts[index]}{'w' * warms_up}{'r' * (process_id in restoring)}"


def _kept(columns: Sequence[_Column], room: int) -> list[_Column]:
    """Return as many columns as there is room for: the first and last, what is not plain, and others evenly between."""
    if len(columns) <= room:
        return list(columns)
    wanted = [0, len(columns) - 1, *(place for place, column in enumerate(columns) if not column.plain)]
    chosen = set(list(dict.fromkeys(wanted))[:room])
    rest = [place for place in range(len(columns)) if place not in chosen]
    free = room - len(chosen)
    chosen.update(rest[(2 * number + 1) * len(rest) // (2 * free)] for number in range(free))
    return [columns[place] for place in sorted(chosen)]


def _line(label: str, texts: Sequence[str], left: int, cell: int) -> str:
    return " " + padded(label, left) + "".join(padded(text, cell, right=True) for text in texts)
