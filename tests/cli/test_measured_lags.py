"""Lags that applications publish, over snapshots made and snapshots read."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.cli.actions.read import measured_rows
from kstream_plan.snapshots.metrics.measurements import Measurements, read_measurements
from kstream_plan.snapshots.metrics.overlay import with_measured_lags
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.metric_texts import GROUP, leads, text

REAL = Path(__file__).parents[1] / "real" / "metrics"
LOG = ["snapshot", str(REAL / "leader.log.gz"), "--application-id", "m.app"]
WARM_UP = ["--as-of", "2026-11-22T13:58:20Z", "--metrics", str(REAL / "captures" / "04-warmup.*")]
ENDS = ["--metrics", str(REAL / "changelog_ends.jsonl.gz")]
#: When the group was as it is told.
NOW = ["--set", "now=2026-11-21T12:00:00Z"]

BOTH = {("A", 0): 900, ("B", 0): 990, ("A", 1): 1_000, ("B", 1): 1_000}


def lags(out: str) -> dict[str, list[dict[str, Any]]]:
    """The copies of a printed snapshot by the source of their lag."""
    found: dict[str, list[dict[str, Any]]] = {}
    for lag in json.loads(out)["lags"]:
        found.setdefault(lag.get("source", "none"), []).append(lag)
    return found


def test_a_log_s_snapshot_has_the_lags_that_were_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*LOG, *WARM_UP, *ENDS]) == 0
    shown = capsys.readouterr()
    assert len(lags(shown.out)["metrics"]) == 18
    assert {lag["reported_at"][:19] for lag in lags(shown.out)["metrics"]} == {"2026-11-22T13:58:13"}
    assert "m.app: 18 of " in shown.err
    assert "copies measured 6.7s ago" in shown.err, "by --as-of"


def test_ages_are_those_of_what_counts_as_now(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _measuring(monkeypatch)
    file = tmp_path / "one.prom"
    file.write_text(text(leads(BOTH)))
    asked = ["drain", "x.json", "two", "--metrics", str(file)]
    for option, said in (
        (NOW, "0s ago"),
        (["--set", "now=2026-11-21T12:00:04Z"], "4s ago"),
        (["--as-of", "2026-11-21T12:20:00Z"], "20m ago"),
    ):
        assert run([*asked, *option]) == 0
        shown = capsys.readouterr()
        line = f"2 of 2 copies measured {said}, 0 as of the last join"
        assert line in shown.err
        assert f"Assumption: {line}." in " ".join(shown.out.split())
        assert re.search(r"│ Lags +measured 2026-11-21 12:00:00 UTC ", shown.out)


def test_a_drain_says_when_lags_were_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, second = GROUP["lags"]
    _measuring(monkeypatch, {**GROUP, "lags": [first, {**second, "reported_at": "2026-11-21T11:30:00.000Z"}]})
    assert run(["drain", "x.json", "two", *NOW]) == 0
    said = "Lags reported 2026-11-21 11:00:00 UTC to 2026-11-21 11:30:00 UTC"
    assert said in " ".join(capsys.readouterr().out.replace("│", "").split())
    file = tmp_path / "one.prom"
    file.write_text(text(leads({("A", 0): 1_000, ("B", 0): 1_000})))
    assert run(["drain", "x.json", "two", *NOW, "--metrics", str(file)]) == 0
    said = "Lags measured 2026-11-21 12:00:00 UTC; reported 2026-11-21 11:30:00 UTC"
    assert said in " ".join(capsys.readouterr().out.replace("│", "").split())


@pytest.mark.parametrize("command", [["drain", "x.json", "two"], ["bounce", "x.json", "--instance", "two"]])
def test_of_reports_of_several_ages_the_oldest_one_has_to_be_trusted(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = GROUP["lags"]
    ages = [first, {**second, "reported_at": "2026-11-21T11:30:00.000Z"}]
    _measuring(monkeypatch, {**GROUP, "stores": "persistent", "lags": ages})
    options = [] if command[0] == "drain" else ["--restart", "2m"]
    run([*command, *options, *NOW])
    page = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert (
        "To find out, add --metrics, --set produce.rate or --set trust.reports.of=60m (to accept reports that old)."
        in page
    )
    assert page.count("--set trust.reports.of") == 1
    run([*command, *options, *NOW, "--output", "json"])
    assert json.loads(capsys.readouterr().out)["settled_by"] == [
        "--metrics",
        "--set produce.rate",
        "--set trust.reports.of=60m",
    ]


def test_without_end_offsets_only_the_least_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*LOG, *WARM_UP]) == 0
    shown = capsys.readouterr()
    assert "metrics" not in lags(shown.out)
    assert len(lags(shown.out)["metrics, at least"]) > 10
    assert "counts as safe" in shown.err


def test_the_broken_export_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    broken = str(REAL / "captures" / "01-steady.rules-streams_yml.i1.prom.gz")
    assert run([*LOG, "--as-of", "2026-11-22T13:57:30Z", "--metrics", broken, *ENDS]) == 0
    shown = capsys.readouterr()
    assert set(lags(shown.out)) <= {"join"}
    assert "jmx_scrape_error 1" in shown.err
    assert "consumer-fetch-manager-metrics" in shown.err, "the rule to add"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*LOG, "--metrics", "x", "--all"], "--metrics has current lags, and a history is about the past"),
        ([*LOG, "--metrics", "x", "--list"], "--metrics has current lags, and a history is about the past"),
        ([*LOG, "--metrics", "-", "--metrics", "lags=-"], "standard input is given twice"),
        (["assign", "-", "--metrics", "-"], "standard input is given twice"),
        (["assign", "x", "--metrics", "y", "--metrics", "rows=z"], "--metrics has lag rows (z) and others, and both"),
        ([*LOG, "--topology", "x"], "--topology is about a running group"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html><body>login</body></html>\n", "is a page of HTML"),
        (b"", "is empty"),
        (gzip.compress(b"foo 1\n" * 500, mtime=0)[:-9], "ends in the middle of what is zipped"),
        (b"foo 1\nkafka_consumer_records_lead{cli", "ends in the middle of line 2"),
    ],
)
def test_bad_scrapes_are_one_clear_error(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scrape.prom"
    file.write_bytes(content)
    assert run([*LOG, "--metrics", str(file)]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert str(file) in error
    assert "Fix: " in error


@pytest.mark.parametrize("command", [LOG, ["assign", "x.json"], ["drain", "x.json", "two", *NOW]])
def test_a_scrape_that_the_shell_took_out_of_a_glob_is_told(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "a.prom", tmp_path / "b.prom.gz"]
    files[0].write_text(text(leads(BOTH)))
    files[1].write_bytes(gzip.compress(text(leads(BOTH)).encode(), mtime=0))
    assert run([*command, "--metrics", *map(str, files)]) == 2
    error = capsys.readouterr().err
    assert "b.prom.gz: holds metrics" in " ".join(error.split())
    assert "--metrics A --metrics B" in error


def _measuring(monkeypatch: pytest.MonkeyPatch, *groups: dict[str, Any]) -> None:
    """Read snapshots without Spark, with what was measured over them."""

    def read(_paths: object, measured: Measurements | None = None, **_options: object) -> tuple[Any, ...]:
        if measured is None:
            return tuple(snapshot_from_row(group, "") for group in groups or (GROUP,))
        laid = [with_measured_lags(group, measured) for group in groups or (GROUP,)]
        return tuple(replace(snapshot_from_row(one.row, ""), warnings=one.warnings) for one in laid)

    monkeypatch.setattr(snapshots, "read", read)


@pytest.mark.parametrize(
    "command",
    [
        ["assign", "x.json"],
        ["drain", "x.json", "two", *NOW],
        ["simulate-scaleout", "x.json", "--add", "1", "--set", "draws=1"],
    ],
)
def test_every_command_that_plans_takes_them(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _measuring(monkeypatch)
    file = tmp_path / "one.prom"
    file.write_text(text(leads(BOTH)))
    assert run([*command, "--metrics", str(file)]) == 0
    assert "my.app: 2 of 2 copies measured 0s ago, 0 as of the last join" in capsys.readouterr().err


def test_drain_goes_by_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _measuring(monkeypatch)
    behind, ends = tmp_path / "one.prom", tmp_path / "ends.txt"
    ends.write_text("".join(f"my.app-{store}-changelog:{number}:1000\n" for store in "AB" for number in (0, 1)))
    behind.write_text(text(leads(BOTH)))
    asked = ["drain", "x.json", "two", *NOW, "--require-warm", "--metrics", str(ends)]
    assert run(["drain", "x.json", "two", *NOW]) == 0
    assert "│ UNKNOWN: " in capsys.readouterr().out, "what was reported an hour ago proves nothing"
    assert run([*asked, "--metrics", str(behind), "--output", "json"]) == 3
    shown = capsys.readouterr()
    drained = json.loads(shown.out)
    assert (drained["answer"], drained["cold_now"]) == ("no", [1, 1])
    assert [(task["task_id"], task["restore_records"]) for task in drained["now"]] == [("0_0", 110), ("0_1", 0)]
    caught_up = text(leads(dict.fromkeys(BOTH, 1_000)))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(caught_up.encode())))
    assert run([*asked, "--metrics", "-"]) == 0


def test_a_topology_tells_whose_the_metrics_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _measuring(monkeypatch, {**GROUP, "tasks": [{**task, "changelog_partitions": None} for task in GROUP["tasks"]]})
    metrics, topology = tmp_path / "one.prom", tmp_path / "my.app.txt"
    metrics.write_text(text(leads(BOTH)))
    topology.write_text(
        "Topologies:\n   Sub-topology: 0\n    Source: s (topics: [in])\n      --> p\n"
        "    Processor: p (stores: [A, B])\n      --> none\n      <-- s\n"
    )
    ends = tmp_path / "ends.txt"
    ends.write_text("".join(f"my.app-{store}-changelog:{number}:1000\n" for store in "AB" for number in (0, 1)))
    asked = ["drain", "x.json", "two", *NOW, "--metrics", str(metrics), "--metrics", str(ends)]
    assert run(asked) == 1
    assert "--topology" in capsys.readouterr().err
    for given in (str(topology), f"my.app={topology}"):
        assert run([*asked, "--topology", given]) == 0
        assert "my.app: 2 of 2 copies measured 0s ago" in capsys.readouterr().err
    assert run([*asked, "--topology", str(topology), "--topology", f"other={topology}"]) == 0
    assert "--topology other=… is for an application that is not there" in capsys.readouterr().err
    assert run(["drain", "x.json", "two", *NOW, "--topology", str(topology)]) == 2
    assert "--topology goes with measurements" in capsys.readouterr().err


def test_no_rule_is_kept_by_the_least_that_copies_are_behind(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _measuring(monkeypatch)
    lag, policy = tmp_path / "one.prom", tmp_path / "policy.yaml"
    lag.write_text(text([line.replace("records_lead", "records_lag") for line in leads(dict.fromkeys(BOTH, 30))]))
    policy.write_text("version: 1\ndefaults: {max_cold_handovers: 0}\n")
    snapshot = tmp_path / "x.json"
    snapshot.write_text(json.dumps(GROUP))
    asked = ["check", str(snapshot), "--remove", "two", "--policy", str(policy), "--acceptable-recovery-lag", "100"]
    assert run([*asked, "--set", "trust.reports.of=2h"]) == 0
    capsys.readouterr()
    assert run([*asked, "--set", "trust.reports.of=2h", "--metrics", str(lag)]) == 3
    assert re.search(r"\? +max_cold_handovers +2 +0 .*\(0 to 2\)", capsys.readouterr().out)


def test_a_check_says_in_every_form_which_options_would_tell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = GROUP["lags"]
    ages = [first, {**second, "reported_at": "2026-11-21T11:30:00.000Z"}]
    _measuring(monkeypatch, {**GROUP, "stores": "persistent", "lags": ages})
    Path("x.json").write_text(json.dumps(GROUP))
    Path("policy.yaml").write_text("version: 1\ndefaults: {max_cold_handovers: 0, max_moves: 0}\n")
    forms = ("markdown", "junit", "github", "json", "html")
    reports = [argument for form in forms for argument in ("--report", f"{form}=report.{form}")]
    asked = ["check", "x.json", "--remove", "two", "--policy", "policy.yaml", *reports]
    said = "To find out, add --metrics, --set produce.rate or --set trust.reports.of=60m"
    assert run(asked) == 3
    page = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert page.count(said) == 1
    for form in forms:
        text = " ".join(Path(f"report.{form}").read_text().replace("`", "").split())
        assert said.lower() in text.lower(), form
    found = {
        finding["rule"]: finding for finding in json.loads(Path("report.json").read_text())["plans"][0]["findings"]
    }
    assert found["max_cold_handovers"]["settled_by"] == [
        "--metrics",
        "--set produce.rate",
        "--set trust.reports.of=60m",
    ]
    assert found["max_moves"]["settled_by"] == []
    assert run([*asked, "--set", "trust.reports.of=60m"]) == 3
    assert "To find out" not in capsys.readouterr().out


def test_what_is_only_the_least_is_never_called_warm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _measuring(monkeypatch)
    file = _caught_up(tmp_path, "2026-11-21T12:00:00+00:00")
    assert run(["drain", "x.json", "two", *NOW, "--require-warm", "--metrics", str(file)]) == 0
    old = tmp_path / "one.prom"
    old.write_text(text([line.replace("records_lead", "records_lag") for line in leads(dict.fromkeys(BOTH, 30))]))
    assert run(["drain", "x.json", "two", *NOW, "--require-warm", "--metrics", str(old)]) == 3
    page = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert "Only a lower bound of how far copies are behind is known." in page


def test_a_lower_bound_is_never_printed_as_the_figure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _measuring(monkeypatch)
    lags = tmp_path / "one.prom"
    lags.write_text(text([line.replace("records_lead", "records_lag") for line in leads(dict.fromkeys(BOTH, 80))]))
    assert run(["drain", "x.json", "two", *NOW, "--metrics", str(lags)]) == 0
    page = capsys.readouterr().out
    assert re.search(r"^0_0 +one +behind +at least 160 +45s \+ restore$", page, re.MULTILINE)
    assert "2 of 2 tasks, at least 320 records to restore" in page
    assert run(["drain", "x.json", "two", *NOW, "--metrics", str(lags), "--output", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(task["restore_records"], task["restore_is"]) for task in answer["now"]] == [(160, "floor")] * 2
    assert next((task["restore_records"], task["restore_is"]) for task in answer["later"]) == (2_000, "estimate")
    (tmp_path / "x.json").write_text(json.dumps(GROUP))
    asked = ["simulate-scaleout", str(tmp_path / "x.json"), "--remove", "two", "--metrics", str(lags), "-v"]
    monkeypatch.setenv("COLUMNS", "160")
    assert run(asked) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "They restore at least 320 records before they run" in page
    assert "which had a copy, cold: at least 160 records to restore first" in page
    assert re.search(r"0_1 two→one cold – 2 at least 320", page)


def _caught_up(folder: Path, time: str) -> Path:
    """The lags of copies that had all caught up at a time, as an instance tells them itself."""
    values = {"one": {store: {str(n): {"offsetLag": 0} for n in (0, 1)} for store in "AB"}}
    file, seconds = folder / "lags.json", datetime.fromisoformat(time).timestamp()
    file.write_text(json.dumps(values))
    os.utime(file, (seconds, seconds))
    return file


@pytest.mark.parametrize(
    ("command", "time_option"),
    [
        (["drain", "x.json", "two", "--require-warm"], "--set now="),
        (["bounce", "x.json", "--instance", "two"], "--set now="),
        (["check", "x.json", "--remove", "two", "--policy", "policy.yaml"], "--as-of "),
    ],
)
def test_what_is_measured_days_after_now_proves_nothing(
    command: list[str],
    time_option: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text("version: 1\ndefaults: {max_cold_handovers: 0}\n")
    Path("x.json").write_text(json.dumps({**GROUP, "stores": "persistent"}))
    _measuring(monkeypatch, {**GROUP, "stores": "persistent"})
    asked = [*command, "--metrics", str(_caught_up(tmp_path, "2026-11-26T02:00:00+00:00"))]
    assert run([*asked, *f"{time_option}2026-11-21T12:00:00Z".split()]) == 3
    page = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert "UNKNOWN" in page
    assert "--set now=2026-11-26T02:00:00Z" in page
    later = [*asked, *f"{time_option}2026-11-26T02:00:00Z".split()]
    is_about_now = time_option == "--set now="
    assert run(later) == (3 if is_about_now else 0)
    assert (
        "The group was last seen 4d14h ago" in " ".join(capsys.readouterr().out.replace("│", "").split())
    ) is is_about_now
    assert run([*later, "--set", "trust.reports.of=5d"]) == 0


@pytest.mark.parametrize(
    "command", [["drain", "x.json", "two", "--require-warm"], ["bounce", "x.json", "--instance", "two"]]
)
@pytest.mark.parametrize(("seen", "code"), [("11:30:00", 3), ("11:59:30", 0)])
def test_no_scrape_tells_that_all_others_are_still_there_and_run_what_they_ran(
    command: list[str],
    seen: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """The scrape says when it was, so that plans begin then; who is a member is of the log's last line."""
    times = {"captured_at": "2026-11-21T10:00:00.000Z", "known_until": f"2026-11-21T{seen}.000Z"}
    group = {**GROUP, **times, "stores": "persistent"}
    _measuring(monkeypatch, group)
    file, ends = tmp_path / "one.prom", tmp_path / "ends.txt"
    file.write_text(text(leads(dict.fromkeys(BOTH, 1_000))))
    ends.write_text("".join(f"my.app-{store}-changelog:{number}:1000\n" for store in "AB" for number in (0, 1)))
    assert run([*command, "--metrics", str(file), "--metrics", str(ends), *NOW]) == code
    page = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert ("The group was last seen 30m ago" in page) is (code == 3)
    measured = read_measurements(metrics=[str(file)], end_offsets=[str(ends)])
    saved = with_measured_lags(with_measured_lags(group, measured).row, measured).row
    assert saved["known_until"] == "2026-11-21T12:00:00.000Z"
    _measuring(monkeypatch, saved)
    assert run([*command, *NOW]) == code
    _measuring(monkeypatch, {key: value for key, value in saved.items() if key != "seen_until"})
    assert run([*command, *NOW]) == 3, "of an older version: by what it is known until is unknown"


