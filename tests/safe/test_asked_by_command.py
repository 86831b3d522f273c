"""Every input of ``tests/safe``, asked through the command as of when it was captured: no answer is YES.

An answer has to come from its kind, not from its age.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kstream_plan.cli import run

_SAFE = Path(__file__).parent
_RATES = ("--restore-rate", "50/s", "--set", "produce.rate=1000/s")
_TEN_MINUTES_ON = ("--set", "now=2026-11-21T13:10:38.6Z", "--probing-rebalance-interval", "1m")
_STALE = (*_TEN_MINUTES_ON, "--acceptable-recovery-lag", "100")
_MEM, _MEM_1 = ("--instance", "05bb", "--restart", "3s"), ("--instance", "69ec", "--restart", "3s")


def _captured(file: str) -> tuple[str, str]:
    captured_at = json.loads((_SAFE / file).read_text(encoding="utf-8"))["captured_at"]
    return "--set", f"now={captured_at}"


@pytest.mark.parametrize(
    ("file", "options", "answer"),
    [
        ("01-leftover-unknown-age/snap.json", ("i0",), "UNKNOWN"),
        ("02-stale-midrebalance/snap.json", ("i4", *_STALE), "UNKNOWN"),
        ("04-produce-above-restore/lag0.json", ("i0", *_RATES, "--set", "now=2026-11-22T15:00:00Z"), "NO"),
        ("04-produce-above-restore/lag10001.json", ("i0", *_RATES, "--set", "now=2026-11-22T15:00:00Z"), "NO"),
        ("05-metrics-open/nan.json", ("i1",), "UNKNOWN"),
        ("07-least-lag-decision/snap.json", ("i0",), "UNKNOWN"),
        ("07-least-lag-decision/without.json", ("i0",), "UNKNOWN"),
        ("08-contradictions/whole-0-older-store-1e6-newer.json", ("i0",), "NO"),
        ("08-contradictions/no-stateful-flag-lag-1e6.json", ("i0",), "NO"),
        ("08-contradictions/no-copy-at-all.json", ("i0",), "NO"),
        ("s4-streams-43/2-after-join.json", ("3473", "--leave"), "NO"),
        ("s9-hot/W-live.json", ("9bc2", "--leave"), "UNKNOWN"),
        ("s9-hot/W-log.json", ("9bc2", "--leave"), "UNKNOWN"),
        ("s9-hot/W-ot.json", ("9bc2", "--leave"), "UNKNOWN"),
        ("s9-hot/W-ot.json", ("9bc2", "--leave", "--restore-rate", "60/s", "--set", "produce.rate=30/s"), "NO"),
        ("s9-hot/W-met.json", ("9bc2", "--leave"), "NO"),
        ("s7-mem/B-log.json", ("05bb",), "UNKNOWN"),
        ("s7-mem1/B-log.json", ("69ec",), "UNKNOWN"),
    ],
)
def test_no_stop_is_called_warm(
    file: str, options: tuple[str, ...], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    now = () if any(option.startswith("now=") for option in options) else _captured(file)
    assert run(["drain", str(_SAFE / file), *options, "--require-warm", *now]) == 3
    assert f"│ {answer}: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "options", "answer"),
    [
        ("02-stale-midrebalance/snap.json", ("--instance", "i4", *_STALE), "UNKNOWN"),
        ("10-nobody-runs/nobody.json", ("--instance", "i0"), "NO"),
        ("s7-mem/B-live.json", _MEM, "UNKNOWN"),
        ("s7-mem/B-log.json", _MEM, "UNKNOWN"),
        ("s7-mem1/B-live.json", _MEM_1, "UNKNOWN"),
        ("s7-mem1/B-log.json", _MEM_1, "UNKNOWN"),
    ],
)
def test_no_restart_is_called_safe(
    file: str, options: tuple[str, ...], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    now = () if any(option.startswith("now=") for option in options) else _captured(file)
    assert run(["bounce", str(_SAFE / file), *options, *now]) == 3
    assert f"│ {answer}: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("folder", "name", "scenario", "policy", "answer"),
    [
        ("04-produce-above-restore", "lag0", "stop", "pol", "NO"),
        ("04-produce-above-restore", "lag10001", "stop", "pol", "NO"),
        ("s7-mem", "B-live", "B", "policy", "UNKNOWN"),
        ("s7-mem", "B-log", "B", "policy", "UNKNOWN"),
    ],
)
def test_no_check_passes(
    folder: str, name: str, scenario: str, policy: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs, rates = _SAFE / folder, _RATES if scenario == "stop" else ()
    files = ["--scenario", str(inputs / f"{scenario}.yaml"), "--policy", str(inputs / f"{policy}.yaml")]
    assert run(["check", str(inputs / f"{name}.json"), *files, *rates]) == 3
    assert f"│ {answer}: " in capsys.readouterr().out


def test_a_row_that_contradicts_itself_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    file = "08-contradictions/stateful-false-with-changelog.json"
    assert run(["drain", str(_SAFE / file), "i0", "--require-warm", *_captured(file)]) == 1
    assert "tasks contradict themselves" in capsys.readouterr().err


def test_the_log_that_a_rebalance_in_the_middle_is_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = _SAFE / "02-stale-midrebalance/cut.log.gz", tmp_path / "cut.json"
    assert run(["snapshot", str(log), "--out", str(out)]) == 0
    capsys.readouterr()
    assert run(["drain", str(out), "i4", "--require-warm", *_STALE]) == 3
    assert "│ UNKNOWN: " in capsys.readouterr().out


def test_the_tool_takes_its_own_plan_with_a_produce_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs, out = _SAFE / "s1-large", tmp_path / "plan.json"
    command = ["simulate", str(inputs / "E1-log.json"), str(inputs / "E1-ids.yaml"), "--restore-rate", "2500/s"]
    assert run([*command, "--set", "produce.rate=2/s", "--out", str(out)]) == 0
    simulated = capsys.readouterr().out
    assert run(["show", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[:8] == simulated.splitlines()[:8]


@pytest.mark.parametrize(
    ("words", "figure", "seen"),
    [
        (
            ("simulate-scaleout", "1-before-join.json", "--add", "2", "--new", "threads=2", "--set", "draws=9"),
            "cold_handovers",
            5,
        ),
        (("simulate", "3-after-leave.json", "crash.yaml"), "cold_handovers", 2),
        (("simulate", "3-after-leave.json", "crash.yaml"), "duration_ms", 43_300),
    ],
)
def test_what_followed_in_a_streams_group_is_within_the_range(
    words: tuple[str, ...], figure: str, seen: int, tmp_path: Path
) -> None:
    command, *inputs = words
    files = [str(_SAFE / "s4-streams-43" / word) if "." in word else word for word in inputs]
    out = tmp_path / "plan.json"
    assert run([command, *files, "--restore-rate", "6000/s", "--out", str(out)]) == 0
    low, high = json.loads(out.read_text(encoding="utf-8"))["summary"]["ranges"][figure]
    assert low <= seen <= high


def test_a_generation_that_lies_between_leaves_what_started_cold_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    inputs = _SAFE / "s4-streams-43"
    assert run(["diff", str(inputs / "3-after-leave.json"), str(inputs / "4-after-crash.json")]) == 0
    assert "Cold starts       unknown: 0 to 4" in capsys.readouterr().out


def test_the_task_that_has_to_start_elsewhere_is_named_before_others(capsys: pytest.CaptureFixture[str]) -> None:
    file = "08-contradictions/no-copy-at-all.json"
    assert run(["drain", str(_SAFE / file), "i0", "--require-warm", *_captured(file)]) == 3
    screen = " ".join(capsys.readouterr().out.replace("│", " ").split())
    own = "NO: The only task of i0 restores state first, though its copy counts as caught up."
    assert own in screen
    assert screen.index(own) < screen.index("2 tasks of other instances restore state first")


def test_what_starts_cold_in_one_course_only_is_no_proven_cold_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the copies of 0_2 and 0_3 have caught up, 0_4 goes to a disk that is empty; if not, to left-over state."""
    folder, snapshot = _SAFE.parents[1] / "examples" / "leader-log", str(tmp_path / "orders.json")
    log, settings = str(folder / "orders.log"), str(folder / "app.properties")
    assert run(["snapshot", log, "--streams-config", settings, "--out", snapshot]) == 0
    assert run(["drain", snapshot, "i2", "--set", "now=2026-11-21T13:12:40Z"]) == 0
    out = capsys.readouterr().out
    assert "NO: 1 to 4 of the 6 tasks" in out
    [row] = [line.split() for line in out.splitlines() if line.startswith("0_4 ")]
    assert row == ["0_4", "i1", "left", "on", "disk", "unknown", "45s", "+", "restore"]
