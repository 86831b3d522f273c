"""``java.util.PriorityQueue`` of instances whose loads change while they are queued, as Kafka's priority set uses it.

Source: page ``rules``, "Movements".

Between two changes the queue is nearly always a heap, and then Python's ``heapq`` leaves the very array behind that
Java does (keys are distinct, so an element's place on the way it sinks or rises is unique). Only where it is no heap,
Java's own way of sinking is followed.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from heapq import heappop, heappush
from math import lcm
from operator import le
from typing import TypeAlias

#: What one movement did to the queue: (polls, source, destination, gain, loss). ``polls`` are the instances that each
#: poll would have accepted, in order; one that accepts none empties the queue and fills it anew. Then the source weighs
#: ``gain`` tasks more and the destination ``loss`` fewer (0 or 1 each), and both are offered again; the source is
#: ``None`` if nothing was moved. A plain tuple, for there is one for each of thousands of movements.
Handled: TypeAlias = tuple[tuple[Sequence[int], ...], int | None, int, int, int]


def weights_of(capacities: Sequence[int]) -> list[int]:
    """Return what a task more adds to the key of each instance, which has so many stream threads.

    A key stands for (load, instance) as one whole number: the load in a unit that divides all, then the instance.
    """
    unit = lcm(*capacities)
    return [unit // capacity * len(capacities) for capacity in capacities]


def keys_of(counts: Sequence[int], weights: Sequence[int]) -> list[int]:
    """Return the keys of instances that have so many tasks."""
    return [count * weight + i for i, (count, weight) in enumerate(zip(counts, weights, strict=True))]


class InstanceQueue:
    """The queue and Kafka's set around it.

    Args:
        keys: those of the instances at first; all are offered in order.
        weights: what a task more adds to each.
        hashes: the hash of each instance's process id.
    """

    def __init__(self, keys: Sequence[int], weights: Sequence[int], hashes: Sequence[int]) -> None:
        self._number = len(keys)
        self._weights, self._keys = weights, list(keys)
        self._hashes = hashes
        #: number of buckets → the bucket that each key falls into
        self._buckets: dict[int, _Buckets] = {}
        self._is_heap = True
        self._hold([])
        for key in keys:
            self._offer(key)

    def copy(self) -> InstanceQueue:
        """Return a queue that shares nothing that changes."""
        twin = object.__new__(InstanceQueue)
        twin._number, twin._weights, twin._hashes = self._number, self._weights, self._hashes
        twin._is_heap, twin._buckets = self._is_heap, self._buckets
        twin._keys = self._keys.copy()
        twin._hold(self._heap.copy())
        return twin

    def _hold(self, heap: list[int]) -> None:
        self._heap = heap
        self._offer, self._poll_first = partial(heappush, heap), partial(heappop, heap)

    def handle(self, entry: Handled) -> None:
        """Do to the queue what a movement did."""
        polls, source, destination, gain, loss = entry
        found = -1
        for accepted in polls:
            found = self.first_of(accepted)
        if source is None:
            return
        keys, heap = self._keys, self._heap
        was = keys[destination]
        if found < 0:
            self._change(source, gain)
            self._change(destination, -loss)
            self._remove(keys[source])
        else:  # it has just been taken out
            keys[source] += gain * self._weights[source]
            self._change(destination, -loss)
        heappush(heap, keys[source])
        self._remove(keys[destination])
        heappush(heap, keys[destination])
        # Only who is put below a heavier one can break the order: who is offered while the other one is lighter than
        # its place in the queue.
        stays = self._is_heap and (loss == 0 or (found >= 0 and not keys[destination] <= keys[source] < was))
        self._is_heap = stays or self._check()

    def first_of(self, accepted: Collection[int]) -> int:
        """Poll until an accepted instance comes out, and offer the others again; -1 if none does."""
        wanted = [self._keys[instance] for instance in accepted]
        found, refused = self._poll_in_order(wanted) if self._is_heap else self._poll_until(wanted)
        deque(map(self._offer, self._in_hash_order(refused)), maxlen=0)
        self._is_heap = self._is_heap or self._check()
        return found

    def _poll_in_order(self, wanted: Collection[int]) -> tuple[int, list[int]]:
        """Poll a heap, which gives out the lightest of them after all that are lighter; return it and these."""
        heap = self._heap
        if not wanted:
            refused = sorted(heap)
            heap.clear()
            return -1, refused
        first = min(wanted)
        return first % self._number, list(iter(self._poll_first, first))

    def _poll_until(self, wanted: Collection[int]) -> tuple[int, list[int]]:
        """Poll until a wanted one comes out; return it (-1: none does) and those before."""
        heap, refused = self._heap, list[int]()
        while heap:
            key = self._poll(heap)
            if key in wanted:
                return key % self._number, refused
            refused.append(key)
        return -1, refused

    def _change(self, instance: int, change: int) -> None:
        """Let an instance that is queued weigh more or less, in its place."""
        was = self._keys[instance]
        self._keys[instance] = now = was + change * self._weights[instance]
        self._heap[self._heap.index(was)] = now

    def _check(self) -> bool:
        """Tell whether the queue is a heap just now."""
        heap = self._heap  # the children of each place are at twice the place, and one and two more
        return all(map(le, heap, heap[1::2])) and all(map(le, heap, heap[2::2]))

    def _in_hash_order(self, keys: list[int]) -> list[int]:
        """Sort, in place, as a ``java.util.HashSet`` of process ids filled in this order iterates."""
        buckets = 16
        while len(keys) > buckets * 3 // 4:
            buckets *= 2
        bucket_of = self._buckets.get(buckets)
        if bucket_of is None:
            bucket_of = self._buckets[buckets] = _Buckets(code & (buckets - 1) for code in self._hashes)
        keys.sort(key=bucket_of.__getitem__)
        return keys

    def _poll(self, heap: list[int]) -> int:
        first, last = heap[0], heap.pop()
        if heap:
            self._sink(0, last)
        return first

    def _remove(self, key: int) -> None:
        """Fill the gap with the last element, which sinks or else rises."""
        heap = self._heap
        at, last = heap.index(key), heap.pop()
        if at < len(heap):
            self._sink(at, last)
            if heap[at] == last:
                self._rise(at, last)

    def _rise(self, at: int, key: int) -> None:
        heap = self._heap
        while at > 0 and key < heap[parent := (at - 1) // 2]:
            heap[at] = heap[parent]
            at = parent
        heap[at] = key

    def _sink(self, at: int, key: int) -> None:
        heap, size = self._heap, len(self._heap)
        while (child := 2 * at + 1) < size:
            if child + 1 < size and heap[child] > heap[child + 1]:
                child += 1
            if key <= heap[child]:
                break
            heap[at] = heap[child]
            at = child
        heap[at] = key


class _Buckets(dict[int, int]):
    """The bucket that each key falls into, made out of the instances' as it is asked for."""

    def __init__(self, of_instances: Iterable[int]) -> None:
        super().__init__()
        self._of_instances = list(of_instances)

    def __missing__(self, key: int) -> int:
        bucket = self[key] = self._of_instances[key % len(self._of_instances)]
        return bucket


def uuid_hash(process_id: str) -> int:
    """Return ``UUID.hashCode()`` as ``java.util.HashMap`` spreads it; 0 for other ids, which Kafka does not have."""
    try:
        value = uuid.UUID(process_id).int
    except ValueError:
        return 0
    mixed = (value >> 64) ^ (value & (2**64 - 1))
    code = (mixed >> 32) ^ (mixed & (2**32 - 1))
    return code ^ code >> 16
