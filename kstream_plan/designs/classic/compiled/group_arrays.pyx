# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A group on flat arrays, compiled: round after round in a fraction of the time.

It comes to the same as the modules that each part follows, to the last tie; these say why, and tests hold it to them.
From what is on disk to what is told, each part goes on from the one before: ``copies``, ``movements``, ``decision``,
``steps``, ``restoring``, ``advance``, and here what is told of a decision and a probe as numbers.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from kstream_plan.designs.classic.compiled.advance cimport Advance
from kstream_plan.designs.classic.compiled.memory cimport zeros
from kstream_plan.designs.classic.compiled.records cimport ACTIVE, LATEST, NONE, Slot, role_of


cdef class GroupArrays(Advance):
    """One group from decision to decision under one target; a draft that a coordinator keeps.

    Args:
        group: who takes part; it has no stateless tasks.
        target: of its assignor, with at most seven standbys a task.
        limit: ``acceptable.recovery.lag``, below 2^63-1.
        warm_ups: ``max.warmup.replicas``.
    """

    def __init__(self, group, target, limit, warm_ups):
        Advance.__init__(self, group, target, limit, warm_ups)
        self.prints = <uint64_t*>zeros(self.memory, self.tasks, sizeof(uint64_t))

    def flagged(self):
        """Return the tasks of which threads race, left-over state may be deleted, or copies are ready at follow-ups."""
        return self._flagged(self.races), self._flagged(self.deletions), self._flagged(self.ready)

    cdef set _flagged(self, int8_t* flags):
        return {self.task_of[place] for place in range(self.tasks) if flags[place]}

    def loads(self):
        """Return how the decision spreads the load (:meth:`Load.figures`)."""
        return self.spread.figures()

    # -- what probes are told apart by (designs/classic/stuck_or_cyclic) --------------------------------------------

    def fingerprint(self):
        """Return what is decided, owned and reported at a probe, as numbers that are the same if all that is."""
        cdef uint64_t of_task
        cdef Py_ssize_t place
        for place in range(self.tasks):
            if self.stale[place]:
                of_task = self._print(place)
                self.print_of_all += of_task - self.prints[place]
                self.other_print_of_all += _mixed(of_task, 0x5DEECE66D) - _mixed(self.prints[place], 0x5DEECE66D)
                self.prints[place], self.stale[place] = of_task, 0
        return self.movements, self.print_of_all, self.other_print_of_all

    cdef uint64_t _print(self, Py_ssize_t place) noexcept:
        """Return a number for what is decided, owned and reported of a task."""
        cdef Slot* slots = &self.slots[place * self.room]
        cdef int32_t* decided = &self.decided[place * self.width]
        cdef int32_t* consumer = &self.consumer[place * self.width]
        cdef uint64_t found = _mixed(place + 1, consumer[0])
        cdef Py_ssize_t at
        for at in range(1, self.width):
            if decided[at] >= 0:  # in whatever order
                found += _mixed(role_of(at, self.width), consumer[at])
        for at in range(self.number[place]):
            if slots[at].consumer >= 0:
                found = _mixed(found, slots[at].consumer * 4 + slots[at].role)
        return self._mixed_lags(found, slots, self.number[place])

    cdef uint64_t _mixed_lags(self, uint64_t so_far, Slot* slots, Py_ssize_t number) noexcept:
        """Mix in who has which place by lag, and whether caught up."""
        cdef Py_ssize_t at, other, before
        if number == 1 and slots[0].role == ACTIVE and slots[0].lag == LATEST:
            if not slots[0].remaining and slots[0].reporter == slots[0].consumer:
                return _mixed(so_far, -7)
        for at in range(number):
            if slots[at].lag == NONE:
                continue
            before = 0
            for other in range(number):
                if slots[other].lag != NONE:
                    before += slots[other].lag < slots[at].lag or (slots[other].lag == slots[at].lag and other < at)
            so_far = _mixed(_mixed(so_far, slots[at].instance), before * 2 + self.is_caught_up(slots[at].lag))
        return so_far

    def behind(self):
        """Return what copies have to restore that have anything: place of the task, instance, records."""
        cdef Py_ssize_t place, at
        cdef Slot* slots
        found = []
        for place in range(self.tasks):
            if self.rests[place]:
                continue
            slots = &self.slots[place * self.room]
            for at in range(self.number[place]):
                if slots[at].remaining:
                    found.append((place, slots[at].instance, slots[at].remaining))
        return found

    def is_closer(self, earlier):
        """Tell whether a copy that is held has less to restore than in ``earlier``, which :meth:`behind` gave."""
        cdef Slot* slot
        for place, instance, remaining in earlier:
            slot = self.copy(place, instance)
            if slot != NULL and slot.consumer >= 0 and slot.remaining < remaining:
                return True
        return False


cdef uint64_t _mixed(uint64_t so_far, int64_t value) noexcept:
    """Mix a number in (splitmix64)."""
    cdef uint64_t z = so_far + <uint64_t>value * <uint64_t>0x9E3779B97F4A7C15 + <uint64_t>0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)
