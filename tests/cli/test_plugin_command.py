"""``plugin``: the project is written out whole, or not at all."""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path

import pytest

import kstream_plan
from kstream_plan.cli import run
from kstream_plan.pages.sections import page_text, shown_text

PACKAGE = Path(kstream_plan.__file__).parent
PROJECT = PACKAGE / "plugin"


def whole() -> dict[str, bytes]:
    return contents(PROJECT) | {"README.md": shown_text("plugin").encode()}


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and "target" not in path.relative_to(folder).parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("exists", [False, True])
def test_the_whole_project_is_written(exists: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan task assignor"
    if exists:
        out.mkdir()
    assert run(["plugin", "--out", str(out)]) == 0
    assert contents(out) == whole()
    assert {path.name for path in out.iterdir()} == {"README.md", "pom.xml", "src"}
    assert all(path.stat().st_mode & stat.S_IWUSR for path in out.rglob("*"))
    readme = (out / "README.md").read_text(encoding="utf-8")
    assert "<!--" not in readme, "words for our own search"
    assert readme.splitlines()[-3:] == page_text("plugin").splitlines()[-3:]
    number = len(whole())
    assert capsys.readouterr().out == (
        f"{number} files are in {out}; README.md says how to bring the class in.\n"
        f"Next: mvn -f '{out}/pom.xml' package\n"
    )


def test_the_working_directory_may_be_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["plugin", "--out", "."]) == 0
    assert contents(Path()) == whole()


def test_a_folder_with_a_file_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".keep").touch()
    assert run(["plugin", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"kstream-plan: error: --out {tmp_path}: is not empty. Fix: name a new or an empty folder\n"
    )
    assert contents(tmp_path) == {".keep": b""}


def test_a_place_that_is_no_folder_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    for out, fault in (("file", "is a file"), ("file/in", "is a file"), ("none/in", "its folder does not exist")):
        assert run(["plugin", "--out", str(tmp_path / out)]) == 1
        assert f"error: --out {tmp_path / out}: {fault}. Fix: " in capsys.readouterr().err
    assert run(["plugin"]) == 2
    assert "plugin: --out is missing. Fix: see kstream-plan plugin --help" in capsys.readouterr().err


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("step", ["copy", "move"])
def test_a_full_disk_leaves_nothing(
    exists: bool, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    if exists:
        out.mkdir()
    real = {"copy": shutil.copyfile, "move": Path.rename}[step]

    def until_the_disk_is_full(source: Path, target: Path, *options: object, **more: object) -> object:
        if Path(target).name == "pom.xml":
            raise OSError(28, os.strerror(28))
        return real(source, target, *options, **more)

    monkeypatch.setattr(*((shutil, "copyfile") if step == "copy" else (Path, "rename")), until_the_disk_is_full)
    assert run(["plugin", "--out", str(out)]) == 1
    assert "cannot be written to: No space left on device" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == ([out] if exists else [])


def test_what_is_written_out_can_be_reviewed() -> None:
    sources = [path.read_text(encoding="utf-8") for path in sorted(PROJECT.glob("src/main/**/*.java"))]
    code = [
        line
        for text in sources
        for line in text.splitlines()
        if not re.match(r"\s*($|//|/\*|\*|import |package )", line)
    ]
    assert len(sources) == 6
    assert len(code) <= 700
    assert max(len(line) for text in sources for line in text.splitlines()) <= 120
