"""Rates that two or more generations give."""

from __future__ import annotations

import gzip
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.documents.streams_config import load_streams_config
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.leader_log.history import read_leader_logs
from kstream_plan.snapshots.rows.history import with_rates
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured

LIMIT = 10_000  # Kafka's default


def row(
    seconds: int, end: int | None, lag: dict[str, Any] | None = None, standby: bool = True, **more: Any
) -> dict[str, Any]:
    consumer = {"consumer_id": "c", "active": [], "standby": ["0_0"] if standby else [], "warmup": []}
    return {
        "application_id": "a",
        "captured_at": format_time(seconds * 1000),
        "config": {},
        "tasks": [{"task_id": "0_0", "stateful": True} | ({} if end is None else {"end_offset_sum": end})],
        "instances": [{"process_id": "p", "consumers": [consumer]}],
        "lags": [] if lag is None else [{"process_id": "p", "task_id": "0_0"} | lag],
    } | more


def rates(*rows: dict[str, Any]) -> list[tuple[float | None, float | None]]:
    """Produce and restore rate, row by row."""
    found = []
    for with_rate in with_rates(rows, "log"):
        known = with_rate.get("rates", {})
        found.append(
            tuple(known[kind][0]["records_per_second"] if kind in known else None for kind in ("produce", "restore"))
        )
    return found  # type: ignore[return-value]


def test_one_generation_has_no_rates() -> None:
    assert "rates" not in with_rates([row(0, 5, {"lag": 3})], "log")[0]


def test_a_lag_that_falls_gives_what_was_restored_and_produced() -> None:
    first, second = row(0, 100_000, {"lag": 60_000}), row(10, 101_000, {"lag": 21_000})
    assert rates(first, second) == [(None, None), (100.0, 4000.0)]


def test_offsets_give_the_same_as_lags() -> None:
    first, second = row(0, 100_000, {"offset": 40_000}), row(10, 101_000, {"offset": 80_000})
    assert rates(first, second)[1] == (100.0, 4000.0)


def test_a_copy_that_was_just_placed_starts_from_nothing() -> None:
    assert rates(row(0, 100_000, standby=False), row(10, 100_000, {"lag": 50_000}))[1] == (0.0, 5000.0)


def test_what_restores_at_the_same_time_adds_up_and_what_does_not_counts_once() -> None:
    def both(seconds: int, first: int, second: int) -> dict[str, Any]:
        consumer = {"consumer_id": "c", "active": [], "standby": ["0_0", "0_1"], "warmup": []}
        tasks = [{"task_id": item, "stateful": True, "end_offset_sum": 100_000} for item in ("0_0", "0_1")]
        lags = [{"process_id": "p", "task_id": item, "lag": n} for item, n in (("0_0", first), ("0_1", second))]
        instances = [{"process_id": "p", "consumers": [consumer]}]
        return row(seconds, None, tasks=tasks, instances=instances, lags=lags)

    together = both(0, 80_000, 80_000), both(10, 70_000, 60_000)
    assert rates(*together)[1] == (0.0, 3000.0)
    one_after_the_other = both(0, 80_000, 80_000), both(10, 50_000, 80_000), both(20, 50_000, 50_000)
    assert rates(*one_after_the_other)[-1] == (0.0, 3000.0)


def test_a_copy_that_became_ready_gives_a_bound() -> None:
    first, second = row(0, 100_000, {"lag": 60_000}), row(10, 100_000, {"lag": 0})
    (rate,) = with_rates([first, second], "log")[1]["rates"]["restore"]
    assert rate == {"process_id": "p", "records_per_second": 6000.0, "intervals": 1, "source": "log", "at_least": True}


def test_the_median_of_the_intervals_counts_and_bounds_only_above_it() -> None:
    lags = [(0, 90_000), (10, 80_000), (20, 60_000), (30, 20_000), (40, 0), (50, 0)]
    found = with_rates([row(seconds, 100_000, {"lag": lag}) for seconds, lag in lags], "log")[-1]["rates"]["restore"]
    assert found == [{"process_id": "p", "records_per_second": 2000.0, "intervals": 3, "source": "log"}]
    lags[4] = (40, 10_000)
    lags[3] = (30, 59_000)
    found = with_rates([row(seconds, 100_000, {"lag": lag}) for seconds, lag in lags], "log")[-1]["rates"]["restore"]
    assert found == [{"process_id": "p", "records_per_second": 1500.0, "intervals": 4, "source": "log"}], (
        "100 1000 2000, at least 4900"
    )


def test_short_intervals_are_left_out_or_put_together() -> None:
    lags = [(0, 1_000, 90_000), (9, 1_900, 30_000), (18, 2_800, 20_000)]
    assert rates(*(row(seconds, 100_000 + end, {"lag": lag}) for seconds, end, lag in lags))[-1] == (100.0, None)


