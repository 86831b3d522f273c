"""What the documents say is what the tool does: their commands are run and their outputs compared."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
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


def test_the_crontab_line_keeps_what_is_whole(tmp_path: Path) -> None:
    """Run what stands after the schedule, with instances of which one answers, one is gone and one is cut off."""
    (line,) = re.findall(r"^```crontab\n(.*)\n```$", README.read_text(encoding="utf-8"), re.MULTILINE)
    *schedule, command = line.split(" ", 5)
    assert schedule == ["*"] * 5
    assert "%" not in command, "which is a line end in a crontab"
    scrapes, programs = tmp_path / "scrapes", tmp_path / "bin"
    scrapes.mkdir()
    programs.mkdir()
    for name in ("orders-1", "orders-2"):
        (scrapes / f"{name}.prom").write_text("before\n")
    curl = programs / "curl"
    curl.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        'case "$*" in *orders-0:*) echo now > "$last";; *orders-2:*) printf cut > "$last"; exit 18;; *) exit 7;; esac\n'
    )
    curl.chmod(0o755)
    subprocess.run(
        ["/bin/sh", "-c", command.replace("/srv/warm", str(tmp_path))],
        env={"PATH": f"{programs}:{os.defpath}"},
        check=False,
    )
    found = {file.stem: file.read_text() for file in scrapes.iterdir()}
    assert found == {"orders-0": "now\n", "orders-1": "before\n", "orders-2": "before\n"}


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
