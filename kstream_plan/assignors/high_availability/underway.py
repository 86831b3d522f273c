"""What an earlier decision for the same group saves: only what changed lags can have touched is decided anew.

The target does not depend on lags at all. This is for groups with at most one standby a task: with more, what moves
hangs on the order of Kafka's queue of instances throughout, and every decision is made from scratch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kstream_plan.assignors.high_availability.active_underway import ActivesUnderway
from kstream_plan.assignors.high_availability.holdings_draft import Places
from kstream_plan.assignors.high_availability.movements import SWAPS, Pending
from kstream_plan.assignors.high_availability.standbys_underway import StandbyHandled, StandbysUnderway
from kstream_plan.assignors.placement import owners_of, standby_instances
from kstream_plan.model import GroupState, Movement, Target
from kstream_plan.model.movement_queue import MovementQueue, Queued
from kstream_plan.model.settings import AssignmentConfig

#: If more tasks than one in this many have changed, deciding anew is as fast.
_FEW = 2


class Handled(NamedTuple):
    """What was handled in a decision, in order: active tasks with their movements, then standbys."""

    active: Sequence[tuple[Pending, Movement]]
    standbys: Sequence[StandbyHandled]

    def queue(self, tasks: int) -> MovementQueue:
        """Return the movements of a group with so many tasks; the next decision takes up what was handled."""
        active = {one.task: (len(pending[2]) * tasks + one.task, one) for pending, one in self.active}
        standby = {
            one.task: (len(pending[2]) * tasks + one.task, one) for pending, _, one in self.standbys if one is not None
        }
        return MovementQueue(tasks, active, standby, self)


class Moved(NamedTuple):
    """All movements of a decision, and the tasks that are elsewhere than in the one before: from where to where."""

    movements: MovementQueue
    places: Sequence[tuple[int, Places, Places]]


def move_again(
    state: GroupState, config: AssignmentConfig, before: GroupState, target: Target, movements: Sequence[Movement]
) -> Moved | None:
    """Make the movements of ``state`` out of those that were decided for ``before``.

    Returns:
        What changes, or ``None`` if too much does, or the next decision has been made out of these movements already.
    """
    changed = list(state.told_otherwise_since(before))
    if not isinstance(movements, MovementQueue) or len(changed) * _FEW > len(state.copies):
        return None
    workings = movements.workings
    if isinstance(workings, Handled):
        workings = _Underway(before, config, target, workings, movements)
    if not isinstance(workings, _Underway) or workings.movements is not movements:
        return None
    return workings.follow(state, changed) if changed else Moved(movements, ())


class _Underway:
    """The movements under way; a draft that goes from one decision to the next, and stands for the last of them."""

    def __init__(
        self, state: GroupState, config: AssignmentConfig, target: Target, handled: Handled, movements: MovementQueue
    ) -> None:
        self.movements = movements
        self._owner, self._standbys = owners_of(state.group, target), standby_instances(state.group, target)
        self._warm_ups = config.max_warmup_replicas
        counts = [len(active) + len(standby) for active, standby in zip(*target, strict=True)]
        limit = config.acceptable_recovery_lag
        targets, limits = (self._owner, self._standbys), (limit, self._warm_ups)
        self._active = ActivesUnderway(state, targets, counts, limits, handled.active)
        self._standby = StandbysUnderway(state, limit, handled.standbys)
        self._places: list[Places | None] = [None] * len(state.group.tasks)
        for task in state.group.stateful:
            self._places[task] = self._with_standby(task, self._with_active(task))

    def follow(self, state: GroupState, changed: Sequence[int]) -> Moved:
        """Go on to a state in which something else is reported of these tasks."""
        active = self._active.follow(state, changed)
        halfway = {task: self._with_active(task) for task in active.union(changed)}
        left = self._warm_ups - self._active.weighing
        standby = self._standby.follow(state, halfway, self._active.counts(), left)
        moved = []
        for task in sorted(standby.union(halfway)):
            was, now = self._places[task], self._with_standby(task, halfway.get(task) or self._with_active(task))
            assert was is not None
            if now != was:
                self._places[task] = now
                moved.append((task, was, now))
        if active or standby:
            self.movements = self.movements.changed(self._queued_active(active), self._queued_standbys(standby), self)
        return Moved(self.movements, moved)

    def _with_active(self, task: int) -> Places:
        """Return where a task is when movements of active tasks have been handled."""
        owner, standbys = self._owner[task], self._standbys[task]
        one = self._active.of.get(task)
        if one is None:
            return Places(owner, standbys)
        if one.how in SWAPS:
            return Places(one.source, tuple(one.destination if i == one.source else i for i in standbys))
        return Places(one.source, standbys, (one.destination,) if one.warm_up else ())

    def _with_standby(self, task: int, at: Places) -> Places:
        """Return where it is when those of standbys have been handled, too."""
        one = self._standby.of.get(task)
        if one is None or one.source is None:
            return at
        warmups = (*at.warmups, one.destination) if one.warm_up else at.warmups
        return Places(at.owner, (one.source,), warmups)

    def _queued_active(self, tasks: Iterable[int]) -> dict[int, Queued | None]:
        found = {task: self._active.of.get(task) for task in tasks}
        return {task: None if one is None else (one.place, one.movement(task)) for task, one in found.items()}

    def _queued_standbys(self, tasks: Iterable[int]) -> dict[int, Queued | None]:
        queued: dict[int, Queued | None] = {}
        for task in tasks:
            one = self._standby.of.get(task)
            movement = None if one is None else one.movement(task)
            queued[task] = None if one is None or movement is None else (one.place, movement)
        return queued
