"""The schemas of what is written and read, and what holds documents against them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator

from kstream_plan.documents import schemas


def schema(kind: str) -> dict[str, Any]:
    """The schema of ``plan``, ``check``, …"""
    found: dict[str, Any] = json.loads(schemas.load(kind))
    return found


class Validator:
    """Holds documents against one schema, be there halves of characters in their texts or not.

    Raises:
        ValidationError: the schema itself is none.
    """

    def __init__(self, of: dict[str, Any]) -> None:
        self._validator = Draft202012Validator(of)

    def validate(self, document: object) -> None:
        """Raise a :class:`jsonschema_rs.ValidationError` for the first thing that is not as the schema says."""
        self._validator.validate(_whole_characters(document))

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
