"""See the module."""

from libc.stdint cimport int8_t, int32_t
from libc.string cimport memcmp

from kstream_plan.designs.classic.compiled.copies cimport Copies
from kstream_plan.designs.classic.compiled.memory cimport Flags, Ints
from kstream_plan.designs.classic.compiled.records cimport Held
from kstream_plan.engine.load cimport Load
from kstream_plan.engine.task_movement cimport TaskMovement
from kstream_plan.engine.thread_assignment cimport ThreadAssignment


cdef class Decision(Copies):
    # the movements, and the seats that they lead to: of the decision at hand, and of the one before
    cdef TaskMovement movement
    cdef Py_ssize_t width  # seats of each task
    cdef Ints decided, before
    # by seat: the consumer on its instance that has it, and who reported the copy there
    cdef Ints consumer
    cdef Ints reporters
    # instances of which a task is not as it was for the decision before, and tasks
    cdef Flags touched
    cdef Flags unlike
    # what each instance is dealt: the first seat of an active task and of a copy (-1: none), and by seat the next one
    cdef Ints first_dealt, following
    # how many tasks each instance has
    cdef Load spread
    # the split, and each consumer's load
    cdef ThreadAssignment split
    cdef int32_t[::1] load
    # by task: who has to give it up first (-1: nobody), whether its new owner has a copy until then, whether its copies
    # are not where its seats are
    cdef Ints withheld_by
    cdef Flags temporary, changed
    # consumers that give up an active task, and from which one is withheld
    cdef Flags revoking, waiting
    # what is told of it: movements, the tasks that they are of, warm-ups, other copies beside the standbys
    cdef readonly Py_ssize_t movements, queued, warmup_copies, extra_copies
    cdef readonly bint follow_up

    cdef void _pass_lags_on(self, Py_ssize_t place) except *
    cdef int _compare(self) except -1
    cdef int _touch(self, Py_ssize_t place) except -1
    cdef int _split_over_consumers(self) except -1
    cdef void _list_dealt(self) noexcept
    cdef int _deal(self, int32_t instance, int32_t first, bint active) except -1
    cdef void _withhold(self) noexcept
    cdef void _withhold_task(self, Py_ssize_t place) noexcept
    cdef Py_ssize_t seats(self, Py_ssize_t place, Held* seats) noexcept
    cdef list _flagged_consumers(self, int8_t* flags)


cdef inline bint are_alike(int32_t* one, int32_t* other, Py_ssize_t width) noexcept:
    """Tell whether two tasks' seats are on the same instances."""
    return memcmp(one, other, width * sizeof(int32_t)) == 0
