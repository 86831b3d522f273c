"""Plans as pages of text for stdout."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.cli.output import ONE_IN_FULL, OutputForm, Page
from kstream_plan.fleet.figures import badness
from kstream_plan.plans import Plan
from kstream_plan.plans.python_gc import without_cycle_collector
from kstream_plan.plans.result import Result
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.render.fleet import fleet_markdown, fleet_table
from kstream_plan.render.plan.detail import Focus
from kstream_plan.render.plan.markdown import markdown, markdown_excerpt
from kstream_plan.render.plan.table import excerpt, table
from kstream_plan.render.text.escape import fenced


@without_cycle_collector()
def plan_page(plan: Plan, form: OutputForm, page: Page, *, verbose: bool, draws: OverDraws | None = None) -> str:
    """Return a plan as its table or Markdown; ``draws``: it is one of these of a simulation."""
    if form is OutputForm.MARKDOWN:
        return markdown(plan, verbose=verbose, draws=draws)
    return table(plan, width=page.width, colour=page.colour, verbose=verbose, draws=draws)


def overview(results: Sequence[Result], form: OutputForm, page: Page) -> str:
    """Return several applications at a glance, the worst first, as ``fleet`` does."""
    ordered = sorted(results, key=badness)
    if form is OutputForm.MARKDOWN:
        return fleet_markdown(ordered, ordered)
    return fleet_table(ordered, ordered, width=page.width, colour=page.colour)


def together(overviews: Sequence[str], in_full: Sequence[str], form: OutputForm) -> str:
    """Return the overview and what is shown in full as one page, which tells how to see more if that is nothing."""
    hint = ONE_IN_FULL if overviews and not in_full and form is OutputForm.TABLE else ""
    return "\n".join([*overviews, *in_full]) + hint


def excerpts_page(plans: Sequence[Plan], focuses: Sequence[Focus], form: OutputForm, page: Page) -> str:
    """Return the part of each plan that is in its focus."""
    pairs = list(zip(plans, focuses, strict=True))
    if form is OutputForm.MARKDOWN:
        return "\n".join(markdown_excerpt(plan, focus) for plan, focus in pairs)
    return "\n".join(excerpt(plan, focus, width=page.width, colour=page.colour) for plan, focus in pairs)


def ranks_page(ranks: Sequence[str], form: OutputForm) -> str:
    """Return every application's ranked candidates."""
    text = "".join(f"\n{one}" for one in ranks)
    return f"\n{fenced(text)}\n" if form is OutputForm.MARKDOWN else text
