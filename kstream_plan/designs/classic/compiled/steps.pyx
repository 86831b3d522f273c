# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The steps of a round as rows (plans/step_rows), compiled: as ``designs/classic/round_steps`` makes them."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memset

from kstream_plan.designs.classic.compiled.decision cimport Decision
from kstream_plan.designs.classic.compiled.memory cimport grown, int8s, int64s, zeros
from kstream_plan.designs.classic.compiled.records cimport (
    ACTIVE,
    MOST_SEATS,
    NONE,
    TEMPORARY,
    WARMUP,
    Held,
    Row,
    Slot,
)

import numpy as np

from kstream_plan.plans.reasons import ReasonCode
from kstream_plan.plans.step_rows import row_type

#: As plans/step_rows counts the kinds of step.
cdef enum:
    PLACE = 0
    WITHHOLD = 1
    KEEP_TEMPORARY = 2
    REVOKE = 3
    DEMOTE = 4
    HAND_OVER = 5
    PROMOTE = 6
    THREAD_MOVE = 7
    DROP = 8

_CODES = tuple(ReasonCode)
cdef int8_t TARGET_CAUGHT_UP = _CODES.index(ReasonCode.TARGET_CAUGHT_UP)
cdef int8_t TARGET_WARMS_UP = _CODES.index(ReasonCode.TARGET_WARMS_UP)
cdef int8_t CAUGHT_UP_MEANWHILE = _CODES.index(ReasonCode.CAUGHT_UP_MEANWHILE)
cdef int8_t MOST_CAUGHT_UP = _CODES.index(ReasonCode.MOST_CAUGHT_UP)
cdef int8_t NO_STATE_ANYWHERE = _CODES.index(ReasonCode.NO_STATE_ANYWHERE)
cdef int8_t STANDBY_WANTED = _CODES.index(ReasonCode.STANDBY_WANTED)
cdef int8_t THREADS_EVENED_OUT = _CODES.index(ReasonCode.THREADS_EVENED_OUT)
cdef int8_t OWNER_MUST_REVOKE = _CODES.index(ReasonCode.OWNER_MUST_REVOKE)
cdef int8_t MOVES_AWAY = _CODES.index(ReasonCode.MOVES_AWAY)
cdef int8_t NOT_NEEDED = _CODES.index(ReasonCode.NOT_NEEDED)


