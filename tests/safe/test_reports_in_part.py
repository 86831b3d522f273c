"""Reports that tell of a part of a copy only, or of more than its changelog has: neither counts as caught up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Leave, Scenario, Stop
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.planner.options import PlanOptions
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.rows.lag_history import HistoryRow, LagHistory
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import one_standby
from tests.helpers.check_cases import NOW
from tests.helpers.one_standby import WHOLE

STORES = ("a", "b", "c")


def _answer(row: dict[str, Any], *, leave: bool = True, trust_ms: int | None = 60_000) -> Answer:
    snapshot = snapshot_from_row({**row, "stores": "persistent", "streams_version": "4.3.1"}, "x")
    return drain(snapshot, ["i0"], PlanOptions(trust_ms=trust_ms), leave=leave).answer


def _with_stores(*reported: str) -> dict[str, Any]:
    """0_0 has three stores; of the standby on i1 these are told to have caught up."""
    row = one_standby.row()
    topics = [{"topic": f"app-{store}-changelog", "partition": 0} for store in STORES]
    row["tasks"][0]["changelog_partitions"] = topics
    [report] = row["lags"]
    row["lags"] = [{**report, "store": store} for store in reported]
    return row


@given(st.sets(st.sampled_from(STORES), min_size=1))
def test_a_copy_of_which_a_part_is_told_is_not_known_to_have_caught_up(told: set[str]) -> None:
    whole = len(told) == len(STORES)
    assert _answer(_with_stores(*sorted(told))) is (Answer.YES if whole else Answer.UNKNOWN)


@pytest.mark.parametrize("source", ["metrics", "join"])
@pytest.mark.parametrize("old", STORES)
def test_a_copy_is_as_old_as_the_oldest_report_of_its_stores(old: str, source: str) -> None:
    row = _with_stores(*STORES)
    for report in row["lags"]:
        report["source"] = "metrics"
    assert _answer(row) is Answer.YES
    [report] = [report for report in row["lags"] if report["store"] == old]
    report |= {"reported_at": "2026-11-22T11:00:00.000Z", "source": source}
    assert _answer(row) is Answer.UNKNOWN


def test_a_copy_of_which_one_store_reported_at_a_join_is_trusted_for_no_longer_than_that() -> None:
    row = _with_stores(*STORES)
    for number, report in enumerate(row["lags"]):
        report |= {"reported_at": "2026-11-22T11:59:30.000Z", "source": "metrics" if number else "join"}
    assert _answer(row) is Answer.UNKNOWN
    row["lags"][0]["source"] = "metrics"
    assert _answer(row) is Answer.YES


@pytest.mark.parametrize("old", STORES)
def test_a_store_that_does_not_say_when_it_reported_makes_the_others_no_younger(old: str) -> None:
    row = _with_stores(*STORES)
    for report in row["lags"]:
        report["reported_at"] = "2026-11-22T11:00:00.000Z" if report["store"] == old else None
    assert _answer(row) is Answer.UNKNOWN
    row["decision"] = {"at": "2026-11-22T11:30:00.000Z"}
    assert _answer(row, trust_ms=1_800_000) is Answer.UNKNOWN
    assert _answer(row, trust_ms=3_600_000) is Answer.YES
    for report in row["lags"]:
        report["reported_at"] = one_standby.AT if report["store"] == old else None
    assert _answer(row) is Answer.UNKNOWN
    assert _answer(row, trust_ms=1_800_000) is Answer.YES


@pytest.mark.parametrize(("at", "answer"), [(one_standby.AT, Answer.YES), (None, Answer.UNKNOWN)])
def test_lag_rows_of_another_file_without_a_time_are_of_any_time(at: str | None, answer: Answer) -> None:
    lag = {"application_id": "a", "process_id": one_standby.IDS[1], "task_id": "0_0", "lag": 0, "captured_at": at}
    lags = LagHistory([HistoryRow(lag, "lags.jsonl")])
    row = one_standby.row(lag=None, stores="persistent", streams_version="4.3.1")
    drained = drain(snapshot_from_row(row, "x", lags=lags), ["i0"], leave=True)
    assert drained.answer is answer
    assert [note.message for note in drained.doubts] == [
        "Lag rows do not say when they were captured: how old reports of copies are is unknown"
    ] * (at is None)


@given(lag=st.integers(0, 2_000_000), whole=st.sampled_from([0, 5_000, 1_000_000]))
def test_no_copy_is_far_behind_in_a_changelog_that_is_short(lag: int, whole: int) -> None:
    """The limit is 10,000 records: one of both is wrong where a copy lacks more, and the changelog has less."""
    row = one_standby.row(lag=lag)
    row["tasks"][0]["end_offset_sum"] = whole
    if whole <= 10_000 < lag:
        with pytest.raises(SnapshotError, match="records behind, and tasks that it has"):
            snapshot_from_row(row, "x")
        return
    lacks = min(lag, whole)
    begins_anew = lacks > 1_000 and 2 * lacks >= whole
    assert (_answer(row) is Answer.NO) is (lacks > 10_000 or begins_anew)


@pytest.mark.parametrize("leave", [False, True])
def test_what_others_restore_within_the_limit_counts_as_well(leave: bool) -> None:
    """0_0 starts on a copy that has caught up; by a limit without end 0_1 and 0_2 then move to empty instances."""
    row = one_standby.row()
    row["config"]["acceptable_recovery_lag"] = MAX_LONG
    snapshot = snapshot_from_row({**row, "stores": "persistent"}, "x")
    drained = drain(snapshot, ["i0"], leave=leave)
    assert set(drained.answers.values()) == {Answer.YES}
    assert (drained.restoring_later, drained.answer) == (("0_1", "0_2"), Answer.NO)
    end = Leave if leave else Stop
    result = plan(snapshot, scenario=Scenario(events=(end(at_ms=0, process_ids=(one_standby.IDS[0],)),)))
    assert check_plan(result, Standard(Policy({"max_cold_handovers": Limit(0)}), NOW)).answer is Answer.NO


@pytest.mark.parametrize("open_fields", [{}, {"source_partitions": [{"topic": "orders", "partition": 0}]}])
def test_a_task_beside_tasks_with_state_has_state(open_fields: dict[str, Any]) -> None:
    """Kafka makes all tasks of a subtopology with the same stores: what the row leaves open is unknown, not empty."""
    row = one_standby.row(lag=None)
    row["tasks"][0] = {"task_id": "0_0", **open_fields}
    for instance in row["instances"]:
        instance["consumers"][0]["standby"] = []
    assert _answer(row) is Answer.NO
    row["tasks"][0]["stateful"] = False
    with pytest.raises(SnapshotError, match="0_0 is not stateful, and others of its subtopology are"):
        snapshot_from_row(row, "x")


@pytest.mark.parametrize("source", ["metrics", "join"])
def test_a_report_of_an_end_below_that_of_its_task_proves_nothing(source: str) -> None:
    """At one moment a changelog has one end: by the task's the copy lacks a tenth of it."""
    row = one_standby.row()
    [report] = row["lags"]
    del report["lag"]
    report |= {"offset": 900_000, "end_offset": 900_000, "source": source}
    assert _answer(row, trust_ms=None) is Answer.UNKNOWN
    report |= {"offset": 995_000, "end_offset": 995_000}
    assert _answer(row, trust_ms=None) is Answer.YES


