"""An end offset that only an old report tells is as old as that report: how much was written since is unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kstream_plan.model import Rates
from kstream_plan.model.answer import Answer
from kstream_plan.planner.options import PlanOptions
from kstream_plan.simulation.drain import drain
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import one_standby

OLD = "2026-11-21T12:00:00.000Z"
DAY_MS = 86_400_000


def _answer(report: dict[str, Any], *, trust_ms: int | None = None, produce: float | None = None) -> Answer:
    """Return whether ``i0`` may stop; the copy of 0_0 reported so, and nothing else tells its end offset."""
    row = one_standby.row()
    row["lags"] = [{"process_id": one_standby.IDS[1], "task_id": "0_0", "reported_at": one_standby.AT, **report}]
    row["tasks"] = [{"task_id": "0_0", "stateful": True}, *row["tasks"][1:]]
    snapshot = replace(snapshot_from_row(row, "old"), rates=Rates(produce_per_task=produce))
    return drain(snapshot, ["i0"], PlanOptions(trust_ms=trust_ms), leave=True).answer


CLOSE = {"offset": 979_900, "end_offset": 980_000}
SHORT = {"offset": 0, "end_offset": 5_000}


@pytest.mark.parametrize("report", [CLOSE, SHORT])
def test_nothing_is_known_of_what_was_written_since(report: dict[str, Any]) -> None:
    assert _answer({**report, "reported_at": OLD}) is Answer.UNKNOWN


def test_it_is_known_at_the_time_of_the_report() -> None:
    assert _answer(CLOSE) is Answer.YES


def test_old_reports_may_be_trusted() -> None:
    assert _answer({**CLOSE, "reported_at": OLD}, trust_ms=DAY_MS) is Answer.YES
    assert _answer({**CLOSE, "reported_at": OLD}, trust_ms=DAY_MS - 1) is Answer.UNKNOWN


def test_what_is_written_is_counted_from_then_on() -> None:
    report = {**CLOSE, "reported_at": OLD}
    assert _answer(report, produce=0.0) is Answer.YES
    assert _answer(report, produce=0.01) is Answer.YES
    assert _answer(report, produce=1.0) is Answer.UNKNOWN


@pytest.mark.parametrize("offset", [0, 979_900])
def test_without_any_end_offset_it_is_unknown_how_far_behind_a_copy_is(offset: int) -> None:
    """As of a live group without its topology: what is assigned may have caught up, or not."""
    assert _answer({"offset": offset}) is Answer.UNKNOWN
    assert _answer({"lag": 900_000}) is Answer.NO
