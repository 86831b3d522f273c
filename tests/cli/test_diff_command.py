"""``diff``: files, plans and histories in; tables, JSON and exit codes out."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.render.answers import to_json, to_markdown, to_table
from tests.helpers import captured, diff_cases, plan_cases

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with saved plans; diff reads them without Spark."""
    from kstream_plan.snapshots import reading

    def no_spark(*_paths: object, **_options: object) -> Any:
        raise AssertionError("plans need no Spark")

    monkeypatch.setattr(reading, "read", no_spark)
    monkeypatch.delenv("COLUMNS", raising=False)
    for name in ("scale-out", "settled", "crash", "pods", "scale-out-standbys"):
        (tmp_path / f"{name}.json").write_text(plan_json(plan_cases.case(name)) + "\n", encoding="utf-8")
    both = [plan_json(plan_cases.case(name)) + "\n" for name in ("pods", "scale-out")]
    (tmp_path / "fleet.json").write_text("".join(both), encoding="utf-8")
    return tmp_path


def test_a_plan_alone_is_its_beginning_and_its_end(plans: Path, capsys: Capture) -> None:
    assert run(["diff", str(plans / "scale-out.json")]) == 0
    assert capsys.readouterr() == (to_table(diff_cases.case("scale-out")), "")
    assert run(["diff", str(plans / "scale-out.json"), "--output", "markdown"]) == 0
    assert capsys.readouterr().out == to_markdown(diff_cases.case("scale-out"))
    assert run(["diff", str(plans / "scale-out.json"), "--output", "json", "--out", str(plans / "diff.json")]) == 0
    assert capsys.readouterr().out == (plans / "diff.json").read_text() == to_json(diff_cases.case("scale-out")) + "\n"


def test_rounds_pick_from_plans(plans: Path, capsys: Capture) -> None:
    path = str(plans / "scale-out.json")
    assert run(["diff", path, "--set", "new.round=1"]) == 0
    assert capsys.readouterr().out == to_table(diff_cases.case("scale-out-begins"))
    assert run(["diff", path, "--set", "new.round=1", "--set", "protocol.view=true"]) == 0
    assert "All 10 consumers rejoin at once" in capsys.readouterr().out
    assert run(["diff", path, "--set", "new.round=1", "--set", "protocol.view=true", "--output", "markdown"]) == 0
    assert "All 10 consumers rejoin at once" in capsys.readouterr().out
    assert run(["diff", path, path, "--set", "old.round=3", "--set", "new.round=3", "--fail-on-changes"]) == 0
    assert "Nothing changed." in capsys.readouterr().out
    assert run(["diff", path, path, "--set", "old.round=3", "--fail-on-changes"]) == 5


