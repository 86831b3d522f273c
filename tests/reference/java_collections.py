"""Java's ``HashMap`` (and ``HashSet``) and ``PriorityQueue``, as far as their order shows in an assignment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

TREEIFY_THRESHOLD, MIN_TREEIFY_CAPACITY = 8, 64


class Hashed(Protocol):
    """Has a Java ``hashCode()``."""

    def hash_code(self) -> int: ...


K = TypeVar("K", bound=Hashed)
E = TypeVar("E")


class TreeBinError(Exception):
    """A bin of a hash table would become a tree, whose order is not followed here."""


def to_int(value: int) -> int:
    """Wrap a number as Java's ``int`` does."""
    return (value + 2**31) % 2**32 - 2**31


def utf_16(text: str) -> bytes:
    """Return a key that sorts as ``String.compareTo``."""
    return text.encode("utf-16-be", "surrogatepass")


def string_hash_code(text: str) -> int:
    """``String.hashCode``."""
    units, code = utf_16(text), 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = to_int(31 * code + (high << 8 | low))
    return code


class HashSet(Generic[K]):
    """``java.util.HashSet``, and the keys of a ``java.util.HashMap``: bins that are chains, doubled when they fill."""

    def __init__(self, elements: Iterable[K] = ()) -> None:
        self.table: list[list[K]] = [[] for _ in range(16)]
        self.size = 0
        for element in elements:
            self.add(element)

    def __iter__(self) -> Iterator[K]:
        return (element for chain in self.table for element in chain)

    def __len__(self) -> int:
        return self.size

    def add(self, element: K) -> None:
        """``HashMap.putVal``."""
        chain = self._bin(element)
        if element in chain:
            return
        chain.append(element)
        if len(chain) > TREEIFY_THRESHOLD:
            if len(self.table) >= MIN_TREEIFY_CAPACITY:
                raise TreeBinError
            self.resize()
        self.size += 1
        if self.size > 0.75 * len(self.table):
            self.resize()

    def resize(self) -> None:
        """``HashMap.resize``: who stays in a bin, and who leaves it for the one in the new half, keeps its order."""
        chains = self.table
        self.table = [[] for _ in range(2 * len(chains))]
        for chain in chains:
            for element in chain:
                self._bin(element).append(element)

    def _bin(self, element: K) -> list[K]:
        code = element.hash_code() % 2**32
        return self.table[(code ^ code >> 16) % len(self.table)]


class PriorityQueue(Generic[E]):
    """``java.util.PriorityQueue``: a heap that compares by ``key`` as it is at that moment."""

    def __init__(self, key: Callable[[E], Any], elements: Iterable[E] = ()) -> None:
        self.key = key
        self.queue = list(elements)
        for k in range(len(self.queue) // 2 - 1, -1, -1):  # heapify
            self.sift_down(k, self.queue[k])

    def __iter__(self) -> Iterator[E]:
        return iter(self.queue)

    def __len__(self) -> int:
        return len(self.queue)

    def offer(self, element: E) -> None:
        """``PriorityQueue.offer``."""
        self.queue.append(element)
        self.sift_up(len(self.queue) - 1, element)

    def poll(self) -> E:
        """``PriorityQueue.poll``, of a queue that is not empty."""
        first, last = self.queue[0], self.queue.pop()
        if self.queue:
            self.sift_down(0, last)
        return first

    def remove(self, element: E) -> None:
        """``PriorityQueue.remove(Object)`` with ``removeAt``."""
        index = self.queue.index(element)
        moved = self.queue.pop()
        if index < len(self.queue):
            self.sift_down(index, moved)
            if self.queue[index] == moved:
                self.sift_up(index, moved)

    def sift_up(self, k: int, element: E) -> None:
        """``PriorityQueue.siftUp``."""
        key = self.key(element)
        while k > 0:
            parent = (k - 1) // 2
            if key >= self.key(self.queue[parent]):
                break
            self.queue[k] = self.queue[parent]
            k = parent
        self.queue[k] = element

    def sift_down(self, k: int, element: E) -> None:
        """``PriorityQueue.siftDown``."""
        key, half = self.key(element), len(self.queue) // 2
        while k < half:
            child = 2 * k + 1
            right = child + 1
            if right < len(self.queue) and self.key(self.queue[child]) > self.key(self.queue[right]):
                child = right
            if key <= self.key(self.queue[child]):
                break
            self.queue[k] = self.queue[child]
            k = child
        self.queue[k] = element
