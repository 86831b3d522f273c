"""``snapshot``: from logs to snapshots on the command line."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.model.scenario import Leave, Scenario
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured, log_layouts
from tests.helpers.goldens import assert_golden

LOG = str(captured.REAL / "scale-out-traffic" / "leader.log.gz")


def snapshot(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert run(["snapshot", *arguments]) == code
    captured_text = capsys.readouterr()
    return captured_text.out, captured_text.err


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "app.properties"
    path.write_text("acceptable.recovery.lag = 100\nrack.aware.assignment.tags = zone,cluster\n")
    return str(path)


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_the_list_shows_every_generation(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(captured.REAL / scenario / "leader.log.gz")
    shown, said = snapshot(capsys, log, "--list")
    assert said == ""
    assert_golden(f"history/{scenario}.txt", shown.replace(log, "leader.log.gz"))


def test_the_list_of_two_applications_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "both.log"
    both = [*log_layouts.finished("scale-out-standbys"), *log_layouts.finished("scale-out-traffic")]
    path.write_bytes(log_layouts.laid_out(both, log_layouts.compose))
    shown, said = snapshot(capsys, str(path), "--list", "--from", "2026-11-21T13:07:30Z")
    assert said == ""
    assert_golden("history/two-applications.txt", shown.replace(str(path), "both.log"))


def test_several_applications_give_the_newest_of_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = [str(captured.REAL / scenario / "leader.log.gz") for scenario in captured.SCENARIOS]
    shown, _ = snapshot(capsys, *logs)
    newest = [captured.rows(scenario, "inputs")[-1] for scenario in captured.SCENARIOS]
    expected = sorted((row["application_id"], row["captured_at"]) for row in newest)
    assert [(row["application_id"], row["captured_at"]) for row in rows(shown)] == expected
    shown, _ = snapshot(capsys, *logs, "--application-id", "S2*")
    assert [row["application_id"] for row in rows(shown)] == ["S2b"]


def test_the_newest_generation_is_the_snapshot(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown, said = snapshot(capsys, LOG, "--streams-config", config)
    (row,) = rows(shown)
    assert row["captured_at"] == captured.rows("scale-out-traffic", "inputs")[-1]["captured_at"]
    assert row["config"] == {"acceptable_recovery_lag": 100, "rack_aware_assignment_tags": ["zone", "cluster"]}
    assert row["decision"]["decided"].keys() == {instance["process_id"] for instance in row["instances"]}
    assert said == "kstream-plan: warning: no generation numbers: they are counted from 1\n"


def test_a_log_takes_the_settings_of_its_application(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown, _ = snapshot(capsys, LOG)
    name = json.loads(shown)["application_id"]
    path = tmp_path / f"{name}.properties"
    path.write_text("num.standby.replicas=3\n")
    for given in (str(path), f"{name}={path}", str(tmp_path)):
        shown, said = snapshot(capsys, LOG, "--streams-config", given)
        assert json.loads(shown)["config"] == {"num_standby_replicas": 3}
        assert "Kafka's defaults" not in said
    shown, said = snapshot(capsys, LOG, "--streams-config", f"other={path}")
    assert json.loads(shown)["config"] == {}
    assert "--streams-config other=… is for an application that is not there" in said
    assert f"--streams-config holds nothing for {name}: Kafka's defaults will count" in said


def test_warnings_say_what_it_costs(capsys: pytest.CaptureFixture[str]) -> None:
    _, said = snapshot(capsys, LOG)
    assert [line.partition("warning: ")[2][:60].strip() for line in said.splitlines()] == [
        "the log does not contain the configuration: Kafka's defaults",
        "no generation numbers: they are counted from 1",
    ]


def test_a_configuration_without_settings_that_matter_is_said_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app.properties"
    path.write_text("application.id=orders\n")
    _, said = snapshot(capsys, LOG, "--streams-config", str(path))
    assert [line.partition("warning: ")[2] for line in said.splitlines()] == [
        f"{path} sets nothing that the assignor goes by: Kafka's defaults will count",
        "no generation numbers: they are counted from 1",
        "the settings are of application orders, and count for S7 here: if they are not its own, the plan does not "
        "hold",
    ]


@pytest.mark.parametrize(
    ("arguments", "generations"),
    [
        (["--as-of", "2026-11-21T13:08:34.875Z"], [3]),
        (["--as-of", "2026-11-21T13:08:34.874Z"], [2]),
        (["--from", "2026-11-21T13:14:00Z"], [14, 15]),
        (["--from", "2026-11-21T13:08:00Z", "--to", "2026-11-21T13:08:34.875Z"], [2, 3]),
        (["--to", "2026-11-21T13:08:00Z"], [1]),
        (["--all"], list(range(1, 16))),
        ([], [15]),
    ],
)
def test_a_time_or_a_range_is_chosen(
    arguments: list[str], generations: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    shown, _ = snapshot(capsys, LOG, *arguments)
    times = [row["captured_at"] for row in captured.rows("scale-out-traffic", "inputs")]
    assert [row["captured_at"] for row in rows(shown)] == [times[number - 1] for number in generations]


@pytest.mark.parametrize(("until", "likely"), [("12:30:50.919", 8), ("12:32:44.919", 0)])
def test_the_time_that_is_asked_for_is_now(until: str, likely: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A copy that is a few seconds old may have caught up; one that is a probing interval old likely has."""
    log, settings = (str(captured.REAL / "more" / "fresh" / name) for name in ("leader.log.gz", "app.properties"))
    until = f"2026-11-22T{until}Z"
    shown, _ = snapshot(capsys, log, "--streams-config", settings, "--as-of", until)
    (row,) = rows(shown)
    assert (row["captured_at"], row["known_until"]) == ("2026-11-22T12:30:44.919Z", until)
    (leaving,) = [instance["process_id"] for instance in row["instances"] if instance["host"] == "i3"]
    result = plan(snapshot_from_row(row, "fresh"), scenario=Scenario(events=(Leave(at_ms=0, process_ids=(leaving,)),)))
    cold = [(one.low, one.high) for one in result.summary.ranges if one.figure == "cold_handovers"]
    assert (cold, result.summary.cold_handovers) == ([(0, 8)], likely)
    codes = {note.code for note in result.assumptions}
    assert "left-over-age" not in codes, "a group that first started has none"
    assert "end-offsets-of-start" in codes, "nothing had been written when it was decided"


