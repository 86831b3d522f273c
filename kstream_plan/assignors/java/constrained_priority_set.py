"""Kafka's ``ConstrainedPrioritySet`` of instances, to the last tie.

While tasks are moved, Kafka keeps the instances in a ``java.util.PriorityQueue`` by (load, instance). Loads change
while an instance is queued, so the queue is not always a heap, and then it may not give out the least loaded one.
That is rare and only matters where there is a choice between instances, so the set keeps track of who may be out of
place, and replays what happened to the queue only where a choice hangs on that.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

from kstream_plan.assignors.java.priority_queue import Handled, InstanceQueue, keys_of, uuid_hash, weights_of
from kstream_plan.model import Group
from kstream_plan.model.settings import MAX_LONG

#: Keys (:func:`~kstream_plan.assignors.java.priority_queue.keys_of`) below and above that of every instance.
_LIGHTEST = -1
_HEAVIEST = MAX_LONG
#: So many of the last movements for each instance are looked at first to see who is out of place: often enough.
_FIRST_LOOK = 2


@dataclass(slots=True)
class OutOfPlace:
    """Who may have a heavier instance above it in the queue, as movements are handled; a draft of one decision.

    Nobody below ``lowest`` has. Whoever has is below none that is as heavy as ``end``; the lowest one below none as
    heavy as ``lowest_end``. All three are keys.

    Only who is offered can get there. (1) Its movement took a task from another instance, which is queued, and it was
    put right below that one, which is lighter now: what is above that one was lighter than it before. (2) It was put
    right below one that is out of place, so it is heavier than ``lowest``. Whoever is polled and offered again is in
    place, unless one that is out of place and lighter was left in the queue: not if the poll got as far as ``end``.
    Nobody else moves but to below lighter ones: the last one of the queue, if it fills a gap, is the one just offered
    or heavier.
    """

    lowest: int = _HEAVIEST
    lowest_end: int = _LIGHTEST
    end: int = _LIGHTEST

    @classmethod
    def anybody(cls, keys: Sequence[int]) -> OutOfPlace:
        """Begin where nothing is known."""
        heaviest, number = max(keys), len(keys)
        end = heaviest - heaviest % number + number  # behind all that are as heavy
        return cls(min(keys), end, end)

    @property
    def is_nobody(self) -> bool:
        """Whether the queue is in order."""
        return self.lowest == _HEAVIEST

    def heaviest_above(self, key: int) -> int:
        """Return what whoever has this key has nobody above it that is as heavy as; the key itself if in place."""
        if key < self.lowest:
            return key
        return self.lowest_end if key == self.lowest else self.end

    def handle(self, entry: Handled, keys: Sequence[int], weights: Sequence[int]) -> None:
        """Take in a movement, which found these ``keys``; a task more adds its weight to each."""
        polls, source, destination, gain, loss = entry
        if not all(polls):
            self._forget()  # the queue was emptied and filled anew
        if source is None:
            return
        key, was = keys[source], keys[destination]
        polled = source in polls[-1]
        if polled and key >= self.end:
            self._forget()
        offered = key + gain * weights[source]
        end = self.end if was >= self.lowest else was
        if self.lowest != _HEAVIEST and (lowest := self.lowest % len(keys)) in (source, destination):
            # when the source was offered, the destination was still in the queue
            below = offered if lowest == destination and offered > self.lowest else _HEAVIEST
            self._raise((key, was), below, keys)
        if not loss:
            return
        now = was - weights[destination]
        if not polled:  # it weighs more in its place, too
            self._add(min(now, key), max(was, offered))
        elif now <= offered < was:
            self._add(offered, max(end, was))

    def _forget(self) -> None:
        self.lowest, self.lowest_end, self.end = _HEAVIEST, _LIGHTEST, _LIGHTEST

    def _raise(self, offered: Collection[int], below: int, keys: Sequence[int]) -> None:
        """Let the lowest one be in place again; the next one, but who is ``offered``, may have been put below it."""
        lowest = self.lowest
        heavier = [key for key in keys if key > lowest]
        for key in offered:
            if key > lowest:
                heavier.remove(key)
        self.lowest, self.lowest_end = min([*heavier, below]), self.end
        if self.lowest == _HEAVIEST:
            self._forget()

    def _add(self, key: int, end: int) -> None:
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
        self._group, self._weights = group, weights_of(group.capacities)
        self._first_keys, self._earlier = keys_of(counts, self._weights), handled
        self._keys = keys_of(counts_now or counts, self._weights)
        #: what is handled while choices are made
        self._handled: list[Handled] = []
        self._out_of_place = OutOfPlace()
        #: so many of the last movements are looked at; ``None``: enough
        self._looked_at: int | None = 0 if handled else None
        self._queue: InstanceQueue | None = None
        self._replayed = 0

    def handle(self, entry: Handled) -> None:
        """Take in what was handled next."""
        self._out_of_place.handle(entry, self._keys, self._weights)
        _count(entry, self._keys, self._weights)
        self._handled.append(entry)

    def choose(self, candidates: Sequence[int]) -> int:
        """Return the one of at least two candidates that Kafka's queue would give out first."""
        keys = [self._keys[i] for i in candidates]
        first = min(keys)
        while True:
            end = self._out_of_place.heaviest_above(first) if self._looked_at != 0 else _HEAVIEST
            if not any(first < key < end for key in keys):
                return first % len(self._keys)
            if self._looked_at is None:
                return self._replay().first_of(candidates)
            self._look_back(2 * self._looked_at or _FIRST_LOOK * len(self._keys))

    def _look_back(self, movements: int) -> None:
        """See who is out of place, going by so many of the last movements, or by all that there have to be.

        These are all if, before them, everybody was lighter than the heaviest one that they polled: what was out of
        place then is no more.
        """
        keys, weights = self._keys.copy(), self._weights
        last: list[Handled] = []
        polled = _LIGHTEST
        heavier = set(range(len(keys)))
        enough = True
        for entry in chain(reversed(self._handled), reversed(self._earlier)):
            if len(last) == movements:
                enough = False
                break
            last.append(entry)
            _count(entry, keys, weights, sign=-1)
            polls, source, destination, _, _ = entry
            if not all(polls):
                break
            assert source is not None
            heavier.add(source)
            heavier.add(destination)
            if keys[source] > polled:
                polled = keys[source]
                heavier = {i for i in heavier if keys[i] >= polled}
            else:
                heavier.difference_update([i for i in (source, destination) if keys[i] < polled])
            if not heavier:
                break
        self._looked_at = None if enough else movements
        self._out_of_place = OutOfPlace() if enough else OutOfPlace.anybody(keys)
        for entry in reversed(last):
            self._out_of_place.handle(entry, keys, weights)
            _count(entry, keys, weights)

    def _replay(self) -> InstanceQueue:
        """Bring the queue up to date; return a copy to poll from."""
        if self._queue is None:
            hashes = [uuid_hash(instance.process_id) for instance in self._group.instances]
            keys, entries = self._last_known()
            self._queue = InstanceQueue(keys, self._weights, hashes)
        else:
            entries = self._handled[self._replayed :]
        for entry in entries:
            self._queue.handle(entry)
        self._replayed = len(self._handled)
        return self._queue.copy()

    def _last_known(self) -> tuple[list[int], list[Handled]]:
        """Return the keys when the queue's array last followed from them alone, and what was handled since.

        It did at first, and after a poll of all but two at most of a queue that was in order: the order of the others,
        and where whoever was polled is offered again, hang on nothing else then. So does what comes before that poll.
        """
        keys, weights = self._first_keys.copy(), self._weights
        entries = [*self._earlier, *self._handled]
        first, known, out_of_place = 0, keys.copy(), OutOfPlace()
        for place, entry in enumerate(entries):
            if out_of_place.is_nobody and _polls_nearly_all(entry, keys):
                first, known = place, keys.copy()
            out_of_place.handle(entry, keys, weights)
            _count(entry, keys, weights)
        return known, entries[first:]


def _polls_nearly_all(entry: Handled, keys: Sequence[int]) -> bool:
    polls, source, *_ = entry
    if source is None or not all(polls):
        return True  # it was emptied
    return source in polls[-1] and len([key for key in keys if key > keys[source]]) <= 2


def _count(entry: Handled, keys: list[int], weights: Sequence[int], sign: int = 1) -> None:
    _, source, destination, gain, loss = entry
    if source is not None:
        keys[source] += sign * gain * weights[source]
        keys[destination] -= sign * loss * weights[destination]
