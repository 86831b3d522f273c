"""See the module."""

from libc.stdint cimport int64_t

from kstream_plan.designs.classic.compiled.memory cimport Longs
from kstream_plan.designs.classic.compiled.records cimport Slot


cdef class Cleaner:
    cdef list memory
    cdef int64_t delay_ms
    cdef Longs started_ms
    cdef int in_stores, when
    cdef bint in_memory
    # whether it would have come otherwise earlier, or later
    cdef bint deleted_early, deleted_late

    cdef bint has_deleted(self, Slot* slot, int64_t by_ms) noexcept
    cdef bint may_have_deleted(self, Slot* slot, int64_t by_ms) noexcept
    cdef bint _deletes(self, Slot* slot, int64_t by_ms, int when) noexcept
    cdef bint _is_longer(self, Slot* slot, int64_t by_ms, int when) noexcept
