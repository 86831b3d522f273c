"""Why a group does what it does, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from kstream_plan.documents.codec import Json
from kstream_plan.model import ItemName, TaskId
from kstream_plan.plans.why_answers import Why
from kstream_plan.render.pages.why import why_remarks
from kstream_plan.version import __version__

_FORMAT_VERSION = "1.0"


def why_json(answers: Why) -> str:
    """Return the answers as one line of ASCII, without the line end; ``documents/schemas/why.json`` describes it."""
    plan = answers.plan
    document: dict[str, Json] = {
        "format_version": _FORMAT_VERSION,
        "kind": "why",
        "application_id": plan.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": plan.models},
        "input": {"digest": plan.digest, "generation": plan.generation, "captured_at": plan.captured_at},
        "verdict": plan.verdict.kind,
        "duration_ms": plan.summary.duration_ms,
        "duration_is": plan.summary.duration_is,
        **{kind: _json(notes) for kind, notes in why_remarks(answers)._asdict().items()},
        **{field.name: _json(getattr(answers, field.name)) for field in fields(answers) if field.name != "plan"},
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _json(value: Any) -> Json:
    """Return any part of the answers: of what has names by these, of tasks their ids, of codes their texts."""
    if value is None or isinstance(value, bool | int | float | str):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, TaskId | ItemName):
        return str(value)
    if isinstance(value, Mapping):
        return {str(_json(key)): _json(item) for key, item in value.items()}
    if isinstance(value, tuple) and not hasattr(value, "_asdict"):
        return [_json(item) for item in value]
    items = (
        value._asdict()
        if hasattr(value, "_asdict")
        else {field.name: getattr(value, field.name) for field in fields(value)}
    )
    return {name: _json(item) for name, item in items.items()}
