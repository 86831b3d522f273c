"""The table of instances: what each runs before and after; those that change alike share a row where there are many."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from kstream_plan.plans.loads import Load, loads, without_owner
from kstream_plan.render.page import Cell, Column, Row, Table, Tone, text_cell
from kstream_plan.render.pages.plan_view import PlanView
from kstream_plan.render.text.numbers import count, span_to

#: Up to so many instances have a row each, and so many rows are there of more.
_MOST_ROWS = 12


class _Change(NamedTuple):
    """What an instance runs before and after."""

    before: Load
    after: Load


class _Layout(NamedTuple):
    """Which columns there are, and how long the longest bar is."""

    stateful: bool
    stateless: bool
    copies: bool
    most: int


def instances_table(view: PlanView) -> Table:
    """Return the table of a plan's instances: tasks before → after, and a bar of the load after."""
    plan, group = view.plan, view.plan.group
    changes = [_Change(*pair) for pair in zip(loads(plan, initial=True), loads(plan, initial=False), strict=True)]
    every = [load for change in changes for load in change]
    layout = _Layout(
        stateful=bool(group.stateful) or plan.is_of_workers,
        stateless=not plan.is_of_workers and any(load.stateless for load in every),
        copies=any(load.copies for load in every),
        most=max((_tasks(load) for load in every), default=0),
    )
    columns = [Column("Worker" if plan.is_of_workers else "Instance")]
    columns += [Column("Connectors and tasks" if plan.is_of_workers else "Stateful", right=True)] * layout.stateful
    columns += [Column("Stateless", right=True)] * layout.stateless
    columns += [Column("Standbys", right=True)] * layout.copies
    columns += [Column("Load after")]
    order = sorted(range(len(changes)), key=lambda index: view.names.reading_order(group.instances[index].process_id))
    if len(order) <= _MOST_ROWS:
        rows = [_row(_name(view, index), changes[index], layout, _tone(view, index)) for index in order]
    else:
        rows = _folded(view, order, changes, layout)
    return Table(
        "Tasks per instance, before → after" if not plan.is_of_workers else "Work per worker, before → after",
        tuple(columns),
        tuple(rows),
        _note(view),
    )


def _tasks(load: Load) -> int:
    return load.stateful + load.stateless


def _name(view: PlanView, index: int) -> str:
    process_id = view.plan.group.instances[index].process_id
    name = view.names.instance(process_id)
    if process_id in view.joined:
        return f"{name} (new)"
    return f"{name} (gone)" if process_id in view.left else name


def _tone(view: PlanView, index: int) -> Tone:
    process_id = view.plan.group.instances[index].process_id
    return "new" if process_id in view.joined else "dim" if process_id in view.left else "plain"


def _row(name: str, change: _Change, layout: _Layout, tone: Tone = "plain") -> Row:
    before, after = change
    pairs = [(before.stateful, after.stateful)] * layout.stateful
    pairs += [(before.stateless, after.stateless)] * layout.stateless
    pairs += [(before.copies, after.copies)] * layout.copies
    numbers = [text_cell(f"{first:,}" if first == last else f"{first:,} → {last:,}") for first, last in pairs]
    bar = Cell(bar=_tasks(after) / layout.most if layout.most else 0.0)
    return Row((text_cell(name), *numbers, bar), tone)


def _folded(view: PlanView, order: list[int], changes: list[_Change], layout: _Layout) -> list[Row]:
    """Return a row for each change that instances have in common, the most common one first."""
    alike: dict[tuple[_Change, str], list[int]] = defaultdict(list)
    for index in order:
        alike[changes[index], _tone(view, index)].append(index)
    groups = sorted(alike.values(), key=lambda indices: (-len(indices), order.index(indices[0])))
    rows = [_group_row(view, indices, changes[indices[0]], layout) for indices in groups[: _MOST_ROWS - 1]]
    rest = [index for indices in groups[_MOST_ROWS - 1 :] for index in indices]
    return [*rows, *([_rest_row(rest, changes, layout)] if rest else [])]


def _group_row(view: PlanView, indices: list[int], change: _Change, layout: _Layout) -> Row:
    if len(indices) == 1:
        return _row(_name(view, indices[0]), change, layout, _tone(view, indices[0]))
    process_ids = [view.plan.group.instances[index].process_id for index in indices]
    named = ", ".join(view.names.instances(process_ids)[:2])
    more = ", …" if len(indices) > 2 else ""
    kind = {"new": "new ", "dim": "gone "}.get(_tone(view, indices[0]), "")
    return _row(f"{len(indices):,} {kind}instances ({named}{more})", change, layout, _tone(view, indices[0]))


def _rest_row(rest: list[int], changes: list[_Change], layout: _Layout) -> Row:
    def cell(field: str) -> Cell:
        before = [getattr(changes[index].before, field) for index in rest]
        after = [getattr(changes[index].after, field) for index in rest]
        return text_cell(f"{span_to(min(before), max(before))} → {span_to(min(after), max(after))}")

    shown = [("stateful", layout.stateful), ("stateless", layout.stateless), ("copies", layout.copies)]
    cells = [cell(field) for field, is_there in shown if is_there]
    return Row((text_cell(f"{len(rest):,} others"), *cells, Cell(("",))))


def _note(view: PlanView) -> str:
    """Return what the names leave out, and what no instance runs when the plan ends."""
    notes = [f"… stands for {view.names.common}"] if view.names.common else []
    missing = without_owner(view.plan)
    notes += [f"{count(missing, 'task')} without an owner when the plan ends"] if missing else []
    return "; ".join(notes)
