"""Ends of a saved plan that were deleted or narrowed are missed."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.documents.history import history_rows
from kstream_plan.documents.plan.read import read_saved
from kstream_plan.documents.plan.seal import seal_of
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import PlanFileError, SnapshotError
from kstream_plan.plans import Plan
from kstream_plan.plans.plan import ENDS_NOT_SAVED
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import Limit, Policy
from tests.policy.test_unknown_ends import snapshot, stopped

FOLDER = Path(__file__).parent / "without_seal"
NOW = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
LIMITS = Policy(defaults={"max_cold_handovers": Limit(0)})


@pytest.fixture(scope="module")
def ranged() -> str:
    """A plan whose cold starts are none to one."""
    made = stopped(snapshot(least_lags=frozenset({(2, 0)})))
    assert made.ends("cold_handovers") == (0, 1)
    return plan_json(made)


def _read(document: Any) -> Plan:
    [saved] = read_saved(json.dumps(document).encode(), "f")
    return saved.plan


def _without(document: Any) -> None:
    document["summary"]["ranges"] = {}


def _one_less(document: Any) -> None:
    del document["summary"]["ranges"]["cold_handovers"]


def _narrowed(document: Any) -> None:
    document["summary"]["ranges"]["cold_handovers"] = [0, 0]


def _no_warnings(document: Any) -> None:
    document["warnings"] = document["assumptions"] = []


def _all_proven(document: Any) -> None:
    del document["unproven_starts"]


EDITS = (_all_proven, _without, _one_less, _narrowed, _no_warnings)


@pytest.mark.parametrize("edit", EDITS)
def test_a_plan_of_this_version_whose_ends_were_edited_is_refused(ranged: str, edit: Callable[[Any], None]) -> None:
    document = json.loads(ranged)
    edit(document)
    with pytest.raises(PlanFileError, match="seal") as caught:
        _read(document)
    assert "the file was edited" in caught.value.fix


@pytest.mark.parametrize("seal", ["kept", "deleted"])
@pytest.mark.parametrize("edit", EDITS)
def test_one_of_another_version_is_read_and_its_ends_are_unknown(
    ranged: str, edit: Callable[[Any], None], seal: str
) -> None:
    document = json.loads(ranged)
    edit(document)
    document["tool"]["version"] = "0.1.9"
    if seal == "deleted":
        del document["seal"]
    read = _read(document)
    assert [note.code for note in read.warnings].count(ENDS_NOT_SAVED) == 1
    checked = check_plan(read, Standard(LIMITS, NOW))
    assert all(found.offences and found.value is None for found in checked.findings)
    again = _read(json.loads(plan_json(read)))
    assert again == read, "saving it again does not make its ends known"


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A simulation of three draws, of which the worst has more moves than the plan."""
    file = tmp_path_factory.mktemp("seal") / "plan.json"
    snapshot = Path(__file__).parents[3] / "examples" / "scale-out" / "snapshot.json"
    assert run(["simulate-scaleout", str(snapshot), "--add", "1", "--set", "draws=3", "--out", str(file)]) == 0
    return file.read_text()


def _no_simulation(document: Any) -> None:
    del document["simulation"]


def _no_draws(document: Any) -> None:
    document["simulation"]["draws"] = None


def _one_draw_less(document: Any) -> None:
    document["simulation"]["draws"]["number"] -= 1
    document["simulation"]["draws"]["settled"] -= 1


def _worst_as_shown(document: Any) -> None:
    draws, moves = document["simulation"]["draws"], document["summary"]["moves"]
    draws["worst"]["max_moves"] = draws["moves"]["median"] = draws["moves"]["most"] = moves


DRAWS_EDITED = (_no_simulation, _no_draws, _one_draw_less, _worst_as_shown)