cdef class Steps(Decision):
    """The steps of a decision, and what is left to chance."""

    def __init__(self, group, target, limit, warm_ups):
        Decision.__init__(self, group, target, limit, warm_ups)
        self.room_for_rows = 256
        self.rows = <Row*>zeros(self.memory, self.room_for_rows, sizeof(Row))
        self.races, self.deletions = int8s(self.memory, self.tasks), int8s(self.memory, self.tasks)
        self.started_ms = int64s(self.memory, self.instances)
        self.process_ids = [instance.process_id for instance in group.instances]
        self.clean_by(StateCleaner(0))

    def clean_by(self, cleaner):
        """Say what deletes left-over state (:class:`StateCleaner`)."""
        cdef Py_ssize_t instance
        self.cleaner = cleaner
        for instance in range(self.instances):
            self.started_ms[instance] = cleaner.started_ms.get(self.process_ids[instance], NONE)

    def tell(self, int64_t at_ms):
        """Make the steps of the decision, and note what is left to chance."""
        cdef Py_ssize_t place
        self.n_rows, self.starts_any = 0, False
        for place in range(self.tasks):
            if self.changed[place] or self.withheld_by[place] >= 0:
                self._tell_task(place)
        for place in range(self.n_rows):
            self.rows[place].limit = self.rows[place].lag != NONE
        self._note(at_ms)

    def steps(self):
        """Return the steps of the round."""
        return np.frombuffer(PyBytes_FromStringAndSize(<char*>self.rows, self.n_rows * sizeof(Row)), row_type())

    cdef void _tell_task(self, Py_ssize_t place) except *:
        """Tell what happens to a task: who gives it up, who waits, who has it then."""
        cdef Held[MOST_SEATS] seats
        cdef Py_ssize_t at, one, number = self.seats(place, seats)
        cdef Slot* slots = &self.slots[place * self.room]
        cdef Slot* slot
        cdef bint held
        for at in range(self.number[place]):
            if slots[at].consumer < 0:
                continue
            held = False
            for one in range(number):
                held = held or seats[one].instance == slots[at].instance
            if not held:
                self._tell_given_up(place, &slots[at])
        if self.withheld_by[place] >= 0:
            self._tell_withheld(place)
        for one in range(number):
            slot = self.copy(place, seats[one].instance)
            if slot != NULL and slot.consumer < 0:
                slot = NULL
            if slot != NULL and slot.consumer == seats[one].consumer and slot.role == seats[one].role:
                continue
            if seats[one].role == ACTIVE:
                self._tell_started(place, slot, &seats[one])
            else:
                self._tell_copied(place, slot, &seats[one])

    cdef Row* _row(self, Py_ssize_t place, int8_t kind) except NULL:
        """Return a row for one more step."""
        cdef Row* row
        if self.n_rows == self.room_for_rows:
            self.room_for_rows *= 2
            self.rows = <Row*>grown(self.memory, self.rows, self.n_rows, self.room_for_rows, sizeof(Row))
        row = &self.rows[self.n_rows]
        self.n_rows += 1
        memset(row, 0, sizeof(Row))
        row.restore_records, row.lag, row.other_lag = -1, NONE, NONE
        row.task, row.from_consumer, row.to_consumer, row.kind = self.task_of[place], -1, -1, kind
        return row

    cdef void _tell_given_up(self, Py_ssize_t place, Slot* old) except *:
        """Tell that a consumer has a task no longer."""
        cdef Row* row = self._row(place, REVOKE if old.role == ACTIVE else DROP)
        row.from_consumer, row.from_role = old.consumer, old.role
        if old.role == ACTIVE:
            self._why_given_up(row, place, old.instance)
        else:
            row.reason = NOT_NEEDED

    cdef void _tell_withheld(self, Py_ssize_t place) except *:
        """Tell who waits for a task."""
        cdef Row* row = self._row(place, WITHHOLD)
        cdef int32_t instance = self.decided[place * self.width]
        row.from_consumer, row.from_role = self.withheld_by[place], ACTIVE
        row.to_consumer, row.to_role = self.consumer[place * self.width], ACTIVE
        if self.instance_of[row.from_consumer] == instance:
            row.reason = THREADS_EVENED_OUT
        else:
            self._why_active(row, place, instance)

    cdef void _tell_started(self, Py_ssize_t place, Slot* old, Held* to) except *:
        """Tell who runs a task from now on, of which its instance had a copy or not."""
        cdef int32_t revoked_by = self.revoked_by[place]
        cdef Row* row = self._row(place, HAND_OVER)
        cdef bint stays, in_memory = self.cleaner.in_memory
        cdef bint is_revoked_here = revoked_by >= 0 and self.instance_of[revoked_by] == to.instance
        cdef bint is_empty = in_memory and old != NULL and old.consumer != to.consumer
        row.from_consumer, row.from_role, row.to_consumer, row.to_role = revoked_by, ACTIVE, to.consumer, ACTIVE
        self.starts_any = True
        if is_revoked_here and revoked_by != to.consumer:
            stays = not in_memory and self.copy(place, to.instance) != NULL  # else it was deleted since
        elif old != NULL and old.role == ACTIVE:
            row.from_consumer, stays = old.consumer, not in_memory
        else:
            self._why_active(row, place, to.instance)
            if revoked_by < 0 and old != NULL:
                row.kind, row.from_consumer, row.from_role = PROMOTE, old.consumer, old.role
            self._tell_restored(row, place, to.instance, is_empty)
            return
        row.reason = THREADS_EVENED_OUT
        if stays:
            row.kind = THREAD_MOVE
        else:
            self._tell_restored(row, place, to.instance, is_empty)

    cdef void _tell_restored(self, Row* row, Py_ssize_t place, int32_t instance, bint is_empty) noexcept:
        """Tell what a task restores where it starts: all, if the copy ``is_empty`` that is there."""
        cdef bint is_near = self.is_caught_up(self.lag(place, instance))
        row.restore_records = self._restores(place, instance, is_empty)
        row.caught_up = row.restore_records == 0 or (
            is_near and not (is_empty and not self.is_caught_up(self.whole[place]))
        )

    cdef void _tell_copied(self, Py_ssize_t place, Slot* old, Held* to) except *:
        """Tell who has a copy of a task from now on, or has it as something else."""
        cdef Row* row = self._row(place, PLACE)
        row.to_consumer, row.to_role = to.consumer, to.role
        if old != NULL:
            row.from_consumer, row.from_role = old.consumer, old.role
        if old != NULL and old.role == ACTIVE:
            row.kind = DEMOTE
            self._why_given_up(row, place, old.instance)
        elif to.role == TEMPORARY:
            row.kind, row.reason = KEEP_TEMPORARY, OWNER_MUST_REVOKE
        elif old != NULL and old.role == to.role:
            row.kind, row.reason = THREAD_MOVE, THREADS_EVENED_OUT
        else:
            row.restore_records = self._restores(place, to.instance, False)
            self._why_copied(row, place, to.instance, to.role)

    cdef int64_t _restores(self, Py_ssize_t place, int32_t instance, bint is_empty) noexcept:
        """Return how much an instance restores to have a task, all if its copy ``is_empty``; -1: unknown."""
        cdef Slot* slot = NULL if is_empty else self.copy(place, instance)
        cdef int64_t remaining = self.whole[place] if slot == NULL else slot.remaining
        return remaining if self.known[place] or not remaining else -1

    # -- why --------------------------------------------------------------------------------------------------------

    cdef void _why_active(self, Row* row, Py_ssize_t place, int32_t instance) noexcept:
        """Say why a task runs on an instance."""
        cdef bint caught_up
        cdef Py_ssize_t slot = place * self.movement.slots
        row.lag = self.lag(place, instance)
        caught_up = self.is_caught_up(row.lag)
        if self.movement.is_moved(slot) and self.movement.source[slot] == instance:
            row.reason = CAUGHT_UP_MEANWHILE if caught_up else MOST_CAUGHT_UP
            row.other_lag = self.lag(place, self.movement.destination[slot])
        else:
            row.reason = TARGET_CAUGHT_UP if caught_up else NO_STATE_ANYWHERE

    cdef void _why_copied(self, Row* row, Py_ssize_t place, int32_t instance, int8_t role) noexcept:
        """Say why an instance has a copy."""
        cdef Py_ssize_t slot = place * self.movement.slots, standby
        row.lag, row.reason = self.lag(place, instance), STANDBY_WANTED
        if role != WARMUP:
            return
        for standby in range(slot + 1, slot + self.movement.slots):
            if self.movement.is_moved(standby) and self.movement.destination[standby] == instance:
                row.reason, row.other_lag = TARGET_WARMS_UP, self.lag(place, self.movement.source[standby])
                return
        if self.movement.is_moved(slot):
            row.reason, row.other_lag = TARGET_WARMS_UP, self.lag(place, self.movement.source[slot])

    cdef void _why_given_up(self, Row* row, Py_ssize_t place, int32_t instance) noexcept:
        """Say why a task leaves an instance."""
        cdef int32_t to = self.decided[place * self.width]
        row.reason = MOVES_AWAY
        if self.withheld_by[place] < 0:
            return
        if to == instance:
            row.reason = THREADS_EVENED_OUT
        else:
            row.lag = self.lag(place, to)

    # -- what is left to chance (designs/classic/uncertainty) -------------------------------------------------------

    cdef void _note(self, int64_t at_ms) except *:
        """Note which steps take up left-over state again."""
        cdef Py_ssize_t at, place = 0
        cdef Row* row
        cdef Slot* slot
        for at in range(self.n_rows):
            row = &self.rows[at]
            if row.kind not in (PLACE, HAND_OVER, PROMOTE, KEEP_TEMPORARY, WITHHOLD):
                continue
            while self.task_of[place] != row.task:
                place += 1
            slot = self.copy(place, self.instance_of[row.to_consumer])
            if slot == NULL or slot.consumer >= 0:
                continue
            if self.may_have_deleted(slot, at_ms):
                self.deletions[place] = 1
            if slot.reporter >= 0 and self.capacity[slot.instance] > 1 and row.kind != PROMOTE:
                self.races[place] = 1

    # -- left-over state (engine/state_cleaner) ---------------------------------------------------------------------

    cdef bint has_deleted(self, Slot* slot, int64_t by_ms) except -1:
        """Tell whether a copy that is left over is gone by a time."""
        return self.cleaner.has_deleted(
            self._since_started(slot, by_ms), by_ms - slot.lost_at_ms, age(slot.made_at_ms, by_ms)
        )

    cdef bint may_have_deleted(self, Slot* slot, int64_t by_ms) except -1:
        """Tell whether that depends on when the instance looks."""
        return self.cleaner.may_have_deleted(
            self._since_started(slot, by_ms), by_ms - slot.lost_at_ms, age(slot.made_at_ms, by_ms)
        )

    cdef int64_t _since_started(self, Slot* slot, int64_t by_ms) noexcept:
        return age(self.started_ms[slot.instance], by_ms)


cdef inline int64_t age(int64_t at_ms, int64_t by_ms) noexcept:
    """Return how long ago something was; ``NONE``: unknown."""
    return NONE if at_ms == NONE else by_ms - at_ms
