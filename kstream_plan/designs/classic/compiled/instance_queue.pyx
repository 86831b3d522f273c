# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Kafka's ``ConstrainedPrioritySet`` of instances while one decision's standbys are moved, compiled.

It follows ``assignors/java/constrained_priority_set`` and ``priority_queue``, which say why: mostly the least loaded
candidate comes out; only where one may be out of place is what happened to the queue played again, in Java's steps.
"""

from cpython.buffer cimport PyBUF_READ
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from kstream_plan.designs.classic.compiled.memory cimport (
    Ints,
    int32s,
    int32s_grown,
    int32s_of,
    int64s,
    int64s_grown,
    int64s_of,
    zeros,
)

import numpy as np

cdef int64_t HEAVIEST = 9223372036854775807
#: So many of those who are lighter may become heavier until they are counted again.
cdef Py_ssize_t SPARE = 8


cdef class InstanceQueue:
    """The queue of one group; begun anew by each decision.

    Args:
        weights: what a task more adds to the key of each instance (``priority_queue.weights_of``).
        hashes: of the process ids (``priority_queue.uuid_hash``).
        enough: ``constrained_priority_set.filled_to_above_the_end`` of so many instances.
    """

    def __init__(self, weights, hashes, enough):
        self.number, self.enough = len(weights), enough
        self.memory = []
        self.weights, self.hashes = int64s_of(self.memory, list(weights)), int64s_of(self.memory, list(hashes))
        self.first_keys, self.keys = int64s(self.memory, self.number), int64s(self.memory, self.number)
        self.heap, self.heap_keys = int64s(self.memory, self.number + 2), int64s(self.memory, self.number)
        self.scratch, self.scratch_keys = int64s(self.memory, self.number + 2), int64s(self.memory, self.number)
        self.refused = int64s(self.memory, self.number)
        self.bar = HEAVIEST
        self._grow_steps(self.number + 8)
        self._grow_candidates(64)

    cdef int begin(self, int32_t* counts, Py_ssize_t movements) except -1:
        """Begin with so many tasks on each instance; of ``movements`` there will be no more than so many."""
        cdef Py_ssize_t i
        cdef int64_t key
        self.n_steps = self.n_handled = self.n_candidates = self.n_replayed = self.up_to_bar = 0
        self.exact = False
        for i in range(self.number):
            key = counts[i] * self.weights[i] + i
            self.first_keys[i] = self.keys[i] = key
            self.up_to_bar += key <= self.bar
        if not self.enough <= self.up_to_bar <= self.enough + 2 * SPARE:
            self._set_bar()
        if movements > self.room_for_handled:
            self.handled, self.room_for_handled = <Handled*>zeros(self.memory, movements, sizeof(Handled)), movements
        return 0

    cdef int handle(
        self, int32_t* candidates, Py_ssize_t n, int32_t source, int32_t destination, int gain, int loss
    ) except -1:
        """Take in a movement; ``source`` -1: nothing was moved. Of one candidate that is the source."""
        cdef int64_t key, offered, was, now
        self.handled[self.n_handled] = Handled(source, destination, gain, loss, <int32_t>n, self.n_candidates)
        self.n_handled += 1
        if n > 1:
            self._keep(candidates, n)
        if n == 0:
            self.n_steps = 0  # the queue was emptied and filled anew
        if source < 0:
            return 0
        key, was = self.keys[source], self.keys[destination]
        offered, now = key + gain * self.weights[source], was - loss * self.weights[destination]
        if self.n_steps or n != 1 or (now <= offered < was and key <= self.bar):
            self._look(candidates, n, source, destination, offered, now)
        self.keys[source], self.keys[destination] = offered, now
        self.up_to_bar += (now <= self.bar < was) - (key <= self.bar < offered)
        if self.up_to_bar < self.enough:
            self._set_bar()
        return 0

    def replayed(self, counts, handled):
        """Begin with ``counts``, and take in movements of one poll each (``priority_queue.Handled``).

        Returns:
            Who was chosen for each movement with several candidates.
        """
        cdef list memory = []
        cdef Ints first = int32s_of(memory, list(counts)), candidates = int32s(memory, self.number)
        cdef Py_ssize_t n
        chosen = []
        self.begin(first, len(handled))
        for (polled,), source, destination, gain, loss in handled:
            n = 0
            for candidate in polled:
                candidates[n] = candidate
                n += 1
            if n > 1:
                chosen.append(self.choose(candidates, n))
            self.handle(candidates, n, -1 if source is None else source, destination, gain, loss)
        return chosen

    cdef int _set_bar(self) except -1:
        """Find a key that enough others are below, and a few more."""
        self.up_to_bar = min(self.enough + SPARE, self.number)
        keys = np.frombuffer(
            PyMemoryView_FromMemory(<char*>self.keys, self.number * sizeof(int64_t), PyBUF_READ), np.int64
        )
        self.bar = np.partition(keys, self.up_to_bar - 1)[self.up_to_bar - 1]
        return 0

    cdef int32_t choose(self, int32_t* candidates, Py_ssize_t n) noexcept:
        """Return the one of several candidates that comes out first."""
        cdef int64_t first = HEAVIEST, above, key
        cdef Py_ssize_t place
        for place in range(n):
            first = min(first, self.keys[candidates[place]])
        if self.n_steps:
            above = self._heaviest_above(first)
            for place in range(n):
                key = self.keys[candidates[place]]
                if first < key < above:
                    return self._first_in_java(candidates, n)
        return <int32_t>(first % self.number)

    # -- who is out of place (constrained_priority_set.OutOfPlace) --------------------------------------------------

    cdef int _look(
        self, int32_t* candidates, Py_ssize_t n, int32_t source, int32_t destination, int64_t offered, int64_t now
    ) except -1:
        """See who is out of place after a movement that leaves two with other keys."""
        cdef int64_t key = self.keys[source], was = self.keys[destination], above = was
        cdef bint polled = False
        cdef Py_ssize_t place
        for place in range(n):
            polled = polled or candidates[place] == source
        if self.n_steps:
            if polled:
                self._cut(0, self._behind(self.ends, key))
            above = self._heaviest_above(was)
            place = self._step(was)
            if place >= 0:
                self._raise(place, was, key, offered)
            place = self._step(key)
            if place >= 0:
                self._raise(place, key, was, HEAVIEST)
        if now == was:
            return 0
        if not polled:
            self._add(min(now, key), max(above, self._heaviest_above(offered)))
        elif now <= offered < was and (self.n_steps or key <= self.bar) and not self._held_back(key):
            self._add(offered, above)
        return 0

    cdef int64_t _heaviest_above(self, int64_t key) noexcept:
        cdef Py_ssize_t at = self._behind(self.steps, key)
        return max(key, self.ends[at - 1]) if at else key

    cdef Py_ssize_t _behind(self, int64_t* of, int64_t key) noexcept:
        """Return how many of the steps, or of their ends, are no more than a key."""
        cdef Py_ssize_t at = 0
        while at < self.n_steps and of[at] <= key:
            at += 1
        return at

    cdef Py_ssize_t _step(self, int64_t key) noexcept:
        cdef Py_ssize_t at
        for at in range(self.n_steps):
            if self.steps[at] == key:
                return at
        return -1

    cdef bint _held_back(self, int64_t polled) noexcept:
        cdef Py_ssize_t i, lighter = 0
        if self.n_steps and self.steps[0] < polled:
            return False
        for i in range(self.number):
            lighter += self.keys[i] < polled
        return lighter >= self.enough

    cdef void _raise(self, Py_ssize_t at, int64_t step, int64_t other, int64_t offered) noexcept:
        cdef int64_t following = offered if offered > step else HEAVIEST
        cdef Py_ssize_t i
        for i in range(self.number):
            if step < self.keys[i] < following and self.keys[i] != other:
                following = self.keys[i]
        if following >= self.ends[at] or (at + 1 < self.n_steps and following >= self.steps[at + 1]):
            self._cut(at, at + 1)
        else:
            self.steps[at] = following

    cdef void _cut(self, Py_ssize_t begin, Py_ssize_t end) noexcept:
        cdef Py_ssize_t at, gone = end - begin
        if gone <= 0:
            return
        for at in range(end, self.n_steps):
            self.steps[at - gone], self.ends[at - gone] = self.steps[at], self.ends[at]
        self.n_steps -= gone

    cdef int _add(self, int64_t step, int64_t end) except -1:
        cdef Py_ssize_t at = 0, behind, upto, place
        while at < self.n_steps and self.steps[at] < step:
            at += 1
        behind = self._behind(self.steps, step)
        if behind and self.ends[behind - 1] >= end:
            return 0
        upto = max(at, self._behind(self.ends, end))
        self._cut(at, upto)
        if self.n_steps + 1 >= self.room_for_steps:
            self._grow_steps(2 * self.room_for_steps)
        for place in range(self.n_steps, at, -1):
            self.steps[place], self.ends[place] = self.steps[place - 1], self.ends[place - 1]
        self.steps[at], self.ends[at] = step, end
        self.n_steps += 1
        return 0

    cdef void _grow_steps(self, Py_ssize_t room) except *:
        """Make room for so many steps."""
        self.steps, self.ends = (
            int64s_grown(self.memory, self.steps, self.room_for_steps, room),
            int64s_grown(self.memory, self.ends, self.room_for_steps, room),
        )
        self.room_for_steps = room

    # -- Java's own queue (priority_queue.InstanceQueue) ------------------------------------------------------------

    cdef int _keep(self, int32_t* candidates, Py_ssize_t n) except -1:
        """Keep the candidates of a movement."""
        if self.n_candidates + n > self.room_for_candidates:
            self._grow_candidates(<int32_t>(2 * self.room_for_candidates + n))
        memcpy(self.candidates + self.n_candidates, candidates, n * sizeof(int32_t))
        self.n_candidates += <int32_t>n
        return 0

    cdef void _grow_candidates(self, int32_t room) except *:
        """Make room for so many candidates in all."""
        self.candidates = int32s_grown(self.memory, self.candidates, self.room_for_candidates, room)
        self.room_for_candidates = room

    cdef int32_t _first_in_java(self, int32_t* candidates, Py_ssize_t n) noexcept:
        """Bring Java's queue up to date, and poll from a copy of it."""
        cdef Py_ssize_t i
        if not self.exact:
            self.n_heap = 0
            for i in range(self.number):
                self.heap_keys[i] = self.first_keys[i]
                offer(self.heap, &self.n_heap, self.heap_keys[i])
            self.exact = True
        for i in range(self.n_replayed, self.n_handled):
            self._replay(&self.handled[i])
        self.n_replayed = self.n_handled
        memcpy(self.scratch, self.heap, self.n_heap * sizeof(int64_t))
        memcpy(self.scratch_keys, self.heap_keys, self.number * sizeof(int64_t))
        self.n_scratch = self.n_heap
        return self._first_of(self.scratch, &self.n_scratch, self.scratch_keys, candidates, n)

    cdef void _replay(self, Handled* one) noexcept:
        cdef int32_t source = one.source, destination = one.destination, found
        cdef int64_t was
        cdef int64_t* heap = self.heap
        cdef int64_t* keys = self.heap_keys
        cdef int32_t* candidates = &one.source if one.n == 1 else self.candidates + one.begin
        found = self._first_of(heap, &self.n_heap, keys, candidates, one.n)
        if source < 0:
            return
        was = keys[source]
        keys[source] += one.gain * self.weights[source]
        if found < 0:
            heap[index_of(heap, was)] = keys[source]
        was = keys[destination]
        keys[destination] -= one.loss * self.weights[destination]
        heap[index_of(heap, was)] = keys[destination]
        if found < 0:
            remove(heap, &self.n_heap, keys[source])
        offer(heap, &self.n_heap, keys[source])
        remove(heap, &self.n_heap, keys[destination])
        offer(heap, &self.n_heap, keys[destination])

    cdef int32_t _first_of(
        self, int64_t* heap, Py_ssize_t* size, int64_t* keys, int32_t* candidates, Py_ssize_t n
    ) noexcept:
        """Poll until a candidate comes out, and offer the others again; -1 if none does."""
        cdef Py_ssize_t refused = 0, place
        cdef int32_t found = -1
        cdef int64_t key
        while size[0] and found < 0:
            key = poll(heap, size)
            for place in range(n):
                if keys[candidates[place]] == key:
                    found = candidates[place]
            if found < 0:
                self.refused[refused] = key
                refused += 1
        self._offer_refused(heap, size, refused)
        return found

    cdef void _offer_refused(self, int64_t* heap, Py_ssize_t* size, Py_ssize_t number) noexcept:
        """Offer them as a ``java.util.HashSet`` of process ids filled in this order iterates."""
        cdef Py_ssize_t buckets = 16, place, bucket, other
        cdef int64_t key
        while number > buckets * 3 // 4:
            buckets *= 2
        for place in range(1, number):  # by insertion: mostly few
            key = self.refused[place]
            bucket = self.hashes[key % self.number] & (buckets - 1)
            other = place
            while other and (self.hashes[self.refused[other - 1] % self.number] & (buckets - 1)) > bucket:
                self.refused[other] = self.refused[other - 1]
                other -= 1
            self.refused[other] = key
        for place in range(number):
            offer(heap, size, self.refused[place])


