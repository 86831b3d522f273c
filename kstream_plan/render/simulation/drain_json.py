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
from kstream_plan.simulation.aftermath import Aftermath
from kstream_plan.simulation.drain import Drain, DrainedTask
from kstream_plan.version import __version__


def drain_json(drain: Drain) -> str:
    """Return the answer as one line of ASCII, without the line end; ``documents/schemas/drain.json`` describes it."""
    document: dict[str, Json] = {
        "format_version": FORMAT_VERSION,
        "kind": "drain",
        "application_id": drain.plan.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": drain.plan.models},
        "input": {
            "digest": drain.waiting.digest,
            "generation": drain.plan.generation,
            "captured_at": drain.plan.captured_at,
            "now": drain.time,
        },
        "process_ids": list(drain.process_ids),
        "answer": drain.answer.value,
        "unknown": [_unknown(start, drain.heard_at) for start in drain.unknown],
        "now": [_task(task) for task in drain.now],
        "cold_now": list(drain.how_many_cold),
        "wait_ms": drain.wait_ms,
        "follows": follows_json(drain.plan, drain.follows),
        "announced": drain.announced,
        "later": [_task(task) for task in drain.later],
        "warnings": notes(drain_warnings(drain)),
        "notes": [],
        "assumptions": notes((*drain.rests_on, *drain.plan.assumptions)),
        "next": notes(drain_next(drain)),
        "doubts": notes(drain.doubts),
        "rests_on": notes(drain.rests_on),
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
