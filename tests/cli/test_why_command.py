"""``why`` on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.snapshots.leader_log.history import checked_rows
from tests.helpers.recorded_events import generations
from tests.helpers.schemas import validator


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("why") / "history.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in checked_rows(generations("big"))), encoding="utf-8")
    return str(path)


def answers(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["why", *arguments, "--output", "json", "-q"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    validator("why").validate(found)
    return found


def test_a_generation_of_a_history_tells_why_it_moved_then(history: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answers(capsys, history, "--generation", "17", "--replay", "--task", "0_2")
    assert found["as_decided"] is True
    assert found["task"]["why"] == "moves"
    assert [step["step"]["kind"] for step in found["task"]["steps"]] == [
        "revoke",
        "withhold",
        "keep-temporary",
        "hand-over",
    ]
    assert found["task"]["steps"][0]["step"]["reason"]["limit"] == 100
    assert found["probing"]["sooner"] == []


def test_a_generation_tells_how_it_stood(history: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "why.json"
    found = answers(capsys, history, "--generation", "16", "--instance", "i4", "--out", str(out))
    assert json.loads(out.read_text(encoding="utf-8")) == found
    assert (found["instance"]["why"], found["instance"]["stateful"]) == ("waits-for-copies", 0)
    assert [item["task_id"] for item in found["probing"]["waiting"]] == ["0_2", "0_4"]


def test_a_plan_that_is_cut_off_is_no_success(history: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", history, "--generation", "16", "--set", "max.rounds=1", "--max-warmup-replicas", "3"]) == 4
    assert re.search(r"^0_2 +i2 +i4 ", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--generation", "99"], 1, "it holds those of generations 1 to 51"),
        (["--generation", "17", "--task", "9_9"], 1, "there is no task '9_9'"),
        (["--generation", "17", "--instance", "i9"], 1, "there is no instance 'i9'"),
        (["--generation", "17", "--replay", "--set", "now=2026-11-22T13:00:00Z"], 2, "--replay begins when"),
        (["--generation", "17", "--as-of", "2026-11-22T13:00:00Z"], 2, "both say of when it is"),
        (["--generation", "17", "--set", "now=2026-11-22T12:00:00Z"], 2, "now is before the snapshot"),
    ],
)
def test_what_does_not_work_is_one_error(
    more: list[str], code: int, said: str, history: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", history, *more]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("kstream-plan: error") == 1
