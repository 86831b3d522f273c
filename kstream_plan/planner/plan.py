"""A whole plan: the simulated loop, its outcome put together, the other possible outcomes, and the check of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from kstream_plan.errors import PlanInvariantError
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.planner.loop import OnRound
from kstream_plan.planner.one_run import run_once
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan_request import Enough, PlanRequest
from kstream_plan.planner.ranges import Ranges
from kstream_plan.planner.runner import Runner, sequential
from kstream_plan.planner.unproven_starts import with_unproven
from kstream_plan.plans import Plan
from kstream_plan.plans.design import Design
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.plans.python_gc import without_cycle_collector

__all__ = ["Enough", "OnRound", "check_invariants", "plan"]

#: After so many rounds a simulation is long: that of other outcomes is begun before it is known which are needed.
_LONG_SIMULATION = 100


@without_cycle_collector()
def plan(
    snapshot: Snapshot,
    design: Design,
    options: PlanOptions = PlanOptions(),
    *,
    scenario: Scenario | None = None,
    on_round: OnRound | None = None,
    enough: Enough | None = None,
    on_played: Callable[[Plan], object] = lambda _plan: None,
    side_by_side: Runner = sequential,
    is_shown: bool = True,
) -> Plan:
    """Simulate a group that coordinates by ``design``, from now on or through the events of ``scenario``.

    Of the ``options`` those count that are about any design. With a scenario the plan's group has all members that ever
    take part. ``on_round`` gets the number of rounds, of tasks that still have to move, and of their movements.
    ``enough`` is called after every round, and at the end, of other outcomes as well: whether to leave the plan
    ``unfinished``. ``on_played`` gets the plan before other outcomes are known. Without ``is_shown`` the plan has no
    digests, no end to go on from, and no balance of the load. Deterministic: the same snapshot, design and options give
    the same plan.

    Raises:
        ScenarioError: the scenario does not fit the group.
        UsageError: the plan is to begin before the snapshot was taken.
    """
    request = PlanRequest.from_snapshot(snapshot, design, options, scenario, enough)
    what_else = Ranges(request, side_by_side)
    report_round = partial(_report_round, what_else, on_round)
    run = run_once(request, report_round, is_shown=is_shown)
    likely_plan = run.plan
    on_played(replace(likely_plan, warnings=likely_plan.warnings + run.outcome.warnings))
    summary, ranges, warnings = what_else.find_ranges(run)
    ranges = with_unproven(ranges, summary, likely_plan.unproven_starts)
    return replace(likely_plan, summary=replace(summary, ranges=ranges), warnings=likely_plan.warnings + warnings)


def _report_round(what_else: Ranges, on_round: OnRound | None, rounds: int, tasks: int, movements: int) -> None:
    """Report a round to ``on_round``; once the simulation is long, begin those of other outcomes that are likely."""
    if rounds == _LONG_SIMULATION:
        what_else.begin()
    if on_round is not None:
        on_round(rounds, tasks, movements)


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
