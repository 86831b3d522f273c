"""What the newest decision started cold, where nobody knows how fast it restores: it may not run yet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kstream_plan.model import Rates, Snapshot
from kstream_plan.model.scenario import Return, Scenario, Stop
from kstream_plan.render.answers import page_of
from kstream_plan.simulation.bounces import bounce
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.leader_log.history import checked_rows
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.recorded_events import generations

#: An instance has just gone; three of its tasks were started cold on the others.
STARTED_COLD = {"0_0": "i1", "0_4": "i4", "1_2": "i2"}


@pytest.fixture(scope="module")
def after_a_crash() -> Snapshot:
    (row,) = [row for row in checked_rows(generations("big")) if row["captured_at"] == "2026-11-22T12:46:22.189Z"]
    return replace(snapshot_from_row(row, "big"), rates=Rates())


def test_tasks_that_were_started_cold_may_not_run_yet(after_a_crash: Snapshot) -> None:
    result = plan(after_a_crash)
    (note,) = [note for note in result.warnings if note.code == "tasks-maybe-restoring"]
    assert note.subjects == tuple(STARTED_COLD)
    (ready,) = [note for note in result.assumptions if note.code == "copies-maybe-ready"]
    assert set(STARTED_COLD) < set(ready.subjects)


@pytest.mark.parametrize("known_until_ms", [0, 30_000, 61_000, 120_000])
@pytest.mark.parametrize("rate", [1, 100, 400])
@pytest.mark.parametrize("host", ["i1", "i2", "i4"])
def test_a_restart_amid_a_cold_start_may_start_it_cold_again(
    after_a_crash: Snapshot, host: str, rate: int, known_until_ms: int
) -> None:
    """Whatever the rate, no more start cold than may without one."""
    now = replace(after_a_crash, known_until_ms=known_until_ms)
    (process_id,) = [one.process_id for one in now.state.group.instances if one.host == host]
    events = (Stop(at_ms=1_000, process_ids=(process_id,)), Return(at_ms=6_000, process_ids=(process_id,)))
    unknown = plan(now, scenario=Scenario(events=events))
    rated = replace(now, rates=Rates(restore_per_instance=rate))
    known = plan(rated, scenario=Scenario(events=events), max_rounds=30)
    assert known.summary.cold_handovers <= unknown.ends("cold_handovers")[1]


def test_no_way_to_restart_is_safe_while_tasks_of_others_may_not_run(after_a_crash: Snapshot) -> None:
    found = bounce(after_a_crash, 5_000)
    assert not any(item.safe for item in found.ways)
    assert any("tasks of other instances may still restore" in line.text for line in page_of(found).lines)
