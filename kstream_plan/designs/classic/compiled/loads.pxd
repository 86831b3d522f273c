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
    # the loads per thread, and those of which instances are told anew
    cdef list per_thread
    cdef set changed

    cdef int count(self, Py_ssize_t place, bint active, int32_t instance, int32_t change) except -1
