"""See the module."""

from libc.stdint cimport int32_t

from kstream_plan.designs.classic.compiled.memory cimport Ints


cdef class Loads:
    cdef list memory
    cdef Py_ssize_t instances, subtopologies
    cdef Ints capacity
    # by task, the place of its subtopology
    cdef Ints subtopology_of
    # tasks by instance: active ones, copies, and active ones of each subtopology
    cdef Ints active
    cdef Ints copies
    cdef Ints of_subtopology
    # by subtopology: how many instances execute it, and the most active tasks of it on one less the fewest
    cdef Ints executing
    cdef Ints uneven
    # the loads per thread; and of which instances, and subtopologies, something changed since that was told
    cdef list per_thread
    cdef set changed, changed_subtopologies

    cdef int count(self, Py_ssize_t place, bint active, int32_t instance, int32_t change) except -1
    cdef int _look_at_changed(self) except -1
