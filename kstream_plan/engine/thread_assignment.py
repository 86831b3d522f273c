# cython: boundscheck=False, wraparound=False, initializedcheck=False, annotation_typing=False
"""The split of one instance's stateful tasks over its consumers: Kafka's ``assignTasksToThreads``.

Source: page ``rules``, "Split over threads".

Each thread first gets back up to its share what it reported, least lag first. What is left fills those below the share
in task order. The remainder goes one by one to those at the share: to who reported the task if possible, else in the
order of the array of Kafka's queue of unassigned tasks.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TypeAlias

from kstream_plan.engine.columns import grown, zeros
from kstream_plan.model.java_hash import INITIAL_BINS, LONGEST_CHAIN

Column: TypeAlias = "array[int]"


class ThreadAssignment:
    """One instance's tasks in one role, dealt to its consumers; filled anew each time.

    Args:
        hashes: of the tasks' ids (``Group.table_hashes``).
        threads: the most that an instance has.
        hash_order: returns the places of hashes in the order in which a ``java.util.HashSet`` of their keys iterates,
            however long its chains are.
    """

    def __init__(self, hashes: Sequence[int], threads: int, hash_order: Callable[[list[int]], list[int]]) -> None:
        number = len(hashes)
        self.hash_order, self.hashes = hash_order, array("q", hashes)
        self.n = self.n_more = 0
        self.tasks, self.reporters, self.thread_of = zeros("i", number), zeros("i", number), zeros("i", number)
        self.lags = zeros("q", number)
        self.more_places, self.more_reporters = zeros("i", 8), zeros("i", 8)
        self.numbers, self.room, self.at_share = zeros("i", threads), zeros("i", threads), zeros("i", threads)
        self.left_tasks, self.rest, self.taken_tasks = zeros("i", number), zeros("i", number), zeros("i", number)
        self.returned, self.skipped = zeros("i", number), zeros("i", number)
        self.heap, self.place_of, self.order = zeros("i", number), zeros("i", number), zeros("i", number)
        self.chains = zeros("i", INITIAL_BINS)

    def clear(self) -> None:
        """Begin with no tasks."""
        self.n = self.n_more = 0

    def add(self, task: int, reporter: int) -> None:
        """Add a task; they come in order. ``reporter`` counts from the instance's first consumer; -1: none."""
        self.tasks[self.n], self.reporters[self.n], self.lags[self.n] = task, reporter, 0
        self.n += 1

    def add_unreported(self, tasks: list[int]) -> None:
        """Add tasks that no consumer has reported; they come in order."""
        for task in tasks:
            self.add(task, -1)

    def add_reporter(self, reporter: int) -> None:
        """Let another thread have reported the task that was added last, too."""
        if self.n_more == len(self.more_places):
            self.more_places = grown("i", self.more_places, 2 * self.n_more)
            self.more_reporters = grown("i", self.more_reporters, 2 * self.n_more)
        self.more_places[self.n_more], self.more_reporters[self.n_more] = self.n - 1, reporter
        self.n_more += 1

    def set_lag(self, place: int, lag: int) -> None:
        """Say how far behind the instance is on a task, by its place among those added."""
        self.lags[place] = lag

    def give_back(self, load: Column, begin: int, threads: int) -> bool:
        """Give all tasks back, and add to each thread's ``load`` from ``begin`` on, if that is what the steps come to.

        By far the most frequent case: every task was reported once, and each thread then has its share or one more.
        """
        if self.n == 0:
            return True
        self._make_room(load, begin, threads)
        if not self._give_back_all(threads):
            return False
        for thread in range(threads):
            load[begin + thread] += self.numbers[thread]
        return True

    def deal(self, load: Column, begin: int, threads: int, as_hash_set: bool) -> None:
        """Deal the tasks step by step; ``as_hash_set``: Kafka's queue is made of a set of their ids, else in order."""
        self._make_room(load, begin, threads)
        self._deal_step_by_step(threads, as_hash_set)
        for thread in range(threads):
            load[begin + thread] += self.numbers[thread]

    def takers(self) -> list[int]:
        """Return the thread that is given each task."""
        return [self.thread_of[index] for index in range(self.n)]

    def by_thread(self, threads: int) -> list[list[int]]:
        """Return the tasks that each thread is given, in order."""
        tasks_by_thread: list[list[int]] = [[] for _ in range(threads)]
        for index in range(self.n):
            tasks_by_thread[self.thread_of[index]].append(self.tasks[index])
        return tasks_by_thread

    def _make_room(self, load: Column, begin: int, threads: int) -> None:
        total = 0
        for thread in range(threads):
            total += load[begin + thread]
        share = (total + self.n) // threads
        for thread in range(threads):
            self.room[thread], self.numbers[thread] = share - load[begin + thread], 0

    def _give_back_all(self, threads: int) -> bool:
        if self.n_more:
            return False
        for index in range(self.n):
            if self.reporters[index] < 0:
                return False
            self.thread_of[index] = self.reporters[index]
            self.numbers[self.reporters[index]] += 1
        for thread in range(threads):
            if self.numbers[thread] < self.room[thread] or self.numbers[thread] > self.room[thread] + 1:
                return False
        return True

    def _deal_step_by_step(self, threads: int, as_hash_set: bool) -> None:
        """Give back what was reported, fill up, then one more each; places among ``tasks`` stand for these."""
        n_taken, n_left, n_at_share = self._give_back(threads), 0, 0
        for index in range(self.n):
            if self.thread_of[index] < 0:
                self.left_tasks[n_left] = index
                n_left += 1
        n_rest = self._fill_up(n_left, threads)
        if n_rest == 0:
            return
        for thread in range(threads):
            if self.numbers[thread] == self.room[thread]:
                self.at_share[n_at_share] = thread
                n_at_share += 1
        n_returned = self._give_back_one_more(n_rest, n_at_share)
        n_rest -= n_returned
        n_at_share -= n_returned
        if n_rest > 2:  # a heap of two has them in order
            self._array_order(n_taken, n_left - n_returned - n_rest, n_returned, as_hash_set)
            for index in range(n_rest):
                self.rest[index] = self.heap[index]
        for index in range(min(n_rest, n_at_share)):
            self.thread_of[self.rest[index]] = self.at_share[index]
            self.numbers[self.at_share[index]] += 1

    def _give_back(self, threads: int) -> int:
        """Give each thread up to its share what it reported; fill ``taken_tasks``, ``skipped``; return their number."""
        n_taken = 0
        for index in range(self.n):
            self.thread_of[index], self.skipped[index] = -1, -1
        for thread in range(threads):
            number = self._reported_by(thread)
            n_kept = min(number, max(0, self.room[thread]))
            for index in range(number):
                if index < n_kept:
                    self.thread_of[self.order[index]] = thread
                    self.taken_tasks[n_taken] = self.order[index]
                    n_taken += 1
                else:
                    self.skipped[self.order[index]] = thread
            self.numbers[thread] = n_kept
        return n_taken

    def _give_back_one_more(self, n_rest: int, n_at_share: int) -> int:
        """Give one skipped task of ``rest`` to each thread ``at_share`` that reported it.

        Both lose who has got one. Return how many have; ``returned`` says which tasks, in task order.
        """
        index = n_returned = 0
        while index < n_rest:
            last, thread = self.skipped[self.rest[index]], 0
            while thread < n_at_share and self.at_share[thread] != last:
                thread += 1
            if last < 0 or thread == n_at_share:
                index += 1
                continue
            self.thread_of[self.rest[index]] = last
            self.numbers[last] += 1
            self.returned[n_returned] = self.rest[index]
            n_returned += 1
            n_rest -= 1
            for number in range(index, n_rest):
                self.rest[number] = self.rest[number + 1]
            n_at_share -= 1
            for number in range(thread, n_at_share):
                self.at_share[number] = self.at_share[number + 1]
        return n_returned

    def _reported_by(self, thread: int) -> int:
        """Fill ``order`` with what a thread reported and none has yet, by (lag, task); return how many there are."""
        number = 0
        for index in range(self.n):
            if self.thread_of[index] < 0 and self._has_reported(index, thread):
                place = number
                while place and self.lags[self.order[place - 1]] > self.lags[index]:
                    self.order[place] = self.order[place - 1]
                    place -= 1
                self.order[place] = index
                number += 1
        return number

    def _has_reported(self, place: int, thread: int) -> bool:
        if self.reporters[place] == thread:
            return True
        for index in range(self.n_more):
            if self.more_places[index] == place and self.more_reporters[index] == thread:
                return True
        return False

    def _fill_up(self, n_left: int, threads: int) -> int:
        """Deal what is left to those with room, one at a time each; fill ``rest``, return how many are over."""
        first, previous_first = 0, -1
        while first != previous_first:
            previous_first = first
            for thread in range(threads):
                if self.numbers[thread] < self.room[thread] and first < n_left:
                    self.thread_of[self.left_tasks[first]] = thread
                    self.numbers[thread] += 1
                    first += 1
        for index in range(n_left - first):
            self.rest[index] = self.left_tasks[first + index]
        return n_left - first

    # -- Kafka's queue of unassigned tasks --------------------------------------------------------------------------

    def _array_order(self, n_taken: int, polled: int, n_returned: int, as_hash_set: bool) -> None:
        """Replay what happens to the queue; ``heap`` has what is left in the order of its array."""
        size = self.n
        for index in range(size):
            self.order[index] = index
        if as_hash_set:
            self._as_hash_set()
        for index in range(size):
            self.heap[index] = self.order[index]
            self.place_of[self.order[index]] = index
        for index in range(size // 2 - 1, -1, -1):
            self._sink(size, index, self.heap[index])
        for index in range(n_taken):
            size -= 1
            self._remove(size, self.place_of[self.taken_tasks[index]])
        for _ in range(polled):
            size -= 1
            if size:
                self._sink(size, 0, self.heap[size])
        for index in range(n_returned):
            size -= 1
            self._remove(size, self.place_of[self.returned[index]])

    def _as_hash_set(self) -> None:
        """Fill ``order`` as Kafka's set of the tasks' ids iterates."""
        bins = INITIAL_BINS
        while self.n > bins * 3 // 4:
            bins *= 2
        if len(self.chains) < bins:
            self.chains = zeros("i", bins)
        if self._any_long_chain(bins):
            for index, place in enumerate(self.hash_order([self.hashes[self.tasks[index]] for index in range(self.n)])):
                self.order[index] = place
            return
        for chain in range(bins):
            self.chains[chain] = 0
        for index in range(self.n):
            self.chains[self.hashes[self.tasks[index]] & (bins - 1)] += 1
        total = 0
        for chain in range(bins):
            number = self.chains[chain]
            self.chains[chain] = total
            total += number
        for index in range(self.n):
            chain = self.hashes[self.tasks[index]] & (bins - 1)
            self.order[self.chains[chain]] = index
            self.chains[chain] += 1

    def _any_long_chain(self, bins: int) -> bool:
        """Tell whether a chain may have been long enough for a tree, in this table or one with fewer bins before it."""
        fewest, longest_chain = INITIAL_BINS, LONGEST_CHAIN
        while bins >= fewest:
            keys, longest = min(self.n, bins * 3 // 4 + 1), 1
            if keys > longest_chain:
                for chain in range(bins):
                    self.chains[chain] = 0
                for index in range(keys):
                    chain = self.hashes[self.tasks[index]] & (bins - 1)
                    self.chains[chain] += 1
                    longest = max(longest, self.chains[chain])
            if longest > longest_chain:
                return True
            while longest <= longest_chain:
                bins, longest = bins // 2, longest * 2
        return False

    def _remove(self, size: int, index: int) -> None:
        """Fill the gap with the last one, at this size, which sinks or else rises."""
        last = self.heap[size]
        if index < size:
            self._sink(size, index, last)
            if self.heap[index] == last:
                self._rise(index, last)

    def _sink(self, size: int, index: int, task: int) -> None:
        child = 2 * index + 1
        while child < size:
            if child + 1 < size and self.heap[child] > self.heap[child + 1]:
                child += 1
            if task <= self.heap[child]:
                break
            self.heap[index] = self.heap[child]
            self.place_of[self.heap[index]] = index
            index = child
            child = 2 * index + 1
        self.heap[index] = task
        self.place_of[task] = index

    def _rise(self, index: int, task: int) -> None:
        while index > 0:
            parent = (index - 1) // 2
            if task >= self.heap[parent]:
                break
            self.heap[index] = self.heap[parent]
            self.place_of[self.heap[index]] = index
            index = parent
        self.heap[index] = task
        self.place_of[task] = index
