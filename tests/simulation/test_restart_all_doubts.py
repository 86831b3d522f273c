"""A restart of all instances is not safe where a snapshot tells too little, or a setting decides otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from tests.simulation.test_not_modelled import group

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, Any]) -> tuple[int, dict[str, Any], str]:
    """Ask for the ways to restart all instances: exit code, JSON and page."""
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(row))
    code = run(["bounce", str(path), "--set", "stores=persistent", "--output", "json"])
    answer = json.loads(capsys.readouterr().out)
    run(["bounce", str(path), "--set", "stores=persistent"])
    return code, answer, " ".join(capsys.readouterr().out.replace("│", " ").split())


def row_with(**config: object) -> dict[str, Any]:
    """Return the group with other settings."""
    row = group()
    return {**row, "streams_version": "4.3.1", "config": {**row["config"], **config}}


def undated() -> dict[str, Any]:
    """Return the group without a time."""
    return {name: value for name, value in row_with().items() if name != "captured_at"}


def test_a_group_without_doubts_is_safe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, answer, page = ask(tmp_path, capsys, row_with())
    assert (code, answer["doubts"]) == (0, [])
    assert "Default close is safe" in page


@pytest.mark.parametrize(
    ("row", "code", "words"),
    [
        (row_with(task_assignor_class="com.acme.Own"), "not-modelled", "task.assignor.class is com.acme.Own"),
        (row_with(upgrade_from="2.3"), "not-modelled", "upgrade.from is 2.3"),
        (row_with(internal_leave_group_on_close=True), "leaves-on-close", "internal.leave.group.on.close is true"),
        ({**row_with(), "streams_version": "5.1.0"}, "release-not-modelled", "whether 5.1.0 does is unknown"),
        (undated(), "no-capture-time", "The snapshot does not say when it was taken"),
    ],
)
def test_a_doubt_leaves_no_way_safe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, Any], code: str, words: str
) -> None:
    exit_code, answer, page = ask(tmp_path, capsys, row)
    assert exit_code == 3
    assert [note["code"] for note in answer["doubts"]] == [code]
    assert not any(way["safe"] or way["best"] for way in answer["ways"])
    assert "It is unknown whether any way is safe" in page
    assert words in page
    assert "is safe with" not in page


def test_who_leaves_on_close_keeps_no_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, answer, page = ask(tmp_path, capsys, row_with(internal_leave_group_on_close=True))
    assert answer["back_within_ms"] is None
    assert "has to be back within" not in page


@pytest.mark.parametrize("words", [[], ["--instance", "i0", "--set", "now=2026-11-22T12:00:10Z"]])
def test_what_is_assumed_of_the_release_and_of_settings_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    row = {name: value for name, value in group().items() if name != "config"}
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(row))
    run(["bounce", str(path), *words])
    page = " ".join(capsys.readouterr().out.split())
    assert "The release is unknown: 4.4 is assumed" in page
    assert "The snapshot holds no settings" in page
