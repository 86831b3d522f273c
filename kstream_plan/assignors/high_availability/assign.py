"""Shipped Kafka's ``HighAvailabilityTaskAssignor`` on the classic protocol, to the last tie.

Source: page ``rules``, "Balanced target".

The rules in their order:

1. active tasks of the balanced target, 2. its standbys, 3. its rack-aware optimisation: ``target``
4. movements of active tasks, 5. movements of standbys: ``engine.task_movement``
6. stateless tasks: :func:`deal_stateless`
7. a probing rebalance follows if anything moved or waits to.

Each instance's tasks are then split over its consumers: ``assignors.threads``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kstream_plan.assignors.high_availability.balancing import deal_to_least_loaded
from kstream_plan.assignors.high_availability.target import balanced_target
from kstream_plan.assignors.laws import NEWEST, Laws
from kstream_plan.assignors.racks.costs import is_rack_aware
from kstream_plan.assignors.threads import split
from kstream_plan.engine.task_movement import TaskMovement
from kstream_plan.model import Assignment, Group, GroupState, Holding, Holdings, Movements, Owners, Target, no_owners
from kstream_plan.model.settings import AssignmentConfig


class HighAvailabilityDecision(NamedTuple):
    """An :class:`~kstream_plan.model.Assignment` before its split over the consumers; fields as there."""

    instances: Holdings
    probing_rebalance: bool
    target: Target
    movements: Movements
    short_standbys: tuple[tuple[int, int], ...]


def assign(
    state: GroupState,
    config: AssignmentConfig,
    previous: tuple[GroupState, Assignment] | None = None,
    *,
    laws: Laws = NEWEST,
) -> Assignment:
    """Decide where every task goes, instance by instance, then consumer by consumer.

    Args:
        state: the group; of the copies only instance, lag and reporters matter, of the holdings nothing.
        config: the application's settings.
        previous: an earlier decision, which saves this assignor no work.
        laws: what the release that runs decides otherwise than the newest.
    """
    del previous
    decision = decide(state, config, laws=laws)
    return Assignment(
        instances=decision.instances,
        consumers=split(state, decision.instances, None, laws=laws),
        probing_rebalance=decision.probing_rebalance,
        target=decision.target,
        movements=decision.movements,
        short_standbys=decision.short_standbys,
    )


def decide(state: GroupState, config: AssignmentConfig, *, laws: Laws = NEWEST) -> HighAvailabilityDecision:
    """Decide which instance gets which task in which role; arguments as of :func:`assign`."""
    target, short_standbys = target_of(state.group, config, laws)
    config = laws.settings(config)
    movements, stateful = _move(state, config, target, laws)
    owners = deal_stateless(state.group, config, [len(holding.active) for holding in stateful])
    return HighAvailabilityDecision(
        instances=Holdings(stateful, state.group.stateless, owners),
        probing_rebalance=bool(movements),  # more to come
        target=target,
        movements=movements,
        short_standbys=short_standbys,
    )


def target_of(
    group: Group, config: AssignmentConfig, laws: Laws = NEWEST
) -> tuple[Target, tuple[tuple[int, int], ...]]:
    """Return the group's balanced target, and the standbys there was no instance for, as (task, number missing).

    It is remembered, for a group may come back to the same members again and again.
    """
    config = laws.settings(config)
    remembered: tuple[AssignmentConfig, tuple[Target, tuple[tuple[int, int], ...]]] | None
    remembered = vars(group).get("_balanced_target")
    if remembered is None or remembered[0] != config:
        remembered = config, balanced_target(group, config)
        vars(group)["_balanced_target"] = remembered
    return remembered[1]


def _move(
    state: GroupState, config: AssignmentConfig, target: Target, laws: Laws
) -> tuple[Movements, tuple[Holding, ...]]:
    """Return the movements towards a target, and what each instance then has of the stateful tasks."""
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
    holdings = tuple(Holding(*map(tuple, roles)) for roles in tasks_by_role)
    return Movements.of_numbers(engine.movement_numbers()), holdings


def deal_stateless(group: Group, config: AssignmentConfig, counts: Sequence[int]) -> Owners:
    """Give each stateless task in turn to the instance with the lowest (active tasks per thread, instance).

    They come last (page ``rules``, "Stateless tasks") and are dealt anew at every rebalance; only the numbers of active
    stateful tasks matter.

    Args:
        group: who takes part.
        config: the settings; a rack strategy exchanges the stateless tasks afterwards.
        counts: the active stateful tasks of each instance.

    Returns:
        The instance that runs each.
    """
    owners = no_owners(group)
    if group.stateless:
        dealt = deal_to_least_loaded(len(owners), counts, group.capacities)
        owners[:] = _exchanged(group, config, dealt) if is_rack_aware(group, config) else dealt
    return owners


def _exchanged(group: Group, config: AssignmentConfig, owners: Owners) -> Owners:
    from kstream_plan.assignors.racks.optimize import optimize_active  # noqa: PLC0415 - few groups need it

    tasks = np.array(group.stateless)
    dealt: Sequence[set[int]] = [set(tasks[owners == instance].tolist()) for instance in range(len(group.instances))]
    exchanged = optimize_active(group, config, group.stateless, list(dealt), stateless=True)
    for instance, mine in enumerate(exchanged):
        owners[np.searchsorted(tasks, sorted(mine))] = instance
    return owners
