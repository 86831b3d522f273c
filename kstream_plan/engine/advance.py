# cython: boundscheck=False, wraparound=False, initializedcheck=False, annotation_typing=False
"""Copies from one rebalance to the next: where the decision puts them, how they catch up, and what is reported then.

Source: page ``rules``, "From one generation to the next".
"""

from __future__ import annotations

from kstream_plan.engine.codes import ACTIVE, BY_TIME, JUST_LOST, NO_ROLE, NONE, READY
from kstream_plan.engine.columns import zeros
from kstream_plan.engine.copies import Column
from kstream_plan.engine.decision import Decision
from kstream_plan.engine.restoring import Restoring
from kstream_plan.model import LATEST, UNKNOWN
from kstream_plan.model.settings import MAX_LONG


class Advance:
    """A group that goes on to its next rebalance; a draft."""

    def __init__(self, decision: Decision, restoring: Restoring) -> None:
        self.decision, self.restoring = decision, restoring
        self.copies = self.decision.copies
        self.tasks, self.consumers, self.instances = self.copies.tasks, self.copies.consumers, self.copies.instances
        self.ready, self.deletions = zeros("b", self.tasks), zeros("b", self.tasks)
        self.first = zeros("i", self.instances)
        self.is_revoking, self.disturbed = zeros("b", self.consumers), zeros("b", self.consumers)
        self.readiness, self.is_heard, self.is_first = zeros("b", 0), zeros("b", 0), False
        self.from_ms = self.to_ms = self.generation = 0
        self.tick = self.at_probes = self.idle = self.is_any_disturbed = False

    def begin(self, from_ms: int, to_ms: int, generation: int, tick: bool, at_probes: bool, idle: bool) -> None:
        """Let copies go where the decision put them.

        Args:
            from_ms: the time of the decision.
            to_ms: that of the next rebalance.
            generation: that of the decision.
            tick: whether every copy is caught up by then if no restore rate says otherwise.
            at_probes: whether copies whose rate is unknown are caught up at a tick alone.
            idle: whether nothing was decided; what is known of copies is what a snapshot says.
        """
        self.from_ms, self.to_ms, self.generation = from_ms, to_ms, generation
        self.tick, self.at_probes, self.idle, self.is_first = tick, at_probes, idle, False
        self.is_any_disturbed = self._look_who_is_disturbed()
        for place in range(self.tasks):
            if idle and (self.decision.is_changed[place] or self.decision.withheld_by[place] >= 0):
                self.copies.dirty[place] = 1  # is decided once more
            elif self.decision.is_changed[place]:
                self._seat(place)
                self.copies.rests[place] = 0
                self.copies.change(place)

    def let_rest(self) -> None:
        """Let tasks rest whose copies stay as they are, at the beginning of a plan."""
        copies = self.copies
        for place in range(self.tasks):
            rests = copies.number[place] > 0 and (self.idle or not self.decision.is_changed[place])
            for slot in range(place * copies.room, place * copies.room + copies.number[place]):
                rests = rests and self._is_at_rest(place, slot)
                for stretch in self.restoring.stretches:
                    rests = rests and not (stretch.any_stopped and stretch.is_stopped[copies.instance[slot]])
            copies.rests[place] = rests

    def know(self, readiness: Column, is_heard: Column) -> None:
        """Say by slot what counts of a copy by the first decision, and whether it was heard of at that moment."""
        self.readiness, self.is_heard, self.is_first = readiness, is_heard, True

    def advance(self) -> None:
        """Let copies catch up and fall behind, and be reported as the next rebalance finds them."""
        if self.is_any_disturbed:
            self.restoring.restore(self.generation, True)
        self.restoring.restore(self.generation, False)
        self.restoring.keep_waiting()
        for place in range(self.tasks):
            if not self.copies.rests[place]:
                self._advance(place)
        if not self.idle:
            self.copies.revoked_by[:] = self.decision.withheld_by

    def _look_who_is_disturbed(self) -> bool:
        """See who rejoins at once, and who reports what is left over; a tick disturbs no consumer."""
        decision, is_any, is_calm = self.decision, False, self.tick or self.idle
        self.first[:] = self.copies.first_of[: self.instances]
        for consumer in range(self.consumers - 1, -1, -1):
            self.is_revoking[consumer] = decision.is_revoking[consumer] and not is_calm
            self.disturbed[consumer] = (decision.is_revoking[consumer] or decision.is_waiting[consumer]) and not is_calm
            is_any = is_any or self.disturbed[consumer] > 0
            if self.is_revoking[consumer]:
                self.first[self.copies.instance_of[consumer]] = consumer
        return is_any

    def _advance(self, place: int) -> None:
        """Let a task's copies go on."""
        copies, free_slot, rests, is_changed = self.copies, place * self.copies.room, True, False
        limit, stretch = self.copies.limit, self.restoring.stretches[0]
        for slot in range(free_slot, free_slot + copies.number[place]):
            lag, reporter, remaining = copies.lag[slot], copies.reporter[slot], copies.remaining[slot]
            if copies.consumer[slot] >= 0:
                self._report(place, slot)
            elif not self._report_left_over(place, slot):
                copies.report(place, slot, -1)
                is_changed = True
                continue
            is_rated = self.tick or self.idle or stretch.pace.restores[copies.instance[slot]] >= 0
            if not is_rated and copies.remaining[slot] <= limit < remaining:
                self.ready[place] = 1
            rests = rests and self._is_at_rest(place, slot)
            if copies.lag[slot] != lag or copies.reporter[slot] != reporter or copies.remaining[slot] != remaining:
                is_changed = True
            if free_slot != slot:
                copies.move(slot, free_slot)
            free_slot += 1
        copies.number[place] = free_slot - place * copies.room
        copies.rests[place] = rests and copies.number[place] > 0
        if is_changed or copies.dirty[place]:
            copies.change(place)

    def _is_at_rest(self, place: int, slot: int) -> bool:
        """Tell whether a copy stays as it is until it gets another seat."""
        copies = self.copies
        if (
            copies.consumer[slot] < 0
            or copies.remaining[slot]
            or not copies.is_reported_by(place, slot, copies.consumer[slot])
        ):
            return False
        lag = LATEST if copies.role[slot] == ACTIVE else self.restoring.least_lag[place]
        return copies.lag[slot] == lag and not self.restoring.falls_behind(place, slot)

    # -- who has copies ---------------------------------------------------------------------------------------------

    def _seat(self, place: int) -> None:
        """Let a task's copies go to their seats; a copy that no consumer holds any more is left over."""
        copies, decision, number = self.copies, self.decision, self.decision.fill_seats(place)
        while copies.number[place] + number > copies.room:
            copies.widen()
        copies.owner[place] = -1
        for slot in range(place * copies.room, place * copies.room + copies.number[place]):
            if copies.consumer[slot] >= 0 and not self._is_seat(copies.instance[slot], number):
                if copies.lag[slot] == LATEST:
                    copies.lag[slot] = 0
                copies.consumer[slot], copies.role[slot], copies.lost_at_ms[slot] = -1, JUST_LOST, self.from_ms
        for seat in range(number):
            if decision.seat_role[seat] == ACTIVE:
                copies.owner[place] = decision.seat_consumer[seat]
            self._take(place, seat)

    def _is_seat(self, instance: int, number: int) -> bool:
        for seat in range(number):
            if self.decision.seat_instance[seat] == instance:
                return True
        return False

    def _take(self, place: int, seat: int) -> None:
        """Let whoever has a seat take the copy on its instance, or make one."""
        copies, instance = self.copies, self.decision.seat_instance[seat]
        consumer, role, slot = (
            self.decision.seat_consumer[seat],
            self.decision.seat_role[seat],
            copies.slot_of(place, instance),
        )
        if slot < 0:
            self._make(place, instance, consumer, role)
            return
        if copies.cleaner.in_memory and copies.consumer[slot] >= 0 and copies.consumer[slot] != consumer:
            # that of the other thread is closed, and gone
            copies.fill_empty(place, slot, instance, consumer, role, self.generation, self.from_ms)
            return
        if copies.consumer[slot] != consumer or (copies.role[slot] == ACTIVE) != (role == ACTIVE):
            if copies.consumer[slot] < 0:
                copies.placed_in[slot] = self.generation
            if copies.lag[slot] == LATEST and role != ACTIVE:
                copies.lag[slot] = 0
            copies.consumer[slot], copies.lost_at_ms[slot] = consumer, NONE
        copies.role[slot] = role

    def _make(self, place: int, instance: int, consumer: int, role: int) -> None:
        """Put an empty copy in its place among a task's, by instance; there is room for it."""
        copies, begin = self.copies, place * self.copies.room
        slot = begin + copies.number[place]
        while slot > begin and copies.instance[slot - 1] > instance:
            copies.move(slot - 1, slot)
            slot -= 1
        copies.fill_empty(place, slot, instance, consumer, role, self.generation, self.from_ms)
        copies.number[place] += 1

    # -- what is reported of them -----------------------------------------------------------------------------------

    def _report_left_over(self, place: int, slot: int) -> bool:
        """Report left-over state, behind by what was written; false: it is gone."""
        copies, reporter, n_written = self.copies, self.first[self.copies.instance[slot]], self.copies.grown[slot]
        lag, whole = copies.lag[slot], copies.whole[place]
        if lag == NONE:
            return False
        if not (self.is_first and self.is_heard[slot]) and copies.has_deleted(slot, self.to_ms):
            counts = not self.idle and copies.role[slot] != JUST_LOST and copies.is_caught_up(lag)
            if counts and self.decision.movement.is_queued(place) and copies.may_have_deleted(slot, self.to_ms):
                self.deletions[place] = 1
            return False
        copies.role[slot] = NO_ROLE
        if lag != UNKNOWN and (n_written or not copies.is_reported_by(place, slot, reporter)):
            lag = 0 if lag == LATEST else lag
            copies.lag[slot] = copies.remaining[slot] = lag + n_written if lag < whole - n_written else whole
        copies.report(place, slot, reporter)
        return True

    def _report(self, place: int, slot: int) -> None:
        """Report a copy that a consumer holds."""
        copies, consumer, tick = self.copies, self.copies.consumer[slot], self.tick
        remaining, disturbed = copies.remaining[slot], self.disturbed[consumer] > 0
        is_known, active = self.restoring.is_known(slot), copies.role[slot] == ACTIVE
        if copies.lag[slot] == LATEST:
            copies.report(place, slot, consumer)
            return
        if self.is_first and self.readiness[slot] != BY_TIME:
            tick = self.readiness[slot] == READY
            if not tick and not is_known:
                self._report_unready(place, slot)
                return
            is_known = is_known and not tick
        elif self.idle and not is_known and not tick:
            return  # as reported: it has not been seen to catch up, and how fast it would is unknown
        if is_known:
            remaining = copies.left_at_end[slot]
        elif tick or ((active or copies.placed_in[slot] < self.generation) and not self.at_probes):
            remaining = 0
        if copies.placed_in[slot] == self.generation and not tick:
            self._report_placed(place, slot, remaining, is_known)
            return
        if active and not remaining and not disturbed:
            copies.lag[slot] = LATEST
        else:
            copies.lag[slot] = self._reported(
                place, slot, copies.left_at_rejoin[slot] if is_known and disturbed else remaining
            )
        self._report_anew(place, slot)
        copies.remaining[slot] = remaining

    def _report_anew(self, place: int, slot: int) -> None:
        """Let who holds a copy report it, unless it revokes and another one has reported it."""
        copies, consumer = self.copies, self.copies.consumer[slot]
        if not self.is_revoking[consumer] or copies.reporter[slot] < 0:
            copies.report(place, slot, consumer)

    def _report_unready(self, place: int, slot: int) -> None:
        """Report a copy of which it is unknown how fast it restores: as it was, behind by what was written since."""
        copies, remaining = self.copies, self.copies.remaining[slot]
        if copies.role[slot] != ACTIVE:
            remaining = remaining + copies.grown[slot] if remaining < MAX_LONG - copies.grown[slot] else MAX_LONG
        remaining = min(remaining, copies.whole[place])
        if copies.placed_in[slot] == self.generation:
            runs = copies.role[slot] == ACTIVE and not self.at_probes
            self._report_placed(place, slot, 0 if runs else remaining, False)
            return
        if copies.lag[slot] != UNKNOWN:
            copies.lag[slot] = remaining
        self._report_anew(place, slot)
        copies.remaining[slot] = remaining

    def _report_placed(self, place: int, slot: int, remaining: int, is_known: bool) -> None:
        """Report a copy that the decision made or took up again.

        A consumer that revokes rejoins before the copy is even created; one that had something withheld has created it
        and restored nothing; any other rejoins a heartbeat later with what it has restored by then.
        """
        copies, consumer = self.copies, self.copies.consumer[slot]
        active, disturbed = copies.role[slot] == ACTIVE, self.disturbed[consumer] > 0
        if self.is_revoking[consumer]:
            copies.report(place, slot, -1 if copies.lag[slot] == NONE else self.first[copies.instance[slot]])
            copies.remaining[slot] = remaining
            return
        if is_known and not disturbed and not self.at_probes:
            copies.lag[slot] = LATEST if active and not remaining else self._reported(place, slot, remaining)
        elif active and not disturbed and not (remaining and self.at_probes):
            copies.lag[slot], remaining = LATEST, 0
        elif copies.lag[slot] == NONE:
            copies.lag[slot] = copies.whole[place]
        copies.report(place, slot, consumer)
        copies.remaining[slot] = remaining

    def _reported(self, place: int, slot: int, remaining: int) -> int:
        """Return the lag of a copy: at least what arrives between two polls of its changelog, unless it is active."""
        least = 0 if self.copies.role[slot] == ACTIVE else self.restoring.least_lag[place]
        return max(min(remaining, self.copies.whole[place]), least)