def test_the_first_growth_from_nothing_is_left_out() -> None:
    assert rates(row(0, 0), row(10, 100_000), row(20, 100_050))[1:] == [(None, None), (5.0, None)]
    assert rates(row(0, 0), row(10, 0), row(20, 0))[-1] == (0.0, None), "nothing was written at all"


def test_a_task_that_stands_still_is_idle() -> None:
    assert rates(row(0, 100), row(10, 100), row(20, 100), row(30, 5_000))[-1] == (0.0, None)


def test_left_over_state_that_was_never_reported_is_no_new_copy() -> None:
    assert rates(row(0, 100_000, standby=False), row(10, 100_000, {"lag": 50_000}, standby=False))[1] == (0.0, None)


@pytest.mark.parametrize("lag", [0, LIMIT, -2, -3])
def test_a_copy_that_is_ready_or_unknown_says_nothing_certain(lag: int) -> None:
    found = with_rates([row(0, 100_000, {"lag": 60_000}), row(10, 100_000, {"lag": lag})], "log")[1]["rates"]
    assert all(rate["at_least"] for rate in found.get("restore", ()))


def test_what_counts_as_ready_is_the_configuration_s() -> None:
    config = {"acceptable_recovery_lag": 100}
    first, second = row(0, 100_000, {"lag": 60_000}, config=config), row(10, 100_000, {"lag": 5_000}, config=config)
    assert rates(first, second)[1] == (0.0, 5500.0)


def test_the_time_of_a_lag_is_when_it_was_reported() -> None:
    first = row(0, 100_000, {"lag": 60_000, "reported_at": format_time(5_000)})
    second = row(40, 100_000, {"lag": 40_000, "reported_at": format_time(25_000)})
    assert rates(first, second)[1] == (0.0, 1000.0)
    again = row(90, 100_000, {"lag": 30_000, "reported_at": format_time(25_000)})
    assert rates(first, second, again)[2] == (0.0, 1000.0), "told once"


def test_an_end_offset_that_falls_or_is_missing_is_no_rate() -> None:
    assert rates(row(0, 100), row(10, 90), row(20, None)) == [(None, None)] * 3


@given(st.lists(st.tuples(st.integers(10, 100), st.integers(0, 10**6), st.integers(0, 10**6)), min_size=2, max_size=6))
def test_rates_are_of_intervals_that_there_were(steps: list[tuple[int, int, int]]) -> None:
    at, end, rows, grown = 0, 1, [], []
    for seconds, produced, lag in steps:
        at, end = at + seconds, end + produced
        rows.append(row(at, end, {"lag": min(lag, end)}))
        grown.append(produced / seconds)
    produce, restore = rates(*rows)[-1]
    assert min(grown[1:]) <= produce <= max(grown[1:])
    assert restore is None or restore > 0


def test_the_captured_traffic_is_measured() -> None:
    """25 records a second were written to every partition, after the first 2,000 of each."""
    log = gzip.decompress((captured.REAL / "scale-out-traffic" / "leader.log.gz").read_bytes())
    entries = read_leader_logs(["-"], stdin=io.BytesIO(log)).entries
    (steady,) = with_rates([entries[3].row, entries[-1].row], "log")[1:]
    for rate in steady["rates"]["produce"]:
        stores = 1 if rate["task_id"].startswith("0_") else 2
        assert rate["records_per_second"] == pytest.approx(25 * stores, rel=0.05)
    assert entries[0].row.get("rates") is None


@pytest.mark.parametrize("event", ["2026-11-22T12:26:47.584Z", "2026-11-22T12:46:11.652Z"])
def test_a_throttled_group_is_measured_within_a_quarter(event: str) -> None:
    """Each restoring thread was held to 400 records a second; 5 a second were written to every store.

    A fourth instance was started at the first moment, and one was stopped at the second.
    """
    folder = captured.REAL / "more" / "big"
    config = dict(load_streams_config(folder / "app.properties").overrides)
    entries = read_leader_logs([str(folder / "leader.log.gz")], config=config).entries
    before = [entry.row for entry in entries if entry.row["captured_at"] < event][-1]
    snapshot = snapshot_from_row(before, "before")
    assert len(snapshot.rates.restore) == len(snapshot.state.group.instances)
    for rate in snapshot.rates.restore.values():
        assert rate == pytest.approx(400, rel=0.25)
    for task, rate in snapshot.rates.produce.items():
        stores = snapshot.state.group.tasks[task].task_id.subtopology + 1
        assert rate == pytest.approx(5 * stores, rel=0.25)
    written = list(snapshot.rates.produce.values())
    assert 5 * 0.75 <= sum(written) / len(written) <= 8 * 1.25
    assert len(written) == len(snapshot.state.group.stateful)
