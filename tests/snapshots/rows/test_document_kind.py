"""What a JSON text is, told from its beginning alone."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.documents.plan.files import is_plan_file
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.render.answers import to_json
from kstream_plan.snapshots.files.kinds import HEAD_BYTES
from kstream_plan.snapshots.rows.json_text import WRITTEN, kind_of
from tests.helpers import diff_cases, plan_cases, simulation_cases


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_every_plan_is_known_in_every_layout(name: str) -> None:
    text = plan_json(plan_cases.case(name))
    document = json.loads(text)
    kind_first = {"kind": "plan"} | document
    for layout in (text, json.dumps(document, indent=2), f"\ufeff \n{text}", json.dumps(kind_first)):
        assert kind_of(layout.encode()[:HEAD_BYTES]) == "plan"


def test_what_else_is_written_is_known_too() -> None:
    assert kind_of(simulation_json(simulation_cases.case("nobody")).encode()) == "plan"
    assert kind_of(to_json(diff_cases.case("scale-out")).encode()) == "diff"
    for kind in WRITTEN:
        assert kind_of(f'[{{"plans": [{{"kind": "x"}}], "kind" : "{kind}"}}]'.encode()) == kind


def test_a_plan_is_known_whose_kind_is_far_behind(tmp_path: Path) -> None:
    document = json.loads(plan_json(plan_cases.case("settled")))
    document["config"]["aside"] = "x" * 2 * HEAD_BYTES
    path = tmp_path / "plan"
    for content in (json.dumps(document, sort_keys=True).encode(), gzip.compress(json.dumps(document).encode())):
        path.write_bytes(content)
        assert is_plan_file(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "17",
        '"kind"',
        "[[1]]",
        '{"a": "kind", "b": "plan"}',
        '{"a": {"kind": "plan"}}',
        '{"a": "\\"kind\\": \\"plan\\""}',
        '{"a": 1} {"kind": "plan"}',
        '{"kind": {"kind": "plan"}}',
        '{"kind": "snapshot"}',
        '{"kind": 5, "of": "plan"}',
        '{"assignor": "x", "a": {"assumptions": 1}}',
        '{"captured_at": null, "kind": "plan"}',
        "PAR1",
        "\x00\x01",
    ],
)
def test_anything_else_is_none(text: str) -> None:
    assert kind_of(text.encode()) is None


_VALUES = st.recursive(
    st.none() | st.integers() | st.text() | st.sampled_from(["plan", "kind"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("kind"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text() | st.just("kind"), _VALUES, max_size=5), st.booleans(), st.none() | st.just(1))
def test_the_kind_is_that_of_the_object_itself(
    document: dict[str, object], ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "replace")
    kind = document.get("kind")
    assert kind_of(text) == (kind if isinstance(kind, str) and kind in WRITTEN else None)


@given(st.binary(max_size=200))
def test_any_bytes_have_a_kind_or_none(data: bytes) -> None:
    assert kind_of(data) in {None, *WRITTEN}
