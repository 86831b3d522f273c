"""A schema follows from types: every field is described, and every reference leads somewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kstream_plan.answers.formats import DOCUMENTS, KINDS
from tests.helpers.schemas import schema


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "plan"])
def test_every_field_says_what_it_means(kind: str) -> None:
    whole = schema(kind)
    assert {name for name, part in _fields(whole) if not _is_described(part, whole.get("$defs", {}))} == set()


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_document_has_its_kind_and_needs_what_all_versions_wrote(kind: str) -> None:
    whole = schema(kind)
    assert whole["properties"]["kind"]["const"] == kind
    assert whole["$id"] == f"urn:kstream-plan:schema:{kind}:1.0"
    assert {"format_version", "kind"} <= set(whole["required"]) <= set(whole["properties"])


def test_every_answer_has_a_kind() -> None:
    assert set(DOCUMENTS) <= set(KINDS)


def _is_described(part: dict[str, Any], named: dict[str, Any]) -> bool:
    alternatives = [part, *part.get("anyOf", [])]
    targets = [named[each["$ref"].removeprefix("#/$defs/")] for each in alternatives if "$ref" in each]
    return any("description" in each for each in (*alternatives, *targets))


def _fields(part: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every field, wherever in the schema it is; where more is said of fields there is no type."""
    if isinstance(part, dict):
        yield from part["properties"].items() if {"properties", "type"} <= part.keys() else ()
        for value in part.values():
            yield from _fields(value)
