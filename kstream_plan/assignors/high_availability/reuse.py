"""What an earlier decision for the same group saves: only what changed lags can have touched is decided anew.

The target does not depend on lags at all. Without standbys, a movement of a task with at most one caught-up instance
depends on nothing but the lags of that task's copies; only its place in the queue decides whether it gets a warm-up.
Where two or more instances are caught up, the choice depends on the loads, so these few are made anew each time.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from kstream_plan.assignors.high_availability.movements import (
    MovementsDraft,
    Pending,
    first_by_lag,
    handle_active,
    in_order,
    pending_of,
)
from kstream_plan.assignors.placement import owners_of
from kstream_plan.assignors.threads.changed import changed_tasks
from kstream_plan.model import Assignment, GroupState, Movement, Target
from kstream_plan.model.movement_queue import MovementQueue
from kstream_plan.model.settings import AssignmentConfig

#: If more tasks than one in this many have changed, deciding anew is as fast.
_FEW = 4


class Redone(NamedTuple):
    """All movements of the new decision, those of the earlier one that are gone, and those it did not have."""

    all: MovementQueue
    withdrawn: tuple[Movement, ...]
    new: tuple[Movement, ...]


def move_again(state: GroupState, config: AssignmentConfig, before: GroupState, decided: Assignment) -> Redone | None:
    """Make the movements of ``state`` out of those that were decided for ``before``.

    Returns:
        The movements, or ``None`` if too much has changed, or the settings make every movement hang on the loads.
    """
    changed = changed_tasks(before, state)
    limit = config.acceptable_recovery_lag
    if not isinstance(decided.movements, MovementQueue) or len(changed) * _FEW > len(state.copies):
        return None
    owner = owners_of(state.group, decided.target)
    fresh = in_order(pending_of(state, owner, limit, changed))
    queue, dropped = _told_apart(decided.movements, changed)
    sole, chosen_anew = queue.parted(2)
    sole, inserted = _insert(sole, state, config, [one for one in fresh if len(one[2]) < 2])
    sole, flipped = _ration_warm_ups(sole, config.max_warmup_replicas, len(inserted))
    queue, done = sole, list[Movement]()
    several = [one for one in fresh if len(one[2]) > 1]
    if several or chosen_anew:
        several += pending_of(state, owner, limit, [movement.task for movement in chosen_anew])
        several = in_order(sorted(several))
        done = _choose(sole, several, state, config, decided.target)
        for movement, one in zip(done, several, strict=True):
            queue = queue.with_one(len(one[2]), movement)
    gone = dict.fromkeys([*dropped, *(was for was, _ in flipped), *chosen_anew])
    new = dict.fromkeys([*inserted, *(now for _, now in flipped), *done])
    return Redone(
        all=queue,
        withdrawn=tuple(movement for movement in gone if movement not in new),
        new=tuple(movement for movement in new if movement not in gone),
    )


def _choose(
    sole: Iterable[Movement], several: list[Pending], state: GroupState, config: AssignmentConfig, target: Target
) -> list[Movement]:
    """Make the movements of tasks with two or more caught-up instances, by the loads that the others leave."""
    draft = MovementsDraft.of(state, config, target)
    for movement in sole:
        draft.shift(movement.source, movement.destination, warm_up=movement.warmup)
        draft.budget -= 1
    handle_active(draft, several)
    return draft.done


def _told_apart(movements: MovementQueue, tasks: Iterable[int]) -> tuple[MovementQueue, list[Movement]]:
    """Return the movements of other tasks, then those of these."""
    found = [movement for task in tasks if (movement := movements.of(task)) is not None]
    for movement in found:
        movements = movements.without(movement.task)
    return movements, found


def _insert(
    queue: MovementQueue, state: GroupState, config: AssignmentConfig, fresh: Iterable[Pending]
) -> tuple[MovementQueue, list[Movement]]:
    """Put new movements of tasks with at most one caught-up instance into their places in the queue.

    They come in the order of handling, so a place is final once it is taken.

    Returns:
        The queue with them, and they alone.
    """
    inserted = []
    for task, destination, caught_up in fresh:
        source = caught_up[0] if caught_up else first_by_lag(state.copies[task])
        how = "move_caught_up" if caught_up else "move_most_caught_up"
        warm_up = queue.place(len(caught_up), task) < config.max_warmup_replicas
        inserted.append(Movement(task, "active", how, source, destination, warm_up))
        queue = queue.with_one(len(caught_up), inserted[-1])
    return queue, inserted


def _ration_warm_ups(
    queue: MovementQueue, budget: int, inserted: int
) -> tuple[MovementQueue, list[tuple[Movement, Movement]]]:
    """Give a warm-up to the first movements of the queue.

    The earlier decision did the same, so those that had one are at most as many places further back as movements
    were inserted.

    Returns:
        The queue, and the movements for which that changed, as they were and are.
    """
    flipped = []
    for place, movement in enumerate(islice(queue, budget + inserted)):
        if movement.warmup != (place < budget):
            flipped.append((movement, movement._replace(warmup=place < budget)))
    for _, now in flipped:
        queue = queue.replaced(now)
    return queue, flipped
