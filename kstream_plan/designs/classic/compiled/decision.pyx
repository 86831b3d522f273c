# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One decision: where every task goes, which consumer has it, and what its owner has to give up first, compiled."""

from libc.stdint cimport int32_t
from libc.string cimport memset

from kstream_plan.designs.classic.compiled.memory cimport int8s, int32s, zeros
from kstream_plan.designs.classic.compiled.movements cimport Movements, are_alike
from kstream_plan.designs.classic.compiled.records cimport (
    NO_MOVEMENT,
    NONE,
    SEATS,
    TEMPORARY,
    Held,
    Seat,
    Slot,
    role_of,
)
from kstream_plan.designs.classic.compiled.thread_split cimport ThreadSplit

from kstream_plan.model import Holding, Movement

_HOWS = ("swap_caught_up", "swap_most_caught_up", "move_caught_up", "move_most_caught_up")


cdef class Decision(Movements):
    """Seats of every task on instances and consumers; see :class:`Movements`.

    What neither copies nor seats changed since the decision before is taken over from there.
    """

    def __init__(self, group, target, limit, warm_ups):
        Movements.__init__(self, group, target, limit, warm_ups)
        self.before = <Seat*>zeros(self.memory, self.tasks * SEATS, sizeof(Seat))
        self.touched, self.reporters = int8s(self.memory, self.instances), int32s(self.memory, self.tasks * SEATS)
        self.split = ThreadSplit([group.table_hashes[task] for task in group.stateful], max(group.capacities))
        self.load, self.starts = int32s(self.memory, self.consumers), int32s(self.memory, self.instances + 1)
        self.entries, self.withheld_by = int32s(self.memory, 3 * self.tasks), int32s(self.memory, self.tasks)
        self.temporary, self.changed = int8s(self.memory, self.tasks), int8s(self.memory, self.tasks)
        self.revoking, self.waiting = int8s(self.memory, self.consumers), int8s(self.memory, self.consumers)

    def decide(self):
        """Decide where every task goes, split it over the consumers, and withhold what its owner has to give up."""
        cdef Py_ssize_t place
        self.before, self.decided = self.decided, self.before
        self.move()
        memset(self.touched, 0, self.instances)
        self.movements = self.queued = 0
        for place in range(self.tasks):
            self.movements += (self.active[place].how != NO_MOVEMENT) + (self.standby[place].how != NO_MOVEMENT)
            self.queued += self.is_queued(place)
            self._touch(place)
        self._split_over_consumers()
        self._withhold()
        memset(self.dirty, 0, self.tasks)

    cdef void _touch(self, Py_ssize_t place) noexcept:
        """See whose split over its consumers a task may change, and who reported its copies."""
        cdef Seat* now = &self.decided[place * SEATS]
        cdef Seat* was = &self.before[place * SEATS]
        cdef Slot* slot
        cdef Py_ssize_t seat
        for seat in range(SEATS):
            if not self.dirty[place] and now[seat].instance == was[seat].instance:
                continue
            if was[seat].instance >= 0:
                self.touched[was[seat].instance] = 1
            if now[seat].instance >= 0:
                self.touched[now[seat].instance] = 1
                slot = self.copy(place, now[seat].instance)
                self.reporters[place * SEATS + seat] = -1 if slot == NULL else slot.reporter

    # -- the split over consumers (assignors/threads/consumer_split) ------------------------------------------------

    cdef void _split_over_consumers(self) except *:
        """Give the seats of each instance to its consumers."""
        memset(self.load, 0, self.consumers * sizeof(int32_t))
        self._split_role(True)
        self._split_role(False)

    cdef void _split_role(self, bint active) except *:
        """Deal what each instance has of active tasks, or of copies, where it is not as before."""
        cdef Py_ssize_t end, start = 0
        cdef int32_t instance
        self._sort_by_instance(0 if active else 1, 1 if active else SEATS)
        for instance in range(<int32_t>self.instances):
            end = self.starts[instance]
            self._split_instance(instance, start, end, active)
            start = end

    cdef void _sort_by_instance(self, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Fill ``entries`` with the seats to deal, and ``starts`` with where those of each instance end."""
        cdef Py_ssize_t at, seat
        cdef int32_t total = 0, here, instance
        cdef Seat* of
        memset(self.starts, 0, (self.instances + 1) * sizeof(int32_t))
        for at in range(self.tasks):
            for seat in range(first, last):
                of = &self.decided[at * SEATS + seat]
                if of.instance >= 0 and self.touched[of.instance]:
                    self.starts[of.instance] += 1
                else:
                    of.consumer = self.before[at * SEATS + seat].consumer
        for instance in range(<int32_t>self.instances + 1):
            here = self.starts[instance]
            self.starts[instance] = total
            total += here
        for at in range(self.tasks):
            for seat in range(first, last):
                of = &self.decided[at * SEATS + seat]
                if of.instance >= 0 and self.touched[of.instance]:
                    self.entries[self.starts[of.instance]] = <int32_t>(at * SEATS + seat)
                    self.starts[of.instance] += 1

    cdef void _split_instance(self, int32_t instance, Py_ssize_t start, Py_ssize_t end, bint active) except *:
        """Split it; how far behind each task is matters only where not everybody gets back what it reported."""
        cdef Py_ssize_t at, threads = self.first_of[instance + 1] - self.first_of[instance]
        cdef int32_t begin = self.first_of[instance]
        self.split.clear()
        for at in range(start, end):
            self.split.add(self.entries[at] // SEATS, max(-1, self.reporters[self.entries[at]] - begin))
        if not self.split.give_back(self.load, begin, threads):
            for at in range(start, end):
                self.split.lags[at - start] = self.lag(self.entries[at] // SEATS, instance)
            self.split.deal(self.load, begin, threads, active)
        for at in range(start, end):
            self.decided[self.entries[at]].consumer = begin + self.split.given[at - start]

    # -- what members then hold (protocols/cooperative) -------------------------------------------------------------

    cdef void _withhold(self) noexcept:
        """Withhold what its present owner has to give up first, and see whose seats change."""
        cdef Py_ssize_t place
        cdef Seat* decided
        self.follow_up, self.warmup_copies, self.extra_copies = False, 0, 0
        memset(self.revoking, 0, self.consumers)
        memset(self.waiting, 0, self.consumers)
        for place in range(self.tasks):
            decided = &self.decided[place * SEATS]
            self.withheld_by[place], self.temporary[place], self.changed[place] = -1, 0, 0
            if self.dirty[place] or not are_alike(decided, &self.before[place * SEATS]):
                self.stale[place] = 1
                self._withhold_task(place, decided)
            self.warmup_copies += (decided[2].instance >= 0) + (decided[3].instance >= 0)
            self.extra_copies += self.temporary[place]
        self.extra_copies += self.warmup_copies

    cdef void _withhold_task(self, Py_ssize_t place, Seat* decided) noexcept:
        """Withhold a task, or do not; see whether its copies are where its seats are."""
        cdef Py_ssize_t at, number, held = 0
        cdef int32_t old = self.owner[place], new = decided[0].consumer
        cdef Slot* slot
        cdef Held[SEATS] seats
        if old >= 0 and old != new:
            self.withheld_by[place], self.follow_up = old, True
            self.revoking[old], self.waiting[new] = 1, 1
            slot = self.copy(place, decided[0].instance)
            self.temporary[place] = (
                self.instance_of[old] != decided[0].instance and slot != NULL and slot.lag != NONE
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
        cdef Seat* decided = &self.decided[place * SEATS]
        cdef Held one
        cdef Py_ssize_t at, number = 0, other
        for at in range(SEATS):
            if decided[at].instance < 0:
                continue
            one = Held(decided[at].instance, decided[at].consumer, role_of(at))
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
        cdef Py_ssize_t place
        cdef Seat* seat
        held = [([], [], []) for _ in range(self.instances if instance else self.consumers)]
        for place in range(self.tasks * SEATS):
            seat = &self.decided[place]
            if seat.instance >= 0:
                held[seat.instance if instance else seat.consumer][role_of(place % SEATS)].append(
                    self.task_of[place // SEATS]
                )
        return tuple([Holding(*map(tuple, roles)) for roles in held])

    def held_after(self):
        """Return what every consumer holds after the rebalance."""
        cdef Py_ssize_t place, at, number
        cdef Held[SEATS] seats
        roles = [([], [], [], []) for _ in range(self.consumers)]
        for place in range(self.tasks):
            number = self.seats(place, seats)
            for at in range(number):
                roles[seats[at].consumer][seats[at].role].append(self.task_of[place])
        return tuple([Holding(*map(tuple, of)) for of in roles])

    def moving(self):
        """Return the movements of the decision in the order in which they were handled."""
        cdef Py_ssize_t place
        found = []
        for kind in ("active", "standby"):
            queued = []
            for place in range(self.tasks):
                one = self.active[place] if kind == "active" else self.standby[place]
                if one.how != NO_MOVEMENT:
                    task, how = self.task_of[place], _HOWS[one.how]
                    movement = Movement(task, kind, how, one.source, one.destination, bool(one.warm_up))
                    queued.append((one.caught_up, task, movement))
            found += [movement for *_, movement in sorted(queued)]
        return tuple(found)

    def withheld(self):
        """Return by task the consumer that has to give it up first."""
        return self.by_task(self.withheld_by)

    def revoking_consumers(self):
        """Return the consumers that give up an active task."""
        return [consumer for consumer in range(self.consumers) if self.revoking[consumer]]

    def waiting_consumers(self):
        """Return the consumers from which an active task is withheld."""
        return [consumer for consumer in range(self.consumers) if self.waiting[consumer]]
