"""Numbers and times as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model.times import duration as duration_of_model
from kstream_plan.render.pages.plan_facts import balance_words
from kstream_plan.render.text.numbers import (
    amount,
    arrow,
    at_least,
    at_most,
    count,
    count_range,
    duration,
    duration_range,
    name_list,
    number_range,
    span_to,
    utc,
)

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def in_ms(shown: str) -> float:
    """Read a duration as options take it."""
    total, digits, unit = 0.0, "", ""
    for letter in f"{shown}0".replace(",", ""):
        if letter.isalpha():
            unit += letter
            continue
        if unit:
            total += float(digits) * _UNITS[unit]
            digits = unit = ""
        digits += letter
    return total


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0s"),
        (1, "1ms"),
        (99, "99ms"),
        (100, "0.1s"),
        (28_500, "28.5s"),
        (30_000, "30s"),
        (59_960, "1m"),
        (60_000, "1m"),
        (656_499, "10m56s"),
        (3_599_499, "59m59s"),
        (3_599_600, "1h"),
        (7_500_000, "2h05m"),
        (172_800_000, "2d"),
        (1_792_800_000, "20d18h"),
    ],
)
def test_duration(milliseconds: int, shown: str) -> None:
    assert duration(milliseconds) == shown
    assert duration is duration_of_model


@given(st.integers(0, 10**12))
def test_a_bound_is_never_more_than_it_is_and_a_wait_never_less(milliseconds: int) -> None:
    assert in_ms(at_least(milliseconds)) <= milliseconds <= in_ms(at_most(milliseconds))
    assert in_ms(at_most(milliseconds)) - in_ms(at_least(milliseconds)) <= max(100, milliseconds / 20)


def test_counts_and_lists() -> None:
    assert [count(58_000), count(1, "task"), count(2, "copy", "copies")] == ["58,000", "1 task", "2 copies"]
    assert [span_to(4, 4), span_to(4, 1_500)] == ["4", "4 to 1,500"]
    ends = ((0, 0), (4, 4), (0, 4))
    assert [span_to(*both, is_open=True) for both in ends] == ["0 or more", "at least 4", "0 to 4 or more"]
    assert [number_range(4, 4), number_range(4, 5)] == ["4", "4–5"]
    assert name_list(["a", "b", "c", "d"]) == "a, b, c, d"
    assert name_list(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert [amount(812), amount(5_800_000)] == ["812 B", "5.8 MB"]
    assert utc("2026-11-21T13:00:38.250Z") == "2026-11-21 13:00:38 UTC"


def test_a_range_stands_beside_its_figure_unless_both_ends_are_the_same() -> None:
    assert duration_range(660_000, 594_000, 726_000) == "11m (9m54s to 12m06s)"
    assert duration_range(660_000, 660_000, 660_000) == "11m"
    assert count_range(20, 18, 21) == "20 (18 to 21)"


def test_what_stays_the_same_is_said_once() -> None:
    assert (arrow(3, 5), arrow(3, 3), arrow(0, 1_500, 0)) == ("3 → 5", "3", "0 → 1,500 → 0")
    assert arrow("0 to 10", "6") == "0 to 10 → 6"


def test_one_task_is_no_plural() -> None:
    assert balance_words((0, 2), (1, 1), of_workers=False) == "0 to 2 → 1 task per instance"
    assert balance_words((1, 1), (0, 1), of_workers=True) == "1 → 0 to 1 connectors and tasks per worker"
