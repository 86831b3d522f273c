"""Arrays that live as long as the object that has them.

They are kept in a list of the object: the list goes with it, and they with the list.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memcpy

ctypedef int8_t* Flags
ctypedef int32_t* Ints
ctypedef int64_t* Longs


cdef inline void* zeros(list memory, Py_ssize_t number, Py_ssize_t size) except NULL:
    """Return an array of so many zeros, or records of zeros, of so many bytes each."""
    kept = bytearray(max(1, number) * size)
    memory.append(kept)
    return PyByteArray_AS_STRING(kept)


cdef inline int8_t* int8s(list memory, Py_ssize_t number) except NULL:
    return <int8_t*>zeros(memory, number, sizeof(int8_t))


cdef inline int32_t* int32s(list memory, Py_ssize_t number) except NULL:
    return <int32_t*>zeros(memory, number, sizeof(int32_t))


cdef inline int64_t* int64s(list memory, Py_ssize_t number) except NULL:
    return <int64_t*>zeros(memory, number, sizeof(int64_t))


cdef inline int32_t* int32s_of(list memory, list values) except NULL:
    """Return an array of these values."""
    cdef int32_t* made = int32s(memory, len(values))
    cdef Py_ssize_t at
    for at in range(len(values)):
        made[at] = values[at]
    return made


cdef inline int64_t* int64s_of(list memory, list values) except NULL:
    """Return an array of these values."""
    cdef int64_t* made = int64s(memory, len(values))
    cdef Py_ssize_t at
    for at in range(len(values)):
        made[at] = values[at]
    return made


cdef inline void* grown(list memory, void* before, Py_ssize_t number, Py_ssize_t more, Py_ssize_t size) except NULL:
    """Return an array of more records, of so many bytes each, that begins with those of another one."""
    cdef void* made = zeros(memory, more, size)
    if number:
        memcpy(made, before, number * size)
    return made


cdef inline int32_t* int32s_grown(list memory, int32_t* before, Py_ssize_t number, Py_ssize_t more) except NULL:
    """Return an array of more numbers that begins with those of another one."""
    return <int32_t*>grown(memory, before, number, more, sizeof(int32_t))


cdef inline int64_t* int64s_grown(list memory, int64_t* before, Py_ssize_t number, Py_ssize_t more) except NULL:
    """Return an array of more numbers that begins with those of another one."""
    return <int64_t*>grown(memory, before, number, more, sizeof(int64_t))
