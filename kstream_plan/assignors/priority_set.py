"""Kafka's priority set of instances, to the last tie (reference section 4, "details that change results").

While tasks are moved, Kafka keeps the instances in a ``java.util.PriorityQueue`` by (load, instance). Loads change
while an instance is queued, so the queue is not always a heap, and then it may not give out the least loaded one.
That is rare and only matters where a choice between two instances is left; so the set gives the true minimum as long
as the queue is surely a heap, and replays what happened to the queue where it may not be.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from typing import NamedTuple

from kstream_plan.model import Group


class Handled(NamedTuple):
    """What one movement did to the queue.

    ``polls`` are the instances each poll would have accepted, in order (a poll that accepts none empties the queue
    and fills it anew); ``source`` then weighs one task more by ``gain``, ``destination`` one less by ``loss`` (0 or
    1), and both are offered again. ``source`` is ``None`` if nothing was moved.
    """

    polls: tuple[Sequence[int], ...]
    source: int | None
    destination: int
    gain: int = 0
    loss: int = 0

    @property
    def refills(self) -> bool:
        """Whether a poll of it found nobody."""
        return not all(self.polls)

    @property
    def polled(self) -> bool:
        """Whether the source was out of the queue when its load changed."""
        return self.source is not None and self.source in self.polls[-1]


class PrioritySet:
    """Instances by (load, instance), as they are polled and offered while movements are handled in turn.

    The caller changes ``counts`` and appends to ``handled``, one entry for each movement; the set reads both when it
    has to choose.
    """

    def __init__(self, group: Group, counts: Sequence[int]) -> None:
        self._capacities = [instance.capacity for instance in group.instances]
        self._hashes = [_hash_code(instance.process_id) for instance in group.instances]
        self.handled: list[Handled] = []
        # How far ``handled`` has been looked at, the counts there, and whether the queue is surely a heap there.
        self._seen, self._counts, self._is_heap = 0, list(counts), True
        # The last entry at which the queue's inner order is known for sure: it was refilled out of a heap.
        self._base, self._base_counts = 0, list(counts)
        self._queue: _Queue | None = None
        self._replayed = 0

    def choose(self, candidates: Sequence[int]) -> int:
        """Return the one of at least two candidates (in instance order) that Kafka's queue would give out first."""
        self._look()
        if self._is_heap:
            return min(candidates, key=lambda i: (self._counts[i] / self._capacities[i], i))
        return self._replay().first_of(candidates)

    def _look(self) -> None:
        """Go through what happened since the last look: where is the queue known, where is it surely a heap."""
        for entry in self.handled[self._seen :]:
            if entry.refills:
                if self._is_heap:
                    self._base, self._base_counts, self._queue = self._seen, self._counts.copy(), None
                self._is_heap = True
            if entry.source is not None:
                self._is_heap = self._stays_heap(entry) and self._is_heap
                self._counts[entry.source] += entry.gain
                self._counts[entry.destination] -= entry.loss
            self._seen += 1

    def _stays_heap(self, entry: Handled) -> bool:
        """Tell whether the movement surely leaves a heap behind if it found one.

        The source is offered while the destination, still queued, has become lighter than its place in the heap.
        Harm is done only if the source stops right below it although it is lighter than what is above: if its new
        load is at least the destination's new one, and somebody's load lies between it and the destination's old one.
        """
        source, destination, capacities = entry.source, entry.destination, self._capacities
        if source is None or entry.loss == 0:
            return True
        if not entry.polled:
            return False
        after = ((self._counts[source] + entry.gain) / capacities[source], source)
        was = (self._counts[destination] / capacities[destination], destination)
        now = ((self._counts[destination] - entry.loss) / capacities[destination], destination)
        if not now <= after < was:
            return True
        return not any(after < (count / capacities[i], i) < was for i, count in enumerate(self._counts) if i != source)

    def _replay(self) -> _Queue:
        """Bring the queue up to date from the last point where its inner order is known."""
        if self._queue is None:
            self._queue = _Queue(self._base_counts.copy(), self._capacities, self._hashes)
            self._replayed = self._base
        for entry in self.handled[self._replayed :]:
            self._queue.handle(entry)
        self._replayed = len(self.handled)
        return self._queue.copy()