def test_what_is_strange_about_a_scrape_is_said_once_for_several_groups(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    other = {**GROUP, "application_id": "b", "tasks": [], "lags": [], "instances": GROUP["instances"][1:]}
    other["instances"] = [{**other["instances"][0], "consumers": [{"consumer_id": "two-1-consumer-x", "active": []}]}]
    odd = text([*leads(BOTH), *leads({("A", 3): -1})])
    measured = read_measurements(metrics=["-"], stdin=io.BytesIO(odd.encode()))
    measured_rows((row, measured) for row in (GROUP, other))
    answer = capsys.readouterr().err
    assert answer.count("values that are not positions are left out") == 1
    _measuring(monkeypatch, GROUP, other)
    file = tmp_path / "one.prom"
    file.write_text(odd)
    for asked in (
        ["assign", "x.json", "--verbose"],
        ["simulate-scaleout", "x.json", "--add", "1", "--set", "draws=1", "-v"],
    ):
        assert run([*asked, "--metrics", str(file)]) == 0
        shown = capsys.readouterr()
        assert " ".join(f"{shown.out} {shown.err}".split()).count("values that are not positions are left out") == 1
    _measuring(monkeypatch)
    assert run(["assign", "x.json", "--metrics", str(file)]) == 0
    assert "values that are not positions are left out" in " ".join(capsys.readouterr().out.split())
