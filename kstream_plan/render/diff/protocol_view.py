"""The leader's and the members' view of a rebalance, as lines of a table, as Markdown, as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.comparison.changes import Comparison
from kstream_plan.comparison.protocol_view import ProtocolView, protocol_view
from kstream_plan.documents.codec import Json
from kstream_plan.model import WorkId
from kstream_plan.plans import Role, Seat
from kstream_plan.render.diff.story import names_of_both
from kstream_plan.render.text.escape import MARKDOWN, markdown_row
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count
from kstream_plan.render.text.wrapping import wrapped

_LABEL = 19


def protocol_view_table(found: Comparison, *, width: int) -> str:
    """Return the three sets, who joins again, and each member's callbacks, as lines of text, each ended."""
    names, view = names_of_both(found), protocol_view(found.old, found.new)
    lines = ["", "THE LEADER'S VIEW (KIP-429)"]
    for label, tasks in _sets(view):
        lines += wrapped(_tasks(tasks, names), " ", width, f" {label:<{_LABEL}}", " " * (_LABEL + 1))
    lines += wrapped(_rejoin(view).split(" "), " ", width, f" {'rejoin':<{_LABEL}}", " " * (_LABEL + 1))
    for member, callbacks in _members(view, names):
        lines += wrapped(callbacks.split(" "), " ", width, f" {member}: ", "   ")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def protocol_view_markdown(found: Comparison) -> str:
    """Return the same as Markdown, its lines ended."""
    names, view = names_of_both(found, MARKDOWN), protocol_view(found.old, found.new)
    sets = "\n".join(f"- **{label}** {' '.join(_tasks(tasks, names))}" for label, tasks in _sets(view))
    rows = [markdown_row(cells) for cells in (("member", "callbacks"), ("---", "---"), *_members(view, names))]
    return "\n".join(["\n**The leader's view (KIP-429)**\n", sets, f"- **rejoin** {_rejoin(view)}\n", *rows]) + "\n"


def protocol_view_document(found: Comparison) -> dict[str, Json]:
    """Return the same as plain dictionaries, lists and texts; members in order, each with its callbacks in order."""
    view = protocol_view(found.old, found.new)
    return {
        **{label.replace("-", "_"): [str(task_id) for task_id in tasks] for label, tasks in _sets(view)},
        "rejoin": view.rejoin,
        "members": [
            {
                "process_id": member.process_id,
                "consumer_id": member.consumer_id,
                "added": [str(task_id) for task_id in member.added],
                "revoked": [str(task_id) for task_id in member.revoked],
                "gave_up": member.gave_up,
            }
            for member in view.members
        ],
    }


def _sets(view: ProtocolView) -> list[tuple[str, Sequence[WorkId]]]:
    return [
        ("maybe-revoking", view.maybe_revoking),
        ("withheld", view.withheld),
        ("ready-to-migrate", view.ready_to_migrate),
        ("unknown-but-owned", view.unknown_but_owned),
    ]


def _tasks(tasks: Sequence[WorkId], names: Names) -> list[str]:
    return [count(len(tasks)) + (":" if tasks else ""), *(names.task(task_id) for task_id in tasks)]


def _rejoin(view: ProtocolView) -> str:
    if not view.rejoin:
        return "nobody"
    left_out = f"{count(len(view.withheld), 'task')} left out until revoked"
    return f"all {count(len(view.members), 'consumer')}, at once: {left_out}"


def _members(view: ProtocolView, names: Names) -> list[tuple[str, str]]:
    """Return who starts or stops something, with its callbacks in order."""
    found = []
    for member in view.members:
        callbacks = [
            f"{callback}({', '.join(map(names.task, tasks))})"
            for callback, tasks in (("onPartitionsAssigned", member.added), ("onPartitionsRevoked", member.revoked))
            if tasks
        ]
        if callbacks:
            seat = names.seat(Seat(member.process_id, member.consumer_id, Role.ACTIVE))
            gave_up = "had given up everything; " if member.gave_up else ""
            found.append((seat, gave_up + ", ".join(callbacks)))
    return found
