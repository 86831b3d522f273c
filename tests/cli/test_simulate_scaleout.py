"""``simulate-scaleout`` on the command line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.documents.plan.write import plan_json
from tests.helpers import captured_scenarios, plan_cases
from tests.helpers.goldens import assert_golden

X = ["simulate-scaleout", "x.json"]


@pytest.fixture(autouse=True)
def _reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (captured_scenarios.before("scale-out"),))
    monkeypatch.delenv("COLUMNS", raising=False)


def _json(capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    assert run([*X, *options, "--output", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_table_says_that_new_ids_are_random(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*X, "--add", "2", "--set", "draws=3", "--set", "record.size=100"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("╭─ S1: 3 → 5 instances, ")
    assert "simulations with random process ids, which break ties; ranges are over all" in " ".join(
        text.replace("│", "").split()
    )
    assert "5.4 MB" in text
    assert "With other settings" not in text, "one simulation of many is no answer"
    assert re.search(r"^Next: kstream-plan compare .*--vary max\.warmup\.replicas=2,4,8", text, re.MULTILINE)


def test_a_single_draw_says_that_it_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*X, "--add", "1", "--set", "draws=1", "--set", "what.if=false"]) == 0
    page = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert "this is one of many outcomes (--set draws)." in page


def test_to_counts_who_is_there_and_who_goes(capsys: pytest.CaptureFixture[str]) -> None:
    document = _json(capsys, "--to", "4", "--remove", "i1", "--set", "draws=1", "--set", "what.if=false")
    kinds = [event["kind"] for event in document["simulation"]["events"]]
    assert kinds == ["stop", "join"]
    assert len(document["simulation"]["events"][1]["process_ids"]) == 2
    assert document["simulation"]["what_ifs"] == []


def test_what_the_new_instances_are_like(capsys: pytest.CaptureFixture[str]) -> None:
    process_id = "8772d290-3ede-4e2d-aa72-8c0277e14a59"
    options = ["--add", "1", "--new", f"id={process_id}", "--new", "threads=3", "--new", "rack=b", "--new", "at=5m"]
    document = _json(capsys, *options, "--new", "tags=zone=a,cluster=c")
    [new] = [instance for instance in document["instances"] if instance["process_id"] == process_id]
    assert (len(new["consumers"]), new["rack"], new["client_tags"]) == (3, "b", {"zone": "a", "cluster": "c"})
    assert document["rounds"][0]["at_ms"] == 300_000
    assert document["simulation"]["draws"] is None


def test_the_least_that_has_to_be_restored_is_found_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--add", "2", "--set", "draws=3", "--set", "what.if=false"]
    without = _json(capsys, *options)
    assert without["summary"]["lower_bounds"]["restored_records"] is None
    assert without["simulation"]["draws"]["least_restored_records"] is None
    for protocol in ("cooperative", "eager", "mixed"):
        document = _json(capsys, *options, "--set", "bounds=true", "--set", f"protocol={protocol}")
        assert document["summary"]["lower_bounds"]["restored_records"] == 18_000
        bound = {"median": 18_000, "least": 18_000, "most": 18_000}
        assert document["simulation"]["draws"]["least_restored_records"] == bound
    assert run([*X, *options, "--set", "bounds=true"]) == 0
    text = capsys.readouterr().out
    assert "of 24 (minimum for this balance: 9)" in " ".join(text.replace("│", "").split())
    assert "(minimum for this balance: 18,000)" in " ".join(text.replace("│", "").split())


def test_it_is_saved_while_the_table_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.json"
    assert run([*X, "--add", "1", "--set", "draws=1", "--out", str(out)]) == 0
    simulated = capsys.readouterr().out
    assert "│ Duration  " in simulated
    assert run(["show", str(out)]) == 0
    above, _, _ = simulated.partition("\nNext: ")
    shown = f"{above}\nNext: kstream-plan show {out} -v\n"
    assert capsys.readouterr().out == shown, "where it was read, and how, is not in the plan"


def test_markdown_is_marked_up_without_colour(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*X, "--add", "1", "--set", "draws=1", "--output", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("### S1: 3 → 4 instances")


def test_what_never_settles_is_told_by_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*X, "--add", "1", "--set", "draws=1", "--set", "max.rounds=2", "--set", "what.if=false"]) == 4
    assert "The plan ends before the group settles" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "2"], "is less"),
        (["--to", "4", "--new", "id=a", "--new", "id=b"], "2 process ids for 1 new"),
        (["--add", "1", "--new", "id=i1"], "process id 'i1' is the host of an instance that is there"),
    ],
)
def test_options_that_do_not_fit_the_group(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*X, *options]) == 2
    assert message in capsys.readouterr().err


def test_an_id_unlike_the_others_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*X, "--add", "1", "--new", "id=abc", "--set", "what.if=false"]) == 0
    assert "warning: --new id='abc' is no UUID like the others of 'S1'" in capsys.readouterr().err
    assert run([*X, "--add", "1", "--new", "id=8772d290-3ede-4e2d-aa72-8c0277e14a59", "--set", "what.if=false"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "no instance joins or stops"),
        (["--add", "1", "--to", "5"], "cannot be combined"),
        (["--add", "1", "--set", "lags.tolerance=1m"], "goes with lag rows"),
        (["--add", "1", "--set", "balance.factor=2"], "--set balance.factor goes with --set assignor=balanced"),
        (["--remove", "i1", "--new", "threads=9"], "--new threads is for new instances, and none joins"),
        (["--remove", "i1", "--new", "rack=zz"], "--new rack is for new instances, and none joins"),
        (["--remove", "i1", "--new", "at=5m"], "--new at is for new instances, and none joins"),
        (["--remove", "i1", "--new", "id=a"], "--new id is for new instances, and none joins"),
        (["--add", "0", "--new", "tags=a=b"], "--new tags is for new instances, and none joins"),
        (["--add", "1", "--new", "id=a", "--new", "id=b"], "--new id is given 2 times for 1 new instance"),
        (["--add", "2", *["--new", "tags=a=b"] * 3], "--new tags is given 3 times for 2 new instances"),
        (["--add", "2", "--new", "id=a", "--new", "id=a"], "--new id has a duplicate"),
        (["--remove", " "], "--remove: the value is empty"),
        (["--add", "1", "--new", "rack="], "--new: the value is empty"),
        (["--add", "1", "--set", "draws.within=0s"], "draws.within: draws need a time above 0"),
    ],
)
def test_options_that_do_not_go_together_are_told_before_anything_is_read(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "read", lambda *_arguments, **_options: pytest.fail("was read"))
    assert run([*X, *options]) == 2
    assert message in capsys.readouterr().err


def test_an_unknown_instance_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*X, "--remove", "i9"]) == 1
    assert "there is no instance 'i9'" in capsys.readouterr().err


def _two(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (captured_scenarios.before("scale-out-standbys"), captured_scenarios.before("scale-out"))
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: found)


def test_several_applications_get_one_line_each_worst_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _two(monkeypatch)
    options = ["--remove", "i3", "--set", "what.if=false"]
    assert run([*X, *options]) == 0
    text = capsys.readouterr().out
    assert_golden("simulation/fleet.txt", text)
    assert run([*X, *options, "--output", "markdown"]) == 0
    assert_golden("simulation/fleet.md", capsys.readouterr().out)
    assert run([*X, *options, "--verbose"]) == 0
    in_full = capsys.readouterr().out
    assert in_full.startswith(text[: text.index("One of them")].rstrip())
    assert in_full.count("│ Duration  ") == 2
    assert in_full.index("S1: 3 → 2") < in_full.index("S2b: 3 → 2")


def test_several_saved_simulations_are_shown_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _two(monkeypatch)
    out, plan = str(tmp_path / "both.json"), tmp_path / "plan.json"
    for more in ([], ["--verbose"], ["--output", "markdown"], ["--output", "json"]):
        assert run([*X, "--remove", "i3", "--set", "what.if=false", "--out", out, *more]) == 0
        simulated = capsys.readouterr().out
        assert run(["show", out, *more]) == 0
        assert capsys.readouterr().out == simulated
    plan.write_text(plan_json(plan_cases.case("settled")) + "\n")
    assert run(["show", out, str(plan)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("╭─ 3 applications: 2 moving, 1 settled ─")
    assert "1 application is at risk: 1 with cold starts." in text
    assert run(["show", out, str(plan), "--verbose"]) == 0
    assert capsys.readouterr().out.count("│ Duration  ") == 2
    assert run(["show", out, str(plan), "--output", "json"]) == 0
    assert ["simulation" in json.loads(line) for line in capsys.readouterr().out.splitlines()] == [True, True, False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--remove", "i1", "--remove", "i2", "--remove", "i3"],
            "--remove: no instance is left. Fix: leave one of them out, or add new ones with --add",
        ),
        (
            ["--remove", "i1", "--remove", "i2", "--remove", "i3", "--add", "1", "--new", "at=1h"],
            "--remove: no instance is left at 10s. Fix: let one of them stay, or another one run",
        ),
    ],
)
def test_somebody_has_to_stay(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*X, *options, "--set", "what.if=false"]) == 1
    assert message in capsys.readouterr().err


def test_errors_of_one_application_do_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = captured_scenarios.before("scale-out")
    nameless = tuple(replace(instance, host=None) for instance in good.state.group.instances)
    bad = replace(good, state=replace(good.state, group=replace(good.state.group, instances=nameless)))
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (bad, good))
    assert run([*X, "--remove", "i3", "--set", "keep.going=true", "--set", "what.if=false"]) == 1
    captured = capsys.readouterr()
    assert "there is no instance 'i3'" in captured.err
    assert "3 → 2 instances" in captured.out
