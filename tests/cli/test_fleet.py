"""Results as a data set, and a fleet at a glance: written whole or not at all, and read by whoever reads plans."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.cli.output import ONE_IN_FULL
from kstream_plan.snapshots.spark import data_set
from tests.helpers.fleets import fleet

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def applications(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("fleet") / "fleet.jsonl"
    rows = list(fleet(4, tasks=4, seed=6))
    rows[2]["tasks"][0]["end_offset_sum"] = "many"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module", params=["parquet", "jsonl"])
def results(request: pytest.FixtureRequest, applications: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    arguments = ["assign", applications, "--set", "keep.going=true", "--quiet", "--output", "json"]
    assert run([*arguments, "--out", str(folder / "plans.jsonl")]) == 1
    assert run([*arguments, "--out", str(folder / "results"), "--set", f"out.format={request.param}"]) == 1
    return folder


def test_the_plans_in_it_are_those_of_a_file(results: Path, capsys: Capture) -> None:
    shown = []
    for name in ("results", "plans.jsonl"):
        assert run(["show", str(results / name), "--output", "json"]) == 0
        shown.append(capsys.readouterr())
    assert shown[0].out == shown[1].out == (results / "plans.jsonl").read_text()
    assert shown[0].err.count("has no plan") == 1
    assert run(["check", str(results / "results"), "--set", "keep.going=true", "--quiet"]) == 1
    assert "4 applications, 1 not checked, 3 passed" in capsys.readouterr().out
    assert run(["diff", str(results / "results"), str(results / "plans.jsonl")]) == 0
    assert "3 applications" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda text: text[: len(text) // 2], "ends in the middle of a row"),
        (lambda text: bytes(range(99)), "this is a binary file, not a snapshot"),
        (lambda text: text.replace(b"0_0", b"\xfc"), "is not UTF-8"),
    ],
    ids=["cut short", "garbage", "other bytes"],
)
def test_one_broken_file_of_many_is_named_and_does_not_take_the_others_along(
    broken: Callable[[bytes], bytes], said: str, tmp_path: Path, capsys: Capture
) -> None:
    folder, out = tmp_path / "fleet", tmp_path / "plans.jsonl"
    folder.mkdir()
    for number, row in enumerate(fleet(12, tasks=2, seed=8)):
        (folder / f"{number}.json").write_bytes(json.dumps(row).encode())
    one = folder / "7.json"
    one.write_bytes(broken(one.read_bytes()))
    for arguments, saved in ((["assign"], None), (["assign", "--set", "keep.going=true"], 11)):
        assert run([*arguments, str(folder), "--quiet", "--out", str(out)]) == 1
        err = capsys.readouterr().err
        assert (err.count("error:"), f"{one}: {said}" in err) == (1, True)
        assert (len(out.read_text().splitlines()) if out.exists() else None) == saved
    assert run(["fleet", str(folder), "--quiet"]) == 1
    shown = capsys.readouterr()
    assert "11 applications: " in shown.out.partition("\n")[0]
    assert "1 file cannot be read." in " ".join(shown.out.replace("│", " ").split())
    assert f"{one}: {said}" in shown.err


def test_an_empty_file_among_others_is_said(tmp_path: Path, capsys: Capture) -> None:
    for number, row in enumerate(fleet(2, tasks=2, seed=8)):
        (tmp_path / f"{number}.json").write_text(json.dumps(row))
    (tmp_path / "2.json").touch()
    (tmp_path / "part-00000").touch()
    assert run(["fleet", str(tmp_path), "--quiet"]) == 0
    assert capsys.readouterr().err == f"kstream-plan: warning: {tmp_path}/2.json is empty: it is passed over\n"


def test_a_fleet_is_the_same_from_results_plans_and_snapshots(
    results: Path, applications: str, capsys: Capture
) -> None:
    shown = []
    for path in (str(results / "results"), applications):
        assert run(["fleet", path, "--quiet"]) == 1
        shown.append(capsys.readouterr().out.partition("\nNext: ")[0])
    assert shown[0] == shown[1]
    assert shown[0].startswith("╭─ 4 applications: 1 unreadable, 3 moving ─")
    assert run(["assign", applications, "--set", "keep.going=true", "--quiet"]) == 1
    assert capsys.readouterr().out == shown[0] + ONE_IN_FULL
    assert run(["fleet", str(results / "plans.jsonl"), "--where", "cold >= 0", "--sort", "left", "--set", "top=2"]) == 0
    assert capsys.readouterr().out.startswith("╭─ 3 applications: 3 moving ─")
    assert run(["fleet", str(results / "results"), "--application-id", "*-00001", "--output", "json"]) == 0
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (row["kind"], row["application_id"], row["plan"]) == ("result", "application-00001", None)


def test_what_cannot_be_read_is_never_silently_out_of_sight(results: Path, capsys: Capture) -> None:
    for condition in ("cold > 0", "left < 1s", "standbys = 7"):
        assert run(["fleet", str(results / "results"), "--where", condition]) == 1
        assert re.search(r"application-00002\s+(?:Status: )?unreadable", capsys.readouterr().out)
    for how in (["--where", "outcome = stuck"], ["--sort", "application", "--set", "top=1"]):
        assert run(["fleet", str(results / "results"), *how]) == 1
        said = capsys.readouterr()
        assert "shown, without 1 unreadable." in " ".join(said.out.replace("│", "").split())
        assert "end_offset_sum is 'many'" in said.err


def test_an_application_that_is_there_more_than_once_is_told(results: Path, capsys: Capture) -> None:
    plans = str(results / "plans.jsonl")
    assert run(["fleet", plans, str(results / "results"), "--application-id", "*-0000[13]"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("╭─ 4 applications: 4 moving ─")
    which = "application-00001, application-00003"
    assert said.err == f"kstream-plan: note: more than once among the results, and counted each time: {which}\n"
    assert run(["fleet", plans]) == 0
    assert capsys.readouterr().err == ""


def test_an_application_that_is_not_there_is_told(results: Path, capsys: Capture) -> None:
    assert run(["fleet", str(results / "results"), "--application-id", "nobody"]) == 1
    assert "there is none of these applications" in capsys.readouterr().err
    assert run(["fleet", str(results / "results"), "--application-id", "application-00002"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "end_offset_sum is 'many'" in said.err


def test_what_cannot_be_read_among_others_is_an_error_too(
    results: Path, applications: str, tmp_path: Path, capsys: Capture
) -> None:
    """It has its place in the table, which may go to where nobody looks."""
    log, damaged = "examples/connect/worker-1.log", tmp_path / "damaged.json"
    damaged.write_text((results / "plans.jsonl").read_text()[:200])
    for paths, answer in (
        ([str(results / "results")], [applications]),
        ([str(results / "plans.jsonl"), log], [log]),
        ([applications, str(damaged), log], [str(damaged), log, applications]),
    ):
        assert run(["fleet", *paths, "--quiet"]) == 1
        said = capsys.readouterr()
        assert "unreadable" in said.out
        error, *others = said.err.splitlines()
        assert error.startswith("kstream-plan: error: ")
        assert all(other.startswith("  also: ") for other in others)
        assert [name in line for name, line in zip(answer, [error, *others], strict=True)] == [True] * len(answer)


def test_policies_and_settings_beside_applications_are_passed_over_and_that_is_said(
    results: Path, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "plans.jsonl").write_bytes((results / "plans.jsonl").read_bytes())
    for name, text in (
        ("policy.yaml", "version: 1\n"),
        ("crash.yml", "events: []\n"),
        ("app.properties", "a=b\n"),
        ("README.md", "# a"),
    ):
        (tmp_path / name).write_text(text)
    for paths in ([str(tmp_path)], sorted(map(str, tmp_path.iterdir()))):
        assert run(["fleet", *paths]) == 0
        said = capsys.readouterr()
        assert said.out.startswith("╭─ 3 applications: 3 moving ─")
        assert said.err.count("\n") == 1
        assert said.err.startswith(
            "kstream-plan: note: 4 files skipped, whose names say that they are no applications: "
        )
        assert "policy.yaml" in said.err
    assert run(["fleet", str(tmp_path / "policy.yaml")]) == 1
    assert "policy.yaml: is neither JSON nor Parquet" in capsys.readouterr().err


def test_what_is_json_is_an_application_whatever_its_name(tmp_path: Path, results: Path, capsys: Capture) -> None:
    (tmp_path / "plans.jsonl").write_bytes((results / "plans.jsonl").read_bytes())
    (tmp_path / "orders.yaml").write_text('{"format_version": "1.0", "application_id": "orders"')
    assert run(["fleet", str(tmp_path), "--quiet"]) == 1
    said = capsys.readouterr()
    assert "1 file cannot be read." in " ".join(said.out.replace("│", " ").split())
    assert "orders.yaml" in said.err


def test_which_of_several_snapshots_of_an_application_counts_is_said(tmp_path: Path, capsys: Capture) -> None:
    rows = list(fleet(3, tasks=2, seed=8))
    for number, (place, hour) in enumerate(((0, 10), (0, 12), (0, 11), (1, 10), (2, 10))):
        row = {**rows[place], "captured_at": f"2026-11-21T{hour}:00:00Z"}
        (tmp_path / f"{number}.json").write_text(json.dumps(row))
    assert run(["fleet", str(tmp_path), "--output", "json", "--quiet"]) == 0
    said = capsys.readouterr()
    newest = {one["application_id"]: one["captured_at"] for one in map(json.loads, said.out.splitlines())}
    assert newest[rows[0]["application_id"]] == "2026-11-21T12:00:00.000Z"
    newest_only = "the newest counts (of several clusters, ask about each alone)"
    which = f"{rows[0]['application_id']}: 3 snapshots, {newest_only}"
    assert said.err == f"kstream-plan: note: {which}\n"
    assert run(["fleet", str(tmp_path), "--as-of", "2026-11-21T10:30:00Z", "--quiet"]) == 0
    assert capsys.readouterr().err == "", "what is too late does not count at all"


def test_results_are_no_snapshots(results: Path, capsys: Capture) -> None:
    assert run(["assign", str(results / "results"), "--quiet"]) == 1
    assert "is a row of results, not a snapshot" in capsys.readouterr().err


def kept(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_there_stays_unless_it_is_to_be_replaced(
    applications: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "results"
    command = [
        "assign",
        applications,
        "--quiet",
        "--set",
        "keep.going=true",
        "--out",
        str(folder),
        "--set",
        "out.format=jsonl",
    ]
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    for more, said in (
        ((), "exists already"),
        (
            (
                "--set",
                "overwrite=true",
            ),
            "is no data set that was written so",
        ),
    ):
        assert run([*command, *more]) == 1
        assert said in capsys.readouterr().err
        assert kept(tmp_path) == {"results/mine.txt": b"mine"}
    (folder / "mine.txt").unlink()
    folder.rmdir()
    assert run(command) == 1
    first = kept(tmp_path)
    assert "results/_SUCCESS" in first

    def fail(*_: Any) -> None:
        raise OSError("no space")

    with monkeypatch.context() as broken:
        broken.setattr(data_set.DataSet, "_rename", fail)
        with pytest.raises(OSError, match="no space"):
            run([*command, "--set", "overwrite=true"])
    assert kept(tmp_path) == first
    assert run([*command, "--set", "overwrite=true"]) == 1
    assert kept(tmp_path).keys() != first.keys()
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_without_going_on_nothing_is_written(applications: str, tmp_path: Path) -> None:
    command = ["assign", applications, "--quiet", "--out", str(tmp_path / "results"), "--set", "out.format=parquet"]
    assert run(command) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "out.format=parquet"], "name a folder for them with --out"),
        (["--set", "overwrite=true", "--out", "x"], "--set overwrite=true goes with --set out.format"),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], said: str, capsys: Capture) -> None:
    assert run(["assign", "absent.json", *arguments]) == 2
    assert said in capsys.readouterr().err
