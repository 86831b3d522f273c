"""See the module."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp

from kstream_plan.designs.classic.compiled.copies cimport Copies
from kstream_plan.designs.classic.compiled.instance_queue cimport InstanceQueue
from kstream_plan.designs.classic.compiled.memory cimport Ints
from kstream_plan.designs.classic.compiled.records cimport SEATS, Pending


cdef class Movements(Copies):
    # the target: by seat, and how many tasks it gives to each instance
    cdef Ints target_seats, target_counts
    # the instances of a decision by seat (-1: nobody), and these once actives have moved
    cdef Ints decided, halfway
    # how many tasks each instance has by now, and how many warm-ups there may still be
    cdef Ints counts
    cdef int64_t warm_ups, budget
    # by task: what is pending
    cdef Pending* of_active
    cdef Pending* of_standby
    # the places of tasks that are pending, as they are handled
    cdef Ints actives, standbys, bins
    cdef Py_ssize_t n_actives, n_standbys
    # of so many standbys there is a choice who has them meanwhile
    cdef Py_ssize_t choices
    # who is caught up on the task at hand, and who of these has no copy of it
    cdef Ints caught_up
    cdef Ints free_ones
    cdef InstanceQueue queue
    # what is told of a decision: movements, the tasks that they are of, warm-ups
    cdef readonly Py_ssize_t movements, queued, warmup_copies

    cdef void _take_target(self, group, target) except *
    cdef int move(self) except -1
    cdef bint is_queued(self, Py_ssize_t place) noexcept
    cdef void _pend_actives(self) noexcept
    cdef void _move_actives(self) noexcept
    cdef void _stays_with(self, Py_ssize_t place, Pending* of) noexcept
    cdef int32_t _least_loaded(self, int32_t* candidates, Py_ssize_t number) noexcept
    cdef void _pend_standbys(self) noexcept
    cdef void _pend_standby(self, Py_ssize_t place, int32_t* seats, Pending* of) noexcept
    cdef int _move_standbys(self) except -1
    cdef int32_t _free(self, Py_ssize_t place, int32_t destination, int32_t* seats) noexcept
    cdef bint _holds(self, int32_t* seats, int32_t instance) noexcept
    cdef int32_t _first_free_by_lag(self, Py_ssize_t place, int32_t destination, int32_t* seats) noexcept
    cdef int32_t _caught_up_elsewhere(self, Py_ssize_t place, int32_t instance) noexcept
    cdef Py_ssize_t _sort(self, Pending* pending, int32_t* order) noexcept


cdef inline bint are_alike(int32_t* one, int32_t* other) noexcept:
    """Tell whether two tasks' seats are on the same instances."""
    return memcmp(one, other, SEATS * sizeof(int32_t)) == 0
