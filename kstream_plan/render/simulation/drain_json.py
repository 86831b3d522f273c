"""The answer to "may it stop?" as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.model import WorkId
from kstream_plan.plans import Plan
from kstream_plan.plans.caught_up_evidence import UnprovenStart
from kstream_plan.render.json_document import document_line, input_fields, plain
from kstream_plan.render.pages.drain import drain_next, drain_warnings
from kstream_plan.render.text.would_tell import settled_by
from kstream_plan.simulation.aftermath import Aftermath
from kstream_plan.simulation.drain import Drain


def drain_json(drain: Drain) -> str:
    """Return the answer as one line of ASCII, without the line end; ``documents/schemas/drain.json`` describes it."""
    plan = drain.plan
    answer_fields = {
        "input": input_fields(plan, drain.waiting.digest, now=drain.time),
        "process_ids": list(drain.process_ids),
        "answer": drain.answer.value,
        "unknown": [_unknown(start, drain.heard_at) for start in drain.unknown],
        "now": plain(drain.now),
        "cold_now": list(drain.how_many_cold),
        "wait_ms": drain.wait_ms,
        "follows": follows_json(plan, drain.follows),
        "announced": drain.announced,
        "later": plain(drain.later),
        "warnings": plain(drain_warnings(drain)),
        "notes": [],
        "assumptions": plain((*drain.rests_on, *plan.assumptions)),
        "next": plain(drain_next(drain)),
        "doubts": plain(drain.doubts),
        "settled_by": settled_by(drain.unknown),
        "rests_on": plain(drain.rests_on),
    }
    return document_line("drain", FORMAT_VERSION, plan.group.application_id, plan.models, answer_fields)


def follows_json(plan: Plan, follows: Aftermath) -> dict[str, Json]:
    """Return what follows for the group, and how it ends."""
    return {
        **plain(follows),
        "verdict": plan.verdict.kind,
        "rebalances": plan.summary.rebalances,
        "duration_ms": plan.summary.duration_ms,
        "duration_is": plan.summary.duration_is,
    }


def _unknown(start: UnprovenStart, heard_at: Mapping[WorkId, str]) -> Json:
    """Return what is known of a copy of which it is unknown whether a task starts warm from it."""
    evidence = start.evidence
    return {
        "task_id": str(start.task_id),
        "process_id": start.process_id,
        "fact": evidence.fact.value,
        "words": evidence.words,
        "heard_at": heard_at.get(start.task_id),
        "at_most": evidence.at_most,
        "settled_by": list(evidence.settled_by),
    }
