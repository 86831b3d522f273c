"""Every command below an answer can be copied, and runs."""

from __future__ import annotations

import json
import shlex
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.cli.pages import input_of, with_commands
from kstream_plan.comparison.alternative_remarks import change_words
from kstream_plan.comparison.alternatives import Change
from kstream_plan.render.page import Line, Page
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.metric_texts import GROUP

NOW = ["--set", "now=2026-11-21T12:00:00Z"]
STORES = ["--set", "stores=persistent"]
#: A name that a shell would take apart.
NAME = "my snapshot; of $HOME & a rather long name, so that the command is longer than eighty columns.json"
SETTLED = "it's settled.json"
WHY = "kstream-plan why SNAPSHOT"


def _text(*paths: str, application_id: str | None = None, command: str = "kstream-plan bounce SNAPSHOT -q") -> str:
    page = Page(title="", lines=(Line("warning", "w", "SNAPSHOT"), Line("next", "n", command)))
    source = input_of(paths, application_id or "", is_plural=application_id is not None)
    warning, line = with_commands(page, source.command).lines
    assert warning.text == "SNAPSHOT"
    return line.text


@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1), min_size=1, max_size=3))
def test_a_shell_takes_the_paths_as_they_were_given(paths: list[str]) -> None:
    words = shlex.split(_text(*paths))
    if "-" in paths:
        assert words == ["kstream-plan", "bounce", "SNAPSHOT", "-q"], "standard input is not there a second time"
    else:
        quoted = [f"./{path}" if path.startswith("-") else path for path in paths]
        assert words == ["kstream-plan", "bounce", *quoted, "-q"]


def test_what_no_command_finds_again_keeps_its_placeholder() -> None:
    assert _text() == _text("-") == _text("a\x1b[31m.json") == "kstream-plan bounce SNAPSHOT -q"
    assert _text("a", "b", command=WHY) == WHY, "it takes one path"
    assert _text("a", command=WHY) == "kstream-plan why a"


def test_one_of_several_applications_is_chosen_again() -> None:
    assert _text("a", application_id="b[1] c") == "kstream-plan bounce a --application-id 'b[[]1] c' -q"


def test_options_that_change_the_answer_are_carried_unless_the_command_varies_them() -> None:
    given = (
        ("now", ("--set", "now=2026-11-21T12:00:00Z")),
        ("metrics", ("--metrics", "a b.json", "--metrics", "c.json")),
        ("max_warmup_replicas", ("--max-warmup-replicas", "8")),
        ("to", ("--to", "5")),
        ("output", ("--output", "table")),
        ("restart", ("--restart", "5s")),
    )
    carried = "--set now=2026-11-21T12:00:00Z --metrics 'a b.json' --metrics c.json"
    for command, expected in (
        (WHY, f"kstream-plan why a {carried} --max-warmup-replicas 8"),
        ("kstream-plan compare SNAPSHOT --vary max.warmup.replicas=8,16", f" {carried} --to 5"),
        ("kstream-plan simulate-scaleout SNAPSHOT --add 2", f" --add 2 {carried} --max-warmup-replicas 8"),
        ("kstream-plan bounce SNAPSHOT", f"kstream-plan bounce a {carried} --max-warmup-replicas 8 --restart 5s"),
        ("kstream-plan help connect-restart", "kstream-plan help connect-restart"),
    ):
        page = Page(title="", lines=(Line("next", "n", command),))
        [line] = with_commands(page, input_of(["a"], "", is_plural=False, option_words=given).command).lines
        assert line.text.endswith(expected)


def test_settings_are_carried_one_by_one_unless_the_command_has_them() -> None:
    words = ("--set", "session.timeout.ms=30s", "--set", "max.warmup.replicas=3")
    session, warmups = " ".join(words[:2]), " ".join(words[2:])
    for command, expected in (
        ("kstream-plan why SNAPSHOT", f"kstream-plan why a {session} {warmups}"),
        ("kstream-plan assign SNAPSHOT --max-warmup-replicas 4", f" --max-warmup-replicas 4 {session}"),
        ("kstream-plan compare SNAPSHOT --vary max.warmup.replicas=8,16", f"=8,16 {session}"),
        ("kstream-plan assign SNAPSHOT --set session.timeout.ms=1000", f"=1000 {warmups}"),
    ):
        page = Page(title="", lines=(Line("next", "n", command),))
        [line] = with_commands(
            page, input_of(["a"], "", is_plural=False, option_words=[("settings", words)]).command
        ).lines
        assert line.text.endswith(expected), line.text


def test_what_set_gives_a_command_is_carried_to_those_that_take_it() -> None:
    words = ("--set", "draws=3", "--set", "max.rounds=9", "--set", "protocol=eager")
    for command, expected in (
        ("kstream-plan why SNAPSHOT", "kstream-plan why a --set protocol=eager"),
        ("kstream-plan simulate-scaleout SNAPSHOT --add 2", "--add 2 --set draws=3 --set protocol=eager"),
    ):
        page = Page(title="", lines=(Line("next", "n", command),))
        source = input_of(["a"], "", is_plural=False, option_words=[("settings", words)])
        [line] = with_commands(page, source.command).lines
        assert line.text.endswith(expected), line.text


