"""Alternatives beside each other as one JSON document, described by ``documents/schemas/compare.json``."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.comparison.alternatives import Alternative, SameOutcome
from kstream_plan.documents.codec import Json
from kstream_plan.render.json_document import document_line, group_fields, input_fields, pick, plain
from kstream_plan.render.pages.compare import compare_remarks


def compare_json(alike: Sequence[SameOutcome]) -> str:
    """Return the document as one line of ASCII, without the line end; keys sorted, alternatives as in the table."""
    first = alike[0].one.plan
    outcomes = [
        {
            "alternatives": [{change.name: change.value for change in way.changes} for way in outcome.alternatives],
            "fastest": outcome.fastest,
            **_outcome(outcome.one),
        }
        for outcome in alike
    ]
    answer_fields = {
        "input": input_fields(first, first.digest),
        "group": group_fields(first),
        "outcomes": outcomes,
        **plain(compare_remarks(alike)),
    }
    return document_line("compare", "1.0", first.group.application_id, first.models, answer_fields)


def _outcome(alternative: Alternative) -> dict[str, Json]:
    return {
        **pick(alternative, "drawn_ms", "kept", "figures"),
        **pick(alternative.plan.summary, "duration_is", "floor_ms"),
        "verdict": alternative.plan.verdict.kind,
        "draws": None if alternative.draws is None else alternative.draws.number,
        "broken_rules": list(alternative.broken),
    }
