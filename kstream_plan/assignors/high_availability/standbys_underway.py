"""Movements of standbys from one decision to the next, where every task has one at most.

Source: page ``rules``, "Movements".

Where a standby stays until its target is ready hangs on nothing but the lags of its task's copies and on where the
active task is, unless several instances that are caught up have no copy of it. These few are chosen anew each time.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from kstream_plan.assignors.high_availability.holdings_draft import Places
from kstream_plan.assignors.high_availability.movements import (
    Pending,
    caught_up_elsewhere,
    handled_standby,
    how_standby,
    standby_source,
)
from kstream_plan.assignors.java.constrained_priority_set import PrioritySet
from kstream_plan.assignors.java.priority_queue import Handled
from kstream_plan.assignors.java.queue_in_order import History
from kstream_plan.model import Copy, GroupState, Movement

#: What was pending, who was caught up and had no copy, and the movement, if there was any.
StandbyHandled: TypeAlias = tuple[Pending, Sequence[int], Movement | None]


#: The place of a standby that is pending, its destination, who is free, and its source.
_Pending: TypeAlias = tuple[int, int, Sequence[int], int | None]


@dataclass(slots=True)
class StandbyUnderway:
    """A standby that is pending, and handled at this ``place``; it moves if there is a ``source``.

    ``free`` are those who are caught up and have no copy of the task.
    """

    place: int
    destination: int
    free: Sequence[int]
    source: int | None
    warm_up: bool = False
    #: what it does to Kafka's queue of instances
    handled: Handled = field(init=False)
    #: whether the source hangs on loads
    is_choice: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_choice = len(self.free) > 1
        self.move(self.source, warm_up=self.warm_up)

    def move(self, source: int | None, *, warm_up: bool) -> None:
        """Move it otherwise."""
        self.source, self.warm_up = source, warm_up
        self.handled = handled_standby(self.free, source, self.destination, warm_up=warm_up)

    def movement(self, task: int) -> Movement | None:
        """Return it as it is told, if it moves."""
        if self.source is None:
            return None
        return Movement(task, "standby", how_standby(self.free), self.source, self.destination, self.warm_up)


class StandbysUnderway:
    """The movements of standbys; the private draft of consecutive decisions. ``of`` has them by task.

    Places stand for (number of caught-up instances, task).
    """

    def __init__(self, state: GroupState, limit: int, handled: Iterable[StandbyHandled]) -> None:
        """``limit`` is the acceptable lag; ``handled`` is in order."""
        self._limit, self._tasks, self._sums = limit, len(state.group.tasks), state.group.end_offset_sums
        self.of: dict[int, StandbyUnderway] = {}
        #: all in order
        self._ordered: list[StandbyUnderway] = []
        self._history = History(len(state.group.instances))
        #: the places of all, of those that move, and of the choices
        self._places: list[int] = []
        self._moving: list[int] = []
        self._choices: list[int] = []
        #: by instance the tasks that the others than the choices give it, less those that they take
        self._more = [0] * len(state.group.instances)
        self._warm: set[int] = set()
        #: the tasks of each instance that the choices found
        self._found: Sequence[int] = ()
        for pending, free, movement in handled:
            task, destination, caught_up = pending
            one = StandbyUnderway(len(caught_up) * self._tasks + task, destination, free, None)
            if movement is not None:
                one.move(movement.source, warm_up=movement.warmup)
            if one.warm_up:
                self._warm.add(one.place)
            self._enter(task, one)

    def follow(self, state: GroupState, places: Mapping[int, Places], counts: Sequence[int], warm_ups: int) -> set[int]:
        """Go on to a state in which these tasks are elsewhere, or something else is reported of them.

        Args:
            state: the group.
            places: where they are after the movements of active tasks.
            counts: the tasks of each instance then.
            warm_ups: how many more there may be.

        Returns:
            The tasks whose standbys move otherwise.
        """
        touched: set[int] = set()
        for (task, at), copies in zip(places.items(), state.copies_of(tuple(places)), strict=True):
            old, new = self.of.get(task), self._pending(state, task, at, copies)
            if old is not None and new is not None and _alike(old, new):
                continue
            if old is not None:
                self._leave(task, old)
                touched.add(task)
            if new is not None:
                self._enter(task, StandbyUnderway(*new))
                touched.add(task)
        touched |= self._ration(max(0, warm_ups))
        if touched or counts != self._found:
            touched |= self._choose(state, counts)
            self._found = counts
        return touched

    def _pending(self, state: GroupState, task: int, at: Places, copies: Sequence[Copy]) -> _Pending | None:
        owner, standbys, warmups = at
        for destination in standbys:
            caught_up = caught_up_elsewhere(copies, destination, self._sums[task], self._limit)
            if caught_up is not None:
                holders = (owner, *standbys, *warmups)
                free = [i for i in caught_up if i not in holders]
                source = None
                if len(free) < 2:
                    source = standby_source(state, (task, destination, caught_up), free, holders)
                return len(caught_up) * self._tasks + task, destination, free, source
        return None

    def _enter(self, task: int, one: StandbyUnderway) -> None:
        self.of[task] = one
        at = bisect_left(self._places, one.place)
        self._places.insert(at, one.place)
        self._ordered.insert(at, one)
        self._history.insert(at, one.handled)
        if one.is_choice:
            insort(self._choices, one.place)
        if one.is_choice or one.source is not None:
            insort(self._moving, one.place)
        self._weigh(one, 1)

    def _leave(self, task: int, one: StandbyUnderway) -> None:
        del self.of[task]
        at = bisect_left(self._places, one.place)
        del self._places[at], self._ordered[at]
        self._history.remove(at)
        if one.is_choice:
            _remove(self._choices, one.place)
        if one.is_choice or one.source is not None:
            _remove(self._moving, one.place)
        self._weigh(one, -1)
        self._warm.discard(one.place)

    def _weigh(self, one: StandbyUnderway, sign: int) -> None:
        if one.source is not None and not one.is_choice:
            self._more[one.source] += sign
            if not one.warm_up:
                self._more[one.destination] -= sign

    def _ration(self, warm_ups: int) -> set[int]:
        """Give a warm-up to the first that move; return those for which that changed."""
        wanted = set(self._moving[:warm_ups])
        touched = set()
        for place in wanted.symmetric_difference(self._warm):
            task = place % self._tasks
            one = self.of[task]
            self._weigh(one, -1)
            one.move(one.source, warm_up=place in wanted)
            self._history.replace(bisect_left(self._places, place), one.handled)
            self._weigh(one, 1)
            touched.add(task)
        self._warm = wanted
        return touched

    def _choose(self, state: GroupState, counts: Sequence[int]) -> set[int]:
        """Make the choices; return those that come out otherwise."""
        touched: set[int] = set()
        if not self._choices:
            return touched
        first = bisect_left(self._places, self._choices[0])
        found = [count + more for count, more in zip(counts, self._more, strict=True)]
        behind = self._ordered[first:]
        for one in behind:
            if one.source is not None and not one.is_choice:
                found[one.source] -= 1
                found[one.destination] += not one.warm_up
        instances = PrioritySet(state.group, counts, self._history.entries[:first], found, self._history)
        for at, one in enumerate(behind, first):
            if one.is_choice:
                source = instances.choose(one.free)
                if source != one.source:
                    one.move(source, warm_up=one.warm_up)
                    self._history.replace(at, one.handled)
                    touched.add(one.place % self._tasks)
            instances.handle(one.handled)
            if one.place == self._choices[-1]:
                break
        return touched


def _alike(old: StandbyUnderway, new: _Pending) -> bool:
    place, destination, free, source = new
    same = old.place == place and old.destination == destination and old.free == free
    return same and (len(free) > 1 or old.source == source)


def _remove(places: list[int], place: int) -> None:
    del places[bisect_left(places, place)]