def test_several_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = log_layouts.records("scale-out-traffic")
    for host in ("i1", "i2", "i3", "i4"):
        own = [record for record in records if record.host == host]
        (tmp_path / f"{host}.log").write_bytes(log_layouts.laid_out(own, log_layouts.kubectl_timestamps))
    files = sorted(map(str, tmp_path.glob("*.log")))
    expected, _ = snapshot(capsys, LOG, "--all")
    assert snapshot(capsys, *files, "--all")[0] == expected
    assert snapshot(capsys, files[0], "--all", *files[1:])[0] == expected


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".json.gz", ".jsonl.gz"])
def test_out_writes_a_file_and_nothing_else(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / f"history{ending}"
    shown, _ = snapshot(capsys, LOG, "--all", "--out", str(out))
    assert shown == ""
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    content = out.read_bytes()
    text = (gzip.decompress(content) if ending.endswith(".gz") else content).decode()
    assert len(rows(text) if ".jsonl" in ending else json.loads(text)) == 15


def test_a_failure_leaves_the_file_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, log = tmp_path / "x.json", tmp_path / "cut.log"
    out.write_text(before := '{"application_id": "before", "instances": []}')
    log.write_bytes(gzip.decompress(Path(LOG).read_bytes())[:3_000])
    shown, said = snapshot(capsys, str(log), "--out", str(out), code=1)
    assert (shown, out.read_text()) == ("", before)
    assert said.startswith(f"kstream-plan: error: {log}: no decision of Kafka Streams")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Fix: kstream-plan snapshot FILE"),
        ([LOG, "--as-of", "2026-11-21T13:00:00Z", "--all"], "give one of them"),
        ([LOG, "--as-of", "noon"], "'noon' is not a time"),
        ([LOG, "--from", "noon"], "--from: 'noon' is not a time"),
        ([LOG, "--as-of", "13:00"], "--as-of: '13:00' is a time of day without its date"),
        (["none.log", "--as-of", "noon"], "--as-of: 'noon' is not a time"),
        ([LOG, "--out", "x.parquet"], "end it in one of .json"),
        ([LOG, "--out", "x.json", "--list"], "leave out --out, or --list"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown, said = snapshot(capsys, *arguments, code=2)
    assert shown == ""
    assert message in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.log"], "none.log: does not exist"),
        ([LOG, "--application-id", "other"], "the logs hold 'S7'"),
        ([LOG, "--from", "2027-01-01"], "is not a time"),
        ([LOG, "--from", "2027-01-01T00:00:00Z"], "the logs hold 2026-11-21T13:07:58.674Z to"),
        (["s3a://bucket/app.log"], "copy the log here"),
        ([LOG, "--set", "names=none.yaml"], "check the path"),
    ],
)
def test_bad_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["snapshot", *arguments])
    found = capsys.readouterr()
    assert found.out == ""
    assert message in found.err


