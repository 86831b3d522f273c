"""See the module."""

from libc.stdint cimport int32_t

from kstream_plan.designs.classic.compiled.memory cimport Ints, Longs


cdef class ThreadSplit:
    cdef list memory
    # what one instance is given in one role: the tasks in order, who reported each (-1: nobody), how far behind it is
    cdef Py_ssize_t n
    cdef Ints tasks, reporters
    cdef Longs lags, hashes
    # who gets each
    cdef Ints given
    # how many each consumer has, and may have, of it
    cdef Ints numbers, room
    cdef Ints heap, place_of, left, rest, taken, skipped, returned, at_share, order
    # how many tasks each bin of a set has
    cdef Ints chains
    cdef Py_ssize_t room_for_chains

    cdef void clear(self) noexcept
    cdef void add(self, int32_t task, int32_t reporter) noexcept
    cdef bint give_back(self, int32_t* load, Py_ssize_t begin, Py_ssize_t threads) noexcept
    cdef void deal(self, int32_t* load, Py_ssize_t begin, Py_ssize_t threads, bint as_hash_set) except *
    cdef void _make_room(self, int32_t* load, Py_ssize_t begin, Py_ssize_t threads) noexcept
    cdef bint _give_back_all(self, Py_ssize_t threads) noexcept
    cdef void _deal_step_by_step(self, Py_ssize_t threads, bint as_hash_set) except *
    cdef Py_ssize_t _give_back(self, Py_ssize_t threads) noexcept
    cdef Py_ssize_t _give_back_one_more(self, Py_ssize_t n_rest, Py_ssize_t n_at_share) noexcept
    cdef Py_ssize_t _reported_by(self, int32_t thread) noexcept
    cdef Py_ssize_t _fill_up(self, Py_ssize_t n_left, Py_ssize_t threads) noexcept
    cdef void _array_order(self, Py_ssize_t n_taken, Py_ssize_t polled, Py_ssize_t n_returned, bint as_hash_set) except *
    cdef void _as_hash_set(self) except *
    cdef bint _any_long_chain(self, Py_ssize_t bins) noexcept
    cdef void _remove(self, Py_ssize_t* size, Py_ssize_t at) noexcept
    cdef void _sink(self, Py_ssize_t size, Py_ssize_t at, int32_t task) noexcept
    cdef void _rise(self, Py_ssize_t at, int32_t task) noexcept
    cdef void _put(self, Py_ssize_t at, int32_t task) noexcept
