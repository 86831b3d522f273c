"""Applications in batches: dealt evenly and in order, and every one of them answered."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import KstreamPlanError, ScenarioError
from kstream_plan.fleet.batches import answers, make_batches, packed, run_batch


def _double(item: int) -> int:
    if item < 0:
        raise ScenarioError(f"{item} is below 0", where="here", fix="give another")
    return 2 * item


def _answers(items: list[int], number: int, *, keep_going: bool = True) -> list[tuple[int, int | str | None]]:
    batches = make_batches([*map(packed, items)], [1.0] * len(items), number)
    found = answers(answer for batch in batches for answer in run_batch(_double, batch, keep_going=keep_going))
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


def _costs_of_batches(costs: Sequence[float], cores: int) -> list[list[float]]:
    batches = make_batches([packed(place) for place in range(len(costs))], costs, cores)
    return [[costs[one.place] for one in answers(run_batch(_double, batch, keep_going=True))] for batch in batches]


@given(st.lists(st.floats(0.1, 1_000), min_size=1), st.integers(1, 9))
def test_batches_are_neither_large_nor_small(costs: list[float], cores: int) -> None:
    share, batches = sum(costs) / cores, _costs_of_batches(costs, cores)
    assert [cost for batch in batches for cost in batch] == costs
    for batch in batches:
        assert sum(batch[:-1]) <= 1.001 * share / 8
    for batch in batches[:-1]:
        assert sum(batch) >= 0.999 * share / 64


def test_a_batch_of_a_large_fleet_is_no_larger_than_one_of_a_small_one() -> None:
    assert {len(batch) for batch in _costs_of_batches([1.0] * 20_000, 1)[:100]} == {100}


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_all_cores_end_together(cores: int) -> None:
    """Each takes the next batch when it has done one; how long it takes is not quite what was thought."""
    chance = random.Random(cores)
    costs = [chance.uniform(10, 60) for _ in range(2_000)]
    ends = [0.0] * cores
    for batch in _costs_of_batches(costs, cores):
        heapq.heapreplace(ends, ends[0] + sum(cost * chance.uniform(0.5, 1.5) for cost in batch))
    assert max(ends) - min(ends) < sum(costs) / cores / 50


def test_errors_keep_what_they_say() -> None:
    (one,) = answers(run_batch(_double, make_batches([packed(-1)], [1.0], 1)[0], keep_going=True))
    error = one.error
    assert isinstance(error, KstreamPlanError)
    assert (type(error), error.what, error.where, error.fix) == (ScenarioError, "-1 is below 0", "here", "give another")


def test_a_defect_keeps_its_traceback() -> None:
    (batch,) = make_batches([packed("x")], [1.0], 1)
    with pytest.raises(RuntimeError, match="in _double") as raised:
        list(answers(run_batch(_double, batch, keep_going=True)))
    assert "TypeError" in str(raised.value)
