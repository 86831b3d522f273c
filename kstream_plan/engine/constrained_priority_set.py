# cython: boundscheck=False, wraparound=False, initializedcheck=False, annotation_typing=False
"""Kafka's ``ConstrainedPrioritySet`` of instances while one decision's tasks are moved, to the last tie.

Source: page ``rules``, "Movements".

Kafka keeps the instances in a ``java.util.PriorityQueue`` by (load, instance). Loads change while an instance is
queued, so the queue is not always a heap, and then it may not give out the least loaded one. That is rare and only
matters where there is a choice between instances. So the set tracks who may be out of place, and replays what happened
to the queue only where a choice depends on that.

Who may be out of place is a staircase of keys, here of two steps; a key stands for (load, instance)::

    end of step 2                 .--------  who has a key from step 2 on has none above it in the queue that is
    end of step 1     .-----------'          as heavy as the end of step 2; it is in place if it is as heavy itself
                      |           |
    keys  ------------step 1------step 2---->   below step 1 all are in place

Both the steps and their ends go up. Only who is offered can get out of place, and in two ways only:

1. Its movement took a task from another instance, which is queued, and it was put right below that one, which is
   lighter now: what is above that one was lighter than it before. That is seldom possible at all
   (``_is_held_back``), so a queue in order mostly stays in order.
2. It was put right below one that is out of place, so it is heavier than that, and has the same above it.

Whoever is polled and offered again is in place, unless one that is out of place and lighter was left in the queue: no
poll that got as far as a step's end leaves one of that step. All others move only to below lighter ones: the last one
of the queue, if it fills a gap, is the one just offered or heavier.

``tests/engine`` holds all choices to a literal queue.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from kstream_plan.engine.columns import grown, zeros

Column: TypeAlias = "array[int]"

#: A key above that of every instance.
HEAVIEST = 9223372036854775807
#: So many of those who are lighter may become heavier until they are counted again.
SPARE = 8


class ConstrainedPrioritySet:
    """The queue of one group's instances; each decision begins it anew.

    Args:
        capacities: the stream threads of each instance.
        hashes: ``UUID.hashCode()`` of each process id, as ``java.util.HashMap`` spreads it.
    """

    def __init__(self, capacities: Sequence[int], hashes: Sequence[int]) -> None:
        self.number = len(capacities)
        self.enough = filled_to_above_the_end(self.number)
        self.bits = max(1, self.number - 1).bit_length()  # of a key, that say which instance it is of
        self.mask = (1 << self.bits) - 1
        # so large that different loads are different whole numbers
        self.unit = max(capacities, default=1) * max(capacities, default=1)
        self.capacities, self.hashes = array("q", capacities), array("q", hashes)
        self.counts, self.keys = zeros("q", self.number), zeros("q", self.number)
        self.steps, self.ends = zeros("q", self.number + 8), zeros("q", self.number + 8)
        self.n_steps = 0
        self.bar, self.up_to_bar = HEAVIEST, 0
        self.handled_source, self.handled_destination = zeros("i", 64), zeros("i", 64)
        self.handled_gain, self.handled_loss = zeros("b", 64), zeros("b", 64)
        self.handled_refills, self.handled_polled = zeros("b", 64), zeros("b", 64)
        self.n_handled = self.n_replayed = self.known_from = 0
        self.complete = True
        self.exact = False
        self.heap, self.heap_aside, self.n_heap = zeros("q", self.number + 1), zeros("q", self.number + 1), 0
        self.refused_keys, self.in_buckets = zeros("q", self.number), zeros("q", self.number)
        self.bucket_ends = zeros("i", max(16, 4 * self.number))
        self.heap_counts = zeros("q", self.number)
        self.is_wanted = zeros("b", self.number)

    def begin(self, counts: Column, complete: bool) -> None:
        """Begin with so many tasks on each instance.

        Args:
            counts: the tasks by instance.
            complete: whether this is where the decision begins: all are offered in order. Else movements were handled
                before, and the next one begins with a poll that accepts none.
        """
        self.n_steps = self.n_handled = self.n_replayed = self.known_from = self.up_to_bar = 0
        self.exact, self.complete = False, complete
        for i in range(self.number):
            self.counts[i] = counts[i]
            self.keys[i] = self._key(i, counts[i])
            if self.keys[i] <= self.bar:
                self.up_to_bar += 1
        if self.up_to_bar < self.enough or self.up_to_bar > self.enough + 2 * SPARE:
            self._set_bar()

    def handle(self, source: int, destination: int, gain: int, loss: int, refills: int, polled: bool) -> None:
        """Take in a movement.

        Args:
            source: the instance that gets the task meanwhile; -1: nothing was moved.
            destination: the instance of the target.
            gain: whether the source weighs one task more then, 0 or 1.
            loss: whether the destination weighs one less, 0 or 1.
            refills: how many polls accepted none: each empties the queue and fills it anew.
            polled: whether the source came out of a poll after that.
        """
        index = self.n_handled
        if index == len(self.handled_source):
            self._grow_handled()
        if self.n_steps == 0 and refills:
            self.known_from = index
        self.handled_source[index], self.handled_destination[index] = source, destination
        self.handled_gain[index], self.handled_loss[index] = gain, loss
        self.handled_refills[index], self.handled_polled[index] = refills, polled
        self.n_handled = index + 1
        if refills:
            self.n_steps = 0
        if source < 0:
            return
        key, was = self.keys[source], self.keys[destination]
        offered = self._key(source, self.counts[source] + gain)
        now = self._key(destination, self.counts[destination] - loss)
        if self.n_steps or not polled or (now <= offered < was and key <= self.bar):
            self._look(key, was, offered, now, polled)
        self.counts[source] += gain
        self.counts[destination] -= loss
        self.keys[source], self.keys[destination] = offered, now
        if now <= self.bar < was:
            self.up_to_bar += 1
        if key <= self.bar < offered:
            self.up_to_bar -= 1
        if self.up_to_bar < self.enough:
            self._set_bar()

    def choose(self, candidates: Column, n: int) -> int:
        """Return the one of ``n`` candidates, two or more, that a poll gives out.

        Return -1 if that depends on what was handled before the set was begun.
        """
        first = HEAVIEST
        for place in range(n):
            first = min(first, self.keys[candidates[place]])
        if self.n_steps:
            heaviest = self._heaviest_above(first)
            for place in range(n):
                key = self.keys[candidates[place]]
                if first < key < heaviest:
                    return self._first_in_java(candidates, n) if self.complete else -1
        return first & self.mask

    def _key(self, instance: int, count: int) -> int:
        """Return (load, instance) as one number."""
        return (count * self.unit // self.capacities[instance] << self.bits) + instance

    def _set_bar(self) -> None:
        """Find a key that enough instances are below, and a few more."""
        self.up_to_bar = min(self.enough + SPARE, self.number)
        self.bar = int(np.partition(self.keys, self.up_to_bar - 1)[self.up_to_bar - 1])

    def _grow_handled(self) -> None:
        """Make room for more movements."""
        room = 2 * self.n_handled
        self.handled_source = grown("i", self.handled_source, room)
        self.handled_destination = grown("i", self.handled_destination, room)
        self.handled_gain, self.handled_loss = grown("b", self.handled_gain, room), grown("b", self.handled_loss, room)
        self.handled_refills = grown("b", self.handled_refills, room)
        self.handled_polled = grown("b", self.handled_polled, room)

    # -- who may be out of place ------------------------------------------------------------------------------------

    def _look(self, key: int, was: int, offered: int, now: int, polled: bool) -> None:
        """See who may be out of place after a movement.

        Args:
            key: the source's before it.
            was: the destination's before it.
            offered: the source's after it.
            now: the destination's after it.
            polled: whether the source was polled.
        """
        heaviest = was
        if self.n_steps:
            if polled:  # it gave out those of a step that ends where it got, and they were offered again
                self._cut(0, self._up_to(self.ends, key))
            heaviest = self._heaviest_above(was)
            place = self._step(was)
            if place >= 0:  # when the source was offered, the destination was still in the queue
                self._raise_step(place, was, key, offered)
            place = self._step(key)
            if place >= 0:
                self._raise_step(place, key, was, HEAVIEST)
        if now == was:
            return
        if not polled:  # it weighs more in its place, too
            self._add(min(now, key), max(heaviest, self._heaviest_above(offered)))
        elif now <= offered < was and (self.n_steps or key <= self.bar) and not self._is_held_back(key):
            self._add(offered, heaviest)

    def _heaviest_above(self, key: int) -> int:
        """Return the key that all above this one are lighter than; this one itself if it is in place."""
        index = self._up_to(self.steps, key)
        return max(key, self.ends[index - 1]) if index else key

    def _up_to(self, column: Column, key: int) -> int:
        """Return how many of the steps, or of their ends, are no more than a key."""
        index = 0
        while index < self.n_steps and column[index] <= key:
            index += 1
        return index

    def _step(self, key: int) -> int:
        """Return the place of a step; -1: there is none at this key."""
        for index in range(self.n_steps):
            if self.steps[index] == key:
                return index
        return -1

    def _is_held_back(self, polled: int) -> bool:
        """Tell whether whoever was polled cannot get below a heavier one, though put right below who gave a task.

        That one is taken out of the queue, and the last of the queue fills its place. Who was put below it rises again
        if it is the last itself; else the last one sinks below it, so that it is where the other one was. Then the
        other one was at least two levels above the end of the queue, and who is heavier three levels. But all that are
        lighter than the polled one were offered again at the end of the queue just before; if one of them is three
        levels above the end, so are those above it.
        """
        if self.n_steps and self.steps[0] < polled:
            return False
        lighter = 0
        for i in range(self.number):
            if self.keys[i] < polled:
                lighter += 1
        return lighter >= self.enough

    def _raise_step(self, index: int, step: int, offered_again: int, offered: int) -> None:
        """Let the lowest one of a step be in place again; the next one may have been put below it.

        That is not the one that is ``offered_again``, unless it was ``offered`` while the lowest was queued.
        """
        next_step = offered if offered > step else HEAVIEST
        for i in range(self.number):
            if step < self.keys[i] < next_step and self.keys[i] != offered_again:
                next_step = self.keys[i]
        if next_step >= self.ends[index] or (index + 1 < self.n_steps and next_step >= self.steps[index + 1]):
            self._cut(index, index + 1)
        else:
            self.steps[index] = next_step

    def _cut(self, begin: int, end: int) -> None:
        """Take out these steps."""
        number = end - begin
        if number > 0:
            for index in range(end, self.n_steps):
                self.steps[index - number], self.ends[index - number] = self.steps[index], self.ends[index]
            self.n_steps -= number

    def _add(self, step: int, end: int) -> None:
        """Add a step unless a lower one reaches as far; it takes the place of higher ones that do not reach further."""
        index = 0
        while index < self.n_steps and self.steps[index] < step:
            index += 1
        n_lower = self._up_to(self.steps, step)
        if n_lower and self.ends[n_lower - 1] >= end:
            return
        self._cut(index, max(index, self._up_to(self.ends, end)))
        if self.n_steps + 1 >= len(self.steps):
            self.steps, self.ends = grown("q", self.steps, 2 * self.n_steps), grown("q", self.ends, 2 * self.n_steps)
        for place in range(self.n_steps, index, -1):
            self.steps[place], self.ends[place] = self.steps[place - 1], self.ends[place - 1]
        self.steps[index], self.ends[index] = step, end
        self.n_steps += 1

    # -- the queue as Java has it -----------------------------------------------------------------------------------

    def _first_in_java(self, candidates: Column, n: int) -> int:
        """Bring Java's queue up to date, and poll from it; it is left as it was."""
        if not self.exact or self.known_from > self.n_replayed:
            self._fill_heap()
        for index in range(self.n_replayed, self.n_handled):
            self._replay(index)
        self.n_replayed = self.n_handled
        for i in range(self.n_heap):
            self.heap_aside[i] = self.heap[i]
        for i in range(n):
            self.is_wanted[candidates[i]] = 1
        instance = self._poll()
        for i in range(n):
            self.is_wanted[candidates[i]] = 0
        self.n_heap = self.number
        for i in range(self.n_heap):
            self.heap[i] = self.heap_aside[i]
        return instance

    def _fill_heap(self) -> None:
        """Fill the queue as of when its array last followed from the keys alone.

        It did at first, and before a poll that accepted none of a queue that was in order: that gives all out in order.
        """
        for i in range(self.number):
            self.heap_counts[i] = self.counts[i]
        for index in range(self.n_handled - 1, self.known_from - 1, -1):
            if self.handled_source[index] >= 0:
                self.heap_counts[self.handled_source[index]] -= self.handled_gain[index]
                self.heap_counts[self.handled_destination[index]] += self.handled_loss[index]
        self.n_heap = 0
        for i in range(self.number):
            self._offer(self._key(i, self.heap_counts[i]))
        self.n_replayed = self.known_from
        self.exact = True

    def _replay(self, index: int) -> None:
        """Do to the queue what a movement did."""
        source, destination = self.handled_source[index], self.handled_destination[index]
        for _ in range(self.handled_refills[index]):
            self._poll()
        if source < 0:
            return
        if self.handled_polled[index]:
            self.is_wanted[source] = 1
            self._poll()
            self.is_wanted[source] = 0
        was_source, was = self._heap_key(source), self._heap_key(destination)
        self.heap_counts[source] += self.handled_gain[index]
        self.heap_counts[destination] -= self.handled_loss[index]
        offered, now = self._heap_key(source), self._heap_key(destination)
        if now != was:  # lighter where it is
            self.heap[self._place_of(was)] = now
        if not self.handled_polled[index]:
            place = self._place_of(was_source)
            self.heap[place] = offered
            self._remove(place)
        self._offer(offered)
        self._remove(self._place_of(now))
        self._offer(now)

    def _heap_key(self, instance: int) -> int:
        """Return the key of an instance as of the movements that the queue has seen."""
        return self._key(instance, self.heap_counts[instance])

    def _place_of(self, key: int) -> int:
        """Return where in the queue a key is."""
        index = 0
        while self.heap[index] != key:
            index += 1
        return index

    def _poll(self) -> int:
        """Poll until an instance comes out that is wanted, and offer the others again; return -1 if none does."""
        n_refused, instance = 0, -1
        while self.n_heap and instance < 0:
            key = self.heap[0]
            self.n_heap -= 1
            if self.n_heap:
                self._sink(0, self.heap[self.n_heap])
            if self.is_wanted[key & self.mask]:
                instance = key & self.mask
            else:
                self.refused_keys[n_refused] = key
                n_refused += 1
        self._offer_refused(n_refused)
        return instance

    def _offer_refused(self, number: int) -> None:
        """Offer them as a ``java.util.HashSet`` of process ids filled in this order iterates."""
        buckets = 16
        while number > buckets * 3 // 4:
            buckets *= 2
        for bucket in range(buckets):
            self.bucket_ends[bucket] = 0
        for index in range(number):
            self.bucket_ends[self.hashes[self.refused_keys[index] & self.mask] & (buckets - 1)] += 1
        total = 0
        for bucket in range(buckets):
            size = self.bucket_ends[bucket]
            self.bucket_ends[bucket] = total
            total += size
        for index in range(number):
            bucket = self.hashes[self.refused_keys[index] & self.mask] & (buckets - 1)
            self.in_buckets[self.bucket_ends[bucket]] = self.refused_keys[index]
            self.bucket_ends[bucket] += 1
        for index in range(number):
            self._offer(self.in_buckets[index])

    def _offer(self, key: int) -> None:
        """Put an instance at the end, from where it rises."""
        self.n_heap += 1
        self._rise(self.n_heap - 1, key)

    def _remove(self, index: int) -> None:
        """Fill this place with the last one, which sinks or else rises."""
        self.n_heap -= 1
        last = self.heap[self.n_heap]
        if index < self.n_heap:
            self._sink(index, last)
            if self.heap[index] == last:
                self._rise(index, last)

    def _rise(self, index: int, key: int) -> None:
        """Put an instance at this place, or above whoever is heavier."""
        while index > 0:
            parent = (index - 1) >> 1
            if key >= self.heap[parent]:
                break
            self.heap[index] = self.heap[parent]
            index = parent
        self.heap[index] = key

    def _sink(self, index: int, key: int) -> None:
        """Put an instance at this place, or below whoever is lighter."""
        size, child = self.n_heap, 2 * index + 1
        while child < size:
            if child + 1 < size:
                child += self.heap[child] > self.heap[child + 1]  # without a jump: which one it is cannot be foreseen
            if key <= self.heap[child]:
                break
            self.heap[index] = self.heap[child]
            index = child
            child = 2 * index + 1
        self.heap[index] = key


@lru_cache(maxsize=4096)
def filled_to_above_the_end(size: int) -> int:
    """Return how many lighter ones, offered last to a heap, fill the places from its top to three levels above its end.

    One more will be offered then, so that there are ``size``. Each rises to below lighter ones: it fills the first
    place of that way that is a heavier one's, unless its own way has turned off before. Places count from 1.
    """
    target = size >> 3
    for lighter in range(size):
        n_filled = 0
        for offered_at in range(size - lighter, size):
            place, other_place = offered_at, target
            while place != other_place:
                place, other_place = (place >> 1, other_place) if place > other_place else (place, other_place >> 1)
            n_filled += n_filled < place.bit_length()
        if n_filled == target.bit_length():
            return lighter
    return size
