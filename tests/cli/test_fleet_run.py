"""Many applications on Spark's executors: what is said, saved and answered is what one process says."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.cli.actions import fleet_run
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.options.settings import Settings
from kstream_plan.cli.progress import SILENCE
from kstream_plan.snapshots.spark.executors import BatchRun
from tests.helpers.fleets import fleet
from tests.helpers.mixed_fleets import check_mixed_fleet

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

APPLICATIONS = 7
#: When the groups were as they are told.
NOW = ("--set", "now=2026-11-21T12:00:00Z")


def _saved(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def applications(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _saved(tmp_path_factory.mktemp("fleet") / "fleet.jsonl", list(fleet(APPLICATIONS, tasks=4, seed=3)))


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command line says and answers, by one process or on the executors."""
    asked: list[int] = []
    collected = fleet_run.FleetRun._collect
    monkeypatch.setattr(
        fleet_run.FleetRun, "_collect", lambda self, sent, *rest: asked.append(1) or collected(self, sent, *rest)
    )

    def of(arguments: list[str], *, spread: bool) -> tuple[int, str, str]:
        monkeypatch.setattr(fleet_run, "WORTH_MS", 0 if spread else 10**9)
        asked.clear()
        code = run([*arguments, "--quiet"])  # how far the work is hangs on the machine
        assert len(asked) == spread
        return (code, *capsys.readouterr())

    return of


@pytest.mark.parametrize(
    "arguments",
    [
        ["assign", "--output", "json"],
        ["assign", "--verbose", "--set", "show.ranks=true", "--fail-on-changes"],
        ["simulate-scaleout", "--add", "1", "--set", "draws=3", "--verbose", "--output", "markdown"],
        ["check", "--set", "full=true", "--require-generation", "9"],
    ],
    ids=["lines", "tables", "simulations", "a check"],
)
def test_the_same_is_said_and_saved(arguments: list[str], applications: str, said: Any, tmp_path: Path) -> None:
    command = [arguments[0], applications, *arguments[1:]]
    out = tmp_path / "plans"
    alone = said([*command, "--out", str(out)], spread=False), out.read_bytes()
    assert (said([*command, "--out", str(out)], spread=True), out.read_bytes()) == alone
    assert len(out.read_bytes().splitlines()) == APPLICATIONS


@pytest.mark.parametrize("spread", [False, True])
def test_plans_are_saved_as_they_come_and_the_file_is_there_when_all_are(
    spread: bool, applications: str, said: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, sizes = fleet_run.FleetRun._keep, []

    def measured(self: fleet_run.FleetRun[Any, Any], *arguments: Any) -> Any:
        sizes.append([(file.name, file.stat().st_size) for file in tmp_path.iterdir()])
        return keep(self, *arguments)

    monkeypatch.setattr(fleet_run.FleetRun, "_keep", measured)
    said(["assign", applications, "--out", str(tmp_path / "plans")], spread=spread)
    assert all(name.startswith(".plans.") for [(name, _)] in sizes)
    assert 0 == sizes[0][0][1] < sizes[-1][0][1]
    assert [file.name for file in tmp_path.iterdir()] == ["plans"]


@pytest.mark.parametrize("spread", [False, True])
def test_of_an_error_no_part_of_a_file_is_left(spread: bool, applications: str, said: Any, tmp_path: Path) -> None:
    """Only the first application has such an instance: its answer is there already."""
    before, pipe = tmp_path / "before", tmp_path / "pipe"
    said(["assign", applications, "--out", str(before)], spread=False)
    saved = before.read_bytes()
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        for out in (before, pipe):
            command = ["drain", applications, "application-00000-0", *NOW, "--out", str(out)]
            assert said(command, spread=spread)[0] == 1
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)
    assert before.read_bytes() == saved
    assert sorted(file.name for file in tmp_path.iterdir()) == ["before", "pipe"]


