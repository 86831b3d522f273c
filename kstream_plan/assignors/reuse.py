"""What an earlier decision for the same group saves: only what changed lags can have touched is decided anew.

The target does not depend on lags at all. Without standbys, a movement of a task with at most one caught-up instance
depends on nothing but the lags of that task's copies; only its place in the queue decides whether it gets a warm-up.
Where two or more instances are caught up, the choice depends on the loads, so these few are made anew each time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from kstream_plan.assignment_config import MAX_LONG, AssignmentConfig
from kstream_plan.assignors.movements import (
    MovementsDraft,
    Pending,
    first_by_lag,
    handle_active,
    in_order,
    pending_of,
)
from kstream_plan.assignors.target import owners_of
from kstream_plan.model import Assignment, GroupState, Movement, Target
from kstream_plan.ranking import number_caught_up, place_of

#: If more tasks than one in this many have changed, deciding anew is as fast.
_FEW = 4


class Redone(NamedTuple):
    """All movements of the new decision, those of the earlier one that are gone, and those it did not have."""

    all: tuple[Movement, ...]
    withdrawn: tuple[Movement, ...]
    new: tuple[Movement, ...]


def move_again(state: GroupState, config: AssignmentConfig, before: GroupState, decided: Assignment) -> Redone | None:
    """Make the movements of ``state`` out of those that were decided for ``before``.

    Returns:
        The movements, or ``None`` if too much has changed, or the settings make every movement hang on the loads.
    """
    changed = changed_tasks(before, state)
    limit = config.acceptable_recovery_lag
    if config.num_standby_replicas > 0 or limit == MAX_LONG or len(changed) * _FEW > len(state.copies):
        return None
    owner = owners_of(state.group, decided.target)
    fresh = in_order(pending_of(state, owner, limit, changed))
    kept, dropped = _told_apart(decided.movements, before, changed, limit)
    choices = bisect_left(kept, 2, key=lambda movement: number_caught_up(state, movement.task, limit))
    sole, chosen_anew, done = kept, kept[choices:], list[Movement]()
    del sole[choices:]
    inserted = _insert(sole, state, config, [one for one in fresh if len(one[2]) < 2])
    flipped = _ration_warm_ups(sole, config.max_warmup_replicas, len(inserted))
    several = [one for one in fresh if len(one[2]) > 1]
    if several or chosen_anew:
        several += pending_of(state, owner, limit, [movement.task for movement in chosen_anew])
        done = _choose(sole, sorted(several), state, config, decided.target)
    gone = dict.fromkeys([*dropped, *(was for was, _ in flipped), *chosen_anew])
    new = dict.fromkeys([*inserted, *(now for _, now in flipped), *done])
    return Redone(
        all=(*sole, *done) if done else tuple(sole),
        withdrawn=tuple(movement for movement in gone if movement not in new),
        new=tuple(movement for movement in new if movement not in gone),
    )


def _choose(
    sole: Sequence[Movement], several: list[Pending], state: GroupState, config: AssignmentConfig, target: Target
) -> list[Movement]:
    """Make the movements of tasks with two or more caught-up instances, by the loads that the others leave."""
    draft = MovementsDraft.of(state, config, target)
    for movement in sole:
        draft.shift(movement.source, movement.destination, warm_up=movement.warmup)
    draft.budget -= len(sole)
    handle_active(draft, in_order(several))
    return draft.done


def _told_apart(
    movements: Sequence[Movement], before: GroupState, tasks: Sequence[int], limit: int
) -> tuple[list[Movement], list[Movement]]:
    """Return the movements of other tasks, then those of these."""
    places = ((task, place_of(movements, before, task, limit)) for task in tasks)
    found = sorted(place for task, place in places if place < len(movements) and movements[place].task == task)
    kept = list(movements)
    for place in reversed(found):
        del kept[place]
    return kept, [movements[place] for place in found]


def _insert(
    queue: list[Movement], state: GroupState, config: AssignmentConfig, fresh: Sequence[Pending]
) -> list[Movement]:
    """Put new movements of tasks with at most one caught-up instance into their places in the queue; return them.

    Both are in the order of handling, so a place is final once it is taken.
    """
    limit, inserted = config.acceptable_recovery_lag, []
    for task, destination, caught_up in fresh:
        source = caught_up[0] if caught_up else first_by_lag(state.copies[task])
        how = "move_caught_up" if caught_up else "move_most_caught_up"
        place = place_of(queue, state, task, limit)
        movement = Movement(task, "active", how, source, destination, place < config.max_warmup_replicas)
        queue.insert(place, movement)
        inserted.append(movement)
    return inserted


def _ration_warm_ups(queue: list[Movement], budget: int, inserted: int) -> list[tuple[Movement, Movement]]:
    """Give a warm-up to the first movements of the queue; return those for which that changed, as they were and are.

    The earlier decision did the same, so those that had one are at most as many places further back as movements
    were inserted.
    """
    flipped = []
    for place, movement in enumerate(queue[: budget + inserted]):
        if movement.warmup != (place < budget):
            queue[place] = movement._replace(warmup=place < budget)
            flipped.append((movement, queue[place]))
    return flipped


def changed_tasks(before: GroupState, after: GroupState) -> list[int]:
    """Return the tasks of which something else is reported now, in task order."""
    return [task for task in after.changed_since(before) if reports(before, task) != reports(after, task)]


def reports(state: GroupState, task: int) -> set[tuple[int, int | None, tuple[int, ...]]]:
    """Return what is reported of the task's copies: (instance, lag, reporters)."""
    return {copy[:3] for copy in state.copies[task]}
