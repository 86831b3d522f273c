"""The figures of a play that is not put together as a plan are those of the plan, to the last unit."""

from __future__ import annotations

import pytest

from kstream_plan.errors import ScenarioError
from kstream_plan.planner.one_run import run_figures, run_once
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan_request import PlanRequest
from kstream_plan.planner.ranges import VariantRun
from kstream_plan.plans import Plan
from kstream_plan.plans.rounds import NOT_COUNTED
from kstream_plan.plans.summary import FIGURES
from kstream_plan.simulation.one_plan import design_of
from kstream_plan.simulation.random_ids import with_random_ids
from tests.helpers.stateful_groups import stateful_case

PARTS = 8
GROUPS = 80


def _played(seed: int) -> tuple[PlanRequest, Plan] | None:
    """Return a case and the plan of it; ``None``: the scenario does not fit the group."""
    snapshot, scenario = stateful_case(seed)
    options = PlanOptions(max_rounds=150)
    try:
        item = None if scenario is None else with_random_ids(scenario, snapshot.state.group, 0)
        case = PlanRequest.from_snapshot(snapshot, design_of(snapshot, options), options, item)
        return case, run_once(case).plan
    except ScenarioError:
        return None


@pytest.mark.parametrize("part", range(PARTS))
def test_figures_are_those_of_the_plan(part: int) -> None:
    found = [plan for seed in range(part, GROUPS, PARTS) if (plan := _played(seed)) is not None]
    assert len(found) > GROUPS / PARTS / 2
    for case, result in found:
        alone = run_figures(case)
        assert (alone.summary, alone.pauses, alone.verdict) == (result.summary, result.pauses, result.verdict)
        answers = {figure: result.figure(figure) for figure in FIGURES}
        assert answers.items() <= VariantRun(case, case.design, case.options)().items()


def test_nobody_counts_how_even_the_load_is_for_figures() -> None:
    case, result = next(plan for seed in range(GROUPS) if (plan := _played(seed)) is not None and plan[1].rounds)
    assert {rnd.balance for rnd in run_figures(case).run.rounds} == {NOT_COUNTED}
    assert NOT_COUNTED not in {rnd.balance for rnd in result.rounds}
