"""Types of ``advance``, where it is compiled."""

cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t

from kstream_plan.engine.copies cimport Copies
from kstream_plan.engine.decision cimport Decision
from kstream_plan.engine.restoring cimport Restoring, Stretch

cdef int64_t NONE, LATEST, UNKNOWN, MAX_LONG
cdef int8_t ACTIVE, NO_ROLE, JUST_LOST, BY_TIME, READY


cdef class Advance:
    cdef Decision decision
    cdef Copies copies
    cdef Restoring restoring
    cdef Py_ssize_t tasks, consumers, instances
    cdef readonly int8_t[::1] ready  # by place: whether a copy gets within the limit by a follow-up
    cdef readonly int8_t[::1] deletions  # by place: whether state counts as deleted that may be there
    # the time until the next rebalance, and how members come to it: as of begin()
    cdef int64_t from_ms, to_ms, generation
    cdef bint tick, at_probes, idle, is_any_disturbed
    # by slot, as of know()
    cdef int8_t[::1] readiness, is_heard
    cdef bint is_first
    cdef int32_t[::1] first  # by instance: who reports what is left over there
    # consumers that gave up an active task, and those or from which one was withheld
    cdef int8_t[::1] is_revoking, disturbed

    @cython.locals(place=Py_ssize_t)
    cpdef void begin(
        self, int64_t from_ms, int64_t to_ms, int64_t generation, bint tick, bint at_probes, bint idle
    ) except *
    @cython.locals(copies=Copies, stretch=Stretch, place=Py_ssize_t, rests=bint, slot=Py_ssize_t)
    cpdef void let_rest(self) except *
    @cython.locals(place=Py_ssize_t)
    cpdef void advance(self) except *
    @cython.locals(decision=Decision, is_any=bint, is_calm=bint, consumer=Py_ssize_t)
    cdef bint _look_who_is_disturbed(self) except -1
    @cython.locals(
        copies=Copies, free_slot=Py_ssize_t, rests=bint, is_changed=bint, limit=int64_t, stretch=Stretch,
        slot=Py_ssize_t, lag=int64_t, reporter=int32_t, remaining=int64_t, is_rated=bint
    )
    cdef void _advance(self, Py_ssize_t place) except *
    @cython.locals(copies=Copies, lag=int64_t)
    cdef bint _is_at_rest(self, Py_ssize_t place, Py_ssize_t slot) except -1
    @cython.locals(copies=Copies, decision=Decision, number=Py_ssize_t, slot=Py_ssize_t, seat=Py_ssize_t)
    cdef void _seat(self, Py_ssize_t place) except *
    @cython.locals(seat=Py_ssize_t)
    cdef bint _is_seat(self, int32_t instance, Py_ssize_t number) noexcept
    @cython.locals(copies=Copies, instance=int32_t, consumer=int32_t, role=int8_t, slot=Py_ssize_t)
    cdef void _take(self, Py_ssize_t place, Py_ssize_t seat) except *
    @cython.locals(copies=Copies, begin=Py_ssize_t, slot=Py_ssize_t)
    cdef void _make(self, Py_ssize_t place, int32_t instance, int32_t consumer, int8_t role) except *
    @cython.locals(copies=Copies, reporter=int32_t, n_written=int64_t, lag=int64_t, whole=int64_t, counts=bint)
    cdef bint _report_left_over(self, Py_ssize_t place, Py_ssize_t slot) except -1
    @cython.locals(
        copies=Copies, consumer=int32_t, tick=bint, remaining=int64_t, disturbed=bint, is_known=bint, active=bint
    )
    cdef void _report(self, Py_ssize_t place, Py_ssize_t slot) except *
    @cython.locals(copies=Copies, consumer=int32_t)
    cdef void _report_anew(self, Py_ssize_t place, Py_ssize_t slot) except *
    @cython.locals(copies=Copies, remaining=int64_t)
    cdef void _report_unready(self, Py_ssize_t place, Py_ssize_t slot) except *
    @cython.locals(copies=Copies, consumer=int32_t, active=bint, disturbed=bint)
    cdef void _report_placed(self, Py_ssize_t place, Py_ssize_t slot, int64_t remaining, bint is_known) except *
    @cython.locals(least=int64_t)
    cdef int64_t _reported(self, Py_ssize_t place, Py_ssize_t slot, int64_t remaining) noexcept
