"""Polls: how often a source is asked, when it is waited for, and when nobody waits any more."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import ClusterError, SnapshotError
from kstream_plan.live.polls import polls
from tests.helpers.clocks import SetClock

EVERY_MS = 5_000


def answers(*each: object):
    """Return what answers with these in turn, and with the last one from then on; exceptions are raised."""
    rest = itertools.chain(each, itertools.repeat(each[-1]))

    def ask(_now_ms: int) -> object:
        answer = next(rest)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ask


@given(every_ms=st.integers(1_000, 60_000), give_up_after_ms=st.integers(0, 600_000))
def test_a_source_is_asked_at_equal_times_and_once_more_at_the_end(every_ms: int, give_up_after_ms: int) -> None:
    clock = SetClock(0)
    found = list(polls(answers("here"), clock, every_ms=every_ms, give_up_after_ms=give_up_after_ms))
    assert [poll.at_ms for poll in found[:-1]] == list(range(0, give_up_after_ms, every_ms))
    assert found[-1].at_ms == clock.time_ms == give_up_after_ms
    assert {poll.answer for poll in found} == {"here"}


def test_a_source_that_is_away_is_asked_ever_more_rarely_and_then_as_before() -> None:
    away, clock = ClusterError("does not answer"), SetClock(0)
    asked = polls(answers("here", *[away] * 6, "here"), clock, every_ms=EVERY_MS)
    found = list(itertools.islice(asked, 10))
    assert clock.slept == [5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000, 5_000, 5_000]
    assert [poll.problem for poll in found] == [None, *[away] * 6, None, None, None]


def test_a_source_that_has_never_answered_is_an_error_at_once() -> None:
    clock = SetClock(0)
    with pytest.raises(ClusterError, match="does not answer"):
        list(polls(answers(ClusterError("does not answer")), clock, every_ms=EVERY_MS))
    assert clock.slept == []


def test_a_group_that_is_not_as_it_has_to_be_is_asked_again_as_often() -> None:
    clock = SetClock(0)
    found = list(itertools.islice(polls(answers(SnapshotError("rebalances"), "here"), clock, every_ms=EVERY_MS), 2))
    assert [poll.answer for poll in found] == [None, "here"]
    assert clock.slept == [EVERY_MS]


def test_what_is_wrong_with_the_question_is_not_waited_for() -> None:
    with pytest.raises(KeyError):
        list(polls(answers("here", KeyError("no such design")), SetClock(0), every_ms=EVERY_MS))
