"""The movements of one group from one decision to the next, and who then has which stateful tasks.

Source: page ``rules``, "Movements". The rules themselves: ``engine.task_movement``.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kstream_plan.assignors.laws import Laws
from kstream_plan.engine.task_movement import TaskMovement
from kstream_plan.model import Assignment, Group, GroupState, Holding, Holdings, Movements, Target
from kstream_plan.model.settings import AssignmentConfig


class Moved(NamedTuple):
    """The movements of a decision, and what each instance has of the stateful tasks."""

    movements: Movements
    stateful: Sequence[Holding]


class MovementsDraft:
    """A group under one target; it goes from one decision to the next, and stands for the last of them."""

    def __init__(self, group: Group, config: AssignmentConfig, target: Target, laws: Laws) -> None:
        limit, warm_ups = config.acceptable_recovery_lag, config.max_warmup_replicas
        self._engine = TaskMovement(
            group,
            target,
            limit,
            warm_ups,
            in_heap_order=laws.in_heap_order,
            caught_up_only=laws.caught_up_only,
        )
        self._place_of = {task: place for place, task in enumerate(group.stateful)}
        self._moved = Moved(Movements.of(()), (Holding(),) * len(group.instances))

    def stands_for(self, movements: Movements) -> bool:
        """Tell whether these are the movements of the last decision."""
        return self._moved.movements is movements

    def follow(self, state: GroupState, changed: Sequence[int]) -> Moved:
        """Go on to a state in which something else is reported of these stateful tasks; at first, of all."""
        engine = self._engine
        engine.report_copies(map(self._place_of.__getitem__, changed), state.copies_of(changed))
        engine.move()
        stateful = _after(self._moved.stateful, engine.changes(), engine.standbys)
        self._moved = Moved(Movements.of_numbers(engine.moved(), self), stateful)
        return self._moved


def move(
    state: GroupState,
    config: AssignmentConfig,
    target: Target,
    previous: tuple[GroupState, Assignment] | None,
    *,
    laws: Laws,
) -> Moved:
    """Make the movements towards a target; only where something else is reported than at ``previous``, if it is known.

    Nobody else has gone on from that decision, or all are made anew.
    """
    if previous is not None:
        before, decided = previous
        draft, changed = decided.movements.draft, list(state.told_otherwise_since(before))
        if not changed:
            return Moved(decided.movements, Holdings.of(state.group, decided.instances).stateful)
        if isinstance(draft, MovementsDraft) and draft.stands_for(decided.movements):
            return draft.follow(state, changed)
    draft = MovementsDraft(state.group, config, target, laws)
    return draft.follow(state, state.group.stateful)


def _after(
    before: Sequence[Holding], changes: Iterable[tuple[int, list[int], list[int]]], standbys: int
) -> tuple[Holding, ...]:
    """Return what instances have once tasks have other seats; who has the same keeps the very holding."""
    changed: dict[tuple[int, int], list[int]] = {}
    for task, was, now in changes:
        for seat, (old, new) in enumerate(zip(was, now, strict=True)):
            if old == new:
                continue
            role = min(seat, 1) if seat <= standbys else 2
            if old >= 0:
                tasks = _thawed(changed, before, old, role)
                del tasks[bisect_left(tasks, task)]
            if new >= 0:
                insort(_thawed(changed, before, new, role), task)
    after = list(before)
    for instance in {instance for instance, _ in changed}:
        roles = [tuple(changed.get((instance, role), after[instance][role])) for role in range(3)]
        held = Holding(*roles)
        if held != before[instance]:
            after[instance] = held
    return tuple(after)


def _thawed(
    changed: dict[tuple[int, int], list[int]], before: Sequence[Holding], instance: int, role: int
) -> list[int]:
    tasks = changed.get((instance, role))
    if tasks is None:
        tasks = changed[instance, role] = list(before[instance][role])
    return tasks
