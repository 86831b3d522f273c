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
    NO_MOVEMENT,
    NONE,
    SEATS,
    SWAP_CAUGHT_UP,
    SWAP_MOST_CAUGHT_UP,
    UNKNOWN,
    Moving,
    Pending,
    Seat,
    Slot,
)

from kstream_plan.assignors.java.constrained_priority_set import filled_to_above_the_end
from kstream_plan.assignors.java.priority_queue import uuid_hash, weights_of


cdef class Movements(Copies):
    """Seats of every task on instances; each decision is made from scratch.

    Args:
        group: who takes part; it has no stateless tasks.
        target: of its assignor, with at most one standby a task.
        limit: ``acceptable.recovery.lag``, below 2^63-1.
        warm_ups: ``max.warmup.replicas``.
    """

    def __init__(self, group, target, limit, warm_ups):
        Copies.__init__(self, group, limit)
        self.warm_ups = warm_ups
        self._take_target(group, target)
        self.decided = <Seat*>zeros(self.memory, self.tasks * SEATS, sizeof(Seat))
        self.halfway = <Seat*>zeros(self.memory, self.tasks * SEATS, sizeof(Seat))
        self.active = <Moving*>zeros(self.memory, self.tasks, sizeof(Moving))
        self.standby = <Moving*>zeros(self.memory, self.tasks, sizeof(Moving))
        self.of_active = <Pending*>zeros(self.memory, self.tasks, sizeof(Pending))
        self.of_standby = <Pending*>zeros(self.memory, self.tasks, sizeof(Pending))
        self.caught_up = int32s(self.memory, self.instances + 1)
        self.free_ones = int32s(self.memory, self.instances + 1)
        self.pending, self.order = int32s(self.memory, self.tasks), int32s(self.memory, self.tasks)
        self.counts, self.bins = int32s(self.memory, self.instances), int32s(self.memory, self.instances + 2)
        hashes = [uuid_hash(instance.process_id) for instance in group.instances]
        self.queue = InstanceQueue(weights_of(group.capacities), hashes, filled_to_above_the_end(self.instances))

    cdef void _take_target(self, group, target) except *:
        place_of = {task: place for place, task in enumerate(group.stateful)}
        owner, standby = [-1] * self.tasks, [-1] * self.tasks
        counts = [0] * self.instances
        for placed, by_instance in ((owner, target.active), (standby, target.standby)):
            for instance, tasks in enumerate(by_instance):
                counts[instance] += len(tasks)
                for task in tasks:
                    placed[place_of[task]] = instance
        self.target_owner, self.target_standby = int32s_of(self.memory, owner), int32s_of(self.memory, standby)
        self.target_counts = int32s_of(self.memory, counts)

    cdef void move(self) except *:
        """Fill the seats: as the target has them, but for tasks that cannot start or be copied there."""
        cdef Py_ssize_t place
        cdef Seat* seats
        memcpy(self.counts, self.target_counts, self.instances * sizeof(int32_t))
        self.budget = self.warm_ups
        for place in range(self.tasks):
            seats = &self.decided[place * SEATS]
            seats[0] = Seat(self.target_owner[place], -1)
            seats[1] = Seat(self.target_standby[place], -1)
            seats[2] = seats[3] = Seat(-1, -1)
            self.active[place].how = self.standby[place].how = NO_MOVEMENT
        self._move_active()
        self._move_standbys()

    cdef bint is_queued(self, Py_ssize_t place) noexcept:
        """Tell whether a movement of a task was handled."""
        return self.active[place].how != NO_MOVEMENT or self.standby[place].how != NO_MOVEMENT

    # -- active tasks (rule 4, with one standby at most) ------------------------------------------------------------

    cdef void _move_active(self) noexcept:
        cdef Py_ssize_t place, at, number = self._pend_actives()
        cdef Seat* seats
        cdef Pending* pending
        cdef int32_t source, owner
        for at in range(number):
            place = self.order[at]
            seats, pending = &self.decided[place * SEATS], &self.of_active[place]
            owner, source = seats[0].instance, pending.source
            if source < 0 and pending.caught_up == 2:
                source = self._least_loaded(pending.first, 2)
            elif source < 0:
                source = self._least_loaded(self.caught_up, self._caught_up_elsewhere(place, owner))
            self.active[place] = Moving(source, owner, pending.caught_up, pending.how, 0)
            seats[0].instance = source
            if pending.how == SWAP_CAUGHT_UP or pending.how == SWAP_MOST_CAUGHT_UP:
                seats[1].instance = owner
                continue
            self.counts[source] += 1
            if self.budget > 0:
                self.active[place].warm_up = 1
                seats[2].instance = owner
            else:
                self.counts[owner] -= 1
            self.budget -= 1

    cdef Py_ssize_t _pend_actives(self) noexcept:
        """Fill ``order`` with the tasks that are pending; return how many are."""
        cdef Py_ssize_t place, number = 0
        cdef Pending* pending
        for place in range(self.tasks):
            pending = &self.of_active[place]
            if self.dirty[place]:
                pending.caught_up = self._caught_up_elsewhere(place, self.target_owner[place])
                if pending.caught_up >= 0:
                    self._stays_with(place, pending)
            if pending.caught_up >= 0:
                self.pending[number] = <int32_t>place
                number += 1
        self._sort_pending(number, self.of_active)
        return number

    cdef void _stays_with(self, Py_ssize_t place, Pending* pending) noexcept:
        """Say who runs a pending active task meanwhile, unless that hangs on loads (movements.stays_with)."""
        cdef Py_ssize_t at
        cdef int32_t standby = self.target_standby[place]
        cdef int64_t lag = 0
        cdef Slot* slot = &self.slots[place * self.room]
        pending.source, pending.how = -1, MOVE_CAUGHT_UP
        for at in range(pending.caught_up):
            if self.caught_up[at] == standby:
                pending.source, pending.how = standby, SWAP_CAUGHT_UP
                return
        if pending.caught_up:
            for at in range(min(pending.caught_up, 2)):
                pending.first[at] = self.caught_up[at]
            if pending.caught_up == 1:
                pending.source = self.caught_up[0]
            return
        for at in range(self.number[place]):
            if slot[at].lag != NONE and (pending.source < 0 or slot[at].lag < lag):
                pending.source, lag = slot[at].instance, slot[at].lag
        pending.how = SWAP_MOST_CAUGHT_UP if pending.source == standby else MOVE_MOST_CAUGHT_UP

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

    cdef void _move_standbys(self) except *:
        """Move them; the queue's history counts only if there is ever a choice."""
        cdef Py_ssize_t place, at, number = 0
        cdef Seat* seats
        cdef Pending* pending
        cdef bint choices = False
        for place in range(self.tasks):
            seats, pending = &self.decided[place * SEATS], &self.of_standby[place]
            if self.dirty[place] or not are_alike(seats, &self.halfway[place * SEATS]):
                memcpy(&self.halfway[place * SEATS], seats, SEATS * sizeof(Seat))
                self._pend_standby(place, seats, pending)
            if pending.caught_up >= 0:
                self.pending[number] = <int32_t>place
                choices = choices or pending.free > 1
                number += 1
        self._sort_pending(number, self.of_standby)
        self.queue.begin(self.counts)
        for at in range(number):
            self._handle_standby(self.order[at], choices)

    cdef void _handle_standby(self, Py_ssize_t place, bint choices) except *:
        """Move a pending standby, unless nobody is there to have it meanwhile."""
        cdef Seat* seats = &self.decided[place * SEATS]
        cdef Pending* pending = &self.of_standby[place]
        cdef int32_t destination = seats[1].instance, source = pending.source
        if pending.free > 1:
            self._free(place, destination, seats)
            source = self.queue.choose(self.free_ones, pending.free)
        elif pending.free:
            self.free_ones[0] = source
        if source >= 0:
            self.standby[place] = Moving(source, destination, pending.caught_up, pending.how, self.budget > 0)
            seats[1].instance = source
            if self.budget > 0:
                seats[3].instance = destination
        if choices:
            self.queue.handle(self.free_ones, pending.free, source, destination, 1, self.budget <= 0)
        self.budget -= source >= 0

    cdef void _pend_standby(self, Py_ssize_t place, Seat* seats, Pending* pending) noexcept:
        """Say whether a task's standby is pending, who is free, and its source unless that hangs on loads."""
        cdef int32_t destination = seats[1].instance
        pending.caught_up, pending.source = -1, -1
        if destination < 0:
            return
        pending.caught_up = self._caught_up_elsewhere(place, destination)
        if pending.caught_up < 0:
            return
        pending.free = self._free(place, destination, seats)
        pending.how = MOVE_CAUGHT_UP if pending.free else MOVE_MOST_CAUGHT_UP
        if pending.free < 2:
            pending.source = self.free_ones[0] if pending.free else self._first_free_by_lag(place, destination, seats)

    cdef int32_t _free(self, Py_ssize_t place, int32_t destination, Seat* seats) noexcept:
        """Fill ``free_ones`` with who of those caught up has no copy of a task; return how many have none."""
        cdef Py_ssize_t at
        cdef int32_t number = 0
        for at in range(self._caught_up_elsewhere(place, destination)):
            if not self._holds(seats, self.caught_up[at]):
                self.free_ones[number] = self.caught_up[at]
                number += 1
        return number

    cdef bint _holds(self, Seat* seats, int32_t instance) noexcept:
        """Tell whether one of a task's seats is on an instance."""
        cdef Py_ssize_t seat
        for seat in range(SEATS):
            if seats[seat].instance == instance:
                return True
        return False

    cdef int32_t _first_free_by_lag(self, Py_ssize_t place, int32_t destination, Seat* seats) noexcept:
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

    cdef void _sort_pending(self, Py_ssize_t number, Pending* pending) noexcept:
        """Put the first of ``pending``, in task order, into ``order`` by (caught-up instances, task)."""
        cdef Py_ssize_t at, caught_up
        cdef int32_t total = 0, here
        memset(self.bins, 0, (self.instances + 2) * sizeof(int32_t))
        for at in range(number):
            self.bins[pending[self.pending[at]].caught_up] += 1
        for caught_up in range(self.instances + 1):
            here = self.bins[caught_up]
            self.bins[caught_up] = total
            total += here
        for at in range(number):
            caught_up = pending[self.pending[at]].caught_up
            self.order[self.bins[caught_up]] = self.pending[at]
            self.bins[caught_up] += 1
