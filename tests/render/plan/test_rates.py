"""What is said of how fast state is restored and written, and what that rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.documents.streams_config import load_streams_config
from kstream_plan.model import Rates
from kstream_plan.plans import Plan
from kstream_plan.render.pages.plan import plan_page
from kstream_plan.render.pages.plan_sentences import rates_text
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.leader_log.history import read_leader_logs
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured, plan_cases

TASKS = range(24)
WRITTEN = {
    "produce": dict.fromkeys(TASKS, 5.0) | {20: 10.25},
    "produce_intervals": dict.fromkeys(TASKS, 10),
    "produce_source": dict.fromkeys(TASKS, "log"),
}


def made(**known: object) -> Plan:
    return plan(replace(plan_cases.snapshot("scale-out"), rates=Rates(**known)))  # type: ignore[arg-type]


def test_figures_come_with_their_evidence() -> None:
    known = made(
        restore={0: 381.4, 1: 397.0, 2: 412.0},
        restore_intervals={0: 1, 1: 3, 2: 2},
        restore_source={0: "log", 1: "metrics", 2: "log"},
        **WRITTEN,
    )
    assert rates_text(known) == (
        "397 records/s restored per instance (381 to 412; 3 of 5 instances, 1 to 3 intervals); "
        "5 records/s written per task (5 to 10.2; 24 of 24 tasks, 10 intervals); from the leader's log and metrics"
    )


def test_a_bound_is_called_one() -> None:
    known = made(restore_at_least={0: 325.0}, restore_intervals={0: 1}, restore_source={0: "offsets-topic"})
    assert rates_text(known) == (
        "at least 325 records/s restored on 1 of 5 instances (1 interval; the others are unknown); "
        "from the offsets topic"
    )
    all_bounds = made(restore_at_least=dict.fromkeys(range(5), 325.0))
    assert rates_text(all_bounds) == ("at least 325 records/s restored on 5 of 5 instances (how much more is unknown)")


def test_what_is_measured_beats_bounds_and_what_is_given_beats_both() -> None:
    bounds: Mapping[int, float] = {0: 900.0}
    assert rates_text(made(restore_at_least=bounds, restore={1: 20.0})) == (
        "20 records/s restored per instance (1 of 5 instances)"
    )
    given = rates_text(made(restore_at_least=bounds, restore={1: 20.0}, restore_per_instance=5000.0, **WRITTEN))
    assert given.startswith("5,000 records/s restored per instance; 5 records/s written per task (5 to 10.2; 24")
    assert given.endswith("; from the leader's log and options")


def test_nothing_known_is_no_text() -> None:
    assert rates_text(made()) == ""


@pytest.mark.parametrize("name", ["settled", "scale-out"])
def test_experts_see_them(name: str) -> None:
    snapshot = replace(plan_cases.snapshot(name), rates=Rates(produce_per_task=7.0))
    section = plan_page(plan(snapshot), verbose=True).sections[0]
    assert "Rates: 7 records/s written per task; from options" in section.sentences


def test_a_saved_plan_keeps_them() -> None:
    known = made(restore={0: 381.4}, restore_intervals={0: 1}, restore_source={0: "lags"}, **WRITTEN)
    [again] = read_plans(plan_json(known).encode(), "plan")
    assert again == known
    assert rates_text(again) == rates_text(known) != ""
    assert '"rates"' not in plan_json(made())


@pytest.mark.parametrize("event", ["2026-11-22T12:26:47.584Z", "2026-11-22T12:46:11.652Z"])
def test_the_figures_of_a_throttled_group_are_within_a_quarter(event: str) -> None:
    """400 records a second were restored per thread, 5 to 8 written per task: as in the middle of all."""
    folder = captured.REAL / "more" / "big"
    config = dict(load_streams_config(folder / "app.properties").overrides)
    entries = read_leader_logs([str(folder / "leader.log.gz")], config=config).entries
    row = [entry.row for entry in entries if entry.row["captured_at"] < event][-1]
    restore, produce = plan(snapshot_from_row(row, "before")).rates
    assert restore is not None
    assert produce is not None
    assert restore.median == pytest.approx(400, rel=0.25)
    assert 5 * 0.75 <= produce.median <= 8 * 1.25
    assert (restore.sources, restore.at_least, restore.measured) == (("log",), False, restore.among)
    assert restore.least_intervals >= 1
    assert produce.measured == produce.among
