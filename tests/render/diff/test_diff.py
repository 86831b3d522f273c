"""What a comparison looks like, in every form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from rich.cells import cell_len

from kstream_plan.comparison.diff import compare
from kstream_plan.comparison.sides import snapshot_side
from kstream_plan.model import Snapshot
from kstream_plan.render.diff.json_form import diff_document, diff_json
from kstream_plan.render.diff.markdown import diff_markdown
from kstream_plan.render.diff.protocol_view import protocol_view_markdown, protocol_view_table
from kstream_plan.render.diff.story import verdict
from kstream_plan.render.diff.table import diff_table
from tests.helpers import diff_cases
from tests.helpers.goldens import assert_golden
from tests.helpers.schemas import validator
from tests.helpers.strategies import two_snapshots

SCHEMA = validator("diff")


@pytest.mark.parametrize("name", diff_cases.NAMES)
def test_table(name: str) -> None:
    assert_golden(f"diff/{name}.txt", diff_table(diff_cases.case(name)))


@pytest.mark.parametrize("name", ["scale-out", "generations", "evil-names"])
def test_markdown(name: str) -> None:
    assert_golden(f"diff/{name}.md", diff_markdown(diff_cases.case(name)))


def test_every_task_apart() -> None:
    assert_golden("diff/scale-out-verbose.txt", diff_table(diff_cases.case("scale-out"), width=100, verbose=True))


def test_the_leaders_view() -> None:
    found = diff_cases.case("scale-out-begins")
    assert_golden("diff/protocol-view.txt", protocol_view_table(found, width=80))
    assert_golden("diff/protocol-view.md", protocol_view_markdown(found))


@pytest.mark.parametrize("name", diff_cases.NAMES)
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_wider_than_the_page(name: str, width: int, verbose: bool) -> None:
    for line in diff_table(diff_cases.case(name), width=width, verbose=verbose).splitlines():
        assert cell_len(line) <= width
        assert line == line.rstrip()


@pytest.mark.parametrize("name", diff_cases.NAMES)
def test_the_json_form_keeps_its_schema(name: str) -> None:
    document = json.loads(diff_json(diff_cases.case(name), view=True))
    SCHEMA.validate(document)
    assert document["verdict"] == verdict(diff_cases.case(name))


@given(pair=two_snapshots())
def test_any_comparison_can_be_shown(pair: tuple[Snapshot, Snapshot]) -> None:
    found = compare(*map(snapshot_side, pair))
    SCHEMA.validate(diff_document(found))
    assert diff_table(found).endswith("\n")
    assert diff_markdown(found, verbose=True).startswith("### orders: ")


def test_the_verdict_says_how_warm() -> None:
    assert verdict(diff_cases.case("scale-out")) == "24 of 30 tasks moved, all warm; balance 10 → 0"
    assert "COLD" in verdict(diff_cases.case("crash"))
    assert verdict(diff_cases.case("settled")) == "nothing changed; balance 0"
