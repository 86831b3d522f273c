"""Simulations and saved plans as pages of text for stdout: what was saved is shown as it was when it was made."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.cli.output import OutputForm, Page
from kstream_plan.cli.pages import overview, plan_page, together
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.fleet.figures import badness
from kstream_plan.plans.python_gc import without_cycle_collector
from kstream_plan.plans.result import result_of
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.simulation.json_form import simulation_json
from kstream_plan.render.simulation.markdown import simulation_markdown
from kstream_plan.render.simulation.table import simulation_table


def saved_page(saved: Sequence[SavedPlan], form: OutputForm, page: Page, *, full: bool, verbose: bool) -> str:
    """Return what was saved as it was shown then."""
    if form is OutputForm.JSON:
        return "".join(_line(of, full=full) for of in saved)
    results = [result_of(of.plan, of.simulation) for of in saved]
    several = len(saved) > 1
    in_full = sorted(zip(results, saved, strict=True), key=lambda of: badness(of[0])) if verbose or not several else []
    pages = [_saved_page(of, form, page, verbose=verbose) for _, of in in_full]
    return together([overview(results, form, page)] if several else [], pages, form)


def _saved_page(of: SavedPlan, form: OutputForm, page: Page, *, verbose: bool) -> str:
    if of.simulation is None:
        return plan_page(of.plan, form, page, verbose=verbose, draws=of.draws)
    return simulation_page(of.simulation, form, page, verbose=verbose)


def _line(of: SavedPlan, *, full: bool) -> str:
    return f"{plan_json(of.plan, full=full) if of.simulation is None else simulation_json(of.simulation, full=full)}\n"


@without_cycle_collector()
def simulation_page(simulated: Simulation, form: OutputForm, page: Page, *, verbose: bool) -> str:
    """Return a simulation as its table or Markdown."""
    if form is OutputForm.MARKDOWN:
        return simulation_markdown(simulated, verbose=verbose)
    return simulation_table(simulated, width=page.width, colour=page.colour, verbose=verbose)
