"""Kafka's ``ConstrainedPrioritySet`` of instances, to the last tie.

Source: page ``rules``, "Movements".

While tasks are moved, Kafka keeps the instances in a ``java.util.PriorityQueue`` by (load, instance). Loads change
while an instance is queued, so the queue is not always a heap, and then it may not give out the least loaded one.
That is rare and only matters where there is a choice between instances, so the set keeps track of who may be out of
place, and replays what happened to the queue only where a choice hangs on that.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache

from kstream_plan.assignors.java.priority_queue import Handled, InstanceQueue, keys_of, uuid_hash, weights_of
from kstream_plan.assignors.java.queue_in_order import History
from kstream_plan.model import Group
from kstream_plan.model.settings import MAX_LONG

#: A key (:func:`~kstream_plan.assignors.java.priority_queue.keys_of`) above that of every instance.
_HEAVIEST = MAX_LONG
#: So many of the last movements for each instance are looked at first to see who is out of place: mostly enough, and
#: worth it where there are so many times as many, for where nothing is known at first each takes longer.
_FIRST_LOOK = 2
_WORTH_IT = 8
#: A queue is out of order for so many movements at most, or for long; and so many times, or again and again.
_SPELL, _SPELLS = 64, 4
#: So many of those who are lighter may become heavier until they are counted again.
_SPARE = 8


class OutOfPlace:
    """Who may have a heavier instance above it in the queue, as movements are handled; a draft of one decision.

    A staircase of keys: whoever is at or above a step, and below the next one, has nobody above it that is as heavy as
    that step's end, and is in place if it is as heavy itself. Both the steps and their ends go up.

    Only who is offered can get out of place. (1) Its movement took a task from another instance, which is queued, and
    it was put right below that one, which is lighter now: what is above that one was lighter than it before. That is
    seldom possible at all (:meth:`_held_back`), so a queue in order mostly stays in order. (2) It was
    put right below one that is out of place, so it is heavier than that, and has the same above it. Whoever is polled
    and offered again is in place, unless one that is out of place and lighter was left in the queue: no poll that got
    as far as a step's end leaves one of that step. Nobody else moves but to below lighter ones: the last one of the
    queue, if it fills a gap, is the one just offered or heavier.
    """

    __slots__ = ("_bar", "_ends", "_steps", "_up_to_bar")

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._ends: list[int] = []
        #: whoever is heavier than the bar is held back, for enough others are not: so many
        self._bar, self._up_to_bar = _HEAVIEST, 0

    @classmethod
    def anybody(cls, keys: Sequence[int]) -> OutOfPlace:
        """Begin where nothing is known."""
        heaviest, number = max(keys), len(keys)
        begun = cls()
        begun._add(min(keys), heaviest - heaviest % number + number)  # behind all that are as heavy
        return begun

    @property
    def is_nobody(self) -> bool:
        """Whether the queue is in order."""
        return not self._steps

    def heaviest_above(self, key: int) -> int:
        """Return what whoever has this key has nobody above it that is as heavy as; the key itself if in place."""
        at = bisect_right(self._steps, key)
        return max(key, self._ends[at - 1]) if at else key

    def handle(self, entry: Handled, keys: Sequence[int], weights: Sequence[int]) -> None:
        """Take in a movement, which found these ``keys``; a task more adds its weight to each."""
        polls, source, destination, gain, loss = entry
        if not all(polls):
            self._forget()  # the queue was emptied and filled anew
        if source is None:
            return
        key, was = keys[source], keys[destination]
        polled = source in polls[-1]
        offered, above = key + gain * weights[source], was
        if self._steps:
            if polled:
                self._forget_up_to(key)
            above = self.heaviest_above(was)
            if was in self._steps:  # when the source was offered, the destination was still in the queue
                self._raise(was, key, keys, offered)
            if key in self._steps:
                self._raise(key, was, keys, _HEAVIEST)
        if not loss:
            return
        now = was - weights[destination]
        if not polled:  # it weighs more in its place, too
            self._add(min(now, key), max(above, self.heaviest_above(offered)))
        elif now <= offered < was and not self._held_back(key, keys):
            self._add(offered, above)

    def follow(self, entries: Iterable[Handled], keys: list[int], weights: Sequence[int]) -> None:
        """Take in movements, and what they do to the ``keys``; nearly all leave a queue in order that is in order.

        The keys are those that the movements before have left.
        """
        steps, enough = self._steps, filled_to_above_the_end(len(keys))
        bar, up_to_bar = self._bar, self._up_to_bar
        for entry in entries:
            polls, source, destination, gain, loss = entry
            if source is None:
                if steps:
                    self.handle(entry, keys, weights)
                continue
            key, was = keys[source], keys[destination]
            offered, now = key + gain * weights[source], was - loss * weights[destination]
            if steps or (loss and ((key <= bar and now <= offered < was) or source not in polls[-1])):
                self.handle(entry, keys, weights)
            keys[source], keys[destination] = offered, now
            up_to_bar += (now <= bar < was) - (key <= bar < offered)
            if up_to_bar < enough:
                up_to_bar = min(enough + _SPARE, len(keys))
                bar = sorted(keys)[up_to_bar - 1]
        self._bar, self._up_to_bar = bar, up_to_bar

    def _held_back(self, polled: int, keys: Sequence[int]) -> bool:
        """Tell whether whoever was polled cannot get below a heavier one, though put right below who gave a task.

        That one is taken out of the queue, and the last of the queue fills its place. Who was put below it rises again
        if it is the last itself; else the last one sinks below it, so that it is where the other one was. Then the
        other one was at least two levels above the end of the queue, and who is heavier three levels. But all that are
        lighter than the polled one were offered again at the end of the queue just before; if one of them is three
        levels above the end, so are those above it.
        """
        if self._steps and self._steps[0] < polled:
            return False
        return len([key for key in keys if key < polled]) >= filled_to_above_the_end(len(keys))

    def _forget(self) -> None:
        self._steps.clear()
        self._ends.clear()

    def _forget_up_to(self, polled: int) -> None:
        """Let all be in place whose step ends where a poll got: it gave them out, and they were offered again."""
        gone = bisect_right(self._ends, polled)
        if gone:
            del self._steps[:gone], self._ends[:gone]

    def _raise(self, step: int, other: int, keys: Sequence[int], offered: int) -> None:
        """Let the lowest one of a step be in place again; the next one may have been put below it.

        That is not the ``other`` one that is offered again, unless it was ``offered`` while the lowest was queued.
        """
        at = bisect_left(self._steps, step)
        heavier = [key for key in keys if key > step and key != other]
        if offered > step:
            heavier.append(offered)
        following, end = min(heavier, default=_HEAVIEST), self._ends[at]
        steps = self._steps
        if following >= end or (at + 1 < len(steps) and following >= steps[at + 1]):
            del steps[at], self._ends[at]
        else:
            steps[at] = following

    def _add(self, step: int, end: int) -> None:
        """Add a step unless a lower one reaches as far; it takes the place of higher ones that do not reach further."""
        steps, ends = self._steps, self._ends
        at = bisect_left(steps, step)
        behind = bisect_right(steps, step)
        if behind and ends[behind - 1] >= end:
            return
        upto = max(at, bisect_right(ends, end))
        steps[at:upto], ends[at:upto] = [step], [end]


@lru_cache(maxsize=4096)
def filled_to_above_the_end(size: int) -> int:
    """Return how many lighter ones, offered last to a heap, fill the places from its top to three levels above its end.

    One more will be offered then, so that there are ``size``. Each rises to below lighter ones: it fills the first
    place of that way that is a heavier one's, unless its own way has turned off before. Places count from 1.
    """
    above = size >> 3
    for lighter in range(size):
        filled = 0
        for offered_at in range(size - lighter, size):
            place, other = offered_at, above
            while place != other:
                place, other = (place >> 1, other) if place > other else (place, other >> 1)
            filled += filled < place.bit_length()
        if filled == above.bit_length():
            return lighter
    return size


class PrioritySet:
    """Instances by (load, instance), as they are polled and offered while movements are handled in turn.

    Args:
        group: who they are.
        counts: the tasks that each had at first.
        handled: what happened since then, movement by movement.
        counts_now: the tasks that each has after that (default: ``handled`` is empty).
        history: begins with ``handled``, and tells sooner who is out of place.
    """

    def __init__(
        self,
        group: Group,
        counts: Sequence[int],
        handled: Sequence[Handled] = (),
        counts_now: Sequence[int] = (),
        history: History | None = None,
    ) -> None:
        self._group, self._weights = group, weights_of(group.capacities)
        self._first_keys, self._earlier = keys_of(counts, self._weights), handled
        self._keys = keys_of(counts_now or counts, self._weights)
        self._history = history
        #: what is handled while choices are made
        self._handled: list[Handled] = []
        self._out_of_place = OutOfPlace()
        #: so many of the last movements are looked at; ``None``: enough
        self._looked_at: int | None = 0 if handled else None
        self._queue: InstanceQueue | None = None
        self._replayed = 0

    def handle(self, entry: Handled) -> None:
        """Take in what was handled next."""
        self._out_of_place.follow((entry,), self._keys, self._weights)
        self._handled.append(entry)

    def choose(self, candidates: Sequence[int]) -> int:
        """Return the one of at least two candidates that Kafka's queue would give out first."""
        keys = [self._keys[i] for i in candidates]
        first = min(keys)
        if self._looked_at is None and self._out_of_place.is_nobody:
            return first % len(self._keys)
        while any(first < key < self._heaviest_above(first) for key in keys):
            if self._looked_at is None:
                return self._replay().first_of(candidates)
            self._look_back()
        return first % len(self._keys)

    def _heaviest_above(self, key: int) -> int:
        return _HEAVIEST if self._looked_at == 0 else self._out_of_place.heaviest_above(key)

    def _look_back(self) -> None:
        """See who is out of place: going by the last movements at first, then by all of them."""
        weights, entries = self._weights, [*self._earlier, *self._handled]
        last = _FIRST_LOOK * len(self._keys)
        if self._looked_at == 0 and last * _WORTH_IT < len(entries):
            self._looked_at, entries = last, entries[-last:]
            keys = self._keys.copy()
            for entry in entries:
                _count(entry, keys, weights, sign=-1)
            self._out_of_place = OutOfPlace.anybody(keys)
        else:
            self._looked_at, keys = None, self._first_keys.copy()
            self._out_of_place = OutOfPlace()
            if self._history is not None:
                upto, keys = self._while_in_order(self._history, entries, keys)
                entries = entries[upto:]
        self._out_of_place.follow(entries, keys, weights)

    def _while_in_order(self, history: History, entries: Sequence[Handled], keys: list[int]) -> tuple[int, list[int]]:
        """Take in movements as long as the queue is in order, or soon is again; return how many, and the keys then."""
        upto, end, enough = 0, len(self._earlier), filled_to_above_the_end(len(keys))
        for _ in range(_SPELLS):
            upto, keys = history.until_doubt(upto, end, keys, self._weights, enough)
            self._out_of_place = OutOfPlace()
            spell = entries[upto : min(upto + _SPELL, end)]
            self._out_of_place.follow(spell, keys, self._weights)
            upto += len(spell)
            if upto == end or not self._out_of_place.is_nobody:
                break
        return upto, keys

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
