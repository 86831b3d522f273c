"""Which results are picked, and in which order: what is not known counts as the worse."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.documents.quantities import parse_duration
from kstream_plan.errors import UsageError
from kstream_plan.fleet.figures import NAMES, OUTCOMES, badness, by_figure, is_bad, is_least, value_of
from kstream_plan.fleet.where import conditions
from kstream_plan.plans.result import Result

_FIGURE = st.none() | st.integers(0, 5)
RESULTS = st.builds(
    Result,
    application_id=st.sampled_from(["a", "b", "c"]),
    outcome=st.sampled_from(OUTCOMES),
    settles_surely=st.booleans(),
    duration_is=st.sampled_from(["probes", "least", "estimate"]),
    pauses_are_least=st.booleans(),
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
    if cold is not None and not is_least(result, "cold"):
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
    if result.outcome == "unreadable":
        return
    for name in ("restored", "left", "cold", "pause"):
        if value_of(result, name) is None or is_least(result, name):
            assert picked(f"{name} > {value}", result)
            assert not picked(f"{name} < {value}", result)
            assert not picked(f"{name} = {value}", result)


def test_what_does_not_settle_is_never_taken_for_short() -> None:
    for outcome, may_be_more in (
        ("stuck", ["left", "restored"]),
        ("cyclic", ["left", "cold", "pause", "moves", "restored"]),
        ("unfinished", ["left", "cold", "pause", "moves", "restored"]),
        ("moving", []),
        ("settled", []),
    ):
        figures = dict.fromkeys(("cold_handovers_most", "max_paused_task_ms_most", "moves_most"), 0)
        more = {"duration_ms_most": 60_000, "restored_records_most": 9, "duration_is": "estimate"}
        result = Result(application_id="a", outcome=outcome, settles_surely=True, **figures, **more)
        for name in ("left", "cold", "pause", "moves", "restored"):
            assert picked(f"{name} > {'9h' if name in ('left', 'pause') else 999}", result) == (name in may_be_more)


def test_what_may_not_settle_and_what_is_only_known_to_take_as_long_may_take_longer() -> None:
    sure = Result(application_id="a", outcome="moving", settles_surely=True, duration_ms_most=1, duration_is="estimate")
    assert not picked("left > 1h", sure)
    for one in (replace(sure, settles_surely=False), replace(sure, duration_is="least")):
        assert picked("left > 1h", one)
        assert not picked("left < 1h", one)
    paused = replace(sure, max_paused_task_ms_most=5, pauses_are_least=True)
    assert picked("pause > 1h", paused)
    assert not picked("pause < 1h", paused)


def test_what_cannot_be_read_is_picked_by_every_figure_and_left_out_by_what_is_known_of_it() -> None:
    broken = Result(application_id="a", outcome="unreadable", error="no")
    for text in ("cold > 0", "cold = 0", "left < 1h", "restored != 3", "settles_surely = true and design = classic"):
        assert picked(text, broken)
    assert not picked("outcome = stuck", broken)
    assert not picked("cold > 0 and application = b", broken)
    assert picked("outcome = unreadable and application = a", broken)
    assert picked("application = b", replace(broken, application_id=None)), "whose it is nobody knows"


@given(st.lists(RESULTS))
def test_what_needs_somebody_comes_first(results: list[Result]) -> None:
    ordered = sorted(results, key=badness)
    ends = [OUTCOMES.index(result.outcome) for result in ordered]
    assert ends == sorted(ends)
    for result in results:
        if result.outcome not in ("moving", "settled"):
            assert is_bad(result)


def test_by_outcome_the_worst_comes_first() -> None:
    results = [Result(application_id="a", outcome=outcome) for outcome in sorted(OUTCOMES)]
    assert [one.outcome for one in sorted(results, key=by_figure("outcome"))] == list(OUTCOMES)


def test_who_is_at_risk_is_marked_and_comes_before_what_only_takes_long() -> None:
    long = Result(application_id="a", outcome="moving", settles_surely=True, duration_ms_most=9_000_000)
    bare = replace(long, application_id="b", duration_ms_most=1, standbys_missing=2)
    cold = replace(bare, application_id="c", cold_handovers_most=1)
    assert [is_bad(one) for one in (long, bare, cold)] == [False, True, True]
    assert sorted([long, bare, cold], key=badness) == [cold, bare, long]


@given(st.lists(RESULTS), st.sampled_from(["cold", "left", "restored"]))
def test_sorted_by_a_figure_the_unknown_comes_first_then_the_largest(results: list[Result], name: str) -> None:
    ordered = sorted(results, key=by_figure(name))
    unknown = [value_of(result, name) is None or is_least(result, name) for result in ordered]
    assert unknown == sorted(unknown, reverse=True)
    for among in (True, False):
        found = [value_of(result, name) or 0 for result, item in zip(ordered, unknown, strict=True) if item is among]
        assert found == sorted(found, reverse=True)


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
