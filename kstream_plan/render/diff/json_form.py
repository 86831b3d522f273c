"""A comparison as one line of JSON, described by ``documents/schemas/diff.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kstream_plan.comparison.changes import Comparison, CopyChange, InstanceChange, Side, Skew, Start, TaskChange
from kstream_plan.comparison.protocol_view import protocol_view
from kstream_plan.designs.classic import MODELS
from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.model import Note
from kstream_plan.plans import Seat
from kstream_plan.render.pages.diff import diff_remarks, diff_sentence
from kstream_plan.render.pages.protocol_view import protocol_sets
from kstream_plan.version import __version__


def diff_json(comparison: Comparison, *, view: bool = False) -> str:
    """Return the comparison as one line of ASCII, without the line end; ``view`` adds the leader's and the members'."""
    document = diff_document(comparison)
    if view:
        document["protocol_view"] = _protocol_view(comparison)
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def diff_document(comparison: Comparison) -> dict[str, Json]:
    """Return the comparison as plain dictionaries, lists, texts and numbers; see :func:`diff_json`."""
    totals, models = comparison.totals, comparison.new.models or comparison.old.models or MODELS
    remarks = diff_remarks(comparison)
    return {
        "format_version": FORMAT_VERSION,
        "kind": "diff",
        "application_id": comparison.new.group.application_id,
        "tool": {
            "name": "kstream-plan",
            "version": __version__,
            "models": models,
        },
        "old": _side(comparison.old),
        "new": _side(comparison.new),
        "tasks": [_task(change) for change in comparison.tasks],
        "instances": [_instance(change) for change in comparison.instances],
        "totals": {
            "tasks": totals.tasks,
            "cold_starts": list(comparison.cold_starts),
            "untold_generations": comparison.untold,
            "classes": {kind.value: number for kind, number in totals.classes.items()},
            "copies": {kind.value: number for kind, number in totals.copies.items()},
            "moved": totals.moved,
            "moved_share": round(totals.moved_share, 6),
            "started": totals.started,
            "restore_records": totals.restore_records,
            "pause_ms": totals.pause_ms,
            "pause_is": totals.pause_is,
            "skew_before": _skew(totals.skew_before),
            "skew_after": _skew(totals.skew_after),
        },
        "warnings": notes_document(remarks.warnings),
        "notes": notes_document(remarks.notes),
        "assumptions": notes_document(remarks.assumptions),
        "next": notes_document(remarks.next),
        "verdict": diff_sentence(comparison),
    }


def notes_document(notes: Sequence[Note]) -> list[Json]:
    """Return the lines of an answer, each with its code."""
    return [{"code": note.code, "message": note.message, "subjects": list(note.subjects)} for note in notes]


def _protocol_view(comparison: Comparison) -> dict[str, Json]:
    """Return what the leader and the members saw; members in order, each with its callbacks in order."""
    view = protocol_view(comparison.old, comparison.new)
    return {
        **{name.replace("-", "_"): [str(task_id) for task_id in tasks] for name, tasks in protocol_sets(view)},
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


def _side(side: Side) -> Json:
    return {
        "generation": side.generation,
        "captured_at": side.captured_at,
        "instances": len(side.group.instances),
        "tasks": len(side.group.tasks),
    }


def _task(change: TaskChange) -> Json:
    return {
        "task_id": str(change.task_id),
        "class": change.kind.value,
        "from": _seat(change.from_),
        "to": _seat(change.to),
        "copies": [_copy(copy) for copy in change.copies],
        "start": _start(change.start),
        "pause_ms": change.pause_ms,
    }


def _start(start: Start | None) -> Json:
    if start is None:
        return None
    return {
        "within": start.within,
        "held": start.held,
        "lag": start.lag,
        "limit": start.limit,
        "restore_records": start.restore_records,
    }


def _copy(copy: CopyChange) -> Json:
    return {
        "kind": copy.kind.value,
        "from": _seat(copy.from_),
        "to": _seat(copy.to),
        "restore_records": copy.restore_records,
    }


def _seat(seat: Seat | None) -> Json:
    if seat is None:
        return None
    return {"process_id": seat.process_id, "consumer_id": seat.consumer_id, "role": seat.role.value}


def _instance(change: InstanceChange) -> Json:
    return {
        "process_id": change.process_id,
        "kind": change.kind.value,
        "before": change.before,
        "after": change.after,
    }


def _skew(skew: Skew) -> Json:
    return dict(skew._asdict())
