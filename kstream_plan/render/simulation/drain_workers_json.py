"""The answer to "may this Connect worker stop?" as JSON."""

from __future__ import annotations

import json

from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.documents.plan.write import notes
from kstream_plan.plans.remarks import remarks
from kstream_plan.render.simulation.drain_json import follows_json
from kstream_plan.simulation.drain_workers import WorkersDrained
from kstream_plan.version import __version__

#: What of :func:`~kstream_plan.render.simulation.drain_json.follows_json` there is of a group without state.
_FOLLOWS = ("busiest", "instances", "least", "most", "verdict", "rebalances", "duration_ms", "duration_is")


def workers_drained_json(drain: WorkersDrained) -> str:
    """Return the answer as one line of ASCII; ``documents/schemas/drain-workers.json`` describes it."""
    plan_notes = remarks(drain.plan)
    plan, follows = drain.plan, follows_json(drain.plan, drain.follows)
    document: dict[str, Json] = {
        "format_version": FORMAT_VERSION,
        "kind": "drain-workers",
        "application_id": plan.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": plan.models},
        "input": {
            "digest": drain.waiting.digest,
            "generation": plan.generation,
            "captured_at": plan.captured_at,
            "now": drain.time,
        },
        "process_ids": list(drain.process_ids),
        "answer": drain.answer.value,
        "doubts": notes(drain.doubts),
        "items": [{**item._asdict(), "task_id": str(item.task_id)} for item in drain.items],
        "ways": [way._asdict() for way in drain.ways],
        "follows": {key: follows[key] for key in _FOLLOWS},
        "wait_ms": drain.wait_ms,
        "later": None if drain.later is None else drain.later._asdict(),
        "warnings": notes(plan_notes.warnings),
        "notes": notes(plan_notes.notes),
        "next": [],
        "assumptions": notes(plan.assumptions),
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
