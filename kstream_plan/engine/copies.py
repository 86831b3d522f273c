# cython: boundscheck=False, wraparound=False, initializedcheck=False, annotation_typing=False
"""The copies of a group's stateful tasks in columns: what is on disk, and who owns what.

A stateful task's place is its position among the stateful ones. Each has the same number of slots, a copy each, of
which the first so many are in use, by instance.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from kstream_plan.engine.codes import ACTIVE, FAR_MS, NO_ROLE, NONE, STANDBY
from kstream_plan.engine.columns import zeros
from kstream_plan.engine.state_cleaner import StateCleaner
from kstream_plan.model import LATEST, Copy, Group, GroupState, Holding, Holdings
from kstream_plan.model.settings import MAX_LONG

Column: TypeAlias = "array[int]"


class Copies:
    """What of a group's stateful tasks is on disk, and who owns them; a draft.

    Args:
        group: who takes part.
        limit: ``acceptable.recovery.lag``.
        cleaner: what deletes left-over state.
        tasks: those that are in the columns, in order; ``None``: all that are stateful.
    """

    def __init__(self, group: Group, limit: int, cleaner: StateCleaner, tasks: Sequence[int] | None = None) -> None:
        tasks = group.stateful if tasks is None else tasks
        self.tasks, self.instances, self.consumers = len(tasks), len(group.instances), len(group.consumer_ids)
        self.limit = limit
        self.task_of = array("i", tasks)
        self.instance_of = array("i", group.instance_of)
        self.first_of = array("i", [*(consumers.start for consumers in group.consumers_of), self.consumers])
        self.capacity = array("i", group.capacities)
        self.whole = array("q", [group.end_offset_sums[task] for task in tasks])
        self.is_size_known = array("b", [group.tasks[task].end_offset_known for task in tasks])
        self.cleaner = cleaner
        self.process_ids = [instance.process_id for instance in group.instances]
        self.begin_ms, self.started_ms = 0, zeros("q", self.instances)
        self.number, self.owner = zeros("i", self.tasks), zeros("i", self.tasks)
        self.revoked_by, self.unprocessed = zeros("i", self.tasks), zeros("q", self.tasks)
        self.rests, self.dirty, self.stale = zeros("b", self.tasks), zeros("b", self.tasks), zeros("b", self.tasks)
        self.more_reporters: dict[tuple[int, int], tuple[int, ...]] = {}
        self.any_more_reporters = False
        self.room = 4
        #: by task of the group, its copies as a state has them; ``None``: they are not made
        self.made_copies: list[tuple[Copy, ...] | None] = [()] * len(group.tasks)
        self._make_slots()
        self.count_from(0)

    def _make_slots(self) -> None:
        slots = self.tasks * self.room
        self.instance, self.consumer, self.reporter = zeros("i", slots), zeros("i", slots), zeros("i", slots)
        self.role, self.lag, self.remaining = zeros("b", slots), zeros("q", slots), zeros("q", slots)
        self.left_at_end, self.left_at_rejoin, self.placed_in = zeros("q", slots), zeros("q", slots), zeros("q", slots)
        self.lost_at_ms, self.made_at_ms, self.grown = zeros("q", slots), zeros("q", slots), zeros("q", slots)

    def count_from(self, begin_ms: int) -> None:
        """Count times from this one of the plan's on: numbers of 64 bits hold what is further away only so far."""
        by_ms, self.begin_ms = begin_ms - self.begin_ms, begin_ms
        for instance, process_id in enumerate(self.process_ids):
            self.started_ms[instance] = self._clock_ms(self.cleaner.started_ms.get(process_id))
        for times in (np.asarray(self.lost_at_ms), np.asarray(self.made_at_ms)) if by_ms else ():
            is_known = times != NONE
            times[is_known] = np.maximum(times[is_known] - min(by_ms, FAR_MS), -FAR_MS)
            for task in self.task_of[: self.tasks]:
                self.made_copies[task] = None

    def _clock_ms(self, at_ms: int | None) -> int:
        """Return a time of the plan as it is counted here."""
        return NONE if at_ms is None else min(max(at_ms - self.begin_ms, -FAR_MS), FAR_MS)

    # -- from and to objects ----------------------------------------------------------------------------------------

    def load_state(self, state: GroupState, revoked_by: Mapping[int, int]) -> None:
        """Take over a state, and which consumer the last assignment made give up each task.

        Who holds a stateful task has a copy of it, and each is active at one at most.
        """
        roles: dict[tuple[int, int], int] = {}
        for consumer, holding in enumerate(Holdings.of(state.group, state.holdings).stateful):
            for role, of_role in enumerate(holding):
                for task in of_role:
                    roles[task, consumer] = role
        if state.at_ms >= FAR_MS // 2:
            self.count_from(state.at_ms)
        self._load(state.copies, roles, state.waiting)
        for place in range(self.tasks):
            self.revoked_by[place] = revoked_by.get(self.task_of[place], -1)

    def load_copies(self, copies: Mapping[int, tuple[Copy, ...]], unprocessed: Mapping[int, int]) -> None:
        """Take over copies by task, whose roles matter only so far as they are active, and what waits to be written."""
        roles = {
            (task, copy.consumer): ACTIVE if copy.active else STANDBY
            for task, of_task in copies.items()
            for copy in of_task
            if copy.consumer is not None
        }
        self._load(copies, roles, unprocessed)

    def _load(
        self,
        copies: Mapping[int, tuple[Copy, ...]] | Sequence[tuple[Copy, ...]],
        roles: dict[tuple[int, int], int],
        unprocessed: Mapping[int, int],
    ) -> None:
        """Take over copies by task, with the ``roles`` in which consumers hold them."""
        self.more_reporters = {}
        while max([len(copies[task]) for task in self.task_of[: self.tasks]], default=0) >= self.room:
            self.widen()
        for place in range(self.tasks):
            task = self.task_of[place]
            self.unprocessed[place] = unprocessed.get(task, 0)
            self.rests[place], self.dirty[place], self.stale[place] = 0, 1, 1
            self._load_task(place, copies[task], roles)
        self.any_more_reporters = len(self.more_reporters) > 0

    def _load_task(self, place: int, copies: tuple[Copy, ...], roles: dict[tuple[int, int], int]) -> None:
        """Take over a task's copies, with the ``roles`` in which they are held."""
        self.made_copies[self.task_of[place]] = copies
        self.owner[place], self.number[place] = -1, 0
        for copy in copies:
            slot = place * self.room + self.number[place]
            self.number[place] += 1
            self._fill(slot, copy)
            if len(copy.reporters) > 1:
                self.more_reporters[place, copy.instance] = copy.reporters[1:]
            if copy.consumer is None:
                continue
            self.role[slot] = roles[self.task_of[place], copy.consumer]
            if self.role[slot] == ACTIVE:
                self.owner[place] = self.consumer[slot]

    def _fill(self, slot: int, copy: Copy) -> None:
        self.instance[slot] = copy.instance
        self.lag[slot] = NONE if copy.lag is None else copy.lag
        self.reporter[slot] = copy.reporters[0] if copy.reporters else -1
        self.remaining[slot], self.placed_in[slot] = copy.remaining, copy.placed_in
        self.consumer[slot] = -1 if copy.consumer is None else copy.consumer
        self.lost_at_ms[slot], self.made_at_ms[slot] = self._clock_ms(copy.lost_at_ms), self._clock_ms(copy.made_at_ms)
        self.role[slot] = NO_ROLE

    def as_copies(self) -> tuple[tuple[Copy, ...], ...]:
        """Return the copies of every task of the group, as a state has them; what has not changed is the very same."""
        for place in range(self.tasks):
            if self.made_copies[self.task_of[place]] is None:
                begin, end = place * self.room, place * self.room + self.number[place]
                self.made_copies[self.task_of[place]] = tuple([self._copy(place, slot) for slot in range(begin, end)])
        return tuple([of_task or () for of_task in self.made_copies])

    def change(self, place: int) -> None:
        """Note that a copy of a task is not as it was."""
        self.dirty[place] = self.stale[place] = 1
        self.made_copies[self.task_of[place]] = None

    def unsettled_tasks(self) -> frozenset[int]:
        """Return the tasks of which not all copies are held, whole, and reported by their holders alone."""
        return frozenset(self.task_of[place] for place in range(self.tasks) if not self._is_settled(place))

    def _is_settled(self, place: int) -> bool:
        begin = place * self.room
        for slot in range(begin, begin + self.number[place]):
            if (
                self.consumer[slot] < 0
                or self.remaining[slot]
                or not self.is_reported_by(place, slot, self.consumer[slot])
            ):
                return False
            if self.lag[slot] != LATEST if self.role[slot] == ACTIVE else self.lag[slot] < 0:
                return False
        return self.number[place] > 0

    def _copy(self, place: int, slot: int) -> Copy:
        reporters: tuple[int, ...] = ()
        if self.reporter[slot] >= 0:
            reporters = (self.reporter[slot], *self.more_reporters.get((place, self.instance[slot]), ()))
        return Copy(
            self.instance[slot],
            None if self.lag[slot] == NONE else self.lag[slot],
            reporters,
            self.remaining[slot],
            None if self.consumer[slot] < 0 else self.consumer[slot],
            self.role[slot] == ACTIVE,
            self.placed_in[slot],
            None if self.lost_at_ms[slot] == NONE else self.begin_ms + self.lost_at_ms[slot],
            None if self.made_at_ms[slot] == NONE else self.begin_ms + self.made_at_ms[slot],
        )

    def owned(self) -> tuple[Holding, ...]:
        """Return what every consumer holds of the stateful tasks."""
        roles: list[tuple[list[int], ...]] = [([], [], [], []) for _ in range(self.consumers)]
        for place in range(self.tasks):
            for slot in range(place * self.room, place * self.room + self.number[place]):
                if self.consumer[slot] >= 0:
                    roles[self.consumer[slot]][self.role[slot]].append(self.task_of[place])
        return tuple([Holding(*map(tuple, tasks_by_role)) for tasks_by_role in roles])

    def revoked_tasks(self) -> dict[int, int]:
        """Return by task the consumer that gave it up for the decision before."""
        return self.by_task(self.revoked_by)

    def unprocessed_input(self) -> dict[int, int]:
        """Return by task the records of its input that wait, as a state has them."""
        return {self.task_of[place]: self.unprocessed[place] for place in range(self.tasks) if self.unprocessed[place]}

    def by_task(self, consumers: Column) -> dict[int, int]:
        """Return consumers, which are by place, by task where there are any."""
        return {self.task_of[place]: consumers[place] for place in range(self.tasks) if consumers[place] >= 0}

    def flagged(self, flags: Column) -> set[int]:
        """Return the tasks that have a flag; flags are by place."""
        return {self.task_of[place] for place in range(self.tasks) if flags[place]}

    # -- look-ups ---------------------------------------------------------------------------------------------------

    def slot_of(self, place: int, instance: int) -> int:
        """Return the slot of the copy that an instance has of a task, or -1."""
        for slot in range(place * self.room, place * self.room + self.number[place]):
            if self.instance[slot] == instance:
                return slot
        return -1

    def lag_on(self, place: int, instance: int) -> int:
        """Return how far behind an instance is on a task as Kafka sees it: what reported nothing lags by the whole."""
        slot = self.slot_of(place, instance)
        return self.whole[place] if slot < 0 or self.lag[slot] == NONE else self.lag[slot]

    def is_caught_up(self, lag: int) -> bool:
        """Tell whether that is within ``acceptable.recovery.lag``."""
        return lag == LATEST or 0 <= lag <= self.limit or self.limit == MAX_LONG

    def report(self, place: int, slot: int, reporter: int) -> None:
        """Let one consumer report a copy, or none (-1)."""
        self.reporter[slot] = reporter
        if self.any_more_reporters and self.more_reporters.pop((place, self.instance[slot]), None) is not None:
            self.dirty[place] = 1

    def is_reported_by(self, place: int, slot: int, consumer: int) -> bool:
        """Tell whether a consumer has reported a copy, alone."""
        if self.reporter[slot] != consumer:
            return False
        return not self.any_more_reporters or (place, self.instance[slot]) not in self.more_reporters

    # -- left-over state --------------------------------------------------------------------------------------------

    def has_deleted(self, slot: int, by_ms: int) -> bool:
        """Tell whether a copy that is left over is gone by a time."""
        since_started, since_made = self._age(self.started_ms[self.instance[slot]], by_ms), self.made_at_ms[slot]
        return self.cleaner.has_deleted(since_started, by_ms - self.lost_at_ms[slot], self._age(since_made, by_ms))

    def may_have_deleted(self, slot: int, by_ms: int) -> bool:
        """Tell whether that depends on when the instance looks."""
        since_started, since_made = self._age(self.started_ms[self.instance[slot]], by_ms), self.made_at_ms[slot]
        return self.cleaner.may_have_deleted(since_started, by_ms - self.lost_at_ms[slot], self._age(since_made, by_ms))

    def _age(self, at_ms: int, by_ms: int) -> int:
        """Return how long ago something was; ``NONE``: unknown."""
        return NONE if at_ms == NONE else by_ms - at_ms

    # -- slots ------------------------------------------------------------------------------------------------------

    def widen(self) -> None:
        """Make room for more copies of each task."""
        old_columns, room = self._columns(), self.room
        self.room = 2 * room
        self._make_slots()
        for old, new in zip(old_columns, self._columns(), strict=True):
            wider = new[: 2 * room * self.tasks].reshape(self.tasks, 2 * room)
            wider[:, :room] = old[: room * self.tasks].reshape(self.tasks, room)

    def _columns(self) -> list[Any]:
        """Return the columns by slot."""
        columns = [np.asarray(self.instance), np.asarray(self.consumer), np.asarray(self.reporter)]
        columns += [
            np.asarray(self.role),
            np.asarray(self.lag),
            np.asarray(self.remaining),
            np.asarray(self.left_at_end),
        ]
        columns += [np.asarray(self.left_at_rejoin), np.asarray(self.placed_in), np.asarray(self.lost_at_ms)]
        return [*columns, np.asarray(self.made_at_ms)]

    def move(self, slot: int, new_slot: int) -> None:
        """Put the copy of a slot into another one."""
        self.instance[new_slot], self.consumer[new_slot], self.reporter[new_slot] = (
            self.instance[slot],
            self.consumer[slot],
            self.reporter[slot],
        )
        self.role[new_slot], self.lag[new_slot], self.remaining[new_slot] = (
            self.role[slot],
            self.lag[slot],
            self.remaining[slot],
        )
        self.left_at_end[new_slot], self.left_at_rejoin[new_slot], self.placed_in[new_slot] = (
            self.left_at_end[slot],
            self.left_at_rejoin[slot],
            self.placed_in[slot],
        )
        self.lost_at_ms[new_slot], self.made_at_ms[new_slot] = self.lost_at_ms[slot], self.made_at_ms[slot]

    def fill_empty(
        self, place: int, slot: int, instance: int, consumer: int, role: int, generation: int, ms: int
    ) -> None:
        """Let a copy begin with nothing, that the decision of a ``generation`` makes."""
        self.instance[slot], self.consumer[slot], self.role[slot] = instance, consumer, role
        self.report(place, slot, -1)
        self.lag[slot], self.remaining[slot], self.left_at_end[slot], self.left_at_rejoin[slot] = (
            NONE,
            self.whole[place],
            0,
            0,
        )
        self.placed_in[slot], self.lost_at_ms[slot], self.made_at_ms[slot] = generation, NONE, ms
