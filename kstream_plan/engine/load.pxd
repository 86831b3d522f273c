"""Types of ``load``, where it is compiled."""

cimport cython
from libc.stdint cimport int8_t, int32_t


cdef class Load:
    cdef Py_ssize_t instances, n_subtopologies
    cdef readonly list subtopologies  # their names
    cdef int32_t[::1] capacities  # by instance
    cdef int32_t[::1] subtopology_of  # by task
    cdef int8_t[::1] is_stateful  # by task
    cdef int8_t[::1] is_present  # by instance
    cdef int32_t[::1] active, stateful, copies  # by instance: tasks
    cdef int32_t[::1] tasks  # by subtopology, then instance: active tasks
    cdef int32_t[::1] executing, uneven  # by subtopology: instances that execute it, most less fewest tasks of it
    cdef list per_thread  # by instance
    cdef int8_t[::1] is_changed, is_subtopology_changed

    cpdef void count(self, Py_ssize_t task, bint active, Py_ssize_t instance, int32_t change) noexcept
    cpdef void add(self, Py_ssize_t subtopology, Py_ssize_t instance, int32_t change) noexcept
    cpdef void add_copies(self, Py_ssize_t instance, int32_t change) noexcept
    @cython.locals(instance=Py_ssize_t, subtopology=Py_ssize_t)
    cdef void _look_at_changed(self) except *
    @cython.locals(instance=Py_ssize_t, tasks=int32_t, most=int32_t, fewest=int32_t, executing=int32_t, present=int32_t)
    cdef void _look_at(self, Py_ssize_t subtopology) noexcept
    @cython.locals(instance=Py_ssize_t, most=int32_t, fewest=int32_t, present=bint)
    cdef int32_t _spread(self, int32_t[::1] counts) noexcept
    @cython.locals(subtopology=Py_ssize_t, most=int32_t, fewest=int32_t, executing=int32_t)
    cdef int32_t _spread_of_executing(self) noexcept
    @cython.locals(subtopology=Py_ssize_t, most=int32_t)
    cdef int32_t _most_uneven(self) noexcept
