"""The command line: what it prints where, and the exit code it leaves."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.cli.output import check_target
from kstream_plan.documents.plan.files import read_plan_file
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import SnapshotError
from kstream_plan.model import Snapshot
from kstream_plan.model.settings import CONFIG_NAMES
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.text.escape import to_encoding
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from kstream_plan.version import __version__, build
from tests.helpers import plan_cases


class FakeReader:
    """Stands for ``snapshots.read``: returns what it is told to and keeps what it was asked for."""

    def __init__(self, *outcomes: Snapshot | SnapshotError | BaseException) -> None:
        self.outcomes = outcomes
        self.asked: list[tuple[Sequence[str], dict[str, Any]]] = []

    def __call__(self, paths: Sequence[str], **options: Any) -> tuple[Any, ...]:
        for in_session in ("meanwhile", "then"):  # there is none to go on in
            options.pop(in_session, None)
        self.asked.append((paths, options))
        for outcome in self.outcomes:
            kept = options["keep_going"] and isinstance(outcome, SnapshotError)
            if isinstance(outcome, BaseException) and not kept:
                raise outcome
        return self.outcomes


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the command read the plan cases of these names (or raise)."""

    def let(*outcomes: str | BaseException) -> FakeReader:
        reader = FakeReader(
            *(plan_cases.snapshot(outcome) if isinstance(outcome, str) else outcome for outcome in outcomes)
        )
        monkeypatch.setattr(snapshots, "read", reader)
        return reader

    monkeypatch.delenv("COLUMNS", raising=False)
    return let


