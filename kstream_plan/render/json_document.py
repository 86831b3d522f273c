"""Answers as JSON: the fields that all of them begin with, and every value by the fields of its type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from kstream_plan.documents.codec import Json
from kstream_plan.model import ItemName, TaskId
from kstream_plan.plans import Plan
from kstream_plan.plans.activity import membership
from kstream_plan.version import __version__


def document_line(
    kind: str, version: str, application_id: str, models: str, answer_fields: Mapping[str, Json] | dict[str, Any]
) -> str:
    """Return an answer as one line of ASCII with sorted keys, without the line end."""
    tool = {"name": "kstream-plan", "version": __version__, "models": models}
    head = {"format_version": version, "kind": kind, "application_id": application_id, "tool": tool}
    return dump({**head, **answer_fields})


def dump(document: Mapping[str, Any]) -> str:
    """Return a document as one line of ASCII with sorted keys."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def input_fields(plan: Plan, digest: str, **more_fields: Json) -> dict[str, Json]:
    """Return what a plan was made from."""
    return {"digest": digest, "generation": plan.generation, "captured_at": plan.captured_at, **more_fields}


def pick(value: Any, *names: str) -> dict[str, Any]:
    """Return some fields of a value as JSON, by their names."""
    return {name: plain(getattr(value, name)) for name in names}


def group_fields(plan: Plan) -> dict[str, Json]:
    """Return how many members a group has before and after a plan, and its tasks."""
    arrivals, departures = membership(plan)
    instances = len(plan.group.instances)
    return {
        "instances_before": instances - len(arrivals),
        "instances": instances - len(departures),
        "stateful_tasks": len(plan.group.stateful),
        "stateless_tasks": len(plan.group.stateless),
    }


def plain(value: Any, *, is_why: bool = False) -> Any:
    """Return any value as JSON: of what has fields these by their names, of tasks their ids, of codes their texts.

    ``is_why``: the answers of ``why`` have always called an origin ``from_``; all others call it ``from``.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, TaskId | ItemName):
        return str(value)
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item, is_why=is_why) for key, item in value.items()}
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        return [plain(item, is_why=is_why) for item in value]
    names = value._fields if hasattr(value, "_fields") else [field.name for field in fields(value)]
    return {name if is_why else name.rstrip("_"): plain(getattr(value, name), is_why=is_why) for name in names}
