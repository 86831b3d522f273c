"""Types of ``restoring``, where it is compiled."""

cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from kstream_plan.engine.copies cimport Copies

cdef int8_t ACTIVE
cdef int64_t NONE, MAX_LONG, AT_ONCE_MS, POLL_DELAY_MS, POLL_RECORDS, MOST
cdef double INFINITE


cdef class Restoring:
    cdef Copies copies
    cdef Py_ssize_t tasks, instances
    # records per second: what each instance restores (below 0: unknown), what is written of each task
    cdef double[::1] restores, writes
    cdef bint any_restores, any_writes, at_once  # whether either is known of any, and whether all restore at once
    cdef int64_t[::1] standing  # by place: how far behind a copy is that has caught up
    # by instance: how many more records it restores than its active copies need; NONE: it is not known yet
    cdef int64_t[::1] spare, no_spare
    # by instance: 1 if every copy that has anything to restore was placed just now, 2 if not all, 0 if none has
    cdef int8_t[::1] begins
    # by instance: what is written per second of the copies it holds, and whether copies may fall behind
    cdef double[::1] pressure, no_pressure
    cdef int8_t[::1] pressed, no_flags, none_rest
    cdef bint any_pressed
    # what is restored: slot, place, instance, and how many records it has to go
    cdef int32_t[::1] restored, restored_place, restored_instance
    cdef uint64_t[::1] records
    cdef Py_ssize_t n_restored

    cdef bint is_known(self, Py_ssize_t at) noexcept
    cdef int64_t _produced(self, Py_ssize_t place, int64_t elapsed_ms) except? -1
    cdef int64_t written(self, Py_ssize_t place, int64_t elapsed_ms, bint soon) except? -1
    @cython.locals(copies=Copies, records=int64_t)
    cdef void wait(self, Py_ssize_t place, int64_t elapsed_ms) except *
    @cython.locals(copies=Copies, place=Py_ssize_t, at=Py_ssize_t, instance=Py_ssize_t)
    cdef void press(self) noexcept
    @cython.locals(copies=Copies, place=Py_ssize_t, at=Py_ssize_t)
    cdef void _sum_pressure(self) noexcept
    @cython.locals(copies=Copies)
    cdef bint falls_behind(self, Py_ssize_t place, Py_ssize_t at) noexcept
    @cython.locals(place=Py_ssize_t)
    cdef void restore(self, int64_t elapsed_ms, int64_t generation, bint soon) except *
    @cython.locals(copies=Copies, at=Py_ssize_t)
    cdef void _begin(self, Py_ssize_t place, int64_t generation) noexcept
    @cython.locals(place=Py_ssize_t, order=list, begin=Py_ssize_t, end=Py_ssize_t, instance=int32_t)
    cdef void _restore(self, int64_t elapsed_ms, bint soon, bint is_active) except *
    cdef list _in_order(self)
    @cython.locals(copies=Copies, written=int64_t, at=Py_ssize_t, left=int64_t, is_rated=bint)
    cdef void _collect(self, Py_ssize_t place, int64_t elapsed_ms, bint soon, bint is_active) except *
    @cython.locals(copies=Copies, at=Py_ssize_t, left=int64_t)
    cdef bint _is_restoring(self, Py_ssize_t place, bint soon) noexcept
    @cython.locals(n=Py_ssize_t)
    cdef void _add(self, Py_ssize_t place, Py_ssize_t at, int64_t written) except *
    @cython.locals(records=int64_t)
    cdef int64_t _records(self, int32_t instance, int64_t elapsed_ms) except? -1
    @cython.locals(
        copies=Copies, over=uint64_t, sharing=uint64_t, n=Py_ssize_t, share=uint64_t, records=uint64_t, left=int64_t
    )
    cdef void _share(self, list order, int32_t instance, bint soon) except *
