# cython: boundscheck=False, wraparound=False, initializedcheck=False, annotation_typing=False
"""One decision: where every stateful task goes, which consumer has it, and what its owner has to give up first.

Source: page ``rules``, "Split over threads", "One cooperative rebalance". The seats on instances:
``engine.task_movement``.

What neither copies nor seats changed since the decision before is taken over from there.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kstream_plan.engine.codes import ACTIVE, NONE, STANDBY, TEMPORARY, WARMUP
from kstream_plan.engine.columns import zeros
from kstream_plan.engine.copies import Copies
from kstream_plan.engine.load import Load
from kstream_plan.engine.task_movement import TaskMovement
from kstream_plan.engine.thread_assignment import ThreadAssignment
from kstream_plan.model import Group, Holding

Column: TypeAlias = "array[int]"
Numbers: TypeAlias = "npt.NDArray[np.int32]"


class Decision:
    """Seats of every stateful task on instances and consumers; a draft.

    Args:
        copies: what is on disk, and who owns what.
        group: who takes part.
        movement: the seats on instances.
        split: what deals an instance's tasks, by their indices, to its consumers.
        roles_apart: as releases before 3.2 do, copies are dealt as if there were no active tasks.
        stopping: consumers that give up everything before they join: what they had is unassigned.
        any_temporary: as releases before 3.5.2 do, the new owner of what is withheld holds it as a standby meanwhile
            even if its instance has no state of it.
    """

    def __init__(
        self,
        copies: Copies,
        group: Group,
        movement: TaskMovement,
        split: ThreadAssignment,
        *,
        roles_apart: bool = False,
        stopping: Iterable[int] = (),
        any_temporary: bool = False,
    ) -> None:
        self.copies, self.movement, self.split = copies, movement, split
        self.roles_apart, self.any_temporary = roles_apart, any_temporary
        self.tasks, self.instances, self.consumers = len(group.stateful), len(group.instances), len(group.consumer_ids)
        self.slots, self.width = self.movement.slots, self.movement.width
        seats = self.tasks * self.width
        self.consumer, self.reporters, self.next_dealt = zeros("i", seats), zeros("i", seats), zeros("i", seats)
        self.touched, self.unlike = zeros("b", self.instances + 1), zeros("b", self.tasks)  # the first is no instance
        self.first_dealt = array("i", [-1]) * (2 * self.instances)
        self.spread = Load(group)
        self.load, self.copy_load = zeros("i", self.consumers), zeros("i", self.consumers)
        self.stopping = zeros("b", self.consumers)
        for consumer in stopping:
            self.stopping[consumer] = 1
        self.withheld_by, self.none_withheld = (
            array("i", [-1]) * max(1, self.tasks),
            array("i", [-1]) * max(1, self.tasks),
        )
        self.temporary, self.is_changed = zeros("b", self.tasks), zeros("b", self.tasks)
        self.is_revoking, self.is_waiting = zeros("b", self.consumers), zeros("b", self.consumers)
        self.no_flags, self.no_instances = zeros("b", self.tasks), zeros("b", self.instances + 1)
        self.no_consumers = zeros("b", self.consumers)
        self.seat_instance, self.seat_consumer = zeros("i", self.width), zeros("i", self.width)
        self.seat_role = zeros("b", self.width)
        self.warmup_copies = self.extra_copies = 0
        self.follow_up = False

    def decide(self) -> None:
        """Decide where every task goes, split it over the consumers, and withhold what its owner has to give up."""
        copies = self.copies
        for place in range(self.tasks):
            if copies.dirty[place]:
                self._pass_lags_on(place)
        self.movement.move()
        self.warmup_copies = self.movement.warmup_copies
        self._compare()
        self._split_over_consumers()
        self._withhold()
        copies.dirty[:] = self.no_flags

    def adopt(self, consumers: Column, movements: Column) -> None:
        """Take over what another assignor decided, and withhold what its owner has to give up first.

        Args:
            consumers: by seat the consumer that has it; -1: none.
            movements: as ``model.movements.Movements`` has them, as numbers.
        """
        instances = array("i", [self.copies.instance_of[consumer] if consumer >= 0 else -1 for consumer in consumers])
        self.movement.adopt(instances, movements)
        self.warmup_copies = self.movement.warmup_copies
        self._compare()
        for seat in range(self.tasks * self.width):
            if self.consumer[seat] != consumers[seat]:
                self.consumer[seat] = consumers[seat]
                self.unlike[seat // self.width] = 1
        self._withhold()
        self.copies.dirty[:] = self.no_flags

    def _pass_lags_on(self, place: int) -> None:
        """Report the lags of a task's copies to the movements."""
        copies = self.copies
        self.movement.forget(place)
        for index in range(place * copies.room, place * copies.room + copies.number[place]):
            if copies.lag[index] != NONE:
                self.movement.report(place, copies.instance[index], copies.lag[index])

    def _compare(self) -> None:
        """See of which tasks a copy or a seat is not as before, and whose split over its consumers that may change."""
        dirty, seats, previous_seats = self.copies.dirty, self.movement.decided_seats, self.movement.previous_seats
        self.unlike[:] = self.no_flags
        self.touched[:] = self.no_instances
        for place in range(self.tasks):
            for seat in range(place * self.width, (place + 1) * self.width):
                if dirty[place] or seats[seat] != previous_seats[seat]:
                    self.unlike[place] = 1
                    self._touch(place, seat)

    def _touch(self, place: int, seat: int) -> None:
        """See whose split over its consumers a seat may change, and who reported the copy there."""
        now, was, is_active = (
            self.movement.decided_seats[seat],
            self.movement.previous_seats[seat],
            seat == place * self.width,
        )
        if was >= 0:
            self.touched[was + 1] = 1
            self.spread.count(self.copies.task_of[place], is_active, was, -1)
        if now >= 0:
            self.touched[now + 1] = 1
            self.spread.count(self.copies.task_of[place], is_active, now, 1)
            index = self.copies.slot_of(place, now)
            self.reporters[seat] = -1 if index < 0 else self.copies.reporter[index]

    # -- the split over consumers -----------------------------------------------------------------------------------

    def _split_over_consumers(self) -> None:
        """Give the seats of each instance that is touched to its consumers: active tasks, then copies."""
        self._list_dealt()
        for instance in range(self.instances):
            if self.touched[instance + 1]:
                for consumer in range(self.copies.first_of[instance], self.copies.first_of[instance + 1]):
                    self.load[consumer] = self.copy_load[consumer] = 0
                self._deal(instance, self.first_dealt[2 * instance], True)
                self._deal(instance, self.first_dealt[2 * instance + 1], False)

    def _list_dealt(self) -> None:
        """List the seats to deal of each instance, active tasks and copies apart, in task order."""
        seats, touched, width = self.movement.decided_seats, self.touched, self.width
        for first in range(2 * self.instances):
            self.first_dealt[first] = -1
        for seat in range(self.tasks * width - 1, -1, -1):
            if touched[seats[seat] + 1]:
                first = 2 * seats[seat] + (seat % width > 0)
                self.next_dealt[seat] = self.first_dealt[first]
                self.first_dealt[first] = seat

    def _deal(self, instance: int, first: int, active: bool) -> None:
        """Deal an instance's seats; its lags count unless every consumer gets back what it reported."""
        split, begin, width = self.split, self.copies.first_of[instance], self.width
        load = self.load if active or not self.roles_apart else self.copy_load
        threads, index, number = self.copies.first_of[instance + 1] - begin, first, 0
        split.clear()
        while index >= 0:
            split.add(self.copies.task_of[index // width], max(-1, self.reporters[index] - begin))
            if self.copies.any_more_reporters:
                self._add_more_reporters(index // width, instance, begin)
            index = self.next_dealt[index]
        if not split.give_back(load, begin, threads):
            index = first
            while index >= 0:
                split.lags[number] = self.copies.lag_on(index // width, instance)
                number, index = number + 1, self.next_dealt[index]
            split.deal(load, begin, threads, active)
        number, index = 0, first
        while index >= 0:
            if self.consumer[index] != begin + split.thread_of[number]:
                self.consumer[index] = begin + split.thread_of[number]
                self.unlike[index // width] = 1
            number, index = number + 1, self.next_dealt[index]

    def _add_more_reporters(self, place: int, instance: int, begin: int) -> None:
        for reporter in self.copies.more_reporters.get((place, instance), ()):
            self.split.add_reporter(reporter - begin)

    # -- what members then hold -------------------------------------------------------------------------------------

    def _withhold(self) -> None:
        """Withhold what its present owner has to give up first, and see whose seats change."""
        self.follow_up, self.extra_copies = False, self.warmup_copies
        self.is_revoking[:] = self.no_consumers
        self.is_waiting[:] = self.no_consumers
        self.withheld_by[:] = self.none_withheld
        self.temporary[:] = self.no_flags
        self.is_changed[:] = self.no_flags
        for place in range(self.tasks):
            if self.unlike[place]:
                self.copies.stale[place] = 1
                self._withhold_task(place)
                self.extra_copies += self.temporary[place]

    def disturb(self, revoking_consumers: Iterable[int], waiting_consumers: Iterable[int]) -> None:
        """Let these consumers give up, or wait for, stateless tasks besides."""
        for consumer in revoking_consumers:
            self.is_revoking[consumer], self.follow_up = 1, True
        for consumer in waiting_consumers:
            self.is_waiting[consumer], self.follow_up = 1, True

    def _withhold_task(self, place: int) -> None:
        """Withhold a task, or do not; see whether its copies are where its seats are."""
        copies, n_held, first = self.copies, 0, place * self.width
        old, new, instance = copies.owner[place], self.consumer[first], self.movement.decided_seats[first]
        if old >= 0 and instance < 0 and not self.stopping[old]:
            self.is_revoking[old], self.follow_up = 1, True  # for whom is unknown
        elif old >= 0 and old != new and not self.stopping[old]:
            self.withheld_by[place], self.follow_up = old, True
            self.is_revoking[old] = self.is_waiting[new] = 1
            slot = copies.slot_of(place, instance)
            has_state = self.any_temporary or (slot >= 0 and copies.lag[slot] != NONE)
            self.temporary[place] = has_state and copies.instance_of[old] != instance
        number = self.fill_seats(place)
        for slot in range(place * copies.room, place * copies.room + copies.number[place]):
            n_held += copies.consumer[slot] >= 0
        self.is_changed[place] = n_held != number
        for seat in range(number):
            slot = copies.slot_of(place, self.seat_instance[seat])
            if (
                slot < 0
                or copies.consumer[slot] != self.seat_consumer[seat]
                or copies.role[slot] != self.seat_role[seat]
            ):
                self.is_changed[place] = 1

    def revoked_by(self, place: int) -> int:
        """Return the consumer that gave a task up, for the decision before or before it joined for this one, or -1."""
        owner = self.copies.owner[place]
        return owner if owner >= 0 and self.stopping[owner] else self.copies.revoked_by[place]

    def fill_seats(self, place: int) -> int:
        """Fill ``seat_instance``, ``seat_consumer`` and ``seat_role`` with who holds a task after the rebalance.

        They come by instance. Return how many do.
        """
        first, number = place * self.width, 0
        for seat in range(first, first + self.width):
            instance, role = self.movement.decided_seats[seat], self.role_of(seat - first)
            if instance < 0:
                continue
            if role == ACTIVE and self.withheld_by[place] >= 0:
                if not self.temporary[place]:
                    continue
                role = TEMPORARY
            index = number
            while index and self.seat_instance[index - 1] > instance:
                self.seat_instance[index], self.seat_consumer[index] = (
                    self.seat_instance[index - 1],
                    self.seat_consumer[index - 1],
                )
                self.seat_role[index] = self.seat_role[index - 1]
                index -= 1
            self.seat_instance[index], self.seat_consumer[index], self.seat_role[index] = (
                instance,
                self.consumer[seat],
                role,
            )
            number += 1
        return number

    def role_of(self, seat: int) -> int:
        """Return what one of a task's seats makes whoever has it: the second half of them are warm-ups."""
        if seat == 0:
            return ACTIVE
        return STANDBY if seat < self.slots else WARMUP

    def loads(self) -> Numbers:
        """Return the stateful tasks that each consumer has; with ``roles_apart`` the active ones."""
        return np.array(self.load)[: self.consumers]

    # -- as objects -------------------------------------------------------------------------------------------------

    def decided_by(self, instance: bool) -> tuple[Holding, ...]:
        """Return what was decided, by consumer, or by ``instance``."""
        width, task_of = self.width, self.copies.task_of
        members = self.movement.decided_seats if instance else self.consumer
        tasks_by_role: list[tuple[list[int], ...]] = [
            ([], [], []) for _ in range(self.instances if instance else self.consumers)
        ]
        for seat in range(self.tasks * width):
            if self.movement.decided_seats[seat] >= 0:
                tasks_by_role[members[seat]][self.role_of(seat % width)].append(task_of[seat // width])
        return tuple([Holding(*map(tuple, roles)) for roles in tasks_by_role])

    def held_after(self) -> tuple[Holding, ...]:
        """Return what every consumer holds of the stateful tasks after the rebalance."""
        roles: list[tuple[list[int], ...]] = [([], [], [], []) for _ in range(self.consumers)]
        for place in range(self.tasks):
            for seat in range(self.fill_seats(place)):
                roles[self.seat_consumer[seat]][self.seat_role[seat]].append(self.copies.task_of[place])
        return tuple([Holding(*map(tuple, tasks_by_role)) for tasks_by_role in roles])

    def withheld_tasks(self) -> dict[int, int]:
        """Return by task the consumer that has to give it up first."""
        return self.copies.by_task(self.withheld_by) if self.follow_up else {}

    def revoking_consumers(self) -> Iterable[int]:
        """Return the consumers that give up an active task."""
        return self._flagged_consumers(self.is_revoking)

    def waiting_consumers(self) -> Iterable[int]:
        """Return the consumers from which an active task is withheld."""
        return self._flagged_consumers(self.is_waiting)

    def _flagged_consumers(self, flags: Column) -> list[int]:
        return [consumer for consumer in range(self.consumers) if flags[consumer]] if self.follow_up else []
