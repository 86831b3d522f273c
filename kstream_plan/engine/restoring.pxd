"""Types of ``restoring``, where it is compiled."""

cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from kstream_plan.engine.copies cimport Copies

cdef int8_t ACTIVE
cdef int64_t NONE, MAX_LONG, AT_ONCE_MS, POLL_DELAY_MS, POLL_RECORDS, MOST, EVERYTHING
cdef double INFINITE, ALL_RECORDS


cdef class Pace:
    cdef double[::1] restores, writes
    cdef bint any_restores, any_writes, at_once  # whether either is known of any, and whether all restore at once


cdef class Stretch:
    cdef Pace pace
    cdef int64_t elapsed_ms
    cdef bint goes_on, any_stopped, any_burst
    cdef int8_t[::1] is_stopped  # by instance
    cdef int64_t[::1] burst  # by place


cdef class Restoring:
    cdef Copies copies
    cdef Py_ssize_t tasks, instances
    cdef readonly list stretches
    cdef Pace pace  # that of tasks at rest, if they stay so
    cdef readonly int8_t[::1] is_rated  # by instance: whether its rate is known throughout
    cdef readonly bint any_restores, at_once  # whether any is, and whether all restore at once
    cdef int64_t[::1] least_lag  # by place: how far behind a copy is that has caught up
    # by instance: how many more records it restores than its active copies need; NONE: it is not known yet
    cdef int64_t[::1] spare, no_spare
    # by instance: 1 if every copy that has anything to restore was placed just now, 2 if not all, 0 if none has
    cdef int8_t[::1] begins
    cdef int64_t[::1] ahead, none_ahead  # by instance: how many records it is ahead of its rate
    # by instance: what is written per second of the copies it holds, whether any restores, and whether they may fall behind
    cdef double[::1] pressure, no_pressure
    cdef int8_t[::1] restoring, pressed, no_flags, none_rest
    cdef bint any_pressed
    # by place: what waits to be written, what is written in a stretch, and whether at once
    cdef int64_t[::1] waits, written_records
    cdef int8_t[::1] is_written_at_once
    cdef bint any_waits, any_written
    cdef int64_t[::1] reported_in  # by slot
    cdef bint any_reported_in
    # what is restored: slot, place, instance, and how many records it has to go
    cdef int32_t[::1] restored_slots, restored_place, restored_instance
    cdef uint64_t[::1] records
    cdef Py_ssize_t n_restored

    @cython.locals(last=Stretch, is_plain=bint, is_same=bint)
    cpdef void take(self, list stretches) except *
    @cython.locals(stretch=Stretch, instance=Py_ssize_t, place=Py_ssize_t)
    cdef void _look_at_pace(self, Pace last) except *
    cpdef bint is_known(self, Py_ssize_t slot) noexcept
    @cython.locals(records=double)
    cdef int64_t _produced(self, Pace pace, Py_ssize_t place, int64_t elapsed_ms) noexcept
    @cython.locals(copies=Copies, stretch=Stretch, place=Py_ssize_t, slot=Py_ssize_t)
    cpdef void press(self) except *
    @cython.locals(instance=Py_ssize_t, rate=double, pressure=double)
    cdef void _press(self, Pace pace) except *
    @cython.locals(copies=Copies, place=Py_ssize_t, slot=Py_ssize_t)
    cdef void _sum_pressure(self, Pace pace) noexcept
    @cython.locals(copies=Copies)
    cdef bint falls_behind(self, Py_ssize_t place, Py_ssize_t slot) noexcept
    @cython.locals(stretch=Stretch, begin_ms=int64_t, elapsed_ms=int64_t, place=Py_ssize_t)
    cpdef void restore(self, int64_t generation, bint at_rejoin) except *
    @cython.locals(place=Py_ssize_t)
    cdef void keep_waiting(self) noexcept
    @cython.locals(copies=Copies, place=Py_ssize_t, slot=Py_ssize_t)
    cpdef tuple result(self, tasks)
    @cython.locals(copies=Copies, stretch=Stretch, elapsed_ms=int64_t, place=Py_ssize_t, instance=Py_ssize_t)
    cdef void _begin(self, int64_t generation, bint at_rejoin) except *
    @cython.locals(copies=Copies, slot=Py_ssize_t)
    cdef void _begin_task(self, Py_ssize_t place, int64_t generation, bint at_rejoin) noexcept
    @cython.locals(records=double, elapsed_ms=int64_t, previous=Stretch, stretch=Stretch)
    cdef int64_t _rest_of_a_poll(self, Py_ssize_t instance) except? -1
    @cython.locals(place=Py_ssize_t)
    cdef void _pass(self, Stretch stretch, int64_t begin_ms, int64_t elapsed_ms, bint at_rejoin) except *
    @cython.locals(copies=Copies, waited=int64_t, burst=int64_t, records=int64_t, slot=Py_ssize_t)
    cdef void _write(self, Stretch stretch, Py_ssize_t place, int64_t begin_ms, int64_t elapsed_ms, bint at_rejoin) noexcept
    @cython.locals(copies=Copies, slot=Py_ssize_t, remaining=int64_t)
    cdef bint _is_processed(self, Stretch stretch, Py_ssize_t place, bint at_rejoin) noexcept
    @cython.locals(place=Py_ssize_t, order=list, begin=Py_ssize_t, end=Py_ssize_t, instance=int32_t)
    cdef void _restore(
        self, Stretch stretch, int64_t begin_ms, int64_t elapsed_ms, bint at_rejoin, bint is_active
    ) except *
    cdef list _in_order(self)
    @cython.locals(
        copies=Copies, n_written=int64_t, slot=Py_ssize_t, instance=int32_t, remaining=int64_t, is_stopped=bint
    )
    cdef void _collect(self, Stretch stretch, Py_ssize_t place, int64_t begin_ms, bint at_rejoin, bint is_active) except *
    @cython.locals(n=Py_ssize_t)
    cdef void _add(self, Py_ssize_t place, Py_ssize_t slot, int64_t remaining, int64_t n_written) except *
    @cython.locals(ahead=int64_t, records=double)
    cdef int64_t _records(self, Stretch stretch, int32_t instance, int64_t elapsed_ms) noexcept
    @cython.locals(
        copies=Copies, spare=uint64_t, sharing=uint64_t, n=Py_ssize_t, share=uint64_t, records=uint64_t, remaining=int64_t
    )
    cdef void _share(self, list order, int32_t instance, bint at_rejoin) except *
