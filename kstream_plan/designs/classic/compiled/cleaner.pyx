# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""When left-over state is deleted, compiled: as ``designs/classic/state_cleaner``."""

from libc.stdint cimport int64_t

from kstream_plan.designs.classic.compiled.memory cimport int64s_of
from kstream_plan.designs.classic.compiled.records cimport NONE, Slot

#: When it is deleted where nobody knows it.
cdef enum:
    LIKELY = 0
    EARLY = 1
    LATE = 2


cdef class Cleaner:
    """The state cleaner of every instance of a group.

    Args:
        delay_ms: ``state.cleanup.delay.ms``.
        started_ms: when it started, by instance; ``None``: not known.
        in_stores: whether state is in directories of stores, which writing to it does not change; ``None``: not known.
        when: how left-over state is deleted where that is unknown: ``likely``, ``early`` or ``late``.
        in_memory: stores are in memory, and gone with the task or its thread.
    """

    def __init__(self, delay_ms, started_ms, in_stores, when, in_memory):
        self.delay_ms = delay_ms
        self.memory = []
        self.started_ms = int64s_of(self.memory, [NONE if at_ms is None else at_ms for at_ms in started_ms])
        self.in_stores = -1 if in_stores is None else in_stores
        self.when = ("likely", "early", "late").index(when)
        self.in_memory = in_memory

    cdef bint has_deleted(self, Slot* slot, int64_t by_ms) noexcept:
        """Tell whether it deleted what is left over, and note if that hangs on when it runs."""
        cdef bint gone = self._deletes(slot, by_ms, self.when)
        if self._deletes(slot, by_ms, LATE if gone else EARLY) != gone:
            if gone:
                self.deleted_late = True
            else:
                self.deleted_early = True
        return gone

    cdef bint may_have_deleted(self, Slot* slot, int64_t by_ms) noexcept:
        """Tell whether that hangs on when it runs."""
        return self._deletes(slot, by_ms, EARLY) != self._deletes(slot, by_ms, LATE)

    cdef bint _deletes(self, Slot* slot, int64_t by_ms, int when) noexcept:
        """Tell whether it does if it runs as early as possible, as late, or as it likely does."""
        cdef int64_t lost_ms = slot.lost_at_ms, started_ms = self.started_ms[slot.instance], every_ms, cleaned_ms
        if self.in_memory:
            return True
        if started_ms == NONE:
            if when == EARLY:
                return by_ms > lost_ms and self._is_longer(slot, by_ms, when)
            return by_ms - lost_ms > self.delay_ms * (2 if when == LATE else 1)
        every_ms = max(1, self.delay_ms)
        cleaned_ms = by_ms - started_ms
        cleaned_ms -= (cleaned_ms % every_ms + every_ms) % every_ms
        cleaned_ms += started_ms
        if cleaned_ms <= max(started_ms, lost_ms):
            return False
        return self._is_longer(slot, cleaned_ms, when)

    cdef bint _is_longer(self, Slot* slot, int64_t by_ms, int when) noexcept:
        """Tell whether the directory was changed longer before than the delay."""
        if self.in_stores == 0 or (when == LATE and self.in_stores != 1):
            return by_ms - slot.lost_at_ms > self.delay_ms
        if slot.made_at_ms != NONE:
            return by_ms - slot.made_at_ms > self.delay_ms
        return when == EARLY or by_ms - slot.lost_at_ms > self.delay_ms
