"""Simulations and saved plans as pages of text for stdout: what was saved is shown as it was when it was made."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.cli.output import OutputForm, Page
from kstream_plan.cli.pages import plan_page, plans_overview, together
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.plan.fleet import badness
from kstream_plan.render.simulation.fleet import simulation_badness, simulation_markdown_summary, simulation_summary
from kstream_plan.render.simulation.json_form import simulation_json
from kstream_plan.render.simulation.markdown import simulation_markdown
from kstream_plan.render.simulation.table import simulation_table


def simulation_lines(simulations: Sequence[Simulation], *, full: bool) -> str:
    """Return the simulations as JSON Lines, in the order given."""
    return "".join(f"{simulation_json(simulated, full=full)}\n" for simulated in simulations)


def simulations_page(
    simulations: Sequence[Simulation], form: OutputForm, page: Page, *, full: bool, verbose: bool
) -> str:
    """Return one simulation as its table or Markdown; several as a summary, and with ``verbose`` each as well."""
    if form is OutputForm.JSON:
        return simulation_lines(simulations, full=full)
    several = len(simulations) > 1
    in_full = sorted(simulations, key=simulation_badness) if verbose or not several else []
    pages = [_simulation_page(simulated, form, page, verbose=verbose) for simulated in in_full]
    return together([_overview(simulations, form, page)] if several else [], pages, form)


def saved_page(saved: Sequence[SavedPlan], form: OutputForm, page: Page, *, full: bool, verbose: bool) -> str:
    """Return what was saved as it was shown then; of plans beside simulations, the summary is that of plans."""
    simulations = [of.simulation for of in saved if of.simulation is not None]
    if len(simulations) == len(saved):
        return simulations_page(simulations, form, page, full=full, verbose=verbose)
    if form is OutputForm.JSON:
        return "".join(_line(of, full=full) for of in saved)
    several = len(saved) > 1
    in_full = sorted(saved, key=lambda of: badness(of.plan)) if verbose or not several else []
    pages = [
        plan_page(of.plan, form, page, verbose=verbose, draws=of.draws)
        if of.simulation is None
        else _simulation_page(of.simulation, form, page, verbose=verbose)
        for of in in_full
    ]
    return together([plans_overview([of.plan for of in saved], form, page)] if several else [], pages, form)


def _line(of: SavedPlan, *, full: bool) -> str:
    return f"{plan_json(of.plan, full=full) if of.simulation is None else simulation_json(of.simulation, full=full)}\n"


def _simulation_page(simulated: Simulation, form: OutputForm, page: Page, *, verbose: bool) -> str:
    if form is OutputForm.MARKDOWN:
        return simulation_markdown(simulated, verbose=verbose)
    return simulation_table(simulated, width=page.width, colour=page.colour, verbose=verbose)


def _overview(simulations: Sequence[Simulation], form: OutputForm, page: Page) -> str:
    if form is OutputForm.MARKDOWN:
        return simulation_markdown_summary(simulations)
    return simulation_summary(simulations, width=page.width, colour=page.colour)
