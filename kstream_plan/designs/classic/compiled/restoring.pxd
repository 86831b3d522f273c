"""See the module."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from kstream_plan.designs.classic.compiled.memory cimport Flags, Longs
from kstream_plan.designs.classic.compiled.records cimport Slot
from kstream_plan.designs.classic.compiled.steps cimport Steps

#: The time within which whoever is disturbed rejoins (``catching_up.AT_ONCE_MS``).
cdef enum:
    AT_ONCE_MS = 100

#: A copy that an instance restores: how many records it has to go, and where to put what is left of them.
cdef struct Restored:
    uint64_t records
    int64_t* left
    int32_t instance
    int32_t place


cdef class Restoring(Steps):
    # records per second: what each instance restores (below 0: nobody knows), what is written of each task
    cdef double* restores
    cdef double* writes
    # whether it is known of any instance, and whether all restore at once
    cdef bint any_restores, at_once
    # by task: how far behind a copy is that has caught up
    cdef Longs standing
    # what is restored, instance after instance, and which of these restored something before the decision
    cdef Restored* restored
    cdef Py_ssize_t n_restored, room_for_restored
    # by instance: 1 if every copy that has anything to restore was placed just now, 2 if not all, 0 if none has
    cdef Flags begins
    # by instance: how many more records it restores than its active copies need; NONE: it is not known yet
    cdef Longs spare
    # by instance: what is written per second of the copies it holds, and whether that is more than it restores
    cdef double* pressure
    cdef Flags pressed
    cdef bint any_pressed

    cdef bint is_known(self, Slot* slot) noexcept
    cdef int64_t produced(self, Py_ssize_t place, int64_t elapsed_ms) noexcept
    cdef int64_t written(self, Py_ssize_t place, int64_t elapsed_ms, bint soon) noexcept
    cdef void wait(self, Py_ssize_t place, int64_t elapsed_ms) noexcept
    cdef void press(self) noexcept
    cdef bint falls_behind(self, Py_ssize_t place, Slot* slot) noexcept
    cdef void restore(self, int64_t elapsed_ms, int64_t generation, bint soon) except *
    cdef void _begin(self, Py_ssize_t place, int64_t generation) noexcept
    cdef void _restore(self, int64_t elapsed_ms, bint soon, bint is_active) except *
    cdef void _collect(self, Py_ssize_t place, int64_t elapsed_ms, bint soon, bint is_active) except *
    cdef bint _is_restoring(self, Py_ssize_t place, bint soon) noexcept
    cdef void _add(self, Slot* slot, Py_ssize_t place, int64_t written, bint soon) except *
    cdef int64_t _records(self, int32_t instance, int64_t elapsed_ms) noexcept
    cdef int64_t _share(self, Py_ssize_t begin, Py_ssize_t end, int64_t records) noexcept
