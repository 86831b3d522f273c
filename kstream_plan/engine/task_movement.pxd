"""Types of ``task_movement``, where it is compiled."""

cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t

from kstream_plan.engine.constrained_priority_set cimport ConstrainedPrioritySet

cdef int64_t ANY_LAG, UNKNOWN_LAG
cdef Py_ssize_t SHORT
cdef int8_t SWAP_CAUGHT_UP, SWAP_MOST_CAUGHT_UP, MOVE_CAUGHT_UP, MOVE_MOST_CAUGHT_UP


cdef class TaskMovement:
    # the group
    cdef Py_ssize_t tasks, instances
    cdef readonly Py_ssize_t standbys  # the most that a task has
    cdef Py_ssize_t slots, width  # slots and seats of each task
    cdef int32_t[::1] task_of  # by place
    cdef int64_t[::1] capacities  # by instance
    cdef int64_t[::1] end_offset_sums  # by place
    # the settings
    cdef int64_t limit, warm_ups
    cdef bint in_heap_order, caught_up_only
    # what is reported of each task: so many lags, by instance
    cdef Py_ssize_t room
    cdef int32_t[::1] n_reports, report_instance
    cdef int64_t[::1] report_lag
    cdef int8_t[::1] dirty, no_flags  # by place: whether something else is reported than at the decision before
    cdef int32_t[::1] none_moved
    # the target: instance by seat (-1: nobody), tasks by instance
    cdef int32_t[::1] target_seats
    cdef int64_t[::1] target_counts
    # the decision at hand, and the one before
    cdef int32_t[::1] decided_seats, previous_seats
    cdef int64_t[::1] counts
    # what is pending, by slot
    cdef int32_t[::1] destination, caught_up, free, only, source
    cdef int8_t[::1] ways, warm_up
    cdef int32_t[::1] first_two  # by place: the first two that are caught up on an active task
    cdef int8_t[::1] has_several  # by place: whether more than one standby is pending
    cdef Py_ssize_t n_several
    cdef int8_t[::1] reseated  # by place: whether the active task moved otherwise than at the decision before
    cdef object all_slots  # a row for each task
    # slots that are pending, in the order of handling
    cdef int32_t[::1] actives, standby_slots
    cdef Py_ssize_t n_actives, n_standby_slots
    cdef int32_t[::1] heap
    cdef int64_t[::1] queue_keys  # by slot: (number of caught-up instances, task) as one number
    # who is caught up on the task at hand; of whom the queue may choose
    cdef int32_t[::1] ready, candidates
    cdef ConstrainedPrioritySet queue
    cdef Py_ssize_t fed  # the movements before it were seen by the queue; -1: it is not begun
    cdef int64_t[::1] tally
    cdef int64_t budget, number
    cdef int64_t[::1] moved_in  # by place: the decision that moved a standby last
    # how many movements the decision has, of how many tasks, and warm-ups
    cdef readonly Py_ssize_t movements, n_queued, warmup_copies

    cpdef void forget(self, Py_ssize_t place) noexcept
    @cython.locals(index=Py_ssize_t)
    cpdef void report(self, Py_ssize_t place, int32_t instance, int64_t lag) except *
    @cython.locals(room=Py_ssize_t, place=Py_ssize_t, index=Py_ssize_t, reports=int32_t[::1], lags=int64_t[::1])
    cdef void _widen(self) except *
    cpdef void move(self) except *
    @cython.locals(places=dict, index=Py_ssize_t, slot=Py_ssize_t, first=Py_ssize_t, seat=Py_ssize_t)
    cpdef void adopt(self, int32_t[::1] seats, int32_t[::1] movements) except *
    @cython.locals(slot=Py_ssize_t)
    cpdef bint is_queued(self, Py_ssize_t place) noexcept
    @cython.locals(slot=Py_ssize_t)
    cdef bint is_moved(self, Py_ssize_t slot) noexcept
    @cython.locals(place=Py_ssize_t, slot=Py_ssize_t, was=int32_t, anew=bint)
    cdef void _pend_actives(self) except *
    @cython.locals(n_hot=Py_ssize_t, index=Py_ssize_t, lag=int64_t, begin=Py_ssize_t)
    cdef void _stays_with(self, Py_ssize_t place, Py_ssize_t slot) noexcept
    @cython.locals(index=Py_ssize_t, seat=Py_ssize_t, number=Py_ssize_t)
    cdef Py_ssize_t _hot(self, Py_ssize_t place, Py_ssize_t number_ready) noexcept
    @cython.locals(seat=Py_ssize_t)
    cdef bint _is_target_standby(self, Py_ssize_t place, int32_t instance) noexcept
    @cython.locals(
        index=Py_ssize_t, slot=Py_ssize_t, place=Py_ssize_t, source=int32_t, destination=int32_t, warm_up=bint, way=int8_t
    )
    cdef void _move_actives(self) except *
    @cython.locals(slot=Py_ssize_t, place=Py_ssize_t, n_hot=Py_ssize_t, source=int32_t)
    cdef int32_t _least_hot(self, Py_ssize_t index) except -2
    @cython.locals(seat=Py_ssize_t)
    cdef void _swap(self, Py_ssize_t place, int32_t source, int32_t destination) noexcept
    @cython.locals(index=Py_ssize_t, number=Py_ssize_t, source=int32_t, second=int32_t, load=double, least=double)
    cdef int32_t _least_loaded(self, Py_ssize_t place, Py_ssize_t slot) except -2
    cdef double _load(self, int32_t instance) except -1
    @cython.locals(place=Py_ssize_t, slot=Py_ssize_t, was=int32_t, was_for=int32_t, n_pending=Py_ssize_t, anew=bint)
    cdef void _pend_standbys(self) except *
    @cython.locals(destination=int32_t)
    cdef void _pend_standby(self, Py_ssize_t place, Py_ssize_t slot) noexcept
    @cython.locals(
        index=Py_ssize_t, slot=Py_ssize_t, place=Py_ssize_t, seat=Py_ssize_t, source=int32_t, warm_up=bint
    )
    cdef void _move_standbys(self) except *
    @cython.locals(slot=Py_ssize_t, place=Py_ssize_t, destination=int32_t, free=int32_t, source=int32_t)
    cdef int32_t _keeps_standby(self, Py_ssize_t index) except -2
    @cython.locals(index=Py_ssize_t, number=int32_t)
    cdef int32_t _free(self, Py_ssize_t place, int32_t n_ready) noexcept
    @cython.locals(seat=Py_ssize_t)
    cdef bint _holds(self, Py_ssize_t place, int32_t instance) noexcept
    @cython.locals(
        lag=int64_t, whole=int64_t, least=int64_t, other_lag=int64_t, source=int32_t, cold=int32_t, instance=int32_t,
        index=Py_ssize_t, begin=Py_ssize_t
    )
    cdef int32_t _first_free_by_lag(self, Py_ssize_t place, int32_t destination) noexcept
    @cython.locals(index=Py_ssize_t)
    cdef Py_ssize_t _report_of(self, Py_ssize_t place, int32_t instance) noexcept
    @cython.locals(index=Py_ssize_t, number=int32_t, instance=int32_t)
    cdef int32_t _fill_ready(self, Py_ssize_t place) noexcept
    @cython.locals(index=Py_ssize_t, own_report=Py_ssize_t, lag=int64_t, number=int32_t)
    cdef int32_t _caught_up_elsewhere(self, Py_ssize_t place, int32_t instance) noexcept
    @cython.locals(earlier=Py_ssize_t)
    cdef void _feed(self, int32_t[::1] order, Py_ssize_t index, int64_t[::1] counts) except *
    @cython.locals(earlier=Py_ssize_t)
    cdef void _feed_all(self, int32_t[::1] order, Py_ssize_t index, int64_t[::1] counts) except *
    @cython.locals(way=int8_t)
    cdef int _refills(self, Py_ssize_t slot) except -1
    cdef bint _gain(self, Py_ssize_t slot) noexcept
    cdef void _count(self, Py_ssize_t slot) noexcept
    @cython.locals(gain=bint, loss=bint, polled=bint, way=int8_t)
    cdef void _handle(self, Py_ssize_t slot) except *
    @cython.locals(number=Py_ssize_t)
    cdef Py_ssize_t _fill_in_order(self, Py_ssize_t first, Py_ssize_t end, int32_t[::1] order) except -1
    @cython.locals(index=Py_ssize_t, size=Py_ssize_t)
    cdef void _as_java(self, int32_t[::1] order, Py_ssize_t number) noexcept
    @cython.locals(key=int64_t, parent=Py_ssize_t)
    cdef void _rise(self, Py_ssize_t index, int32_t slot) noexcept
    @cython.locals(key=int64_t, child=Py_ssize_t, index=Py_ssize_t)
    cdef void _sink(self, Py_ssize_t size, int32_t slot) noexcept
