"""What the leader and the members saw of a rebalance (KIP-429), as tables of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.comparison.changes import Comparison
from kstream_plan.comparison.protocol_view import MemberView, ProtocolView, protocol_view
from kstream_plan.model import WorkId
from kstream_plan.plans import Role, Seat
from kstream_plan.render.page import Cell, Table, columns_of, text_cell, text_row
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count


def protocol_view_tables(comparison: Comparison, names: Names) -> Iterator[Table]:
    """Yield the three sets and what is withheld, then the callbacks of every member that has some."""
    view = protocol_view(comparison.old, comparison.new)
    sets = {
        "maybe-revoking": view.maybe_revoking,
        "withheld": view.withheld,
        "ready-to-migrate": view.ready_to_migrate,
        "unknown-but-owned": view.unknown_but_owned,
    }
    rows = tuple(text_row(name, f"{len(tasks):,}", _tasks(tasks, names)) for name, tasks in sets.items())
    yield Table("What the leader saw (KIP-429)", columns_of("Set", ">Tasks", "Which"), rows, _rejoin(view))
    members = tuple(
        text_row(_member(member, names), _tasks(member.revoked, names), _tasks(member.added, names))
        for member in view.members
        if member.added or member.revoked
    )
    if members:
        yield Table("Callbacks", columns_of("Consumer", "onPartitionsRevoked", "onPartitionsAssigned"), members)


def _tasks(tasks: Sequence[WorkId], names: Names) -> Cell:
    return Cell(tuple(map(names.task, tasks))) if tasks else text_cell("")


def _rejoin(view: ProtocolView) -> str:
    if not view.rejoin:
        return "No consumer rejoins."
    deadline = "until it is revoked" if len(view.withheld) == 1 else "until they are revoked"
    withheld_tasks = count(len(view.withheld), "task is", "tasks are")
    return f"All {count(len(view.members), 'consumer')} rejoin at once: {withheld_tasks} left out {deadline}."


def _member(member: MemberView, names: Names) -> str:
    seat = names.seat(Seat(member.process_id, member.consumer_id, Role.ACTIVE))
    return f"{seat} (had revoked everything)" if member.gave_up else seat
