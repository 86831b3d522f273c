# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The split of one instance's stateful tasks over its consumers, compiled: as ``assignors/threads/consumer_split``."""

from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from kstream_plan.designs.classic.compiled.memory cimport Ints, int32s, int32s_of, int64s, int64s_of

from kstream_plan.assignors.java.collections import INITIAL_BINS, LONGEST_CHAIN, hash_order

cdef Py_ssize_t FEWEST_BINS = INITIAL_BINS
cdef Py_ssize_t LONGEST = LONGEST_CHAIN


cdef class ThreadSplit:
    """One instance's tasks in one role, dealt to its consumers; filled anew each time.

    Args:
        hashes: of the tasks' ids (``Group.table_hashes``).
        threads: the most that an instance has.
    """

    def __init__(self, hashes, threads):
        cdef Py_ssize_t number = len(hashes)
        self.memory = []
        self.hashes, self.lags = int64s_of(self.memory, list(hashes)), int64s(self.memory, number)
        self.tasks, self.reporters = int32s(self.memory, number), int32s(self.memory, number)
        self.given, self.skipped = int32s(self.memory, number), int32s(self.memory, number)
        self.left, self.rest = int32s(self.memory, number), int32s(self.memory, number)
        self.taken, self.returned = int32s(self.memory, number), int32s(self.memory, number)
        self.order, self.heap = int32s(self.memory, number), int32s(self.memory, number)
        self.place_of = int32s(self.memory, number)
        self.numbers, self.room = int32s(self.memory, threads), int32s(self.memory, threads)
        self.at_share = int32s(self.memory, threads)

    cdef void clear(self) noexcept:
        """Begin with no tasks."""
        self.n = 0

    cdef void add(self, int32_t task, int32_t reporter) noexcept:
        """Add a task; they come in order. ``reporter`` counts from the instance's first consumer; -1: nobody."""
        self.tasks[self.n], self.reporters[self.n] = task, reporter
        self.n += 1

    cdef bint give_back(self, int32_t* load, Py_ssize_t begin, Py_ssize_t threads) noexcept:
        """Fill ``given`` by thread, and add to each one's ``load`` from ``begin`` on, if all get back what they had."""
        cdef Py_ssize_t thread
        if self.n == 0:
            return True
        self._make_room(load, begin, threads)
        if not self._give_back_all(threads):
            return False
        for thread in range(threads):
            load[begin + thread] += self.numbers[thread]
        return True

    cdef void deal(self, int32_t* load, Py_ssize_t begin, Py_ssize_t threads, bint as_hash_set) except *:
        """Do the same whatever they had; ``lags`` say how far behind the instance is on each task."""
        cdef Py_ssize_t thread
        self._make_room(load, begin, threads)
        self._deal_step_by_step(threads, as_hash_set)
        for thread in range(threads):
            load[begin + thread] += self.numbers[thread]

    def dealt(self, tasks, reporters, lags, load, as_hash_set):
        """Split tasks whose consumers have a ``load`` already; return which thread gets each."""
        cdef list memory = []
        cdef Ints loads = int32s_of(memory, load)
        cdef Py_ssize_t at, threads = len(load)
        self.clear()
        for task, reporter in zip(tasks, reporters, strict=True):
            self.add(task, reporter)
        if not self.give_back(loads, 0, threads):
            for at, lag in enumerate(lags):
                self.lags[at] = lag
            self.deal(loads, 0, threads, as_hash_set)
        return [self.given[at] for at in range(self.n)]

    cdef void _make_room(self, int32_t* load, Py_ssize_t begin, Py_ssize_t threads) noexcept:
        cdef Py_ssize_t thread
        cdef int32_t share, total = 0
        for thread in range(threads):
            total += load[begin + thread]
        share = <int32_t>((total + self.n) // threads)
        for thread in range(threads):
            self.room[thread], self.numbers[thread] = share - load[begin + thread], 0

    cdef bint _give_back_all(self, Py_ssize_t threads) noexcept:
        cdef Py_ssize_t at, thread
        for at in range(self.n):
            if self.reporters[at] < 0:
                return False
            self.given[at] = self.reporters[at]
            self.numbers[self.reporters[at]] += 1
        for thread in range(threads):
            if not 0 <= self.numbers[thread] - self.room[thread] <= 1:
                return False
        return True

    cdef void _deal_step_by_step(self, Py_ssize_t threads, bint as_hash_set) except *:
        """Give back what was reported, fill up, then one more each; places among ``tasks`` stand for these."""
        cdef Py_ssize_t at, thread, n_taken, n_left = 0, n_rest, n_returned, n_at_share = 0
        n_taken = self._give_back(threads)
        for at in range(self.n):
            if self.given[at] < 0:
                self.left[n_left] = <int32_t>at
                n_left += 1
        n_rest = self._fill_up(n_left, threads)
        if n_rest == 0:
            return
        for thread in range(threads):
            if self.numbers[thread] == self.room[thread]:
                self.at_share[n_at_share] = <int32_t>thread
                n_at_share += 1
        n_returned = self._give_back_one_more(n_rest, n_at_share)
        n_rest -= n_returned
        n_at_share -= n_returned
        if n_rest > 2:  # a heap of two has them in order
            self._array_order(n_taken, n_left - n_returned - n_rest, n_returned, as_hash_set)
            memcpy(self.rest, self.heap, n_rest * sizeof(int32_t))
        for at in range(min(n_rest, n_at_share)):
            self.given[self.rest[at]] = self.at_share[at]
            self.numbers[self.at_share[at]] += 1

    cdef Py_ssize_t _give_back(self, Py_ssize_t threads) noexcept:
        """Give each thread up to its share what it reported; fill ``taken`` and ``skipped``; return how many it was."""
        cdef Py_ssize_t at, thread, number, kept, n_taken = 0
        for at in range(self.n):
            self.given[at], self.skipped[at] = -1, -1
        for thread in range(threads):
            number = self._reported_by(<int32_t>thread)
            kept = min(number, max(0, self.room[thread]))
            for at in range(number):
                if at < kept:
                    self.given[self.order[at]] = <int32_t>thread
                    self.taken[n_taken] = self.order[at]
                    n_taken += 1
                else:
                    self.skipped[self.order[at]] = <int32_t>thread
            self.numbers[thread] = <int32_t>kept
        return n_taken

    cdef Py_ssize_t _give_back_one_more(self, Py_ssize_t n_rest, Py_ssize_t n_at_share) noexcept:
        """Give one skipped task of ``rest`` to each thread ``at_share`` that reported it.

        Both lose who has got one. Return how many have; ``returned`` says which tasks, in task order.
        """
        cdef Py_ssize_t at = 0, thread, number, n_returned = 0
        cdef int32_t last
        while at < n_rest:
            last = self.skipped[self.rest[at]]
            thread = 0
            while thread < n_at_share and self.at_share[thread] != last:
                thread += 1
            if last < 0 or thread == n_at_share:
                at += 1
                continue
            self.given[self.rest[at]] = last
            self.numbers[last] += 1
            self.returned[n_returned] = self.rest[at]
            n_returned += 1
            n_rest -= 1
            for number in range(at, n_rest):
                self.rest[number] = self.rest[number + 1]
            n_at_share -= 1
            for number in range(thread, n_at_share):
                self.at_share[number] = self.at_share[number + 1]
        return n_returned

    cdef Py_ssize_t _reported_by(self, int32_t thread) noexcept:
        """Fill ``order`` with what a thread reported, by (lag, task); return how many there are."""
        cdef Py_ssize_t at, number = 0, place
        for at in range(self.n):
            if self.reporters[at] == thread:
                place = number
                while place and self.lags[self.order[place - 1]] > self.lags[at]:
                    self.order[place] = self.order[place - 1]
                    place -= 1
                self.order[place] = <int32_t>at
                number += 1
        return number

    cdef Py_ssize_t _fill_up(self, Py_ssize_t n_left, Py_ssize_t threads) noexcept:
        """Deal what is left to those with room, one at a time each; fill ``rest``, return how many are over."""
        cdef Py_ssize_t first = 0, thread, before = -1, over = 0
        while first != before:
            before = first
            for thread in range(threads):
                if self.numbers[thread] < self.room[thread] and first < n_left:
                    self.given[self.left[first]] = <int32_t>thread
                    self.numbers[thread] += 1
                    first += 1
        for over in range(n_left - first):
            self.rest[over] = self.left[first + over]
        return n_left - first

    # -- Kafka's queue of unassigned tasks --------------------------------------------------------------------------

    cdef void _array_order(
        self, Py_ssize_t n_taken, Py_ssize_t polled, Py_ssize_t n_returned, bint as_hash_set
    ) except *:
        """Play what happens to the queue; ``heap`` has what is left in the order of its array."""
        cdef Py_ssize_t at, size = self.n
        if as_hash_set:
            self._as_hash_set()
        else:
            for at in range(self.n):
                self.order[at] = <int32_t>at
        for at in range(self.n):
            self._put(at, self.order[at])
        for at in range(size // 2 - 1, -1, -1):
            self._sink(size, at, self.heap[at])
        for at in range(n_taken):
            self._remove(&size, self.place_of[self.taken[at]])
        for at in range(polled):
            size -= 1
            if size:
                self._sink(size, 0, self.heap[size])
        for at in range(n_returned):
            self._remove(&size, self.place_of[self.returned[at]])

    cdef void _as_hash_set(self) except *:
        """Fill ``order`` as Kafka's set of the tasks' ids iterates."""
        cdef Py_ssize_t bins = FEWEST_BINS, at, chain
        cdef int32_t total = 0, number
        while self.n > bins * 3 // 4:
            bins *= 2
        if self.room_for_chains < bins:
            self.chains, self.room_for_chains = int32s(self.memory, bins), bins
        if self._any_long_chain(bins):
            for at, chain in enumerate(hash_order([self.hashes[self.tasks[place]] for place in range(self.n)])):
                self.order[at] = <int32_t>chain
            return
        memset(self.chains, 0, bins * sizeof(int32_t))
        for at in range(self.n):
            self.chains[self.hashes[self.tasks[at]] & (bins - 1)] += 1
        for chain in range(bins):
            number = self.chains[chain]
            self.chains[chain] = total
            total += number
        for at in range(self.n):
            chain = self.hashes[self.tasks[at]] & (bins - 1)
            self.order[self.chains[chain]] = <int32_t>at
            self.chains[chain] += 1

    cdef bint _any_long_chain(self, Py_ssize_t bins) noexcept:
        cdef Py_ssize_t at, keys, longest, chain
        while bins >= FEWEST_BINS:
            keys, longest = min(self.n, bins * 3 // 4 + 1), 1
            if keys > LONGEST:
                memset(self.chains, 0, bins * sizeof(int32_t))
                for at in range(keys):
                    chain = self.hashes[self.tasks[at]] & (bins - 1)
                    self.chains[chain] += 1
                    longest = max(longest, self.chains[chain])
            if longest > LONGEST:
                return True
            while longest <= LONGEST:
                bins, longest = bins // 2, longest * 2
        return False

    cdef void _remove(self, Py_ssize_t* size, Py_ssize_t at) noexcept:
        """Fill the gap with the last one, which sinks or else rises."""
        cdef int32_t last
        size[0] -= 1
        last = self.heap[size[0]]
        if at < size[0]:
            self._sink(size[0], at, last)
            if self.heap[at] == last:
                self._rise(at, last)

    cdef void _sink(self, Py_ssize_t size, Py_ssize_t at, int32_t task) noexcept:
        cdef Py_ssize_t child = 2 * at + 1
        while child < size:
            if child + 1 < size and self.heap[child] > self.heap[child + 1]:
                child += 1
            if task <= self.heap[child]:
                break
            self._put(at, self.heap[child])
            at = child
            child = 2 * at + 1
        self._put(at, task)

    cdef void _rise(self, Py_ssize_t at, int32_t task) noexcept:
        cdef Py_ssize_t parent
        while at > 0:
            parent = (at - 1) // 2
            if task >= self.heap[parent]:
                break
            self._put(at, self.heap[parent])
            at = parent
        self._put(at, task)

    cdef void _put(self, Py_ssize_t at, int32_t task) noexcept:
        self.heap[at] = task
        self.place_of[task] = <int32_t>at
