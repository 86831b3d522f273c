"""The decision in a row, and since when copies are where they are."""

from __future__ import annotations

from typing import Any

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Holding, KnownDecision, Snapshot
from tests.helpers.snapshot_rows import P0, P1, read, row

AT = "2026-11-21T12:00:02.500Z"

DECIDED: dict[str, Any] = {
    P0: {"consumers": {"orders-0-1": {"active": ["0_0"], "withheld": ["0_0"], "standby": [], "temporary": ["0_0"]}}},
    P1: {"consumers": {"orders-1-1": {"standby": ["0_0"]}, "orders-1-2": {"active": ["1_0"]}}},
}


def decided(given: Any = DECIDED, **more: Any) -> Snapshot:
    return read(row(decision={"at": AT, "decided": given, **more}))


def test_a_decision_is_read_with_its_time_counted_from_the_row_s() -> None:
    known = decided(generation=9, probing_rebalance=True, next_rebalance_at="2026-11-21T12:01:02.500Z").decision
    assert known == KnownDecision(
        generation=9,
        at_ms=2_500,
        consumers=(Holding(standby=(0,)), Holding(active=(1,)), Holding(active=(0,))),
        probing_rebalance=True,
        next_ms=62_500,
    )


def test_a_list_as_parquet_has_it_says_the_same() -> None:
    as_list = [
        {
            "process_id": process_id,
            "consumers": [{"consumer_id": name} | held for name, held in item["consumers"].items()],
        }
        for process_id, item in DECIDED.items()
    ]
    assert decided(as_list).decision == decided().decision


def test_its_generation_is_the_next_one_unless_the_members_have_it_already() -> None:
    known, here = decided().decision, read(row(decision={"at": AT})).decision
    assert known is not None
    assert here is not None
    assert (known.generation, here.generation) == (8, 7)
    assert here.consumers is None


def test_without_a_time_of_the_row_times_count_from_the_decision() -> None:
    known = read(row(captured_at=None, decision={"at": AT, "next_rebalance_at": AT})).decision
    assert known == KnownDecision(generation=7, at_ms=0, next_ms=0)
    assert read(row()).decision is None


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (5, "decision is 5, a whole number where an object must be"),
        ({"decided": 5}, "decision.decided is 5, a whole number where an object or a list must be"),
        ({"decided": {P0: 5}}, f"decision.decided['{P0}'] is 5, a whole number where an object must be"),
        ({"decided": [{"consumers": {}}]}, "decision.decided[0].process_id is missing"),
        ({"decided": {P0: {}}}, f"decision.decided['{P0}'].consumers is missing"),
        ({"decided": {P0: {"consumers": {"gone": {}}}}}, "is about consumer 'gone'"),
        ({"decided": [*({"process_id": P0, "consumers": {"orders-0-1": {}}},) * 2]}, "is about 'orders-0-1' again"),
        (
            {"decided": {P0: {"consumers": {"orders-0-1": {"active": ["9_9"]}}}}},
            "active[0] is '9_9', which is not in tasks",
        ),
        ({"decided": {P0: {"consumers": {"orders-0-1": {"active": ["x"]}}}}}, "active[0] is 'x', not a task id"),
        ({"decided": {P0: {"consumers": {"orders-0-1": {"active": ["0_0", "0_0"]}}}}}, "is '0_0' again"),
        (
            {"decided": {P0: {"consumers": {"orders-0-1": {"active": ["0_0"], "standby": ["0_0"]}}}}},
            "0_0 to an instance twice",
        ),
        (
            {
                "decided": {
                    item: {"consumers": {name: {"active": ["0_0"]}}}
                    for item, name in ((P0, "orders-0-1"), (P1, "orders-1-1"))
                }
            },
            "gives 0_0 to a consumer to run, and so does",
        ),
        ({"at": "noon"}, "decision.at is 'noon', not a time"),
        ({"probing_rebalance": "no"}, "decision.probing_rebalance is 'no'"),
    ],
)
def test_a_decision_that_does_not_fit_is_an_error(decision: Any, said: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        read(row(decision=decision))
    assert said in str(caught.value)
    assert "orders" in str(caught.value)


def test_ages_of_copies_are_read() -> None:
    ages = [{"process_id": item, "task_id": "0_0", "since": "2026-11-21T11:59:00Z"} for item in (P0, P1, "gone")]
    snapshot = read(row(copies_since=ages))
    assert dict(snapshot.since_ms) == {(0, 0): -60_000, (0, 1): -60_000}
    assert [copy.lost_at_ms for copy in snapshot.state.copies[0]] == [None, None]
    assert dict(read(row(copies_since=ages, captured_at=None)).since_ms) == {}
    with pytest.raises(SnapshotError, match=r"copies_since\[0\].since is 'x', not a time"):
        read(row(copies_since=[{"process_id": P0, "task_id": "0_0", "since": "x"}]))


def test_left_over_state_is_as_old_as_the_row_says() -> None:
    left_over = row(copies_since=[{"process_id": P0, "task_id": "0_0", "since": "2026-11-21T11:59:00Z"}])
    left_over["instances"][0]["consumers"][0]["standby"] = []
    copies = {copy.instance: copy.lost_at_ms for copy in read(left_over).state.copies[0]}
    assert copies == {0: None, 1: -60_000}
    del left_over["copies_since"]
    assert read(left_over).state.copies[0][1].lost_at_ms == 0


def test_a_row_says_until_when_it_is_known() -> None:
    assert read(row(known_until="2026-11-21T12:03:00Z")).known_until_ms == 180_000
    assert read(row()).known_until_ms == 0
    with pytest.raises(SnapshotError, match="known_until is '2026-11-21T11:00:00Z', before captured_at"):
        read(row(known_until="2026-11-21T11:00:00Z"))


def test_when_lags_were_reported_is_known_where_the_row_says_so() -> None:
    lags = [{"process_id": P0, "task_id": "0_0", "offset": 5, "reported_at": "2026-11-21T11:59:30Z"}]
    assert dict(read(row(lags=lags)).reported_ms) == {(0, 1): -30_000}
    assert dict(read(row()).reported_ms) == {}
