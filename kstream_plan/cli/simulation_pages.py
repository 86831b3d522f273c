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


def saved_page(entries: Sequence[SavedPlan], form: OutputForm, page: Page, *, full: bool, verbose: bool) -> str:
    """Return what was saved as it was shown then."""
    if form is OutputForm.JSON:
        return "".join(_line(entry, full=full) for entry in entries)
    results = [result_of(entry.plan, entry.simulation) for entry in entries]
    is_plural = len(entries) > 1
    in_full = (
        sorted(zip(results, entries, strict=True), key=lambda pair: badness(pair[0]))
        if verbose or not is_plural
        else []
    )
    pages = [answer_text(entry.simulation or entry.plan, form, page, verbose=verbose) for _, entry in in_full]
    return join_pages([overview(results, form, page)] if is_plural else [], pages, form)


def _line(entry: SavedPlan, *, full: bool) -> str:
    plan, simulation = entry.plan, entry.simulation
    return f"{plan_json(plan, full=full) if simulation is None else simulation_json(simulation, full=full)}\n"
