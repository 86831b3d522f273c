"""What the parts of a plan's page have in common: the plan, its events, names, and the ends of every figure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kstream_plan.plans import Plan
from kstream_plan.plans.activity import Activity, events, membership
from kstream_plan.plans.simulated import Draws, Range, Simulation
from kstream_plan.render.text.names import Names

#: The figures of all random simulations, by the figure of a plan.
_OF_DRAWS = {
    "duration_ms": "duration_ms",
    "rebalances": "rebalances",
    "probing_rebalances": "probing_rebalances",
    "moves": "moves",
    "cold_handovers": "cold_handovers",
    "restored_records": "restored_records",
    "max_paused_task_ms": "max_paused_ms",
}
#: The rules of a policy that measure the worst of all random simulations, by the figure of a plan.
_WORST_OF_DRAWS = {
    "longest_pause_ms": "max_pause_per_handover",
    "paused_tasks_at_once": "max_paused_tasks_at_once",
    "peak_extra_copies": "max_peak_extra_copies",
    "paused_task_ms": "max_pause_in_all",
    "runs_by_ms": "max_duration",
}


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
    def activities(self) -> list[Activity]:
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
        over_draws: tuple[int, ...] = ()
        if self.draws is not None:
            if name in _OF_DRAWS:
                over_draws = tuple(getattr(self.draws, _OF_DRAWS[name]))
            elif (worst := self.draws.worst.get(_WORST_OF_DRAWS.get(name, ""))) is not None:
                over_draws = (worst,)
        likely = self.plan.figure(name) or 0
        return Range(likely, *self.plan.ends(name, *over_draws))
