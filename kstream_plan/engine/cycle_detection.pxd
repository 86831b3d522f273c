"""Types of ``cycle_detection``, where it is compiled."""

cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from kstream_plan.engine.copies cimport Copies
from kstream_plan.engine.decision cimport Decision

cdef int8_t ACTIVE
cdef int64_t NONE, LATEST, OTHER_SUM
cdef uint64_t ALL_BITS, GOLDEN, FIRST_FACTOR, SECOND_FACTOR


cdef class CycleDetection:
    cdef Decision decision
    cdef Copies copies
    cdef Py_ssize_t tasks, width
    cdef uint64_t[::1] prints  # by place
    cdef uint64_t print_of_all, other_print_of_all  # sums

    @cython.locals(place=Py_ssize_t, was=uint64_t, now=uint64_t, now_other=uint64_t, was_other=uint64_t)
    cpdef tuple fingerprint(self)
    @cython.locals(
        copies=Copies, decision=Decision, first=Py_ssize_t, number=uint64_t, seat=Py_ssize_t, role=uint64_t,
        slot=Py_ssize_t
    )
    cdef uint64_t _print(self, Py_ssize_t place) except? 0
    @cython.locals(
        copies=Copies, begin=Py_ssize_t, end=Py_ssize_t, slot=Py_ssize_t, lag=int64_t, n_before=int64_t, other_slot=Py_ssize_t,
        is_alone=bint
    )
    cdef uint64_t _mixed_lags(self, uint64_t number, Py_ssize_t place) except? 0
    cdef uint64_t _mixed(self, uint64_t number, int64_t value) noexcept
    @cython.locals(copies=Copies, place=Py_ssize_t, slot=Py_ssize_t, remaining=list)
    cpdef list remaining_records(self)
    @cython.locals(copies=Copies, place=Py_ssize_t, instance=int32_t, remaining=int64_t, slot=Py_ssize_t)
    cpdef bint is_closer(self, earlier) except -1
