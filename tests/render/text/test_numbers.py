"""Numbers and times as people read them."""

import pytest

from kstream_plan.render.text.numbers import (
    at_least,
    at_most,
    clock,
    cold_starts,
    count,
    duration,
    durations,
    interval,
    several,
    span,
)


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0.0 s"),
        (1, "1 ms"),
        (99, "99 ms"),
        (100, "0.1 s"),
        (30_100, "30.1 s"),
        (59_960, "1m00s"),
        (60_000, "1m00s"),
        (656_499, "10m56s"),
        (3_599_499, "59m59s"),
        (3_599_600, "1h00m"),
        (7_500_000, "2h05m"),
        (172_800_000, "2d00h"),
    ],
)
def test_duration(milliseconds: int, shown: str) -> None:
    assert duration(milliseconds) == shown


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(250, "250 ms"), (3_000, "3 s"), (60_000, "60 s"), (600_000, "10 min"), (5_400_000, "1h30m"), (7_200_000, "2 h")],
)
def test_interval(milliseconds: int, shown: str) -> None:
    assert interval(milliseconds) == shown


@pytest.mark.parametrize("milliseconds", [59_960, 65_400, 65_600, 119_500, 656_499, 3_599_400, 3_600_400])
def test_a_clock_and_a_duration_show_one_time_as_the_same(milliseconds: int) -> None:
    parts = [int(part) for part in clock(milliseconds).split(":")]
    shown = f"{parts[0]}m{parts[1]:02}s" if len(parts) == 2 else f"{parts[0]}h{parts[1]:02}m"
    assert duration(milliseconds) == shown


@pytest.mark.parametrize(
    ("milliseconds", "least", "most"),
    [
        (0, "0.0 s", "0.0 s"),
        (45, "45 ms", "45 ms"),
        (130, "0.1 s", "0.2 s"),
        (59_960, "59.9 s", "1m00s"),
        (65_400, "1m05s", "1m06s"),
        (66_000, "1m06s", "1m06s"),
        (3_599_100, "59m59s", "1h00m"),
        (7_171_000, "1h59m", "2h00m"),
        (180_000_000, "2d02h", "2d02h"),
        (180_000_001, "2d02h", "2d03h"),
    ],
)
def test_a_bound_is_never_more_than_it_is_and_a_wait_never_less(milliseconds: int, least: str, most: str) -> None:
    assert (at_least(milliseconds), at_most(milliseconds)) == (least, most)


def test_clock_counts_and_lists() -> None:
    assert [clock(ms) for ms in (0, 63_100, 3_723_000)] == ["0:00", "1:03", "1:02:03"]
    assert [count(58_000), count(1, "task"), count(2, "copy", "copies")] == ["58,000", "1 task", "2 copies"]
    assert [span(4, 4), span(4, 5)] == ["4", "4-5"]
    assert several(["a", "b", "c", "d"]) == "a, b, c, d"
    assert several(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_cold_starts_are_loud_and_one_is_one() -> None:
    assert [cold_starts(number, number) for number in (0, 1, 1_200)] == [
        "0 cold starts",
        "1 COLD START",
        "1,200 COLD STARTS",
    ]
    assert [cold_starts(0, 1), cold_starts(0, 8)] == ["0-1 COLD START", "0-8 COLD STARTS"]


@pytest.mark.parametrize(
    ("least_ms", "most_ms", "shown"),
    [
        (3_000, 3_010, "3.0 s"),
        (100, 45_000, "0.1-45.0 s"),
        (3_000, 99_000, "3.0 s-1m39s"),
        (60_000, 7_500_000, "1m00s-2h05m"),
    ],
)
def test_durations(least_ms: int, most_ms: int, shown: str) -> None:
    assert durations(least_ms, most_ms) == shown
