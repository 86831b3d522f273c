"""How far back a lag history counts, and which rows are picked. No Spark."""

from __future__ import annotations

from typing import Any

from kstream_plan.snapshots.rows.lag_window import DAY_US, DAYS, LagsWanted, StoreCount, enough, picks, since_for_all
from kstream_plan.snapshots.rows.snapshot_row import lags_wanted
from tests.helpers.snapshot_rows import P0, P1, ROW, row

NOW = 1_800_000_000_000_000
MINUTE = 60_000_000


def store(*minutes_ago: float, process: str = "p", task: str = "0_0", **more: Any) -> StoreCount:
    times = [NOW - int(minutes * MINUTE) for minutes in minutes_ago]
    days = [sum(days is None or at >= NOW - days * DAY_US for at in times) for days in DAYS]
    item = (process, process, task, None)
    return StoreCount(*item, min(times, default=None), max(times, default=None), more.get("unreadable", 0), days)


def level(wanted: LagsWanted, *stores: StoreCount) -> int:
    return next(level for level in range(len(DAYS)) if enough(wanted, stores, level))


def picked(*stores: StoreCount, at: int = 0, rates_over_ms: int | None = None) -> list[int | None]:
    """How many minutes before now the rows of each store are picked from."""
    found = picks(LagsWanted(), stores, at, NOW, rates_over_ms)
    return [None if pick.since_us is None else (NOW - pick.since_us) // MINUTE for pick in found]


def test_a_day_is_enough_if_it_has_all_intervals_and_every_assigned_copy() -> None:
    busy, quiet = store(*range(11)), store(3, 9, task="0_1")
    assert level(LagsWanted(), busy, quiet) == 0
    assert level(LagsWanted(), store(*range(10)), quiet) == 2
    assert level(LagsWanted(), store(*range(0, 11 * 1000, 1000))) == 1
    missing = LagsWanted(standby=frozenset({("p", "0_0"), ("q", "0_0")}))
    assert level(missing, busy) == 2
    assert level(missing, busy, store(5_000, process="q")) == 1


def test_actives_must_be_found_only_if_the_history_has_any() -> None:
    wanted = LagsWanted(active=frozenset({("a", "0_0"), ("b", "0_1")}))
    busy = store(*range(11))
    assert level(wanted, busy) == 0
    assert level(wanted, busy, store(1, process="a")) == 2
    assert level(wanted, busy, store(1, process="a"), store(1, process="b", task="0_1")) == 0


def test_the_last_intervals_are_picked_and_never_less_than_the_newest_row() -> None:
    assert picked(store(*range(100))) == [11], "one more than there must be"
    assert picked(store(*(n / 30 for n in range(100)))) == [0]
    assert picked(store(*range(5, 105), task="0_1"), store(*range(0, 1000, 10))) == [16, 110], "from each one's newest"
    assert picked(store(*range(10))) == [9], "fewer than there could be: all"
    assert picked(store(*range(0, 4000, 300)), at=0) == [1440], "of the day"
    assert picked(store(*range(100)), rates_over_ms=3_600_000) == [60]
    assert picked(store(*range(100)), store(200), rates_over_ms=3_600_000) == [60, 200]
    assert picked(store(2_000), store(1)) == [1], "what is older than the day does not count"


def since_all(*stores: StoreCount) -> int | None:
    since_us = since_for_all(picks(LagsWanted(), stores, 0, NOW, None))
    return None if since_us is None else (NOW - since_us) // MINUTE


def test_rows_of_all_copies_are_read_at_once_if_that_is_hardly_more() -> None:
    every_minute = [store(*range(n % 3, 1000), task=f"0_{n}") for n in range(10)]
    assert since_all(*every_minute) == 13
    assert since_all(*every_minute, store(12, task="1_0")) == 13, "a single row is no reason"
    assert since_all(*every_minute, store(700, task="1_0")) is None, "it would be 700 of each of the others"
    assert since_all(*every_minute, store(1, unreadable=1)) is None
    assert since_all() is None


def test_rows_whose_time_cannot_be_read_might_be_the_newest() -> None:
    assert picked(store(1, unreadable=1)) == [None]
    assert picked(store()) == [], "older than any other, so than the day, too"
    assert picked(store(), at=2) == [None]


def test_what_is_assigned_and_has_state_is_wanted() -> None:
    wanted = lags_wanted(row(), 5, None)
    assert (wanted.until_us, wanted.day_us) == (5, DAY_US)
    assert ((P0, "0_0") in wanted.standby, (P1, "0_0") in wanted.active) == (True, True)
    long = row(config={**ROW["config"], "state_cleanup_delay_ms": 3 * 86_400_000})
    assert lags_wanted(long, 5, None).day_us == 3 * DAY_US
    assert lags_wanted(row(), 5, 2 * 86_400_000).day_us == 2 * DAY_US
    stateless = row(tasks=[{"task_id": "0_0", "stateful": False}], lags=[])
    assert lags_wanted(stateless, 5, None).standby == frozenset()
    assert lags_wanted({"application_id": "orders", "tasks": 3}, None, None) == LagsWanted()
