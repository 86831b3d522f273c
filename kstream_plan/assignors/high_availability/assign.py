"""Shipped Kafka's ``HighAvailabilityTaskAssignor`` on the classic protocol, to the last tie.

Source: page ``rules``, "Balanced target".

The rules in their order; each has its own file:

1. active tasks of the balanced target, 2. its standbys, 3. its rack-aware optimisation: ``target``
4. movements of active tasks, 5. movements of standbys: ``movements``, by ``engine.task_movement``
6. stateless tasks: ``stateless``
7. a probing rebalance follows if anything moved or waits to.

Each instance's tasks are then split over its consumers: ``consumer_split``.
"""

from __future__ import annotations

from typing import NamedTuple

from kstream_plan.assignors.high_availability.movements import move
from kstream_plan.assignors.high_availability.stateless import deal_stateless
from kstream_plan.assignors.high_availability.target import balanced_target
from kstream_plan.assignors.laws import NEWEST, Laws
from kstream_plan.assignors.threads.split import split
from kstream_plan.model import Assignment, Group, GroupState, Holdings, Movements, Target
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
    movement = move(state, config, target, laws=laws)
    owners = deal_stateless(state.group, config, [len(holding.active) for holding in movement.stateful])
    return HighAvailabilityDecision(
        instances=Holdings(movement.stateful, state.group.stateless, owners),
        probing_rebalance=bool(movement.movements),  # more to come
        target=target,
        movements=movement.movements,
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
