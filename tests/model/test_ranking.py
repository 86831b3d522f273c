"""KIP-441: lag to rank."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import LATEST, UNKNOWN, GroupState
from kstream_plan.model.ranking import is_caught_up, rank, ranked_candidates
from kstream_plan.model.settings import MAX_LONG
from tests.helpers import strategies

limits = st.sampled_from([0, 1, 100, 10_000, MAX_LONG])


def test_the_running_owner_is_caught_up_whatever_the_limit() -> None:
    assert is_caught_up(LATEST, 0)
    assert rank(LATEST, 1000, 0) == 0


def test_an_unknown_offset_sum_is_never_caught_up_but_under_an_unbounded_limit() -> None:
    assert not is_caught_up(UNKNOWN, MAX_LONG - 1)
    assert is_caught_up(UNKNOWN, MAX_LONG)
    assert rank(UNKNOWN, 1000, 100) == 1000


def test_no_state_ranks_as_the_whole_sum_and_is_caught_up_where_that_is_within_the_limit() -> None:
    assert rank(None, 1000, 100) == 1000
    assert rank(None, 1000, 1000) == 0


def test_a_lag_above_the_limit_is_its_own_rank_without_flooring() -> None:
    assert [rank(lag, 10**6, 100) for lag in (0, 100, 101, 54_321)] == [0, 0, 101, 54_321]


def _with_tasks(states: st.SearchStrategy[GroupState]) -> st.SearchStrategy[GroupState]:
    return states.filter(lambda state: state.group.stateful)


@given(_with_tasks(strategies.group_states()), limits)
def test_every_instance_is_a_candidate_once_and_they_come_by_rank_then_instance(state: GroupState, limit: int) -> None:
    for task in state.group.stateful:
        candidates = ranked_candidates(state, task, limit)
        assert sorted(c.instance for c in candidates) == list(range(len(state.group.instances)))
        assert [(c.rank, c.instance) for c in candidates] == sorted((c.rank, c.instance) for c in candidates)