def test_a_plan_that_begins_where_the_other_ends_tells_the_way(plans: Path, capsys: Capture) -> None:
    assert run(["diff", str(plans / "scale-out.json"), str(plans / "settled.json"), "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["notes"] == [] or document["notes"][0]["code"] == "no-lags"


def test_several_applications_are_paired_by_their_names(plans: Path, capsys: Capture) -> None:
    assert run(["diff", str(plans / "fleet.json"), "--output", "json"]) == 0
    names = [json.loads(line)["application_id"] for line in capsys.readouterr().out.splitlines()]
    assert names == ["payments", "S1"]
    assert run(["diff", str(plans / "fleet.json")]) == 0
    summary = capsys.readouterr().out
    assert summary.startswith("2 applications: 2 changed\n")
    assert re.search(r"^S1 +3 → 5 +24 of 30 +none +–$", summary, re.MULTILINE)
    assert run(["diff", str(plans / "fleet.json"), "--verbose", "--output", "markdown"]) == 0
    pages = capsys.readouterr().out
    assert pages.startswith("### 2 applications")
    assert pages.count("### ") == 3
    assert run(["diff", str(plans / "fleet.json"), str(plans / "scale-out.json")]) == 1
    assert "'payments' is in" in capsys.readouterr().err
    assert run(["diff", str(plans / "fleet.json"), str(plans / "scale-out.json"), "--application-id", "S1"]) == 0
    assert "Nothing changed." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["scale-out.json", "--set", "new.round=99"], 2, "no round 99.*rounds 1 to 22"),
        (["scale-out.json", "settled.json", "--from", "3"], 2, "pick from one history"),
        (["history.jsonl", "--from", "3", "--set", "new.round=1"], 2, "a history has no rounds"),
        (["history.jsonl"], 2, "one side is not enough"),
        (["missing.json"], 1, "missing.json.*does not exist"),
        (["scale-out.json", "missing.json"], 1, "missing.json.*does not exist"),
        (["-", "-"], 2, "standard input is given twice"),
        (["scale-out.json", "--application-id", "nobody"], 1, "no application matches 'nobody'"),
        (["broken.json"], 1, "broken.json, line 1: not JSON"),
        (["scale-out.json", "scale-out-standbys.json"], 1, "not in"),
    ],
)
def test_what_cannot_be_compared_is_told(
    plans: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, arguments: list[str], code: int, message: str
) -> None:
    rows = [json.dumps(row) for row in captured.rows("scale-out", "inputs")]
    (plans / "history.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (plans / "broken.json").write_text('{"kind": "plan", ', encoding="utf-8")
    monkeypatch.chdir(plans)
    assert run(["diff", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(message, err, re.DOTALL), err
    assert "Traceback" not in err


def test_zipped_plans_are_plans(plans: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (plans / "scale-out.json").read_bytes()
    (plans / "zipped.json.gz").write_bytes(gzip.compress(content))
    assert run(["diff", str(plans / "zipped.json.gz")]) == 0
    assert capsys.readouterr().out == to_table(diff_cases.case("scale-out"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(content))))
    assert run(["diff", str(plans / "settled.json"), "-"]) == 0
    assert run(["show", str(plans / "scale-out.json")]) == 0
    shown = capsys.readouterr().out
    assert run(["show", str(plans / "zipped.json.gz")]) == 0
    assert shown.endswith(capsys.readouterr().out.replace("zipped.json.gz", "scale-out.json"))
    (plans / "zipped.json.gz").write_bytes(gzip.compress(content)[:-9])
    assert run(["diff", str(plans / "zipped.json.gz")]) == 1
    assert "zipped.json.gz: a damaged gzip file" in capsys.readouterr().err


def test_a_history_needs_no_spark(plans: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [json.dumps(row) for row in captured.rows("scale-out-standbys", "inputs")]
    (plans / "history.jsonl").write_text("\n".join(rows), encoding="utf-8")
    assert run(["diff", str(plans / "history.jsonl"), "--from", "3", "--to", "5", "--fail-on-changes"]) == 5
    shown = capsys.readouterr().out.replace(str(plans / "history.jsonl"), "SNAPSHOT")
    assert shown == to_table(diff_cases.case("generations"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(rows).encode())))
    assert run(["diff", "-", "--from", "3", "--to", "5"]) == 0
    assert capsys.readouterr().out == to_table(diff_cases.case("generations"))


@pytest.mark.spark
def test_snapshots_are_read_with_one_spark(spark: object, tmp_path: Path, capsys: Capture) -> None:
    rows = captured.rows("scale-out-standbys", "inputs")
    for number in (3, 4):
        (tmp_path / f"{number}.json").write_text(json.dumps(rows[number]), encoding="utf-8")
    (tmp_path / "plan.json").write_text(plan_json(plan_cases.case("scale-out")), encoding="utf-8")
    old, new = str(tmp_path / "3.json"), str(tmp_path / "4.json")
    assert run(["diff", old, new, "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["old"]["generation"], document["new"]["generation"]) == (3, 4)
    assert document["totals"]["classes"]["orphaned"] == 4
    assert run(["diff", old, new, "--set", "old.round=1"]) == 2
    assert "a snapshot has no rounds" in capsys.readouterr().err
    (tmp_path / "join.json").write_text(json.dumps(captured.rows("scale-out", "inputs")[1]), encoding="utf-8")
    assert run(["diff", str(tmp_path / "join.json"), str(tmp_path / "plan.json"), "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["totals"]["moved"], document["totals"]["restore_records"], document["notes"]) == (24, 58_000, [])
