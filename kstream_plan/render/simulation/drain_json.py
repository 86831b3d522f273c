"""The answer to "may it stop?" as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.documents.plan.write import notes
from kstream_plan.model import WorkId
from kstream_plan.plans import Plan
from kstream_plan.plans.caught_up_evidence import UnprovenStart
from kstream_plan.render.pages.drain import drain_next, drain_warnings
from kstream_plan.render.text.would_tell import settled_by
from kstream_plan.simulation.aftermath import Aftermath
from kstream_plan.simulation.drain import Drain, DrainedTask
from kstream_plan.version import __version__


def drain_json(drained: Drain) -> str:
    """Return the answer as one line of ASCII, without the line end; ``documents/schemas/drain.json`` describes it."""
    document: dict[str, Json] = {
        "format_version": FORMAT_VERSION,
        "kind": "drain",
        "application_id": drained.plan.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": drained.plan.models},
        "input": {
            "digest": drained.waiting.digest,
            "generation": drained.plan.generation,
            "captured_at": drained.plan.captured_at,
            "now": drained.time,
        },
        "process_ids": list(drained.process_ids),
        "answer": drained.answer.value,
        "unknown": [_unknown(start, drained.heard_at) for start in drained.unknown],
        "now": [_task(task) for task in drained.now],
        "cold_now": list(drained.how_many_cold),
        "wait_ms": drained.wait_ms,
        "follows": follows_json(drained.plan, drained.follows),
        "announced": drained.announced,
        "later": [_task(task) for task in drained.later],
        "warnings": notes(drain_warnings(drained)),
        "notes": [],
        "assumptions": notes((*drained.rests_on, *drained.plan.assumptions)),
        "next": notes(drain_next(drained)),
        "doubts": notes(drained.doubts),
        "settled_by": settled_by(drained.unknown),
        "rests_on": notes(drained.rests_on),
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def follows_json(plan: Plan, follows: Aftermath) -> dict[str, Json]:
    """Return what follows for the group, and how it ends."""
    return {
        **follows._asdict(),
        "busiest": {**follows.busiest._asdict(), "process_ids": list(follows.busiest.process_ids)},
        "without_standby": list(follows.without_standby),
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


def _task(task: DrainedTask) -> Json:
    return {**task._asdict(), "task_id": str(task.task_id)}
