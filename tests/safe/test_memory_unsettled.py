"""A group that settles with stores on disks and not with stores in memory."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kstream_plan.model import Snapshot
from kstream_plan.plans import Plan, Trigger
from kstream_plan.simulation.new_ids import drawn
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

_BEFORE = Path(__file__).parent / "mem-endless" / "before.json"


@pytest.fixture(scope="module")
def before() -> Snapshot:
    return snapshot_from_row(json.loads(_BEFORE.read_text(encoding="utf-8")), "before.json")


def _joined(before: Snapshot, **changed: object) -> Plan:
    snapshot = replace(before, **changed)  # type: ignore[arg-type]
    return plan(snapshot, scenario=drawn(scale_out(snapshot.state.group, add=1), snapshot.state.group, 0))


def test_follow_ups_without_end_are_recognised_after_a_probing_interval(before: Snapshot) -> None:
    made = _joined(before, stores="in-memory")
    assert made.verdict.kind == "cyclic"
    assert made.verdict.reason.startswith("every 3 follow-ups the group is in the same state")
    assert {rnd.trigger for rnd in made.rounds[1:]} == {Trigger.FOLLOW_UP}
    interval_ms = made.config.probing_rebalance_interval_ms
    assert interval_ms < made.rounds[-1].at_ms < 2 * interval_ms
    assert made.rounds[-1].decided == made.rounds[-4].decided
