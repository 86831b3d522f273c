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


def plans_page(
    plans: Sequence[Plan],
    form: OutputForm,
    page: Page,
    *,
    full: bool,
    verbose: bool,
    draws: Sequence[OverDraws | None] | None = None,
) -> str:
    """Return one plan as its table or Markdown; several as a summary, and with ``verbose`` each of them as well.

    ``draws``: of which draws of a simulation each plan is one.
    """
    in_full = _in_full(plans, draws or [None] * len(plans), verbose)
    match form:
        case OutputForm.JSON:
            return plan_lines(plans, full=full)
        case OutputForm.TABLE:
            one = [table(plan, width=page.width, colour=page.colour, verbose=verbose, draws=of) for plan, of in in_full]
            return "\n".join([*_overview(plans, form, page), *one]) + _hint(plans, verbose)
        case OutputForm.MARKDOWN:
            pages = [markdown(plan, verbose=verbose, draws=of) for plan, of in in_full]
            return "\n".join([*_overview(plans, form, page), *pages])


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


def _in_full(
    plans: Sequence[Plan], draws: Sequence[OverDraws | None], verbose: bool
) -> Sequence[tuple[Plan, OverDraws | None]]:
    if len(plans) > 1 and not verbose:
        return []
    return sorted(zip(plans, draws, strict=True), key=lambda pair: badness(pair[0]))


def _overview(plans: Sequence[Plan], form: OutputForm, page: Page) -> list[str]:
    if len(plans) == 1:
        return []
    if form is OutputForm.MARKDOWN:
        return [markdown_summary(plans)]
    return [summary(plans, width=page.width, colour=page.colour)]


def _hint(plans: Sequence[Plan], verbose: bool) -> str:
    return ONE_IN_FULL if len(plans) > 1 and not verbose else ""