def test_of_a_check_comes_back_what_is_told_of_it_and_no_plan(
    applications: str, said: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched, sizes = BatchRun.fetched, []

    def measured(self: BatchRun, *arguments: Any) -> Iterator[bytes]:
        for answer in fetched(self, *arguments):
            sizes.append(len(answer))
            yield answer

    monkeypatch.setattr(BatchRun, "fetched", measured)
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\ndefaults:\n  max_moves: 0\n  max_rebalances: {limit: 1, level: warning}\n")
    forms = ("json", "markdown", "junit", "github", "html")
    reports = [word for form in forms for word in ("--report", f"{form}={tmp_path / form}")]
    command = ["check", applications, "--policy", str(policy), "--set", "now=2026-11-22"]

    def told(*, spread: bool) -> tuple[Any, list[bytes]]:
        return said([*command, *reports], spread=spread), [(tmp_path / form).read_bytes() for form in forms]

    assert told(spread=False) == told(spread=True)
    with_plans = max(sizes)
    sizes.clear()
    said(command, spread=True)
    assert 0 < max(sizes) < min(1_000, with_plans)


def test_an_instance_is_drained_where_it_is(applications: str, said: Any) -> None:
    command = ["drain", applications, "application-00004-1", *NOW, "--set", "keep.going=true", "--require-warm"]
    assert said(command, spread=True) == said(command, spread=False)


@pytest.fixture
def with_broken_ones(tmp_path: Path) -> str:
    rows = list(fleet(5, tasks=4, seed=4))
    rows[1]["tasks"][0]["end_offset_sum"] = "many"  # cannot be read
    return _saved(tmp_path / "broken.jsonl", rows)


def test_a_broken_application_does_not_take_the_others_along(with_broken_ones: str, said: Any, tmp_path: Path) -> None:
    """Of the four that can be read only one has the instance that is to stop: three go wrong in the work itself."""
    command = [
        "simulate-scaleout",
        with_broken_ones,
        "--remove",
        "application-00003-0",
        "--set",
        "draws=1",
        "--set",
        "keep.going=true",
    ]
    assert said(command, spread=True) == said(command, spread=False)
    code, out, err = said([*command, "--out", str(tmp_path / "plans")], spread=True)
    assert code == 1
    assert err.count("error:") == 4
    assert out.startswith("╭─ application-00003: ")
    assert (tmp_path / "plans").read_bytes().count(b"\n") == 1


def test_answers_that_spark_loses_are_an_error(applications: str, said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = BatchRun.fetched
    monkeypatch.setattr(BatchRun, "fetched", lambda self, *arguments: islice(fetched(self, *arguments), 1, None))
    code, out, err = said(["assign", applications, "--set", "keep.going=true"], spread=True)
    assert (code, out) == (1, "")
    assert "Spark has lost what came of 1 application" in err


def test_else_it_is_one_error(applications: str, said: Any) -> None:
    command = ["drain", applications, "application-00004-1", *NOW, "--output", "json"]
    there = said(command, spread=True)
    assert there == said(command, spread=False)
    assert there[0] == 1
    assert there[1] == ""
    assert there[2].count("error:") == 1


def test_python_workers_start_while_rows_are_read_if_so_many_are_surely_worth_it(spark: Any) -> None:
    asked: list[int] = []

    def job() -> fleet_run.Job[Any, Any]:
        asked.append(1)
        return fleet_run.Job(prepare=id, work=islice, cost_ms=id)

    item = fleet_run.FleetRun(job, overrides(Settings()), SILENCE, keep_going=False)
    cores = spark.sparkContext.defaultParallelism
    enough = math.ceil(800 * cores / (cores - 1))
    for applications, starts in ((3, False), (enough - 1, False), (enough, True)):
        with item.start_workers(applications, spark.sparkContext):
            assert bool(asked) is starts


def test_what_cannot_be_read_is_the_error_though_workers_start_and_settings_are_wrong_before(
    with_broken_ones: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings").mkdir()
    for ending in ("properties", "yaml"):  # of the application before: which of them counts?
        (tmp_path / "settings" / f"application-00000.{ending}").touch()
    said = []
    for worth in (10**9, 0):
        monkeypatch.setattr(fleet_run, "WORTH_MS", worth)
        command = ["assign", with_broken_ones, "--streams-config", str(tmp_path / "settings"), "--quiet"]
        assert run(command) == 1
        said.append(capsys.readouterr())
    assert said[0] == said[1]
    assert said[0].err.count("error:") == 1
    assert "end_offset_sum" in said[0].err


def test_random_applications_of_every_kind_are_planned_as_each_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``tests/benchmarks/mixed_fleet.py`` does it with as many as wanted."""

    def assign(arguments: Sequence[str]) -> str:
        assert run(["assign", *arguments]) == 0
        return capsys.readouterr().out

    check_mixed_fleet(tmp_path, 20, 1, assign)
