"""A sequence that shares its pieces is, version by version, what a tuple would be."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Movement, shared_sequence
from kstream_plan.model.movement_queue import MovementQueue
from kstream_plan.model.shared_sequence import SharedSequence


@given(st.data())
def test_every_version_is_what_a_tuple_would_be(data: st.DataObject) -> None:
    with mock.patch.object(shared_sequence, "_PIECE", data.draw(st.integers(1, 4))):
        literal = tuple(data.draw(st.lists(st.integers(), max_size=20)))
        versions = [(SharedSequence(literal), literal)]
        for _ in range(data.draw(st.integers(0, 6))):
            made, literal = versions[-1]
            if data.draw(st.booleans()):
                first = data.draw(st.integers(0, len(literal)))
                removed = data.draw(st.integers(0, len(literal) - first))
                items = data.draw(st.lists(st.integers(), max_size=10))
                versions.append(
                    (made.spliced(first, removed, items), (*literal[:first], *items, *literal[first + removed :]))
                )
            elif literal:
                items_at = data.draw(st.dictionaries(st.integers(0, len(literal) - 1), st.integers()))
                versions.append(
                    (made.replaced(items_at), tuple(items_at.get(at, item) for at, item in enumerate(literal)))
                )
        for made, literal in versions:
            assert (tuple(made), len(made), made, hash(made)) == (literal, len(literal), literal, hash(literal))
            assert [made[at] for at in range(-len(literal), len(literal))] == [*literal, *literal]
            assert made[1:-1] == literal[1:-1]
            for beyond in (len(literal), -len(literal) - 1):
                with pytest.raises(IndexError):
                    made[beyond]


@given(st.lists(st.integers(0, 30)), st.integers(-1, 31), st.integers(1, 4))
def test_a_place_is_the_first_that_is_not_below(items: list[int], key: int, piece: int) -> None:
    items.sort()
    with mock.patch.object(shared_sequence, "_PIECE", piece):
        assert SharedSequence(items).place(key) == sum(item < key for item in items)


@given(st.data())
def test_a_queue_of_movements_is_sorted_by_those_caught_up_then_by_task(data: st.DataObject) -> None:
    caught_up = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=12))
    literal = {task: _movement(task, 0) for task in sorted(data.draw(st.sets(st.integers(0, len(caught_up) - 1))))}
    queue = MovementQueue(literal.values(), caught_up.__getitem__)
    for destination in range(1, data.draw(st.integers(1, 8))):
        task = data.draw(st.integers(0, len(caught_up) - 1))
        if task not in literal:
            literal[task] = _movement(task, destination)
            queue = queue.with_one(caught_up[task], literal[task])
        elif data.draw(st.booleans()):
            literal[task] = _movement(task, destination)
            queue = queue.replaced(literal[task])
        else:
            del literal[task]
            queue = queue.without(task)
    order = sorted(literal, key=lambda task: (caught_up[task], task))
    wanted = tuple(literal[task] for task in order)
    assert (queue, len(queue), hash(queue), queue[:3]) == (wanted, len(wanted), hash(wanted), wanted[:3])
    for task, number in enumerate(caught_up):
        assert queue.of(task) == literal.get(task)
        assert queue.place(number, task) == sum((caught_up[other], other) < (number, task) for other in order)
    few, many = queue.parted(2)
    assert few == tuple(literal[task] for task in order if caught_up[task] < 2)
    assert many == tuple(literal[task] for task in order if caught_up[task] >= 2)


def _movement(task: int, destination: int) -> Movement:
    return Movement(task, "active", "move_caught_up", 0, destination, warmup=False)
