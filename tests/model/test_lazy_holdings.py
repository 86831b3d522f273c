"""Holdings that are made when they are read are what a tuple of the same would be."""

from __future__ import annotations

import pickle

import pytest

from kstream_plan.model import Holding, Holdings, LazyHoldings, no_owners
from kstream_plan.model.holding_changes import apart_from_stateless, extra_copies, unlike
from tests.helpers.small_groups import group

GROUP = group(stateful=4, stateless=1)
HELD = (Holding((0, 1)), Holding((2,), warmup=(3,)), *[Holding()] * 4)
OTHER = (Holding((0,)), *HELD[1:])


def _lazy(held: tuple[Holding, ...] = HELD) -> LazyHoldings:
    """They can be made once."""
    result = iter([held])
    return LazyHoldings(len(held), lambda: next(result), 1)


def _unread() -> LazyHoldings:
    def never() -> tuple[Holding, ...]:
        raise AssertionError("nobody is to look at it")

    return LazyHoldings(len(HELD), never, 5)


def test_they_are_a_sequence_of_holdings() -> None:
    held = _lazy()
    assert (tuple(held), held[1], held[-6], held[1:3], len(held)) == (HELD, HELD[1], HELD[0], HELD[1:3], 6)
    assert (hash(held), repr(held)) == (hash(HELD), repr(HELD))
    assert held[0] is HELD[0]
    with pytest.raises(IndexError):
        held[6]


def test_they_equal_others_of_the_same() -> None:
    same, other = Holdings(HELD, GROUP.stateless, no_owners(GROUP)), _lazy(OTHER)
    for one in (HELD, _lazy(), same, Holdings(_lazy(), GROUP.stateless, no_owners(GROUP))):
        held = _lazy()
        assert (held == one, one == held, held != one) == (True, True, False)
        assert (other == one, one == other) == (False, False)
    assert _lazy() != [*HELD]


def test_they_are_pickled_as_a_tuple() -> None:
    held = _lazy()
    assert pickle.loads(pickle.dumps(held)) == HELD
    both = pickle.loads(pickle.dumps((held, Holdings(held, GROUP.stateless, no_owners(GROUP)))))
    assert isinstance(both[0], tuple)
    assert both[1].stateful is both[0]


def test_they_are_not_made_for_what_is_known_without() -> None:
    held = _unread()
    both = Holdings(held, GROUP.stateless, no_owners(GROUP))
    given = no_owners(GROUP)
    given[0] = 2
    assert (len(held), len(both), held == held, apart_from_stateless(both)) == (6, 6, True, held)  # noqa: PLR0124
    assert list(unlike(held, held)) == []
    assert list(unlike(both, Holdings(held, GROUP.stateless, given))) == [2]
    assert list(extra_copies([HELD, OTHER, held, both, HELD])) == [1, 1, 5, 5, 1]


def test_the_consumers_that_hold_another_object_are_told() -> None:
    assert list(unlike(_lazy(), OTHER)) == list(unlike(OTHER, _lazy())) == [0]
