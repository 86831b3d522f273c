"""What was said beside what happened as one line of JSON (``documents/schemas/said-and-happened.json``)."""

from __future__ import annotations

from kstream_plan.comparison.said_and_happened import FirstDifference, GenerationPair, SaidAndHappened
from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.model.times import format_time
from kstream_plan.render.json_document import document_line, input_fields, pick, plain
from kstream_plan.render.pages.happened import first_difference, happened_remarks, happened_sentence
from kstream_plan.render.text.names import Names


def happened_json(comparison: SaidAndHappened) -> str:
    """Return it as one line of ASCII, without the line end."""
    plan = comparison.plan
    answer_fields = {
        "plan": input_fields(plan, plan.digest),
        "starts_at": format_time(comparison.starts_ms),
        "start_is": "assumed" if comparison.assumed else "given",
        "generations": [_generation(pair) for pair in comparison.pairs],
        "first_difference": None if comparison.first is None else _first(comparison, comparison.first),
        **pick(comparison, "elsewhere"),
        "summary": {
            **pick(comparison, "said", "came", "came_by_thread", "later"),
            "seen": len(comparison.seen),
            "said_ms": plan.rounds[-1].at_ms if plan.rounds else 0,
            "seen_ms": comparison.seen[-1].seen_ms,
        },
        **plain(happened_remarks(comparison)),
        "verdict": happened_sentence(comparison),
    }
    group = comparison.group
    return document_line("said-and-happened", FORMAT_VERSION, group.application_id, plan.models, answer_fields)


def _generation(pair: GenerationPair) -> Json:
    return {
        **pick(pair, "number", "late_ms", "likeness", "tasks", "members_said", "members_seen"),
        "said": pair.said and pick(pair.said, "generation", "at_ms", "trigger", "probing_rebalance"),
        "seen": _observed_generation(pair),
    }


def _observed_generation(pair: GenerationPair) -> Json:
    if pair.seen is None or pair.seen.snapshot.decision is None:
        return None
    decision = pick(pair.seen.snapshot.decision, "generation", "probing_rebalance")
    return {**decision, "at_ms": pair.seen_ms, "trigger": pair.seen.trigger}


def _first(comparison: SaidAndHappened, first: FirstDifference) -> Json:
    return {
        "number": first.pair.number,
        "message": first_difference(comparison, first, Names(comparison.group)),
        **pick(first, "cause", "since_said_ms", "since_seen_ms", "copy", "threads_differ_from"),
    }
