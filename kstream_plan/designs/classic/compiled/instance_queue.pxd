"""See the module."""

from libc.stdint cimport int32_t, int64_t

from kstream_plan.designs.classic.compiled.memory cimport Ints, Longs


cdef class InstanceQueue:
    cdef list memory
    cdef Py_ssize_t number, enough
    cdef Longs weights, hashes, first_keys, keys
    # who is out of place: steps of keys and their ends
    cdef Longs steps, ends
    cdef Py_ssize_t n_steps, room_for_steps
    # whoever is heavier than the bar is held back, for so many others are not
    cdef int64_t bar
    cdef Py_ssize_t up_to_bar
    # what was handled, by movement: source (-1: nobody), destination, gain and loss, and where its candidates begin
    cdef Ints source, destination, change, candidates
    cdef Longs begins
    cdef Py_ssize_t n_handled, n_candidates, room_for_handled, room_for_candidates
    # the queue as Java has it, once it was needed
    cdef bint exact
    cdef Py_ssize_t n_replayed, n_heap, n_scratch
    cdef Longs heap, heap_keys, scratch, scratch_keys, refused

    cdef void begin(self, int32_t* counts) noexcept
    cdef void handle(
        self, int32_t* candidates, Py_ssize_t n, int32_t source, int32_t destination, int gain, int loss
    ) except *
    cdef int32_t choose(self, int32_t* candidates, Py_ssize_t n) noexcept
    cdef void _raise_bar(self) except *
    cdef void _look(
        self, int32_t* candidates, Py_ssize_t n, int32_t source, int32_t destination, int gain, int loss
    ) except *
    cdef int64_t _heaviest_above(self, int64_t key) noexcept
    cdef Py_ssize_t _behind(self, int64_t* of, int64_t key) noexcept
    cdef Py_ssize_t _step(self, int64_t key) noexcept
    cdef bint _held_back(self, int64_t polled) noexcept
    cdef void _raise(self, Py_ssize_t at, int64_t step, int64_t other, int64_t offered) noexcept
    cdef void _cut(self, Py_ssize_t begin, Py_ssize_t end) noexcept
    cdef void _add(self, int64_t step, int64_t end) except *
    cdef void _grow_steps(self, Py_ssize_t room) except *
    cdef void _record(
        self, int32_t* candidates, Py_ssize_t n, int32_t source, int32_t destination, int change
    ) except *
    cdef void _grow(self, Py_ssize_t room) except *
    cdef void _grow_candidates(self, Py_ssize_t room) except *
    cdef int32_t _first_in_java(self, int32_t* candidates, Py_ssize_t n) noexcept
    cdef void _replay(self, Py_ssize_t place) noexcept
    cdef int32_t _first_of(
        self, int64_t* heap, Py_ssize_t* size, int64_t* keys, int32_t* candidates, Py_ssize_t n
    ) noexcept
    cdef void _offer_refused(self, int64_t* heap, Py_ssize_t* size, Py_ssize_t number) noexcept
