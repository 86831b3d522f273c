"""See the module."""

from libc.stdint cimport int32_t

from kstream_plan.designs.classic.compiled.memory cimport Flags, Ints
from kstream_plan.designs.classic.compiled.movements cimport Movements
from kstream_plan.designs.classic.compiled.records cimport Held, Seat
from kstream_plan.designs.classic.compiled.thread_split cimport ThreadSplit


cdef class Decision(Movements):
    # the seats of the decision before
    cdef Seat* before
    # instances of which a task is not as it was for the decision before; by seat, who reported the copy there
    cdef Flags touched
    cdef Ints reporters
    # the split: each consumer's load; what each instance is dealt, and where that begins
    cdef ThreadSplit split
    cdef Ints load, entries, starts
    # by task: who has to give it up first (-1: nobody), whether its new owner has a copy until then, whether its copies
    # are not where its seats are
    cdef Ints withheld_by
    cdef Flags temporary, changed
    # consumers that give up an active task, and from which one is withheld
    cdef Flags revoking, waiting
    # what is told of it
    cdef readonly Py_ssize_t movements, queued, extra_copies, warmup_copies
    cdef readonly bint follow_up

    cdef void _touch(self, Py_ssize_t place) noexcept
    cdef void _split_over_consumers(self) except *
    cdef void _split_role(self, bint active) except *
    cdef void _sort_by_instance(self, Py_ssize_t first, Py_ssize_t last) noexcept
    cdef void _split_instance(self, int32_t instance, Py_ssize_t start, Py_ssize_t end, bint active) except *
    cdef void _withhold(self) noexcept
    cdef void _withhold_task(self, Py_ssize_t place, Seat* decided) noexcept
    cdef Py_ssize_t seats(self, Py_ssize_t place, Held* seats) noexcept
