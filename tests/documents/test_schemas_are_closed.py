"""What is written has no field that its schema does not name; the helper that all tests validate by sees to it."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator, ValidationError

from kstream_plan.answers import formats
from tests.helpers.schemas import Validator, closed, schema


@pytest.mark.parametrize("kind", formats.KINDS)
def test_every_schema_can_be_closed_and_is_one_still(kind: str) -> None:
    Draft202012Validator(closed(schema(kind)))


@pytest.mark.parametrize(
    "document",
    [
        {"known": 1, "more": 1},
        {"inside": {"known": 1, "more": 1}},
        {"list": [{"known": 1}, {"more": 1}]},
        {"maybe": {"more": 1}},
    ],
)
def test_a_field_that_no_schema_names_is_found_wherever_it_is(document: Any) -> None:
    named = {"type": "object", "properties": {"known": {"type": "integer"}}}
    whole = {
        "type": "object",
        "properties": {
            "known": {"type": "integer"},
            "inside": {"$ref": "#/$defs/named"},
            "list": {"type": "array", "items": named},
            "maybe": {"anyOf": [named, {"type": "null"}]},
            "any": {"type": "object"},
            "by_name": {"type": "object", "additionalProperties": named},
        },
        "if": {"properties": {"known": {"const": 1}}},
        "then": {"properties": {"list": {"maxItems": 9}}},
        "$defs": {"named": named},
    }
    validator = Validator(whole)
    validator.validate({"known": 1, "maybe": None, "any": {"more": 1}, "by_name": {"x": {"known": 1}}})
    assert validator.is_valid(document)
    with pytest.raises(ValidationError):
        validator.validate(document)
