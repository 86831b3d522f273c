"""One rebalance of a group, and what becomes of its copies until the next one, by what was decided by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kstream_plan.assignors.laws import NEWEST
from kstream_plan.designs.classic.simulated_group import Columns, DecidedRebalance, SimulatedGroup, seats_of
from kstream_plan.engine.state_cleaner import StateCleaner
from kstream_plan.model import Assignment, GroupState, Holding, Rates, Target
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import seated
from kstream_plan.plans.design import Interval
from kstream_plan.plans.restoring import Span
from kstream_plan.plans.step_rows import StepMaker
from kstream_plan.protocols import PROTOCOLS, Protocol


def decision(consumers: Sequence[Holding]) -> Assignment:
    """A decision of which only the outcome is known, by consumer."""
    return Assignment(instances=(), consumers=consumers, probing_rebalance=False, target=Target((), ()))


class Rebalanced:
    """A group at one rebalance, whose holders all have copies; ``decided`` is what comes out."""

    def __init__(
        self,
        before: GroupState,
        assignment: Assignment,
        protocol: Protocol = PROTOCOLS["cooperative"],
        config: AssignmentConfig | None = None,
    ) -> None:
        config = config or AssignmentConfig()
        cleaner = StateCleaner(config.state_cleanup_delay_ms)
        standbys = seats_of(before.group, assignment)
        columns = Columns(before.group, None, config, cleaner, NEWEST, protocol, standbys=standbys)
        self.in_play = SimulatedGroup(columns, seated(before), {})
        maker = StepMaker(before.group, (None, config.acceptable_recovery_lag))
        self.decided: DecidedRebalance = self.in_play.adopt(maker, 0, assignment, times_alone=False)

    @property
    def withheld(self) -> dict[int, int]:
        """By stateful task who has to give it up first."""
        return self.in_play.columns.decision.withheld_tasks()

    def disturb(self, revoking: Iterable[int], waiting: Iterable[int]) -> None:
        """Let these consumers give up, or wait for, something else besides."""
        self.in_play.columns.decision.disturb(revoking, waiting)

    def after(
        self, from_ms: int, to_ms: int, *, tick: bool, rates: Rates | None = None, spans: Sequence[Span] = ()
    ) -> GroupState:
        """The group as the next rebalance finds it."""
        interval = Interval(from_ms, to_ms, spans or (Span(rates or Rates(), to_ms - from_ms),))
        after = self.in_play.go_on(interval, tick=tick, at_probes=False)
        return replace(after, copies=tuple(after.copies), holdings=tuple(after.holdings))
