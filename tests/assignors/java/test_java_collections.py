"""Hash tables and priority queues give their elements back in Java's order (recorded from Java 17)."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from heapq import heapify, heappop
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.assignors.java.collections import (
    PriorityQueue,
    TaskHashTable,
    given_out_in_turn,
    hash_order,
)
from kstream_plan.assignors.java.tree_bins import TreeBin
from kstream_plan.model import TaskId
from kstream_plan.model.java_hash import hash_in_table, signed_int, string_hash, task_id_hash
from tests.helpers.kafka_cases import VECTORS

RECORDED: dict[str, Any] = json.loads(gzip.decompress((VECTORS / "java-orders.json.gz").read_bytes()))
#: Ids of which up to fifteen have the same hash, so that bins become trees.
COLLIDING = [TaskId(s, 31 * (14 - s) + d) for s in range(15) for d in (0, 1, 16)]
COLLIDING += [TaskId(s, p) for s in range(3) for p in range(900, 960)]
COLLIDING.sort(key=lambda task_id: task_id.sort_key)


def _hashes(ids: Sequence[TaskId]) -> list[int]:
    return [hash_in_table(*task_id) for task_id in ids]


@pytest.mark.parametrize("case", RECORDED["hash_tables"], ids=lambda case: case["name"])
def test_a_hash_table_iterates_as_javas(case: dict[str, Any]) -> None:
    ids = sorted(map(TaskId.parse, case["put"]), key=lambda task_id: task_id.sort_key)
    position = {str(task_id): n for n, task_id in enumerate(ids)}
    table = TaskHashTable(_hashes(ids))
    for step, change, order in (
        ("put", table.put, "order"),
        ("remove", table.remove, "order_after_removing"),
        ("put_again", table.put, "order_at_last"),
    ):
        for text in case[step]:
            change(position[text])
        assert [str(ids[n]) for n in table] == case[order]


def test_a_hash_set_filled_in_order_iterates_as_javas() -> None:
    case = next(case for case in RECORDED["hash_tables"] if case["name"] == "several bins become trees and are split")
    ids = [TaskId.parse(text) for text in case["put"]]
    assert [str(ids[n]) for n in hash_order(_hashes(ids))] == case["order"]


@given(
    st.one_of(
        st.sets(st.sampled_from(COLLIDING)),
        st.tuples(st.integers(0, 2000), st.integers(1, 400)).map(
            lambda drawn: {TaskId(2, partition) for partition in range(drawn[0], drawn[0] + drawn[1])}
        ),
    )
)
def test_a_hash_set_filled_in_order_iterates_as_the_table_does(drawn: set[TaskId]) -> None:
    ids = sorted(drawn, key=lambda task_id: task_id.sort_key)
    table = TaskHashTable(_hashes(ids))
    for position in range(len(ids)):
        table.put(position)
    assert hash_order(_hashes(ids)) == list(table)


@pytest.mark.parametrize(("text", "value"), RECORDED["string_hashes"].items())
def test_strings_hash_by_utf_16(text: str, value: int) -> None:
    assert string_hash(text) == value


@pytest.mark.parametrize(("text", "value"), RECORDED["task_id_hashes"].items())
def test_task_ids_hash_in_32_bits(text: str, value: int) -> None:
    assert task_id_hash(*TaskId.parse(text)) == value


def test_ints_wrap_at_32_bits() -> None:
    assert [signed_int(n) for n in (2**31 - 1, 2**31, -(2**31) - 1, 2**32)] == [2**31 - 1, -(2**31), 2**31 - 1, 0]


@pytest.mark.parametrize("case", RECORDED["priority_queues"])
def test_a_priority_queue_keeps_javas_array(case: dict[str, Any]) -> None:
    queue = PriorityQueue([tuple(item) for item in case["items"]], key=lambda item: item[0])
    assert [list(item) for item in queue] == case["array"]
    for step in case["operations"]:
        item = tuple(step["item"])
        if step["operation"] == "poll":
            assert queue.poll() == item
        else:
            getattr(queue, step["operation"])(item)
        assert [list(item) for item in queue] == step["array"]
        assert len(queue) == len(step["array"])


@given(st.lists(st.integers(), unique=True, max_size=40))
def test_without_equal_items_heapq_keeps_the_same_array(items: list[int]) -> None:
    queue, heap = PriorityQueue(items, key=int), list(items)
    heapify(heap)
    while heap:
        assert list(queue) == heap
        assert queue.poll() == heappop(heap)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=20),
    st.booleans(),
    st.integers(1, 3),
    st.floats(0, 0.5),
    st.randoms(),
)
def test_what_is_given_out_in_turn_is_what_a_queue_gives_out(
    keys: list[int], evenly: bool, more: int, refusing: float, chance: random.Random
) -> None:
    """Turns are known beforehand once all keys are equal, until one is refused; keys that grow unevenly never are."""
    size = len(keys)
    queue = PriorityQueue[int]((), keys.__getitem__)
    for item in range(size):
        queue.offer(item)
    turns = given_out_in_turn(range(size), keys.__getitem__, evenly=evenly)
    found = next(turns)
    for _ in range(5 * size + 40):
        refused = {item for item in range(size) if chance.random() < refusing}
        polled = [queue.poll()]
        while polled[-1] in refused and len(queue):
            polled.append(queue.poll())
        while found >= 0 and found in refused:
            found = turns.send(True)
        assert found == (-1 if polled[-1] in refused else polled[-1])
        if found >= 0:
            keys[found] += more if evenly else more + found % 2
        for item in reversed(polled):
            queue.offer(item)
        found = next(turns)


@given(st.lists(st.sampled_from(range(len(COLLIDING))), unique=True), st.data())
def test_a_table_holds_what_was_put_and_not_removed(puts: list[int], data: st.DataObject) -> None:
    table = TaskHashTable(_hashes(COLLIDING))
    for key in puts:
        table.put(key)
    removed = data.draw(st.lists(st.sampled_from(puts), unique=True)) if puts else []
    for key in removed:
        table.remove(key)
    assert sorted(table) == sorted(set(puts) - set(removed))


@given(st.lists(st.integers(0, 7), min_size=9, max_size=60), st.data())
def test_a_tree_stays_a_red_black_tree_with_its_root_first(hashes: list[int], data: st.DataObject) -> None:
    first = data.draw(st.integers(9, len(hashes)))
    tree = TreeBin(list(range(first)), hashes)
    for key in range(first, len(hashes)):
        tree.put(key)
        _check(tree, hashes)
    while len(tree.keys) > 1 and not tree.remove(data.draw(st.sampled_from(tree.keys))):
        _check(tree, hashes)


def _check(tree: TreeBin, hashes: list[int]) -> None:
    """The keys in the tree are those of the list and in order; equally many black nodes on every way down."""

    def walk(node: Any) -> tuple[list[int], int]:
        if node is None:
            return [], 1
        assert node.parent is None or not (node.red and node.parent.red)
        (left, black), (right, same) = map(walk, node.children)
        assert black == same
        return [*left, node.key, *right], black + (not node.red)

    root = tree._root
    assert not root.red
    assert tree.keys[0] == root.key
    assert walk(root)[0] == sorted(tree.keys, key=lambda key: (hashes[key], key))