cdef Py_ssize_t index_of(int64_t* heap, int64_t key) noexcept:
    cdef Py_ssize_t at = 0
    while heap[at] != key:
        at += 1
    return at


cdef void offer(int64_t* heap, Py_ssize_t* size, int64_t key) noexcept:
    size[0] += 1
    rise(heap, size[0] - 1, key)


cdef int64_t poll(int64_t* heap, Py_ssize_t* size) noexcept:
    cdef int64_t first = heap[0]
    size[0] -= 1
    if size[0]:
        sink(heap, size[0], 0, heap[size[0]])
    return first


cdef void remove(int64_t* heap, Py_ssize_t* size, int64_t key) noexcept:
    """Fill the gap with the last one, which sinks or else rises."""
    cdef Py_ssize_t at = index_of(heap, key)
    cdef int64_t last
    size[0] -= 1
    last = heap[size[0]]
    if at < size[0]:
        sink(heap, size[0], at, last)
        if heap[at] == last:
            rise(heap, at, last)


cdef void rise(int64_t* heap, Py_ssize_t at, int64_t key) noexcept:
    cdef Py_ssize_t parent
    while at > 0:
        parent = (at - 1) // 2
        if key >= heap[parent]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = key


cdef void sink(int64_t* heap, Py_ssize_t size, Py_ssize_t at, int64_t key) noexcept:
    cdef Py_ssize_t child = 2 * at + 1
    while child < size:
        if child + 1 < size and heap[child] > heap[child + 1]:
            child += 1
        if key <= heap[child]:
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = key
