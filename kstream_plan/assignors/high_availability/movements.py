"""The movements of a decision, and what each instance then has of the stateful tasks.

Source: page ``rules``, "Movements". The rules themselves: ``engine.task_movement``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kstream_plan.assignors.laws import Laws
from kstream_plan.engine.task_movement import TaskMovement
from kstream_plan.model import GroupState, Holding, Movements, Target
from kstream_plan.model.settings import AssignmentConfig


class Moved(NamedTuple):
    """The movements of a decision, and what each instance has of the stateful tasks."""

    movements: Movements
    stateful: Sequence[Holding]


def move(state: GroupState, config: AssignmentConfig, target: Target, *, laws: Laws) -> Moved:
    """Make the movements towards a target."""
    group = state.group
    engine = TaskMovement(
        group,
        target,
        config.acceptable_recovery_lag,
        config.max_warmup_replicas,
        in_heap_order=laws.in_heap_order,
        caught_up_only=laws.caught_up_only,
    )
    engine.report_copies(range(len(group.stateful)), state.copies_of(group.stateful))
    engine.move()
    tasks_by_role: list[tuple[list[int], ...]] = [([], [], []) for _ in group.instances]
    for task, seats in zip(group.stateful, engine.seats(), strict=True):
        for seat, instance in enumerate(seats):
            if instance >= 0:
                tasks_by_role[instance][min(seat, 1) if seat <= engine.standbys else 2].append(task)
    return Moved(
        Movements.of_numbers(engine.movement_numbers()), tuple(Holding(*map(tuple, roles)) for roles in tasks_by_role)
    )
