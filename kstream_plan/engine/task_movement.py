# cython: boundscheck=False, wraparound=False, initializedcheck=False, annotation_typing=False
"""Movements towards the target: rules 4 and 5, Kafka's ``TaskMovement``.

Source: page ``rules``, "Movements".

Where the target puts a task on an instance that is not caught up on it while another one is further, the task stays
with the latter for now, and the former may get a copy to warm up.

A task's place is its position among the stateful ones. Its slots are what of it can be pending: the active task, then
each standby. Its seats are the instances that have it: the active task, each standby, then the warm-up of each slot.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kstream_plan.engine.columns import zeros
from kstream_plan.engine.constrained_priority_set import ConstrainedPrioritySet
from kstream_plan.model import Copy, Group, Target
from kstream_plan.model.java_hash import uuid_hash

Column: TypeAlias = "array[int]"
Numbers: TypeAlias = "npt.NDArray[np.int32]"

#: ``acceptable.recovery.lag`` at which every copy counts as caught up: nothing moves.
ANY_LAG = 9223372036854775807
#: ``UNKNOWN`` of the model.
UNKNOWN_LAG = -3
#: Numbers of a movement: task, kind, how, source, destination, warm-up.
FIELDS = 6
#: Numbers below fit into 16 bits.
SHORT = 1 << 15
#: How a slot moves, as ``model.movements.HOWS`` has it.
SWAP_CAUGHT_UP = 0
SWAP_MOST_CAUGHT_UP = 1
MOVE_CAUGHT_UP = 2
MOVE_MOST_CAUGHT_UP = 3


class TaskMovement:
    """Seats of every stateful task under one target, decision after decision.

    Each decision is made from scratch; what depends on a task's reports and seats alone is kept while these stay.

    Args:
        group: who takes part.
        target: of its assignor.
        limit: ``acceptable.recovery.lag``.
        warm_ups: ``max.warmup.replicas``.
        in_heap_order: movements are handled as releases before 3.3 do: as they lie in a heap.
        caught_up_only: as releases before 3.2 do, nothing waits with who is not caught up.
        standbys: how many a task may have, if more than by the target.
    """

    def __init__(
        self,
        group: Group,
        target: Target,
        limit: int,
        warm_ups: int,
        *,
        in_heap_order: bool = False,
        caught_up_only: bool = False,
        standbys: int = 1,
    ) -> None:
        self.tasks, self.instances = len(group.stateful), len(group.instances)
        self.standbys = max(standbys, *Counter(chain(*target.standby)).values(), 0)  # the most that a task has
        self.slots, self.width = self.standbys + 1, 2 * (self.standbys + 1)
        self.task_of = array("i", group.stateful)
        self.capacities = array("q", group.capacities)
        self.end_offset_sums = array("q", [group.end_offset_sums[task] for task in group.stateful])
        self.limit, self.warm_ups, self.in_heap_order = limit, warm_ups, in_heap_order
        self.caught_up_only = caught_up_only
        self.room = 4
        self.n_reports = zeros("i", self.tasks)
        self.report_instance, self.report_lag = zeros("i", self.tasks * self.room), zeros("q", self.tasks * self.room)
        self.dirty, self.no_flags = array("b", [1] * self.tasks), array("b", [0] * self.tasks)
        seats = array("i", [-1]) * max(1, self.tasks * self.width)
        self.target_seats, self.decided_seats, self.previous_seats = seats, seats[:], seats[:]
        self.target_counts, self.counts = zeros("q", self.instances), zeros("q", self.instances)
        number = max(1, self.tasks * self.slots)
        self.destination, self.caught_up = array("i", [-1]) * number, array("i", [-1]) * number
        self.none_moved = array("i", [-1]) * number
        self.free, self.only, self.source = zeros("i", number), zeros("i", number), zeros("i", number)
        self.ways, self.warm_up = zeros("b", number), zeros("b", number)
        self.first_two, self.has_several, self.n_several = zeros("i", 2 * self.tasks), zeros("b", self.tasks), 0
        self.reseated = array("b", [1] * self.tasks)
        self.all_slots = np.arange(self.tasks * self.slots).reshape(self.tasks, self.slots)
        self.actives, self.standby_slots = zeros("i", number), zeros("i", number)
        self.n_actives = self.n_standby_slots = 0
        self.heap, self.queue_keys = zeros("i", number), zeros("q", number)
        self.ready, self.candidates = zeros("i", self.instances + 1), zeros("i", self.instances + 1)
        hashes = [uuid_hash(instance.process_id) for instance in group.instances]
        self.queue = ConstrainedPrioritySet(group.capacities, hashes)
        self.fed = -1
        self.tally = zeros("q", self.instances)
        self.budget, self.number = 0, 0
        self.moved_in = zeros("q", self.tasks)
        self.movements = self.n_queued = self.warmup_copies = 0
        self._take_target(target)

    def _take_target(self, target: Target) -> None:
        place_of = {task: place for place, task in enumerate(self.task_of)}
        seats, counts = array("i", [-1]) * max(1, self.tasks * self.width), zeros("q", self.instances)
        for instance, (active, standby) in enumerate(zip(*target, strict=True)):
            counts[instance] = len(active) + len(standby)
            for task in active:
                seats[place_of[task] * self.width] = instance
            for task in standby:
                seat = place_of[task] * self.width + 1
                while seats[seat] >= 0:
                    seat += 1
                seats[seat] = instance
        self.target_seats, self.target_counts = seats, counts
        for place in range(self.tasks):
            self.destination[place * self.slots] = seats[place * self.width]

    # -- what is reported -------------------------------------------------------------------------------------------

    def forget(self, place: int) -> None:
        """Forget what was reported of a task."""
        self.n_reports[place], self.dirty[place] = 0, 1

    def report(self, place: int, instance: int, lag: int) -> None:
        """Report a task's lag on an instance; a task's instances come in order."""
        if self.n_reports[place] == self.room:
            self._widen()
        index = place * self.room + self.n_reports[place]
        self.report_instance[index], self.report_lag[index] = instance, lag
        self.n_reports[place] += 1

    def report_copies(self, places: Iterable[int], copies: Iterable[Iterable[Copy]]) -> None:
        """Report the lags of the copies of these tasks, and nothing else of them."""
        for place, of_task in zip(places, copies, strict=True):
            self.forget(place)
            for copy in of_task:
                if copy[1] is not None:
                    self.report(place, copy[0], copy[1])

    def _widen(self) -> None:
        """Make room for more reports of each task."""
        room = 2 * self.room
        reports, lags = zeros("i", self.tasks * room), zeros("q", self.tasks * room)
        for place in range(self.tasks):
            for index in range(self.n_reports[place]):
                reports[place * room + index] = self.report_instance[place * self.room + index]
                lags[place * room + index] = self.report_lag[place * self.room + index]
        self.report_instance, self.report_lag, self.room = reports, lags, room

    # -- the decision -----------------------------------------------------------------------------------------------

    def move(self) -> None:
        """Fill the seats: as the target has them, but for tasks that cannot start or be copied there."""
        self.previous_seats, self.decided_seats = self.decided_seats, self.previous_seats
        self.decided_seats[:] = self.target_seats
        self.counts[:] = self.target_counts
        self.number += 1
        self.movements = self.n_queued = self.warmup_copies = 0
        if self.limit < ANY_LAG:
            self._pend_actives()
            self._move_actives()
            self._pend_standbys()
            self._move_standbys()
        self.dirty[:] = self.no_flags
        self.reseated[:] = self.no_flags

    def adopt(self, seats: Column, movements: Column) -> None:
        """Take over the seats and the movements of another assignor, these as of :meth:`movement_numbers`."""
        self.previous_seats, self.decided_seats = self.decided_seats, self.previous_seats
        self.decided_seats[:] = seats
        self.source[:] = self.none_moved
        self.caught_up[:] = self.none_moved
        self.movements, self.n_queued, self.warmup_copies = len(movements) // FIELDS, 0, 0
        places = {task: place for place, task in enumerate(self.task_of)}
        for index in range(0, len(movements), FIELDS):
            slot = first = places[movements[index]] * self.slots
            if movements[index + 1] > 0:  # of a standby
                slot += 1
                while self.caught_up[slot] >= 0:
                    slot += 1
            self.n_queued += not self.is_queued(first // self.slots)
            self.caught_up[slot], self.source[slot], self.destination[slot] = (
                0,
                movements[index + 3],
                movements[index + 4],
            )
        for seat in range(self.tasks * self.width):
            self.warmup_copies += self.decided_seats[seat] >= 0 and seat % self.width >= self.slots

    def is_moved(self, slot: int) -> bool:
        """Tell whether the decision moves what of a task is at this slot."""
        return self.caught_up[slot] >= 0 and self.source[slot] >= 0

    def is_queued(self, place: int) -> bool:
        """Tell whether the decision moves anything of a task."""
        for slot in range(place * self.slots, (place + 1) * self.slots):
            if self.is_moved(slot):
                return True
        return False

    def movement_numbers(self) -> Column:
        """Return the decision's movements in the order of handling, as ``model.movements.Movements`` has them."""
        numbers = array("i")
        if self.movements:
            rows = [
                self._movement_rows(kind, np.asarray(slots)[:n_slots])
                for kind, (slots, n_slots) in enumerate(
                    ((self.actives, self.n_actives), (self.standby_slots, self.n_standby_slots))
                )
            ]
            numbers.frombytes(np.concatenate(rows).tobytes())
        return numbers

    def _movement_rows(self, kind: int, slots: Numbers) -> Numbers:
        """Return the movements of these slots, a row each."""
        sources = np.asarray(self.source)[slots]
        slots, sources = slots[sources >= 0], sources[sources >= 0]
        rows = np.empty((len(slots), 6), np.int32)
        rows[:, 0], rows[:, 1] = np.asarray(self.task_of)[slots // self.slots], kind
        rows[:, 2], rows[:, 3] = np.asarray(self.ways)[slots], sources
        rows[:, 4], rows[:, 5] = np.asarray(self.destination)[slots], np.asarray(self.warm_up)[slots]
        return rows

    def seats(self) -> list[list[int]]:
        """Return by stateful task the instances that have its seats; -1: none."""
        number = self.tasks * self.width
        seats: list[list[int]] = np.asarray(self.decided_seats)[:number].reshape(self.tasks, self.width).tolist()
        return seats

    # -- active tasks (rule 4) --------------------------------------------------------------------------------------

    def _pend_actives(self) -> None:
        """See which active tasks are pending, and who runs each meanwhile."""
        anew = False
        for place in range(self.tasks):
            if not self.dirty[place]:
                continue
            slot = place * self.slots
            was = self.caught_up[slot]
            self.caught_up[slot] = self._caught_up_elsewhere(place, self.destination[slot])
            anew = anew or self.caught_up[slot] != was
            if self.caught_up[slot] >= 0:
                self._stays_with(place, slot)
        if anew:
            self.n_actives = self._fill_in_order(0, 1, self.actives)

    def _stays_with(self, place: int, slot: int) -> None:
        """Say who runs a pending active task meanwhile, unless that depends on loads."""
        self.only[slot] = -1
        n_hot = self._hot(place, self.caught_up[slot])
        if n_hot:
            self.ways[slot] = SWAP_CAUGHT_UP
            if n_hot == 1:
                self.only[slot] = self.candidates[0]
        elif self.caught_up[slot]:
            self.ways[slot] = MOVE_CAUGHT_UP
            if self.caught_up[slot] == 1:
                self.only[slot] = self.ready[0]
            else:
                self.first_two[2 * place], self.first_two[2 * place + 1] = self.ready[0], self.ready[1]
        else:  # the first one of Kafka's list by (lag, instance)
            lag, begin = 0, place * self.room
            for index in range(begin, begin + self.n_reports[place]):
                if self.only[slot] < 0 or self.report_lag[index] < lag:
                    self.only[slot], lag = self.report_instance[index], self.report_lag[index]
            is_standby = self._is_target_standby(place, self.only[slot])
            self.ways[slot] = SWAP_MOST_CAUGHT_UP if is_standby else MOVE_MOST_CAUGHT_UP

    def _hot(self, place: int, number_ready: int) -> int:
        """Fill ``candidates`` with the standbys of the target that are caught up; return how many there are."""
        number = 0
        for index in range(number_ready):
            if self._is_target_standby(place, self.ready[index]):
                self.candidates[number] = self.ready[index]
                number += 1
        return number

    def _is_target_standby(self, place: int, instance: int) -> bool:
        for seat in range(place * self.width + 1, place * self.width + 1 + self.standbys):
            if self.target_seats[seat] == instance:
                return True
        return False

    def _move_actives(self) -> None:
        """Move them, one after the other.

        Every poll that accepts none refills Kafka's queue, so only a choice between several caught-up standbys sees its
        history.
        """
        self.budget, self.fed = self.warm_ups, -1
        for index in range(self.n_actives):
            slot = self.actives[index]
            place, destination, way = slot // self.slots, self.destination[slot], self.ways[slot]
            source = self.only[slot]
            if source < 0:
                source = self._least_hot(index) if way == SWAP_CAUGHT_UP else self._least_loaded(place, slot)
            self.decided_seats[place * self.width] = source
            warm_up = False
            if way in (SWAP_CAUGHT_UP, SWAP_MOST_CAUGHT_UP):
                self._swap(place, source, destination)
            else:
                warm_up = self.budget > 0
                self.budget -= 1
                self.counts[source] += 1
                if warm_up:
                    self.decided_seats[place * self.width + self.slots] = destination
                    self.warmup_copies += 1
                else:
                    self.counts[destination] -= 1
            if source != self.source[slot] or warm_up != self.warm_up[slot]:
                self.source[slot], self.warm_up[slot], self.reseated[place] = source, warm_up, 1
        self.movements = self.n_queued = self.n_actives

    def _least_hot(self, index: int) -> int:
        """Return the caught-up standby that Kafka's queue gives out for the movement at this place in the order."""
        slot = self.actives[index]
        place = slot // self.slots
        self._feed(self.actives, index, self.target_counts)
        n_hot = self._hot(place, self._fill_ready(place))
        source = self.queue.choose(self.candidates, n_hot)
        if source < 0:
            self._feed_all(self.actives, index, self.target_counts)
            source = self.queue.choose(self.candidates, n_hot)
        return source

    def _swap(self, place: int, source: int, destination: int) -> None:
        """Let the destination keep the source's standby."""
        for seat in range(place * self.width + 1, place * self.width + 1 + self.standbys):
            if self.decided_seats[seat] == source:
                self.decided_seats[seat] = destination

    def _least_loaded(self, place: int, slot: int) -> int:
        """Return the first of those caught up, two or more, that has the least load."""
        if self.caught_up[slot] == 2:
            source, second = self.first_two[2 * place], self.first_two[2 * place + 1]
            load, least = self._load(second), self._load(source)
            return second if load < least else source
        number, source, least = self._fill_ready(place), -1, 0.0
        for index in range(number):
            load = self._load(self.ready[index])
            if source < 0 or load < least:
                source, least = self.ready[index], load
        return source

    def _load(self, instance: int) -> float:
        return float(self.counts[instance]) / self.capacities[instance]

    # -- standbys (rule 5) ------------------------------------------------------------------------------------------

    def _pend_standbys(self) -> None:
        """See which standbys are pending, and for how many there is a choice who has them meanwhile."""
        anew = False
        for place in range(self.tasks):
            if not self.dirty[place] and not self.reseated[place]:
                continue
            n_pending = 0
            for slot in range(place * self.slots + 1, (place + 1) * self.slots):
                was, was_for = self.caught_up[slot], self.destination[slot]
                self._pend_standby(place, slot)
                n_pending += self.caught_up[slot] >= 0
                anew = anew or self.caught_up[slot] != was or self.destination[slot] != was_for
            self.n_several += (n_pending > 1) - self.has_several[place]
            self.has_several[place] = n_pending > 1
        if anew:
            self.n_standby_slots = self._fill_in_order(1, self.slots, self.standby_slots)

    def _pend_standby(self, place: int, slot: int) -> None:
        """Say whether a standby is pending, how many are free to have it, and who does unless that depends on loads."""
        destination = self.decided_seats[place * self.width + slot - place * self.slots]
        self.destination[slot], self.caught_up[slot], self.free[slot], self.only[slot] = destination, -1, 0, -1
        if destination >= 0:
            self.caught_up[slot] = self._caught_up_elsewhere(place, destination)
        if self.caught_up[slot] < 0:
            return
        self.free[slot] = self._free(place, self.caught_up[slot])
        self.ways[slot] = MOVE_CAUGHT_UP if self.free[slot] else MOVE_MOST_CAUGHT_UP
        if self.free[slot] == 1:
            self.only[slot] = self.candidates[0]
        elif self.free[slot] == 0 and not self.caught_up_only:
            self.only[slot] = self._first_free_by_lag(place, destination)

    def _move_standbys(self) -> None:
        """Move them, unless no instance may have one meanwhile; the queue's history counts only for choices."""
        self.fed = -1
        for index in range(self.n_standby_slots):
            slot = self.standby_slots[index]
            place = slot // self.slots
            source = self.only[slot]
            if self.free[slot] > 1 or (self.has_several[place] and self.moved_in[place] == self.number):
                source = self._keeps_standby(index)
            elif self.has_several[place]:
                self.ways[slot] = MOVE_CAUGHT_UP if self.free[slot] else MOVE_MOST_CAUGHT_UP
            self.source[slot] = source
            if source < 0:
                continue
            seat = place * self.width + slot - place * self.slots
            warm_up = self.budget > 0
            self.warm_up[slot] = warm_up
            self.budget -= 1
            self.decided_seats[seat] = source
            if warm_up:
                self.decided_seats[seat + self.slots] = self.destination[slot]
                self.warmup_copies += 1
            self.movements += 1
            if self.caught_up[place * self.slots] < 0 and self.moved_in[place] != self.number:
                self.n_queued += 1
            self.moved_in[place] = self.number

    def _keeps_standby(self, index: int) -> int:
        """Return who has the standby meanwhile that is at this place in the order, or -1.

        Another standby of the task may have been moved since it was seen who is free.
        """
        slot = self.standby_slots[index]
        place, destination = slot // self.slots, self.destination[slot]
        free = self._free(place, self._fill_ready(place))
        self.ways[slot] = MOVE_CAUGHT_UP if free else MOVE_MOST_CAUGHT_UP
        if free == 0:
            return -1 if self.caught_up_only else self._first_free_by_lag(place, destination)
        if free == 1:
            return self.candidates[0]
        self._feed(self.standby_slots, index, self.counts)
        source = self.queue.choose(self.candidates, free)
        if source < 0:
            self._feed_all(self.standby_slots, index, self.counts)
            source = self.queue.choose(self.candidates, free)
        return source

    def _free(self, place: int, n_ready: int) -> int:
        """Fill ``candidates`` with who of those caught up has no copy of a task; return how many have none."""
        number = 0
        for index in range(n_ready):
            if not self._holds(place, self.ready[index]):
                self.candidates[number] = self.ready[index]
                number += 1
        return number

    def _holds(self, place: int, instance: int) -> bool:
        """Tell whether one of a task's seats is on an instance."""
        for seat in range(place * self.width, (place + 1) * self.width):
            if self.decided_seats[seat] == instance:
                return True
        return False

    def _first_free_by_lag(self, place: int, destination: int) -> int:
        """Return the first one before the destination in Kafka's list by lag that has no copy, or -1."""
        whole, least, source, own_report = self.end_offset_sums[place], 0, -1, self._report_of(place, destination)
        lag, begin = whole if own_report < 0 else self.report_lag[own_report], place * self.room
        for index in range(begin, begin + self.n_reports[place]):
            instance, other_lag = self.report_instance[index], self.report_lag[index]
            if other_lag > lag or (other_lag == lag and instance >= destination) or self._holds(place, instance):
                continue
            if source < 0 or other_lag < least:
                source, least = instance, other_lag
        if lag != whole:
            return source
        for cold in range(destination):
            if self._report_of(place, cold) < 0 and not self._holds(place, cold):
                if source < 0 or whole < least or (whole == least and cold < source):
                    source = cold
                break
        return source

    # -- what Kafka's queue has seen --------------------------------------------------------------------------------

    def _feed(self, order: Column, index: int, counts: Column) -> None:
        """Let the queue see the movements before this one, from the last poll on that accepted none.

        ``counts`` are the tasks of each instance before the first one.
        """
        if self.fed < 0:
            self.fed = index
            while self.fed > 0:
                self.fed -= 1
                if self._refills(order[self.fed]):
                    break
            self.tally[:] = counts
            for earlier in range(self.fed):
                self._count(order[earlier])
            self.queue.begin(self.tally, self.fed == 0)
        for earlier in range(self.fed, index):
            self._handle(order[earlier])
        self.fed = index

    def _feed_all(self, order: Column, index: int, counts: Column) -> None:
        """Let the queue see all movements before this one."""
        self.queue.begin(counts, True)
        for earlier in range(index):
            self._handle(order[earlier])

    def _refills(self, slot: int) -> int:
        """Return how many polls for a movement accept none.

        For an active task Kafka asks for a caught-up standby first, then for whoever is caught up.
        """
        way = self.ways[slot]
        if slot % self.slots:
            return int(way != MOVE_CAUGHT_UP)
        if way == SWAP_CAUGHT_UP:
            return 0
        return 1 if way == MOVE_CAUGHT_UP else 2

    def _gain(self, slot: int) -> int:
        """Return how many tasks more the source of a movement has then."""
        return self.source[slot] >= 0 and self.ways[slot] >= MOVE_CAUGHT_UP

    def _count(self, slot: int) -> None:
        """Count a movement."""
        if self._gain(slot):
            self.tally[self.source[slot]] += 1
            if not self.warm_up[slot]:
                self.tally[self.destination[slot]] -= 1

    def _handle(self, slot: int) -> None:
        """Let the queue see a movement."""
        gain, way = self._gain(slot), self.ways[slot]
        polled = way in (SWAP_CAUGHT_UP, MOVE_CAUGHT_UP)
        loss = gain and not self.warm_up[slot]
        self.queue.handle(self.source[slot], self.destination[slot], gain, loss, self._refills(slot), polled)

    # -- who is caught up, and what comes first ---------------------------------------------------------------------

    def _report_of(self, place: int, instance: int) -> int:
        """Return where an instance's report of a task is, or -1."""
        for index in range(place * self.room, place * self.room + self.n_reports[place]):
            if self.report_instance[index] == instance:
                return index
        return -1

    def _caught_up_elsewhere(self, place: int, instance: int) -> int:
        """Fill ``ready`` with who is caught up on a task, and return how many are.

        Return -1 if this instance is caught up itself, or no other is further.
        """
        own_report = self._report_of(place, instance)
        lag = self.end_offset_sums[place] if own_report < 0 else self.report_lag[own_report]
        if lag <= self.limit and not (self.caught_up_only and lag == UNKNOWN_LAG):  # nothing sorts before UNKNOWN
            return -1
        number = self._fill_ready(place)
        if number:
            return number
        if self.caught_up_only:
            return -1
        for index in range(place * self.room, place * self.room + self.n_reports[place]):
            if self.report_lag[index] < lag:
                return 0
        return -1

    def _fill_ready(self, place: int) -> int:
        """Fill ``ready`` with who is caught up on a task, in instance order, and return how many are."""
        number = 0
        if self.caught_up_only and self.end_offset_sums[place] <= self.limit:  # who has nothing, too
            for instance in range(self.instances):
                index = self._report_of(place, instance)
                if index < 0 or self.report_lag[index] != UNKNOWN_LAG:
                    self.ready[number] = instance
                    number += 1
            return number
        for index in range(place * self.room, place * self.room + self.n_reports[place]):
            if self.report_lag[index] <= self.limit and self.report_lag[index] != UNKNOWN_LAG:
                self.ready[number] = self.report_instance[index]
                number += 1
        return number

    def _fill_in_order(self, first: int, end: int, order: Column) -> int:
        """Fill ``order`` with the pending ones of these slots of each task; return how many there are.

        They come by (number of caught-up instances, task), equal ones as ``java.util.PriorityQueue`` has them.
        """
        slots, caught_up = self.all_slots[:, first:end].ravel(), np.asarray(self.caught_up)
        pending = slots[caught_up[slots] >= 0]
        numbers, number = caught_up[pending], len(pending)
        if self.in_heap_order or (first and self.n_several):
            np.asarray(self.queue_keys)[pending] = numbers * np.int64(self.tasks) + pending // self.slots
            # Kafka offers them by (destination, task)
            np.asarray(order)[:number] = pending[np.asarray(self.destination)[pending].argsort(kind="stable")]
            self._as_java(order, number)
        else:
            short = numbers.astype(np.int16) if self.instances < SHORT else numbers  # sorted without comparing them
            np.asarray(order)[:number] = pending[short.argsort(kind="stable")]
        return number

    def _as_java(self, order: Column, number: int) -> None:
        """Put slots that are offered in this order in that in which a queue gives them out, or in that of its array."""
        for index in range(number):
            self._rise(index, order[index])
        if self.in_heap_order:
            for index in range(number):
                order[index] = self.heap[index]
            return
        for index in range(number):
            order[index] = self.heap[0]
            size = number - 1 - index
            if size:
                self._sink(size, self.heap[size])

    def _rise(self, index: int, slot: int) -> None:
        """Put a slot at this place of the heap, or above whoever comes later."""
        key = self.queue_keys[slot]
        while index > 0:
            parent = (index - 1) // 2
            if key >= self.queue_keys[self.heap[parent]]:
                break
            self.heap[index] = self.heap[parent]
            index = parent
        self.heap[index] = slot

    def _sink(self, size: int, slot: int) -> None:
        """Put a slot at the top of the heap, or below whoever comes sooner."""
        key, index, child = self.queue_keys[slot], 0, 1
        while child < size:
            if child + 1 < size and self.queue_keys[self.heap[child]] > self.queue_keys[self.heap[child + 1]]:
                child += 1
            if key <= self.queue_keys[self.heap[child]]:
                break
            self.heap[index] = self.heap[child]
            index = child
            child = 2 * index + 1
        self.heap[index] = slot
