"""Alternatives beside each other as one JSON document, described by ``documents/schemas/compare.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields

from kstream_plan.comparison.alternatives import Alternative, AlternativeFigures, SameOutcome
from kstream_plan.documents.codec import Json
from kstream_plan.plans.simulated import Range
from kstream_plan.version import __version__

_FORMAT_VERSION = "1.0"


def compare_json(alike: Sequence[SameOutcome]) -> str:
    """Return the document as one line of ASCII, without the line end; keys sorted, alternatives as in the table."""
    first = alike[0].one.plan
    document: dict[str, Json] = {
        "format_version": _FORMAT_VERSION,
        "kind": "compare",
        "application_id": first.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": first.models},
        "input": {"digest": first.digest, "generation": first.generation, "captured_at": first.captured_at},
        "outcomes": [
            {
                "alternatives": [
                    {change.name: change.value for change in alternative.changes}
                    for alternative in outcome.alternatives
                ],
                "fastest": outcome.fastest,
                **_outcome(outcome.one),
            }
            for outcome in alike
        ],
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _outcome(alternative: Alternative) -> dict[str, Json]:
    return {
        "verdict": alternative.plan.verdict.kind,
        "duration_is": alternative.plan.summary.duration_is,
        "floor_ms": alternative.plan.summary.floor_ms,
        "draws": None if alternative.draws is None else alternative.draws.number,
        "drawn_ms": list(alternative.drawn_ms),
        "kept": alternative.kept,
        "broken_rules": list(alternative.broken),
        "figures": _figures(alternative.figures),
    }


def _figures(figures: AlternativeFigures) -> Json:
    return {field.name: _figure(getattr(figures, field.name)) for field in fields(figures)}


def _figure(value: Range | int | None) -> Json:
    if isinstance(value, Range):
        return {"median": value.median, "least": value.least, "most": value.most}
    return value