@pytest.mark.parametrize("of_store", ["2026-11-22T12:00:00.000Z", None])
@pytest.mark.parametrize(("lag", "answer"), [(900_000, Answer.NO), (-3, Answer.NO), (0, Answer.YES)])
def test_a_store_that_is_further_behind_than_its_task_counts(of_store: str | None, lag: int, answer: Answer) -> None:
    """Nor does it save a task that the row of its store does not say when it was reported: then it is of now."""
    row = one_standby.row()
    [report] = row["lags"]
    row["lags"].append({**report, "store": "a", "lag": lag, "reported_at": of_store})
    if of_store is None:
        report["reported_at"] = "2026-11-22T11:59:59.000Z"
    assert _answer(row) is answer


@pytest.mark.parametrize("ends", [[WHOLE], [WHOLE - 1, 1], [WHOLE, None]])
def test_a_task_cannot_end_before_its_changelogs_do(ends: list[int | None]) -> None:
    """Within the limit in all, every copy of it would count as caught up."""
    row = one_standby.row(lag=None)
    row["tasks"][0] |= {
        "end_offset_sum": 100,
        "changelog_partitions": [
            {"topic": f"app-{number}-changelog", "partition": 0, "end_offset": end} for number, end in enumerate(ends)
        ],
    }
    with pytest.raises(SnapshotError, match="end_offset_sum is 100, less than the 1,000,000 of its"):
        _answer(row)
