"""Movements of active tasks from one decision to the next: what changed lags can have touched is decided anew.

Source: page ``rules``, "Movements".

Where a task stays until its target is ready hangs on nothing but the lags of its own copies, if at most one of those
that are caught up on it comes into question; else on the loads that the movements before it in the queue leave. So a
change is followed along the queue: it gives one instance a task more and takes one from another, and is over where a
choice comes out otherwise because of that, which takes it to yet another instance, or where two changes meet.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from operator import add

from kstream_plan.assignors.high_availability.movements import SWAPS, Pending, pending_active, stays_with
from kstream_plan.model import GroupState, Movement


@dataclass(slots=True)
class ActiveUnderway:
    """A movement that is handled at this ``place`` in the queue.

    ``candidates`` are those of whom the least loaded one is the source; empty if it hangs on no loads.
    """

    place: int
    destination: int
    candidates: Sequence[int]
    source: int
    how: str
    warm_up: bool = False

    @property
    def weighs(self) -> bool:
        """Whether it changes loads."""
        return self.how not in SWAPS

    def movement(self, task: int) -> Movement:
        """Return it as it is told."""
        return Movement(task, "active", self.how, self.source, self.destination, self.warm_up)


class ActivesUnderway:
    """The movements of active tasks and the loads that each of them finds; the private draft of consecutive decisions.

    Places stand for (number of caught-up instances, task). ``counts_first`` are the tasks of each instance at the
    target, ``of`` has the movements by task.
    """

    def __init__(
        self,
        state: GroupState,
        targets: tuple[Sequence[int], Sequence[Sequence[int]]],
        counts_first: Sequence[int],
        limits: tuple[int, int],
        handled: Iterable[tuple[Pending, Movement]],
    ) -> None:
        """``targets`` are the owner and the standbys of each task; ``limits`` the lag, and the warm-ups, acceptable."""
        self._owner, self._standbys = targets
        self._first, self._capacities = counts_first, state.group.capacities
        self._limit, self._warm_ups = limits
        self._tasks = len(state.group.tasks)
        self.of: dict[int, ActiveUnderway] = {}
        instances = range(len(counts_first))
        #: by instance the places of the movements that give it a task, that take one from it, and that may choose it
        self._gains, self._losses, self._choices = ([list[int]() for _ in instances] for _ in range(3))
        #: by instance how many more of the first there are than of the second
        self._more = [0] * len(counts_first)
        #: the places of those that change loads: as many of the first ones as there may be get a warm-up
        self._weighing: list[int] = []
        self._warm: list[int] = []
        for pending, movement in handled:
            one = self._underway(state, pending, movement.source)
            one.warm_up = movement.warmup
            self._enter(movement.task, one)
            self._weigh(one, one.place)
        self._warm = self._weighing[: self._warm_ups]

    @property
    def weighing(self) -> int:
        """How many movements there are that get a warm-up if there are enough."""
        return len(self._weighing)

    def counts(self) -> list[int]:
        """Return the tasks of each instance after all movements."""
        return list(map(add, self._first, self._more))

    def follow(self, state: GroupState, changed: Sequence[int]) -> set[int]:
        """Go on to a state in which something else is reported of these tasks; return those that move otherwise."""
        events = self._replace(state, changed)
        warm = self._weighing[: self._warm_ups]
        for place in set(warm).symmetric_difference(self._warm):
            one = self.of.get(place % self._tasks)
            if place not in events and one is not None:
                events[place] = one, one
        self._warm = warm
        return self._handle_again(events) if events else set()

    def _replace(
        self, state: GroupState, changed: Sequence[int]
    ) -> dict[int, tuple[ActiveUnderway | None, ActiveUnderway | None]]:
        """Put what is pending now into the place of what was; return by place what is to be taken back and done."""
        pending = {one[0]: one for one in pending_active(state, self._owner, self._limit, changed)}
        events: dict[int, tuple[ActiveUnderway | None, ActiveUnderway | None]] = {}
        for task in changed:
            old = self.of.get(task)
            new = self._underway(state, pending[task], None) if task in pending else None
            if old is not None and new is not None and _alike(old, new):
                continue
            if old is not None:
                self._leave(task, old)
                events[old.place] = old, None
            if new is not None:
                self._enter(task, new)
                events[new.place] = events.get(new.place, (None, None))[0], new
        return events

    def _handle_again(self, events: Mapping[int, tuple[ActiveUnderway | None, ActiveUnderway | None]]) -> set[int]:
        """Handle what is new, and every choice that may come out otherwise, in the order of the queue."""
        change = _Change(self._choices)
        touched: set[int] = set()
        queue = [(place, -1) for place in events]
        heapify(queue)
        change.queue = queue
        while queue:
            place, instance = heappop(queue)
            task = place % self._tasks
            if instance < 0:
                old, new = events[place]
                if old is not None:
                    self._unweigh(old, place, change)
                if new is not None:
                    new.warm_up = new.weighs and bool(self._warm) and place <= self._warm[-1]
                    if new.candidates:
                        new.source = self._least_loaded(new.candidates, place)
                    self._weigh(new, place, change)
                touched.add(task)
                continue
            more = change.go_on(instance, place)
            if not more or place in events:
                continue
            one = self.of[task]
            if (more > 0) != (one.source == instance):
                continue  # it is still the source, or still not
            source = self._least_loaded(one.candidates, place)
            if source != one.source:
                _remove(self._gains[one.source], place)
                self._more[one.source] -= 1
                change.add(one.source, -1, place)
                insort(self._gains[source], place)
                self._more[source] += 1
                change.add(source, 1, place)
                one.source = source
                touched.add(task)
        return touched

    def _underway(self, state: GroupState, pending: Pending, source: int | None) -> ActiveUnderway:
        task, destination, caught_up = pending
        place = len(caught_up) * self._tasks + task
        stays = stays_with(pending, self._standbys[task], state.copies[task])
        if stays is None:
            return ActiveUnderway(place, destination, caught_up, -1 if source is None else source, "move_caught_up")
        return ActiveUnderway(place, destination, (), *stays)

    def _enter(self, task: int, one: ActiveUnderway) -> None:
        self.of[task] = one
        if one.weighs:
            insort(self._weighing, one.place)
        for instance in one.candidates:
            insort(self._choices[instance], one.place)

    def _leave(self, task: int, one: ActiveUnderway) -> None:
        del self.of[task]
        if one.weighs:
            _remove(self._weighing, one.place)
        for instance in one.candidates:
            _remove(self._choices[instance], one.place)

    def _weigh(self, one: ActiveUnderway, place: int, change: _Change | None = None) -> None:
        """Let the source weigh one task more and, unless it keeps a copy to warm up, the destination one less."""
        if not one.weighs:
            return
        insort(self._gains[one.source], place)
        self._more[one.source] += 1
        if not one.warm_up:
            insort(self._losses[one.destination], place)
            self._more[one.destination] -= 1
        if change is not None:
            change.add(one.source, 1, place)
            change.add(one.destination, one.warm_up - 1, place)

    def _unweigh(self, one: ActiveUnderway, place: int, change: _Change) -> None:
        if not one.weighs:
            return
        _remove(self._gains[one.source], place)
        self._more[one.source] -= 1
        if not one.warm_up:
            _remove(self._losses[one.destination], place)
            self._more[one.destination] += 1
        change.add(one.source, -1, place)
        change.add(one.destination, 1 - one.warm_up, place)

    def _least_loaded(self, candidates: Iterable[int], place: int) -> int:
        """Return the first of the candidates with the least load that a movement at this place finds."""
        least, lowest = -1, 0.0
        for i in candidates:
            count = self._first[i] + bisect_left(self._gains[i], place) - bisect_left(self._losses[i], place)
            load = count / self._capacities[i]
            if least < 0 or load < lowest:
                least, lowest = i, load
        return least


class _Change:
    """By how many tasks more than before each instance weighs, from a place in the queue on, and who looks at that.

    ``queue`` has (place, instance) for the next choice that may fall on an instance which weighs more or less.
    """

    def __init__(self, choices: Sequence[Sequence[int]]) -> None:
        self.queue: list[tuple[int, int]] = []
        self._choices = choices
        self._more: dict[int, int] = {}
        self._queued: set[int] = set()

    def add(self, instance: int, tasks: int, place: int) -> None:
        """Let an instance weigh so many tasks more behind a place than was counted with so far."""
        more = self._more[instance] = self._more.get(instance, 0) + tasks
        if more and instance not in self._queued:
            self._queue_next(instance, place)

    def go_on(self, instance: int, place: int) -> int:
        """Return by how much the instance weighs more at this choice, and queue the next one if it does."""
        self._queued.discard(instance)
        more = self._more[instance]
        if more:
            self._queue_next(instance, place)
        return more

    def _queue_next(self, instance: int, place: int) -> None:
        choices = self._choices[instance]
        at = bisect_right(choices, place)
        if at < len(choices):
            heappush(self.queue, (choices[at], instance))
            self._queued.add(instance)


def _alike(old: ActiveUnderway, new: ActiveUnderway) -> bool:
    same = (old.place, old.destination, old.candidates, old.how) == (
        new.place,
        new.destination,
        new.candidates,
        new.how,
    )
    return same and (bool(new.candidates) or old.source == new.source)


def _remove(places: list[int], place: int) -> None:
    del places[bisect_left(places, place)]
