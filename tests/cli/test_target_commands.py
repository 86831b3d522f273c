"""``export-target`` and ``check-target`` from the command line, and ``--set target``."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest
import yaml

from kstream_plan.assignors.planned.target_file import parse_target
from kstream_plan.cli import run
from tests.helpers.target_cases import FOLDER, SNAPSHOT_ROW, TARGET, target

NOW = "2026-11-25T21:41:00Z"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.json").write_bytes(gzip.decompress((FOLDER / "plan.json.gz").read_bytes()))
    config = {**SNAPSHOT_ROW["config"], "task_assignor_class": "io.kstreamplan.PlanTaskAssignor"}
    Path("snapshot.json").write_text(json.dumps({**SNAPSHOT_ROW, "config": config}), encoding="utf-8")
    Path("target.properties").write_bytes(TARGET)


def export(*words: str) -> int:
    return run(["export-target", *words, "--set", f"now={NOW}", "--out", "out.properties"])


def error(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def test_a_plan_is_exported_the_same_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert export("plan.json", "--by", "tag:pod") == 0
    first, text = Path("out.properties").read_bytes(), capsys.readouterr().out
    assert "the group settles in about" in text
    assert parse_target(first).plan == hashlib.sha256(Path("plan.json").read_bytes()).hexdigest()[:12]
    assert export("plan.json", "--by", "tag:pod") == 0  # replaces its own file
    assert Path("out.properties").read_bytes() == first


def test_a_packed_plan_has_the_id_of_its_json() -> None:
    Path("packed.json.gz").write_bytes(gzip.compress(Path("plan.json").read_bytes(), mtime=1))
    assert export("packed.json.gz", "--by", "tag:pod") == 0
    first = Path("out.properties").read_bytes()
    assert export("plan.json", "--by", "tag:pod") == 0
    assert Path("out.properties").read_bytes() == first


def test_it_has_the_pace_and_the_end_that_are_asked_for() -> None:
    assert (
        export("plan.json", "--by", "tag:pod", "--set", "probe=5s", "--set", "warmups=4", "--set", "expires.in=1h") == 0
    )
    file = parse_target(Path("out.properties").read_bytes())
    assert (file.probe_ms, file.warmups, file.expires_ms) == (5_000, 4, 1_795_646_460_000)


def test_a_config_map_holds_the_same_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert export("plan.json", "--by", "tag:pod") == 0
    plain = Path("out.properties").read_text()
    assert export("plan.json", "--by", "tag:pod", "--configmap", "orders-target") == 0
    document = yaml.safe_load(Path("out.properties").read_text())
    assert (document["kind"], document["metadata"]) == ("ConfigMap", {"name": "orders-target"})
    assert document["data"] == {"target.properties": plain}
    capsys.readouterr()
    for text in (yaml.safe_dump(document), yaml.safe_dump({**document, "metadata": {"uid": "1"}}, sort_keys=False)):
        Path("map.yaml").write_text(text)  # as kubectl prints it, in its own order
        assert run(["check-target", "map.yaml", "snapshot.json"]) == 1
        assert "map.yaml: is a ConfigMap, not a target file. Fix: give the file in it" in error(capsys)


def test_a_plan_that_must_not_be_run_is_refused_with_every_reason(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export-target", "plan.json", "--by", "static", "--set", "expires.in=30h", "--out", "out.properties"]
    assert run([*words, "--set", "now=2026-11-25T22:00:00Z"]) == 3
    shown = capsys.readouterr()
    assert "error: " not in shown.err, "it is an answer"
    text = " ".join(shown.out.replace("│", " ").split())
    assert "NO: It must not be run as it is, and nothing was written." in text
    assert "1. --by static does not name" in text
    assert "2. Its snapshot is 19m07s old, more than 10m" in text
    assert "3. --set expires.in=30h is above 24h" in text
    assert not Path("out.properties").exists()
    assert run([*words, "--set", "now=2026-11-25T22:00:00Z", "--output", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["answer"], len(document["reasons"]), document["file"]) == ("no", 3, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give a plan or --stay SNAPSHOT"),
        (["plan.json", "--stay", "snapshot.json"], "give a plan or --stay SNAPSHOT"),
        (["--stay", "snapshot.json", "--set", "back=true"], "--set back=true goes back to where a plan began"),
        (["plan.json", "--by", "zone"], "'zone' is not tag:KEY, static, host, client or process"),
        (["plan.json", "--configmap", "Orders"], "'Orders' is no name of a ConfigMap"),
        (["plan.json", "--set", "probe=4s"], "4s is below 5s"),
    ],
)
def test_what_does_not_go_together(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(*words) == 2
    assert message in error(capsys)


def test_what_is_no_plan_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert export("snapshot.json") == 1
    assert "this is a snapshot, not a saved plan" in error(capsys)
    assert export("none.json") == 1
    assert "cannot read the file" in error(capsys)


def test_another_file_is_not_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.properties").write_text("bootstrap.servers=broker:9092\n")
    assert export("plan.json", "--by", "tag:pod") == 1
    assert "is there already, and is no target file: it is not replaced" in error(capsys)
    plan = Path("plan.json").read_bytes()
    assert run(["export-target", "plan.json", "--by", "tag:pod", "--set", f"now={NOW}", "--out", "plan.json"]) == 1
    assert Path("plan.json").read_bytes() == plan


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.xdist_group("spark")
def test_a_target_file_is_not_replaced_by_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assign", "snapshot.json", "--out", "target.properties"]) == 1
    assert "is no answer of this tool: it is not replaced" in error(capsys)
    assert Path("target.properties").read_bytes() == TARGET


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.xdist_group("spark")
def test_the_brake_counts_from_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert export("--stay", "snapshot.json", "--by", "tag:pod") == 0
    capsys.readouterr()
    assert run(["check-target", "out.properties", "snapshot.json", "--set", f"now={NOW}"]) == 0
    assert "YES: The file would count" in capsys.readouterr().out


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.xdist_group("spark")
def test_whether_the_class_decides_is_unknown_unless_it_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    Path("snapshot.json").write_text(json.dumps(SNAPSHOT_ROW), encoding="utf-8")
    assert run(["check-target", "target.properties", "snapshot.json", "--set", f"now={NOW}"]) == 3
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Whether io.kstreamplan.PlanTaskAssignor decides is unknown" in text


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.xdist_group("spark")
def test_of_a_group_that_was_seen_long_ago_it_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert export("plan.json", "--by", "tag:pod") == 0
    capsys.readouterr()
    assert run(["check-target", "out.properties", "snapshot.json", "--set", "now=2026-11-25T22:41:00Z"]) == 3
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "UNKNOWN: As the group was, the file would count, for plan" in text
    assert "a new snapshot tells" in text
    assert "The group was last seen 1h ago" in text
    words = ["check-target", "out.properties", "snapshot.json", "--set", "now=2026-11-25T22:41:00Z"]
    assert run([*words, "--set", "trust.reports.of=2h", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == "yes"


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.xdist_group("spark")
def test_a_file_that_would_not_count_is_told_by_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check-target", "target.properties", "snapshot.json", "--set", f"now={NOW}"]) == 0
    capsys.readouterr()
    assert run(["check-target", "target.properties", "snapshot.json", "--set", "now=2026-11-26T00:00:00Z"]) == 3
    assert "NO: The file would not count: it has expired (expired)." in capsys.readouterr().out
    assert run(["check-target", "none.properties", "snapshot.json"]) == 1
    assert "cannot read the file" in error(capsys)


def test_a_target_goes_with_its_assignor(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate-scaleout", "snapshot.json", "--add", "2", "--set", "target=target.properties"]) == 2
    assert "--set target goes with --set assignor=planned" in error(capsys)
    words = ["simulate-scaleout", "snapshot.json", "--add", "2", "--set", "assignor=planned", "--set", "target=none"]
    assert run(words) == 1
    assert "none: cannot read the file: No such file or directory. Fix: check the path" in error(capsys)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.xdist_group("spark")
def test_a_file_that_never_counts_is_what_the_answer_begins_with(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["snapshot.json", "--add", "3", "--set", "assignor=planned", "--set", "target=target.properties"]
    words += ["--restore-rate", "20000/s", "--set", "now=2026-11-25T21:41:00Z", "--set", "draws=1"]
    assert run(["simulate-scaleout", *words, "--out", "planned.json"]) == 0
    panel = " ".join(capsys.readouterr().out.partition("╰")[0].replace("│", " ").split())
    assert "The target file never counts, and the application decides without a plan" in panel
    assert "(more-members). To mend it, export a plan with as many instances." in panel
    assert run(["check", "planned.json"]) == 3
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "NO: 1 of 2 rules is broken: must_follow_target." in text
    assert "To mend it, export a plan with as many instances" in text
    assert "no setting: change the scenario" not in text
    Path("policy.yaml").write_text("version: 1\ndefaults: {must_follow_target: false}\n", encoding="utf-8")
    assert run(["check", "planned.json", "--policy", "policy.yaml"]) == 0


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    "command",
    ["drain snapshot.json 841964de", "bounce snapshot.json --restart 30s --instance 841964de"],
    ids=["drain", "bounce"],
)
def test_why_it_takes_until_the_file_expires_is_said(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    # the file has five slots, and the group three instances
    words = [
        "--set",
        "assignor=planned",
        "--set",
        "target=target.properties",
        "--restore-rate",
        "20000/s",
        "--set",
        f"now={NOW}",
    ]
    run([*command.split(), *words])
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Assumption: The target file has an empty slot, or an instance has none: nothing moves after" in text
    assert "Warning: The target file" not in text
    Path("target.properties").write_bytes(target(application="other"))
    run([*command.split(), *words])
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Warning: The target file never counts, and the application decides without a plan" in text
