"""Applications in batches: dealt evenly and in order, and every one of them answered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import KstreamPlanError, ScenarioError
from kstream_plan.fleet.batches import answers, dealt, worked


def _double(item: int) -> int:
    if item < 0:
        raise ScenarioError(f"{item} is below 0", where="here", fix="give another")
    return 2 * item


def _answers(items: list[int], number: int, *, keep_going: bool = True) -> list[tuple[int, int | str | None]]:
    batches = dealt(items, [1.0] * len(items), number)
    found = answers(packed for batch in batches for packed in worked(_double, batch, keep_going=keep_going))
    return [(one.place, one.result if one.error is None else str(one.error)) for one in found]


@given(st.lists(st.integers(-3, 50)), st.integers(1, 9))
def test_what_comes_back_is_the_same_for_any_number_of_batches(items: list[int], number: int) -> None:
    one_by_one = [
        (place, 2 * item if item >= 0 else f"here: {item} is below 0. Fix: give another")
        for place, item in enumerate(items)
    ]
    assert _answers(items, number) == one_by_one


@given(st.lists(st.integers(-3, 50)), st.integers(1, 9))
def test_without_going_on_the_first_error_is_the_first_of_all(items: list[int], number: int) -> None:
    first = next((place for place, item in enumerate(items) if item < 0), None)
    errors = [place for place, found in _answers(items, number, keep_going=False) if isinstance(found, str)]
    assert errors[:1] == ([] if first is None else [first])


@given(st.lists(st.floats(0.1, 1_000), min_size=1), st.integers(1, 9))
def test_batches_cost_about_the_same(costs: list[float], number: int) -> None:
    batches = dealt(list(range(len(costs))), costs, number)
    assert 1 <= len(batches) <= number
    share = sum(costs) / number
    for batch in batches:
        places = [one.place for one in answers(worked(_double, batch, keep_going=True))]
        assert sum(costs[place] for place in places[:-1]) <= share + max(costs)


def test_errors_keep_what_they_say() -> None:
    (one,) = answers(worked(_double, dealt([-1], [1.0], 1)[0], keep_going=True))
    error = one.error
    assert isinstance(error, KstreamPlanError)
    assert (type(error), error.what, error.where, error.fix) == (ScenarioError, "-1 is below 0", "here", "give another")


def test_a_defect_keeps_its_traceback() -> None:
    (batch,) = dealt(["x"], [1.0], 1)
    with pytest.raises(RuntimeError, match="in _double") as raised:
        list(answers(worked(_double, batch, keep_going=True)))
    assert "TypeError" in str(raised.value)
