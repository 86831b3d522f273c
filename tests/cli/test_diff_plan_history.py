"""``diff PLAN HISTORY``: what was said beside what happened, as people and programs get it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kstream_plan import read_said_and_happened, to_json
from kstream_plan.cli import run
from kstream_plan.render.pages.happened import happened_page
from kstream_plan.snapshots.leader_log.history import checked_rows
from kstream_plan.snapshots.rows.write import row_lines
from tests.helpers import captured_scenarios, recorded_events
from tests.helpers.goldens import assert_golden
from tests.helpers.recorded_events import BY_NAME
from tests.helpers.schemas import validator

Capture = pytest.CaptureFixture[str]
DRAIN = "2026-11-22T12:26:38.227Z"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plans of two events, and the history that both are of."""
    folder = tmp_path_factory.mktemp("said")
    for name in ("drain", "bounce"):
        plan = to_json(recorded_events.planned(BY_NAME[name]), full=True)
        (folder / f"{name}.json").write_text(plan + "\n", encoding="utf-8")
    rows = list(row_lines(checked_rows(recorded_events.generations("bounce"))))
    (folder / "history.jsonl").write_text("".join(rows), encoding="utf-8")
    (folder / "snapshot.jsonl").write_text(rows[-1], encoding="utf-8")
    (folder / "before.jsonl").write_text("".join(rows[:2]), encoding="utf-8")
    return folder