class _Queue:
    """``java.util.PriorityQueue`` of instances with loads that change in place, and Kafka's set around it."""

    def __init__(self, counts: list[int], capacities: Sequence[int], hashes: Sequence[int]) -> None:
        self._counts, self._capacities, self._hashes = counts, capacities, hashes
        self._heap: list[int] = []
        for instance in range(len(counts)):
            self._offer(instance)

    def copy(self) -> _Queue:
        twin = object.__new__(_Queue)
        twin._counts, twin._capacities, twin._hashes = self._counts.copy(), self._capacities, self._hashes
        twin._heap = self._heap.copy()
        return twin

    def handle(self, entry: Handled) -> None:
        """Do to the queue what the movement did."""
        for accepted in entry.polls:
            self.first_of(accepted)
        if entry.source is None:
            return
        self._counts[entry.source] += entry.gain
        self._counts[entry.destination] -= entry.loss
        for instance in (entry.source, entry.destination):
            if instance in self._heap:
                self._remove(instance)
            self._offer(instance)

    def first_of(self, accepted: Collection[int]) -> int:
        """Poll until an accepted instance comes out, and offer the others again; -1 if none does."""
        refused: list[int] = []
        found = -1
        while self._heap and found < 0:
            polled = self._poll()
            if polled in accepted:
                found = polled
            else:
                refused.append(polled)
        for instance in hash_set_order(refused, self._hashes):
            self._offer(instance)
        return found

    def _key(self, instance: int) -> tuple[float, int]:
        return (self._counts[instance] / self._capacities[instance], instance)

    def _offer(self, instance: int) -> None:
        self._heap.append(instance)
        self._sift_up(len(self._heap) - 1, instance)

    def _poll(self) -> int:
        first, last = self._heap[0], self._heap.pop()
        if self._heap:
            self._sift_down(0, last)
        return first

    def _remove(self, instance: int) -> None:
        at, last = self._heap.index(instance), self._heap.pop()
        if at < len(self._heap):
            self._sift_down(at, last)
            if self._heap[at] == last:
                self._sift_up(at, last)

    def _sift_up(self, at: int, instance: int) -> None:
        key = self._key(instance)
        while at > 0:
            parent = (at - 1) // 2
            if key >= self._key(self._heap[parent]):
                break
            self._heap[at] = self._heap[parent]
            at = parent
        self._heap[at] = instance

    def _sift_down(self, at: int, instance: int) -> None:
        key, size = self._key(instance), len(self._heap)
        while at < size // 2:
            child = 2 * at + 1
            if child + 1 < size and self._key(self._heap[child]) > self._key(self._heap[child + 1]):
                child += 1
            if key <= self._key(self._heap[child]):
                break
            self._heap[at] = self._heap[child]
            at = child
        self._heap[at] = instance


def hash_set_order(instances: Sequence[int], hashes: Sequence[int]) -> list[int]:
    """Return the instances in the order in which a ``java.util.HashSet`` filled in this order gives them out."""
    buckets = 16
    while len(instances) > buckets * 3 // 4:
        buckets *= 2
    return sorted(instances, key=lambda i: (hashes[i] ^ hashes[i] >> 16) & (buckets - 1))


def _hash_code(process_id: str) -> int:
    """Return ``UUID.hashCode()`` as an unsigned number (0 if it is no UUID: Kafka has no such process)."""
    try:
        value = uuid.UUID(process_id).int
    except ValueError:
        return 0
    mixed = (value >> 64) ^ (value & (2**64 - 1))
    return (mixed >> 32) ^ (mixed & (2**32 - 1))
