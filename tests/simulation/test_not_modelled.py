"""A setting that decides otherwise than the plan makes every answer unknown, and is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.documents.streams_config import load_streams_config
from kstream_plan.model.not_modelled import warnings_of
from tests.helpers import connect_rows, streams_rows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

FILES = Path(__file__).parents[1] / "documents" / "settings" / "deciding"
NOW = ["--set", "now=2026-11-22T12:00:10Z", "--set", "trust.reports.of=10m", "--set", "stores=persistent"]


def group() -> dict[str, Any]:
    """Three instances with a task each; each has a copy, just reported as caught up, of another's task."""
    ids = [f"1000000{number}-0000-4000-8000-000000000000" for number in range(3)]
    return {
        "format_version": "1.0",
        "application_id": "a",
        "captured_at": "2026-11-22T12:00:00Z",
        "generation": 5,
        "config": {"acceptable_recovery_lag": 10_000, "num_standby_replicas": 1},
        "tasks": [{"task_id": f"0_{task}", "stateful": True, "end_offset_sum": 1_000_000} for task in range(3)],
        "instances": [
            {
                "process_id": process_id,
                "host": f"i{place}",
                "consumers": [
                    {"consumer_id": f"i{place}-1", "active": [f"0_{place}"], "standby": [f"0_{(place + 1) % 3}"]}
                ],
            }
            for place, process_id in enumerate(ids)
        ],
        "lags": [
            {"process_id": process_id, "task_id": f"0_{(place + 1) % 3}", "lag": 0}
            for place, process_id in enumerate(ids)
        ],
    }


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(group()))
    return str(path)


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = run([*words, *NOW, "--output", "json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["sticky", "upgradefrom", "leave"])
def test_no_answer_is_yes(snapshot: str, capsys: pytest.CaptureFixture[str], name: str) -> None:
    config = ["--streams-config", str(FILES / f"{name}.properties"), "--acceptable-recovery-lag", "10000"]
    for words in (["drain", snapshot, "i0", "--require-warm"], ["bounce", snapshot, "--instance", "i0"]):
        code, answer = ask(capsys, *words)
        assert (code, answer["answer"]) == (0, "yes"), words
        code, answer = ask(capsys, *words, *config)
        assert (code, answer["answer"]) == (3, "unknown"), words


def test_a_drain_that_leaves_is_planned(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    config = ["--streams-config", str(FILES / "leave.properties")]
    assert ask(capsys, "drain", snapshot, "i0", "--leave", *config)[1]["answer"] == "yes"


def test_check_is_unknown(tmp_path: Path, snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\ndefaults:\n  max_cold_handovers: 5\n  must_settle: true\n")
    words = ["check", snapshot, "--policy", str(policy), "--set", "stores=persistent"]
    assert run(words) == 0
    capsys.readouterr()
    assert run([*words, "--streams-config", str(FILES / "leave.properties")]) == 3
    assert "UNKNOWN: It is unknown whether 2 of 2 rules are kept" in " ".join(capsys.readouterr().out.split())


def test_a_policy_can_refuse_it(tmp_path: Path, snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\ndefaults:\n  require_modelled: true\n")
    words = ["check", snapshot, "--policy", str(policy)]
    assert run(words) == 0
    capsys.readouterr()
    assert run([*words, "--streams-config", str(FILES / "upgradefrom.properties")]) == 3
    assert "upgrade.from is 2.3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("sticky", "not-modelled"),
        ("upgradefrom", "not-modelled"),
        ("leave", "leaves-on-close"),
        ("static", "static-by-settings"),
        ("maxpoll", "members-join-in-time"),
    ],
)
def test_every_setting_that_decides_is_told(
    snapshot: str, capsys: pytest.CaptureFixture[str], name: str, code: str
) -> None:
    run(["assign", snapshot, "--streams-config", str(FILES / f"{name}.properties"), "--output", "json"])
    assert code in [note["code"] for note in json.loads(capsys.readouterr().out)["warnings"]]


@pytest.mark.parametrize(("name", "is_told"), [("application.id=other", True), ("application.id=${APP}", False)])
def test_settings_of_another_application_are_told(
    tmp_path: Path, snapshot: str, capsys: pytest.CaptureFixture[str], name: str, is_told: bool
) -> None:
    (tmp_path / "a.properties").write_text(f"{name}\nnum.standby.replicas=0\n")
    run(["assign", snapshot, "--streams-config", str(tmp_path / "a.properties"), "--output", "json"])
    warnings = [note["code"] for note in json.loads(capsys.readouterr().out)["warnings"]]
    assert ("settings-of-another" in warnings) is is_told


def test_what_kafka_does_by_default_is_not_told(tmp_path: Path) -> None:
    path = tmp_path / "app.properties"
    path.write_text(
        "application.id=a\ngroup.protocol=streams\nupgrade.from=null\ninternal.leave.group.on.close=false\n"
        "task.assignor.class=org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor\n"
    )
    deciding = load_streams_config(path).deciding
    assert len(deciding) == 4
    streams = streams_rows.snapshot(streams_rows.row("4.3", {"a": [{"consumer_id": "a-1"}]}))
    assert warnings_of(deciding, streams) == ()
    assert warnings_of(deciding, connect_rows.snapshot(connect_rows.even())) == ()
