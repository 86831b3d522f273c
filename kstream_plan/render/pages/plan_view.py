"""What the parts of a plan's page have in common: the plan, its events, names, and the ends of every figure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kstream_plan.plans import Plan
from kstream_plan.plans.rebalance_events import RebalanceEvent, events, membership
from kstream_plan.plans.simulated import Draws, Range, Simulation, range_of
from kstream_plan.render.text.names import Names


@dataclass(frozen=True)
class PlanView:
    """A plan, or the one that is shown of a simulation.

    plan: what is shown.
    names: what its members and tasks are called.
    simulation: what the plan is of; None: nothing was random, and nothing happened from outside.
    """

    plan: Plan
    names: Names
    simulation: Simulation | None = None

    @cached_property
    def activities(self) -> list[RebalanceEvent]:
        """The rebalances, each with the follow-ups that it causes."""
        return events(self.plan)

    @property
    def draws(self) -> Draws | None:
        """The random simulations, if there are several."""
        return None if self.simulation is None else self.simulation.draws

    @cached_property
    def arrivals(self) -> list[str]:
        """The process ids that are no members at first."""
        return membership(self.plan)[0]

    @cached_property
    def departures(self) -> list[str]:
        """The process ids that are no members at the end."""
        return membership(self.plan)[1]

    def figure(self, name: str) -> Range:
        """Return a figure as this plan has it, and the ends of what it may be, over all random simulations."""
        return range_of(self.plan, name, self.draws)
