"""See the module."""

from libc.stdint cimport int8_t, int32_t, int64_t

from kstream_plan.designs.classic.compiled.memory cimport Ints, Longs

#: A movement: source (-1: nothing was moved), destination, whether the one gains a task and the other loses it; how many
#: candidates there were, and where they begin, if there were several.
cdef struct Handled:
    int32_t source
    int32_t destination
    int8_t gain
    int8_t loss
    int32_t n
    int32_t begin


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
    # what was handled
    cdef Handled* handled
    cdef Ints candidates
    cdef Py_ssize_t n_handled, room_for_handled
    cdef int32_t n_candidates, room_for_candidates
    # the queue as Java has it, once it was needed
    cdef bint exact
    cdef Py_ssize_t n_replayed, n_heap, n_scratch
    cdef Longs heap, heap_keys, scratch, scratch_keys, refused

    cdef int begin(self, int32_t* counts, Py_ssize_t movements) except -1
    cdef int handle(
        self, int32_t* candidates, Py_ssize_t n, int32_t source, int32_t destination, int gain, int loss
    ) except -1
    cdef int32_t choose(self, int32_t* candidates, Py_ssize_t n) noexcept
    cdef int _set_bar(self) except -1
    cdef int _look(
        self, int32_t* candidates, Py_ssize_t n, int32_t source, int32_t destination, int64_t offered, int64_t now
    ) except -1
    cdef int64_t _heaviest_above(self, int64_t key) noexcept
    cdef Py_ssize_t _behind(self, int64_t* of, int64_t key) noexcept
    cdef Py_ssize_t _step(self, int64_t key) noexcept
    cdef bint _held_back(self, int64_t polled) noexcept
    cdef void _raise(self, Py_ssize_t at, int64_t step, int64_t other, int64_t offered) noexcept
    cdef void _cut(self, Py_ssize_t begin, Py_ssize_t end) noexcept
    cdef int _add(self, int64_t step, int64_t end) except -1
    cdef void _grow_steps(self, Py_ssize_t room) except *
    cdef int _keep(self, int32_t* candidates, Py_ssize_t n) except -1
    cdef void _grow_candidates(self, int32_t room) except *
    cdef int32_t _first_in_java(self, int32_t* candidates, Py_ssize_t n) noexcept
    cdef void _replay(self, Handled* one) noexcept
    cdef int32_t _first_of(
        self, int64_t* heap, Py_ssize_t* size, int64_t* keys, int32_t* candidates, Py_ssize_t n
    ) noexcept
    cdef void _offer_refused(self, int64_t* heap, Py_ssize_t* size, Py_ssize_t number) noexcept
