# cython: boundscheck=False, wraparound=False, initializedcheck=False, annotation_typing=False
"""Whether a plan goes in circles: probes are compared by numbers, for what is decided, owned and reported.

Two probes are alike if their numbers are; a group that comes back to one goes in circles unless a copy has come closer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from kstream_plan.engine.codes import ACTIVE, NONE
from kstream_plan.engine.columns import zeros
from kstream_plan.engine.decision import Decision
from kstream_plan.model import LATEST

Fingerprint: TypeAlias = tuple[int, int, int]
#: (place of the task among the stateful ones, instance, records)
Remaining: TypeAlias = Sequence[tuple[int, int, int]]

#: 64 bits, and the numbers of splitmix64.
ALL_BITS = 0xFFFFFFFFFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15
FIRST_FACTOR = 0xBF58476D1CE4E5B9
SECOND_FACTOR = 0x94D049BB133111EB
#: What the second one of two sums is mixed with.
OTHER_SUM = 0x5DEECE66D


class CycleDetection:
    """The numbers of one group, kept up to date from probe to probe; a draft."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.copies, self.tasks, self.width = self.decision.copies, self.decision.tasks, self.decision.width
        self.prints = zeros("Q", self.tasks)
        self.print_of_all = self.other_print_of_all = 0

    def fingerprint(self) -> Fingerprint:
        """Return what is decided, owned and reported at a probe, as numbers that are the same if all that is."""
        for place in range(self.tasks):
            if self.copies.stale[place]:
                was, now = self.prints[place], self._print(place)
                self.print_of_all = (self.print_of_all + now - was) & ALL_BITS
                now_other, was_other = self._mixed(now, OTHER_SUM), self._mixed(was, OTHER_SUM)
                self.other_print_of_all = (self.other_print_of_all + now_other - was_other) & ALL_BITS
                self.prints[place], self.copies.stale[place] = now, 0
        return self.decision.movement.movements, self.print_of_all, self.other_print_of_all

    def _print(self, place: int) -> int:
        """Return a number for what is decided, owned and reported of a task."""
        copies, decision, first = self.copies, self.decision, place * self.width
        number = self._mixed(place + 1, decision.consumer[first])
        for seat in range(first + 1, first + self.width):
            if decision.movement.decided_seats[seat] >= 0:  # in whatever order
                role = self._mixed(decision.role_of(seat - first), decision.consumer[seat])
                number = (number + role) & ALL_BITS
        for slot in range(place * copies.room, place * copies.room + copies.number[place]):
            if copies.consumer[slot] >= 0:
                number = self._mixed(number, copies.consumer[slot] * 4 + copies.role[slot])
        return self._mixed_lags(number, place)

    def _mixed_lags(self, number: int, place: int) -> int:
        """Mix in who has which place by lag, and whether caught up."""
        copies, begin = self.copies, place * self.copies.room
        end = begin + copies.number[place]
        is_alone = end - begin == 1 and copies.role[begin] == ACTIVE and copies.lag[begin] == LATEST
        if is_alone and not copies.remaining[begin] and copies.is_reported_by(place, begin, copies.consumer[begin]):
            return self._mixed(number, -7)
        for slot in range(begin, end):
            lag, n_before = copies.lag[slot], 0
            if lag == NONE:
                continue
            for other_slot in range(begin, end):
                if copies.lag[other_slot] != NONE:
                    n_before += copies.lag[other_slot] < lag or (copies.lag[other_slot] == lag and other_slot < slot)
            number = self._mixed(self._mixed(number, copies.instance[slot]), n_before * 2 + copies.is_caught_up(lag))
        return number

    def _mixed(self, number: int, value: int) -> int:
        """Mix a number in (splitmix64)."""
        number = (number + (value + 1) * GOLDEN) & ALL_BITS
        number = ((number ^ (number >> 30)) * FIRST_FACTOR) & ALL_BITS
        number = ((number ^ (number >> 27)) * SECOND_FACTOR) & ALL_BITS
        return number ^ (number >> 31)

    def remaining_records(self) -> Remaining:
        """Return what copies have to restore that have anything: place of the task, instance, records."""
        copies, remaining = self.copies, []
        for place in range(self.tasks):
            if not copies.rests[place]:
                for slot in range(place * copies.room, place * copies.room + copies.number[place]):
                    if copies.remaining[slot]:
                        remaining.append((place, copies.instance[slot], copies.remaining[slot]))
        return remaining

    def is_closer(self, earlier: Remaining) -> bool:
        """Tell whether a copy that is held has less to restore than in ``earlier`` :meth:`remaining_records`."""
        copies = self.copies
        for place, instance, remaining in earlier:
            slot = copies.slot_of(place, instance)
            if slot >= 0 and copies.consumer[slot] >= 0 and copies.remaining[slot] < remaining:
                return True
        return False


class Probes:
    """Remembers the probes of a plan, the newest of each kind, and compares each new one with those before.

    Compared are what was decided and what is owned, consumer by consumer, and of every reported copy whether it is
    caught up and its place in the by-lag order (what is withheld follows from these).
    """

    def __init__(self) -> None:
        self._newest: dict[tuple[Fingerprint, bytes], tuple[int, Remaining]] = {}
        self._number = 0

    def period(self, cycles: CycleDetection, stateless: bytes) -> int | None:
        """Add a probe; return how many there are since the same was found and no copy has come closer, if ever.

        ``stateless`` says what is decided and owned of the stateless tasks.
        """
        self._number += 1
        fingerprint = cycles.fingerprint(), stateless
        earlier = self._newest.get(fingerprint)
        self._newest[fingerprint] = self._number, cycles.remaining_records()
        if earlier is None or cycles.is_closer(earlier[1]):
            return None
        return self._number - earlier[0]
