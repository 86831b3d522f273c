"""Which rows the newest one of an application is held against."""

from __future__ import annotations

import json
from typing import Any

from kstream_plan.snapshots.files.newest_rows import RowText, keyed_row, newest_rows, selection


def earlier(*rows: tuple[str | None, Any]) -> list[tuple[str, int]]:
    """The time and generation of the rows that the newest of these is held against."""
    texts = [
        RowText(
            "rows.jsonl", json.dumps({"application_id": "orders", "captured_at": at, "generation": number}).encode()
        )
        for at, number in rows
    ]
    [newest] = newest_rows(map(keyed_row, texts), selection((), None))
    return [(row["captured_at"][14:19], row["generation"]) for row in map(json.loads, newest.earlier)]


def at(minute: int, second: int = 0) -> str:
    return f"2026-11-21T12:{minute:02}:{second:02}Z"


def test_the_latest_of_a_minute_before_or_more_counts_and_the_latest_of_a_lower_generation() -> None:
    rows = [(at(0), 6), (at(10), 7), (at(14), 7), (at(14, 30), 7), (at(15), 7)]
    assert earlier(*rows) == earlier(*reversed(rows)) == [("14:00", 7), ("00:00", 6)]
    assert earlier((at(14), 6), (at(15), 7)) == [("14:00", 6)], "one row may be both"


def test_nothing_is_earlier_where_times_do_not_tell() -> None:
    assert not earlier((at(15), 7))
    assert not earlier((at(14, 1), 6), (at(15), 7)), "less than a minute"
    assert not earlier((None, 6), (None, 7))
    assert not earlier((at(10), 6), ("noon", 7))


def test_no_more_than_ten_rows_before_the_newest_are_looked_at() -> None:
    recent = [(at(30, second), 7) for second in range(1, 10)]
    assert earlier((at(0), 6), *recent, (at(30, 20), 7)) == [("00:00", 6)]
    assert not earlier((at(0), 6), (at(30), 7), *recent, (at(30, 20), 7))
