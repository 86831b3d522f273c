"""Which results are picked, and in which order: what is not known counts as the worse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.documents.quantities import parse_duration
from kstream_plan.errors import UsageError
from kstream_plan.fleet.figures import NAMES, OUTCOMES, badness, by_figure, is_bad, value_of
from kstream_plan.fleet.where import conditions
from kstream_plan.plans.result import Result

_FIGURE = st.none() | st.integers(0, 5)
RESULTS = st.builds(
    Result,
    application_id=st.sampled_from(["a", "b", "c"]),
    outcome=st.sampled_from(OUTCOMES),
    settles_surely=st.booleans(),
    cold_handovers_most=_FIGURE,
    duration_ms_most=_FIGURE,
    max_paused_task_ms_most=_FIGURE,
    restored_records_most=_FIGURE,
)


def picked(text: str, result: Result) -> bool:
    return all(condition.holds(result) for condition in conditions(text, parse_duration))


@given(RESULTS, st.integers(0, 5))
def test_comparisons_are_those_of_numbers(result: Result, value: int) -> None:
    cold = result.cold_handovers_most
    if cold is not None:
        for comparison, holds in (
            (">", cold > value),
            (">=", cold >= value),
            ("<", cold < value),
            ("<=", cold <= value),
            ("=", cold == value),
            ("!=", cold != value),
        ):
            assert picked(f"cold {comparison} {value}", result) == holds
    both = f"cold>{value} and left<={value}ms"
    assert picked(both, result) == (picked(f"cold > {value}", result) and picked(f"left <= {value}ms", result))


@given(RESULTS, st.integers(0, 5))
def test_what_is_not_known_may_be_large_and_is_never_taken_for_small(result: Result, value: int) -> None:
    if result.restored_records_most is None and result.outcome != "unreadable":
        assert picked(f"restored > {value}", result)
        assert not picked(f"restored < {value}", result)
        assert not picked(f"restored = {value}", result)


@given(st.lists(RESULTS))
def test_what_needs_somebody_comes_first(results: list[Result]) -> None:
    ordered = sorted(results, key=badness)
    ends = [OUTCOMES.index(result.outcome) for result in ordered]
    assert ends == sorted(ends)
    for result in results:
        if result.outcome not in ("moving", "settled"):
            assert is_bad(result)


@given(st.lists(RESULTS), st.sampled_from(["cold", "left", "restored"]))
def test_sorted_by_a_figure_the_unknown_comes_first_then_the_largest(results: list[Result], name: str) -> None:
    found = [value_of(result, name) for result in sorted(results, key=by_figure(name))]
    known = [value for value in found if isinstance(value, int)]
    assert found == [None] * (len(found) - len(known)) + sorted(known, reverse=True)


def test_texts_and_truths_are_compared_too() -> None:
    result = Result(application_id="a", outcome="stuck", settles_surely=False)
    assert picked("outcome = stuck and settles_surely = false", result)
    assert not picked("outcome != stuck", result)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cold", "'cold' is no condition"),
        ("", "'' is no condition"),
        ("cold >> 1", "is no condition"),
        ("cald > 1", "did you mean cold?"),
        ("cold > many", "'many' is not a whole number"),
        ("left > soon", "'soon' is not a duration"),
        ("outcome = gone", "give one of unreadable, stuck"),
        ("outcome > stuck", "outcome is a text"),
        ("settles_surely = perhaps", "true or false"),
        ("cold > 1 and", "is no condition"),
    ],
)
def test_what_is_no_condition_is_told(text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        conditions(text, parse_duration)
    assert said in str(raised.value)


def test_every_name_is_of_a_figure() -> None:
    result = Result(application_id="a", outcome="settled")
    assert {name: value_of(result, name) for name in NAMES}.keys() == set(NAMES)
