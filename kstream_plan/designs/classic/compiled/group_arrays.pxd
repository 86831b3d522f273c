"""See the module."""

from libc.stdint cimport int8_t, uint64_t

from kstream_plan.designs.classic.compiled.advance cimport Advance
from kstream_plan.designs.classic.compiled.records cimport Slot


cdef class GroupArrays(Advance):
    # by task, and of all: these are sums
    cdef uint64_t* prints
    cdef uint64_t print_of_all, other_print_of_all

    cdef set _flagged(self, int8_t* flags)
    cdef uint64_t _print(self, Py_ssize_t place) noexcept
    cdef uint64_t _mixed_lags(self, uint64_t so_far, Slot* slots, Py_ssize_t number) noexcept