@pytest.mark.parametrize("edit", DRAWS_EDITED)
@pytest.mark.parametrize("version", [None, "0.1.9"])
def test_draws_that_were_deleted_or_narrowed_let_no_gate_pass(
    simulated: str,
    version: str | None,
    edit: Callable[[Any], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = json.loads(simulated)
    worst, shown = document["simulation"]["draws"]["worst"]["max_moves"], document["summary"]["moves"]
    assert worst > shown
    file, policy = tmp_path / "plan.json", tmp_path / "policy.yaml"
    policy.write_text(f"version: 1\ndefaults: {{max_moves: {shown}}}\n")
    asked = ["check", str(file), "--policy", str(policy), "--set", "now=2026-11-21"]
    file.write_text(simulated)
    assert run(asked) == 3
    capsys.readouterr()
    edit(document)
    document["tool"]["version"] = version or document["tool"]["version"]
    file.write_text(json.dumps(document))
    assert run(asked) in ((1,) if version is None else (1, 3))
    refused = "verdict, unproven_starts, restoring_starts, tool.design or simulation.draws. Fix: the file was edited"
    assert (refused in " ".join(capsys.readouterr().err.split())) == (version is None)


def _of_connect(document: Any) -> None:
    document["tool"]["design"] = "connect"


def _more_state(document: Any) -> None:
    document["tasks"][0]["end_offset_sum"] += 1


def _other_zone(document: Any) -> None:
    document["instances"][0]["client_tags"] = {"zone": "z"}


def _fewer_threads(document: Any) -> None:
    document["members"][0]["threads"] -= 1


def _rates_told(document: Any) -> None:
    intervals, ends = {"least_intervals": 0, "most_intervals": 0}, {"median": 1.0, "least": 1.0, "most": 1.0}
    rate = intervals | ends | {"measured": 1, "among": 1, "at_least": False, "sources": ["given"]}
    document["rates"] = {"restore": rate, "produce": None}


@pytest.mark.parametrize("edit", [_of_connect, _more_state, _other_zone, _fewer_threads, _rates_told])
def test_what_rules_go_by_beside_the_figures_is_sealed_too(ranged: str, edit: Callable[[Any], None]) -> None:
    document = json.loads(ranged)
    edit(document)
    with pytest.raises(PlanFileError, match="seal"):
        _read(document)


def test_without_a_seal_and_without_ranges_it_is_refused_too(ranged: str) -> None:
    document = json.loads(ranged)
    del document["seal"]
    assert not _read(document).tells_ends
    _without(document)
    with pytest.raises(PlanFileError, match="seal is missing"):
        _read(document)


def test_the_seal_is_of_what_is_saved(ranged: str) -> None:
    document = json.loads(ranged)
    assert document.pop("seal") == seal_of(document)
    document["rounds"][0]["at_ms"] += 1
    assert seal_of(document) == json.loads(ranged)["seal"], "the rounds prove themselves"


@pytest.mark.parametrize(("name", "code"), [("sim", 3), ("no-ranges", 1)])
def test_a_simulation_without_a_seal_passes_no_check(
    name: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    assert run(["check", str(file), "--set", "now=2026-11-21"]) == code
    shown = capsys.readouterr()
    assert ("the file was edited" in shown.err) == (code == 1)
    other = json.loads(file.read_bytes())
    other["tool"]["version"] = "0.1.9"
    file.write_text(json.dumps(other), encoding="utf-8")
    assert run(["check", str(file), "--set", "now=2026-11-21"]) == 3
    assert run(["show", str(file)]) == 0


def test_a_plan_from_before_there_were_seals_is_shown_and_passes_no_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, policy = tmp_path / "plan.json", tmp_path / "policy.yaml"
    file.write_bytes(gzip.decompress((FOLDER / "restart.json.gz").read_bytes()))
    assert not json.loads(file.read_bytes())["summary"]["ranges"]
    assert run(["show", str(file)]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Other outcomes were not simulated" in shown
    assert "Warning: Whether figures of this plan are ranges is unknown" in shown
    policy.write_text("version: 1\ndefaults: {max_cold_handovers: 0}\n")
    assert run(["check", str(file), "--policy", str(policy)]) == 3
    assert "│ UNKNOWN: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("begins", "goes_on"),
    [('{"kind":"plan","format_version":"1.0","a":"', b"0"), ('{"format_version":"1.0","a":"', b"0"), ("", b" ")],
)
def test_a_small_file_of_plans_or_snapshots_does_not_fill_the_memory(
    begins: str, goes_on: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bomb.json.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.write(begins.encode())
        for _ in range(257):
            packed.write(goes_on * (1 << 20))
    assert run(["check", str(file)]) == 1
    error = capsys.readouterr().err
    assert "it holds more than 256 MiB of text (--set max.text). Fix: check the file, or raise --set max.text" in error


@pytest.mark.parametrize("begins", ['{"kind":"plan","format_version":"1.0","a":[', '{"format_version":"1.0","a":['])
def test_a_small_file_of_many_empty_lists_does_not_fill_the_memory(
    begins: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """240 MB of them, which is less than the limit, took 5.9 GB."""
    file = tmp_path / "bomb.json.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.write(begins.encode())
        for _ in range(51):
            packed.write(b"[]," * (1 << 19))
    assert run(["check", str(file)]) == 1
    error = capsys.readouterr().err
    assert (
        "it holds more than 33,554,432 values (--set max.text). Fix: check the file, or raise --set max.text" in error
    )


def test_a_packed_history_or_status_is_as_large_as_other_packed_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bomb.jsonl.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.write(b'{"application_id":"a","a":"')
        for _ in range(257):
            packed.write(b"0" * (1 << 20))
    for arguments in (["snapshot", f"connect-status={file}"], ["history", str(file)]):
        assert run(arguments) == 1
        assert "it holds more than 256 MiB of text (--set max.text)" in capsys.readouterr().err
    with pytest.raises(SnapshotError, match="it holds more than 256 MiB of text"):
        list(history_rows(str(file), io.BytesIO()))


@pytest.mark.parametrize(("blanks", "said"), [(1 << 10, "is empty"), (2 << 20, "begins with blanks only")])
def test_a_file_that_begins_with_many_blanks_is_not_called_empty(
    blanks: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(b" " * blanks)
    assert run(["check", str(file)]) == 1
    assert f"{said}. Fix:" in " ".join(capsys.readouterr().err.split())
