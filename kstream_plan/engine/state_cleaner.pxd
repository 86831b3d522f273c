"""Types of ``state_cleaner``, where it is compiled."""

cimport cython
from libc.stdint cimport int64_t

cdef int64_t UNKNOWN_AGE
cdef int LIKELY, EARLY, LATE


cdef class StateCleaner:
    cdef public int64_t delay_ms
    cdef public dict started_ms  # by process id
    cdef readonly bint in_memory
    cdef int in_stores  # -1: unknown
    cdef int cleaning
    cdef bint deleted_early, deleted_late  # whether it would have come otherwise earlier, or later

    @cython.locals(is_gone=bint)
    cpdef bint has_deleted(self, int64_t since_started, int64_t since_lost, int64_t since_made) except -1
    cpdef bint may_have_deleted(self, int64_t since_started, int64_t since_lost, int64_t since_made) except -1
    @cython.locals(cleaned=int64_t)
    cdef bint _deletes(self, int64_t since_started, int64_t since_lost, int64_t since_made, int cleaning) except -1
    cdef bint _is_longer(self, int64_t since_lost, int64_t since_made, int cleaning) noexcept
