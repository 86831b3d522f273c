"""A plan that has been checked."""

from __future__ import annotations

from kstream_plan.errors import PlanInvariantError
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.planner.plan import OnRound, plan
from kstream_plan.plans import Plan, Trigger
from kstream_plan.plans.invariants import broken_invariants


def plan_checked(
    snapshot: Snapshot,
    *,
    scenario: Scenario | None = None,
    assignor: str = "high-availability",
    protocol: str = "cooperative",
    trigger: Trigger | None = None,
    max_rounds: int | None = None,
    bounds: bool = False,
    on_round: OnRound | None = None,
) -> Plan:
    """Plan (arguments as of :func:`kstream_plan.planner.plan.plan`) and check every invariant of the result.

    Raises:
        ScenarioError: the scenario does not fit the group.
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    made = plan(
        snapshot,
        scenario=scenario,
        assignor=assignor,
        protocol=protocol,
        trigger=trigger,
        max_rounds=max_rounds,
        bounds=bounds,
        on_round=on_round,
    )
    broken = broken_invariants(made)
    if broken:
        first = broken[0]
        at = "" if first.round_number is None else f" in round {first.round_number}"
        raise PlanInvariantError(
            f"the plan breaks {first.invariant}{at}: {first.message}",
            where=f"application {made.group.application_id!r}",
            fix="this is a defect of kstream-plan, not of your input: please report it with the snapshot",
        )
    return made
