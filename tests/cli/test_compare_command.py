"""``compare`` on the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kstream_plan import snapshots
from kstream_plan.cli import run
from tests.helpers import captured_scenarios
from tests.helpers.schemas import validator

ROOT = Path(__file__).parents[2]
GRID = ["--vary", "max.warmup.replicas=2,20", "--vary", "assignor=high-availability,balanced"]


@pytest.fixture(autouse=True)
def _reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        snapshots, "read", lambda paths, **_options: tuple(map(captured_scenarios.before, paths or ["scale-out"]))
    )
    monkeypatch.delenv("COLUMNS", raising=False)


def outcomes(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert run(["compare", *arguments, "--output", "json", "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    validator("compare").validate(document)
    found: list[dict[str, Any]] = document["outcomes"]
    return found


def saved(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], *command: str) -> str:
    path = str(tmp_path / name)
    assert run([*command, "--out", path, "-q"]) == 0
    capsys.readouterr()
    return path


def test_every_line_is_what_the_single_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    grid = ["--vary", "max.warmup.replicas=2,4,8,20", *GRID[2:]]
    found = outcomes(capsys, "scale-out", "--add", "2", "--set", "draws=3", *grid)
    seen = 0
    for outcome in found:
        for one in outcome["alternatives"]:
            options = [
                "--max-warmup-replicas",
                one["max.warmup.replicas"],
                "--set",
                f"assignor={one['assignor']}",
            ]
            same = ["--add", "2", "--set", "draws=3", "--set", "what.if=false", "--output", "json", "-q"]
            assert run(["simulate-scaleout", "scale-out", *options, *same]) == 0
            single = json.loads(capsys.readouterr().out)
            draws, figures, summary = single["simulation"]["draws"], outcome["figures"], single["summary"]
            for name in ("rebalances", "moves", "cold_handovers", "restored_records", "max_paused_ms"):
                likely = summary["max_paused_task"]["ms"] if name == "max_paused_ms" else summary[name]
                ends = {key: draws[name][key] for key in ("least", "most")}
                assert figures[name] == {"median": likely, **ends}, name
            assert figures["balanced_ms"]["median"] == summary["duration_ms"]
            assert figures["extra_copies"]["median"] == summary["peak_extra_copies"]
            for figure in ("paused_tasks_at_once", "peak_extra_copies"):
                name = figure.replace("tasks_", "")
                assert figures[name] == draws["worst"][f"max_{figure}"], name
            assert figures["least_moves"] == summary["lower_bounds"]["moves"]
            assert outcome["floor_ms"] == single["summary"]["floor_ms"]
            seen += 1
    assert seen == 8


def test_scenarios_beside_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, event in (("a", "{crash: i3}"), ("b", "{stop: [i3]}"), ("c", "{stop: [i3]}")):
        (tmp_path / f"{name}.yaml").write_text(f"events: [{event}]", encoding="utf-8")
    paths = [str(tmp_path / f"{name}.yaml") for name in "abc"]
    given = [part for path in paths for part in ("--scenario", path)]
    found = outcomes(capsys, "scale-out", *given)
    assert [path for item in found for one in item["alternatives"] for path in one.values()] == paths
    assert [{"scenario": path} for path in paths[1:]] in [item["alternatives"][-2:] for item in found]
    assert run(["compare", "scale-out", *given, "-q"]) == 0
    assert "to deploy" not in capsys.readouterr().out


def test_one_scenario_is_what_happens_in_every_alternative(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("events: [{join: 2}]", encoding="utf-8")
    draws = ["--set", "draws=2", "--vary", "max.warmup.replicas=2,20"]
    by_file = outcomes(capsys, "scale-out", "--scenario", str(path), *draws)
    assert by_file == outcomes(capsys, "scale-out", "--add", "2", *draws)


def test_saved_plans_of_one_snapshot_plain_and_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = saved(tmp_path, "plain.json", capsys, "assign", "scale-out")
    two = saved(tmp_path, "two.json", capsys, "simulate-scaleout", "scale-out", "--add", "2", "--set", "draws=3")
    fast = [*("simulate-scaleout", "scale-out", "--add", "2", "--set", "draws=3"), "--max-warmup-replicas", "20"]
    found = outcomes(capsys, plain, two, saved(tmp_path, "\x1b[31m|`fast`.json", capsys, *fast))
    assert [item["draws"] for item in found] == [None, 3, 3]
    assert [item["figures"]["settled"] for item in found] == [1, 3, 3]
    assert found[2]["figures"]["balanced_ms"]["median"] < found[1]["figures"]["balanced_ms"]["median"]
    same = outcomes(capsys, two, two)
    assert [len(item["alternatives"]) for item in same] == [2]
    for form in ("table", "markdown"):
        assert run(["compare", two, str(tmp_path / "\x1b[31m|`fast`.json"), "--output", form]) == 0
        assert "\x1b" not in capsys.readouterr().out


def test_plans_of_different_snapshots_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = saved(tmp_path, "one.json", capsys, "assign", "scale-out")
    other = saved(tmp_path, "other.json", capsys, "assign", "scale-out-standbys")
    assert run(["compare", one, other]) == 2
    error = capsys.readouterr().err
    assert f"{other} is a plan of another snapshot than {one}" in error
    assert "Fix: compare plans of one snapshot" in error


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--vary", "max.warmup.replicas=2"], "--vary is for snapshots"),
        (["--add", "2"], "--add is for snapshots"),
        (["--max-warmup-replicas", "9"], "--max-warmup-replicas is for snapshots"),
        (["--set", "assignor=balanced"], "--set assignor is for snapshots"),
        (["--set", "max.rounds=9"], "--set max.rounds is for snapshots"),
        ([], "one plan alone has nothing to compare with"),
    ],
)
def test_what_plans_do_not_take(
    more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", saved(tmp_path, "one.json", capsys, "assign", "scale-out"), *more]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "there is nothing to compare. Fix: give --vary"),
        (["--vary", "max.warmup.replicas"], 2, "'max.warmup.replicas' is not NAME=VALUE,VALUE"),
        (["--vary", "=2"], 2, "'=2' is not NAME=VALUE,VALUE"),
        (["--vary", "max.warmup.replicas=2,,4"], 2, "is not NAME=VALUE,VALUE"),
        (["--vary", "max.warmup.replicas=2,2"], 2, "max.warmup.replicas has 2 twice"),
        (["--vary", "probing.rebalance.interval.ms=60s,1m"], 2, "probing.rebalance.interval.ms has 60000 twice"),
        (["--vary", "max.warmup.replicas=2", "--vary", "max_warmup_replicas=4"], 2, "is varied twice"),
        (
            ["--vary", "assignor=magic"],
            2,
            "'magic' is no assignor. Fix: use one of balanced (needs the extra [balanced]), high-availability",
        ),
        (["--vary", f"max.warmup.replicas={','.join(map(str, range(1, 1002)))}"], 2, "1,001 alternatives are more"),
        (["--vary", "max.warmup.replica=2"], 2, "is no setting. Fix: is it max.warmup.replicas?"),
        (["--vary", "num.stream.threads=2,4"], 2, "that counts here. Fix: the event 'threads' of a scenario"),
        (["--vary", "max.warmup.replicas=many"], 2, "is 'many', not a whole number"),
        (["--vary", "max.warmup.replicas=0"], 2, "max.warmup.replicas"),
        (["--vary", "probing.rebalance.interval.ms=soon"], 2, "probing.rebalance.interval.ms is 'soon'"),
        (["--vary", "max.warmup.replicas=2", "--set", "draws=3"], 2, "--set draws goes with --add, --to or --scenario"),
        (["--vary", "max.warmup.replicas=2", "--add", "1", "--to", "9"], 2, "--add and --to cannot be combined"),
        (["--scenario", "no.yaml", "--scenario", "no.yaml"], 1, "no.yaml"),
    ],
)
def test_bad_input_is_one_error_before_anything_is_read(
    arguments: list[str],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshots, "read", lambda *_arguments, **_options: pytest.fail("was read"))
    assert run(["compare", "x.json", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("kstream-plan: error") == 1


def test_plans_and_snapshots_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = saved(tmp_path, "one.json", capsys, "assign", "scale-out")
    assert run(["compare", "x.json", plan, "--vary", "max.warmup.replicas=2,4"]) == 2
    assert f"{plan}: is a saved plan, which is compared with plans only" in capsys.readouterr().err


def test_what_is_marked_says_what_starts_cold_all_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    late = tmp_path / "late.yaml"
    late.write_text("version: 1\nevents:\n  - {at: 0s, bounce: {restart: 43s}}\n", encoding="utf-8")

    def told(*rate: str) -> str:
        varied = ["--scenario", str(late), "--vary", "max.warmup.replicas=2,8", *rate, "-q"]
        assert run(["compare", "scale-out", *varied]) == 0
        return capsys.readouterr().out

    assert "Warning: The restore rate is unknown." in told(), "when copies are caught up is unknown"
    for text in (told(), told("--restore-rate", "500/s")):
        assert re.search(r"^Cold starts +\d+ \(\d+ to \d+\) +\d+ \(\d+ to \d+\)$", text, re.MULTILINE)
        assert re.search(
            r"^Warning: With max\.warmup\.replicas=\d+: \d+ tasks start cold, in \d+ \(", text, re.MULTILINE
        )


def test_a_policy_puts_first_what_keeps_to_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\ndefaults: {max_peak_extra_copies: 4}\n", encoding="utf-8")
    given = [
        "scale-out",
        "--add",
        "2",
        "--set",
        "draws=2",
        "--vary",
        "max.warmup.replicas=20,2",
        "--policy",
        str(policy),
    ]
    found = outcomes(capsys, *given)
    assert [(item["kept"], item["fastest"], item["broken_rules"]) for item in found] == [
        (True, True, []),
        (False, False, ["max_peak_extra_copies"]),
    ]
    assert run(["compare", *given, "-q"]) == 0
    text = capsys.readouterr().out
    assert "│ max.warmup.replicas=2 settles first of those that keep to the policy: " in text
    assert re.search(r"^Policy +kept +breaks max_peak_extra_copies$", text, re.MULTILINE)


def test_today_decides_whether_a_waiver_of_the_policy_is_in_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waived = 'waivers: [{application: "*", rule: max_moves, until: 2027-01-31, reason: x}]'
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"version: 1\ndefaults: {{max_moves: 1}}\n{waived}\n", encoding="utf-8")
    given = ["scale-out", "--add", "2", "--set", "draws=1", "--vary", "max.warmup.replicas=20", "--policy", str(policy)]
    assert [outcome["kept"] for outcome in outcomes(capsys, *given, "--set", "now=2027-01-31")] == [True]
    assert [outcome["kept"] for outcome in outcomes(capsys, *given, "--set", "now=2027-02-01")] == [False]
    assert [outcome["kept"] for outcome in outcomes(capsys, *given, "--set", "now=2027-01-31T12:00:00Z")] == [True]
    assert [outcome["kept"] for outcome in outcomes(capsys, *given, "--set", "now=2027-02-01T00:00:00Z")] == [False]


def test_how_many_learners_at_once_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["scale-out", "--add", "2", "--set", "draws=2", "--vary", "max.learners=1,2"]
    found = outcomes(capsys, *given, "--design", "learner", "--restore-rate", "500/s")
    assert [item["figures"]["peak_extra_copies"] for item in found] == [1, 2]
    for wrong, answer in ((given, "goes with --design learner"), ([*given[:-1], "max.learners=0"], "number from 1")):
        assert run(["compare", *wrong]) == 2
        assert answer in capsys.readouterr().err


def test_the_order_of_hashes_changes_nothing() -> None:
    program = (
        "import sys; from kstream_plan import snapshots; from kstream_plan.cli import run; "
        "from tests.helpers import captured_scenarios; "
        "snapshots.read = lambda *_a, **_o: (captured_scenarios.before('scale-out'),); "
        f"sys.exit(run(['compare', 'x', '--add', '2', '--set', 'draws=2', '--output', 'json', '-q', *{GRID!r}]))"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert printed[0]
