"""Types of ``thread_assignment``, where it is compiled."""

cimport cython
from libc.stdint cimport int32_t, int64_t


cdef class ThreadAssignment:
    cdef object hash_order  # orders tasks of which many have the same bin
    cdef int64_t[::1] hashes  # by task
    # the tasks at hand, in order: who reported each first (-1: nobody), how far behind the instance is, who gets it
    cdef Py_ssize_t n
    cdef int32_t[::1] tasks, reporters
    cdef int64_t[::1] lags
    cdef int32_t[::1] thread_of
    # places of tasks that other threads have reported, too, and these threads
    cdef Py_ssize_t n_more
    cdef int32_t[::1] more_places, more_reporters
    # by thread: how many it has of the tasks at hand, and may have
    cdef int32_t[::1] numbers, room, at_share
    # places of tasks: that nobody was given back, and how many; what was over; what was given back, and one more
    cdef int32_t[::1] left_tasks, rest, taken_tasks, returned
    cdef int32_t[::1] skipped  # by place: the last thread that had no room for what it reported
    cdef int32_t[::1] heap, place_of, order
    cdef int32_t[::1] chains  # by bin of a hash set

    cpdef void clear(self) noexcept
    cpdef void add(self, int32_t task, int32_t reporter) noexcept
    @cython.locals(task=int32_t)
    cpdef void add_unreported(self, list tasks) except *
    cpdef void add_reporter(self, int32_t reporter) except *
    @cython.locals(thread=Py_ssize_t)
    cpdef bint give_back(self, int32_t[::1] load, Py_ssize_t begin, Py_ssize_t threads) except *
    @cython.locals(thread=Py_ssize_t)
    cpdef void deal(self, int32_t[::1] load, Py_ssize_t begin, Py_ssize_t threads, bint as_hash_set) except *
    @cython.locals(thread=Py_ssize_t, share=int32_t, total=int32_t)
    cdef void _make_room(self, int32_t[::1] load, Py_ssize_t begin, Py_ssize_t threads) except *
    @cython.locals(index=Py_ssize_t, thread=Py_ssize_t)
    cdef bint _give_back_all(self, Py_ssize_t threads) noexcept
    @cython.locals(
        index=Py_ssize_t, thread=Py_ssize_t, n_taken=Py_ssize_t, n_left=Py_ssize_t, n_rest=Py_ssize_t, n_returned=Py_ssize_t,
        n_at_share=Py_ssize_t
    )
    cdef void _deal_step_by_step(self, Py_ssize_t threads, bint as_hash_set) except *
    @cython.locals(index=Py_ssize_t, thread=Py_ssize_t, number=Py_ssize_t, n_kept=Py_ssize_t, n_taken=Py_ssize_t)
    cdef Py_ssize_t _give_back(self, Py_ssize_t threads) noexcept
    @cython.locals(index=Py_ssize_t, thread=Py_ssize_t, number=Py_ssize_t, n_returned=Py_ssize_t, last=int32_t)
    cdef Py_ssize_t _give_back_one_more(self, Py_ssize_t n_rest, Py_ssize_t n_at_share) noexcept
    @cython.locals(index=Py_ssize_t, number=Py_ssize_t, place=Py_ssize_t)
    cdef Py_ssize_t _reported_by(self, int32_t thread) noexcept
    @cython.locals(index=Py_ssize_t)
    cdef bint _has_reported(self, Py_ssize_t place, int32_t thread) noexcept
    @cython.locals(first=Py_ssize_t, thread=Py_ssize_t, previous_first=Py_ssize_t, index=Py_ssize_t)
    cdef Py_ssize_t _fill_up(self, Py_ssize_t n_left, Py_ssize_t threads) noexcept
    @cython.locals(index=Py_ssize_t, size=Py_ssize_t, _=Py_ssize_t)
    cdef void _array_order(self, Py_ssize_t n_taken, Py_ssize_t polled, Py_ssize_t n_returned, bint as_hash_set) except *
    @cython.locals(bins=Py_ssize_t, index=Py_ssize_t, chain=Py_ssize_t, total=int32_t, number=int32_t)
    cdef void _as_hash_set(self) except *
    @cython.locals(
        index=Py_ssize_t, keys=Py_ssize_t, longest=Py_ssize_t, chain=Py_ssize_t, fewest=Py_ssize_t, longest_chain=Py_ssize_t
    )
    cdef bint _any_long_chain(self, Py_ssize_t bins) except *
    @cython.locals(last=int32_t)
    cdef void _remove(self, Py_ssize_t size, Py_ssize_t index) noexcept
    @cython.locals(child=Py_ssize_t)
    cdef void _sink(self, Py_ssize_t size, Py_ssize_t index, int32_t task) noexcept
    @cython.locals(parent=Py_ssize_t)
    cdef void _rise(self, Py_ssize_t index, int32_t task) noexcept
