"""Simulations and saved plans as pages of text for stdout: what was saved is shown as it was when it was made."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.cli.output import OutputForm, Page
from kstream_plan.cli.pages import answer_text, overview, together
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.fleet.figures import badness
from kstream_plan.plans.result import result_of
from kstream_plan.render.simulation.json_form import simulation_json


def saved_page(saved: Sequence[SavedPlan], form: OutputForm, page: Page, *, full: bool, verbose: bool) -> str:
    """Return what was saved as it was shown then."""
    if form is OutputForm.JSON:
        return "".join(_line(of, full=full) for of in saved)
    results = [result_of(of.plan, of.simulation) for of in saved]
    several = len(saved) > 1
    in_full = sorted(zip(results, saved, strict=True), key=lambda of: badness(of[0])) if verbose or not several else []
    pages = [answer_text(of.simulation or of.plan, form, page, verbose=verbose) for _, of in in_full]
    return together([overview(results, form, page)] if several else [], pages, form)


def _line(of: SavedPlan, *, full: bool) -> str:
    return f"{plan_json(of.plan, full=full) if of.simulation is None else simulation_json(of.simulation, full=full)}\n"
