"""The table of instances: what each runs before and after; those that change alike share a row where there are many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from kstream_plan.plans.loads import Load, loads, without_owner
from kstream_plan.render.page import Cell, Column, Row, Table, Tone, text_cell
from kstream_plan.render.pages.plan_view import PlanView
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, span_to

#: Up to so many instances have a row each, and so many rows are there of more.
_MOST_ROWS = 12


class MemberLoad(NamedTuple):
    """What an instance, or a worker, runs before and after.

    process_id: which one.
    old: what it runs first; nothing if it was no member.
    new: what it runs in the end; nothing if it is no member any more.
    change: ``new``, ``gone``, or empty.
    """

    process_id: str
    old: Load
    new: Load
    change: str = ""

    @property
    def tone(self) -> Tone:
        """What the change means."""
        return "new" if self.change == "new" else "dim" if self.change == "gone" else "plain"


class _Layout(NamedTuple):
    """Which columns there are, and how long the longest bar is."""

    stateful: bool
    stateless: bool
    copies: bool
    most: int


def instances_table(view: PlanView) -> Table:
    """Return the table of a plan's instances: tasks before → after, and a bar of the load after."""
    plan = view.plan
    rows_of_loads = zip(plan.group.instances, loads(plan, initial=True), loads(plan, initial=False), strict=True)
    members = [
        MemberLoad(instance.process_id, old, new, _change(view, instance.process_id))
        for instance, old, new in rows_of_loads
    ]
    orphans = without_owner(plan)
    note = f"{count(orphans, 'task')} without an owner when the plan ends" if orphans else ""
    return members_table(members, view.names, of_workers=plan.is_of_workers, note=note)


def _change(view: PlanView, process_id: str) -> str:
    return "new" if process_id in view.arrivals else "gone" if process_id in view.departures else ""


def members_table(members: Sequence[MemberLoad], names: Names, *, of_workers: bool, note: str = "") -> Table:
    """Return the table of any members: tasks before → after, and a bar of the load after.

    Args:
        members: who runs what.
        names: what they are called.
        of_workers: it is of a Connect group.
        note: what stands below the table.
    """
    every = [load for member in members for load in (member.old, member.new)]
    stateless = not of_workers and any(load.stateless for load in every)
    layout = _Layout(
        stateful=any(load.stateful for load in every) or not stateless,
        stateless=stateless,
        copies=any(load.copies for load in every),
        most=max((_tasks(load) for load in every), default=0),
    )
    columns = [Column("Worker" if of_workers else "Instance")]
    columns += [Column("Connectors and tasks" if of_workers else "Stateful", right=True)] * layout.stateful
    columns += [Column("Stateless", right=True)] * layout.stateless
    columns += [Column("Standbys", right=True)] * layout.copies
    columns += [Column("Tasks after" if not of_workers else "Work after")]
    order = sorted(members, key=lambda member: names.reading_order(member.process_id))
    is_small = len(order) <= _MOST_ROWS
    rows = [_row(_name(member, names), member, layout) for member in order] if is_small else _fold(order, names, layout)
    notes = [f"… stands for {names.escape(names.common)}"] if names.common else []
    return Table(
        "Work per worker, before → after" if of_workers else "Tasks per instance, before → after",
        tuple(columns),
        tuple(rows),
        "; ".join([*notes, *([note] if note else [])]),
    )


def _tasks(load: Load) -> int:
    return load.stateful + load.stateless


def _name(member: MemberLoad, names: Names) -> str:
    name = names.instance(member.process_id)
    return f"{name} ({member.change})" if member.change else name


def _row(name: str, member: MemberLoad, layout: _Layout) -> Row:
    old, new = member.old, member.new
    pairs = [(old.stateful, new.stateful)] * layout.stateful
    pairs += [(old.stateless, new.stateless)] * layout.stateless
    pairs += [(old.copies, new.copies)] * layout.copies
    numbers = [text_cell(f"{first:,}" if first == last else f"{first:,} → {last:,}") for first, last in pairs]
    bar = Cell((f"{_tasks(new):,}",), bar=_tasks(new) / layout.most if layout.most else 0.0)
    return Row((text_cell(name), *numbers, bar), member.tone)


def _fold(order: Sequence[MemberLoad], names: Names, layout: _Layout) -> list[Row]:
    """Return a row for each change that members have in common, the most common one first."""
    alike: dict[tuple[Load, Load, str], list[MemberLoad]] = defaultdict(list)
    for member in order:
        alike[member[1:]].append(member)
    groups = sorted(alike.values(), key=lambda members: (-len(members), order.index(members[0])))
    rows = [_group_row(members, names, layout) for members in groups[: _MOST_ROWS - 1]]
    rest = [member for members in groups[_MOST_ROWS - 1 :] for member in members]
    return [*rows, *([_rest_row(rest, layout)] if rest else [])]


def _group_row(members: Sequence[MemberLoad], names: Names, layout: _Layout) -> Row:
    first = members[0]
    if len(members) == 1:
        return _row(_name(first, names), first, layout)
    member_names = ", ".join(names.instances([member.process_id for member in members])[:2])
    ellipsis = ", …" if len(members) > 2 else ""
    kind = f"{first.change} " if first.change else ""
    return _row(f"{len(members):,} {kind}instances ({member_names}{ellipsis})", first, layout)


def _rest_row(rest: Sequence[MemberLoad], layout: _Layout) -> Row:
    def cell(field: str) -> Cell:
        old_values = [getattr(member.old, field) for member in rest]
        new_values = [getattr(member.new, field) for member in rest]
        return text_cell(f"{span_to(min(old_values), max(old_values))} → {span_to(min(new_values), max(new_values))}")

    columns = [("stateful", layout.stateful), ("stateless", layout.stateless), ("copies", layout.copies)]
    cells = [cell(field) for field, is_there in columns if is_there]
    return Row((text_cell(f"{len(rest):,} others"), *cells, Cell(("",))))
