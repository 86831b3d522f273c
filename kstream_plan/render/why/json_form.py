"""Why a group does what it does, as JSON."""

from __future__ import annotations

from dataclasses import fields

from kstream_plan.plans.why_answers import Why
from kstream_plan.render.json_document import document_line, input_fields, plain
from kstream_plan.render.pages.why import why_remarks


def why_json(answers: Why) -> str:
    """Return the answers as one line of ASCII, without the line end; ``documents/schemas/why.json`` describes it."""
    plan, names = answers.plan, [field.name for field in fields(answers)]
    answer_fields = {
        "input": input_fields(plan, plan.digest),
        "verdict": plan.verdict.kind,
        "duration_ms": plan.summary.duration_ms,
        "duration_is": plan.summary.duration_is,
        "floor_ms": plan.summary.floor_ms,
        **plain(why_remarks(answers)),
        **{name: plain(getattr(answers, name), is_why=True) for name in names if name != "plan"},
    }
    return document_line("why", "1.0", plan.group.application_id, plan.models, answer_fields)