def test_piped_the_table_has_80_columns_and_no_colour(reads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reads("scale-out")
    assert run(["assign", "x.json"]) == 0
    expected = table(plan_cases.case("scale-out"), width=80).replace("SNAPSHOT", "x.json")
    assert capsys.readouterr() == (expected, "")


def test_json_is_one_plan_a_line(reads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reads("settled", "scale-out")
    assert run(["assign", "x.json", "--output", "json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [plan_json(plan_cases.case("settled")), plan_json(plan_cases.case("scale-out"))]


def test_full_json_has_every_rounds_outcome(reads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reads("scale-out")
    assert run(["assign", "x.json", "--output", "json", "--set", "full=true"]) == 0
    assert "decided" in json.loads(capsys.readouterr().out)["rounds"][0]


def test_several_applications_get_one_line_each_worst_first(reads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reads("settled", "crash", "pods")
    assert run(["assign", "x.json"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("╭─ 3 applications: 2 moving, 1 settled ─")
    assert "1 application is at risk: 1 with cold starts." in text
    assert re.findall(r"^(\w+)  ", text, re.MULTILINE)[:4] == ["Application", "S1", "payments", "S1"]
    assert "--application-id" in text


def test_several_applications_in_full_with_verbose(reads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reads("settled", "scale-out")
    assert run(["assign", "x.json", "-v"]) == 0
    text = capsys.readouterr().out
    assert "│ The group is settled." in text
    assert "Rebalance 22 at 11m: follow-up (cut-over, settled), generation 23" in text


@pytest.mark.parametrize(
    ("cases", "options", "code"),
    [
        (["settled"], [], 0),
        (["settled"], ["--fail-on-changes"], 0),
        (["scale-out"], ["--fail-on-changes"], 5),
        (["never-ready"], ["--restore-rate", "1/s", "--set", "produce.rate=50/s"], 4),
        (["scale-out"], ["--set", "max.rounds=3"], 4),
        (["settled", "scale-out"], ["--fail-on-changes", "--set", "max.rounds=3"], 4),
        (["settled", "scale-out"], ["--fail-on-changes"], 5),
    ],
)
def test_exit_codes(reads: Any, cases: list[str], options: list[str], code: int) -> None:
    reads(*cases)
    assert run(["assign", "x.json", *options]) == code


@pytest.mark.parametrize("text", ["13:00", "noon", "2026-11-22T34:00.61Z"])
def test_as_of_is_a_time(reads: Any, capsys: pytest.CaptureFixture[str], text: str) -> None:
    reads("settled")
    assert run(["assign", "x", "--as-of", text]) == 2
    assert f"--as-of: '{text}' is" in capsys.readouterr().err


def test_bad_input_is_one_message_on_stderr_and_exit_code_1(reads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reads(SnapshotError("has two \x1b[31mowners", where="x.json, application 'S1'", fix="keep one"))
    assert run(["assign", "x.json"]) == 1
    assert capsys.readouterr() == (
        "",
        "kstream-plan: error: x.json, application 'S1': has two \\x1b[31mowners. Fix: keep one\n",
    )


def test_keep_going_reports_the_bad_and_plans_the_others(reads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reads(SnapshotError("is bad", where="x.json"), "scale-out")
    assert run(["assign", "x.json", "--set", "keep.going=true", "--fail-on-changes"]) == 1
    out, err = capsys.readouterr()
    assert out == table(plan_cases.case("scale-out")).replace("SNAPSHOT", "x.json")
    assert err == "kstream-plan: error: x.json: is bad\n"


def test_a_bug_keeps_its_traceback(reads: Any) -> None:
    reads(ZeroDivisionError("oops"))
    with pytest.raises(ZeroDivisionError):
        run(["assign", "x.json"])


def test_an_interrupt_is_130_and_quiet(reads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reads(KeyboardInterrupt())
    assert run(["assign", "x.json"]) == 130
    assert capsys.readouterr() == ("", "kstream-plan: interrupted\n")


def test_debug_shows_the_traceback_of_an_expected_error(reads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reads(SnapshotError("is bad"))
    assert run(["assign", "x.json", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["assign"], "error: assign: SNAPSHOT... is missing. Fix: see kstream-plan assign --help"),
        (["assign", "x", "--restore-rate", "fast"], "'fast' is not a rate"),
        (["assign", "x", "--restore-rate", "0"], "above 0"),
        (
            ["assign", "x", "--probing-rebalance-interval", "5s"],
            "--probing-rebalance-interval: 5s is below 60s. Fix: give 60s or more",
        ),
        (["assign", "x", "--max-warmup-replicas", "0"], "0 is below 1"),
        (["assign", "x", "--max-warmup-replicas", "1.5"], "'1.5' is not a whole number"),
        (["assign", "x", "--restore-rate", "5MB/s"], "divide bytes by the size of a record"),
        (["assign", "x", "--report", "png=x"], "--report: 'png' is not one of html, svg. Fix: write html=x or svg=x"),
        (["upgrade", "x", "--to", "streams-group"], "'streams-group' is not one of cooperative, streams, sessioned"),
        (["assign", "x", "--set", "assignor=magic"], "'magic' is not one of"),
        (["assign", "x", "--set", "trigger=follow-up"], "'follow-up' is not one of"),
        (["assign", "x", "--spark-conf", "a"], "'a' is not K=V"),
        (["assign", "x", "--set", "max.rounds=0"], "0 is below 1"),
        (["assign", "x", "--output", "xml"], "xml"),
        (["assign", "x", "--set", "show.ranks=true", "--output", "json"], "--set show.ranks=true is for people"),
        (["assign", "x", "--set", "lags.tolerance=5m"], "--set lags.tolerance goes with lag rows: --metrics FILE"),
        (["assign", "x", "--set", "rates.over=1h"], "--set rates.over goes with lag rows: --metrics FILE"),
        (["assign", "x", "--metrics", "rows=y", "--set", "rates.over=0"], "rates need a time above 0"),
        (["schema", "house"], "'house' is not one of plan, "),
        (["check", "x", "--output", "xml"], "Fix: see kstream-plan check --help\n"),
        (["fly"], "error: no such command 'fly'. Fix: see kstream-plan --help"),
        (["foo"], "error: no such command 'foo'. Fix: see kstream-plan --help"),
    ],
)
def test_usage_errors_are_exit_code_2_before_anything_is_read(
    reads: Any, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    reader = reads("scale-out")
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""
    assert not reader.asked


@pytest.mark.parametrize("command", [("export-target", "plan.json"), ("assign", "snapshot.json")])
def test_a_dash_is_no_file_to_write(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*command, "--out", "-"]) == 2
    assert "--out takes a file, and - stands for none. Fix: name a file" in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("path", "message"), [("/no/such/folder/plan.json", "does not exist"), ("/", "is a folder")])
def test_a_place_that_cannot_be_written_to_is_found_before_anything_is_read(
    reads: Any, capsys: pytest.CaptureFixture[str], path: str, message: str
) -> None:
    reader = reads("scale-out")
    assert run(["assign", "x", "--out", path]) == 1
    assert message in capsys.readouterr().err
    assert not reader.asked


@pytest.mark.parametrize(
    "content",
    [
        "# Notes\n\nkstream-plan assign\n",
        '{"name": "app"}',
        '{"kind": "Pod"}',
        '{"application_id": "a", "instances": []}',
    ],
)
def test_what_this_tool_did_not_write_is_not_replaced_nor_a_snapshot_by_a_plan(
    reads: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str
) -> None:
    reader = reads("scale-out")
    path = tmp_path / "there.json"
    path.write_text(content, encoding="utf-8")
    for option in (["--out", str(path)], ["--report", f"html={path}"]):
        assert run(["assign", "x", *option]) == 1
        assert f"{option[0]} {path}: is there already" in capsys.readouterr().err
    assert not reader.asked
    assert path.read_text(encoding="utf-8") == content


def test_what_this_tool_wrote_is_replaced(reads: Any, tmp_path: Path) -> None:
    reads("scale-out")
    plan, page, picture = tmp_path / "plan.json", tmp_path / "plan.html", tmp_path / "plan.svg"
    plan.touch()
    for _ in range(2):
        reports = ["--report", f"html={page}", "--report", f"svg={picture}"]
        assert run(["assign", "x", "--out", str(plan), *reports]) == 0
    for _ in range(2):
        assert run(["show", str(plan), "--as-snapshot", str(tmp_path / "end.json")]) == 0
    assert run(["show", str(plan), "--as-snapshot", str(plan)]) == 1


def test_of_many_plans_that_are_replaced_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "plans.jsonl"
    line = f"{plan_json(plan_cases.case('scale-out'))}\n"
    path.write_text(line * (30_000_000 // len(line)))
    tracemalloc.start()
    check_target(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000


def test_a_bad_settings_file_is_found_before_anything_is_read(
    reads: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    reader = reads("scale-out")
    path = tmp_path / "streams.properties"
    path.write_text("max.warmup.replicas=many\n")
    assert run(["assign", "x", "--streams-config", str(path)]) == 1
    assert "line 1: max.warmup.replicas is 'many'" in capsys.readouterr().err
    assert not reader.asked


def test_options_beat_the_file_which_beats_the_snapshot(
    reads: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    reads("scale-out")
    path = tmp_path / "streams.yaml"
    path.write_text("max.warmup.replicas: 3\nsession.timeout.ms: 9000\nmax.warmup.replica: 1\n")
    options = ["--streams-config", str(path), "--max-warmup-replicas", "4", "--output", "json"]
    assert run(["assign", "x", *options]) == 0
    out, err = capsys.readouterr()
    config = json.loads(out)["config"]
    assert (config["max_warmup_replicas"], config["session_timeout_ms"]) == (4, 9_000)
    assert config["acceptable_recovery_lag"] == 100
    assert "is it max.warmup.replicas?" in err


def test_other_threads_than_instances_have_are_not_passed_over(
    reads: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    reads("settled")
    path = tmp_path / "streams.properties"
    for threads, others in ((8, True), (2, False)):
        path.write_text(f"application.id=a\nnum.stream.threads={threads}\n")
        assert run(["assign", "x", "--streams-config", str(path)]) == 0
        answer = " ".join(capsys.readouterr().out.split())
        assert (f"num.stream.threads={threads} is not planned" in answer) is others


def test_every_setting_is_an_option(reads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reads("settled")
    given = {
        "acceptable_recovery_lag": ("5", 5),
        "max_warmup_replicas": ("3", 3),
        "num_standby_replicas": ("1", 1),
        "balance_factor": ("2", 2),
        "probing_rebalance_interval_ms": ("2m", 120_000),
        "rack_aware_assignment_tags": ("zone, cluster", ["zone", "cluster"]),
        "rack_aware_assignment_strategy": ("min_traffic", "min_traffic"),
        "rack_aware_assignment_traffic_cost": ("7", 7),
        "rack_aware_assignment_non_overlap_cost": ("2", 2),
        "heartbeat_interval_ms": ("1s", 1_000),
        "session_timeout_ms": ("9s", 9_000),
        "state_cleanup_delay_ms": ("1h", 3_600_000),
    }
    assert set(given) == set(CONFIG_NAMES)
    arguments = [
        part for name, (text, _) in given.items() for part in (f"--{name.removesuffix('_ms').replace('_', '-')}", text)
    ]
    assert run(["assign", "x", "--output", "json", "--set", "assignor=balanced", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["config"] == {name: value for name, (_, value) in given.items()}


def test_what_is_to_be_read_reaches_the_reader(reads: Any) -> None:
    reader = reads("settled")
    arguments = [
        "a",
        "-",
        *("--metrics", "rows=l1", "--metrics", "s3a://bucket/l2"),
        "--set",
        "lags.tolerance=5m",
        "--as-of",
        "2026-11-21T12:00:00Z",
    ]
    arguments += [
        "--lags-as-reported",
        "--rates-over",
        "1h",
        "--application-id",
        "a*",
        "--master",
        "local[1]",
        "--spark-conf",
        "x.y=1=2",
        "--set",
        "java.home=/java",
    ]
    assert run(["assign", *arguments]) == 0
    ((paths, options),) = reader.asked
    assert paths == ["a", "-"]
    assert options == {
        "lags": ["l1", "s3a://bucket/l2"],
        "lags_tolerance_ms": 300_000,
        "lags_as_reported": True,
        "rates_over_ms": 3_600_000,
        "as_of": "2026-11-21T12:00:00Z",
        "application_ids": ["a*"],
        "measured": None,
        "keep_going": False,
        "stdin": None,
        "spark_conf": {"spark.master": "local[1]", "x.y": "1=2"},
        "java_home": "/java",
        "debug": False,
    }


def test_rates_reach_the_plan(reads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reads("scale-out")
    assert run(["assign", "x", "--restore-rate", "20/s"]) == 0
    shown = table(plan_cases.case("slow-restore")).replace("SNAPSHOT", "x")
    assert capsys.readouterr().out == f"{shown.rstrip()} --restore-rate 20/s\n"


def test_ranks_follow_the_table(reads: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reads("scale-out")
    assert run(["assign", "x", "--set", "show.ranks=true"]) == 0
    legend = "\nrank 0: caught up (lag at most 100); any other rank is the lag in records\n"
    assert legend in capsys.readouterr().out
    assert run(["assign", "x", "--set", "show.ranks=true", "--output", "markdown"]) == 0
    assert "| Task | Candidates, ranked |" in (shown := capsys.readouterr().out)
    assert f"<sub>{legend.strip()}</sub>" in shown


def test_out_saves_the_plans_while_stdout_shows_the_table(
    reads: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    reads("settled", "scale-out")
    out = tmp_path / "plan.json"
    assert run(["assign", "x", "--out", str(out)]) == 0
    assert capsys.readouterr().out.startswith("2 applications")
    assert [plan.summary.rebalances for plan in read_plan_file(out)] == [0, 22]
    assert os.listdir(tmp_path) == ["plan.json"]


def test_out_leaves_what_was_there_when_something_fails(reads: Any, tmp_path: Path) -> None:
    reads("scale-out", SnapshotError("is bad"))
    out = tmp_path / "plan.json"
    out.write_text("yesterday")
    assert run(["assign", "x", "--out", str(out)]) == 1
    assert out.read_text() == "yesterday"
    assert os.listdir(tmp_path) == ["plan.json"]


def test_out_follows_a_link_and_keeps_the_files_mode(reads: Any, tmp_path: Path) -> None:
    reads("settled")
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("")
    real.chmod(0o640)
    link.symlink_to(real)
    assert run(["assign", "x", "--out", str(link)]) == 0
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert real.read_text().startswith("{")


@pytest.mark.parametrize("form", ["table", "json", "markdown"])
def test_show_gives_what_assign_gave(reads: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, form: str) -> None:
    reads("scale-out-standbys")
    out = tmp_path / "plan.json"
    assert run(["assign", "x", "--out", str(out), "--output", form, "-v"]) == 0
    assigned = capsys.readouterr().out
    assert run(["show", str(out), "--output", form, "-v"]) == 0
    assert capsys.readouterr().out == assigned.replace("compare x ", "compare SNAPSHOT ")


def test_show_suggests_a_command_that_needs_no_snapshot(
    reads: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    reads("scale-out-standbys")
    out = tmp_path / "plan.json"
    assert run(["assign", "x", "--out", str(out)]) == 0
    capsys.readouterr()
    assert run(["show", str(out)]) == 0
    assert capsys.readouterr().out.endswith(f"\nNext: kstream-plan show {out} -v\n")


def test_show_reads_standard_input_and_several_plans(
    reads: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = plan_json(plan_cases.case("settled")) + "\n" + plan_json(plan_cases.case("pods"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run(["show", "-"]) == 0
    assert capsys.readouterr().out.startswith("2 applications")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run(["show", "-", "--application-id", "pay*"]) == 0
    assert capsys.readouterr().out.startswith("╭─ payments: ")


def test_saved_plans_are_found_in_folders_and_by_globs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("pods", "scale-out"):
        (tmp_path / f"{name}.json").write_text(plan_json(plan_cases.case(name)), encoding="utf-8")
    shown = []
    for paths in (
        [str(tmp_path)],
        [f"{tmp_path}/*.json"],
        [f"{tmp_path}/{name}.json" for name in ("scale-out", "pods")],
    ):
        assert run(["show", *paths]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0].startswith("2 applications: 2 moving\n")
    assert shown == shown[:1] * 3
    assert run(["show", f"{tmp_path}/none*"]) == 1
    assert "matches no file. Fix: check the pattern" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--task", "0_5"], 0, "before: 0_5 is active on i2"),
        (["--instance", "i4"], 0, "before: i4 holds nothing"),
        (["--instance", "cdc4"], 0, "before: i4 holds nothing"),
        (["--instance", "CDC"], 0, "before: i4 holds nothing"),
        (["--application-id", "S*", "--instance", "i4"], 0, "before: i4 holds nothing"),
        (["--application-id", "x"], 1, "no application matches 'x'. Fix: the input holds 'S1'"),
        (["--round", "3"], 0, "Rebalance 3 at 1m03s: probing (warm-up, cut-over), generation 4"),
        (["--round", "23"], 2, "there is no round 23. Fix: the plan has rounds 1 to 22"),
        (["--task", "7_0"], 2, "there is no task '7_0'. Fix: the plan's tasks go from 0_0 to 2_5"),
        (["--task", "x"], 2, "there is no task 'x'. Fix: the plan's tasks go from 0_0 to 2_5"),
        (
            ["--instance", "i9"],
            2,
            "there is no instance 'i9'. Fix: name one by its process id, the beginning of it, or host: i1",
        ),
        (["--round", "3", "--output", "json"], 2, "pick from the table"),
    ],
)
def test_show_picks_a_round_a_task_or_an_instance(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], code: int, message: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan_json(plan_cases.case("scale-out")))
    assert run(["show", str(path), *options]) == code
    out, err = capsys.readouterr()
    assert message in (err if code else out)


@pytest.mark.parametrize("name", ["end.json", "end.jsonl.gz", "-"])
def test_a_plan_s_end_is_saved_as_a_snapshot(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan_file, end = tmp_path / "plan.json", tmp_path / name
    plan_file.write_text(plan_json(plan_cases.case("scale-out")), encoding="utf-8")
    target = name if name == "-" else str(end)
    assert run(["show", str(plan_file), "--as-snapshot", target]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    data = shown.out.encode() if name == "-" else end.read_bytes()
    assert bool(shown.out) == (name == "-")
    row = json.loads(gzip.decompress(data) if name.endswith(".gz") else data)
    snapshot_from_row(row, "end")
    assert row["decision"]["generation"] == row["generation"] + 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--as-snapshot", "end.json", "--task", "0_0"], "leave out --round, --task"),
        (["--as-snapshot", "end.json", "--output", "json"], "leave out --round, --task"),
        (["--as-snapshot", "end.txt"], "does not say what to write"),
    ],
)
def test_what_does_not_go_with_a_plan_s_end_is_a_usage_error(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan_file = tmp_path / "plan.json"
    plan_file.write_text(plan_json(plan_cases.case("settled")), encoding="utf-8")
    assert run(["show", str(plan_file), *options]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_plan_that_does_not_hold_its_end_is_exit_code_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    document = json.loads(plan_json(plan_cases.case("settled")))
    del document["end"]
    plan_file = tmp_path / "plan.json"
    plan_file.write_text(json.dumps(document), encoding="utf-8")
    assert run(["show", str(plan_file), "--as-snapshot", str(tmp_path / "end.json")]) == 1
    assert "does not contain its end" in capsys.readouterr().err
    plan_file.write_text("\n".join([plan_json(plan_cases.case("settled"))] * 2), encoding="utf-8")
    assert run(["show", str(plan_file), "--as-snapshot", str(tmp_path / "end.json")]) == 2
    assert "several plans" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["plan.json"]


def test_show_of_something_else_is_exit_code_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text('{"application_id": "a", "tasks": []}')
    assert run(["show", str(path)]) == 1
    assert "this is not a saved plan. Fix: plan a snapshot with kstream-plan assign" in capsys.readouterr().err
    path.write_text("null")
    assert run(["show", str(path)]) == 1
    assert "line 1: this is not a saved plan, it is not an object. Fix: save one" in capsys.readouterr().err


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"kstream-plan {__version__} ({build()})\n"
    for arguments in (["--help"], ["assign", "--help"], ["show", "--help"], ["schema", "--help"]):
        assert run(arguments) == 0
        assert "Usage: kstream-plan" in capsys.readouterr().out


def test_the_version_says_whether_the_engine_is_compiled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kstream_plan.version._COMPILED", "kstream_plan.designs.no_such_module")
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"kstream-plan {__version__} (plain Python)\n"
    monkeypatch.setattr("kstream_plan.version._COMPILED", "kstream_plan.engine.columns")
    assert build() == "plain Python"
    monkeypatch.setattr("kstream_plan.version._COMPILED", "math")
    assert build() == "compiled"


def test_the_plan_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "plan"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "kstream-plan plan"


def _python(code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **options)


def test_neither_help_nor_show_loads_spark(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan_json(plan_cases.case("settled")))
    done = _python(
        "import sys; from kstream_plan.cli import run\n"
        f"codes = [run(['assign', '--help']), run(['show', {str(path)!r}]), run(['assign', '/no/such/file'])]\n"
        "assert codes == [0, 0, 1], codes\n"
        "assert not any(name.split('.')[0] in ('pyspark', 'pyarrow', 'py4j') for name in sys.modules)"
    )
    assert done.returncode == 0, done.stderr


def test_show_loads_neither_what_plans_nor_the_options_of_what_does(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan_json(plan_cases.case("slow-restore")))
    done = _python(
        "import sys; from kstream_plan.cli import run\n"
        f"assert run(['show', {str(path)!r}]) == 0\n"
        "names = ('assignors', 'designs', 'planner.options', 'policy.rules', 'cli.options.groups')\n"
        "assert not {f'kstream_plan.{name}' for name in names} & set(sys.modules)"
    )
    assert done.returncode == 0, done.stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan_json(plan_cases.case("slow-restore")) + "\n")
    command = f"{sys.executable} -m kstream_plan show {path} {path} -v | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [["show", "plan.json"], ["schema", "plan"], ["--version"]])
def test_a_full_disk_behind_stdout_is_one_message(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "plan.json").write_text(plan_json(plan_cases.case("settled")) + "\n")
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "kstream_plan", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "kstream-plan: error: standard output: cannot be written: No space left on device. Fix: check the disk\n"
    )


def test_an_ascii_stdout_keeps_the_layout(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan_json(plan_cases.case("scale-out")) + "\n")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    command = [sys.executable, "-m", "kstream_plan", "show", str(path), "-v"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    expected = table(plan_cases.case("scale-out"), width=77, verbose=True)
    assert not expected.isascii()
    assert done.stdout == to_encoding(expected, "ascii")
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_a_terminal_gets_its_width_and_colour_and_no_color_is_respected(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan_json(plan_cases.case("scale-out")) + "\n")
    code = (
        "import os, pty, sys, fcntl, struct, termios\n"
        "pid, fd = pty.fork()\n"
        "if not pid:\n"
        f"    os.execv(sys.executable, [sys.executable, '-m', 'kstream_plan', 'show', {str(path)!r}])\n"
        "fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 120, 0, 0))\n"
        "seen = b''\n"
        "try:\n"
        "    while chunk := os.read(fd, 65536): seen += chunk\n"
        "except OSError: pass\n"
        "sys.stdout.buffer.write(seen)"
    )
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    coloured = _python(code, env={**environment, "TERM": "xterm-256color"}).stdout
    plain = _python(code, env={**environment, "TERM": "xterm-256color", "NO_COLOR": "1"}).stdout
    assert "\x1b[" in coloured
    above, _, _ = plain.replace("\r\n", "\n").partition("\nNext: ")
    assert above == table(plan_cases.case("scale-out"), width=120).partition("\nNext: ")[0]
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split() == plain.split()
