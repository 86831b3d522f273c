"""Shipped Kafka's ``HighAvailabilityTaskAssignor`` on the classic protocol, to the last tie (reference section 4).

The rules in their order; each has its own file:

1. active tasks of the balanced target, 2. its standbys, 3. its rack-aware optimisation: ``target``
4. movements of active tasks, 5. movements of standbys: ``movements``
6. stateless tasks: ``stateless``
7. a probing rebalance follows if anything moved or waits to.

Each instance's tasks are then split over its consumers: ``consumer_split``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kstream_plan.assignors.high_availability import reuse
from kstream_plan.assignors.high_availability.holdings_draft import HoldingsDraft
from kstream_plan.assignors.high_availability.movements import MovementsDraft, move_active, move_standbys
from kstream_plan.assignors.high_availability.stateless import deal_stateless
from kstream_plan.assignors.high_availability.target import balanced_target
from kstream_plan.assignors.threads.split import split
from kstream_plan.model import Assignment, GroupState, Holding, Holdings, Movement, Target
from kstream_plan.model.movement_queue import MovementQueue
from kstream_plan.model.ranking import number_caught_up
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig


class HighAvailabilityDecision(NamedTuple):
    """An :class:`~kstream_plan.model.Assignment` before its split over the consumers; fields as there."""

    instances: Holdings
    probing_rebalance: bool
    target: Target
    movements: Sequence[Movement]
    short_standbys: tuple[tuple[int, int], ...]


def assign(
    state: GroupState, config: AssignmentConfig, previous: tuple[GroupState, Assignment] | None = None
) -> Assignment:
    """Decide where every task goes, instance by instance, then consumer by consumer.

    Args:
        state: the group; of the copies only instance, lag and reporters matter, of the holdings nothing.
        config: the application's settings.
        previous: an earlier decision for the same group and settings, and its state. It only saves work.
    """
    if previous is not None and previous[0].group is not state.group:
        previous = None
    decision = decide(state, config, previous)
    return Assignment(
        instances=decision.instances,
        consumers=split(state, decision.instances, previous),
        probing_rebalance=decision.probing_rebalance,
        target=decision.target,
        movements=decision.movements,
        short_standbys=decision.short_standbys,
    )


def decide(
    state: GroupState, config: AssignmentConfig, previous: tuple[GroupState, Assignment] | None = None
) -> HighAvailabilityDecision:
    """Decide which instance gets which task in which role; arguments as of :func:`assign`."""
    redone = previous and reuse.move_again(state, config, *previous)
    if previous and redone:
        return _decide_again(state, config, previous[1], redone)
    target, short_standbys = _target(state, config, previous)  # rules 1, 2 and 3
    movements = _movements(state, config, target)  # rules 4 and 5
    holdings = HoldingsDraft([Holding(active, standby) for active, standby in zip(*target, strict=True)])
    for movement in movements:
        holdings.apply(movement)
    return HighAvailabilityDecision(
        instances=deal_stateless(state.group, config, holdings.frozen()),  # rule 6
        probing_rebalance=bool(movements),  # rule 7
        target=target,
        movements=movements,
        short_standbys=short_standbys,
    )


def _target(
    state: GroupState, config: AssignmentConfig, previous: tuple[GroupState, Assignment] | None
) -> tuple[Target, tuple[tuple[int, int], ...]]:
    """Return the target and its shortages; they depend on the group and the settings only."""
    if previous is not None:
        return previous[1].target, previous[1].short_standbys
    return balanced_target(state.group, config)


def _movements(state: GroupState, config: AssignmentConfig, target: Target) -> Sequence[Movement]:
    """Move active tasks, then standbys; nothing moves if any lag is acceptable.

    Without standbys a queue comes out, of which the next decision takes what it can (:mod:`reuse`).
    """
    if config.acceptable_recovery_lag == MAX_LONG:
        return ()
    draft = MovementsDraft.of(state, config, target)
    move_active(draft)
    if config.num_standby_replicas == 0:
        return MovementQueue(draft.done, lambda task: number_caught_up(state, task, config.acceptable_recovery_lag))
    move_standbys(draft)
    return tuple(draft.done)


def _decide_again(
    state: GroupState, config: AssignmentConfig, decided: Assignment, redone: reuse.Redone
) -> HighAvailabilityDecision:
    """Change an earlier decision by the movements that are new or gone; the stateless tasks follow the loads."""
    instances = Holdings.of(state.group, decided.instances)
    holdings = HoldingsDraft(instances.stateful)
    for movement in redone.withdrawn:
        holdings.revert(movement)
    for movement in redone.new:
        holdings.apply(movement)
    if redone.withdrawn or redone.new:
        instances = deal_stateless(state.group, config, holdings.frozen())
    return HighAvailabilityDecision(
        instances=instances,
        probing_rebalance=bool(redone.all),
        target=decided.target,
        movements=redone.all,
        short_standbys=decided.short_standbys,
    )
