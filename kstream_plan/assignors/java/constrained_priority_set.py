"""Kafka's priority set of instances, to the last tie (reference section 4, "details that change results").

While tasks are moved, Kafka keeps the instances in a ``java.util.PriorityQueue`` by (load, instance). Loads change
while an instance is queued, so the queue is not always a heap, and then it may not give out the least loaded one.
That is rare and only matters where there is a choice between instances, so the set keeps track of who may be out of
place, and replays what happened to the queue only where a choice hangs on that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np

from kstream_plan.assignors.java.priority_queue import Handled, InstanceQueue, uuid_hash
from kstream_plan.model import Group

#: What instances are queued by: (load, instance).
_Key: TypeAlias = tuple[float, int]
_LIGHTEST: _Key = (-1.0, 0)
_HEAVIEST: _Key = (inf, 0)
#: So many of the last movements are looked at first to see who is out of place: mostly enough.
_FIRST_LOOK = 48


@dataclass(slots=True)
class OutOfPlace:
    """Who may have a heavier instance above it in the queue, as movements are handled; a draft of one decision.

    Nobody below ``lowest`` has. Whoever has is below none that is as heavy as ``end``; the lowest one below none as
    heavy as ``lowest_end``.

    Only who is offered can get there. (1) Its movement took a task from another instance, which is queued, and it was
    put right below that one, which is lighter now: what is above that one was lighter than it before. (2) It was put
    right below one that is out of place, so it is heavier than ``lowest``. Whoever is polled and offered again is in
    place, unless one that is out of place and lighter was left in the queue: not if the poll got as far as ``end``.
    Nobody else moves but to below lighter ones: the last one of the queue, if it fills a gap, is the one just offered
    or heavier.
    """

    lowest: _Key = _HEAVIEST
    lowest_end: _Key = _LIGHTEST
    end: _Key = _LIGHTEST

    @classmethod
    def anybody(cls, counts: Sequence[int], capacities: Sequence[int]) -> OutOfPlace:
        """Begin where nothing is known."""
        keys = [(count / capacity, i) for i, (count, capacity) in enumerate(zip(counts, capacities, strict=True))]
        end = (max(keys)[0], len(keys))
        return cls(min(keys), end, end)

    def heaviest_above(self, key: _Key) -> _Key:
        """Return what whoever has this key has nobody above it that is as heavy as; the key itself if in place."""
        if key < self.lowest:
            return key
        return self.lowest_end if key == self.lowest else self.end

    def handle(self, entry: Handled, counts: Sequence[int], capacities: Sequence[int]) -> None:
        """Take in a movement, which found these ``counts``."""
        polls, source, destination, gain, loss = entry
        if not all(polls):
            self._forget()  # the queue was emptied and filled anew
        if source is None:
            return
        key = (counts[source] / capacities[source], source)
        polled = source in polls[-1]
        if polled and key >= self.end:
            self._forget()
        was = (counts[destination] / capacities[destination], destination)
        offered = ((counts[source] + gain) / capacities[source], source)
        end = self.end if was >= self.lowest else was
        if self.lowest[1] in (source, destination) and self.lowest != _HEAVIEST:
            # when the source was offered, the destination was still in the queue
            below = offered if self.lowest[1] == destination and offered > self.lowest else _HEAVIEST
            self._raise({source, destination}, below, counts, capacities)
        if not loss:
            return
        now = ((counts[destination] - 1) / capacities[destination], destination)
        if not polled:  # it weighs more in its place, too
            self._add(min(now, key), max(was, offered))
        elif now <= offered < was:
            self._add(offered, max(end, was))

    def _forget(self) -> None:
        self.lowest, self.lowest_end, self.end = _HEAVIEST, _LIGHTEST, _LIGHTEST

    def _raise(self, offered: Collection[int], below: _Key, counts: Sequence[int], capacities: Sequence[int]) -> None:
        """Let the lowest one be in place again; the next one may have been put below it."""
        self.lowest, self.lowest_end = min(_next_heavier(self.lowest, offered, counts, capacities), below), self.end
        if self.lowest == _HEAVIEST:
            self._forget()

    def _add(self, key: _Key, end: _Key) -> None:
        self.end = max(self.end, end)
        if key < self.lowest:
            self.lowest, self.lowest_end = key, end


class PrioritySet:
    """Instances by (load, instance), as they are polled and offered while movements are handled in turn.

    Args:
        group: who they are.
        counts: the tasks that each had at first.
        handled: what happened since then, movement by movement.
        counts_now: the tasks that each has after that (default: ``handled`` is empty).
    """

    def __init__(
        self, group: Group, counts: Sequence[int], handled: Sequence[Handled] = (), counts_now: Sequence[int] = ()
    ) -> None:
        self._group, self._capacities = group, group.capacities
        self._first_counts, self._earlier = tuple(counts), handled
        self._counts = list(counts_now or counts)
        #: what is handled while choices are made
        self._handled: list[Handled] = []
        self._out_of_place = OutOfPlace()
        #: so many of the last movements are looked at; ``None``: enough
        self._looked_at: int | None = 0 if handled else None
        self._queue: InstanceQueue | None = None
        self._replayed = 0

    def handle(self, entry: Handled) -> None:
        """Take in what was handled next."""
        self._out_of_place.handle(entry, self._counts, self._capacities)
        _count(entry, self._counts)
        self._handled.append(entry)

    def choose(self, candidates: Sequence[int]) -> int:
        """Return the one of at least two candidates that Kafka's queue would give out first."""
        keys = [(self._counts[i] / self._capacities[i], i) for i in candidates]
        first = min(keys)
        while True:
            end = self._out_of_place.heaviest_above(first) if self._looked_at != 0 else _HEAVIEST
            if not any(first < key < end for key in keys):
                return first[1]
            if self._looked_at is None:
                return self._replay().first_of(candidates)
            self._look_back(max(2 * self._looked_at, _FIRST_LOOK))

    def _look_back(self, movements: int) -> None:
        """See who is out of place, going by so many of the last movements, or by all that there have to be.

        These are all if, before them, everybody was lighter than the heaviest one that they polled: what was out of
        place then is no more.
        """
        counts, capacities = self._counts.copy(), self._capacities
        last: list[Handled] = []
        polled = _LIGHTEST
        heavier = set(range(len(counts)))
        enough = True
        for entry in self._backwards():
            if len(last) == movements:
                enough = False
                break
            last.append(entry)
            _count(entry, counts, sign=-1)
            polls, source, destination, _, _ = entry
            if not all(polls):
                break
            assert source is not None
            touched: Collection[int] = (source, destination)
            heavier.update(touched)
            key = (counts[source] / capacities[source], source)
            if key > polled:
                polled, touched = key, tuple(heavier)
            heavier.difference_update([i for i in touched if (counts[i] / capacities[i], i) < polled])
            if not heavier:
                break
        self._looked_at = None if enough else movements
        self._out_of_place = OutOfPlace() if enough else OutOfPlace.anybody(counts, capacities)
        for entry in reversed(last):
            self._out_of_place.handle(entry, counts, capacities)
            _count(entry, counts)

    def _backwards(self) -> Iterable[Handled]:
        yield from reversed(self._handled)
        yield from reversed(self._earlier)

    def _replay(self) -> InstanceQueue:
        """Bring the queue up to date; return a copy to poll from."""
        if self._queue is None:
            hashes = [uuid_hash(instance.process_id) for instance in self._group.instances]
            self._queue = InstanceQueue(self._first_counts, self._capacities, hashes)
            for entry in self._earlier:
                self._queue.handle(entry)
        for entry in self._handled[self._replayed :]:
            self._queue.handle(entry)
        self._replayed = len(self._handled)
        return self._queue.copy()


def _next_heavier(key: _Key, apart_from: Collection[int], counts: Sequence[int], capacities: Sequence[int]) -> _Key:
    """Return the least key above one, of the others than some; on arrays, as there may be hundreds of instances."""
    load, instance = key
    loads = np.true_divide(counts, capacities)
    heavier = loads > load
    heavier[instance + 1 :] |= loads[instance + 1 :] == load
    heavier[list(apart_from)] = False
    if not heavier.any():
        return _HEAVIEST
    loads[~heavier] = inf
    least = int(loads.argmin())
    return float(loads[least]), least


def _count(entry: Handled, counts: list[int], sign: int = 1) -> None:
    _, source, destination, gain, loss = entry
    if source is not None:
        counts[source] += sign * gain
        counts[destination] -= sign * loss
