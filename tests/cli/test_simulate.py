"""``simulate`` on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.plans.simulated import Simulation
from kstream_plan.simulation.simulate import simulate
from tests.helpers import captured_scenarios


@pytest.fixture(autouse=True)
def _reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (captured_scenarios.before("scale-out"),))
    monkeypatch.delenv("COLUMNS", raising=False)


def _file(tmp_path: Path, text: str) -> str:
    path = tmp_path / "s.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_every_event_is_told_with_what_follows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, "events: [{crash: i3}, {at: 30s, return: i3}, {at: 1h, join: {count: 1, hosts: [i4]}}]")
    assert run(["simulate", "x.json", path, "--set", "draws=2", "--set", "what.if=false"]) == 0
    text = capsys.readouterr().out
    assert re.findall(r"^ *(\w+)  (i\d \w+)  +\d+ ", text, re.MULTILINE) == [
        ("0s", "i3 crashes"),
        ("30s", "i3 returns"),
        ("1h", "i4 joins"),
    ]


@pytest.mark.parametrize(("stops_at", "happens_at"), [("4s", None), ("6s", "10s"), ("11s", None)])
def test_a_stop_that_waits_for_the_end_of_a_rebalance_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stops_at: str, happens_at: str | None
) -> None:
    """i3 joins again at 5s, and the rebalance waits until 10s, when its old member has expired."""
    path = _file(tmp_path, f"events: [{{stop: i3}}, {{at: 5s, return: i3}}, {{at: {stops_at}, stop: i1}}]")
    assert run(["simulate", "x.json", path, "--set", "draws=1", "--set", "what.if=false"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    words = "A default close waits for the end of a rebalance: "
    assert (words in text) is (happens_at is not None)
    assert happens_at is None or f"{words}the stop at {stops_at} happens at {happens_at}." in text


def test_json_holds_the_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(
        tmp_path, "events: [{crash: i3}, {at: 5m, produce_rate: 3/s}, {at: 6m, config: {max.warmup.replicas: 4}}]"
    )
    assert run(["simulate", "x.json", path, "--output", "json", "--set", "what.if=false"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [event["kind"] for event in document["simulation"]["events"]] == ["crash", "produce_rate", "config"]
    assert document["later_configs"][0]["config"]["max_warmup_replicas"] == 4


def test_a_bad_file_is_told_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "read", lambda *_arguments, **_options: pytest.fail("was read"))
    assert run(["simulate", "x.json", _file(tmp_path, "events:\n  - {at: 1s, crsh: i3}")]) == 1
    error = capsys.readouterr().err
    assert "s.yaml, line 2, column 14: crsh is not known here. Fix: is it crash?" in error


@pytest.mark.parametrize(("file", "missing"), [("x.json", "scenario"), ("s.yaml", "snapshot")])
def test_what_is_missing_is_named(file: str, missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", file]) == 2
    error = capsys.readouterr().err
    assert f"there is no {missing} beside '{file}'. Fix: write kstream-plan simulate SNAPSHOT... SCENARIO.yaml" in error


def test_arguments_the_wrong_way_round_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, '{"format_version": "1.0", "application_id": "x", "instances": []}')
    assert run(["simulate", "s.yaml", path]) == 1
    assert (
        "this is a snapshot, not a scenario. Fix: pass it first, as in kstream-plan assign FILE"
        in capsys.readouterr().err
    )


def test_an_event_that_does_not_fit_names_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "x.json", _file(tmp_path, "events:\n  - crash: i9")]) == 1
    assert "s.yaml, line 2, column 12: there is no instance 'i9'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "events",
    [
        "{join: 1}",
        "{crash: i3}, {at: 5m, return: i3}",
        "{bounce: {instances: all, restart: 2m, pause: 2m}}, {at: 20m, join: {hosts: [i4]}}",
        "{produce_rate: 100/s}, {at: 1m, join: 1}, {at: 2m, config: {num.standby.replicas: 1}}",
    ],
)
def test_a_saved_simulation_is_shown_as_it_was_when_it_was_made(
    events: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    results: list[Simulation] = []

    def once(*given: Any, **options: Any) -> Simulation:
        if not results:
            results.append(simulate(*given, **options))
        return results[0]

    monkeypatch.setattr("kstream_plan.cli.actions.simulate.simulate", once)
    out, path = str(tmp_path / "plan.json"), _file(tmp_path, f"events: [{events}]")
    pages = [
        ("60", []),
        ("120", ["--verbose"]),
        ("80", ["--output", "markdown"]),
        ("80", ["--output", "json", "--set", "full=true"]),
    ]
    for columns, more in pages:
        monkeypatch.setenv("COLUMNS", columns)
        code = run(["simulate", "x.json", path, "--set", "draws=3", "--set", "record.size=100", "--out", out, *more])
        simulated = capsys.readouterr().out
        assert code in (0, 4)
        assert run(["show", out, *more]) == 0
        expected = simulated.replace("compare x.json", "compare SNAPSHOT").replace(" --set draws=3", "")
        if not {"--verbose", "json"}.intersection(
            more
        ):  # a saved plan does not know its snapshot, but has more to show
            expected = re.sub(r"compare SNAPSHOT [^\n`]*", f"show {out} -v", expected)
        assert capsys.readouterr().out == expected


def test_a_saved_simulation_says_how_many_draws_do_not_settle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, path = str(tmp_path / "plan.json"), _file(tmp_path, "events: [{join: 1}]")
    few_rounds = ["--set", "draws=4", "--set", "max.rounds=3", "--set", "what.if=false"]
    assert run(["simulate", "x.json", path, *few_rounds, "--out", out]) == 4
    simulated = capsys.readouterr().out
    assert run(["show", out]) == 0
    for text in (simulated, capsys.readouterr().out):
        page = " ".join(text.replace("│", "").split())
        assert "a typical one of 4 simulations with random process ids" in page
        assert "4 of them do not settle." in page


def test_events_are_told_as_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = (
        "{at: 1m, restore_rate: {rate: 40/s, instances: [i1, i2]}}, {at: 2m, restore_rate: {rate: 4/s, instances: i3}}"
    )
    path = _file(tmp_path, f"events: [{{config: {{max.warmup.replicas: 4}}}}, {rates}]")
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["simulate", "x.json", path, "--set", "what.if=false", "--set", "session.timeout.ms=1s"]) == 0
    page = capsys.readouterr().out.partition("What each event leads to")[2]
    for answer in ("0s max.warmup.replicas=4 ", "1m i1, i2 restore 40 records/s ", "2m i3 restores 4 records/s "):
        assert answer in " ".join(page.split())
