"""Kafka's priority set of instances, to the last tie (reference section 4, "details that change results").

While tasks are moved, Kafka keeps the instances in a ``java.util.PriorityQueue`` by (load, instance). Loads change
while an instance is queued, so the queue is not always a heap, and then it may not give out the least loaded one.
That is rare and only matters where there is a choice between instances, so the set keeps track of the loads between
which the queue may be in disorder, and replays what happened to the queue only where a choice falls in there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from kstream_plan.assignors.java.priority_queue import Handled, InstanceQueue, uuid_hash
from kstream_plan.model import Group

#: What instances are queued by: (load, instance).
_Key: TypeAlias = tuple[float, int]
_Range: TypeAlias = tuple[_Key, _Key]


class PrioritySet:
    """Instances by (load, instance), as they are polled and offered while movements are handled in turn.

    The caller appends to ``handled``, one entry for each movement; the set reads it when it has to choose.
    """

    def __init__(self, group: Group, counts: Sequence[int]) -> None:
        self._capacities = group.capacities
        self._hashes = [uuid_hash(instance.process_id) for instance in group.instances]
        self.handled: list[Handled] = []
        # How far ``handled`` has been looked at, the counts there, and the ranges of keys (lowest, highest) that may
        # be in disorder: with all keys of a range taken as equal, the queue is a heap.
        self._seen, self._counts, self._disorder = 0, list(counts), list[_Range]()
        # The last entry at which the queue's inner order is known for sure: it was refilled out of a heap.
        self._base, self._base_counts = 0, list(counts)
        self._queue: InstanceQueue | None = None
        self._replayed = 0

    def choose(self, candidates: Sequence[int]) -> int:
        """Return the one of at least two candidates that Kafka's queue would give out first."""
        self._look()
        first = min(self._key(i) for i in candidates)
        highest = self._range_of(first)[1]
        if sum(self._key(i) <= highest for i in candidates) == 1:
            return first[1]
        return self._replay().first_of(candidates)

    def _key(self, instance: int) -> _Key:
        return (self._counts[instance] / self._capacities[instance], instance)

    def _range_of(self, key: _Key) -> _Range:
        return next((one for one in self._disorder if one[0] <= key <= one[1]), (key, key))

    def _look(self) -> None:
        """Go through what happened since the last look, and where it may have left disorder behind."""
        for polls, source, destination, gain, loss in self.handled[self._seen :]:
            if not all(polls):
                if not self._disorder:
                    self._base, self._base_counts, self._queue = self._seen, self._counts.copy(), None
                self._disorder = []
            if source is not None:
                polled = source in polls[-1]
                if polled and self._disorder:
                    # Everything below the source came out and was offered again: what is left is not below it.
                    lowest = self._range_of(self._key(source))[0]
                    self._disorder = [one for one in self._disorder if one[1] >= lowest]
                if loss:
                    self._disturb(source, destination, polled=polled)
                self._counts[source] += gain
                self._counts[destination] -= loss
            self._seen += 1

    def _disturb(self, source: int, destination: int, *, polled: bool) -> None:
        """Note the disorder if the source weighs one task more and the destination, while queued, one less.

        A source that was polled is offered while the destination is lighter than its place in the heap. Harm is done
        only if the source stops right below it although it is lighter than what is above it: if its new load is at
        least the destination's new one, and below the old one. A source that was not polled changes in its place too.
        """
        source_was, was = self._key(source), self._key(destination)
        source_now = ((self._counts[source] + 1) / self._capacities[source], source)
        now = ((self._counts[destination] - 1) / self._capacities[destination], destination)
        if not polled:
            self._confuse(min(now, source_was), max(was, source_now))
        elif now <= source_now < was:
            self._confuse(source_now, self._range_of(was)[1])

    def _confuse(self, lowest: _Key, highest: _Key) -> None:
        """Add a range, joined with those that it meets."""
        met = [one for one in self._disorder if one[0] <= highest and lowest <= one[1]]
        apart = [one for one in self._disorder if one not in met]
        joined = (min([lowest, *(one[0] for one in met)]), max([highest, *(one[1] for one in met)]))
        self._disorder = [*apart, joined]

    def _replay(self) -> InstanceQueue:
        """Bring the queue up to date from the last point where its inner order is known; return a copy to poll from."""
        if self._queue is None:
            self._queue = InstanceQueue(self._base_counts, self._capacities, self._hashes)
            self._replayed = self._base
        for entry in self.handled[self._replayed :]:
            self._queue.handle(entry)
        self._replayed = len(self.handled)
        return self._queue.copy()
