"""When the next rebalance starts, and what starts it."""

from __future__ import annotations

from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.advance import AT_ONCE_MS
from kstream_plan.planner.outside import OutsideEvents
from kstream_plan.plans import Trigger
from kstream_plan.protocols.transition import Transition


def next_rebalance(
    at_ms: int, transition: Transition, config: AssignmentConfig, course: OutsideEvents, *, settled: bool
) -> tuple[int, Trigger]:
    """Return the time of the rebalance that follows the one at ``at_ms``, and its trigger.

    ``settled``: nothing follows by itself, so there has to be a change from outside.
    """
    due_ms = _due_ms(at_ms, transition, config)
    change_ms = course.next_change_ms()
    if transition.follow_up:
        return due_ms, Trigger.FOLLOW_UP
    if change_ms is not None and (settled or change_ms <= due_ms):
        return change_ms, Trigger.MANUAL
    return due_ms, Trigger.PROBING


def _due_ms(at_ms: int, transition: Transition, config: AssignmentConfig) -> int:
    """The typical time of the next rebalance (reference, "What a real group does", 5; README, clock)."""
    if not transition.follow_up:
        return at_ms + config.probing_rebalance_interval_ms + config.heartbeat_interval_ms
    everyone_at_once = len(transition.disturbed) == len(transition.holdings)
    return at_ms + (AT_ONCE_MS if everyone_at_once else config.heartbeat_interval_ms)
