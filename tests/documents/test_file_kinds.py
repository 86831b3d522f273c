"""A file that is passed where another one belongs is named, with where it belongs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstream_plan.cli import run
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.snapshots.files.kinds import file_kind
from tests.helpers import plan_cases

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Each kind of file, as errors name it.
KINDS = {
    "a policy": EXAMPLES / "ci" / "policy.yaml",
    "a scenario": EXAMPLES / "scale-out" / "scenario.yaml",
    "a file of settings": EXAMPLES / "app.properties",
    "a log": EXAMPLES / "leader-log" / "orders.log",
    "a snapshot": EXAMPLES / "scale-out" / "snapshot.json",
}
#: Which kind a place takes, and the command line with another file there.
PLACES = {
    "a policy": ["check", "PLAN", "--policy", "FILE"],
    "a scenario": ["simulate", str(KINDS["a snapshot"]), "FILE"],
    "a file of settings": ["assign", str(KINDS["a snapshot"]), "--streams-config", "FILE"],
    "a saved plan": ["show", "FILE"],
    "a snapshot": ["assign", "FILE"],
}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(plan_json(plan_cases.case("settled")) + "\n", encoding="utf-8")
    return path


def test_every_kind_is_known_by_its_text(plan: Path) -> None:
    for name, path in {**KINDS, "a saved plan": plan}.items():
        kind = file_kind(path.read_bytes())
        assert kind is not None
        assert kind.name == name


@pytest.mark.parametrize("text", [b"", b"hello", b"[1, 2]", b'{"name": "app"}', b"version: 1\n", b"\xff\xfe"])
def test_other_texts_are_of_no_kind(text: bytes) -> None:
    assert file_kind(text) is None


@pytest.mark.parametrize("wanted", PLACES)
@pytest.mark.parametrize("kind", [*KINDS, "a saved plan"])
def test_a_file_in_the_wrong_place_is_named(
    kind: str, wanted: str, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if kind == wanted:
        return
    if (kind, wanted) == ("a saved plan", "a snapshot"):
        pytest.skip("found by Spark's reader")
    file = KINDS.get(kind, plan)
    names = {"FILE": str(file), "PLAN": str(plan)}
    assert run([names.get(word, word) for word in PLACES[wanted]]) == 1
    message = capsys.readouterr().err
    assert f"{file}" in message
    assert f": this is {kind}, not {wanted}. Fix: " in message
    assert len(message.splitlines()) == 1
