"""A copy that is trusted to have caught up lacks what was reported, and never more than its whole changelog."""

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
from tests.helpers.random_groups import TAKEN_MS

_EARLIER = "2026-11-22T11:55:00.000Z"


def _answer(
    end_offset: int, *, produce: float, later_ms: int = 0, trust_ms: int = 60_000, **report: Any
) -> tuple[Answer, int | None]:
    """Return whether 0_0 starts warm on ``i1`` when ``i0`` stops, and what its copy lacks at most (``None``: YES)."""
    row = one_standby.row(**report)
    row["tasks"][0]["end_offset_sum"] = end_offset
    row["stores"] = "persistent"
    snapshot = replace(snapshot_from_row(row, "x"), rates=Rates(produce_per_task=produce))
    now = drain(snapshot, ["i0"], PlanOptions(now_ms=TAKEN_MS + later_ms, trust_ms=trust_ms))
    [task_id] = (task.task_id for task in now.now if str(task.task_id) == "0_0")
    most = {start.task_id: start.evidence.at_most for start in now.unproven}
    return now.answers[task_id], most.get(task_id)


@pytest.mark.parametrize("produce", [0.0, 20.0, 540.0])
def test_a_trusted_report_counts_whatever_was_written_since(produce: float) -> None:
    """It had caught up 5m before, which is trusted: that less is written makes it no worse."""
    answer = _answer(5_000, produce=produce, later_ms=300_000, trust_ms=86_400_000, lag=0)
    assert answer == (Answer.YES, None)


@pytest.mark.parametrize("produce", [0.0, 20.0])
def test_a_copy_lacks_no_more_than_its_changelog_has(produce: float) -> None:
    """At most 6,000 records were written since an old report, and none of them is in the empty changelog."""
    assert _answer(0, produce=produce, lag=0, reported_at=_EARLIER) == (Answer.YES, None)


@pytest.mark.parametrize("later_ms", [0, 30_000])
@pytest.mark.parametrize("produce", [0.0, 1_000.0, 2_500.0])
def test_what_is_written_later_makes_no_lag_little(later_ms: int, produce: float) -> None:
    """A quarter of what its changelog had when the copy was heard of: that is no copy that follows."""
    assert _answer(20_000, produce=produce, later_ms=later_ms, lag=5_000) == (Answer.UNKNOWN, 5_000)
