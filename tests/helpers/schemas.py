"""The schemas of what is written and read, and what holds documents against them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator

from kstream_plan.answers import formats


def schema(kind: str) -> dict[str, Any]:
    """The schema of ``plan``, ``check``, …"""
    found: dict[str, Any] = json.loads(formats.load(kind))
    return found


#: Where a schema says more of an object whose fields are named beside it.
_PARTIAL = ("if", "then", "else", "allOf", "anyOf", "oneOf")


def closed(schema: Any) -> Any:
    """The same schema, by which an object has no other fields than those that are named."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    named = "properties" in schema
    parts = {name: part if named and name in _PARTIAL else closed(part) for name, part in schema.items()}
    if named:
        parts.setdefault("additionalProperties", False)
    return parts


class Validator:
    """Holds documents against one schema, be there halves of characters in their texts or not.

    What is written has no field that its schema does not name: readers may ignore those, :meth:`validate` does not.

    Raises:
        ValidationError: the schema itself is none.
    """

    def __init__(self, item: dict[str, Any]) -> None:
        self._validator, self._closed = Draft202012Validator(item), Draft202012Validator(closed(item))

    def validate(self, document: object) -> None:
        """Raise a :class:`jsonschema_rs.ValidationError` for the first thing that is not as the schema says.

        So is a field that it does not name.
        """
        self._closed.validate(_whole_characters(document))

    def is_valid(self, document: object) -> bool:
        return bool(self._validator.is_valid(_whole_characters(document)))

    def errors(self, document: object) -> list[str]:
        """What is not as the schema says."""
        found: Iterable[Any] = self._validator.iter_errors(_whole_characters(document))
        return [error.message for error in found]


def _whole_characters(document: object) -> Any:
    return json.loads(json.dumps(document, ensure_ascii=False).encode(errors="replace"))


@cache
def validator(kind: str) -> Validator:
    """Of the schema of ``plan``, ``check``, …, made ready once."""
    return Validator(schema(kind))
