# cython: boundscheck=False, wraparound=False, initializedcheck=False, annotation_typing=False
"""What an instance restores until the next rebalance at rates that stay the same: actives first, the rest evenly.

Source: page ``rules``, "From one generation to the next".
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import inf

import numpy as np

from kstream_plan.engine.codes import ACTIVE, NONE
from kstream_plan.engine.columns import grown, zeros
from kstream_plan.engine.copies import Copies
from kstream_plan.model.settings import MAX_LONG

#: The time within which whoever is disturbed rejoins.
AT_ONCE_MS = 100
#: Between two polls of a copy's changelog (Kafka's ``poll.ms``).
POLL_DELAY_MS = 100
#: What is restored at a time: ``max.poll.records`` as Kafka Streams sets it.
POLL_RECORDS = 1000
#: More records than this do not wait: with what is restored and written they are within 64 bits.
MOST = 4611686018427387903
#: The rate that restores everything at once.
INFINITE = inf


class Restoring:
    """Copies that restore, and fall behind, at rates that are known or not; a draft."""

    def __init__(self, copies: Copies) -> None:
        self.copies = copies
        self.tasks, self.instances = self.copies.tasks, self.copies.instances
        self.restores, self.writes = array("d", [-1.0]) * self.instances, array("d", [0.0]) * max(1, self.tasks)
        self.any_restores = self.any_writes = self.at_once = False
        self.standing, self.spare = zeros("q", self.tasks), zeros("q", self.instances)
        self.begins, self.pressed = zeros("b", self.instances), zeros("b", self.instances)
        self.pressure, self.any_pressed = array("d", [0.0]) * self.instances, False
        self.no_flags, self.no_pressure = zeros("b", self.instances), array("d", [0.0]) * self.instances
        self.no_spare, self.none_rest = array("q", [NONE]) * self.instances, zeros("b", self.tasks)
        self.restored, self.restored_place = zeros("i", self.tasks), zeros("i", self.tasks)
        self.restored_instance, self.records = zeros("i", self.tasks), zeros("Q", self.tasks)
        self.n_restored = 0

    def pace(self, restores: Sequence[float], writes: Sequence[float]) -> None:
        """Go on at these rates, in records per second: by instance (below 0: unknown), and by stateful task."""
        self.restores, self.writes = array("d", restores), array("d", writes or [0.0])
        self.any_restores, self.any_writes = max(restores) >= 0, any(writes)
        self.at_once = min(restores) == INFINITE
        for place in range(self.tasks):
            self.standing[place] = min(self._produced(place, POLL_DELAY_MS), self.copies.whole[place])
        self.copies.rests[:] = self.none_rest

    def is_known(self, at: int) -> bool:
        """Tell whether it is known how long a copy takes."""
        copies = self.copies
        return self.restores[copies.instance[at]] >= 0 and (self.at_once or copies.remaining[at] < MAX_LONG)

    def _produced(self, place: int, elapsed_ms: int) -> int:
        """Return how many records come of a task in a time."""
        return int(self.writes[place] * elapsed_ms / 1000) if self.any_writes else 0

    def written(self, place: int, elapsed_ms: int, soon: bool) -> int:
        """Return how many records are written of a task in a time, once it is known what its active copy has left.

        Nothing is while that one restores; what has waited is written at once afterwards.
        """
        if self._is_restoring(place, soon):
            return 0
        return self.copies.unprocessed[place] + self._produced(place, elapsed_ms)

    def wait(self, place: int, elapsed_ms: int) -> None:
        """Note the unprocessed input at the end of a time."""
        copies, records = self.copies, 0
        if self._is_restoring(place, False):
            records = copies.unprocessed[place] + self._produced(place, elapsed_ms)
        copies.unprocessed[place] = min(records, copies.whole[place], MOST)

    def press(self) -> None:
        """Find the instances on which copies that have caught up may fall behind, and let no task of theirs rest.

        They have others to restore, which share their rate, or more is written of their copies than they restore.
        """
        copies = self.copies
        self.any_pressed = False
        if not self.any_writes:
            return
        self._sum_pressure()
        for instance in range(self.instances):
            if self.pressure[instance] > self.restores[instance]:
                self.pressed[instance] = 1
            if self.pressure[instance] <= 0 or self.restores[instance] < 0 or self.restores[instance] == INFINITE:
                self.pressed[instance] = 0
            self.any_pressed = self.any_pressed or self.pressed[instance] > 0
        for place in range(self.tasks if self.any_pressed else 0):
            for at in range(place * copies.room, place * copies.room + copies.number[place]):
                if self.falls_behind(place, at):
                    copies.rests[place] = 0

    def _sum_pressure(self) -> None:
        """Sum up what is written of the copies that each instance holds, and see which ones have any to restore."""
        copies = self.copies
        self.pressure[:] = self.no_pressure
        self.pressed[:] = self.no_flags
        for place in range(self.tasks):
            for at in range(place * copies.room, place * copies.room + copies.number[place]):
                if copies.consumer[at] < 0:
                    continue
                if copies.role[at] != ACTIVE:
                    self.pressure[copies.instance[at]] += self.writes[place]
                if copies.remaining[at]:
                    self.pressed[copies.instance[at]] = 1

    def falls_behind(self, place: int, at: int) -> bool:
        """Tell whether a copy may fall behind that has caught up."""
        copies = self.copies
        if copies.consumer[at] < 0 or copies.role[at] == ACTIVE:
            return False
        if copies.unprocessed[place] > 0:
            return True
        return self.any_pressed and self.pressed[copies.instance[at]] > 0 and self.writes[place] > 0

    def restore(self, elapsed_ms: int, generation: int, soon: bool) -> None:
        """Find what every copy that is held has ``left`` after a time, or ``left_soon``.

        ``generation`` is that of the decision: who had nothing to restore before it is ahead of its rate.
        """
        self.begins[:] = self.no_flags
        self.spare[:] = self.no_spare
        for place in range(self.tasks):
            if not self.copies.rests[place]:
                self._begin(place, generation)
        self._restore(elapsed_ms, soon, True)
        self._restore(elapsed_ms, soon, False)

    def _begin(self, place: int, generation: int) -> None:
        """Note which instances begin to restore with a copy, and which have had something to restore before."""
        copies = self.copies
        for at in range(place * copies.room, place * copies.room + copies.number[place]):
            if copies.consumer[at] >= 0 and copies.remaining[at] and self.begins[copies.instance[at]] < 2:
                self.begins[copies.instance[at]] = 2 if copies.placed_in[at] < generation else 1

    def _restore(self, elapsed_ms: int, soon: bool, is_active: bool) -> None:
        """Restore the active copies, or else the others, when it is known what the active ones have left."""
        self.n_restored = 0
        for place in range(self.tasks):
            if not self.copies.rests[place]:
                self._collect(place, elapsed_ms, soon, is_active)
        if self.n_restored == 0:
            return
        order, begin = self._in_order(), 0
        while begin < self.n_restored:
            end, instance = begin, self.restored_instance[order[begin]]
            while end < self.n_restored and self.restored_instance[order[end]] == instance:
                end += 1
            if self.restores[instance] != INFINITE:
                if self.spare[instance] == NONE:
                    self.spare[instance] = self._records(instance, elapsed_ms)
                self._share(order[begin:end], instance, soon)
            begin = end

    def _in_order(self) -> list[int]:
        """Return what is restored by instance, those with least to go first."""
        n = self.n_restored
        places, instances = np.asarray(self.restored_place)[:n], np.asarray(self.restored_instance)[:n]
        order: list[int] = np.lexsort((places, np.asarray(self.records)[:n], instances)).tolist()
        return order

    def _collect(self, place: int, elapsed_ms: int, soon: bool, is_active: bool) -> None:
        """Collect the copies of a task that are restored; the others have left what they have."""
        copies = self.copies
        written = 0 if is_active else self.written(place, elapsed_ms, soon)
        for at in range(place * copies.room, place * copies.room + copies.number[place]):
            if (copies.role[at] == ACTIVE) != is_active:
                continue
            left = copies.remaining[at]
            is_rated = copies.consumer[at] >= 0 and self.restores[copies.instance[at]] >= 0
            if is_rated and (left or (written and self.falls_behind(place, at))):
                self._add(place, at, written)
                left = 0  # until records are shared out
            if soon:
                copies.left_soon[at] = left
            else:
                copies.left[at] = left

    def _is_restoring(self, place: int, soon: bool) -> bool:
        """Tell whether an active copy still restores at the end, for all that is known: nobody writes meanwhile."""
        copies = self.copies
        if not self.any_restores:
            return False
        for at in range(place * copies.room, place * copies.room + copies.number[place]):
            if (
                copies.role[at] == ACTIVE
                and self.restores[copies.instance[at]] >= 0
                and copies.remaining[at] < MAX_LONG
            ):
                left = copies.left_soon[at] if soon else copies.left[at]
                if left > 0:
                    return True
        return False

    def _add(self, place: int, at: int, written: int) -> None:
        """Note a copy that is restored."""
        n = self.n_restored
        if n == len(self.restored):
            self.restored, self.restored_place = (
                grown("i", self.restored, 2 * n),
                grown("i", self.restored_place, 2 * n),
            )
            self.restored_instance = grown("i", self.restored_instance, 2 * n)
            self.records = grown("Q", self.records, 2 * n)
        self.restored[n], self.restored_place[n], self.restored_instance[n] = at, place, self.copies.instance[at]
        self.records[n] = self.copies.remaining[at]
        self.records[n] += written
        self.n_restored = n + 1

    def _records(self, instance: int, elapsed_ms: int) -> int:
        """Return how many records an instance restores in a time.

        One that begins to is ahead by what is left of a poll, for the first one comes at once.
        """
        records = int(self.restores[instance] * elapsed_ms / 1000)
        if self.begins[instance] != 1 or elapsed_ms <= AT_ONCE_MS or records < POLL_RECORDS:
            return records
        return records + POLL_RECORDS - records % POLL_RECORDS

    def _share(self, order: list[int], instance: int, soon: bool) -> None:
        """Share an instance's records evenly among copies, what one does not need going to the others."""
        copies, over, sharing = self.copies, self.spare[instance], len(order)
        for n in order:
            share, records = over // sharing, self.records[n]
            sharing -= 1
            if records <= share:
                over -= records
                continue
            over -= share
            left = min(records - share, copies.whole[self.restored_place[n]])
            if soon:
                copies.left_soon[self.restored[n]] = left
            else:
                copies.left[self.restored[n]] = left
        self.spare[instance] = over
