"""Lag snapshots that stand in for a snapshot's own lags, and the rates of a history. No Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.model import LATEST, Rates, Snapshot
from kstream_plan.policy.check import check_all, check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import Policy
from kstream_plan.render.check.table import table_report
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.rows.lag_history import HistoryRow, LagHistory, StoreHistory, StoreInterval
from tests.helpers.snapshot_rows import P0, P1, ROW, codes, copies, lag, read, row

NOON = "2026-11-21T12:00:00Z"
LONG_AGO = "2026-11-21T11:00:00Z"


def flat(process_id: str = P0, task_id: str = "0_0", at: str | None = NOON, **fields: Any) -> HistoryRow:
    return HistoryRow(
        {"application_id": "orders", "captured_at": at, **lag(process_id, task_id, **fields)}, "lags.json"
    )


def with_history(*rows: HistoryRow, item: dict[str, Any] | None = None, **more: Any) -> Snapshot:
    return read(item or row(lags=[{"bad": "not looked at"}]), lags=LagHistory(rows, **more))


def test_lag_snapshots_replace_the_snapshots_own_lags() -> None:
    assert copies(with_history(flat(lag=5)))[P0].lag == 5


def test_rows_about_the_running_owner_are_passed_over_unless_it_is_restoring() -> None:
    assert copies(with_history(flat(lag=5), flat(P1, lag=77)))[P1].lag == LATEST
    assert copies(with_history(flat(lag=5), flat(P1, lag=77, restoring=False)))[P1].lag == LATEST
    assert copies(with_history(flat(lag=5), flat(P1, lag=77, restoring=True)))[P1].lag == 77
    both = with_history(flat(P1, store="a", lag=7, restoring=True), flat(P1, store="b", lag=1, restoring=False))
    assert copies(both)[P1].lag == 8


def test_the_whole_task_beats_its_stores_unless_one_of_them_is_newer() -> None:
    assert copies(with_history(flat(store="a", lag=3), flat(lag=9)))[P0].lag == 9
    assert copies(with_history(flat(store="a", lag=3), flat(lag=9, at=LONG_AGO)))[P0].lag == 3
    assert copies(with_history(flat(store="a", lag=3, at=None), flat(lag=9, at=LONG_AGO)))[P0].lag == 9


def left_over(**fields: Any) -> Snapshot:
    item = row(tasks=[*ROW["tasks"], {"task_id": "2_0", "end_offset_sum": 100}])
    return with_history(flat(lag=1), flat(P0, "2_0", lag=5, **fields), item=item)


def test_rows_about_state_that_was_deleted_meanwhile_are_dropped_with_a_warning() -> None:
    assert copies(left_over(), 2)[P0].lag == 5
    assert codes(left_over()) == []
    assert copies(left_over(at="2026-11-21T11:50:00Z"), 2)[P0].lag == 5, "as old as state_cleanup_delay_ms, not older"
    dropped = left_over(at="2026-11-21T11:49:59.999Z")
    assert copies(dropped, 2) == {}
    assert [(note.code, note.subjects) for note in dropped.warnings] == [("lag-of-deleted-state", ("2_0",))]
    assert copies(left_over(at=None), 2)[P0].lag == 5, "of no known age"


def test_old_rows_of_what_is_gone_are_dropped_but_new_ones_are_an_error() -> None:
    snapshot = with_history(flat(lag=5), flat("gone", lag=5, at=LONG_AGO))
    assert [(note.code, note.subjects) for note in snapshot.warnings] == [("lag-of-departed", ("'gone'",))]
    with pytest.raises(SnapshotError, match="process_id is 'gone', which is not in instances") as caught:
        with_history(flat(lag=5), flat("gone", lag=5))
    assert "lags.json: lag row of task_id '0_0', process_id 'gone': process_id is 'gone', which" in str(caught.value)


def test_lags_of_another_time_are_an_error_that_names_both_times() -> None:
    with pytest.raises(SnapshotError, match=r"captured at 2026-11-21T12:00:00.000Z, but its first lag row is of 2027"):
        with_history(earliest="2027-01-01T00:00:00.000Z")
    with pytest.raises(SnapshotError, match="has no row in the lag snapshots"):
        with_history()


def test_two_rows_about_one_store_at_one_time_are_an_error() -> None:
    with pytest.raises(SnapshotError, match="is about the same store of the same task as"):
        with_history(flat(store="a", lag=1), flat(store="a", lag=2))


def store(*intervals: StoreInterval, process_id: str = P0, name: str | None = None) -> StoreHistory:
    return StoreHistory(process_id, "0_0", name, intervals)


def interval(number: int, behind: tuple[int, int] | None = None, end: tuple[int, int] | None = None) -> StoreInterval:
    return StoreInterval(number * 10_000, 10_000, *(behind or (None, None)), *(end or (None, None)))


def measured(*stores: StoreHistory) -> Rates:
    return with_history(flat(lag=1), stores=stores).rates


def test_rates_are_records_per_second() -> None:
    rates = measured(
        store(interval(1, (90_000, 45_000), (90_000, 95_000))),
        store(interval(1, end=(90_000, 95_000)), interval(2, end=(95_000, 95_000)), process_id=P1),
    )
    assert dict(rates.restore) == {1: 5000.0}
    assert dict(rates.produce) == {0: 500.0}, "the median of 500, 500 and 0"
    assert (dict(rates.restore_intervals), dict(rates.produce_intervals)) == ({1: 1}, {0: 3})


def test_stores_add_up_that_restore_at_the_same_time() -> None:
    first = store(interval(1, (90_000, 70_000)), interval(2, (70_000, 40_000)), name="a")
    second = store(
        interval(1, (90_000, 80_000)), interval(2, (80_000, 50_000)), interval(3, (50_000, 50_000)), name="b"
    )
    assert dict(measured(first, second).restore) == {1: (3000 + 6000) / 2}
    whole = store(interval(1, (180_000, 150_000)))
    assert dict(measured(first, second, whole).restore) == {1: 3000.0}, "the whole task beats its stores"


def test_produce_rates_of_stores_add_up() -> None:
    first = store(interval(1, end=(1, 101)), interval(2, end=(101, 101)), interval(3, end=(101, 121)), name="a")
    second = store(interval(1, end=(0, 900)), interval(2, end=(900, 930)), name="b")
    rates = measured(first, second)
    assert dict(rates.produce) == {0: 2.0 + 3.0}, "the first growth from nothing is left out"
    assert dict(rates.produce_intervals) == {0: 1}


def test_what_became_ready_is_a_bound() -> None:
    rates = measured(store(interval(1, (90_000, 0))))
    assert (dict(rates.restore), dict(rates.restore_at_least)) == ({}, {1: 9000.0})
    assert rates.restore_rate(1) is None


def test_nothing_known_gives_no_rate() -> None:
    gone = store(interval(1, (90_000, 45_000)), process_id="gone")
    rates = measured(store(), store(interval(1)), store(interval(1, (5, 5))), gone)
    assert rates == Rates()


def test_what_falls_behind_by_less_than_is_written_restores_by_the_difference() -> None:
    rates = measured(store(interval(1, (90_000, 95_000), (200_000, 220_000))))
    assert dict(rates.restore) == {1: 1500.0}
    still = measured(store(interval(1, (90_000, 110_000), (200_000, 220_000))))
    assert (dict(still.restore), dict(still.restore_at_least)) == ({}, {}), "whoever restores nothing says no rate"


def comes_no_closer(*stores: StoreHistory) -> list[tuple[str, tuple[str, ...]]]:
    notes = with_history(flat(lag=500_000), stores=stores).warnings
    return [(note.message, note.subjects) for note in notes if note.code == "comes-no-closer"]


def test_a_copy_whose_lag_has_not_fallen_for_a_minute_is_a_warning() -> None:
    still = [interval(number, (400_000, 400_000)) for number in range(1, 7)]
    [(message, subjects)] = comes_no_closer(store(*still))
    assert subjects == ("0_0",)
    assert "has not fallen in the last 1m of lag rows (0_0: 400,000 records behind, then 400,000)" in message
    assert not comes_no_closer(store(*still[:5])), "too short to say so"
    assert not comes_no_closer(store(*still[:5], interval(6, (400_000, 399_000))))
    assert comes_no_closer(store(*still[:5], interval(6, (400_000, 450_000))))
    assert not comes_no_closer(store(*still, process_id=P1)), "who runs the task is not waited for"


def test_a_check_says_beside_what_is_kept_that_a_lag_did_not_fall() -> None:
    still = store(*(interval(number, (400_000, 400_000)) for number in range(1, 7)))
    result = plan(with_history(flat(lag=400_000), stores=(still,)))
    check = check_all([check_plan(result, Standard(Policy(), datetime.now(UTC)))], datetime.now(UTC))
    assert "(of 1 copy the lag did not fall while it was observed)" in " ".join(table_report(check, width=200).split())


def test_a_copy_comes_closer_if_one_of_its_stores_does_so_by_more() -> None:
    still = [interval(number, (400_000, 400_000)) for number in range(1, 7)]
    falls = [interval(number, (500_000 - number * 10_000, 490_000 - number * 10_000)) for number in range(1, 7)]
    assert not comes_no_closer(store(*still, name="a"), store(*falls, name="b"))
    assert comes_no_closer(store(*still, name="a"), store(*still, name="b"))


def test_a_copy_that_counts_as_caught_up_need_not_come_closer() -> None:
    assert not comes_no_closer(store(*(interval(number, (50, 50)) for number in range(1, 7))))
