"""How far behind applications were over time: shown, as Markdown, as JSON by its schema; and what cannot be shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kstream_plan.cli import run
from tests.helpers.goldens import assert_golden
from tests.helpers.schemas import validator

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

Capture = pytest.CaptureFixture[str]

FALLS, RESTORES = "1d296588-571c-4eee-96be-fa395e3c536c", "8d296588-571c-4eee-96be-fa395e3c536c"


def _row(minute: int, process_id: str, task: int, lag: int | None, **more: Any) -> dict[str, Any]:
    """A task is written to by 60 times its number records a minute."""
    fields = {"application_id": "orders", "process_id": process_id, "task_id": f"0_{task}", "lag": lag}
    time = f"2026-11-21T{minute // 60:02d}:{minute % 60:02d}:00Z"
    return {**fields, "captured_at": time, "end_offset": 1_000 + 60 * task * minute, **more}


@pytest.fixture(scope="module")
def lags(tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = [
        row
        for minute in range(0, 1_440, 15)
        for task in (1, 2)
        for row in (
            _row(minute, FALLS, task, 20 * task * minute),
            _row(minute, RESTORES, task, max(0, 500_000 - 1_000 * minute), store="a"),
            _row(minute, RESTORES, task, 7, store="b", end_offset=5),
        )
    ]
    rows += [_row(minute, "x", 1, None, application_id="a [b]|c") for minute in range(0, 60, 10)]
    rows.append({"application_id": "orders", "captured_at": "2026-11-21T10:00:00Z", "lag": 4})
    path = tmp_path_factory.mktemp("lags") / "lags.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def test_applications_are_shown_within_80_columns(lags: str, capsys: Capture) -> None:
    assert run(["history", lags]) == 0
    out, err = capsys.readouterr()
    assert max(map(len, _above(out).splitlines())) <= 80
    assert "warning: 1 row without" in err
    assert_golden("lag-history/table.txt", _above(out))
    assert run(["history", lags, "--output", "markdown", "--set", "over=6h", "--set", "top=1"]) == 0
    assert_golden("lag-history/markdown.md", _above(capsys.readouterr().out))


def test_the_figures_are_those_of_the_rows(lags: str, capsys: Capture) -> None:
    assert run(["history", lags, "--output", "json", "--application-id", "ord*"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    validator("history").validate(found)
    falls, restores = found["instances"]
    assert [(one["process_id"], one["falls_behind"], one["copies"]) for one in (falls, restores)] == [
        (FALLS, True, 2),
        (RESTORES, False, 2),
    ]
    assert (falls["lag"], falls["written_per_second"]) == (20 * 1_425 * 3, pytest.approx(3, rel=0.05))
    assert falls["restored_per_second"] == pytest.approx(2, rel=0.05), "one a second is left of three"
    assert falls["lags"] == sorted(falls["lags"])
    assert (restores["lag"], restores["lags"][-1]) == (14, 14), "both stores of both tasks"
    assert [(task["task_id"], task["lag"]) for task in found["tasks"]] == [("0_2", 57_000), ("0_1", 28_500)]
    assert found["lag"] == falls["lag"] + restores["lag"]


def test_growth_within_one_step_is_seen(tmp_path: Path, capsys: Capture) -> None:
    rows = [
        _row(minute, FALLS, 1, 9_000 * minute, **more)
        for minute in (0, 10)
        for more in ({"store": "a"}, {"store": "b"})
    ]
    rows.append(_row(0, RESTORES, 1, None))
    rows += [_row(minute, RESTORES, 1, 100_000 - 9_000 * minute) for minute in (1, 10)]
    (tmp_path / "lags.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run(["history", str(tmp_path), "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    falls, restores = found["instances"]
    assert (falls["process_id"], falls["lag_before"], falls["lag"], falls["falls_behind"]) == (FALLS, 0, 180_000, True)
    assert falls["written_per_second"] == 2, "600 records of each of two stores in 10 minutes"
    assert (restores["lag_before"], restores["lag"], restores["falls_behind"]) == (91_000, 10_000, False)
    assert restores["restored_per_second"] == (600 + 81_000) / 600


def _above(out: str) -> str:
    """Return what is shown above the command, which has the path of this very run and is not wrapped."""
    return re.sub(r"\n+(?:- \*\*)?Next:.*\n", "\n", out)


def _said(rows: list[dict[str, Any]], path: Path, capsys: Capture) -> dict[str, Any]:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run(["history", str(path), "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    validator("history").validate(found)
    return dict(found)


def test_totals_say_where_copies_are_left_out_of_which_nothing_is_known(tmp_path: Path, capsys: Capture) -> None:
    rows = [
        row
        for minute in (0, 60, 120)
        for row in (
            _row(minute, FALLS, 1, 100),
            _row(minute, FALLS, 2, None, offset=-3),
            _row(minute, RESTORES, 1, 5, store="a"),
            _row(minute, RESTORES, 1, None, store="b", end_offset=None),
            _row(minute, RESTORES, 2, 70),
        )
    ]
    found = _said(rows, tmp_path / "lags.jsonl", capsys)
    assert (found["lag"], found["lag_before"], found["falls_behind"]) == (170, 170, None)
    assert found["at_least"] == ["lag", "lag_before", "written_per_second", "restored_per_second"]
    assert [(one["lag"], one["falls_behind"], one["at_least"]) for one in found["instances"]] == [
        (100, None, ["lag", "lag_before", "restored_per_second"]),
        (70, None, ["lag", "lag_before", "written_per_second", "restored_per_second"]),
    ]
    assert [(task["task_id"], task["lag"], task["at_least"]) for task in found["tasks"]] == [
        ("0_2", 70, ["lag"]),
        ("0_1", 100, ["lag"]),
    ]
    assert run(["history", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert_golden("lag-history/unknown.txt", _above(out))
    assert max(map(len, _above(out).splitlines())) <= 80


def test_a_lag_that_only_the_last_row_does_not_tell_is_the_one_before(tmp_path: Path, capsys: Capture) -> None:
    rows = [_row(minute, FALLS, 1, lag) for minute, lag in ((0, 10), (60, 30_000), (61, None))]
    found = _said(rows, tmp_path / "lags.jsonl", capsys)
    assert (found["lag"], found["lag_before"], found["falls_behind"]) == (30_000, 10, True)


def test_what_runs_and_what_has_no_changelog_is_caught_up(tmp_path: Path, capsys: Capture) -> None:
    rows = [
        row
        for minute in (0, 60)
        for row in (
            _row(minute, FALLS, 1, -2),
            _row(minute, FALLS, 2, None, offset=-2, store="a"),
            _row(minute, FALLS, 2, None, end_offset=0, store="b", logged=False),
        )
    ]
    found = _said(rows, tmp_path / "lags.jsonl", capsys)
    assert (found["lag"], found["falls_behind"], found["at_least"]) == (0, False, [])


def test_a_step_of_which_a_copy_or_an_instance_is_not_known_is_not_known(tmp_path: Path, capsys: Capture) -> None:
    rows = [
        _row(minute, process_id, task, None if (minute, task) == (60, 2) else 100)
        for minute in range(0, 240, 60)
        for process_id in (FALLS, RESTORES)
        for task in (1, 2)
        if (minute, process_id) != (120, RESTORES)
    ]
    found = _said([*rows, _row(240, FALLS, 1, 100)], tmp_path / "lags.jsonl", capsys)
    assert found["lags"][-5:] == [400, None, None, 400, 100]
    assert found["instances"][0]["lags"][-5:] == [200, None, 200, 200, 100]


def test_a_copy_that_falls_behind_is_seen_though_others_restore_more(tmp_path: Path, capsys: Capture) -> None:
    rows = [
        _row(minute, FALLS, task, lag)
        for minute in range(0, 1_440, 60)
        for task, lag in ((1, max(0, 5_000_000 - 9_000 * minute)), (2, 30 * minute), (3, 5))
    ]
    found = _said(rows, tmp_path / "lags.jsonl", capsys)
    (one,) = found["instances"]
    assert (one["falls_behind"], found["falls_behind"], one["copies_behind"]) == (True, True, 1)
    assert one["most_behind"] == {"task_id": "0_2", "growth": 30 * 1_380}
    assert one["lag"] < one["lag_before"]
    for form in ("table", "markdown"):
        assert run(["history", str(tmp_path), "--output", form]) == 0
        out = " ".join(capsys.readouterr().out.replace("`", "").split())
        assert "1 of 1 instance falls behind" in out
        assert "(1 of 3 copies, most 0_2 by 41,400 records)" in out


def test_an_instance_that_is_not_heard_of_any_more_is_never_taken_for_well(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is heard of every four hours is as well as it ever was."""
    rows = [
        _row(minute, process_id, 1, 40)
        for process_id, minutes in (
            (FALLS, range(0, 840, 10)),
            (RESTORES, range(0, 1_440, 10)),
            ("rarely", range(0, 1_440, 240)),
        )
        for minute in minutes
    ]
    found = _said(rows, tmp_path / "lags.jsonl", capsys)
    assert [(one["process_id"], one["falls_behind"], one["is_silent"]) for one in found["instances"]] == [
        (FALLS, None, True),
        (RESTORES, False, False),
        ("rarely", False, False),
    ]
    assert found["falls_behind"] is None
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["history", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    words = " ".join(out.replace("│", " ").split())
    assert "1d296588… uncertain" in words
    assert "Warning: No reports from 1d296588… for 10h: it may be gone, and its last lag counts." in words
    assert "1 of 3 instances is uncertain" in words
    assert max(map(len, _above(out).splitlines())) <= 60


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_a_task_id_that_is_none_is_refused_with_its_file(form: str, tmp_path: Path, capsys: Capture) -> None:
    for name, task_id in (("a", "0_1"), ("b", "task one"), ("c", "task one")):
        row = {**_row(0, FALLS, 1, 5), "task_id": task_id}
        if form == "json":
            (tmp_path / f"{name}.jsonl").write_text(json.dumps(row))
        else:
            pq.write_table(pa.Table.from_pylist([row]), tmp_path / f"{name}.parquet")
    assert run(["history", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("Fix: write subtopology_partition")) == ("", 1)
    assert f"/b.{'jsonl' if form == 'json' else form}: task_id is 'task one', not a task id" in " ".join(err.split())


def test_a_time_and_its_end_are_picked(lags: str, capsys: Capture) -> None:
    asked = ["history", lags, "--output", "json", "--application-id", "orders", "--as-of", "2026-11-21T12:07:00Z"]
    assert run([*asked, "--set", "over=2h"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["since"], found["until"]) == ("2026-11-21T10:00:00.000Z", "2026-11-21T12:00:00.000Z")
    assert found["step_ms"] == 300_000
    assert found["lags"][-1] is not None
    assert sum(lag is not None for lag in found["lags"]) == 8, "every 15 minutes somebody said"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--application-id", "other"], 1, "no application matches 'other' with a lag row. Fix: the input holds "),
        (["--as-of", "2020-01-01T00:00:00Z"], 1, "holds no lag row with application_id, process_id, task_id and"),
        (["--set", "over=0s"], 2, "over: a time above 0 is needed"),
        (["nowhere.json"], 1, "nowhere.json: does not exist"),
    ],
)
def test_what_cannot_be_shown_is_one_error(
    arguments: list[str], code: int, said: str, lags: str, capsys: Capture
) -> None:
    assert run(["history", lags, *arguments]) == code
    out, err = capsys.readouterr()
    assert (out, err.count("Fix:")) == ("", 1)
    assert said in " ".join(err.split())


def test_what_are_no_lag_rows_is_one_error(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "snapshot.json").write_text('{"application_id": "orders", "captured_at": "2026-11-21T12:00:00Z"}')
    assert run(["history", str(tmp_path)]) == 1
    assert "give lag rows, see: kstream-plan schema lags" in " ".join(capsys.readouterr().err.split())


def test_stores_of_a_copy_that_are_heard_of_in_turn_count_in_every_step(tmp_path: Path, capsys: Capture) -> None:
    """Every two hours each, an hour apart; the second store is first heard of an hour late."""
    rows = [
        _row(minute, FALLS, 1, 1_000 + minute if store == "a" else 200, store=store, end_offset=6_000 + 60 * minute)
        for minute in range(0, 1_440, 60)
        for store in ("ab"[minute // 60 % 2],)
    ]
    found = _said(rows, tmp_path / "lags.jsonl", capsys)
    (copy,) = found["instances"]
    assert (copy["lag"], copy["lag_before"]) == (1_000 + 1_320 + 200, 1_200)
    heard_of_a = [minute - minute % 120 for minute in range(60, 1_440, 60)]
    assert copy["lags"] == [None, *(1_200 + minute for minute in heard_of_a)]
    assert copy["written_per_second"] == pytest.approx(2, rel=0.1), "one a second to each store"


def test_what_a_store_does_not_know_is_not_taken_from_before(tmp_path: Path, capsys: Capture) -> None:
    rows = [
        _row(minute, FALLS, 1, lag, store=store, end_offset=None)
        for minute, a, b in ((0, 10, 5), (60, 20, None), (120, 30, 7), (1_380, 40, 7))
        for store, lag in (("a", a), ("b", b))
    ]
    assert _said(rows, tmp_path / "lags.jsonl", capsys)["lags"] == [15, None, 37, *[None] * 20, 47]


def test_a_narrow_terminal_has_all_but_the_lag_over_time(
    lags: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["history", lags]) == 0
    out = capsys.readouterr().out
    assert max(map(len, _above(out).splitlines())) <= 60
    assert "Restored/s  Lag over time" not in out
    assert out.count("Wider pages also show: Lag over time.") == 2  # the third one has none to show


@pytest.mark.parametrize(("minutes", "is_short"), [(10, True), (300, False)])
def test_how_to_see_more_of_a_short_history_is_said(
    minutes: int, is_short: bool, tmp_path: Path, capsys: Capture
) -> None:
    rows = [_row(minute, FALLS, 1, minute) for minute in range(0, minutes + 1, 10)]
    (tmp_path / "lags.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run(["history", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert ("(steps of 1h" in out) == (not is_short), "a step or two are no picture"
    assert ("to 00:10:00 UTC" if is_short else "to 05:00:00 UTC") in out
    assert ("Note: The history is short: the next command shows it in finer steps." in out) == is_short
    assert (f"Next: kstream-plan history {tmp_path} --set over=11m" in out) == is_short


def test_an_offset_beyond_the_end_hides_no_lag_of_others(tmp_path: Path, capsys: Capture) -> None:
    """Both are read one after the other: a copy that is not behind may have come to be further meanwhile."""
    rows = [
        {**_row(minute, process_id, 1, None), "offset": offset, "end_offset": 1_000}
        for minute in (0, 1)
        for process_id, offset in ((FALLS, 600), ("further", 1_300))
    ]
    assert _said(rows, tmp_path / "lags.jsonl", capsys)["lags"][-1] == 400


def test_every_row_that_is_left_out_is_counted(tmp_path: Path, capsys: Capture) -> None:
    needed = ("application_id", "process_id", "task_id", "captured_at")
    rows = [_row(0, FALLS, 1, 0), *(_row(0, FALLS, 1, 5) | {name: None} for name in needed)]
    lags = tmp_path / "lags.jsonl"
    lags.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run(["history", str(lags)]) == 0
    assert "4 rows without a readable application_id, process_id, task_id or captured_at left out" in " ".join(
        capsys.readouterr().err.split()
    )


def test_files_that_are_no_lag_rows_by_their_names_are_skipped_and_named(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "lags.jsonl").write_text("".join(f"{json.dumps(_row(minute, FALLS, 1, 0))}\n" for minute in (0, 1)))
    (tmp_path / "README.md").write_text("# About these lags")
    (tmp_path / "make.py").write_text("print()")
    assert run(["history", str(tmp_path)]) == 0
    warning = "warning: 2 files skipped, whose names say that they hold no lag rows: "
    assert f"{warning}{tmp_path}/README.md, {tmp_path}/make.py" in capsys.readouterr().err
    assert run(["history", str(tmp_path / "README.md")]) == 1
    assert "README.md: is neither JSON nor Parquet" in capsys.readouterr().err
