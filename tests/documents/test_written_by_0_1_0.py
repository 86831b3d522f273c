"""What 0.1.0 saved is read and shown as it was then."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path

import pytest

from kstream_plan.cli import run
from kstream_plan.documents.plan.files import read_plan_file
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.plans.note_codes import FROM_ROUNDS
from kstream_plan.plans.plan import ENDS_NOT_SAVED
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import check_cases
from tests.helpers.goldens import WRITE
from tests.helpers.schemas import validator

FOLDER = Path(__file__).parent / "written_by_0_1_0"
PLANS = sorted(path.name.removesuffix(".json.gz") for path in (FOLDER / "plans").glob("*.json.gz"))
SNAPSHOTS = json.loads((FOLDER / "snapshots" / "digests.json").read_text(encoding="utf-8"))


def _assert_shown(kept: Path, text: str) -> None:
    if os.environ.get(WRITE) == "1":
        buffer = io.BytesIO()
        with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:
            file.write(text.encode())
        kept.write_bytes(buffer.getvalue())
    assert text == gzip.decompress(kept.read_bytes()).decode()


def _shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code = run(arguments)
    captured = capsys.readouterr()
    return f"$ {' '.join(arguments)}\n{captured.out}{captured.err}exit code {code}\n"


@pytest.fixture(autouse=True)
def _in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)


def test_nothing_is_missing() -> None:
    assert len(PLANS) > 50
    assert len(SNAPSHOTS) == 3


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_shown_and_checked_as_it_was(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(f"{name}.json").write_bytes(gzip.decompress((FOLDER / "plans" / f"{name}.json.gz").read_bytes()))
    Path("policy.yaml").write_bytes(check_cases.STRICT)
    pages = [
        _shown(capsys, "show", f"{name}.json"),
        _shown(capsys, "show", f"{name}.json", "--verbose", "--output", "markdown"),
        _shown(capsys, "check", f"{name}.json", "--policy", "policy.yaml", "--today", "2026-11-21"),
    ]
    _assert_shown(FOLDER / "plans" / f"{name}.txt.gz", "".join(pages))


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_saved_again_as_it_was(name: str) -> None:
    path = FOLDER / "plans" / f"{name}.json.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    before = [json.loads(text)] if name == "pretty" else [json.loads(line) for line in text.splitlines()]
    for made, was in zip(read_plan_file(path), before, strict=True):
        full = any("decided" in rnd for rnd in was["rounds"])
        again = json.loads(plan_json(made, full=full))
        of_the_plan = was.keys() - {"tool", "simulation"}
        said = [note for note in (*again["warnings"], *again["notes"]) if note["code"] not in FROM_ROUNDS]
        assert ENDS_NOT_SAVED in [note["code"] for note in said]
        again["warnings"] = sorted((note for note in said if note["code"] != ENDS_NOT_SAVED), key=was["warnings"].index)
        assert (again["summary"].pop("floor_ms"), again["summary"].pop("ranges")) == (None, {})
        assert {key: again[key] for key in of_the_plan} == {key: was[key] for key in of_the_plan}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_what_the_schema_says(name: str) -> None:
    text = gzip.decompress((FOLDER / "plans" / f"{name}.json.gz").read_bytes()).decode()
    schema = validator("plan")
    for document in [json.loads(text)] if name == "pretty" else map(json.loads, text.splitlines()):
        schema.validate(document)


@pytest.mark.parametrize("path", sorted((FOLDER / "drains").iterdir()), ids=lambda path: path.name)
def test_an_answer_of_drain_is_what_the_schema_says(path: Path) -> None:
    document = json.loads(gzip.decompress(path.read_bytes()))
    validator("drain").validate(document)


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_snapshot_is_the_same_input(name: str) -> None:
    row = json.loads(gzip.decompress((FOLDER / "snapshots" / name).read_bytes()))
    assert plan(snapshot_from_row(row, name), replay=True).digest == SNAPSHOTS[name]


@pytest.mark.parametrize("name", [name.removesuffix(".json.gz") for name in SNAPSHOTS])
@pytest.mark.parametrize(("part", "points"), [("", ["--from", "1"]), ("-part", ["--from", "3", "--to", "5"])])
def test_a_history_is_compared_as_it_was(
    name: str, part: str, points: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER / "snapshots")
    text = _shown(capsys, "diff", f"{name}-history.jsonl.gz", *points)
    _assert_shown(FOLDER / "snapshots" / f"{name}-history{part}.txt.gz", text)
