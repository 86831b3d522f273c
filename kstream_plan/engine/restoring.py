# cython: boundscheck=False, wraparound=False, initializedcheck=False, annotation_typing=False
"""What an instance restores until the next rebalance: actives first, the rest evenly.

Source: page ``rules``, "From one generation to the next".
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf

import numpy as np

from kstream_plan.engine.codes import ACTIVE, AT_ONCE_MS, NONE, POLL_DELAY_MS, POLL_RECORDS
from kstream_plan.engine.columns import grown, zeros
from kstream_plan.engine.copies import Column, Copies
from kstream_plan.model.settings import MAX_LONG

#: More records than this do not wait: with what is restored and written they are within 64 bits.
MOST = 4611686018427387903
#: Whoever restores so many in a time restores all it has.
ALL_RECORDS = 4e18
#: The rate that restores everything at once.
INFINITE = inf
#: Instead of the records that an instance may still restore: all.
EVERYTHING = -1


class Pace:
    """How fast a group restores and is written to, in records per second.

    Args:
        restores: by instance; below 0: unknown.
        writes: by stateful task, in order.
    """

    def __init__(self, restores: Sequence[float], writes: Sequence[float]) -> None:
        self.restores, self.writes = array("d", restores), array("d", writes or [0.0])
        self.any_restores, self.any_writes = max(restores) >= 0, any(writes)
        self.at_once = min(restores) == INFINITE


class Stretch:
    """A time within which the pace stays the same, and the same instances run.

    Args:
        pace: how fast the group restores and is written to.
        elapsed_ms: how long it lasts.
        instances: how many there are.
        stopped_instances: those that do not run though the group counts them in.
        burst: records by place of the task that come at once, when it begins.
        goes_on: whether it is a part of the stretch before, cut off for the sake of copies of a later time.
    """

    def __init__(
        self,
        pace: Pace,
        elapsed_ms: int,
        instances: int,
        stopped_instances: Iterable[int],
        burst: Mapping[int, int],
        goes_on: bool,
    ) -> None:
        self.pace, self.elapsed_ms, self.goes_on = pace, elapsed_ms, goes_on
        self.any_stopped, self.any_burst = False, bool(burst)
        self.is_stopped, self.burst = zeros("b", instances), zeros("q", len(self.pace.writes) if burst else 0)
        for instance in stopped_instances:
            self.is_stopped[instance], self.any_stopped = 1, True
        for place, records in burst.items():
            self.burst[place] = min(records, MOST)


class Restoring:
    """Copies that restore, and fall behind, at rates that are known or not; a draft."""

    def __init__(self, copies: Copies) -> None:
        self.copies = copies
        self.tasks, self.instances = self.copies.tasks, self.copies.instances
        self.stretches: list[Stretch] = []
        self.pace: Pace | None = None
        self.is_rated, self.any_restores, self.at_once = zeros("b", self.instances), False, False
        self.least_lag, self.spare = zeros("q", self.tasks), zeros("q", self.instances)
        self.begins, self.pressed = zeros("b", self.instances), zeros("b", self.instances)
        self.pressure, self.any_pressed = array("d", [0.0]) * self.instances, False
        self.restoring, self.ahead = zeros("b", self.instances), zeros("q", self.instances)
        self.no_flags, self.no_pressure = zeros("b", self.instances), array("d", [0.0]) * self.instances
        self.no_spare, self.none_rest = array("q", [NONE]) * self.instances, zeros("b", self.tasks)
        self.none_ahead = zeros("q", self.instances)
        self.waits, self.any_waits = zeros("q", self.tasks), False
        self.written_records, self.any_written = zeros("q", self.tasks), False
        self.is_written_at_once = zeros("b", self.tasks)
        self.reported_in, self.any_reported_in = zeros("q", 0), False
        self.restored_slots, self.restored_place = zeros("i", self.tasks), zeros("i", self.tasks)
        self.restored_instance, self.records = zeros("i", self.tasks), zeros("Q", self.tasks)
        self.n_restored = 0

    def take(self, stretches: list[Stretch]) -> None:
        """Let time pass in these stretches from now on; tasks at rest stay so only while nothing is otherwise."""
        last = stretches[len(stretches) - 1]
        is_plain = len(stretches) == 1 and not last.any_stopped and not last.any_burst
        is_same = is_plain and self.pace is last.pace
        self.stretches, self.pace, self.any_reported_in = stretches, last.pace if is_plain else None, False
        if not is_same:
            self._look_at_pace(last.pace)

    def _look_at_pace(self, last: Pace) -> None:
        """See whose rate is known throughout, and how far behind who has caught up is by the last pace."""
        self.any_restores = self.at_once = True
        for stretch in self.stretches:
            self.any_restores = self.any_restores and stretch.pace.any_restores
            self.at_once = self.at_once and stretch.pace.at_once
        for instance in range(self.instances):
            self.is_rated[instance] = self.any_restores
            for stretch in self.stretches:
                if stretch.pace.restores[instance] < 0:
                    self.is_rated[instance] = 0
        for place in range(self.tasks):
            self.least_lag[place] = min(self._produced(last, place, POLL_DELAY_MS), self.copies.whole[place])
        self.copies.rests[:] = self.none_rest

    def report_later(self, reported_in: Column) -> None:
        """Say by slot how long after the beginning, in milliseconds, what a copy has to restore was reported."""
        self.reported_in, self.any_reported_in = reported_in, True

    def is_known(self, slot: int) -> bool:
        """Tell whether it is known how long a copy takes."""
        copies = self.copies
        return self.is_rated[copies.instance[slot]] > 0 and (self.at_once or copies.remaining[slot] < MAX_LONG)

    def _produced(self, pace: Pace, place: int, elapsed_ms: int) -> int:
        """Return how many records come of a task in a time."""
        records = pace.writes[place] * elapsed_ms / 1000
        return MOST if records >= ALL_RECORDS else int(records)

    # -- who falls behind -------------------------------------------------------------------------------------------

    def press(self) -> None:
        """Find the instances on which copies that have caught up may fall behind, and let no task of theirs rest.

        They have others to restore, which share their rate, or more is written of their copies than they restore.
        """
        copies = self.copies
        self.any_pressed = False
        self.pressed[:] = self.no_flags
        for stretch in self.stretches:
            if stretch.pace.any_restores and stretch.pace.any_writes:
                self._press(stretch.pace)
        for place in range(self.tasks if self.any_pressed else 0):
            for slot in range(place * copies.room, place * copies.room + copies.number[place]):
                if self.falls_behind(place, slot):
                    copies.rests[place] = 0

    def _press(self, pace: Pace) -> None:
        """Find them at one pace."""
        self._sum_pressure(pace)
        for instance in range(self.instances):
            rate, pressure = pace.restores[instance], self.pressure[instance]
            if rate >= 0 and rate != INFINITE and pressure > 0 and (self.restoring[instance] or pressure > rate):
                self.pressed[instance] = 1
                self.any_pressed = True

    def _sum_pressure(self, pace: Pace) -> None:
        """Sum up what is written of the copies that each instance holds, and see which ones have any to restore."""
        copies = self.copies
        self.pressure[:] = self.no_pressure
        self.restoring[:] = self.no_flags
        for place in range(self.tasks):
            for slot in range(place * copies.room, place * copies.room + copies.number[place]):
                if copies.consumer[slot] < 0:
                    continue
                if copies.role[slot] != ACTIVE:
                    self.pressure[copies.instance[slot]] += pace.writes[place]
                if copies.remaining[slot]:
                    self.restoring[copies.instance[slot]] = 1

    def falls_behind(self, place: int, slot: int) -> bool:
        """Tell whether a copy may fall behind that has caught up."""
        copies = self.copies
        if copies.consumer[slot] < 0 or copies.role[slot] == ACTIVE:
            return False
        return copies.unprocessed[place] > 0 or (self.any_pressed and self.pressed[copies.instance[slot]] > 0)

    # -- what is restored -------------------------------------------------------------------------------------------

    def restore(self, generation: int, at_rejoin: bool) -> None:
        """Find the records that each held copy has ``left_at_end``, or ``left_at_rejoin`` of disturbed consumers.

        ``generation`` is that of the decision: who had nothing to restore before it is ahead of its rate.
        """
        begin_ms = 0
        self._begin(generation, at_rejoin)
        for stretch in self.stretches:
            elapsed_ms = stretch.elapsed_ms
            if at_rejoin:
                if begin_ms >= AT_ONCE_MS:
                    break
                elapsed_ms = min(elapsed_ms, AT_ONCE_MS - begin_ms)
            self._pass(stretch, begin_ms, elapsed_ms, at_rejoin)
            begin_ms += stretch.elapsed_ms

    def keep_waiting(self) -> None:
        """Let what waits to be written by the end of the time be unprocessed input."""
        for place in range(self.tasks):
            if not self.copies.rests[place]:
                self.copies.unprocessed[place] = self.waits[place]

    def result(self, tasks: Collection[int] | None) -> tuple[dict[tuple[int, int], tuple[int, int]], dict[int, int]]:
        """Return what copies of ``tasks`` have left and what was written since they were reported, and what waits.

        Copies are by (task, instance), what waits by task; ``None``: all tasks.
        """
        copies, remaining, waits = self.copies, {}, {}
        for place in range(self.tasks):
            task = copies.task_of[place]
            if tasks is not None and task not in tasks:
                continue
            if self.waits[place]:
                waits[task] = self.waits[place]
            for slot in range(place * copies.room, place * copies.room + copies.number[place]):
                remaining[task, copies.instance[slot]] = copies.left_at_end[slot], copies.grown[slot]
        return remaining, waits

    def _begin(self, generation: int, at_rejoin: bool) -> None:
        """Start with what copies have to restore, and see who is ahead of its rate: who begins just now."""
        copies, elapsed_ms = self.copies, 0
        self.begins[:] = self.no_flags
        self.ahead[:] = self.none_ahead
        self.any_waits = False
        for place in range(self.tasks):
            if not copies.rests[place]:
                self._begin_task(place, generation, at_rejoin)
        for stretch in self.stretches:
            elapsed_ms += stretch.elapsed_ms
        if at_rejoin or elapsed_ms <= AT_ONCE_MS or not self.any_restores:
            return
        for instance in range(self.instances):
            if self.begins[instance] == 1 and self.is_rated[instance]:
                self.ahead[instance] = self._rest_of_a_poll(instance)

    def _begin_task(self, place: int, generation: int, at_rejoin: bool) -> None:
        """Start with a task, and note which instances have had something to restore before."""
        copies = self.copies
        self.waits[place], self.written_records[place] = copies.unprocessed[place], 0
        self.any_waits = self.any_waits or self.waits[place] > 0
        for slot in range(place * copies.room, place * copies.room + copies.number[place]):
            if at_rejoin:
                copies.left_at_rejoin[slot] = copies.remaining[slot]
            else:
                copies.left_at_end[slot], copies.grown[slot] = copies.remaining[slot], 0
            if copies.consumer[slot] >= 0 and copies.remaining[slot] and self.begins[copies.instance[slot]] < 2:
                self.begins[copies.instance[slot]] = 2 if copies.placed_in[slot] < generation else 1

    def _rest_of_a_poll(self, instance: int) -> int:
        """Return what is missing to whole polls after the time; nothing if the instance restores less than one."""
        records, elapsed_ms, previous = 0.0, 0, self.stretches[0]
        for stretch in self.stretches:
            if stretch.pace.restores[instance] == INFINITE:
                return 0
            if not stretch.goes_on:
                records += previous.pace.restores[instance] * elapsed_ms / 1000
                elapsed_ms, previous = 0, stretch
            elapsed_ms += stretch.elapsed_ms
        records += previous.pace.restores[instance] * elapsed_ms / 1000
        if records >= ALL_RECORDS or records < POLL_RECORDS:
            return 0
        return POLL_RECORDS - int(records) % POLL_RECORDS

    def _pass(self, stretch: Stretch, begin_ms: int, elapsed_ms: int, at_rejoin: bool) -> None:
        """Let one stretch pass, or the beginning of one: the others restore once it is known what active copies do."""
        self.spare[:] = self.no_spare
        if self.any_restores:
            self._restore(stretch, begin_ms, elapsed_ms, at_rejoin, True)
        self.any_written = False
        if stretch.pace.any_writes or stretch.any_burst or self.any_waits:
            for place in range(self.tasks):
                if not self.copies.rests[place]:
                    self._write(stretch, place, begin_ms, elapsed_ms, at_rejoin)
        if self.any_restores:
            self._restore(stretch, begin_ms, elapsed_ms, at_rejoin, False)

    def _write(self, stretch: Stretch, place: int, begin_ms: int, elapsed_ms: int, at_rejoin: bool) -> None:
        """Note what is written of a task.

        Nothing is while its owner is stopped or restores it: that waits, and is written at once afterwards.
        """
        copies, waited, burst = self.copies, self.waits[place], 0
        if stretch.any_burst:
            burst = stretch.burst[place]
        records = self._produced(stretch.pace, place, elapsed_ms)
        records = min(MOST, records + burst)
        records += waited
        self.waits[place] = self.written_records[place] = 0
        if records == 0:
            return
        if not self._is_processed(stretch, place, at_rejoin):
            self.waits[place], self.any_waits = min(records, copies.whole[place], MOST), True
            return
        self.written_records[place], self.any_written = records, True
        self.is_written_at_once[place] = waited > 0 or burst > 0
        if at_rejoin:
            return
        for slot in range(place * copies.room, place * copies.room + copies.number[place]):
            if not self.any_reported_in or self.reported_in[slot] <= begin_ms:
                copies.grown[slot] = (
                    copies.grown[slot] + records if copies.grown[slot] < MAX_LONG - records else MAX_LONG
                )

    def _is_processed(self, stretch: Stretch, place: int, at_rejoin: bool) -> bool:
        """Tell whether the owner of a task runs and, for all that is known, has restored it at the end of a stretch."""
        copies = self.copies
        for slot in range(place * copies.room, place * copies.room + copies.number[place]):
            if copies.role[slot] != ACTIVE:
                continue
            if stretch.any_stopped and stretch.is_stopped[copies.instance[slot]]:
                return False
            if self.is_rated[copies.instance[slot]] and copies.remaining[slot] < MAX_LONG:
                remaining = copies.left_at_rejoin[slot] if at_rejoin else copies.left_at_end[slot]
                if remaining > 0:
                    return False
        return True

    def _restore(self, stretch: Stretch, begin_ms: int, elapsed_ms: int, at_rejoin: bool, is_active: bool) -> None:
        """Restore the active copies, or else the others."""
        self.n_restored = 0
        for place in range(self.tasks):
            if not self.copies.rests[place]:
                self._collect(stretch, place, begin_ms, at_rejoin, is_active)
        if self.n_restored == 0:
            return
        order, begin = self._in_order(), 0
        while begin < self.n_restored:
            end, instance = begin, self.restored_instance[order[begin]]
            while end < self.n_restored and self.restored_instance[order[end]] == instance:
                end += 1
            if self.spare[instance] == NONE:
                self.spare[instance] = self._records(stretch, instance, elapsed_ms)
            if self.spare[instance] != EVERYTHING:
                self._share(order[begin:end], instance, at_rejoin)
            begin = end

    def _in_order(self) -> list[int]:
        """Return what is restored by instance, those with least to go first."""
        n = self.n_restored
        places, instances = np.asarray(self.restored_place)[:n], np.asarray(self.restored_instance)[:n]
        order: list[int] = np.lexsort((places, np.asarray(self.records)[:n], instances)).tolist()
        return order

    def _collect(self, stretch: Stretch, place: int, begin_ms: int, at_rejoin: bool, is_active: bool) -> None:
        """Collect the copies of a task that are restored; they have nothing left until records are shared out."""
        copies, n_written = self.copies, 0
        if not is_active and self.any_written:
            n_written = self.written_records[place]
        for slot in range(place * copies.room, place * copies.room + copies.number[place]):
            instance = copies.instance[slot]
            if copies.consumer[slot] < 0 or (copies.role[slot] == ACTIVE) != is_active or not self.is_rated[instance]:
                continue
            if self.any_reported_in and self.reported_in[slot] > begin_ms:
                continue
            remaining = copies.left_at_rejoin[slot] if at_rejoin else copies.left_at_end[slot]
            if remaining == 0:
                if n_written == 0:
                    continue
                is_stopped = stretch.any_stopped and stretch.is_stopped[instance] > 0
                if not (is_stopped or self.is_written_at_once[place] or self.pressed[instance]):
                    continue
            self._add(place, slot, remaining, n_written)
            if at_rejoin:
                copies.left_at_rejoin[slot] = 0
            else:
                copies.left_at_end[slot] = 0

    def _add(self, place: int, slot: int, remaining: int, n_written: int) -> None:
        """Note a copy that is restored."""
        n = self.n_restored
        if n == len(self.restored_slots):
            self.restored_slots, self.restored_place = (
                grown("i", self.restored_slots, 2 * n),
                grown("i", self.restored_place, 2 * n),
            )
            self.restored_instance = grown("i", self.restored_instance, 2 * n)
            self.records = grown("Q", self.records, 2 * n)
        self.restored_slots[n], self.restored_place[n], self.restored_instance[n] = (
            slot,
            place,
            self.copies.instance[slot],
        )
        self.records[n] = remaining
        self.records[n] += n_written
        self.n_restored = n + 1

    def _records(self, stretch: Stretch, instance: int, elapsed_ms: int) -> int:
        """Return how many records an instance restores in a time.

        One that begins to is ahead by what is left of a poll, for the first one comes at once.
        """
        ahead = self.ahead[instance]
        self.ahead[instance] = 0
        if stretch.any_stopped and stretch.is_stopped[instance]:
            return 0
        if stretch.pace.restores[instance] == INFINITE:
            return EVERYTHING
        records = stretch.pace.restores[instance] * elapsed_ms / 1000
        return EVERYTHING if records >= ALL_RECORDS else int(records) + ahead

    def _share(self, order: list[int], instance: int, at_rejoin: bool) -> None:
        """Share an instance's records evenly among copies, what one does not need going to the others."""
        copies, spare, sharing = self.copies, self.spare[instance], len(order)
        for n in order:
            share, records = spare // sharing, self.records[n]
            sharing -= 1
            if records <= share:
                spare -= records
                continue
            spare -= share
            remaining = min(records - share, copies.whole[self.restored_place[n]])
            if at_rejoin:
                copies.left_at_rejoin[self.restored_slots[n]] = remaining
            else:
                copies.left_at_end[self.restored_slots[n]] = remaining
        self.spare[instance] = spare