def test_a_plan_and_what_followed(files: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    asked = ["diff", str(files / "drain.json"), str(files / "history.jsonl"), "--from", DRAIN]
    assert run([*asked, "--fail-on-changes"]) == 0
    assert_golden("diff/as-planned.txt", capsys.readouterr().out)
    assert run([*asked, "--output", "markdown"]) == 0
    assert "| 1 | 45s | 47.4s | 2.4s late | leave | as planned |" in capsys.readouterr().out


def test_rows_that_are_there_twice_count_once(files: Path, tmp_path: Path, capsys: Capture) -> None:
    """As where two captures overlap."""
    rows, twice = (files / "history.jsonl").read_text(encoding="utf-8"), tmp_path / "twice.jsonl"
    twice.write_text(rows + rows, encoding="utf-8")
    assert run(["diff", str(files / "drain.json"), str(twice), "--from", DRAIN, "--fail-on-changes"]) == 0
    assert "All 4 rebalances came as planned" in capsys.readouterr().out


def test_json_is_as_its_schema_says(files: Path, capsys: Capture) -> None:
    schema = validator("said-and-happened")
    for plan, points in (("drain", ["--from", DRAIN]), ("bounce", ["--to", "8"]), ("drain", ["--from", "2"])):
        saved = files / "said.json"
        asked = ["diff", str(files / f"{plan}.json"), str(files / "history.jsonl"), *points]
        assert run([*asked, "--output", "json", "--out", str(saved)]) == 0
        text = capsys.readouterr().out
        assert text == saved.read_text(encoding="utf-8")
        document = json.loads(text)
        schema.validate(document)
        comparison = read_said_and_happened(str(files / f"{plan}.json"), str(files / "history.jsonl"), *_points(points))
        assert comparison is not None
        page = happened_page(comparison[0])
        assert page.sentences[0].startswith(document["verdict"])
        lines = {(line.kind, line.code, line.text) for line in page.lines}
        assert lines == {
            (kind, note["code"], f"{note['message']}.")
            for kind in ("warning", "note", "assumption")
            for note in document[f"{kind}s"]
        }
        if document["first_difference"] is not None:
            assert document["first_difference"]["message"] in page.sentences[0]


def _points(options: list[str]) -> tuple[str | None, str | None]:
    given = dict(zip(options[::2], options[1::2], strict=True))
    return given.get("--from"), given.get("--to")


def test_what_did_not_come_as_said_is_a_change(files: Path, capsys: Capture) -> None:
    asked = ["diff", str(files / "drain.json"), str(files / "history.jsonl"), "--from", "2", "--fail-on-changes"]
    assert run(asked) == 5
    assert_golden("diff/not-as-planned.txt", capsys.readouterr().out)


def test_a_single_snapshot_and_a_history_before_the_plan_are_sides_as_ever(files: Path) -> None:
    for name in ("snapshot", "before"):
        assert read_said_and_happened(str(files / "drain.json"), str(files / f"{name}.jsonl")) is None
    assert read_said_and_happened(str(files / "history.jsonl"), str(files / "history.jsonl")) is None


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (["--from", "2027-01-01T00:00:00Z"], "in that time"),
        (["--from", "noon"], "'noon' is not a time"),
        (["--from", "7", "--set", "old.round=1"], "a history has no rounds"),
        (["--from", "7", "--set", "protocol.view=true"], "--set protocol.view=true is of one generation"),
        (["--from", "7", "--application-id", "payments"], "payments"),
    ],
)
def test_what_is_wrong_is_said(files: Path, capsys: Capture, more: list[str], what: str) -> None:
    assert run(["diff", str(files / "drain.json"), str(files / "history.jsonl"), *more]) in (1, 2)
    assert what in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_two_plans_of_one_snapshot_stand_side_by_side(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from kstream_plan import plan
    from kstream_plan.model.settings import AssignmentConfig
    from kstream_plan.render.pages.plan import plan_page

    monkeypatch.setenv("COLUMNS", "300")
    snapshot = recorded_events.before(BY_NAME["big4"])
    found = [plan(replace(snapshot, config=AssignmentConfig(max_warmup_replicas=most))) for most in (1, 4)]
    for name, item in zip(("one", "four"), found, strict=True):
        (tmp_path / f"{name}.json").write_text(to_json(item) + "\n", encoding="utf-8")
    asked = ["diff", str(tmp_path / "one.json"), str(tmp_path / "four.json")]
    assert run(asked) == 0
    shown = capsys.readouterr().out
    for item in found:
        page = plan_page(item)
        assert all(fact.value in shown for fact in page.facts), shown
    assert run([*asked, "--output", "markdown"]) == 0
    assert "| Figure | Old plan | New plan |" in capsys.readouterr().out
    assert run([*asked, "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "diff"


def test_two_simulations_stand_side_by_side_with_all_that_is_random(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each the figures are those of its own page: another set of ids may take longer, or start more cold."""
    from dataclasses import replace

    from kstream_plan.model.settings import AssignmentConfig
    from kstream_plan.render.pages.plan import plan_page
    from kstream_plan.simulation.scale_out import scale_out
    from kstream_plan.simulation.simulate import simulate

    monkeypatch.setenv("COLUMNS", "300")
    before = captured_scenarios.before("scale-out", restore_rate=500.0)
    scenario, found = scale_out(before.state.group, add=2), []
    for most in (2, 8):
        snapshot = replace(before, config=replace(AssignmentConfig(), max_warmup_replicas=most))
        found.append(simulate(snapshot, scenario, number_of_draws=3, what_ifs=False))
        (tmp_path / f"{most}.json").write_text(to_json(found[-1]) + "\n", encoding="utf-8")
    assert any({*plan_page(item).facts} != {*plan_page(item.plan).facts} for item in found)
    assert run(["diff", str(tmp_path / "2.json"), str(tmp_path / "8.json")]) == 0
    shown = capsys.readouterr().out
    for item in found:
        assert all(fact.value in shown for fact in plan_page(item).facts), shown


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plan of a third worker that joins, and the history of the group, in which it did."""
    folder, example = tmp_path_factory.mktemp("workers"), Path("examples/connect")
    logs = [str(log) for log in sorted(example.glob("worker-*.log"))]
    config = str(example / "connect-distributed.properties")
    read = folder / "read.jsonl"
    assert run(["snapshot", *logs, "--streams-config", config, "--all", "--out", str(read)]) == 0
    rows = [json.loads(line) for line in read.read_text(encoding="utf-8").splitlines()]
    for row in rows:  # the logs' times have no date
        row["captured_at"] = AT_OF_GENERATION.get(row["generation"], "2026-11-21T10:00:00Z")
    before = next(row for row in rows if row["generation"] == 9)
    (folder / "history.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (folder / "before.json").write_text(json.dumps(before), encoding="utf-8")
    assert (
        run(["simulate-scaleout", str(folder / "before.json"), "--add", "1", "--out", str(folder / "plan.json")]) == 0
    )
    return folder


AT_OF_GENERATION = {
    9: "2026-11-21T10:10:00Z",
    10: "2026-11-21T10:10:30Z",
    11: "2026-11-21T10:10:33Z",
    14: "2026-11-21T10:12:00Z",
    15: "2026-11-21T10:13:00Z",
}


def test_what_followed_a_plan_of_connect(workers: Path, capsys: Capture) -> None:
    asked = ["diff", str(workers / "plan.json"), str(workers / "history.jsonl")]
    assert run([*asked, "--from", "2026-11-21T10:10:29Z", "--to", "11", "--fail-on-changes"]) == 0
    out = capsys.readouterr().out
    assert "All 2 rebalances came as planned." in out
    assert "follow-up  as planned" in out
    assert run([*asked, "--fail-on-changes"]) == 0, "what others started later is left out"
    assert "2 later rebalances of the history" in capsys.readouterr().out


def test_what_a_worker_was_not_planned_to_run_is_named(workers: Path, tmp_path: Path, capsys: Capture) -> None:
    rows = [json.loads(line) for line in (workers / "history.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        if row["generation"] == 11:
            first, second, _ = row["instances"]
            first["held"], second["held"] = second["held"], first["held"]
    other = tmp_path / "history.jsonl"
    other.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    assert run(["diff", str(workers / "plan.json"), str(other), "--to", "11", "--fail-on-changes"]) == 5
    out = capsys.readouterr().out
    assert "1 of 2 rebalances came as planned. The first difference is in rebalance 2" in " ".join(out.split()), out
    assert "elsewhere than planned" in out
