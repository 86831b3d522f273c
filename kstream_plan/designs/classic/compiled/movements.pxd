"""See the module."""

from libc.stdint cimport int32_t, int64_t

from kstream_plan.designs.classic.compiled.copies cimport Copies
from kstream_plan.designs.classic.compiled.instance_queue cimport InstanceQueue
from kstream_plan.designs.classic.compiled.memory cimport Ints
from kstream_plan.designs.classic.compiled.records cimport SEATS, Moving, Pending, Seat


cdef class Movements(Copies):
    # the target: by task, and how many tasks it gives to each instance
    cdef Ints target_owner, target_standby, target_counts
    # the seats of a decision, and what moves
    cdef Seat* decided
    cdef Moving* active
    cdef Moving* standby
    # how many tasks each instance has by now, and how many warm-ups there may still be
    cdef Ints counts
    cdef int64_t warm_ups, budget
    # by task: what is pending, and where the task is once actives have moved; kept while the task is not dirty
    cdef Pending* of_active
    cdef Pending* of_standby
    cdef Seat* halfway
    # the places of tasks that are pending, and these as they are handled
    cdef Ints pending, order, bins
    # who is caught up on the task at hand, and who of these has no copy of it
    cdef Ints caught_up
    cdef Ints free_ones
    cdef InstanceQueue queue

    cdef void _take_target(self, group, target) except *
    cdef void move(self) except *
    cdef bint is_queued(self, Py_ssize_t place) noexcept
    cdef void _move_active(self) noexcept
    cdef Py_ssize_t _pend_actives(self) noexcept
    cdef void _stays_with(self, Py_ssize_t place, Pending* pending) noexcept
    cdef int32_t _least_loaded(self, int32_t* candidates, Py_ssize_t number) noexcept
    cdef void _move_standbys(self) except *
    cdef void _handle_standby(self, Py_ssize_t place, bint choices) except *
    cdef void _pend_standby(self, Py_ssize_t place, Seat* seats, Pending* pending) noexcept
    cdef int32_t _free(self, Py_ssize_t place, int32_t destination, Seat* seats) noexcept
    cdef bint _holds(self, Seat* seats, int32_t instance) noexcept
    cdef int32_t _first_free_by_lag(self, Py_ssize_t place, int32_t destination, Seat* seats) noexcept
    cdef int32_t _caught_up_elsewhere(self, Py_ssize_t place, int32_t instance) noexcept
    cdef void _sort_pending(self, Py_ssize_t number, Pending* pending) noexcept


cdef inline bint are_alike(Seat* one, Seat* other) noexcept:
    """Tell whether two tasks' seats are the same."""
    cdef Py_ssize_t seat
    for seat in range(SEATS):
        if one[seat].instance != other[seat].instance or one[seat].consumer != other[seat].consumer:
            return False
    return True
