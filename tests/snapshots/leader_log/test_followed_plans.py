"""Logs of the class that follows target files say of each decision by which plan it was made."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.snapshots.leader_log.history import checked_rows, read_leader_logs
from tests.helpers.schemas import validator

REAL = Path(__file__).parents[2] / "real" / "planned"
CAPTURES = {"K0d": ("75a4452ada7c", 9), "K1b": ("803ee05188ab", 15), "K1c": ("dd8b679e4bea", 17)}
PLAN = "803ee05188ab"
LOG = gzip.decompress((REAL / "K1b" / "leader.log.gz").read_bytes()).decode()


def decided_by(*logs: str) -> list[tuple[Any, Any]]:
    log = "".join(logs)
    entries = read_leader_logs(["-"], stdin=io.BytesIO(log.encode())).entries
    return [(entry.decision.get("plan"), entry.decision.get("without_plan")) for entry in entries]


@pytest.mark.parametrize("name", CAPTURES)
def test_each_generation_of_a_capture_says_by_which_plan_it_was_decided(name: str) -> None:
    plan, followed = CAPTURES[name]
    entries = read_leader_logs([str(REAL / name / "leader.log.gz")]).entries
    rows = checked_rows(entries)
    assert [row["decision"].get("plan") for row in rows] == [None, *[plan] * followed]
    assert [row["decision"].get("without_plan") for row in rows] == ["no-file", *[None] * followed]
    assert f"plan={plan}" in (REAL / name / "target.properties").read_text(encoding="utf-8").splitlines()
    for row in rows:
        validator("snapshot").validate(row)


def test_a_decision_of_another_class_is_by_no_plan() -> None:
    lines = [line for line in LOG.splitlines(keepends=True) if "kstream-plan: " not in line]
    kafka = "".join(lines).replace("io.kstreamplan.PlanTaskAssignor - D", "org.apache…HighAvailabilityTaskAssignor - D")
    assert decided_by(kafka) == [(None, None)] * 16


def test_what_is_said_of_a_decision_that_cannot_be_read_is_not_said_of_the_next() -> None:
    (first, *_) = re.findall(r".*kstream-plan: balanced no-file.*\n", LOG)
    rest = re.sub(r".*kstream-plan: .*\n", "", LOG)
    rest = rest.replace("Decided on assignment", "Decided on…", 1)
    assert decided_by(first, rest)[0] == (None, None)


def test_two_leaders_logs_are_told_apart() -> None:
    """The lines of both stand one after the other, as where the leader has moved."""
    head, middle, tail = re.split(r"(?m)^(?=.*kstream-plan: plan .* moves 2 )", LOG, maxsplit=2)
    assert decided_by(head, middle, tail) == [(None, "no-file"), *[(PLAN, None)] * 15]
    changed = middle.replace(f"plan {PLAN}", "balanced expired", 1)
    assert decided_by(head, changed, tail).count((None, "expired")) == 1


def test_the_list_of_generations_has_the_plans(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["snapshot", str(REAL / "K1b" / "leader.log.gz"), "--list"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"Threads  Plan *$", text, re.MULTILINE)
    assert len(re.findall(rf"^2026-11-25 .* 10  {PLAN} *$", text, re.MULTILINE)) == 15
    assert "Plan: that of the target file which the decision followed" in text.replace("\n", " ")
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["snapshot", str(REAL / "K1b" / "leader.log.gz"), "--list"]) == 0
    assert "Wider pages also show: Threads, Plan." in capsys.readouterr().out
