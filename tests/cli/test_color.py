"""When text has colour: an explicit mode, else the environment, else the terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kstream_plan.cli import run
from kstream_plan.cli.output import ALWAYS, AUTO, MODES, NEVER, set_color_mode, takes_color
from kstream_plan.documents.plan.write import plan_json
from tests.helpers import plan_cases


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _mode() -> object:
    yield
    set_color_mode(AUTO)


@pytest.mark.parametrize(
    ("environment", "terminal", "pipe"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": ""}, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True, True),
    ],
)
def test_the_environment_decides_unless_a_mode_is_given(
    environment: dict[str, str], terminal: bool, pipe: bool
) -> None:
    assert (takes_color(Terminal(), environment), takes_color(io.StringIO(), environment)) == (terminal, pipe)
    for mode, colour in ((ALWAYS, True), (NEVER, False)):
        set_color_mode(mode)
        assert takes_color(Terminal(), environment) == takes_color(io.StringIO(), environment) == colour


def test_every_command_takes_the_mode_and_the_next_one_begins_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "plan.json"
    path.write_text(plan_json(plan_cases.case("settled")))
    coloured = {}
    for before, after in (("", ""), ("always", ""), ("", "always"), ("always", "never"), ("", "")):
        arguments = [*(["--color", before] if before else []), "show", str(path)]
        assert run([*arguments, *(["--color", after] if after else [])]) == 0
        coloured[before, after] = "\x1b[" in capsys.readouterr().out
    assert coloured == {("", ""): False, ("always", ""): True, ("", "always"): True, ("always", "never"): False}


@pytest.mark.parametrize("arguments", [["--color", "red", "show", "x"], ["show", "x", "--color", "red"]])
def test_another_mode_is_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert f"error: --color: 'red' is not one of {', '.join(MODES)}. Fix: " in capsys.readouterr().err
