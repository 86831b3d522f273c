"""Shipped Kafka's ``HighAvailabilityTaskAssignor`` on the classic protocol, to the last tie.

Source: page ``rules``, "Balanced target".

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

from kstream_plan.assignors.high_availability.holdings_draft import HoldingsDraft, holdings_of
from kstream_plan.assignors.high_availability.movements import MovementsDraft, move_active, move_standbys
from kstream_plan.assignors.high_availability.stateless import deal_stateless
from kstream_plan.assignors.high_availability.target import balanced_target
from kstream_plan.assignors.high_availability.underway import Handled, Moved, move_again
from kstream_plan.assignors.threads.split import split
from kstream_plan.model import Assignment, Group, GroupState, Holdings, Movement, Target
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig


class HighAvailabilityDecision(NamedTuple):
    """An :class:`~kstream_plan.model.Assignment` before its split over the consumers; fields as there."""

    instances: Holdings
    probing_rebalance: bool
    target: Target
    movements: Sequence[Movement]
    short_standbys: tuple[tuple[int, int], ...]


def assign(
    state: GroupState,
    config: AssignmentConfig,
    previous: tuple[GroupState, Assignment] | None = None,
    *,
    in_heap_order: bool = False,
) -> Assignment:
    """Decide where every task goes, instance by instance, then consumer by consumer.

    Args:
        state: the group; of the copies only instance, lag and reporters matter, of the holdings nothing.
        config: the application's settings.
        previous: an earlier decision for the same group and settings, and its state. It only saves work.
        in_heap_order: movements are handled as releases before 3.3 do: as they lie in a heap.
    """
    if previous is not None and previous[0].group is not state.group:
        previous = None
    decision = decide(state, config, previous, in_heap_order=in_heap_order)
    return Assignment(
        instances=decision.instances,
        consumers=split(state, decision.instances, previous),
        probing_rebalance=decision.probing_rebalance,
        target=decision.target,
        movements=decision.movements,
        short_standbys=decision.short_standbys,
    )


def decide(
    state: GroupState,
    config: AssignmentConfig,
    previous: tuple[GroupState, Assignment] | None = None,
    *,
    in_heap_order: bool = False,
) -> HighAvailabilityDecision:
    """Decide which instance gets which task in which role; arguments as of :func:`assign`."""
    if previous is not None:
        before, decided = previous
        moved = None if in_heap_order else move_again(state, config, before, decided.target, decided.movements)
        if moved is not None:
            return _decided_again(state, config, decided, moved)
        target, short_standbys = decided.target, decided.short_standbys
    else:
        target, short_standbys = _balanced_target(state.group, config)  # the fresh target
    draft = MovementsDraft.of(state, config, target, in_heap_order=in_heap_order)
    movements = _movements(draft, config)  # towards it
    instances = deal_stateless(
        state.group, config, holdings_of(draft.places(), len(target.active))
    )  # stateless tasks come last
    return HighAvailabilityDecision(
        instances=instances,
        probing_rebalance=bool(movements),  # more to come
        target=target,
        movements=movements,
        short_standbys=short_standbys,
    )


def _balanced_target(group: Group, config: AssignmentConfig) -> tuple[Target, tuple[tuple[int, int], ...]]:
    """Return the group's balanced target; remembered, for a group may come back to the same members again and again."""
    known: tuple[AssignmentConfig, tuple[Target, tuple[tuple[int, int], ...]]] | None
    known = vars(group).get("_balanced_target")
    if known is None or known[0] != config:
        known = config, balanced_target(group, config)
        vars(group)["_balanced_target"] = known
    return known[1]


def _movements(draft: MovementsDraft, config: AssignmentConfig) -> Sequence[Movement]:
    """Move active tasks, then standbys; nothing moves if any lag is acceptable.

    With one standby at most a queue comes out, of which the next decision takes what it can (:mod:`underway`).
    """
    if config.acceptable_recovery_lag == MAX_LONG:
        return ()
    pending = move_active(draft)
    handled = Handled(list(zip(pending, draft.done, strict=True)), move_standbys(draft))
    return (
        tuple(draft.done)
        if draft.several_standbys or draft.in_heap_order
        else handled.queue(len(draft.state.group.tasks))
    )


def _decided_again(
    state: GroupState, config: AssignmentConfig, decided: Assignment, moved: Moved
) -> HighAvailabilityDecision:
    """Change an earlier decision by what moves otherwise; the stateless tasks follow the loads."""
    instances = Holdings.of(state.group, decided.instances)
    if moved.places:
        holdings = HoldingsDraft(instances.stateful)
        for task, was, now in moved.places:
            holdings.move(task, was, now)
        instances = deal_stateless(state.group, config, holdings.frozen())
    return HighAvailabilityDecision(
        instances=instances,
        probing_rebalance=bool(moved.movements),
        target=decided.target,
        movements=moved.movements,
        short_standbys=decided.short_standbys,
    )
