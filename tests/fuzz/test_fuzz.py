"""A few inputs of each target in every run, ``run.py`` tries more; and what the oracle itself notices."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kstream_plan.errors import PlanInvariantError, SnapshotError
from tests.fuzz import run
from tests.fuzz.oracle import NAME, Answer, Broken, Input, answered, check, named, peak_kib
from tests.fuzz.targets import TARGETS

INPUTS = int(os.environ.get("KSTREAM_PLAN_FUZZ_INPUTS", "500"))


@pytest.mark.parametrize("target", TARGETS)
def test_whatever_comes_is_taken_or_refused(target: str, tmp_path: Path) -> None:
    assert run.fuzz(target, "every run", INPUTS // run.SLOW.get(target, 1), tmp_path) == []


@pytest.mark.parametrize("target", TARGETS)
def test_an_input_follows_from_seed_target_and_number(target: str) -> None:
    assert list(run.inputs(target, "a", 3)) == list(run.inputs(target, "a", 3))


def _raising(error: Exception) -> str | None:
    def reader(_: Input) -> None:
        raise error

    return check(named(reader), Input(b""))


def test_the_oracle_notices_what_should_not_be() -> None:
    assert _raising(SnapshotError("is wrong", where=NAME, fix="mend it")) is None
    assert _raising(KeyError("x")) == "a traceback: KeyError: 'x'"
    assert "several lines" in str(_raising(SnapshotError("a\nb", where=NAME)))
    assert "does not name the file" in str(_raising(SnapshotError("is wrong")))
    assert "breaks an invariant" in str(_raising(PlanInvariantError("x")))
    more = (peak_kib() << 10) + (300 << 20)  # only what is more than the process has ever had shows
    assert "MiB of 0 bytes" in str(check(lambda _: bytearray(more), Input(b"")))


def test_the_oracle_notices_what_a_command_should_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(code: int, out: str = "", err: str = "", left: str = "") -> Answer:
        def command(_: object) -> int:
            import sys

            sys.stdout.write(out)
            sys.stderr.write(err)
            if left:
                Path(left).write_text("{", encoding="utf-8")
            return code

        monkeypatch.setattr("tests.fuzz.oracle.run", command)
        return answered(["x.json"], {})

    error = "kstream-plan: error: x\n"
    assert answer(1, err=error) == Answer(1, "", error)
    for wrong in (
        {"code": 7},
        {"code": 1, "out": "x", "err": error},
        {"code": 1, "err": error * 2},
        {"code": 1},
        {"code": 2},
        {"code": 0, "err": error},
        {"code": 1, "err": "kstream-plan: error: \x1b[31m\n"},
        {"code": 0, "left": "y.json"},
        {"code": 1, "err": error, "left": "x.json"},
    ):
        with pytest.raises(Broken):
            answer(**wrong)  # type: ignore[arg-type]


def test_what_fails_is_a_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(given: Input) -> None:
        raise ValueError(given.content)

    monkeypatch.setitem(TARGETS, "offsets", TARGETS["offsets"]._replace(run=fails))
    assert len(run.fuzz("offsets", "a", 3, tmp_path)) >= 1
    [*_, written] = tmp_path.iterdir()
    names: dict[str, object] = {}
    exec(compile(written.read_text(encoding="utf-8"), str(written), "exec"), names)
    with pytest.raises(AssertionError):
        names["test_it_is_taken_or_refused"]()  # type: ignore[operator]
