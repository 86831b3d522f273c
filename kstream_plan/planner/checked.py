"""A plan that has been checked."""

from __future__ import annotations

from kstream_plan.errors import PlanInvariantError
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan import OnRound, plan
from kstream_plan.planner.runner import Runner, sequential
from kstream_plan.plans import Plan
from kstream_plan.plans.design import Design
from kstream_plan.plans.invariants import broken_invariants


def plan_checked(
    snapshot: Snapshot,
    design: Design,
    options: PlanOptions = PlanOptions(),
    *,
    scenario: Scenario | None = None,
    on_round: OnRound | None = None,
    side_by_side: Runner = sequential,
) -> Plan:
    """Return a plan, as :func:`kstream_plan.planner.plan.plan` does, and check every invariant of it.

    Raises:
        ScenarioError: the scenario does not fit the group.
        PlanInvariantError: the plan contradicts itself, which is a defect of this tool.
    """
    return plan(
        snapshot,
        design,
        options,
        scenario=scenario,
        on_round=on_round,
        on_played=check_invariants,  # no invariant is about ranges, nor about the warnings that come with them
        side_by_side=side_by_side,
    )


def check_invariants(candidate: Plan) -> Plan:
    """Return the plan if it breaks no invariant.

    Raises:
        PlanInvariantError: it contradicts itself, which is a defect of this tool.
    """
    violations = broken_invariants(candidate)
    if violations:
        first = violations[0]
        in_round = "" if first.round_number is None else f" in round {first.round_number}"
        raise PlanInvariantError(
            f"the plan breaks {first.invariant}{in_round}: {first.message}",
            where=f"application {candidate.group.application_id!r}",
            fix="this is a defect of kstream-plan, not of your input: report it with the snapshot",
        )
    return candidate
