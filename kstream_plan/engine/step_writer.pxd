"""Types of ``step_writer``, where it is compiled."""

cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t

from kstream_plan.engine.copies cimport Copies
from kstream_plan.engine.decision cimport Decision
from kstream_plan.engine.task_movement cimport TaskMovement

cdef int64_t NONE
cdef int8_t ACTIVE, WARMUP, TEMPORARY
cdef Py_ssize_t WIDTH
cdef int RECORDS, LAG, OTHER_LAG, TASK, FROM, TO, KIND, FROM_ROLE, TO_ROLE, CAUGHT_UP, REASON
cdef int PLACE, WITHHOLD, KEEP_TEMPORARY, REVOKE, DEMOTE, HAND_OVER, PROMOTE, THREAD_MOVE, DROP
cdef int TARGET_CAUGHT_UP, TARGET_WARMS_UP, CAUGHT_UP_MEANWHILE, MOST_CAUGHT_UP, NO_STATE_ANYWHERE
cdef int STANDBY_WANTED, THREADS_EVENED_OUT, OWNER_MUST_REVOKE, MOVES_AWAY, NOT_NEEDED


cdef class StepWriter:
    cdef Decision decision
    cdef Copies copies
    cdef Py_ssize_t tasks
    cdef int64_t[::1] rows  # a row of FIELDS after the other
    cdef Py_ssize_t n_rows
    cdef readonly int8_t[::1] races, deletions  # by place: whether threads race for the task, its state may be deleted
    cdef int8_t[::1] no_flags
    cdef readonly bint starts_any

    @cython.locals(changed_tasks=int8_t[::1], withheld_by=int32_t[::1], place=Py_ssize_t)
    cpdef void write(self, int64_t at_ms) except *
    @cython.locals(copies=Copies, decision=Decision, number=Py_ssize_t, slot=Py_ssize_t, seat=Py_ssize_t, is_held=bint)
    cdef void _write_task(self, Py_ssize_t place, int64_t at_ms) except *
    @cython.locals(seat=Py_ssize_t)
    cdef bint _is_seat(self, int32_t instance, Py_ssize_t number) noexcept
    @cython.locals(row=Py_ssize_t)
    cdef Py_ssize_t _row(self, Py_ssize_t place, int kind) except -1
    @cython.locals(copies=Copies, row=Py_ssize_t)
    cdef void _write_given_up(self, Py_ssize_t place, Py_ssize_t old) except *
    @cython.locals(decision=Decision, row=Py_ssize_t, owner=int32_t, instance=int32_t)
    cdef void _write_withheld(self, Py_ssize_t place, int64_t at_ms) except *
    @cython.locals(
        copies=Copies, row=Py_ssize_t, revoked_by=int32_t, in_memory=bint, instance=int32_t, consumer=int32_t,
        is_empty=bint, stays=bint
    )
    cdef void _write_started(self, Py_ssize_t place, Py_ssize_t old, Py_ssize_t seat) except *
    @cython.locals(copies=Copies, records=int64_t, is_near=bint)
    cdef void _write_restored(self, Py_ssize_t row, Py_ssize_t place, int32_t instance, bint is_empty) noexcept
    @cython.locals(copies=Copies, decision=Decision, row=Py_ssize_t, role=int8_t, instance=int32_t)
    cdef void _write_copied(self, Py_ssize_t place, Py_ssize_t old, Py_ssize_t seat) except *
    @cython.locals(slot=Py_ssize_t, remaining=int64_t)
    cdef int64_t _restores(self, Py_ssize_t place, int32_t instance, bint is_empty) noexcept
    @cython.locals(copies=Copies, movement=TaskMovement, slot=Py_ssize_t, lag=int64_t, caught_up=bint)
    cdef void _why_active(self, Py_ssize_t row, Py_ssize_t place, int32_t instance) noexcept
    @cython.locals(copies=Copies, closest=int64_t, slot=Py_ssize_t)
    cdef int64_t _why_cold(self, Py_ssize_t place, int64_t lag) noexcept
    @cython.locals(copies=Copies, movement=TaskMovement, slot=Py_ssize_t, standby=Py_ssize_t)
    cdef void _why_copied(self, Py_ssize_t row, Py_ssize_t place, int32_t instance, int8_t role) noexcept
    @cython.locals(decision=Decision, destination=int32_t)
    cdef void _why_given_up(self, Py_ssize_t row, Py_ssize_t place, int32_t instance) noexcept
    @cython.locals(copies=Copies, row=Py_ssize_t, kind=int64_t, slot=Py_ssize_t)
    cdef void _note(self, Py_ssize_t place, int64_t at_ms) except *
