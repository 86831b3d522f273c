"""See the module."""

from libc.stdint cimport int8_t, int32_t, int64_t

from kstream_plan.designs.classic.compiled.memory cimport Flags, Ints
from kstream_plan.designs.classic.compiled.records cimport Held, Slot
from kstream_plan.designs.classic.compiled.restoring cimport Restoring


#: The time until the next rebalance, and how members come to it.
cdef struct Interval:
    int64_t from_ms
    int64_t to_ms
    # of the decision
    int64_t generation
    # as of catching_up.Interval
    bint tick
    bint at_probes
    # by instance, who reports what is left over there
    int32_t* first
    # consumers that gave up an active task, and those or from which one was withheld
    int8_t* revoking
    int8_t* disturbed


cdef class Advance(Restoring):
    # tasks of which a copy gets within the limit by a follow-up
    cdef Flags ready
    # what an interval points to; nobody is disturbed by a tick
    cdef Flags disturbed, nobody
    cdef Ints first

    cdef void _advance(self, Py_ssize_t place, Interval* interval) except *
    cdef bint _is_at_rest(self, Py_ssize_t place, Slot* slot) noexcept
    cdef void _seat(self, Py_ssize_t place, Interval* interval) except *
    cdef void _leave(self, Slot* slot, int64_t at_ms) noexcept
    cdef void _take(self, Py_ssize_t place, Held* seat, Interval* interval) noexcept
    cdef void _make(self, Py_ssize_t place, Held* seat, Interval* interval) noexcept
    cdef Slot _empty(self, Py_ssize_t place, Held* seat, Interval* interval) noexcept
    cdef bint _report_left_over(self, Py_ssize_t place, Slot* slot, Interval* interval, int64_t written) except -1
    cdef void _report(self, Py_ssize_t place, Slot* slot, Interval* interval) noexcept
    cdef void _report_placed(self, Py_ssize_t place, Slot* slot, int64_t remaining, Interval* interval) noexcept
    cdef int64_t _reported(self, Py_ssize_t place, Slot* slot, int64_t remaining) noexcept
