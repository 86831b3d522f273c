"""See the module."""

from libc.stdint cimport int8_t, int32_t, int64_t

from kstream_plan.designs.classic.compiled.decision cimport Decision
from kstream_plan.designs.classic.compiled.memory cimport Flags, Longs
from kstream_plan.designs.classic.compiled.records cimport Held, Row, Slot
from kstream_plan.engine.state_cleaner cimport StateCleaner


cdef class Steps(Decision):
    cdef Row* rows
    cdef Py_ssize_t n_rows, room_for_rows
    cdef readonly bint starts_any
    # what deletes left-over state, and when each instance started; tasks of which threads race, and state may be deleted
    cdef StateCleaner cleaner
    cdef Longs started_ms
    cdef list process_ids
    cdef Flags races, deletions

    cdef void _tell_task(self, Py_ssize_t place) except *
    cdef Row* _row(self, Py_ssize_t place, int8_t kind) except NULL
    cdef void _tell_given_up(self, Py_ssize_t place, Slot* old) except *
    cdef void _tell_withheld(self, Py_ssize_t place) except *
    cdef void _tell_started(self, Py_ssize_t place, Slot* old, Held* to) except *
    cdef void _tell_restored(self, Row* row, Py_ssize_t place, int32_t instance, bint is_empty) noexcept
    cdef void _tell_copied(self, Py_ssize_t place, Slot* old, Held* to) except *
    cdef void _why_active(self, Row* row, Py_ssize_t place, int32_t instance) noexcept
    cdef void _why_copied(self, Row* row, Py_ssize_t place, int32_t instance, int8_t role) noexcept
    cdef void _why_given_up(self, Row* row, Py_ssize_t place, int32_t instance) noexcept
    cdef int64_t _restores(self, Py_ssize_t place, int32_t instance, bint is_empty) noexcept
    cdef void _note(self, int64_t at_ms) except *
    cdef bint has_deleted(self, Slot* slot, int64_t by_ms) except -1
    cdef bint may_have_deleted(self, Slot* slot, int64_t by_ms) except -1
    cdef int64_t _since_started(self, Slot* slot, int64_t by_ms) noexcept
