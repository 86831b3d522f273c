"""Types of ``decision``, where it is compiled."""

cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t

from kstream_plan.engine.copies cimport Copies
from kstream_plan.engine.load cimport Load
from kstream_plan.engine.task_movement cimport TaskMovement
from kstream_plan.engine.thread_assignment cimport ThreadAssignment

cdef int64_t NONE
cdef int8_t ACTIVE, STANDBY, WARMUP, TEMPORARY


cdef class Decision:
    cdef Copies copies
    cdef readonly TaskMovement movement
    cdef Py_ssize_t tasks, instances, consumers
    cdef Py_ssize_t slots, width  # pending slots, and seats of each task
    cdef int32_t[::1] consumer, reporters  # by seat: who has it on its instance, and who reported the copy there
    cdef int8_t[::1] touched, unlike  # instances of which a task is not as it was for the decision before, and tasks
    # what each instance is dealt: the first seat of an active task and of a copy (-1: none), and by seat the next one
    cdef int32_t[::1] first_dealt, next_dealt
    cdef readonly Load spread  # how many tasks each instance has
    cdef ThreadAssignment split
    cdef int32_t[::1] load, copy_load  # by consumer
    cdef bint roles_apart, any_temporary
    cdef int8_t[::1] stopping  # by consumer: whether it gives up everything before it joins
    cdef int32_t[::1] withheld_by, none_withheld  # by place: who has to give the task up first (-1: nobody)
    # by place: whether the new owner has a copy until then, whether copies are not where the seats are
    cdef int8_t[::1] temporary, is_changed
    cdef int8_t[::1] is_revoking, is_waiting  # consumers that give up an active task, and from which one is withheld
    cdef int8_t[::1] no_flags, no_instances, no_consumers
    # who holds the task at hand after the rebalance
    cdef int32_t[::1] seat_instance, seat_consumer
    cdef int8_t[::1] seat_role
    cdef readonly Py_ssize_t warmup_copies, extra_copies  # the latter: other copies beside the standbys
    cdef readonly bint follow_up

    @cython.locals(place=Py_ssize_t, copies=Copies)
    cpdef void decide(self) except *
    @cython.locals(consumer=int32_t, seat=Py_ssize_t)
    cpdef void adopt(self, int32_t[::1] consumers, int32_t[::1] movements) except *
    @cython.locals(index=Py_ssize_t, copies=Copies)
    cdef void _pass_lags_on(self, Py_ssize_t place) except *
    @cython.locals(
        place=Py_ssize_t, seat=Py_ssize_t, dirty=int8_t[::1], seats=int32_t[::1], previous_seats=int32_t[::1]
    )
    cdef void _compare(self) except *
    @cython.locals(now=int32_t, was=int32_t, is_active=bint, index=Py_ssize_t)
    cdef void _touch(self, Py_ssize_t place, Py_ssize_t seat) except *
    @cython.locals(instance=int32_t, consumer=Py_ssize_t)
    cdef void _split_over_consumers(self) except *
    @cython.locals(
        seats=int32_t[::1], touched=int8_t[::1], width=Py_ssize_t, seat=Py_ssize_t, first=Py_ssize_t
    )
    cdef void _list_dealt(self) noexcept
    @cython.locals(
        split=ThreadAssignment, begin=int32_t, width=Py_ssize_t, threads=Py_ssize_t, index=int32_t, number=Py_ssize_t,
        load=int32_t[::1]
    )
    cdef void _deal(self, int32_t instance, int32_t first, bint active) except *
    cdef void _add_more_reporters(self, Py_ssize_t place, int32_t instance, int32_t begin) except *
    @cython.locals(place=Py_ssize_t)
    cdef void _withhold(self) except *
    @cython.locals(
        copies=Copies, n_held=Py_ssize_t, first=Py_ssize_t, old=int32_t, new=int32_t, instance=int32_t, slot=Py_ssize_t, number=Py_ssize_t,
        seat=Py_ssize_t, has_state=bint
    )
    cdef void _withhold_task(self, Py_ssize_t place) noexcept
    @cython.locals(owner=int32_t)
    cdef int32_t revoked_by(self, Py_ssize_t place) noexcept
    @cython.locals(first=Py_ssize_t, number=Py_ssize_t, seat=Py_ssize_t, instance=int32_t, role=int8_t, index=Py_ssize_t)
    cdef Py_ssize_t fill_seats(self, Py_ssize_t place) noexcept
    cdef int8_t role_of(self, Py_ssize_t seat) noexcept
    @cython.locals(seat=Py_ssize_t, width=Py_ssize_t, members=int32_t[::1], task_of=int32_t[::1])
    cpdef tuple decided_by(self, bint instance)
    @cython.locals(place=Py_ssize_t, seat=Py_ssize_t)
    cpdef tuple held_after(self)
    cdef list _flagged_consumers(self, int8_t[::1] flags)
