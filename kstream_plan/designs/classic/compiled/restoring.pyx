# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What an instance restores until the next rebalance, compiled: as ``plans/restoring`` where rates stay the same."""

from libc.math cimport INFINITY
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from kstream_plan.designs.classic.compiled.memory cimport grown, int8s, int64s, zeros
from kstream_plan.designs.classic.compiled.records cimport ACTIVE, NONE, Slot
from kstream_plan.designs.classic.compiled.steps cimport Steps

#: As ``catching_up.POLL_DELAY_MS`` and ``plans/restoring.POLL_RECORDS``.
cdef enum:
    POLL_DELAY_MS = 100
    POLL_RECORDS = 1000

#: More records than this do not wait: with what is restored and written they are within 64 bits.
cdef int64_t MOST = 4611686018427387903


cdef class Restoring(Steps):
    """Copies that restore, and fall behind, at rates that are known or not."""

    def __init__(self, group, target, limit, warm_ups):
        Steps.__init__(self, group, target, limit, warm_ups)
        self.restores = <double*>zeros(self.memory, self.instances, sizeof(double))
        self.writes = <double*>zeros(self.memory, self.tasks, sizeof(double))
        self.pressure = <double*>zeros(self.memory, self.instances, sizeof(double))
        self.pressed = int8s(self.memory, self.instances)
        self.standing, self.begins = int64s(self.memory, self.tasks), int8s(self.memory, self.instances)
        self.spare = int64s(self.memory, self.instances)
        self.room_for_restored = self.tasks
        self.restored = <Restored*>zeros(self.memory, self.room_for_restored, sizeof(Restored))

    def pace(self, restores, writes):
        """Go on at these rates, in records per second: by instance (below 0: nobody knows), and by stateful task."""
        cdef Py_ssize_t at
        for at in range(self.instances):
            self.restores[at] = restores[at]
        for at in range(self.tasks):
            self.writes[at] = writes[at]
            self.standing[at] = min(self.produced(at, POLL_DELAY_MS), self.whole[at])
        self.any_restores = max(restores) >= 0
        self.at_once = min(restores) == INFINITY
        memset(self.rests, 0, self.tasks)

    cdef bint is_known(self, Slot* slot) noexcept:
        """Tell whether it is known how long a copy takes."""
        return self.restores[slot.instance] >= 0 and (self.at_once or slot.remaining < INT64_MAX)

    cdef int64_t produced(self, Py_ssize_t place, int64_t elapsed_ms) noexcept:
        """Return how many records come of a task in a time."""
        return <int64_t>(self.writes[place] * elapsed_ms / 1000)

    cdef int64_t written(self, Py_ssize_t place, int64_t elapsed_ms, bint soon) noexcept:
        """Return how many records are written of a task in a time, once it is known what its active copy has left.

        Nothing is while that one restores; what has waited is written at once afterwards.
        """
        if self._is_restoring(place, soon):
            return 0
        return self.unprocessed[place] + self.produced(place, elapsed_ms)

    cdef void wait(self, Py_ssize_t place, int64_t elapsed_ms) noexcept:
        """Note the unprocessed input at the end of a time."""
        cdef int64_t records = self.unprocessed[place] + self.produced(place, elapsed_ms)
        self.unprocessed[place] = min(records, self.whole[place], MOST) if self._is_restoring(place, soon=False) else 0

    cdef void press(self) noexcept:
        """Find the instances on which copies that have caught up may fall behind, and let no task of theirs rest.

        They have others to restore, which share their rate, or more is written of their copies than they restore.
        """
        cdef Py_ssize_t place, at, instance
        cdef Slot* slots
        self.any_pressed = False
        memset(self.pressure, 0, self.instances * sizeof(double))
        memset(self.pressed, 0, self.instances)
        for place in range(self.tasks):
            slots = &self.slots[place * self.room]
            for at in range(self.number[place]):
                if slots[at].consumer < 0:
                    continue
                if slots[at].role != ACTIVE:
                    self.pressure[slots[at].instance] += self.writes[place]
                if slots[at].remaining:
                    self.pressed[slots[at].instance] = 1
        for instance in range(self.instances):
            self.pressed[instance] = self.pressure[instance] > 0 and 0 <= self.restores[instance] < INFINITY and (
                self.pressed[instance] or self.pressure[instance] > self.restores[instance]
            )
            self.any_pressed = self.any_pressed or self.pressed[instance]
        if not self.any_pressed:
            return
        for place in range(self.tasks):
            slots = &self.slots[place * self.room]
            for at in range(self.number[place]):
                if self.falls_behind(place, &slots[at]):
                    self.rests[place] = 0

    cdef bint falls_behind(self, Py_ssize_t place, Slot* slot) noexcept:
        """Tell whether a copy may fall behind that has caught up."""
        if slot.consumer < 0 or slot.role == ACTIVE:
            return False
        return self.unprocessed[place] > 0 or (
            self.any_pressed and self.pressed[slot.instance] and self.writes[place] > 0
        )

    cdef void restore(self, int64_t elapsed_ms, int64_t generation, bint soon) except *:
        """Find what every copy that is held has ``left`` after a time, or ``left_soon``.

        ``generation`` is that of the decision: who had nothing to restore before it is ahead of its rate.
        """
        cdef Py_ssize_t place
        memset(self.begins, 0, self.instances)
        for place in range(self.instances):
            self.spare[place] = NONE
        for place in range(self.tasks):
            if not self.rests[place]:
                self._begin(place, generation)
        self._restore(elapsed_ms, soon, is_active=True)
        self._restore(elapsed_ms, soon, is_active=False)

    cdef void _begin(self, Py_ssize_t place, int64_t generation) noexcept:
        """Note which instances begin to restore with a copy, and which have had something to restore before."""
        cdef Slot* slots = &self.slots[place * self.room]
        cdef Py_ssize_t at
        for at in range(self.number[place]):
            if slots[at].consumer >= 0 and slots[at].remaining and self.begins[slots[at].instance] < 2:
                self.begins[slots[at].instance] = 2 if slots[at].placed_in < generation else 1

    cdef void _restore(self, int64_t elapsed_ms, bint soon, bint is_active) except *:
        """Restore the active copies, or else the others, when it is known what the active ones have left."""
        cdef Py_ssize_t place, begin = 0, end
        cdef Restored* restored
        cdef int32_t instance
        self.n_restored = 0
        for place in range(self.tasks):
            if not self.rests[place]:
                self._collect(place, elapsed_ms, soon, is_active)
        restored = self.restored
        qsort(restored, self.n_restored, sizeof(Restored), _in_order)
        while begin < self.n_restored:
            end, instance = begin, restored[begin].instance
            while end < self.n_restored and restored[end].instance == instance:
                end += 1
            if self.restores[instance] != INFINITY:
                if self.spare[instance] == NONE:
                    self.spare[instance] = self._records(instance, elapsed_ms)
                self.spare[instance] = self._share(begin, end, self.spare[instance])
            begin = end

    cdef void _collect(self, Py_ssize_t place, int64_t elapsed_ms, bint soon, bint is_active) except *:
        """Collect the copies of a task that are restored; the others have left what they have."""
        cdef Slot* slots = &self.slots[place * self.room]
        cdef Py_ssize_t at
        cdef int64_t written = 0 if is_active else self.written(place, elapsed_ms, soon)
        for at in range(self.number[place]):
            if (slots[at].role == ACTIVE) != is_active:
                continue
            if slots[at].consumer < 0 or self.restores[slots[at].instance] < 0 or not (
                slots[at].remaining or (written and self.falls_behind(place, &slots[at]))
            ):
                (&slots[at].left_soon if soon else &slots[at].left)[0] = slots[at].remaining
                continue
            self._add(&slots[at], place, written, soon)

    cdef bint _is_restoring(self, Py_ssize_t place, bint soon) noexcept:
        """Tell whether an active copy still restores at the end, for all that is known: nobody writes meanwhile."""
        cdef Slot* slots = &self.slots[place * self.room]
        cdef Py_ssize_t at
        cdef int64_t left
        for at in range(self.number[place]):
            if slots[at].role == ACTIVE and self.restores[slots[at].instance] >= 0 and slots[at].remaining < INT64_MAX:
                left = slots[at].left_soon if soon else slots[at].left
                if left > 0:
                    return True
        return False

    cdef void _add(self, Slot* slot, Py_ssize_t place, int64_t written, bint soon) except *:
        """Note a copy that is restored: until records are shared out it has nothing left."""
        cdef Restored* restored
        if self.n_restored == self.room_for_restored:
            self.room_for_restored *= 2
            self.restored = <Restored*>grown(
                self.memory, self.restored, self.n_restored, self.room_for_restored, sizeof(Restored)
            )
        restored = &self.restored[self.n_restored]
        self.n_restored += 1
        restored.records = <uint64_t>slot.remaining + <uint64_t>written
        restored.left = &slot.left_soon if soon else &slot.left
        restored.left[0] = 0
        restored.instance, restored.place = slot.instance, <int32_t>place

    cdef int64_t _records(self, int32_t instance, int64_t elapsed_ms) noexcept:
        """Return how many records an instance restores in a time.

        One that begins to is ahead by what is left of a poll, for the first one comes at once.
        """
        cdef int64_t records = <int64_t>(self.restores[instance] * elapsed_ms / 1000)
        if self.begins[instance] != 1 or elapsed_ms <= AT_ONCE_MS or records < POLL_RECORDS:
            return records
        return records + POLL_RECORDS - records % POLL_RECORDS

    cdef int64_t _share(self, Py_ssize_t begin, Py_ssize_t end, int64_t records) noexcept:
        """Share records evenly among copies, what one does not need going to the others; return what is over."""
        cdef Restored* restored
        cdef uint64_t share, over = <uint64_t>records
        cdef Py_ssize_t at
        for at in range(begin, end):
            restored = &self.restored[at]
            share = over // <uint64_t>(end - at)
            if restored.records <= share:
                over -= restored.records
                continue
            over -= share
            restored.left[0] = <int64_t>min(restored.records - share, <uint64_t>self.whole[restored.place])
        return <int64_t>over


cdef int _in_order(const void* one, const void* other) noexcept nogil:
    """Compare two copies: by instance, those with least to go first."""
    cdef const Restored* a = <const Restored*>one
    cdef const Restored* b = <const Restored*>other
    if a.instance != b.instance:
        return -1 if a.instance < b.instance else 1
    if a.records != b.records:
        return -1 if a.records < b.records else 1
    return -1 if a.place < b.place else a.place > b.place
