"""Results on a file system that only Hadoop can open are read as if they were here; viewfs stands for all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kstream_plan.cli import run
from tests.helpers.fleets import write_fleet

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that is ``viewfs://test/data`` as well, with results of three applications and where they are from.

    Without a host it is the default one, as that of a cluster is.
    """
    result = tmp_path_factory.mktemp("elsewhere")
    links = [f"fs.viewfs.mounttable.{host}.link./data" for host in ("test", "default")]
    hadoop = spark._jsc.hadoopConfiguration()
    for link in links:
        hadoop.set(link, result.as_uri())
    write_fleet(result / "fleet.jsonl", 3, tasks=4, seed=6)
    for form, root in (("parquet", "viewfs://test/data"), ("jsonl", "viewfs:///data")):
        assert (
            run(["assign", f"{root}/fleet.jsonl", "-q", "--out", f"{root}/{form}", "--set", f"out.format={form}"]) == 0
        )
    yield result
    for link in links:
        hadoop.unset(link)


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
@pytest.mark.parametrize(
    "command",
    [
        ["fleet"],
        ["show", "--output", "json"],
        ["check", "--quiet", "--set", "now=2026-11-22T12:00:00Z"],
        ["diff", "--output", "json"],
    ],
)
def test_they_are_read_as_if_they_were_here(
    folder: Path, command: list[str], form: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    said = []
    for path in (f"viewfs://test/data/{form}", str(folder / form)):
        code = run([command[0], path, *command[1:]])
        out, err = capsys.readouterr()
        words = (re.sub(r"[\s─│]+", "", text).replace(path, "PATH") for text in (out, err))
        said.append((code, *words))
    assert said[0] == said[1]
    assert said[0][0] == 0
    assert "application-00002" in said[0][1]


def test_they_stand_beside_plans_here_and_snapshots_there(folder: Path, capsys: Capture) -> None:
    paths = ["viewfs://test/data/jsonl", "viewfs://test/data/fleet.jsonl", str(folder / "parquet")]
    assert run(["fleet", *paths, "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("╭─ 9 applications: 9 moving ─")
    assert run(["diff", "viewfs://test/data/jsonl", str(folder / "parquet"), "--fail-on-changes"]) == 0


def test_what_is_wrong_there_is_told_by_its_name_there(folder: Path, capsys: Capture) -> None:
    (folder / "damaged").mkdir()
    row = next((folder / "jsonl").glob("part-*.json")).read_text().splitlines()[0]
    (folder / "damaged" / "rows.jsonl").write_text(f"{row}\n{row[:200]}\n")
    for command in (["show"], ["fleet"], ["check", "--quiet", "--set", "now=2026-11-22T12:00:00Z"]):
        assert run([*command, "viewfs://test/data/damaged"]) == 1
        assert "error: viewfs://test/data/damaged/rows.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["viewfs://test/data/absent", "viewfs://test/data/fleet.jsonl"])
def test_what_holds_no_plans_is_one_error(folder: Path, path: str, capsys: Capture) -> None:
    assert folder.is_dir()
    assert run(["show", path]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"kstream-plan: error: {path}: does not exist, or holds something else")


@pytest.mark.parametrize(("form", "command"), [("fleet.jsonl", ["fleet"]), ("jsonl", ["show", "--output", "json"])])
def test_empty_files_in_a_folder_are_told_as_they_are_here(
    folder: Path, form: str, command: list[str], capsys: Capture
) -> None:
    below = folder / f"with-empty-{command[0]}"
    below.mkdir()
    rows = (folder / form if form == "fleet.jsonl" else next((folder / form).glob("part-*.json"))).read_bytes()
    for name, content in {"rows.jsonl": rows, "empty.json": b"", "part-1.json": b"", "_SUCCESS": b""}.items():
        (below / name).write_bytes(content)
    path = f"viewfs://test/data/{below.name}"
    assert run([command[0], path, *command[1:]]) in (0, 4)
    warning = f"kstream-plan: warning: {path}/empty.json is empty: it is passed over\n"
    assert capsys.readouterr().err.count(warning) == 1
