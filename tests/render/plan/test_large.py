"""A cell of thousands of moves costs no more than reading it: only what fits is laid out."""

from collections import Counter

import pytest

from kstream_plan.render.plan import columns
from kstream_plan.render.plan.columns import time_table
from kstream_plan.render.plan.rows import Line
from kstream_plan.render.plan.story import Story
from kstream_plan.render.text import wrapping
from kstream_plan.render.text.page import Fact
from kstream_plan.render.text.wrapping import at_most

MOVES = tuple(f"{task % 20}_{task} i{task % 200}→i{200 + task % 10}" for task in range(5_000))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many texts are measured while a test runs."""
    calls: Counter[str] = Counter()
    measure = wrapping.cell_len

    def counting(text: str) -> int:
        calls["texts"] += 1
        return measure(text)

    for module in (columns, wrapping):
        monkeypatch.setattr(module, "cell_len", counting)
    return calls


@pytest.mark.parametrize("height", [1, 2, 6])
def test_a_cell_lays_out_what_fits_and_counts_the_rest(measured: Counter[str], height: int) -> None:
    lines = at_most(MOVES, " ", 30, height)
    assert len(lines) <= height
    shown = sum(line.count("→") for line in lines)
    assert lines[-1].endswith(f"+{5_000 - shown:,} more")
    assert measured["texts"] < 1_000


def test_as_much_as_fits_is_shown() -> None:
    assert at_most(["aa", "bb", "cc"], " ", 8, 1) == ["aa bb cc"]
    assert at_most(["aa", "bb", "cc", "dd", "ee", "ff", "gg"], " ", 10, 2) == ["aa bb cc", "dd +3 more"]
    assert at_most(["a" * 30, "b"], " ", 10, 2) == [*["a" * 10] * 3, "+1 more"]
    assert at_most([], " ", 10, 2) == [""]


def test_a_row_of_5000_moves_is_measured_a_few_times_each(measured: Counter[str]) -> None:
    row = Line("0:00", "1-271", "probe 1: 20/20", MOVES, "", MOVES, "5,000")
    story = Story(Fact("orders", ("",)), (), "~3.0 s", (row,) * 3, ("1:00", "SETTLED"), "", (), "", (), "")
    lines = time_table(story, 80)
    assert len(lines) < 30
    assert measured["texts"] < 10 * 3 * 2 * len(MOVES)
