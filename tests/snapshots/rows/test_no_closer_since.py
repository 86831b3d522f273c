"""Copies whose lag does not fall from one generation to the next."""

from __future__ import annotations

from typing import Any

from kstream_plan.snapshots.rows.stalled_copies import no_closer_since, notes_of
from tests.helpers.snapshot_rows import P0, P1, changed, lag, read


def generation(minute: int, *lags: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A row of that minute whose standby of 0_0 is as these lag rows say."""
    times = {"captured_at": f"2026-11-21T12:{minute:02}:00Z", "generation": 7 + minute}
    return {**changed("lags", list(lags)), **times, **fields}


def warned(*rows: dict[str, Any]) -> list[str]:
    """What the last of these rows, held against those before it, is warned of."""
    newest, *earlier = (read(row) for row in reversed(rows))
    return [note.message for note in notes_of(newest.state.group, no_closer_since(newest, earlier))]


def test_a_copy_that_is_no_less_behind_than_a_generation_before_is_a_warning() -> None:
    [said] = warned(generation(0, lag(lag=40_000)), generation(10, lag(lag=41_000)))
    assert "the lag of the copy of 0_0 on orders-0 has not fallen in the last 10m" in said
    assert "(0_0: 40,000 records behind, then 41,000)" in said
    assert warned(generation(0, lag(lag=40_000)), generation(10, lag(lag=40_000)))


def test_a_copy_that_comes_closer_or_is_caught_up_is_none() -> None:
    assert not warned(generation(0, lag(lag=40_000)), generation(10, lag(lag=39_999)))
    assert not warned(generation(0, lag(lag=400)), generation(10, lag(lag=10_000))), "acceptable.recovery.lag"
    assert not warned(generation(0, lag(lag=40_000)), generation(10)), "nothing is reported any more"
    assert not warned(generation(10, lag(lag=40_000)))


def test_the_latest_report_that_is_older_by_a_minute_decides() -> None:
    rows = [generation(0, lag(lag=30_000)), generation(5, lag(lag=50_000)), generation(10, lag(lag=40_000))]
    assert not warned(*rows)
    assert warned(rows[0], rows[2])


def test_what_was_placed_then_and_not_reported_had_everything_to_restore() -> None:
    nothing = generation(0)
    assert warned(nothing, generation(10, lag(lag=150_000)))
    assert not warned(nothing, generation(10, lag(lag=149_000)))
    elsewhere = {
        **nothing,
        "instances": [{**instance, "consumers": [_without_copies(instance)]} for instance in nothing["instances"]],
    }
    assert not warned(elsewhere, generation(10, lag(lag=150_000))), "it was not there"
    decided = {P0: {"consumers": {"orders-0-1": {"active": ["1_0"], "standby": ["0_0"]}}}}
    placed = {**elsewhere, "decision": {"at": elsewhere["captured_at"], "generation": 8, "decided": decided}}
    assert warned(placed, generation(10, lag(lag=150_000)))


def test_left_over_state_is_behind_for_nobody_restores_it() -> None:
    def left_over(minute: int) -> dict[str, Any]:
        row = generation(minute, lag(lag=40_000))
        return {
            **row,
            "instances": [{**instance, "consumers": [_without_copies(instance)]} for instance in row["instances"]],
        }

    assert not warned(left_over(0), left_over(10))
    assert not warned(left_over(0), generation(10, lag(lag=40_000))), "it was not there to restore"


def test_the_same_report_told_twice_says_nothing() -> None:
    def told(minute: int, reported: int, offset: int, end: int) -> dict[str, Any]:
        at = {"reported_at": f"2026-11-21T12:{reported:02}:00Z", "end_offset": end}
        return generation(minute, lag(offset=offset, **at))

    first, again = told(0, 0, 100_000, 140_000), told(9, 0, 100_000, 140_000)
    assert not warned(first, again)
    assert warned(first, again, told(10, 10, 100_000, 140_000))
    assert not warned(first, told(10, 8, 109_000, 148_000)), "what was written since that report is no lag of then"


def _without_copies(instance: dict[str, Any]) -> dict[str, Any]:
    return {**instance["consumers"][0], "standby": []}


def test_who_runs_the_task_is_not_waited_for() -> None:
    assert not warned(generation(0, lag(P1, lag=40_000)), generation(10, lag(P1, lag=40_000)))
