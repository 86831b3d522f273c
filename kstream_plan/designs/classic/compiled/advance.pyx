# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Copies from one rebalance to the next, compiled: as ``designs/classic/catching_up``."""

from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memcpy

from kstream_plan.designs.classic.compiled.memory cimport int8s, int32s
from kstream_plan.designs.classic.compiled.records cimport (
    ACTIVE,
    JUST_LOST,
    LATEST,
    NO_ROLE,
    MOST_SEATS,
    NONE,
    UNKNOWN,
    Held,
    Slot,
)
from kstream_plan.designs.classic.compiled.restoring cimport AT_ONCE_MS, Restoring


cdef class Advance(Restoring):
    """A group that goes on to its next rebalance."""

    def __init__(self, group, target, limit, warm_ups):
        Restoring.__init__(self, group, target, limit, warm_ups)
        self.ready, self.disturbed = int8s(self.memory, self.tasks), int8s(self.memory, self.consumers)
        self.nobody, self.first = int8s(self.memory, self.consumers), int32s(self.memory, self.instances)

    def advance(self, from_ms, to_ms, generation, tick, at_probes):
        """Let copies go where the decision put them, and be reported as the next rebalance finds them.

        ``generation`` is that of the decision; ``tick`` and ``at_probes`` as of ``catching_up.Interval``.
        """
        cdef Py_ssize_t place, consumer
        cdef bint is_any_disturbed = False
        cdef int8_t* revoking = self.nobody if tick else self.revoking
        cdef int8_t* disturbed = self.nobody if tick else self.disturbed
        cdef Interval interval = Interval(from_ms, to_ms, generation, tick, at_probes, self.first, revoking, disturbed)
        memcpy(self.first, self.first_of, self.instances * sizeof(int32_t))
        for consumer in range(self.consumers - 1, -1, -1):
            self.disturbed[consumer] = self.revoking[consumer] | self.waiting[consumer]
            is_any_disturbed = is_any_disturbed or disturbed[consumer]
            if revoking[consumer]:
                self.first[self.instance_of[consumer]] = <int32_t>consumer
        for place in range(self.tasks):
            if self.changed[place]:
                self._seat(place, &interval)
                self.dirty[place], self.rests[place] = 1, 0
        if self.any_restores:
            self.press()
            self.restore(to_ms - from_ms, generation, soon=False)
            if is_any_disturbed:
                self.restore(min(to_ms - from_ms, AT_ONCE_MS), generation, soon=True)
        for place in range(self.tasks):
            if not self.rests[place]:
                self._advance(place, &interval)
            self.revoked_by[place] = self.withheld_by[place]

    cdef void _advance(self, Py_ssize_t place, Interval* interval) except *:
        """Let a task's copies go on."""
        cdef Py_ssize_t at, kept = 0
        cdef Slot* slots = &self.slots[place * self.room]
        cdef Slot now
        cdef bint rests = True
        cdef int64_t elapsed_ms = interval.to_ms - interval.from_ms, written = self.written(place, elapsed_ms, soon=False)
        self.wait(place, elapsed_ms)
        for at in range(self.number[place]):
            now = slots[at]
            if now.consumer >= 0:
                self._report(place, &now, interval)
            elif not self._report_left_over(place, &now, interval, written):
                continue
            if not interval.tick and self.restores[now.instance] < 0 and now.remaining <= self.limit < slots[at].remaining:
                self.ready[place] = 1
            rests = rests and self._is_at_rest(place, &now)
            if now.lag != slots[at].lag or now.reporter != slots[at].reporter or now.remaining != slots[at].remaining:
                self.dirty[place] = 1
            slots[kept] = now
            kept += 1
        if kept != self.number[place]:
            self.dirty[place] = 1
        self.number[place] = <int32_t>kept
        self.stale[place] = self.stale[place] or self.dirty[place]
        self.rests[place] = rests and kept > 0

    cdef bint _is_at_rest(self, Py_ssize_t place, Slot* slot) noexcept:
        """Tell whether a copy stays as it is until it gets another seat."""
        if slot.consumer < 0 or slot.remaining or slot.reporter != slot.consumer:
            return False
        return slot.lag == (LATEST if slot.role == ACTIVE else self.standing[place]) and not self.falls_behind(place, slot)

    # -- who has copies ---------------------------------------------------------------------------------------------

    cdef void _seat(self, Py_ssize_t place, Interval* interval) except *:
        """Let a task's copies go to their seats; a copy that nobody holds any more is left over."""
        cdef Held[MOST_SEATS] seats
        cdef Py_ssize_t at, one, number = self.seats(place, seats)
        cdef Slot* slots
        cdef bint held
        while self.number[place] + number > self.room:
            self.widen()
        self.owner[place] = -1
        slots = &self.slots[place * self.room]
        for at in range(self.number[place]):
            held = slots[at].consumer < 0
            for one in range(number):
                held = held or seats[one].instance == slots[at].instance
            if not held:
                self._leave(&slots[at], interval.from_ms)
        for one in range(number):
            if seats[one].role == ACTIVE:
                self.owner[place] = seats[one].consumer
            self._take(place, &seats[one], interval)

    cdef void _leave(self, Slot* slot, int64_t at_ms) noexcept:
        """Let nobody hold a copy any more."""
        slot.lag = 0 if slot.lag == LATEST else slot.lag
        slot.consumer, slot.role, slot.lost_at_ms = -1, JUST_LOST, at_ms

    cdef void _take(self, Py_ssize_t place, Held* seat, Interval* interval) noexcept:
        """Let whoever has a seat take the copy on its instance, or make one."""
        cdef Slot* slot = self.copy(place, seat.instance)
        if slot == NULL:
            self._make(place, seat, interval)
            return
        if self.cleaner.in_memory and slot.consumer >= 0 and slot.consumer != seat.consumer:
            slot[0] = self._empty(place, seat, interval)  # that of the other thread is closed, and gone
            return
        if slot.consumer != seat.consumer or (slot.role == ACTIVE) != (seat.role == ACTIVE):
            if slot.consumer < 0:
                slot.placed_in = interval.generation
            if slot.lag == LATEST and seat.role != ACTIVE:
                slot.lag = 0
            slot.consumer, slot.lost_at_ms = seat.consumer, NONE
        slot.role = seat.role

    cdef void _make(self, Py_ssize_t place, Held* seat, Interval* interval) noexcept:
        """Put an empty copy in its place among a task's, by instance; there is room for it."""
        cdef Slot* slots = &self.slots[place * self.room]
        cdef Py_ssize_t at = self.number[place]
        while at and slots[at - 1].instance > seat.instance:
            slots[at] = slots[at - 1]
            at -= 1
        slots[at] = self._empty(place, seat, interval)
        self.number[place] += 1

    cdef Slot _empty(self, Py_ssize_t place, Held* seat, Interval* interval) noexcept:
        """Return a copy that begins with nothing."""
        return Slot(
            lag=NONE,
            remaining=self.whole[place],
            left=0,
            left_soon=0,
            placed_in=interval.generation,
            lost_at_ms=NONE,
            made_at_ms=interval.from_ms,
            instance=seat.instance,
            consumer=seat.consumer,
            reporter=-1,
            role=seat.role,
        )

    # -- what is reported of them -----------------------------------------------------------------------------------

    cdef bint _report_left_over(self, Py_ssize_t place, Slot* slot, Interval* interval, int64_t written) except -1:
        """Report left-over state, behind by what was written; false: it is gone."""
        cdef int32_t reporter = interval.first[slot.instance]
        cdef int64_t whole = self.whole[place]
        if slot.lag == NONE:
            return False
        if self.has_deleted(slot, interval.to_ms):
            if slot.role != JUST_LOST and self.is_caught_up(slot.lag) and self.movement.is_queued(place):
                if self.may_have_deleted(slot, interval.to_ms):
                    self.deletions[place] = 1
            return False
        slot.role = NO_ROLE
        if slot.lag != UNKNOWN and (written or slot.reporter != reporter):
            slot.lag = 0 if slot.lag == LATEST else slot.lag
            slot.lag = slot.remaining = slot.lag + written if slot.lag < whole - written else whole
        slot.reporter = reporter
        return True

    cdef void _report(self, Py_ssize_t place, Slot* slot, Interval* interval) noexcept:
        """Report a copy that a consumer holds."""
        cdef int64_t remaining = slot.remaining, then
        cdef bint known = self.is_known(slot), disturbed = interval.disturbed[slot.consumer]
        cdef bint active = slot.role == ACTIVE, placed_before = slot.placed_in < interval.generation
        if slot.lag == LATEST:
            slot.reporter = slot.consumer
            return
        if known:
            remaining = slot.left
        elif interval.tick or ((active or placed_before) and not interval.at_probes):
            remaining = 0
        if slot.placed_in == interval.generation and not interval.tick:
            self._report_placed(place, slot, remaining, interval)
            return
        if active and not remaining and not disturbed:
            slot.lag = LATEST
        else:
            then = slot.left_soon if known and disturbed else remaining
            slot.lag = self._reported(place, slot, then)
        if not (interval.revoking[slot.consumer] and slot.reporter >= 0):
            slot.reporter = slot.consumer
        slot.remaining = remaining

    cdef void _report_placed(self, Py_ssize_t place, Slot* slot, int64_t remaining, Interval* interval) noexcept:
        """Report a copy that the decision made or took up again."""
        cdef bint active = slot.role == ACTIVE, disturbed = interval.disturbed[slot.consumer]
        if interval.revoking[slot.consumer]:
            slot.reporter = -1 if slot.lag == NONE else interval.first[slot.instance]
            slot.remaining = remaining
            return
        if not disturbed and not interval.at_probes and self.is_known(slot):
            slot.lag = LATEST if active and not remaining else self._reported(place, slot, remaining)
        elif active and not disturbed and not (remaining and interval.at_probes):
            slot.lag, remaining = LATEST, 0
        elif slot.lag == NONE:
            slot.lag = self.whole[place]
        slot.reporter, slot.remaining = slot.consumer, remaining

    cdef int64_t _reported(self, Py_ssize_t place, Slot* slot, int64_t remaining) noexcept:
        """Return the lag of a copy: at least what arrives between two polls of its changelog, unless it is active."""
        return max(min(remaining, self.whole[place]), 0 if slot.role == ACTIVE else self.standing[place])
