"""What was said beside what happened as one line of JSON (``documents/schemas/said-and-happened.json``)."""

from __future__ import annotations

import json

from kstream_plan.comparison.said_and_happened import (
    CopyEvidence,
    FirstDifference,
    GenerationPair,
    HeldBy,
    SaidAndHappened,
    TaskDifference,
)
from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.model.times import format_time
from kstream_plan.plans import Round
from kstream_plan.render.diff.json_form import notes_document
from kstream_plan.render.pages.happened import first_difference, happened_remarks, happened_sentence
from kstream_plan.render.text.names import Names
from kstream_plan.version import __version__


def happened_json(comparison: SaidAndHappened) -> str:
    """Return it as one line of ASCII, without the line end."""
    return json.dumps(happened_document(comparison), sort_keys=True, separators=(",", ":"), allow_nan=False)


def happened_document(comparison: SaidAndHappened) -> dict[str, Json]:
    """Return it as plain dictionaries, lists, texts and numbers."""
    plan, remarks = comparison.plan, happened_remarks(comparison)
    return {
        "format_version": FORMAT_VERSION,
        "kind": "said-and-happened",
        "application_id": comparison.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": plan.models},
        "plan": {"digest": plan.digest, "generation": plan.generation, "captured_at": plan.captured_at},
        "starts_at": format_time(comparison.starts_ms),
        "start_is": "assumed" if comparison.assumed else "given",
        "generations": [_generation(pair) for pair in comparison.pairs],
        "first_difference": None if comparison.first is None else _first(comparison, comparison.first),
        "elsewhere": None if comparison.elsewhere is None else [_task(task) for task in comparison.elsewhere],
        "summary": {
            "said": comparison.said,
            "seen": len(comparison.seen),
            "came": comparison.came,
            "came_by_thread": comparison.came_by_thread,
            "later": comparison.later,
            "said_ms": plan.rounds[-1].at_ms if plan.rounds else 0,
            "seen_ms": comparison.seen[-1].seen_ms,
        },
        "warnings": notes_document(remarks.warnings),
        "notes": notes_document(remarks.notes),
        "assumptions": notes_document(remarks.assumptions),
        "next": notes_document(remarks.next),
        "verdict": happened_sentence(comparison),
    }


def _generation(pair: GenerationPair) -> Json:
    return {
        "number": pair.number,
        "said": None if pair.said is None else _predicted_round(pair.said),
        "seen": _observed_generation(pair),
        "late_ms": pair.late_ms,
        "likeness": pair.likeness.value,
        "tasks": [_task(task) for task in pair.tasks],
        "members_said": list(pair.members_said),
        "members_seen": list(pair.members_seen),
    }


def _predicted_round(rnd: Round) -> Json:
    return {
        "generation": rnd.generation,
        "at_ms": rnd.at_ms,
        "trigger": rnd.trigger.value,
        "probing_rebalance": rnd.probing_rebalance,
    }


def _observed_generation(pair: GenerationPair) -> Json:
    if pair.seen is None or pair.seen.snapshot.decision is None:
        return None
    decision = pair.seen.snapshot.decision
    return {
        "generation": decision.generation,
        "at_ms": pair.seen_ms,
        "trigger": pair.seen.trigger,
        "probing_rebalance": decision.probing_rebalance,
    }


def _task(task: TaskDifference) -> Json:
    return {"task_id": str(task.task_id), "said": _holders(task.said), "seen": _holders(task.seen)}


def _holders(holders: HeldBy) -> Json:
    return {"active": holders.active, "copies": list(holders.copies)}


def _first(comparison: SaidAndHappened, first: FirstDifference) -> Json:
    return {
        "number": first.pair.number,
        "cause": first.cause.value,
        "message": first_difference(comparison, first, Names(comparison.group)),
        "since_said_ms": first.since_said_ms,
        "since_seen_ms": first.since_seen_ms,
        "copy": _copy(first.copy),
        "threads_differ_from": first.threads_differ_from,
    }


def _copy(copy: CopyEvidence | None) -> Json:
    if copy is None:
        return None
    return {
        "task_id": str(copy.task_id),
        "process_id": copy.process_id,
        "lag": copy.lag,
        "limit": copy.limit,
        "said_caught_up": copy.said_caught_up,
    }
