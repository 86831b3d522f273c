"""Types of ``copies``, where it is compiled."""

cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t

from kstream_plan.engine.state_cleaner cimport StateCleaner

cdef int64_t NONE, LATEST, MAX_LONG, FAR_MS
cdef int8_t NO_ROLE, ACTIVE, STANDBY


cdef class Copies:
    # the group
    cdef readonly Py_ssize_t tasks
    cdef Py_ssize_t instances, consumers
    cdef int32_t[::1] task_of  # by place
    cdef int32_t[::1] instance_of  # by consumer
    cdef int32_t[::1] first_of, capacity  # by instance: its first consumer, its threads
    cdef int64_t[::1] whole  # by place: the end-offset sum
    cdef int8_t[::1] is_size_known  # by place: whether that is known
    cdef int64_t limit
    # what deletes left-over state, and when each instance started
    cdef StateCleaner cleaner
    cdef list process_ids
    cdef readonly object begin_ms  # the time of the plan that times are counted from
    cdef int64_t[::1] started_ms
    # by place: copies, who owns the task, who gave it up for the decision before (-1: nobody), records of its input
    cdef int32_t[::1] number, owner, revoked_by
    cdef int64_t[::1] unprocessed
    cdef readonly int8_t[::1] rests  # whether a task's copies stay as they are until it gets other seats
    cdef int8_t[::1] dirty, stale  # whether a copy, or a copy or a seat, is not as it was for the decision before
    # by (place, instance): who reported a copy beside its reporter
    cdef dict more_reporters
    cdef bint any_more_reporters
    cdef list made_copies
    # slots of each task, and by slot what a copy is
    cdef readonly Py_ssize_t room
    cdef int32_t[::1] instance, consumer, reporter  # consumer -1: it is left over; reporter -1: nobody
    cdef int8_t[::1] role
    cdef int64_t[::1] lag, remaining, placed_in, lost_at_ms, made_at_ms
    cdef int64_t[::1] grown  # what was written of the task since the copy was reported, until the next rebalance
    cdef int64_t[::1] left_at_end, left_at_rejoin  # of what remains by the next rebalance, and when whoever is disturbed rejoins

    cdef void _make_slots(self) except *
    @cython.locals(place=Py_ssize_t)
    cpdef void load_state(self, state, revoked_by) except *
    cpdef void load_copies(self, copies, unprocessed) except *
    @cython.locals(place=Py_ssize_t)
    cdef void _load(self, copies, dict roles, unprocessed) except *
    @cython.locals(slot=Py_ssize_t)
    cdef void _load_task(self, Py_ssize_t place, copies, dict roles) except *
    cdef void _fill(self, Py_ssize_t slot, copy) except *
    @cython.locals(place=Py_ssize_t, begin=Py_ssize_t, end=Py_ssize_t)
    cpdef tuple as_copies(self)
    cdef void change(self, Py_ssize_t place) except *
    @cython.locals(begin=Py_ssize_t, slot=Py_ssize_t)
    cdef bint _is_settled(self, Py_ssize_t place) except -1
    cdef object _copy(self, Py_ssize_t place, Py_ssize_t slot)
    @cython.locals(place=Py_ssize_t, slot=Py_ssize_t)
    cpdef tuple owned(self)
    @cython.locals(place=Py_ssize_t)
    cpdef dict by_task(self, int32_t[::1] consumers)
    @cython.locals(place=Py_ssize_t)
    cpdef set flagged(self, int8_t[::1] flags)
    @cython.locals(slot=Py_ssize_t)
    cdef Py_ssize_t slot_of(self, Py_ssize_t place, int32_t instance) noexcept
    @cython.locals(slot=Py_ssize_t)
    cdef int64_t lag_on(self, Py_ssize_t place, int32_t instance) noexcept
    cdef bint is_caught_up(self, int64_t lag) noexcept
    cdef void report(self, Py_ssize_t place, Py_ssize_t slot, int32_t reporter) except *
    cdef bint is_reported_by(self, Py_ssize_t place, Py_ssize_t slot, int32_t consumer) except -1
    @cython.locals(since_started=int64_t, since_made=int64_t)
    cdef bint has_deleted(self, Py_ssize_t slot, int64_t by_ms) except -1
    @cython.locals(since_started=int64_t, since_made=int64_t)
    cdef bint may_have_deleted(self, Py_ssize_t slot, int64_t by_ms) except -1
    cdef int64_t _age(self, int64_t at_ms, int64_t by_ms) noexcept
    @cython.locals(room=Py_ssize_t)
    cdef void widen(self) except *
    cdef list _columns(self)
    cdef void move(self, Py_ssize_t slot, Py_ssize_t new_slot) noexcept
    cdef void fill_empty(
        self, Py_ssize_t place, Py_ssize_t slot, int32_t instance, int32_t consumer, int8_t role, int64_t generation,
        int64_t ms
    ) except *
