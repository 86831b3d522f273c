"""The answer to "may it stop?" as JSON, of instances and of Connect workers."""

from __future__ import annotations

from collections.abc import Mapping

from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.model import WorkId
from kstream_plan.plans import Plan
from kstream_plan.plans.caught_up_evidence import UnprovenStart
from kstream_plan.plans.remarks import remarks
from kstream_plan.render.json_document import document_line, group_fields, input_fields, pick, plain
from kstream_plan.render.pages.drain import drain_remarks
from kstream_plan.render.text.would_tell import settled_by
from kstream_plan.simulation.aftermath import Aftermath
from kstream_plan.simulation.drain import Drain
from kstream_plan.simulation.drain_workers import WorkersDrained

#: What of :func:`_follows` there is of a group without state.
_OF_WORKERS = ("busiest", "instances", "least", "most", "verdict", "rebalances", "duration_ms", "duration_is")


def drain_json(drain: Drain) -> str:
    """Return the answer as one line of ASCII, without the line end; ``documents/schemas/drain.json`` describes it."""
    plan = drain.plan
    answer_fields = {
        "input": input_fields(plan, drain.waiting.digest, now=drain.time),
        **pick(drain, "process_ids", "answer", "now", "wait_ms", "announced", "later", "doubts", "rests_on"),
        "unknown": [_unknown(start, drain.heard_at) for start in drain.unknown],
        "cold_now": list(drain.how_many_cold),
        "follows": _follows(plan, drain.follows),
        **plain(drain_remarks(drain)),
        "settled_by": settled_by(drain.unknown),
    }
    return document_line("drain", FORMAT_VERSION, plan.group.application_id, plan.models, answer_fields)


def workers_drained_json(drain: WorkersDrained) -> str:
    """Return the answer as one line of ASCII; ``documents/schemas/drain-workers.json`` describes it."""
    plan, follows = drain.plan, _follows(drain.plan, drain.follows)
    answer_fields = {
        "input": input_fields(plan, drain.waiting.digest, now=drain.time),
        "group": group_fields(plan),
        **pick(drain, "process_ids", "answer", "doubts", "items", "ways", "wait_ms", "later"),
        "follows": {key: follows[key] for key in _OF_WORKERS},
        **plain(remarks(plan)._replace(next=())),
    }
    return document_line("drain-workers", FORMAT_VERSION, plan.group.application_id, plan.models, answer_fields)


def _follows(plan: Plan, follows: Aftermath) -> dict[str, Json]:
    """Return what follows for the group, and how it ends."""
    return {
        **plain(follows),
        **pick(plan.summary, "rebalances", "duration_ms", "duration_is"),
        "verdict": plan.verdict.kind,
    }


def _unknown(start: UnprovenStart, heard_at: Mapping[WorkId, str]) -> Json:
    """Return what is known of a copy of which it is unknown whether a task starts warm from it."""
    return {
        **pick(start, "task_id", "process_id"),
        **pick(start.evidence, "fact", "words", "at_most", "settled_by"),
        "heard_at": heard_at.get(start.task_id),
    }
