"""The orders in which Java's hash tables and priority queues give their elements back.

Source: page ``rules``, "Standbys by tags".

Kafka's assignor iterates over ``java.util.HashMap``, ``HashSet`` and ``PriorityQueue`` in a few places, and that order
decides who gets a task there. Only orders are reproduced here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from kstream_plan.assignors.java.tree_bins import TreeBin
from kstream_plan.model.java_hash import INITIAL_BINS, LONGEST_CHAIN

T = TypeVar("T")

#: A longer chain than ``LONGEST_CHAIN`` becomes a tree only in a table of at least so many bins; a smaller one doubles.
LEAST_BINS_WITH_TREES = 64
#: A tree that a doubling leaves with at most so many keys becomes a chain again.
_SHORTEST_TREE = 6


def hash_order(hashes: Sequence[int] | npt.NDArray[np.int64]) -> list[int]:
    """Return the order in which a ``HashSet`` filled with task ids, one by one, iterates, as their positions.

    The ids must be distinct and sorted; ``hashes`` are :attr:`~kstream_plan.model.Group.table_hashes`.
    """
    order = _order_of_chains(np.asarray(hashes, dtype=np.int64))
    if order is not None:
        return order
    table = TaskHashTable(list(map(int, hashes)))
    for position in range(len(hashes)):
        table.put(position)
    return list(table)


def _order_of_chains(hashes: npt.NDArray[np.int64]) -> list[int] | None:
    """Return the order if every bin stays a short chain, as nearly always, else ``None``.

    A chain keeps the order of insertion whenever the table doubles, so only the last table counts.
    """
    bins = INITIAL_BINS
    while len(hashes) > bins * 3 // 4:
        bins *= 2
    if _any_long_chain(hashes, bins):
        return None
    order: list[int] = (hashes & bins - 1).argsort(kind="stable").tolist()
    return order


def _any_long_chain(hashes: npt.NDArray[np.int64], bins: int) -> bool:
    """Tell whether a chain is too long in the last table, or was in one before with the keys with which it doubled.

    With half the bins no chain is longer than two of these together: most of the smaller tables need no look.
    """
    while bins >= INITIAL_BINS:
        keys = hashes[: bins * 3 // 4 + 1]
        longest = int(np.bincount(keys & bins - 1).max()) if len(keys) > LONGEST_CHAIN else 1
        if longest > LONGEST_CHAIN:
            return True
        while longest <= LONGEST_CHAIN:
            bins, longest = bins // 2, longest * 2
    return False


class TaskHashTable:
    """A ``java.util.HashMap`` (or ``HashSet``) of task ids, made without a capacity, that never shrinks.

    Iterating goes bin by bin; a bin is a chain in order of insertion until it becomes a tree. Keys are the positions
    of the ids whose hashes it was made with, which must be distinct and sorted: Java compares ids of equal hashes.
    """

    def __init__(self, hashes: Sequence[int]) -> None:
        self.hashes = hashes
        self._bins: list[list[int]] = [[] for _ in range(INITIAL_BINS)]
        self._trees: dict[int, TreeBin] = {}
        self._size = 0

    def __iter__(self) -> Iterator[int]:
        for keys in self._bins:
            yield from keys

    def put(self, key: int) -> None:
        """Add a key that is not there yet."""
        index = self.hashes[key] & (len(self._bins) - 1)
        if index in self._trees:
            self._trees[index].put(key)
        else:
            self._bins[index].append(key)
            if len(self._bins[index]) > LONGEST_CHAIN:
                self._treeify(index)
        self._size += 1
        if self._size > len(self._bins) * 3 // 4:
            self._double()

    def remove(self, key: int) -> None:
        """Remove a key that is there; the table keeps its number of bins."""
        index = self.hashes[key] & (len(self._bins) - 1)
        if index not in self._trees:
            self._bins[index].remove(key)
        elif self._trees[index].remove(key):
            del self._trees[index]
        self._size -= 1

    def _treeify(self, index: int) -> None:
        if len(self._bins) < LEAST_BINS_WITH_TREES:
            self._double()
        else:
            self._trees[index] = TreeBin(self._bins[index], self.hashes)

    def _double(self) -> None:
        """Split every bin in two by one more bit of the hash; both halves keep the order they had."""
        hashes, bit = self.hashes, len(self._bins)
        low = [[key for key in keys if not hashes[key] & bit] for keys in self._bins]
        high = [[key for key in keys if hashes[key] & bit] for keys in self._bins]
        trees, self._trees = self._trees, {}
        self._bins = low + high
        for index, tree in trees.items():
            for half in (index, index + bit):
                keys = self._bins[half]
                if len(keys) <= _SHORTEST_TREE:
                    continue
                if len(keys) == len(tree.keys):
                    self._bins[half], self._trees[half] = tree.keys, tree
                else:
                    self._trees[half] = TreeBin(keys, hashes)


class PriorityQueue(Generic[T]):
    """A ``java.util.PriorityQueue``: a binary heap whose ties come out in Java's order.

    Items with equal keys are not told apart. Iterating gives the order of the heap's array, not of the keys.

    Args:
        items: what is in it at first; two or more are made a heap at once, as Java does with a collection.
        key: what items are compared by.
    """

    def __init__(self, items: Iterable[T], key: Callable[[T], Any]) -> None:
        self._items = list(items)
        self._keys = [key(item) for item in self._items]
        self._key = key
        for position in reversed(range(len(self._items) // 2)):
            self._sift_down(position, self._items[position], self._keys[position])

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def is_level(self) -> bool:
        """Tell whether all keys are equal."""
        keys = self._keys
        return not keys or (keys[0] == keys[-1] and keys.count(keys[0]) == len(keys))

    def offer(self, item: T) -> None:
        """Add an item."""
        items, keys, key = self._items, self._keys, self._key(item)
        position = len(items)
        items.append(item)
        keys.append(key)
        if position and key < keys[(position - 1) // 2]:
            self._sift_up(position, item, key)

    def poll(self) -> T:
        """Remove and return an item with the least key (there must be one)."""
        items = self._items
        first = items[0]
        last, key = items.pop(), self._keys.pop()
        if items:
            self._sift_down(0, last, key)
        return first

    def remove(self, item: T) -> None:
        """Remove the first item of the array that equals ``item`` (there must be one)."""
        self._remove_at(self._items.index(item))

    def _remove_at(self, position: int) -> None:
        """Fill the gap with the last item, sifted down or else up."""
        item, key = self._items.pop(), self._keys.pop()
        if position < len(self._items):
            self._sift_down(position, item, key)
            if self._items[position] == item:
                self._sift_up(position, item, key)

    def _sift_down(self, position: int, item: T, key: Any) -> None:
        items, keys = self._items, self._keys
        size = len(items)
        parents = size // 2
        while position < parents:
            child = 2 * position + 1
            least = keys[child]
            if child + 1 < size and keys[child + 1] < least:
                child += 1
                least = keys[child]
            if not least < key:
                break
            items[position], keys[position] = items[child], least
            position = child
        items[position], keys[position] = item, key

    def _sift_up(self, position: int, item: T, key: Any) -> None:
        items, keys = self._items, self._keys
        while position > 0 and key < keys[parent := (position - 1) // 2]:
            items[position], keys[position] = items[parent], keys[parent]
            position = parent
        items[position], keys[position] = item, key


def given_out_in_turn(
    items: Sequence[int], key: Callable[[int], Any], *, evenly: bool
) -> Generator[int, bool | None, None]:
    """Yield what a ``PriorityQueue`` gives out whose items, none negative, were added one by one.

    Whatever was yielded is offered again, with a key that has grown, before the next poll. It may be refused by sending
    true: then the next one is polled, -1 if there is none. When one has been taken, or after -1, those that were polled
    are offered again, the last one first.

    Once all keys are equal and every one grows by as much, what comes out until they are so again is a matter of the
    places in the array only, and so is the array then: no key is looked at any more.

    Args:
        items: what is in it.
        key: what items are compared by.
        evenly: whether all keys grow by the same amount every time.
    """
    queue: PriorityQueue[int] = PriorityQueue((), key)
    for item in items:
        queue.offer(item)
    while True:
        if evenly and queue.is_level():
            array, turn = list(queue), -1
            order, next_order = _level_turn(len(array))
            while turn < 0:
                for position, place in enumerate(order):
                    if (yield array[place]):
                        turn = position
                        break
                else:
                    array = [array[place] for place in next_order]
            queue = PriorityQueue((array[place] for place in _places_after(len(array), turn)), key)
            polled, is_refused = [queue.poll()], True
        else:
            polled = [queue.poll()]
            is_refused = bool((yield polled[0]))
        while is_refused and len(queue):
            polled.append(queue.poll())
            is_refused = bool((yield polled[-1]))
        if is_refused:
            yield -1
        for item in reversed(polled):
            queue.offer(item)


@cache
def _level_turn(size: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return in which order places of a level queue come out, and what places the array is made of after that."""
    keys = [0] * size
    queue: PriorityQueue[int] = PriorityQueue(range(size), keys.__getitem__)
    return tuple(_turns(queue, keys, size)), tuple(queue)


@lru_cache(maxsize=512)
def _places_after(size: int, turns: int) -> Sequence[int]:
    """Return which places of a level queue its array is made of after some turns, at most as many as there are."""
    keys = [0] * size
    queue: PriorityQueue[int] = PriorityQueue(range(size), keys.__getitem__)
    _turns(queue, keys, turns)
    return tuple(queue)


def _turns(queue: PriorityQueue[int], keys: list[int], number: int) -> list[int]:
    """Poll so many times, offer what was polled again with a larger key, and return it."""
    polled = []
    for _ in range(number):
        place = queue.poll()
        keys[place] += 1
        queue.offer(place)
        polled.append(place)
    return polled