@pytest.mark.parametrize(
    "layout", [log_layouts.log4j, log_layouts.spring_boot, log_layouts.logstash, log_layouts.docker]
)
def test_assign_says_what_to_do_with_a_log(layout: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "app.log"
    log.write_bytes(log_layouts.laid_out(log_layouts.records("scale-out"), layout))
    assert run(["assign", str(log)]) == 1
    assert capsys.readouterr().err == (
        f"kstream-plan: error: {log}: this is a log, not a snapshot. Fix: make a snapshot of it: "
        f"kstream-plan snapshot {log} | kstream-plan assign -\n"
    )


def test_names_from_a_log_cannot_drive_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "evil.log"
    text = log_layouts.text("scale-out-traffic").replace("S7-", "S7\x1b[31m\x07\x9b2J-")
    log.write_text(text, encoding="utf-8")
    shown, said = snapshot(capsys, str(log), "--list", "--application-id", "S7*")
    assert not {"\x1b", "\x07", "\x9b"} & set(shown + said)
    shown, said = snapshot(capsys, str(log))
    assert not {"\x1b", "\x07", "\x9b"} & set(shown + said)
    assert rows(shown)[0]["application_id"] == "S7\x07\x9b2J"


def test_neither_spark_nor_a_broker_s_library_is_loaded() -> None:
    code = (
        "import sys; from kstream_plan.cli import run; "
        f"run(['snapshot', {LOG!r}, '--list']); "
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'pyspark', 'py4j', 'pyarrow', 'kafka'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.spark
def test_a_log_goes_through_a_pipe_into_a_plan(
    spark: object, config: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    text, _ = snapshot(capsys, LOG, "--as-of", "2026-11-21T13:08:34.076Z", "--streams-config", config)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run(["assign", "-", "--output", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    observed = captured.rows("scale-out-traffic", "observed")
    assert plan["summary"]["rebalances"] == len(observed) - 2  # the one at that time is made already


def test_what_was_written_is_said_and_standard_output_stays_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "orders.json"
    shown, said = snapshot(capsys, LOG, "--out", str(out))
    row = json.loads(out.read_text())
    sizes = f"{len(row['instances'])} instances, {len(row['tasks'])} tasks"
    name = row["application_id"]
    assert shown == ""
    assert said.splitlines()[-1] == f"kstream-plan: wrote {name} ({sizes}) to {out}", "of no generation that is known"
    out = tmp_path / "history.jsonl"
    shown, said = snapshot(capsys, LOG, "--all", "--out", str(out))
    number = len(rows(out.read_text()))
    assert said.splitlines()[-1] == f"kstream-plan: wrote {number} snapshots of {name} to {out}"
