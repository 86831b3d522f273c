# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where the assignor puts tasks under one target, compiled: as ``assignors/high_availability/movements``.

It comes to the same, to the last tie; that module says why.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from kstream_plan.designs.classic.compiled.copies cimport Copies
from kstream_plan.designs.classic.compiled.instance_queue cimport InstanceQueue
from kstream_plan.designs.classic.compiled.memory cimport int32s, int32s_of, zeros
from kstream_plan.designs.classic.compiled.records cimport (
    MOVE_CAUGHT_UP,
    MOVE_MOST_CAUGHT_UP,
    NONE,
    SEATS,
    SWAP_CAUGHT_UP,
    SWAP_MOST_CAUGHT_UP,
    UNKNOWN,
    Pending,
    Slot,
    is_moved,
)

from kstream_plan.assignors.java.constrained_priority_set import filled_to_above_the_end
from kstream_plan.assignors.java.priority_queue import uuid_hash, weights_of


cdef class Movements(Copies):
    """Seats of every task on instances; each decision is made from scratch.

    What hangs on a task's copies alone is kept while these stay as they are.

    Args:
        group: who takes part; it has no stateless tasks.
        target: of its assignor, with at most one standby a task.
        limit: ``acceptable.recovery.lag``, below 2^63-1.
        warm_ups: ``max.warmup.replicas``.
    """

    def __init__(self, group, target, limit, warm_ups):
        Copies.__init__(self, group, limit)
        self.warm_ups = warm_ups
        self.decided, self.halfway = (
            int32s(self.memory, self.tasks * SEATS),
            int32s(self.memory, self.tasks * SEATS),
        )
        self.of_active = <Pending*>zeros(self.memory, self.tasks, sizeof(Pending))
        self.of_standby = <Pending*>zeros(self.memory, self.tasks, sizeof(Pending))
        self.actives, self.standbys = int32s(self.memory, self.tasks), int32s(self.memory, self.tasks)
        self.caught_up = int32s(self.memory, self.instances + 1)
        self.free_ones = int32s(self.memory, self.instances + 1)
        self.counts, self.bins = int32s(self.memory, self.instances), int32s(self.memory, self.instances + 2)
        hashes = [uuid_hash(instance.process_id) for instance in group.instances]
        self.queue = InstanceQueue(weights_of(group.capacities), hashes, filled_to_above_the_end(self.instances))
        self._take_target(group, target)
        memset(self.decided, -1, self.tasks * SEATS * sizeof(int32_t))

    cdef void _take_target(self, group, target) except *:
        cdef Py_ssize_t place
        place_of = {task: place for place, task in enumerate(group.stateful)}
        seats, counts = [-1] * (self.tasks * SEATS), [0] * self.instances
        for seat, by_instance in enumerate((target.active, target.standby)):
            for instance, tasks in enumerate(by_instance):
                counts[instance] += len(tasks)
                for task in tasks:
                    seats[place_of[task] * SEATS + seat] = instance
        self.target_seats, self.target_counts = int32s_of(self.memory, seats), int32s_of(self.memory, counts)
        for place in range(self.tasks):
            self.of_active[place].destination = self.target_seats[place * SEATS]
            self.of_active[place].caught_up = self.of_standby[place].caught_up = -1

    cdef int move(self) except -1:
        """Fill the seats: as the target has them, but for tasks that cannot start or be copied there."""
        memcpy(self.counts, self.target_counts, self.instances * sizeof(int32_t))
        memcpy(self.decided, self.target_seats, self.tasks * SEATS * sizeof(int32_t))
        self._pend_actives()
        self._move_actives()
        self._pend_standbys()
        self._move_standbys()
        return 0

    cdef bint is_queued(self, Py_ssize_t place) noexcept:
        """Tell whether a movement of a task was handled."""
        return is_moved(&self.of_active[place]) or is_moved(&self.of_standby[place])

    # -- active tasks (rule 4, with one standby at most) ------------------------------------------------------------

    cdef void _pend_actives(self) noexcept:
        """See which active tasks are pending, and who runs each meanwhile."""
        cdef Py_ssize_t place
        cdef Pending* of
        cdef int32_t was
        cdef bint anew = False
        for place in range(self.tasks):
            if not self.dirty[place]:
                continue
            of = &self.of_active[place]
            was, of.caught_up = of.caught_up, self._caught_up_elsewhere(place, of.destination)
            anew = anew or of.caught_up != was
            if of.caught_up >= 0:
                self._stays_with(place, of)
        if anew:
            self.n_actives = self._sort(self.of_active, self.actives)

    cdef void _move_actives(self) noexcept:
        """Move them, one after the other."""
        cdef Py_ssize_t at, place
        cdef int32_t* seats
        cdef int32_t* counts = self.counts
        cdef int64_t budget = self.warm_ups
        cdef Pending* of
        for at in range(self.n_actives):
            place = self.actives[at]
            seats, of = &self.decided[place * SEATS], &self.of_active[place]
            of.source = of.only
            if of.source < 0 and of.caught_up == 2:
                of.source = self._least_loaded(of.first, 2)
            elif of.source < 0:
                of.source = self._least_loaded(self.caught_up, self._caught_up_elsewhere(place, of.destination))
            seats[0] = of.source
            if of.how == SWAP_CAUGHT_UP or of.how == SWAP_MOST_CAUGHT_UP:
                seats[1] = of.destination
                continue
            counts[of.source] += 1
            of.warm_up = budget > 0
            if of.warm_up:
                seats[2] = of.destination
            else:
                counts[of.destination] -= 1
            budget -= 1
        self.budget, self.warmup_copies = budget, min(self.warm_ups, self.warm_ups - budget)

    cdef void _stays_with(self, Py_ssize_t place, Pending* of) noexcept:
        """Say who runs a pending active task meanwhile, unless that hangs on loads (movements.stays_with)."""
        cdef Py_ssize_t at
        cdef int32_t standby = self.target_seats[place * SEATS + 1]
        cdef int64_t lag = 0
        cdef Slot* slot = &self.slots[place * self.room]
        of.only, of.how, of.warm_up = -1, MOVE_CAUGHT_UP, False
        for at in range(of.caught_up):
            if self.caught_up[at] == standby:
                of.only, of.how = standby, SWAP_CAUGHT_UP
                return
        if of.caught_up:
            for at in range(min(of.caught_up, 2)):
                of.first[at] = self.caught_up[at]
            if of.caught_up == 1:
                of.only = self.caught_up[0]
            return
        for at in range(self.number[place]):
            if slot[at].lag != NONE and (of.only < 0 or slot[at].lag < lag):
                of.only, lag = slot[at].instance, slot[at].lag
        of.how = SWAP_MOST_CAUGHT_UP if of.only == standby else MOVE_MOST_CAUGHT_UP

    cdef int32_t _least_loaded(self, int32_t* candidates, Py_ssize_t number) noexcept:
        """Return the first of so many that has the least load."""
        cdef Py_ssize_t at
        cdef int32_t source = -1
        cdef double load, least = 0
        for at in range(number):
            load = <double>self.counts[candidates[at]] / <double>self.capacity[candidates[at]]
            if source < 0 or load < least:
                source, least = candidates[at], load
        return source

    # -- standbys (rule 5, with one at most) ------------------------------------------------------------------------

    cdef void _pend_standbys(self) noexcept:
        """See which standbys are pending, and of how many there is a choice who has them meanwhile."""
        cdef Py_ssize_t place
        cdef int32_t* seats
        cdef Pending* of
        cdef int32_t was
        cdef bint anew = False
        for place in range(self.tasks):
            seats = &self.decided[place * SEATS]
            if not self.dirty[place] and are_alike(seats, &self.halfway[place * SEATS]):
                continue
            memcpy(&self.halfway[place * SEATS], seats, SEATS * sizeof(int32_t))
            of = &self.of_standby[place]
            was = of.caught_up
            self.choices -= of.free > 1
            self._pend_standby(place, seats, of)
            self.choices += of.free > 1
            anew = anew or of.caught_up != was
        if anew:
            self.n_standbys = self._sort(self.of_standby, self.standbys)

    cdef void _pend_standby(self, Py_ssize_t place, int32_t* seats, Pending* of) noexcept:
        """Say whether a task's standby is pending, how many are free, and who has it unless that hangs on loads."""
        of.destination, of.caught_up, of.free, of.only = seats[1], -1, 0, -1
        if of.destination >= 0:
            of.caught_up = self._caught_up_elsewhere(place, of.destination)
        if of.caught_up < 0:
            return
        of.free = self._free(place, of.destination, seats)
        of.how = MOVE_CAUGHT_UP if of.free else MOVE_MOST_CAUGHT_UP
        if of.free < 2:
            of.only = self.free_ones[0] if of.free else self._first_free_by_lag(place, of.destination, seats)

    cdef int _move_standbys(self) except -1:
        """Move them, unless nobody is there to have one meanwhile; the queue's history counts only for choices."""
        cdef Py_ssize_t at, place, moved = 0, alone = 0
        cdef int32_t* seats
        cdef Pending* of
        if self.choices:
            self.queue.begin(self.counts, self.n_standbys)
        for at in range(self.n_standbys):
            place = self.standbys[at]
            seats, of = &self.decided[place * SEATS], &self.of_standby[place]
            of.source = self.free_ones[0] = of.only
            if of.free > 1:
                self._free(place, of.destination, seats)
                of.source = self.queue.choose(self.free_ones, of.free)
            of.warm_up = of.source >= 0 and moved < self.budget
            if self.choices:
                self.queue.handle(self.free_ones, of.free, of.source, of.destination, 1, not of.warm_up)
            if of.source < 0:
                continue
            seats[1] = of.source
            if of.warm_up:
                seats[3] = of.destination
            moved += 1
            alone += self.of_active[place].caught_up < 0
        self.movements, self.queued = self.n_actives + moved, self.n_actives + alone
        self.warmup_copies += max(0, min(moved, self.budget))
        return 0

    cdef int32_t _free(self, Py_ssize_t place, int32_t destination, int32_t* seats) noexcept:
        """Fill ``free_ones`` with who of those caught up has no copy of a task; return how many have none."""
        cdef Py_ssize_t at
        cdef int32_t number = 0
        for at in range(self._caught_up_elsewhere(place, destination)):
            if not self._holds(seats, self.caught_up[at]):
                self.free_ones[number] = self.caught_up[at]
                number += 1
        return number

    cdef bint _holds(self, int32_t* seats, int32_t instance) noexcept:
        """Tell whether one of a task's seats is on an instance."""
        cdef Py_ssize_t seat
        for seat in range(SEATS):
            if seats[seat] == instance:
                return True
        return False

    cdef int32_t _first_free_by_lag(self, Py_ssize_t place, int32_t destination, int32_t* seats) noexcept:
        """Return the first one before the destination in the list by lag that has no copy, or -1."""
        cdef Slot* slot = &self.slots[place * self.room]
        cdef int64_t lag = self.lag(place, destination), whole = self.whole[place], least = 0
        cdef int32_t source = -1, cold
        cdef Py_ssize_t at
        cdef Slot* copy
        for at in range(self.number[place]):
            if slot[at].lag == NONE or self._holds(seats, slot[at].instance):
                continue
            if slot[at].lag > lag or (slot[at].lag == lag and slot[at].instance >= destination):
                continue
            if source < 0 or slot[at].lag < least:
                source, least = slot[at].instance, slot[at].lag
        if lag != whole:
            return source
        for cold in range(destination):
            copy = self.copy(place, cold)
            if (copy == NULL or copy.lag == NONE) and not self._holds(seats, cold):
                if source < 0 or whole < least or (whole == least and cold < source):
                    source = cold
                break
        return source

    # -- who is caught up, and what comes first ---------------------------------------------------------------------

    cdef int32_t _caught_up_elsewhere(self, Py_ssize_t place, int32_t instance) noexcept:
        """Fill ``caught_up``; return how many are, or -1 if nothing moves (movements.caught_up_elsewhere)."""
        cdef Slot* slot = self.copy(place, instance)
        cdef int64_t lag, other
        cdef Py_ssize_t at
        cdef int32_t found = 0
        cdef bint further = False
        if slot != NULL and slot.lag != NONE:
            lag = slot.lag
            if lag <= self.limit:  # or nothing sorts before it
                return -1
        else:
            lag = self.whole[place]
            if lag <= self.limit:
                return -1
        slot = &self.slots[place * self.room]
        for at in range(self.number[place]):
            other = slot[at].lag
            if other == NONE:
                continue
            if other <= self.limit and other != UNKNOWN:
                self.caught_up[found] = slot[at].instance
                found += 1
            further = further or other < lag
        return found if found or further else -1

    cdef Py_ssize_t _sort(self, Pending* pending, int32_t* order) noexcept:
        """Fill ``order`` with the places of what is pending by (caught-up instances, task); return how many it is."""
        cdef Py_ssize_t place, caught_up
        cdef int32_t* bins = self.bins
        memset(bins, 0, (self.instances + 2) * sizeof(int32_t))
        for place in range(self.tasks):
            if pending[place].caught_up >= 0:
                bins[pending[place].caught_up + 1] += 1
        for caught_up in range(self.instances + 1):
            bins[caught_up + 1] += bins[caught_up]
        for place in range(self.tasks):
            caught_up = pending[place].caught_up
            if caught_up >= 0:
                order[bins[caught_up]] = <int32_t>place
                bins[caught_up] += 1
        return bins[self.instances + 1]
