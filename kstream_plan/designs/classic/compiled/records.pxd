"""What the modules of a group's arrays share: numbers with a meaning, and records of which arrays consist."""

from libc.stdint cimport INT64_MIN as NONE
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t

#: A lag as Kafka has it (model/copies); where a number may be missing, ``NONE`` stands for that.
cdef enum:
    LATEST = -2
    UNKNOWN = -3

#: A consumer's role, as a holding has them in order; of what is left over whether only just.
cdef enum:
    JUST_LOST = -2
    NO_ROLE = -1
    ACTIVE = 0
    STANDBY = 1
    WARMUP = 2
    TEMPORARY = 3

#: The most seats that a decision can give to one task: active, standbys, a warm-up of each.
cdef enum:
    MOST_SEATS = 16


#: State of a task on an instance's disk (model/copies); consumer -1: it is left over; reporter -1: nobody. What is left
#: by the next rebalance, and when whoever is disturbed rejoins, counts while that is looked at, where a rate is known.
cdef struct Slot:
    int64_t lag
    int64_t remaining
    int64_t left
    int64_t left_soon
    int64_t placed_in
    int64_t lost_at_ms
    int64_t made_at_ms
    int32_t instance
    int32_t consumer
    int32_t reporter
    int8_t role

#: Who has a task after a rebalance, and as what.
cdef struct Held:
    int32_t instance
    int32_t consumer
    int8_t role

#: A step, as plans/step_rows has it.
cdef packed struct Row:
    int64_t restore_records
    int64_t lag
    int64_t other_lag
    int32_t task
    int32_t from_consumer
    int32_t to_consumer
    int8_t kind
    int8_t from_role
    int8_t to_role
    int8_t caught_up
    int8_t reason
    int8_t unused
    int16_t limit
    int8_t unused_more[4]


cdef inline int8_t role_of(Py_ssize_t seat, Py_ssize_t seats) noexcept:
    """Return what one of a task's seats makes whoever has it: the second half of them are warm-ups."""
    return <int8_t>(ACTIVE if seat == 0 else STANDBY if 2 * seat < seats else WARMUP)
