# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One decision: where every task goes, which consumer has it, and what its owner has to give up first, compiled."""

from libc.stdint cimport int8_t, int32_t
from libc.string cimport memcpy, memset

from kstream_plan.designs.classic.compiled.copies cimport Copies
from kstream_plan.designs.classic.compiled.memory cimport int8s, int32s
from kstream_plan.designs.classic.compiled.records cimport (
    MOST_SEATS,
    NONE,
    TEMPORARY,
    Held,
    Slot,
    role_of,
)
from kstream_plan.engine.load cimport Load
from kstream_plan.engine.task_movement cimport TaskMovement
from kstream_plan.engine.thread_assignment cimport ThreadAssignment

from kstream_plan.assignors.java.collections import hash_order
from kstream_plan.engine.columns import zeros
from kstream_plan.model import Holding


cdef class Decision(Copies):
    """Seats of every task on instances and consumers.

    What neither copies nor seats changed since the decision before is taken over from there.

    Args:
        group: who takes part; it has no stateless tasks.
        target: of its assignor, with at most seven standbys a task.
        limit: ``acceptable.recovery.lag``, below 2^63-1.
        warm_ups: ``max.warmup.replicas``.
    """

    def __init__(self, group, target, limit, warm_ups):
        Copies.__init__(self, group, limit)
        self.movement = TaskMovement(group, target, limit, warm_ups)
        self.width = self.movement.width
        seats = self.tasks * self.width
        self.consumer = int32s(self.memory, seats)
        self.reporters, self.following = int32s(self.memory, seats), int32s(self.memory, seats)
        self.touched, self.unlike = int8s(self.memory, self.instances), int8s(self.memory, self.tasks)
        self.first_dealt = int32s(self.memory, 2 * self.instances)
        self.spread = Load(group)
        hashes = [group.table_hashes[task] for task in group.stateful]
        self.split = ThreadAssignment(hashes, max(group.capacities), hash_order)
        self.load = zeros("i", self.consumers)
        self.withheld_by = int32s(self.memory, self.tasks)
        self.temporary, self.changed = int8s(self.memory, self.tasks), int8s(self.memory, self.tasks)
        self.revoking, self.waiting = int8s(self.memory, self.consumers), int8s(self.memory, self.consumers)

    def decide(self):
        """Decide where every task goes, split it over the consumers, and withhold what its owner has to give up."""
        cdef Py_ssize_t place
        for place in range(self.tasks):
            if self.dirty[place]:
                self._pass_lags_on(place)
        self.movement.move()
        self.decided, self.before = &self.movement.decided[0], &self.movement.before[0]
        self.movements, self.queued = self.movement.movements, self.movement.queued
        self.warmup_copies = self.movement.warmup_copies
        self._compare()
        self._split_over_consumers()
        self._withhold()
        memset(self.dirty, 0, self.tasks)

    cdef void _pass_lags_on(self, Py_ssize_t place) except *:
        """Report the lags of a task's copies to the movements."""
        cdef Py_ssize_t at
        cdef Slot* slots = &self.slots[place * self.room]
        self.movement.forget(place)
        for at in range(self.number[place]):
            if slots[at].lag != NONE:
                self.movement.report(place, slots[at].instance, slots[at].lag)

    cdef int _compare(self) except -1:
        """See of which tasks a copy or a seat is not as before, and whose split over its consumers that may change."""
        cdef Py_ssize_t place
        memcpy(self.unlike, self.dirty, self.tasks)
        memset(self.touched, 0, self.instances)
        for place in range(self.tasks):
            if self.dirty[place] or not are_alike(
                &self.decided[place * self.width], &self.before[place * self.width], self.width
            ):
                self._touch(place)
        return 0

    cdef int _touch(self, Py_ssize_t place) except -1:
        """See whose split over its consumers a task may change, and who reported its copies."""
        cdef int32_t now, was
        cdef Slot* slot
        cdef Py_ssize_t seat
        self.unlike[place] = 1
        for seat in range(place * self.width, (place + 1) * self.width):
            now, was = self.decided[seat], self.before[seat]
            if not self.dirty[place] and now == was:
                continue
            if was >= 0:
                self.touched[was] = 1
                self.spread.count(self.task_of[place], seat == place * self.width, was, -1)
            if now >= 0:
                self.touched[now] = 1
                self.spread.count(self.task_of[place], seat == place * self.width, now, 1)
                slot = self.copy(place, now)
                self.reporters[seat] = -1 if slot == NULL else slot.reporter
        return 0

    # -- the split over consumers (assignors/threads/consumer_split) ------------------------------------------------

    cdef int _split_over_consumers(self) except -1:
        """Give the seats of each instance that is touched to its consumers: active tasks, then copies."""
        cdef int32_t instance
        memset(&self.load[0], 0, self.consumers * sizeof(int32_t))
        self._list_dealt()
        for instance in range(<int32_t>self.instances):
            if self.touched[instance]:
                self._deal(instance, self.first_dealt[2 * instance], True)
                self._deal(instance, self.first_dealt[2 * instance + 1], False)
        return 0

    cdef void _list_dealt(self) noexcept:
        """List the seats to deal of each instance, active tasks and copies apart, in task order."""
        cdef Py_ssize_t place, seat
        cdef int32_t instance
        cdef int32_t* first
        cdef int32_t* decided = self.decided
        cdef int8_t* touched = self.touched
        memset(self.first_dealt, -1, 2 * self.instances * sizeof(int32_t))
        for place in range(self.tasks - 1, -1, -1):
            for seat in range(self.width):
                instance = decided[place * self.width + seat]
                if instance >= 0 and touched[instance]:
                    first = &self.first_dealt[2 * instance + (seat > 0)]
                    self.following[place * self.width + seat] = first[0]
                    first[0] = <int32_t>(place * self.width + seat)

    cdef int _deal(self, int32_t instance, int32_t first, bint active) except -1:
        """Deal an instance's seats; how far behind it is matters only where not everybody gets back what it reported."""
        cdef Py_ssize_t number = 0, threads = self.first_of[instance + 1] - self.first_of[instance]
        cdef int32_t begin = self.first_of[instance], at = first
        self.split.clear()
        while at >= 0:
            self.split.add(at // self.width, max(-1, self.reporters[at] - begin))
            at = self.following[at]
        if not self.split.give_back(self.load, begin, threads):
            at = first
            while at >= 0:
                self.split.lags[number] = self.lag(at // self.width, instance)
                number, at = number + 1, self.following[at]
            self.split.deal(self.load, begin, threads, active)
        number, at = 0, first
        while at >= 0:
            if self.consumer[at] != begin + self.split.given[number]:
                self.consumer[at] = begin + self.split.given[number]
                self.unlike[at // self.width] = 1
            number, at = number + 1, self.following[at]
        return 0

    # -- what members then hold (protocols/cooperative) -------------------------------------------------------------

    cdef void _withhold(self) noexcept:
        """Withhold what its present owner has to give up first, and see whose seats change."""
        cdef Py_ssize_t place
        self.follow_up, self.extra_copies = False, self.warmup_copies
        memset(self.revoking, 0, self.consumers)
        memset(self.waiting, 0, self.consumers)
        memset(self.withheld_by, -1, self.tasks * sizeof(int32_t))
        memset(self.temporary, 0, self.tasks)
        memset(self.changed, 0, self.tasks)
        for place in range(self.tasks):
            if self.unlike[place]:
                self.stale[place] = 1
                self._withhold_task(place)
                self.extra_copies += self.temporary[place]

    cdef void _withhold_task(self, Py_ssize_t place) noexcept:
        """Withhold a task, or do not; see whether its copies are where its seats are."""
        cdef Py_ssize_t at, number, held = 0
        cdef int32_t old = self.owner[place], new = self.consumer[place * self.width]
        cdef Slot* slot
        cdef Held[MOST_SEATS] seats
        if old >= 0 and old != new:
            self.withheld_by[place], self.follow_up = old, True
            self.revoking[old], self.waiting[new] = 1, 1
            slot = self.copy(place, self.decided[place * self.width])
            self.temporary[place] = (
                self.instance_of[old] != self.decided[place * self.width] and slot != NULL and slot.lag != NONE
            )
        number = self.seats(place, seats)
        slot = &self.slots[place * self.room]
        for at in range(self.number[place]):
            held += slot[at].consumer >= 0
        self.changed[place] = held != number
        for at in range(number):
            slot = self.copy(place, seats[at].instance)
            if slot == NULL or slot.consumer != seats[at].consumer or slot.role != seats[at].role:
                self.changed[place] = 1

    cdef Py_ssize_t seats(self, Py_ssize_t place, Held* seats) noexcept:
        """Fill in who holds a task after the rebalance, by instance; return how many do."""
        cdef int32_t* decided = &self.decided[place * self.width]
        cdef Held one
        cdef Py_ssize_t at, number = 0, other
        for at in range(self.width):
            if decided[at] < 0:
                continue
            one = Held(decided[at], self.consumer[place * self.width + at], role_of(at, self.width))
            if at == 0 and self.withheld_by[place] >= 0:
                if not self.temporary[place]:
                    continue
                one.role = TEMPORARY
            other = number
            while other and seats[other - 1].instance > one.instance:
                seats[other] = seats[other - 1]
                other -= 1
            seats[other] = one
            number += 1
        return number

    # -- as objects -------------------------------------------------------------------------------------------------

    def decided_by(self, *, instance):
        """Return what was decided, by consumer, or by ``instance``."""
        cdef Py_ssize_t at
        cdef int32_t* whose = self.decided if instance else self.consumer
        held = [([], [], []) for _ in range(self.instances if instance else self.consumers)]
        for at in range(self.tasks * self.width):
            if self.decided[at] >= 0:
                held[whose[at]][role_of(at % self.width, self.width)].append(self.task_of[at // self.width])
        return tuple([Holding(*map(tuple, roles)) for roles in held])

    def held_after(self):
        """Return what every consumer holds after the rebalance."""
        cdef Py_ssize_t place, at, number
        cdef Held[MOST_SEATS] seats
        roles = [([], [], [], []) for _ in range(self.consumers)]
        for place in range(self.tasks):
            number = self.seats(place, seats)
            for at in range(number):
                roles[seats[at].consumer][seats[at].role].append(self.task_of[place])
        return tuple([Holding(*map(tuple, of)) for of in roles])

    def moving(self):
        """Return the movements of the decision, six numbers each (model/movements)."""
        return self.movement.moved()

    def withheld(self):
        """Return by task the consumer that has to give it up first."""
        return self.by_task(self.withheld_by) if self.follow_up else {}

    def revoking_consumers(self):
        """Return the consumers that give up an active task."""
        return self._flagged_consumers(self.revoking)

    def waiting_consumers(self):
        """Return the consumers from which an active task is withheld."""
        return self._flagged_consumers(self.waiting)

    cdef list _flagged_consumers(self, int8_t* flags):
        return [consumer for consumer in range(self.consumers) if flags[consumer]] if self.follow_up else []
