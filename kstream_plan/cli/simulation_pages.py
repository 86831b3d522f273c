"""Simulations and saved plans as pages of text for stdout: what was saved is shown as it was when it was made."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.cli.output import OutputForm, Page
from kstream_plan.cli.pages import answer_text, join_pages, overview
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.fleet.figures import badness
from kstream_plan.plans.result import result_of
from kstream_plan.render.simulation.json_form import simulation_json


def saved_page(saved_plans: Sequence[SavedPlan], form: OutputForm, page: Page, *, full: bool, verbose: bool) -> str:
    """Return what was saved as it was shown then."""
    if form is OutputForm.JSON:
        return "".join(_line(saved_plan, full=full) for saved_plan in saved_plans)
    results = [result_of(saved_plan.plan, saved_plan.simulation) for saved_plan in saved_plans]
    is_plural = len(saved_plans) > 1
    in_full = (
        sorted(zip(results, saved_plans, strict=True), key=lambda pair: badness(pair[0]))
        if verbose or not is_plural
        else []
    )
    pages = [
        answer_text(saved_plan.simulation or saved_plan.plan, form, page, verbose=verbose) for _, saved_plan in in_full
    ]
    return join_pages([overview(results, form, page)] if is_plural else [], pages, form)


def _line(saved_plan: SavedPlan, *, full: bool) -> str:
    plan, simulation = saved_plan.plan, saved_plan.simulation
    return f"{plan_json(plan, full=full) if simulation is None else simulation_json(simulation, full=full)}\n"
