"""See the module."""

from libc.stdint cimport int32_t, int64_t

from kstream_plan.designs.classic.compiled.memory cimport Flags, Ints, Longs
from kstream_plan.designs.classic.compiled.records cimport Slot


cdef class Copies:
    cdef list memory
    # the group: its instances and consumers, and its stateful tasks with what the changelogs hold
    cdef Py_ssize_t tasks, instances, consumers, all_tasks
    cdef Ints task_of, instance_of, first_of, capacity
    cdef Longs whole
    cdef Ints known
    cdef int64_t limit
    # the slots of each task, of which so many are in use, by instance
    cdef Slot* slots
    cdef Py_ssize_t room
    cdef Ints number
    # who owns each task (-1: nobody), and gave it up for the decision before (-1: nobody)
    cdef Ints owner, revoked_by
    # the unprocessed input of each task, as a state's ``waiting``
    cdef Longs unprocessed
    # whether a task's copies stay as they are until it gets other seats
    cdef Flags rests
    # what is as it was for the decision before saves work: of which tasks a copy is not, or a copy or a seat
    cdef Flags dirty, stale

    cdef bint _load_task(self, Py_ssize_t place, copies, dict roles) except -1
    cdef void _fill(self, Slot* slot, copy) except *
    cdef Slot* copy(self, Py_ssize_t place, int32_t instance) noexcept
    cdef int64_t lag(self, Py_ssize_t place, int32_t instance) noexcept
    cdef bint is_caught_up(self, int64_t lag) noexcept
    cdef void widen(self) except *
    cdef by_task(self, int32_t* consumers)
