"""The table of instances: what each runs before and after; those that change alike share a row where there are many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kstream_plan.plans.balance import Load
from kstream_plan.plans.loads import loads, without_owner
from kstream_plan.render.page import Cell, Row, Table, Tone, columns_of, text_row
from kstream_plan.render.pages.plan_rounds import PlanView
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import arrow, count, sample_text, span_to

#: Up to this many instances have a row each, and so many rows are there of more.
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


def instances_table(view: PlanView) -> Table:
    """Return the table of a plan's instances: tasks before → after, and a bar of the load after."""
    plan = view.plan
    changes = dict.fromkeys(view.departures, "gone") | dict.fromkeys(view.arrivals, "new")
    rows_of_loads = zip(plan.group.instances, loads(plan, initial=True), loads(plan, initial=False), strict=True)
    members = [
        MemberLoad(instance.process_id, old, new, changes.get(instance.process_id, ""))
        for instance, old, new in rows_of_loads
    ]
    orphans = without_owner(plan)
    note = f"{count(orphans, 'task')} without an owner when the plan ends" if orphans else ""
    return members_table(members, view.names, of_workers=plan.is_of_workers, note=note)


def members_table(members: Sequence[MemberLoad], names: Names, *, of_workers: bool, note: str = "") -> Table:
    """Return the table of any members: tasks before → after, and a bar of the load after.

    Args:
        members: who runs what.
        names: what they are called.
        of_workers: it is of a Connect group.
        note: what stands below the table.
    """
    every = [load for member in members for load in (member.old, member.new)]
    most = max((load.tasks for load in every), default=0)
    order = sorted(members, key=lambda member: names.reading_order(member.process_id))
    groups = [(_name(member, names), [member]) for member in order]
    rows = [_row(label, alike, most) for label, alike in (groups if len(order) <= _MOST_ROWS else _fold(order, names))]
    work, subject = ("Connectors and tasks", "Work") if of_workers else ("Stateful", "Tasks")
    table = Table(
        "Work per worker, before → after" if of_workers else "Tasks per instance, before → after",
        columns_of("Worker" if of_workers else "Instance", f">{work}", ">Stateless", ">Copies", f"{subject} after"),
        tuple(rows),
        "; ".join(filter(None, (names.common and f"… stands for {names.escape(names.common)}", note))),
    )
    stateless = not of_workers and any(load.stateless for load in every)
    left_out = [work] if stateless and not any(load.stateful for load in every) else []
    left_out += [] if stateless else ["Stateless"]
    left_out += [] if any(load.copies for load in every) else ["Copies"]
    return table.leave_out(*left_out)


def _name(member: MemberLoad, names: Names) -> str:
    name = names.instance(member.process_id)
    return f"{name} ({member.change})" if member.change else name


def _fold(order: Sequence[MemberLoad], names: Names) -> Iterator[tuple[str, Sequence[MemberLoad]]]:
    """Yield who shares a row, with its label: those that change alike, the most common change first, then the rest."""
    alike: dict[tuple[Load, Load, str], list[MemberLoad]] = defaultdict(list)
    for member in order:
        alike[member[1:]].append(member)
    groups = sorted(alike.values(), key=lambda members: (-len(members), order.index(members[0])))
    for members in groups[: _MOST_ROWS - 1]:
        first, is_single = members[0], len(members) == 1
        labels = names.instances([member.process_id for member in members])
        yield (_name(first, names) if is_single else sample_text(labels, "instance", first.change)), members
    rest = [member for members in groups[_MOST_ROWS - 1 :] for member in members]
    if rest:
        yield f"{len(rest):,} others", rest


def _row(label: str, members: Sequence[MemberLoad], most: int) -> Row:
    """Return the row of members: each figure from the least to the most, and a bar if they change alike."""

    def text(field: str) -> str:
        old, new = ([getattr(member[end], field) for member in members] for end in (1, 2))
        return arrow(span_to(min(old), max(old)), span_to(min(new), max(new)))

    load = members[0].new.tasks
    bar = Cell((f"{load:,}",), bar=load / most if most else 0.0)
    is_alike = len({member[1:] for member in members}) == 1
    cells = (text("stateful"), text("stateless"), text("copies"), bar if is_alike else Cell(("",)))
    return text_row(label, *cells, tone=members[0].tone if is_alike else "plain")
