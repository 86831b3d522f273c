"""Types of ``constrained_priority_set``, where it is compiled."""

cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t

cdef int64_t HEAVIEST
cdef Py_ssize_t SPARE


cdef class ConstrainedPrioritySet:
    cdef Py_ssize_t number, enough  # instances; how many lighter ones hold somebody back
    cdef int64_t mask  # the bits of a key that say which instance it is of
    cdef int bits
    cdef int64_t unit  # what a load of one task per thread weighs
    cdef int64_t[::1] capacities, hashes  # by instance: threads, hash of the process id
    cdef int64_t[::1] counts, keys  # by instance: tasks, and (load, instance) as one number
    cdef int64_t[::1] steps, ends  # who may be out of place: the staircase
    cdef Py_ssize_t n_steps
    cdef int64_t bar  # whoever is heavier is held back
    cdef Py_ssize_t up_to_bar  # how many are not heavier
    cdef int32_t[::1] handled_source, handled_destination  # by movement; source -1: nothing was moved
    cdef int8_t[::1] handled_gain, handled_loss, handled_refills, handled_polled
    cdef Py_ssize_t n_handled
    cdef bint complete  # whether it has seen all movements of the decision
    cdef Py_ssize_t known_from  # the array of the queue before this movement follows from the keys alone
    cdef bint exact  # whether the queue is there as Java has it
    cdef Py_ssize_t n_replayed, n_heap  # movements that it has seen; its size
    cdef int64_t[::1] heap, heap_aside, refused_keys, in_buckets  # keys
    cdef int32_t[::1] bucket_ends
    cdef int64_t[::1] heap_counts  # as of the movements that it has seen
    cdef int8_t[::1] is_wanted

    @cython.locals(i=Py_ssize_t)
    cpdef void begin(self, int64_t[::1] counts, bint complete) except *
    @cython.locals(index=Py_ssize_t, key=int64_t, was=int64_t, offered=int64_t, now=int64_t)
    cpdef void handle(
        self, int32_t source, int32_t destination, int gain, int loss, int refills, bint polled
    ) except *
    @cython.locals(place=Py_ssize_t, first=int64_t, heaviest=int64_t, key=int64_t)
    cpdef int32_t choose(self, int32_t[::1] candidates, Py_ssize_t n) except -2
    cdef int64_t _key(self, Py_ssize_t instance, int64_t count) noexcept
    cdef void _set_bar(self) except *
    @cython.locals(room=Py_ssize_t)
    cdef void _grow_handled(self) except *
    @cython.locals(heaviest=int64_t, place=Py_ssize_t)
    cdef void _look(self, int64_t key, int64_t was, int64_t offered, int64_t now, bint polled) except *
    @cython.locals(index=Py_ssize_t)
    cdef int64_t _heaviest_above(self, int64_t key) noexcept
    @cython.locals(index=Py_ssize_t)
    cdef Py_ssize_t _up_to(self, int64_t[::1] column, int64_t key) noexcept
    @cython.locals(index=Py_ssize_t)
    cdef Py_ssize_t _step(self, int64_t key) noexcept
    @cython.locals(i=Py_ssize_t, lighter=Py_ssize_t)
    cdef bint _is_held_back(self, int64_t polled) noexcept
    @cython.locals(next_step=int64_t, i=Py_ssize_t)
    cdef void _raise_step(self, Py_ssize_t index, int64_t step, int64_t offered_again, int64_t offered) noexcept
    @cython.locals(index=Py_ssize_t, number=Py_ssize_t)
    cdef void _cut(self, Py_ssize_t begin, Py_ssize_t end) noexcept
    @cython.locals(index=Py_ssize_t, n_lower=Py_ssize_t, place=Py_ssize_t)
    cdef void _add(self, int64_t step, int64_t end) except *
    @cython.locals(index=Py_ssize_t, i=Py_ssize_t, instance=int32_t)
    cdef int32_t _first_in_java(self, int32_t[::1] candidates, Py_ssize_t n) except -2
    @cython.locals(index=Py_ssize_t, i=Py_ssize_t)
    cdef void _fill_heap(self) noexcept
    @cython.locals(
        source=int32_t, destination=int32_t, _=Py_ssize_t, was_source=int64_t, was=int64_t, offered=int64_t, now=int64_t,
        place=Py_ssize_t
    )
    cdef void _replay(self, Py_ssize_t index) except *
    cdef int64_t _heap_key(self, Py_ssize_t instance) noexcept
    @cython.locals(index=Py_ssize_t)
    cdef Py_ssize_t _place_of(self, int64_t key) noexcept
    @cython.locals(n_refused=Py_ssize_t, instance=int32_t, key=int64_t)
    cdef int32_t _poll(self) except -2
    @cython.locals(buckets=Py_ssize_t, index=Py_ssize_t, bucket=Py_ssize_t, total=int32_t, size=int32_t)
    cdef void _offer_refused(self, Py_ssize_t number) noexcept
    cdef void _offer(self, int64_t key) noexcept
    @cython.locals(last=int64_t)
    cdef void _remove(self, Py_ssize_t index) noexcept
    @cython.locals(parent=Py_ssize_t)
    cdef void _rise(self, Py_ssize_t index, int64_t key) noexcept
    @cython.locals(size=Py_ssize_t, child=Py_ssize_t)
    cdef void _sink(self, Py_ssize_t index, int64_t key) noexcept
