"""Several designs beside each other: ``simulate … --design connect --design connect-eager …``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from rich.cells import cell_len

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.model import Snapshot
from tests.helpers import captured_scenarios
from tests.helpers.connect_rows import row, snapshot
from tests.helpers.schemas import validator

CONNECT = Path(__file__).parents[2] / "examples" / "connect"
DESIGNS = ("connect", "connect-eager", "connect-design-1", "connect-design-2", "connect-design-3")
SCENARIO = str(CONNECT / "rolling-restart.yaml")
ALL = [part for name in DESIGNS for part in ("--design", name)]


def read(path: str) -> Snapshot:
    if path == "even":
        return snapshot(row({"c0": 4, "c1": 4}, {"a": {"c0": (-1, 0, 1, 2, 3)}, "b": {"c1": (-1, 0, 1, 2, 3)}}))
    if path == "ten":
        return snapshot(json.loads((CONNECT / "ten-workers.json").read_text()))
    return captured_scenarios.before(path)


@pytest.fixture(autouse=True)
def _reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "read", lambda paths, **_options: tuple(map(read, paths)))
    monkeypatch.delenv("COLUMNS", raising=False)


def words(text: str) -> str:
    """The text of a page without its border and its line breaks."""
    return " ".join(text.replace("│", " ").split())


def outcomes(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, Any]]:
    """By design, what comes of each."""
    assert run([*arguments, "--output", "json", "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    validator("compare").validate(document)
    return {one["design"]: outcome for outcome in document["outcomes"] for one in outcome["alternatives"]}


def test_a_rolling_restart_by_five_designs(capsys: pytest.CaptureFixture[str]) -> None:
    """200 tasks on 10 workers, 20 s down each, one a minute, a delay of 300 s, a round of 3 s."""
    found = outcomes(capsys, "simulate", "ten", SCENARIO, *ALL)
    assert {item["verdict"] for item in found.values()} == {"settled"}
    task_s = {name: item["figures"]["paused_task_ms"]["median"] / 1000 for name, item in found.items()}
    assert task_s["connect"] == 29_004
    assert task_s["connect-design-1"] == 600
    assert task_s["connect-eager"] == 20 * 200 * 3  # every task stops for 3 s in each of 20 rebalances
    assert found["connect-eager"]["figures"]["started"]["median"] == 20 * 210
    assert [name for name, item in found.items() if item["fastest"]] == ["connect-design-1"]


def test_each_line_is_what_one_design_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = outcomes(capsys, "simulate-scaleout", "even", "--add", "1", "--set", "draws=3", *ALL)
    for name in DESIGNS:
        alone = ["simulate-scaleout", "even", "--add", "1", "--set", "draws=3", "--design", name]
        assert run([*alone, "--output", "json", "-q"]) == 0
        single = json.loads(capsys.readouterr().out)
        summary, draws, figures = single["summary"], single["simulation"]["draws"], found[name]["figures"]
        likely = {**summary, "max_paused_ms": summary["max_paused_task"]["ms"]}
        for figure in ("rebalances", "moves", "max_paused_ms"):
            ends = {key: draws[figure][key] for key in ("least", "most")}
            assert figures[figure] == {"median": likely[figure], **ends}, figure
        total_ms = figures["paused_task_ms"]["median"] + figures["paused_connector_ms"]["median"]
        assert total_ms == single["summary"]["paused_task_ms"]


def test_options_of_designs_count_for_those_that_have_them(capsys: pytest.CaptureFixture[str]) -> None:
    crash = ["simulate", "ten", SCENARIO, *ALL]
    usual, old = outcomes(capsys, *crash), outcomes(capsys, *crash, "--connect-delay", "30s")
    soon = outcomes(
        capsys, *crash, *(f"--design={name}:delay=30s" for name in ("connect-design-2", "connect-design-3"))
    )
    assert [name for name in DESIGNS if usual[name] != soon[name]] == ["connect-design-2", "connect-design-3"]
    assert old == soon
    both = outcomes(capsys, *crash, "--design", "connect-design-2:delay=30s", "--design=connect-design-3:delay=5m")
    for name in DESIGNS:
        assert both[name]["figures"] == (soon if name == "connect-design-2" else usual)[name]["figures"]


def test_designs_of_streams_applications(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("events: [{at: 0s, join: {count: 1, process_ids: [i9]}}]")
    both = ["--design", "classic", "--design", "learner", "--restore-rate", "500/s"]
    found = outcomes(capsys, "simulate", "scale-out", str(scenario), *both)
    assert list(found) == ["classic", "learner"]
    assert found["learner"]["figures"]["stopped"] is None
    assert run(["simulate", "scale-out", str(scenario), *both, "-q"]) == 0
    assert " pauses" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_the_table(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    assert run(["simulate", "ten", SCENARIO, *ALL, "--output", form, "--out", str(out), "-q"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in DESIGNS)
    assert "Unassigned time, all tasks" in text
    assert "design=connect-design-1 has the shortest unassigned time: 10m over all tasks" in words(text)
    assert " cold" not in text
    validator("compare").validate(json.loads(out.read_text()))
    if form == "table":
        assert max(map(cell_len, text.splitlines())) <= 80
    else:
        assert MarkdownIt("commonmark").enable("table").render(text).count("</th>") == 1 + len(DESIGNS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "even", SCENARIO, "--design", "connect", "--design", "connect"], "--design has a duplicate"),
        (["simulate", "even", SCENARIO, "--design", "connect", "--design", "learner"], "a connect group cannot be"),
        (["simulate", "scale-out", SCENARIO, "--design", "connect-eager"], "a classic group cannot be planned by"),
        (["simulate", "even", SCENARIO, "--design", "nothing"], "'nothing' is not one of classic, learner"),
        (
            ["simulate", "even", SCENARIO, *ALL, "--set", "full=true"],
            "--set full is for a simulation by one design",
        ),
        (
            ["simulate", "even", SCENARIO, *ALL, "--set", "draws.within=5s"],
            "--set draws.within is for a simulation by one",
        ),
        (["assign", "even", *ALL], "--design is given 5 times"),
        (
            ["assign", "even", "--design", "connect-design-3:step=0"],
            "0 is below 1. Fix: write connect-design-3:step=10",
        ),
        (
            ["assign", "even", "--design", "connect-design-3:stp=0"],
            "'stp' is no option of connect-design-3. Fix: write",
        ),
        (["assign", "even", "--design", "connect-design-2:defer.join"], "'defer.join' is not NAME=VALUE. Fix: write"),
        (["assign", "even", "--design", "connect-design-2:defer.join=1"], "defer.join: '1' is neither true nor false"),
        (["assign", "even", "--design", "connect-design-2:delay=1s,delay=2s"], "has delay twice. Fix: give it once"),
        (["assign", "even", "--design", "connect:delay=1s"], "connect takes no options, such as 'delay=1s'. Fix: "),
        (["assign", "x", "--design", "learner:max.learners=2", "--max-learners", "3"], "--design has a duplicate"),
        (["compare", "x", "--vary", "design=classic,streams", "--design", "learner"], "--design learner is not among"),
        (
            ["simulate", "even", SCENARIO, *ALL, "--max-learners", "2"],
            "a connect group cannot be planned by --design l",
        ),
        (
            ["simulate", "even", SCENARIO, *ALL, "--set", "assignor=balanced"],
            "--set assignor goes with --design classic",
        ),
    ],
)
def test_what_cannot_be_set_beside_each_other(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "-q"]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert message in error
    assert "Traceback" not in error


def test_what_does_not_settle_has_figures_that_are_the_least(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "ten", SCENARIO, *ALL[:4], "--set", "max.rounds=5", "-q"]) == 0
    text = words(capsys.readouterr().out)
    assert "No alternative is known to settle." in text
    assert "duration does not settle; rebalances at least 5." in text
    assert text.count("at least") == 1 + 2 * 7


@pytest.mark.parametrize("command", ["why", "bounce"])
def test_commands_about_state_say_what_takes_a_connect_group(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "ten"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "is a Kafka Connect group, which this command does not take. Fix: give it to drain" in said


def test_compare_varies_the_delay_of_connect_groups_alone(capsys: pytest.CaptureFixture[str]) -> None:
    vary = ["--vary", "scheduled.rebalance.max.delay.ms=0,1m,300000"]
    assert run(["compare", "ten", "--scenario", SCENARIO, *vary, "--output", "json", "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    validator("compare").validate(document)
    found = {
        one["scheduled.rebalance.max.delay.ms"]: outcome["figures"]["paused_task_ms"]["median"]
        for outcome in document["outcomes"]
        for one in outcome["alternatives"]
    }
    assert found.keys() == {"0", "60000", "300000"}
    assert (found["300000"], found["0"] < found["60000"] < found["300000"]) == (29_004_000, True)
    assert run(["compare", "even", "--vary", "max.warmup.replicas=2,4"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "max.warmup.replicas is no setting of Connect workers, and live is a Connect group" in said
    assert (
        "Fix: vary design, heartbeat.interval.ms, release, scheduled.rebalance.max.delay.ms, session.timeout.ms" in said
    )
    assert run(["compare", "scale-out", *vary]) == 2
    assert "a setting of Connect workers" in " ".join(capsys.readouterr().err.split())
    assert run(["compare", "ten", "--vary", "scheduled.rebalance.max.delay.ms=-1,2"]) == 2
