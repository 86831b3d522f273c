"""A comparison as one line of JSON, described by ``documents/schemas/diff.json``."""

from __future__ import annotations

from kstream_plan.comparison.changes import Comparison, Side, TaskChange
from kstream_plan.comparison.protocol_view import protocol_view
from kstream_plan.designs.classic import MODELS
from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.render.json_document import document_line, pick, plain
from kstream_plan.render.pages.diff import diff_remarks, diff_sentence
from kstream_plan.render.pages.diff_tables import loads
from kstream_plan.render.pages.protocol_view import protocol_sets


def diff_json(comparison: Comparison, *, view: bool = False) -> str:
    """Return the comparison as one line of ASCII, without the line end; ``view`` adds the leader's and the members'."""
    totals, models = comparison.totals, comparison.new.models or comparison.old.models or MODELS
    answer_fields = {
        "old": _side(comparison.old),
        "new": _side(comparison.new),
        "tasks": [_task(change) for change in comparison.tasks],
        "instances": plain(comparison.instances),
        "totals": {
            **pick(totals, "tasks", "classes", "copies", "moved", "started", "restore_records"),
            **pick(totals, "pause_ms", "pause_is", "skew_before", "skew_after"),
            "cold_starts": list(comparison.cold_starts),
            "untold_generations": comparison.untold,
            "moved_share": round(totals.moved_share, 6),
        },
        **plain(diff_remarks(comparison)),
        "verdict": diff_sentence(comparison),
        **({"protocol_view": _protocol_view(comparison)} if view else {}),
    }
    return document_line("diff", FORMAT_VERSION, comparison.new.group.application_id, models, answer_fields)


def _protocol_view(comparison: Comparison) -> dict[str, Json]:
    """Return what the leader and the members saw; members in order, each with its callbacks in order."""
    view = protocol_view(comparison.old, comparison.new)
    sets = {name.replace("-", "_"): plain(tasks) for name, tasks in protocol_sets(view)}
    return {**sets, "rejoin": view.rejoin, "members": plain(view.members)}


def _side(side: Side) -> Json:
    sizes = {"instances": len(side.group.instances), "tasks": len(side.group.tasks)}
    members = [{"process_id": process_id, **plain(load)} for process_id, load in loads(side).items()]
    return {**pick(side, "generation", "captured_at"), **sizes, "members": members}


def _task(change: TaskChange) -> dict[str, Json]:
    document = plain(change)
    return {"class": document.pop("kind"), **document}
