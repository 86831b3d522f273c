"""The answer to "may this Connect worker stop?" as JSON."""

from __future__ import annotations

from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.plans.remarks import remarks
from kstream_plan.render.json_document import document_line, input_fields, plain
from kstream_plan.render.simulation.drain_json import follows_json
from kstream_plan.simulation.drain_workers import WorkersDrained

#: What of :func:`~kstream_plan.render.simulation.drain_json.follows_json` there is of a group without state.
_FOLLOWS = ("busiest", "instances", "least", "most", "verdict", "rebalances", "duration_ms", "duration_is")


def workers_drained_json(drain: WorkersDrained) -> str:
    """Return the answer as one line of ASCII; ``documents/schemas/drain-workers.json`` describes it."""
    plan_notes = remarks(drain.plan)
    plan, follows = drain.plan, follows_json(drain.plan, drain.follows)
    answer_fields = {
        "input": input_fields(plan, drain.waiting.digest, now=drain.time),
        "process_ids": list(drain.process_ids),
        "answer": drain.answer.value,
        "doubts": plain(drain.doubts),
        "items": plain(drain.items),
        "ways": plain(drain.ways),
        "follows": {key: follows[key] for key in _FOLLOWS},
        "wait_ms": drain.wait_ms,
        "later": plain(drain.later),
        "warnings": plain(plan_notes.warnings),
        "notes": plain(plan_notes.notes),
        "next": [],
        "assumptions": plain(plan.assumptions),
    }
    return document_line("drain-workers", FORMAT_VERSION, plan.group.application_id, plan.models, answer_fields)
