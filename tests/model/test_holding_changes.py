"""What changed from one state to the next is what sets would say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Holding
from kstream_plan.model.holding_changes import changed_holdings, difference, times_in

_tasks = st.sets(st.integers(0, 40)).map(sorted).map(tuple)


@given(_tasks, _tasks)
def test_difference(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    assert difference(before, after) == (sorted(set(before) - set(after)), sorted(set(after) - set(before)))


@given(_tasks, st.sets(st.integers(0, 40), max_size=4))
def test_difference_of_what_is_mostly_alike(before: tuple[int, ...], changed: set[int]) -> None:
    after = tuple(sorted(set(before) ^ changed))
    assert difference(before, after) == (sorted(changed & set(before)), sorted(changed - set(before)))


@given(st.lists(st.integers(0, 5)).map(sorted), st.integers(0, 5))
def test_times_in(tasks: list[int], task: int) -> None:
    assert times_in(tasks, task) == tasks.count(task)


_holdings = st.lists(
    st.sampled_from([Holding(), Holding((1,)), Holding((2,)), Holding((1, 2))]), min_size=3, max_size=3
)


@given(st.lists(_holdings, max_size=6))
def test_what_changed_leads_from_one_state_to_the_next(states: list[list[Holding]]) -> None:
    now = [Holding()] * 3
    for index, changes in changed_holdings(states):
        for consumer, before, after in changes:
            assert now[consumer] == before
            now[consumer] = after
        assert now == states[index]
