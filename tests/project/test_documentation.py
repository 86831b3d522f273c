"""What the documents say is what the tool does: their commands are run and their outputs compared."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

from kstream_plan.cli import run
from kstream_plan.cli.application import application
from kstream_plan.plans import Step
from kstream_plan.version import __version__
from tests.helpers.goldens import WRITE

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


def _sessions() -> list[str]:
    return _CONSOLE.findall(README.read_text(encoding="utf-8"))


@pytest.mark.spark
def test_the_readme_shows_what_its_commands_print(
    spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("kstream_plan.cli.progress._A_WHILE_S", float("inf"))  # a busy machine is no news
    text = README.read_text(encoding="utf-8")
    for session in _sessions():
        shown = "".join(
            _run(command, capsys) for command in re.findall(r"^\$ kstream-plan (.*)$", session, re.MULTILINE)
        )
        if os.environ.get(WRITE) == "1":
            text = text.replace(session, shown)
        else:
            assert shown == session
    if os.environ.get(WRITE) == "1":
        README.write_text(text, encoding="utf-8")


def _run(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    run(shlex.split(command))
    captured = capsys.readouterr()
    return f"$ kstream-plan {command}\n{captured.err}{captured.out}"


def test_ci_calls_the_readme_s_own_test_command() -> None:
    test_command = next(line for line in README.read_text(encoding="utf-8").splitlines() if line.endswith("/pytest"))
    assert test_command in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()


def test_every_command_is_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    for command in application().registered_commands:
        assert f"kstream-plan {command.name or command.callback.__name__}" in text  # type: ignore[union-attr]


def test_every_step_kind_is_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    for step in Step.__args__:  # type: ignore[attr-defined]
        kind = step.__dataclass_fields__["kind"].default
        assert f"| `{kind}` |" in text


def test_every_dependency_has_its_reason_and_its_bound() -> None:
    text = README.read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in [*project["dependencies"], *project["optional-dependencies"]["kafka"]]:
        name, bound = re.match(r"([\w-]+)>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
        assert f"| `{name}` ≥ {bound} |" in text
    for requirement in project["optional-dependencies"]["dev"]:
        name = requirement.partition(">=")[0]
        assert f"`{name}`" in text or name.startswith("types-")


def test_the_changelog_begins_with_what_is_unreleased() -> None:
    headings = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert __version__