CHANGES = {
    "protocol=eager": "--set protocol=eager",
    "max.warmup.replicas=4": "--max-warmup-replicas 4",
    "probing.rebalance.interval.ms=60000": "--probing-rebalance-interval 60000",
    "session.timeout.ms=30000": "--set session.timeout.ms=30000",
    "rack.aware.assignment.traffic_cost=3": "--set rack.aware.assignment.traffic_cost=3",
    "assignor=balanced balance.factor=2": "--set assignor=balanced --set balance.factor=2",
    "max.learners=4": "--design learner:max.learners=4",
    "design=learner max.learners=4": "--design learner:max.learners=4",
    "design=classic max.learners=4": "--design classic",
}


@pytest.mark.parametrize("text", CHANGES)
def test_what_varies_is_given_by_the_options_that_commands_have(text: str) -> None:
    changes = [Change(*word.split("=")) for word in text.split()]
    assert " ".join(filter(None, (change_words(change, changes) for change in changes))) == CHANGES[text]


def _next(out: str) -> list[str]:
    return [line.removeprefix("Next: ") for line in out.splitlines() if line.startswith("Next: ")]


def _next_in_json(command: list[str], capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """Return the commands in the JSON of an answer; the rows of ``fleet`` have none, and plans no paths."""
    if command[0] == "check":
        run([*command, "-q", "--report", "json=answer.json"])
        text = Path("answer.json").read_text()
    else:
        run([*command, "-q", "--output", "json"])
        text = capsys.readouterr().out
    document = json.loads(text)
    [document] = document.get("plans", [document])
    return [shlex.split(note["message"]) for note in document.get("next", ())]


def _settled() -> dict[str, Any]:
    """Return a group in which no rebalance changes anything: each instance runs a task and has the other's copy."""
    (one, two), time = deepcopy(GROUP["instances"]), GROUP["captured_at"]
    one["consumers"][0] |= {"active": ["0_1"], "standby": ["0_0"]}
    two["consumers"][0] |= {"active": ["0_0"], "standby": ["0_1"]}
    lags = [
        {"process_id": instance["process_id"], "task_id": task_id, "lag": 0, "reported_at": time}
        for instance in (one, two)
        for task_id in ("0_0", "0_1")
    ]
    return {**GROUP, "instances": [one, two], "lags": lags, "config": {"num_standby_replicas": 1}}


@pytest.fixture
def _small_inputs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Read snapshots without Spark, from files with names that need quotes."""
    monkeypatch.chdir(tmp_path)
    Path(NAME).write_text(json.dumps({**GROUP, "stores": "persistent"}))
    Path(SETTLED).write_text(json.dumps({**_settled(), "stores": "persistent"}))
    monkeypatch.setenv("COLUMNS", "40")

    def read(paths: list[str], **_options: object) -> object:
        return tuple(snapshot_from_row(json.loads(Path(path).read_text()), "") for path in paths)

    monkeypatch.setattr(snapshots, "read", read)
    monkeypatch.setattr("kstream_plan.cli.commands.bounce.processors", lambda: 1)


@pytest.mark.usefixtures("_small_inputs")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["drain", NAME, "two", *NOW], ["simulate-scaleout", NAME, "--remove", "two", *NOW]),
        (
            ["drain", NAME, "two", "--quiet", *STORES, *NOW],
            ["simulate-scaleout", NAME, "--remove", "two", *STORES, *NOW],
        ),
        (["bounce", NAME, "--instance", "two", "--restart", "5s", *NOW], ["drain", NAME, "two", *NOW]),
        (["assign", NAME, "--set", "max.rounds=1"], ["why", NAME]),
        (["assign", SETTLED], ["simulate-scaleout", SETTLED, "--add", "1"]),
        (["bounce", SETTLED, "--restart", "5s"], ["bounce", SETTLED, "--out", "restart.yaml", "--restart", "5s"]),
        (["check", SETTLED, *NOW], ["assign", SETTLED]),
        (["fleet", SETTLED, *STORES], ["assign", SETTLED, "--application-id", "my.app", *STORES]),
        (
            ["compare", SETTLED, "--vary", "max.warmup.replicas=2,4"],
            ["assign", SETTLED, "--max-warmup-replicas", "2"],
        ),
    ],
    ids=lambda value: " ".join(word for word in value if ".json" not in word),
)
def test_the_next_command_runs(command: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run([*command, "-q"])
    commands = [shlex.split(line) for line in _next(capsys.readouterr().out)]
    assert commands == [["kstream-plan", *expected]]
    without_path = [["SNAPSHOT" if word == command[1] else word for word in words] for words in commands]
    in_json = without_path if command[0] == "assign" else commands
    assert _next_in_json(command, capsys) == ([] if command[0] == "fleet" else in_json)
    draws = ["--set", "draws=1"] if expected[0] == "simulate-scaleout" else []
    assert run([*expected, *draws, "-q"]) in (0, 3, 4)


@pytest.mark.usefixtures("_small_inputs")
def test_why_ends_with_the_path_that_it_was_asked_about(capsys: pytest.CaptureFixture[str]) -> None:
    tasks = [{"task_id": f"0_{number}", "stateful": True, "end_offset_sum": 2_000} for number in range(12)]
    one, two = deepcopy(GROUP["instances"])
    one["consumers"][0] |= {"standby": []}
    two["consumers"][0] |= {"active": [task["task_id"] for task in tasks]}
    Path(NAME).write_text(json.dumps({**GROUP, "tasks": tasks, "instances": [one, two], "lags": []}))
    run(["why", NAME, "-q"])
    [command] = _next(capsys.readouterr().out)
    assert shlex.split(command)[:3] == ["kstream-plan", "compare", NAME]
