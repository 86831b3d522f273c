"""Movements as numbers are what a tuple of them would be."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Movement, Movements
from kstream_plan.model.decision import HOWS, KINDS

_MOVEMENTS = st.builds(
    Movement,
    task=st.integers(0, 9),
    kind=st.sampled_from(KINDS),
    how=st.sampled_from(HOWS),
    source=st.integers(0, 9),
    destination=st.integers(0, 9),
    warmup=st.booleans(),
)


@given(st.lists(_MOVEMENTS, max_size=8), st.sets(st.integers(0, 9)))
def test_movements_are_what_a_tuple_of_them_would_be(literal: list[Movement], tasks: set[int]) -> None:
    movements, wanted = Movements.of(literal), tuple(literal)
    assert (movements, len(movements), movements[:3], repr(movements)) == (
        wanted,
        len(wanted),
        wanted[:3],
        repr(wanted),
    )
    assert movements == Movements.of(movements) == pickle.loads(pickle.dumps(movements))
    assert hash(movements) == hash(Movements.of(wanted))
    assert movements != [*wanted]
    assert [movements[at] for at in range(-len(wanted), len(wanted))] == [*literal, *literal]
    assert movements.tasks == {movement.task for movement in wanted}
    assert movements.of_tasks(tasks) == [movement for movement in wanted if movement.task in tasks]
    with pytest.raises(IndexError):
        movements[len(wanted)]
