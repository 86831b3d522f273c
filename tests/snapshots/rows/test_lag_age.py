"""Lags as old as the last join, and rates: what a snapshot may say beside what is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Rates, Snapshot
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.snapshot_rows import P0, P1, copies, lag, row

JOINED = "2026-11-18T12:00:00Z"


def read(item: dict[str, Any], **how: Any) -> Snapshot:
    return snapshot_from_row(item, "", **how)


def joined(offset: int, end_offset: int | None = 100_000, **fields: Any) -> dict[str, Any]:
    """A standby's report of three days ago; the changelog is at 150,000 by now."""
    return lag(P0, "0_0", offset=offset, end_offset=end_offset, reported_at=JOINED, **fields)


def lag_of_standby(snapshot: Snapshot) -> int | None:
    return copies(snapshot)[P0].lag


def test_a_copy_that_was_caught_up_and_is_assigned_is_caught_up_still() -> None:
    snapshot = read(row(lags=[joined(99_000)]))
    assert lag_of_standby(snapshot) == 1000
    ((code, message, subjects),) = snapshot.assumptions
    assert (code, subjects) == ("lags-aged", ("0_0",))
    assert "--set lags.as.reported=true" in message


@pytest.mark.parametrize(
    "item",
    [
        row(lags=[joined(80_000)]),
        row(lags=[joined(99_000, end_offset=None)]),
        row(lags=[lag(P0, "0_0", offset=99_000, end_offset=100_000)]),
    ],
    ids=["it was behind", "nobody knows", "measured now"],
)
def test_else_it_is_as_far_behind_as_the_changelog_has_grown(item: dict[str, Any]) -> None:
    snapshot = read(item)
    assert lag_of_standby(snapshot) == 150_000 - item["lags"][0]["offset"]
    assert snapshot.assumptions == ()


def test_left_over_state_does_not_follow_its_changelog() -> None:
    item = row(lags=[joined(99_000, consumer_ids=["orders-0-1"])])
    item["instances"][0]["consumers"][0]["standby"] = []
    assert lag_of_standby(read(item)) == 51_000


def test_as_reported_if_wanted() -> None:
    snapshot = read(row(lags=[joined(99_000)]), lags_as_reported=True)
    assert (lag_of_standby(snapshot), snapshot.assumptions) == (51_000, ())


@given(
    offsets=st.lists(st.integers(0, 200_000), min_size=1, max_size=3),
    ends=st.lists(st.integers(0, 200_000), min_size=3, max_size=3),
    limit=st.sampled_from([0, 100, 10_000]),
)
def test_nothing_but_the_lag_of_copies_that_were_caught_up_changes(
    offsets: list[int], ends: list[int], limit: int
) -> None:
    rows = [
        joined(offset, end, store=str(number)) for number, (offset, end) in enumerate(zip(offsets, ends, strict=False))
    ]
    item = row(lags=rows, config={"acceptable_recovery_lag": limit})
    aged, as_reported = read(item), read(item, lags_as_reported=True)
    then = [end - offset for offset, end in zip(offsets, ends, strict=False)]
    if min(then) >= 0 and sum(then) <= limit:
        assert lag_of_standby(aged) == sum(then)
    else:
        assert aged == as_reported
    assert copies(aged)[P1] == copies(as_reported)[P1]


def rated(**rates: Any) -> dict[str, Any]:
    return row(rates=rates)


def test_rates_are_read_and_what_the_group_does_not_have_is_left_out() -> None:
    elsewhere = P1.replace("8", "7")
    snapshot = read(
        rated(
            produce=[{"task_id": "0_0", "records_per_second": 5}, {"task_id": "9_9", "records_per_second": 1}],
            restore=[
                {"process_id": P0.upper(), "task_id": "0_0", "records_per_second": 1234.5},
                {"process_id": elsewhere, "task_id": "0_0", "records_per_second": 1},
            ],
        )
    )
    assert snapshot.rates == Rates(produce={0: 5.0}, restore={1: 1234.5})


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ({"produce": [{"task_id": "0_0"}]}, "rates.produce[0].records_per_second is missing"),
        ({"produce": [{"task_id": "0_0", "records_per_second": -1}]}, "records_per_second is -1, which is no rate"),
        ({"restore": [{"task_id": "0_0", "records_per_second": 1}]}, "rates.restore[0].process_id is missing"),
        ({"restore": 5}, "rates.restore is 5, a whole number where a list must be"),
        ([], "rates is [], a list where an object must be"),
    ],
)
def test_a_wrong_rate_is_named(rates: Any, said: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        read(row(rates=rates))
    assert said in str(caught.value)
