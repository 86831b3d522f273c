"""A sequence that shares its pieces is, version by version, what a tuple would be."""

from __future__ import annotations

from contextlib import AbstractContextManager
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import state
from kstream_plan.model.state import SharedSequence


@given(st.data())
def test_every_version_is_what_a_tuple_would_be(data: st.DataObject) -> None:
    with _small_pieces(data.draw(st.integers(0, 2))):
        literal = tuple(data.draw(st.lists(st.integers(), max_size=20)))
        versions = [(SharedSequence(literal), literal)]
        for _ in range(data.draw(st.integers(0, 6))):
            result, literal = versions[-1]
            if literal:
                items_at = data.draw(st.dictionaries(st.integers(0, len(literal) - 1), st.integers()))
                versions.append(
                    (result.replaced(items_at), tuple(items_at.get(at, item) for at, item in enumerate(literal)))
                )
        for result, literal in versions:
            assert (tuple(result), len(result), result, hash(result)) == (literal, len(literal), literal, hash(literal))
            assert [result[at] for at in range(-len(literal), len(literal))] == [*literal, *literal]
            assert result[1:-1] == literal[1:-1]
            for beyond in (len(literal), -len(literal) - 1):
                with pytest.raises(IndexError):
                    result[beyond]


@given(st.lists(st.integers(0, 3), max_size=20), st.data())
def test_what_differs_is_found_in_any_version(items: list[int], data: st.DataObject) -> None:
    with _small_pieces(data.draw(st.integers(0, 2))):
        first = SharedSequence([[item] for item in items])
        changes = st.dictionaries(st.integers(0, len(items) - 1), st.just([9])) if items else st.just({})
        last = first.replaced(data.draw(changes)).replaced(data.draw(changes))
        wanted = [at for at in range(len(items)) if first[at] is not last[at]]
        assert last.unlike(first) == first.unlike(last) == wanted
        assert last.unlike(SharedSequence(tuple(first))) == wanted


def _small_pieces(shift: int) -> AbstractContextManager[object]:
    """Let a piece have 2^shift items."""
    size = 1 << shift
    return mock.patch.multiple(state, _SHIFT=shift, _PIECE=size, _WITHIN=size - 1)
