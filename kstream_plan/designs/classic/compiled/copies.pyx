# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The copies of a group's stateful tasks as flat arrays: what is on disk, and who owns what (model/copies).

Stateful tasks are counted in their order: a task's number among them is its place. Instances and consumers are their
indices.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from kstream_plan.designs.classic.compiled.memory cimport int8s, int32s, int32s_of, int64s, int64s_of, zeros
from kstream_plan.designs.classic.compiled.records cimport ACTIVE, LATEST, NO_ROLE, NONE, Slot

from kstream_plan.model import Copy, Holding

#: Copies of a task that there is room for at first.
cdef Py_ssize_t ROOM = 4


cdef class Copies:
    """What of a group's stateful tasks is on disk, and who owns them; a draft.

    Args:
        group: who takes part; it has no stateless tasks.
        limit: ``acceptable.recovery.lag``, below 2^63-1.
    """

    def __init__(self, group, limit):
        of = group.stateful
        self.tasks, self.instances, self.consumers = len(of), len(group.instances), len(group.consumer_ids)
        self.all_tasks, self.limit = len(group.tasks), limit
        self.memory = []
        self.task_of = int32s_of(self.memory, list(of))
        self.instance_of = int32s_of(self.memory, list(group.instance_of))
        self.first_of = int32s_of(self.memory, [consumers.start for consumers in group.consumers_of] + [self.consumers])
        self.capacity = int32s_of(self.memory, list(group.capacities))
        self.whole = int64s_of(self.memory, [group.end_offset_sums[task] for task in of])
        self.known = int32s_of(self.memory, [group.tasks[task].end_offset_known for task in of])
        self.room = ROOM
        self.slots = <Slot*>zeros(self.memory, self.tasks * self.room, sizeof(Slot))
        self.number, self.owner = int32s(self.memory, self.tasks), int32s(self.memory, self.tasks)
        self.revoked_by, self.unprocessed = int32s(self.memory, self.tasks), int64s(self.memory, self.tasks)
        self.rests, self.dirty = int8s(self.memory, self.tasks), int8s(self.memory, self.tasks)
        self.stale = int8s(self.memory, self.tasks)

    def load_state(self, state, revoked_by):
        """Take over a state, and which consumer the last assignment made give up each task.

        Returns:
            Whether it fits: each copy was reported by one consumer at most, each task is active at one at most.
        """
        cdef Py_ssize_t place
        cdef dict roles = {}
        for consumer, held in enumerate(state.holdings):
            for role, of_role in enumerate(held):
                for task in of_role:
                    roles[task, consumer] = role
        while max(map(len, state.copies), default=0) >= self.room:
            self.widen()
        for place in range(self.tasks):
            task = self.task_of[place]
            self.revoked_by[place], self.unprocessed[place] = revoked_by.get(task, -1), state.waiting.get(task, 0)
            self.rests[place], self.dirty[place], self.stale[place] = 0, 1, 1
            if not self._load_task(place, state.copies[task], roles):
                return False
        return not roles

    cdef bint _load_task(self, Py_ssize_t place, copies, dict roles) except -1:
        """Take over a task's copies, and take who holds them out of ``roles``; return whether they fit."""
        cdef Slot* slot
        self.owner[place], self.number[place] = -1, 0
        for copy in copies:
            if len(copy.reporters) > 1:
                return False
            slot = &self.slots[place * self.room + self.number[place]]
            self.number[place] += 1
            self._fill(slot, copy)
            if copy.consumer is None:
                continue
            role = roles.pop((self.task_of[place], copy.consumer), None)
            if role is None or copy.active != (role == ACTIVE):
                return False
            slot.role = role
            if role == ACTIVE:
                if self.owner[place] >= 0:
                    return False
                self.owner[place] = slot.consumer
        return True

    cdef void _fill(self, Slot* slot, copy) except *:
        slot.instance = copy.instance
        slot.lag = _or_none(copy.lag)
        slot.reporter = copy.reporters[0] if copy.reporters else -1
        slot.remaining, slot.placed_in = copy.remaining, copy.placed_in
        slot.consumer = -1 if copy.consumer is None else copy.consumer
        slot.lost_at_ms, slot.made_at_ms = _or_none(copy.lost_at_ms), _or_none(copy.made_at_ms)
        slot.role = NO_ROLE

    def copies(self):
        """Return the copies of every task of the group, as a state has them."""
        cdef Py_ssize_t place, at
        cdef Slot* slot
        found = [()] * self.all_tasks
        for place in range(self.tasks):
            of_task = []
            for at in range(self.number[place]):
                slot = &self.slots[place * self.room + at]
                of_task.append(
                    Copy(
                        slot.instance,
                        _number(slot.lag),
                        () if slot.reporter < 0 else (slot.reporter,),
                        slot.remaining,
                        None if slot.consumer < 0 else slot.consumer,
                        slot.role == ACTIVE,
                        slot.placed_in,
                        _number(slot.lost_at_ms),
                        _number(slot.made_at_ms),
                    )
                )
            found[self.task_of[place]] = tuple(of_task)
        return tuple(found)

    def owned(self):
        """Return what every consumer holds before the decision."""
        cdef Py_ssize_t place, at
        cdef Slot* slot
        roles = [([], [], [], []) for _ in range(self.consumers)]
        for place in range(self.tasks):
            for at in range(self.number[place]):
                slot = &self.slots[place * self.room + at]
                if slot.consumer >= 0:
                    roles[slot.consumer][slot.role].append(self.task_of[place])
        return tuple([Holding(*map(tuple, of)) for of in roles])

    def revoked(self):
        """Return by task the consumer that gave it up for the decision before."""
        return self.by_task(self.revoked_by)

    def unprocessed_input(self):
        """Return by task the records of its input that wait, as a state has them."""
        return {self.task_of[place]: self.unprocessed[place] for place in range(self.tasks) if self.unprocessed[place]}

    cdef by_task(self, int32_t* consumers):
        """Return consumers by task where there are any."""
        return {self.task_of[place]: consumers[place] for place in range(self.tasks) if consumers[place] >= 0}

    # -- look-ups ---------------------------------------------------------------------------------------------------

    cdef Slot* copy(self, Py_ssize_t place, int32_t instance) noexcept:
        """Return the copy that an instance has of a task, or ``NULL``."""
        cdef Slot* slot = &self.slots[place * self.room]
        cdef Py_ssize_t at
        for at in range(self.number[place]):
            if slot[at].instance == instance:
                return &slot[at]
        return NULL

    cdef int64_t lag(self, Py_ssize_t place, int32_t instance) noexcept:
        """Return how far behind an instance is on a task as Kafka sees it."""
        cdef Slot* slot = self.copy(place, instance)
        return self.whole[place] if slot == NULL or slot.lag == NONE else slot.lag

    cdef bint is_caught_up(self, int64_t lag) noexcept:
        """Tell whether that is within ``acceptable.recovery.lag``."""
        return lag == LATEST or 0 <= lag <= self.limit

    cdef void widen(self) except *:
        """Make room for more copies of each task."""
        cdef Py_ssize_t place, wider = 2 * self.room
        cdef Slot* slots = <Slot*>zeros(self.memory, self.tasks * wider, sizeof(Slot))
        for place in range(self.tasks):
            memcpy(&slots[place * wider], &self.slots[place * self.room], self.number[place] * sizeof(Slot))
        self.slots, self.room = slots, wider


cdef int64_t _or_none(number) except? -1:
    return NONE if number is None else number


cdef object _number(int64_t number):
    return None if number == NONE else number
