"""Plans as pages of text for stdout."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.cli.output import ONE_IN_FULL, OutputForm, Page
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Snapshot
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.render.plan.detail import Focus
from kstream_plan.render.plan.fleet import badness, markdown_summary, summary
from kstream_plan.render.plan.markdown import markdown, markdown_excerpt
from kstream_plan.render.plan.ranks import ranks
from kstream_plan.render.plan.table import excerpt, table
from kstream_plan.render.text.escape import fenced


def plan_lines(plans: Sequence[Plan], *, full: bool) -> str:
    """Return the plans as JSON Lines, in the order given."""
    return "".join(f"{plan_json(plan, full=full)}\n" for plan in plans)


def plans_page(plans: Sequence[Plan], form: OutputForm, page: Page, *, full: bool, verbose: bool) -> str:
    """Return one plan as its table or Markdown; several as a summary, and with ``verbose`` each of them as well."""
    if form is OutputForm.JSON:
        return plan_lines(plans, full=full)
    in_full = sorted(plans, key=badness) if verbose or len(plans) == 1 else []
    pages = [plan_page(plan, form, page, verbose=verbose) for plan in in_full]
    return together([plans_overview(plans, form, page)] if len(plans) != 1 else [], pages, form)


def plan_page(plan: Plan, form: OutputForm, page: Page, *, verbose: bool, draws: OverDraws | None = None) -> str:
    """Return a plan as its table or Markdown; ``draws``: it is one of these of a simulation."""
    if form is OutputForm.MARKDOWN:
        return markdown(plan, verbose=verbose, draws=draws)
    return table(plan, width=page.width, colour=page.colour, verbose=verbose, draws=draws)


def plans_overview(plans: Sequence[Plan], form: OutputForm, page: Page) -> str:
    """Return several plans, one line each."""
    if form is OutputForm.MARKDOWN:
        return markdown_summary(plans)
    return summary(plans, width=page.width, colour=page.colour)


def together(overview: Sequence[str], in_full: Sequence[str], form: OutputForm) -> str:
    """Return the overview and what is shown in full as one page, which tells how to see more if that is nothing."""
    hint = ONE_IN_FULL if overview and not in_full and form is OutputForm.TABLE else ""
    return "\n".join([*overview, *in_full]) + hint


def excerpts_page(plans: Sequence[Plan], focuses: Sequence[Focus], form: OutputForm, page: Page) -> str:
    """Return the part of each plan that is in its focus."""
    pairs = list(zip(plans, focuses, strict=True))
    if form is OutputForm.MARKDOWN:
        return "\n".join(markdown_excerpt(plan, focus) for plan, focus in pairs)
    return "\n".join(excerpt(plan, focus, width=page.width, colour=page.colour) for plan, focus in pairs)


def ranks_page(snapshots: Sequence[Snapshot], form: OutputForm, page: Page) -> str:
    """Return every application's ranked candidates."""
    text = "".join(f"\n{ranks(snapshot, width=page.width)}" for snapshot in snapshots)
    return f"\n{fenced(text)}\n" if form is OutputForm.MARKDOWN else text
