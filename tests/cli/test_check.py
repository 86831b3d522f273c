"""``check``: exit codes, guards, reports, and which plans are checked."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.documents.plan.files import read_plan_file
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.planner.ranges import FloorRun
from kstream_plan.render.check.markdown import MARK
from kstream_plan.simulation.one_plan import plan
from tests.helpers import captured_scenarios, plan_cases, simulation_cases

TODAY = ["--set", "now=2026-11-21T13:02:40Z"]


@pytest.fixture
def plan_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    Path("plan.json").write_text(plan_json(plan_cases.case("scale-out")) + "\n", encoding="utf-8")
    return "plan.json"


def policy(text: str) -> list[str]:
    Path("policy.yaml").write_text(f"version: 1\n{text}", encoding="utf-8")
    return ["--policy", "policy.yaml", *TODAY]


def save(name: str, file: str) -> str:
    Path(file).write_text(plan_json(plan_cases.case(name)) + "\n", encoding="utf-8")
    return file


def test_a_plan_that_keeps_to_its_policy(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", plan_file, *policy("defaults: {max_moves: 20}")]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("╭─ S1: 3 → 5 instances ─")
    assert "│ YES: All 2 rules are kept (must_settle is in every policy)." in captured.out
    assert "✗" not in captured.out
    assert captured.err == ""


def test_a_plan_that_breaks_it(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", plan_file, *policy("defaults: {max_moves: 19}")]) == 3
    text = capsys.readouterr().out
    assert "│ NO: 1 of 2 rules is broken: max_moves." in text
    assert "✗ max_moves 20 19 1_11 (topic clicks); from rebalance 22" in " ".join(text.split())


@pytest.mark.parametrize(("more", "code"), [([], 0), (["--fail-on-warning"], 3)])
def test_warnings(plan_file: str, more: list[str], code: int) -> None:
    assert run(["check", plan_file, *policy("defaults: {max_moves: {limit: 1, level: warning}}"), *more]) == code


def test_a_plan_that_does_not_settle_is_3_not_4(plan_file: str) -> None:
    assert run(["check", save("never-ready", "stuck.json")]) == 3
    assert run(["check", "stuck.json", *policy("defaults: {must_settle: false}")]) == 0


def test_a_bad_policy_is_1_before_any_plan_is_read(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.json").write_text('{"kind": "plan", damaged', encoding="utf-8")
    assert run(["check", plan_file, *policy("defaults: {max_move: 1}")]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "kstream-plan: error: policy.yaml, line 2, column 12: defaults has 'max_move', which is not known. "
        "Fix: is it max_moves?\n"
    )


@pytest.mark.parametrize(
    ("guard", "code"),
    [
        (["--require-generation", "1"], 0),
        (["--require-generation", "2"], 3),
        (["--max-snapshot-age", "3m"], 0),
        (["--max-snapshot-age", "2m"], 3),
        (["--expect-digest", "DIGEST"], 0),
        (["--expect-digest", "0" * 64], 3),
        (["--expect-digest", "0" * 64, "--expect-digest", "DIGEST"], 0),
        (["--expect-digest", "UPPER"], 0),
        (["--expect-digest", "xyz"], 2),
        (["--require-generation", "one"], 2),
    ],
)
def test_guards(plan_file: str, guard: list[str], code: int) -> None:
    digest = plan_cases.case("scale-out").digest
    given = [{"DIGEST": digest, "UPPER": digest.upper()}.get(word, word) for word in guard]
    assert run(["check", plan_file, *TODAY, *given]) == code


def test_a_rule_that_is_waived_is_in_a_policy(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'defaults: {max_moves: 1}\nwaivers: [{application: "S*", rule: max_moves, until: 2027-01-31, reason: x}]'
    assert run(["check", plan_file, *policy(text)]) == 0
    answer = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "YES: Only must_settle is checked, and kept. 1 rule waived." in answer


def test_today_decides_whether_a_waiver_is_in_force(plan_file: str) -> None:
    text = 'defaults: {max_moves: 1}\nwaivers: [{application: "S*", rule: max_moves, until: 2027-01-31, reason: x}]'
    waived = policy(text)[:2]
    assert run(["check", plan_file, *waived, "--set", "now=2027-01-31"]) == 0
    assert run(["check", plan_file, *waived, "--set", "now=2027-02-01"]) == 3
    assert run(["check", plan_file, *waived, "--set", "now=tomorrow"]) == 2


def test_every_report_at_once(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"json": "a.json", "markdown": "a.md", "junit": "a.xml", "github": "a.txt"}
    reports = [word for form, file in files.items() for word in ("--report", f"{form}={file}")]
    assert run(["check", plan_file, *policy("defaults: {max_moves: 19}"), *reports]) == 3
    assert json.loads(Path("a.json").read_text())["violated"] is True
    assert Path("a.md").read_text().startswith(MARK)
    assert next(iter(JUnitXml.fromstring(Path("a.xml").read_bytes()))).failures == 1
    assert Path("a.txt").read_text() == (
        "::error title=S1%3A max_moves::20, above the limit of 19: 1_11 (topic clicks); from rebalance 22\n"
    )
    assert "│ NO: " in capsys.readouterr().out


def test_annotations_below_the_table(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", plan_file, *policy("defaults: {max_moves: 19}"), "--report", "github=-"]) == 3
    first, *table, last, annotation = capsys.readouterr().out.splitlines()
    assert first.startswith("::stop-commands::")
    assert last == f"::{first.removeprefix('::stop-commands::')}::"
    assert table[1].startswith("│ NO: ")
    assert annotation.startswith("::error title=S1%3A max_moves::")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--report", "xml=a"], 2, "'xml' is not one of json, markdown, junit, github"),
        (["--report", "json"], 2, "'json' is not FORMAT=FILE"),
        (["--report", "json=-"], 2, "json cannot share standard output with the table"),
        (["--report", "json=no/a"], 1, "its folder does not exist"),
        (["--report", "json=a", "--report", "junit=./a"], 2, "two outputs go to one file"),
        (["--max-warmup-replicas", "4"], 2, "--max-warmup-replicas is for snapshots"),
        (["--set", "session.timeout.ms=4s"], 2, "--set session.timeout.ms is for snapshots"),
        (["--restore-rate", "4/s"], 2, "--restore-rate is for snapshots"),
        (["--out", "a"], 2, "--out is for snapshots"),
        (["--application-id", "none*"], 1, "no application matches 'none*'. Fix: the input holds 'S1'"),
        (["--baseline", "none.json"], 1, "none.json: cannot read the file"),
    ],
)
def test_wrong_usage(
    plan_file: str, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert run(["check", plan_file, *arguments]) == code
    captured = capsys.readouterr()
    assert message in " ".join(captured.err.replace("│", "").split())
    assert captured.out == ""
    assert sorted(path.name for path in Path().iterdir()) == ["plan.json"]


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_a_saved_plan_is_answered_in_every_form(plan_file: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["check", plan_file, *policy("defaults: {max_moves: 19}"), "--output", form]
    assert run(asked) == 3
    printed = capsys.readouterr().out
    assert run([*asked[:-2], "--report", f"{form}=report"]) == 3
    assert re.sub(r'"checked_at":"[^"]*"', "", printed) == re.sub(
        r'"checked_at":"[^"]*"', "", Path("report").read_text(encoding="utf-8")
    )


def test_several_plans_worst_first_and_only_those_selected(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = [plan_file, save("pods", "pods.json"), save("settled", "settled.json")]
    assert run(["check", *files, *policy("applications: {payments: {max_moves: 19}}")]) == 3
    text = capsys.readouterr().out
    assert text.startswith("NO: 3 applications, 1 breaks the policy, 2 passed\n")
    assert re.findall(r"^╭─ (\w+): |^│ (\w+): ", text, re.MULTILINE)[:2] == [("payments", ""), ("", "NO")]
    assert run(["check", *files, *policy("applications: {payments: {max_moves: 19}}"), "--application-id", "S*"]) == 0


def test_an_edited_plan_is_told_as_one(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(Path(plan_file).read_text(encoding="utf-8"))
    document["summary"]["moves"] = 0
    Path(plan_file).write_text(json.dumps(document), encoding="utf-8")
    for command in (["check", plan_file], ["show", plan_file], ["diff", plan_file]):
        assert run(command) == 1
        error = capsys.readouterr().err
        assert "plan.json, line 1: summary.moves is 0, and the rounds give 20. Fix: the file was edited: " in error


def test_a_plan_whose_settings_were_edited_is_no_defect_of_ours(
    plan_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(Path(plan_file).read_text(encoding="utf-8"))
    document["config"]["max_warmup_replicas"] = 1
    Path(plan_file).write_text(json.dumps(document), encoding="utf-8")
    assert run(["check", plan_file]) == 3
    page = " ".join(capsys.readouterr().out.split())
    assert "2 warm-ups, at most 1 are allowed" in page
    assert "the plan was edited" in page
    assert "defect" not in page


def test_the_plan_of_a_simulation_alone_says_nothing_of_other_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "alone.json"
    path.write_text(plan_json(simulation_cases.case("add-two").plan), encoding="utf-8")
    assert run(["show", str(path)]) == 0
    capsys.readouterr()
    assert run(["check", str(path)]) == 1
    error = capsys.readouterr().err
    assert (
        "the plan of 'S1' belongs to a simulation whose other parts are missing (field simulation). Fix: check what"
        in error
    )
    path.write_text(simulation_json(simulation_cases.case("add-two")), encoding="utf-8")
    assert run(["check", str(path)]) == 0


def test_plans_from_standard_input(plan_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(plan_file).read_bytes())))
    assert run(["check", "-", *TODAY, "--require-generation", "2"]) == 3


@pytest.mark.parametrize("given", ["plans", "plans/*.json*", "plans/**/*.gz", "plans/b.json.gz"])
def test_folders_globs_and_zipped_plans(plan_file: str, capsys: pytest.CaptureFixture[str], given: str) -> None:
    Path("plans/deep").mkdir(parents=True)
    Path("plans/.hidden.json").write_text("{", encoding="utf-8")
    save("settled", "plans/a.json")
    for file in ("plans/b.json.gz", "plans/deep/c.json.gz"):
        Path(file).write_bytes(gzip.compress(Path(plan_file).read_bytes()))
    assert run(["check", given, *policy("defaults: {max_moves: 19}")]) == 3
    captured = capsys.readouterr()
    assert captured.err == ""
    checked = re.findall(r"(?<!kstream-plan show )plans/\S+", captured.out)
    found = {
        "plans": ["plans/b.json.gz", "plans/deep/c.json.gz", "plans/a.json"],
        "plans/*.json*": ["plans/b.json.gz", "plans/a.json"],
        "plans/**/*.gz": ["plans/b.json.gz", "plans/deep/c.json.gz"],
        "plans/b.json.gz": ["plans/b.json.gz"],
    }
    assert checked == found[given]


def test_a_folder_may_hold_plans_and_snapshots(
    plan_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = _Reader("settled")
    monkeypatch.setattr(snapshots, "read", reader)
    Path("both").mkdir()
    Path("both/plan.json.gz").write_bytes(gzip.compress(Path(plan_file).read_bytes()))
    Path("both/snapshot.json").write_text("{}", encoding="utf-8")
    assert run(["check", "both", plan_file, f"./{plan_file}", *TODAY]) == 0
    assert reader.asked[0][0] == ("both/snapshot.json",)
    assert capsys.readouterr().out.startswith("YES: 3 applications, 3 passed\n")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("gone.json", "gone.json: does not exist"),
        ("*.gz", "*.gz: matches no file"),
        ("none", "a folder without a file"),
    ],
)
def test_a_path_that_leads_nowhere(plan_file: str, capsys: pytest.CaptureFixture[str], path: str, message: str) -> None:
    Path("none").mkdir()
    assert run(["check", plan_file, path]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


@pytest.mark.spark
@pytest.mark.parametrize("command", ["assign", "simulate-scaleout --add 1", "drain i1", "upgrade --to cooperative"])
def test_a_plan_is_no_snapshot(spark: object, plan_file: str, capsys: pytest.CaptureFixture[str], command: str) -> None:
    name, *options = command.split()
    assert run([name, plan_file, *options]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("kstream-plan: error: plan.json: is a saved plan, not a snapshot. Fix: ")


def test_zipped_baselines_and_piped_zipped_plans(
    plan_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    zipped = gzip.compress(Path(plan_file).read_bytes())
    Path("before.json.gz").write_bytes(zipped)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(zipped)))
    assert run(["check", "-", "--baseline", "before.json.gz", *policy("defaults: {max_moves: 19}")]) == 3
    assert "before: 20" in capsys.readouterr().out


def test_keep_going(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.json").write_text('{"kind": "plan"}', encoding="utf-8")
    assert run(["check", "bad.json", plan_file]) == 1
    assert capsys.readouterr().out == ""
    assert run(["check", "bad.json", plan_file, "--set", "keep.going=true", *TODAY]) == 1
    captured = capsys.readouterr()
    assert "bad.json" in captured.err
    assert captured.out.startswith("UNKNOWN: 2 applications, 1 not checked, 1 passed\n")


@pytest.mark.parametrize("piped", [True, False])
def test_keep_going_past_a_bad_document_in_a_stream_of_plans(
    plan_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], piped: bool
) -> None:
    good = Path(plan_file).read_text(encoding="utf-8")
    bad = json.dumps(json.loads(good) | {"application_id": "payments", "protocol": "learner"})
    text = f"{good}{good[:900]}\n{bad}\n{good}"
    Path("plans.jsonl").write_text(text, encoding="utf-8")
    path = "-" if piped else "plans.jsonl"
    where = "standard input" if piped else "plans.jsonl"

    def again(*options: str) -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return run(["check", path, *options, *TODAY])

    assert again() == 1
    assert capsys.readouterr().out == ""
    assert again("--set", "keep.going=true", "--report", "json=r.json") == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("UNKNOWN: 4 applications, 2 not checked, 2 passed\n")
    first, second = captured.err.splitlines()
    assert f"{where}, line 2: not JSON" in first
    assert f"{where}, line 3: protocol is 'learner'" in second
    errors = json.loads(Path("r.json").read_text(encoding="utf-8"))["errors"]
    assert [error["application_id"] for error in errors] == [None, "payments"]
    assert again("--set", "keep.going=true", "--application-id", "S*") == 1
    assert "payments" not in capsys.readouterr().err


def test_every_report_says_which_application_could_not_be_simulated(
    plan_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(snapshots, "read", _Reader("settled", "pods"))
    Path("x.json").write_text("{}", encoding="utf-8")
    Path("stop.yaml").write_text("version: 1\nevents: [{at: 0s, leave: [i3]}]\n", encoding="utf-8")
    reports = ["--report", "json=r.json", "--report", "markdown=r.md", "--report", "junit=r.xml"]
    arguments = ["--scenario", "stop.yaml", "--set", "draws=1", *TODAY]
    assert run(["check", "x.json", *arguments, *reports, "--report", "github=-", "--set", "keep.going=true"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("kstream-plan: error: application 'payments', stop.yaml, line 2, column ")
    assert "::error title=payments::application 'payments', stop.yaml" in captured.out
    (error,) = json.loads(Path("r.json").read_text(encoding="utf-8"))["errors"]
    assert error["application_id"] == "payments"
    assert "kstream-plan: payments could not be checked" in Path("r.md").read_text(encoding="utf-8")
    assert "payments" in [suite.name for suite in JUnitXml.fromstring(Path("r.xml").read_bytes())]
    for command in (
        ["simulate", "x.json", "stop.yaml", "--set", "draws=1"],
        ["drain", "x.json", "i3"],
        ["check", "x.json", *arguments],
    ):
        assert run(command) == 1
        assert "'payments'" in capsys.readouterr().err


def test_the_baseline_is_shown(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = save("settled", "before.json")
    arguments = [*policy("defaults: {max_moves: 1}"), "--baseline", before]
    assert run(["check", plan_file, *arguments, "--baseline", save("pods", "pods.json")]) == 3
    captured = capsys.readouterr()
    assert "before: 0" in " ".join(captured.out.split())
    assert "│ Before  a rebalance would change nothing" in captured.out
    assert "Warning: --baseline has a plan of 'payments', which is not checked" in captured.out
    assert run(["check", plan_file, "--baseline", before, "--baseline", "./before.json"]) == 1
    capsys.readouterr()
    assert run(["check", plan_file, save("scale-out", "again.json"), "--baseline", before]) == 0
    assert capsys.readouterr().out.count("│ Before  a rebalance would change nothing") == 2


class _Reader:
    """Stands for ``snapshots.read``."""

    def __init__(self, *names: str) -> None:
        self.names, self.asked = names, []

    def __call__(self, paths: Any, **options: Any) -> tuple[Any, ...]:
        self.asked.append((paths, options))
        return tuple(plan_cases.snapshot(name) for name in self.names)


def test_a_snapshot_is_planned_first_and_its_cures_are_tried(
    plan_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = _Reader("scale-out")
    monkeypatch.setattr(snapshots, "read", reader)
    Path("snapshot.json").write_text("{}", encoding="utf-8")
    arguments = policy("defaults: {max_pause_per_task: 30s}")
    assert run(["check", "snapshot.json", *arguments, "--out", "made.json", "--metrics", "rows=l.json"]) == 3
    assert reader.asked[0][0] == ("snapshot.json",)
    assert reader.asked[0][1]["lags"] == ["l.json"]
    assert re.search(r"Would help\n.*max\.warmup\.replicas=4, then ", capsys.readouterr().out, re.DOTALL)
    assert read_plan_file("made.json") == [plan_cases.case("scale-out")]
    assert run(["check", "snapshot.json", *arguments, "--max-warmup-replicas", "4"]) == 0
    assert run(["check", plan_file, "snapshot.json", *arguments, "--max-warmup-replicas", "4"]) == 3
    assert capsys.readouterr().out.count("│ YES: All 2 rules are kept (must_settle is in every policy).") == 2


def test_a_snapshot_on_standard_input_reaches_the_reader(plan_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = _Reader("settled")
    monkeypatch.setattr(snapshots, "read", reader)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"application_id": "a"}')))
    assert run(["check", "-"]) == 0
    assert reader.asked[0][0] == ("-",)
    assert reader.asked[0][1]["stdin"].read() == b'{"application_id": "a"}'


def test_saved_plans_are_checked_without_spark(plan_file: str) -> None:
    code = (
        "import sys; from kstream_plan.cli import run; code = run(sys.argv[1:]);"
        "bad = {'pyspark', 'pyarrow', 'kstream_plan.planner.plan'} & set(sys.modules); "
        "sys.exit(f'{bad}' if bad else code)"
    )
    done = subprocess.run([sys.executable, "-c", code, "check", plan_file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.spark
def test_a_snapshot_file_with_real_reading(spark: object, plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = Path(__file__).parents[2] / "examples/scale-out/snapshot.json"
    assert run(["check", str(snapshot), *policy("defaults: {max_pause_per_task: 30s}")]) == 3
    assert re.search(r"✗ +max_pause_per_task +30\.1s +30s +2_0, 2_3, 2_4 ", capsys.readouterr().out)


@pytest.fixture
def before(plan_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read is a captured group before its scale-out."""
    Path("x.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (captured_scenarios.before("scale-out"),))


@pytest.mark.usefixtures("before")
def test_what_would_happen_is_simulated_first_and_the_worst_draw_counts(capsys: pytest.CaptureFixture[str]) -> None:
    two_more = ["check", "x.json", "--set", "draws=30", "--out", "made.json"]
    assert run([*two_more, "--add", "2", *policy("defaults: {max_moves: 19}")]) == 3
    text = capsys.readouterr().out
    assert "│ UNKNOWN: It is unknown whether 1 of 2 rules is kept: max_moves." in text
    assert re.search(r"\? +max_moves +20 +19 +the worst of 30 random simulations", text)
    assert "(one of 30 random simulations; the worst: 20 moves)" in text
    assert "; made.json" in " ".join(text.replace("│", "").split())
    assert run(["check", "made.json", *policy("defaults: {max_moves: 19}")]) == 3
    assert capsys.readouterr().out == text
    assert run([*two_more, "--to", "5", *policy("defaults: {max_moves: 20}")]) == 0
    assert run([*two_more, "--to", "5", *policy("defaults: {max_moves: 20}"), "--report", "json=r.json"]) == 0
    [checked] = json.loads(Path("r.json").read_text(encoding="utf-8"))["plans"]
    assert checked["draws"] == 30
    assert {one["rule"]: one["worst_of_draws"] for one in checked["findings"]}["max_moves"] == 30


@pytest.mark.usefixtures("before")
def test_the_least_time_is_played_for_a_plan_that_is_saved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    two_more = ["check", "x.json", "--add", "2", "--set", "draws=1", *policy("defaults: {max_pause_per_task: 20s}")]
    assert run([*two_more, "--out", "made.json"]) == 3

    def answer() -> list[str]:
        """Return the panel but for what the plan is of, and the tables; of a plan that is saved Next shows that."""
        panel, _, rest = capsys.readouterr().out.partition("\nNext: ")[0].partition("╯\n")
        return [panel.partition("snapshot: ")[0].rstrip("╰─│ \n"), rest]

    saved = answer()
    [result] = read_plan_file("made.json")
    assert result.summary.floor_ms

    def never(_play: object) -> None:
        raise AssertionError

    monkeypatch.setattr(FloorRun, "__call__", never)
    assert run(two_more) == 3
    assert answer() == saved


@pytest.mark.usefixtures("before")
def test_a_page_of_a_check_says_the_least_time(capsys: pytest.CaptureFixture[str]) -> None:
    two_more = ["x.json", "--add", "2", "--set", "draws=2"]
    assert run(["check", *two_more, "--report", "html=check.html"]) == 0
    assert run(["simulate-scaleout", *two_more, "--report", "html=simulated.html"]) == 0
    of_check, simulated = (Path(f"{name}.html").read_text(encoding="utf-8") for name in ("check", "simulated"))
    (least,) = set(re.findall(r"about [^<]*; at least [^<]*", simulated))
    assert least in of_check
    capsys.readouterr()


@pytest.mark.usefixtures("before")
def test_a_cure_is_simulated_with_as_many_draws(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    arguments = ["check", "x.json", "--add", "2", "--set", "draws=10", *policy("defaults: {max_pause_per_task: 30s}")]
    assert run(arguments) == 3
    [settings, measured] = re.findall(r"max\.warmup\.replicas=(\d+), then ([0-9.]+)s", capsys.readouterr().out)[0]
    assert float(measured) <= 30
    assert run([*arguments, "--max-warmup-replicas", settings]) == 0


@pytest.mark.usefixtures("before")
def test_a_scenario_is_played_first(capsys: pytest.CaptureFixture[str]) -> None:
    Path("stop.yaml").write_text("version: 1\nevents: [{at: 0s, leave: [i3]}]\n", encoding="utf-8")
    assert run(["check", "x.json", "--scenario", "stop.yaml", *policy("defaults: {max_cold_handovers: 0}")]) == 3
    text = capsys.readouterr().out
    assert text.startswith("╭─ S1: 3 → 2 instances ─")
    assert "│ NO: 1 of 2 rules is broken: max_cold_handovers." in text


@pytest.mark.usefixtures("before")
@pytest.mark.parametrize(
    ("events", "members"),
    [
        ("{at: 0s, bounce: {instances: all, restart: 20s}}", "3 instances; i1, i2, i3 leave and return"),
        ("{at: 0s, stop: [i3]}, {at: 5m, return: {instances: i3, disk: true}}", "3 instances; i3 leaves and returns"),
        ("{at: 0s, stop: [i3]}, {at: 5m, join: 2}", "3 → 4 instances"),
    ],
)
def test_the_heading_counts_who_is_there_before_and_after(
    events: str, members: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("events.yaml").write_text(f"version: 1\nevents: [{events}]\n", encoding="utf-8")
    rules = policy("defaults: {max_paused_tasks_at_once: 0}")
    assert run(["check", "x.json", "--scenario", "events.yaml", "--set", "draws=3", *rules]) == 3
    assert capsys.readouterr().out.startswith(f"╭─ S1: {members} ─")


@pytest.mark.usefixtures("before")
def test_the_digest_of_the_snapshot_alone_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    digest = plan(captured_scenarios.before("scale-out")).digest
    assert run(["check", "x.json", "--add", "2", "--set", "draws=3", "--expect-digest", digest]) == 0
    other = plan(captured_scenarios.before("scale-out-traffic")).digest
    assert run(["check", "x.json", "--add", "2", "--set", "draws=3", "--expect-digest", other]) == 3
    assert "NO: 1 of 2 rules is broken: --expect-digest." in capsys.readouterr().out


@pytest.mark.usefixtures("before")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--add", "1", "--to", "5"], "--add and --to cannot be combined"),
        (["--new", "threads=2"], "--new goes with --add, --to or --scenario"),
        (["--set", "draws=2"], "--set draws goes with --add, --to or --scenario"),
        (["--add", "1", "--set", "trigger=join"], "--set trigger is for a rebalance that starts now"),
        (["--scenario", "stop.yaml", "--add", "1"], "--add is an event, too"),
        (["--to", "2"], "'S1' has 3 instances already, --to 2 is less"),
    ],
)
def test_what_happens_is_asked_for_in_one_way(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("stop.yaml").write_text("version: 1\nevents: [{at: 0s, leave: [i3]}]\n", encoding="utf-8")
    assert run(["check", "x.json", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_nothing_happens_to_a_saved_plan(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", plan_file, "--add", "2"]) == 2
    assert "--add is for snapshots, a saved plan is checked as it is" in capsys.readouterr().err


@pytest.mark.usefixtures("before")
def test_threads_of_the_settings_that_are_not_planned_stand_beside_what_is_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("app.properties").write_text("application.id=a\nnum.stream.threads=8\n", encoding="utf-8")
    assert run(["check", "x.json", "--streams-config", "app.properties", *TODAY]) == 0
    page = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert "would change nothing (num.stream.threads is not planned: instances have other threads now)" in page


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_snapshot_is_as_old_as_at_the_time_that_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    before = str(captured_scenarios.captured.REAL / "scale-out" / "before.json")
    for moment in (["--as-of", "2026-11-21T13:05:00Z"], ["--set", "now=2026-11-21T13:05:00Z"]):
        run(["check", before, *moment])
        assert "4m21s old" in capsys.readouterr().out
