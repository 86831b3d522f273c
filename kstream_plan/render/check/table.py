"""What a check found, as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kstream_plan.model.note import Remarks
from kstream_plan.policy.findings import Check, CheckedPlan, Tally
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.page import Page, remark_lines
from kstream_plan.render.pages.check import check_page, tally_text
from kstream_plan.render.terminal import to_terminal
from kstream_plan.render.text.escape import printable


def table_report(check: Check, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the page of every plan, the worst first; lines of text, each ended."""
    plans = [plan_text(checkup, width, colour, warnings_too=check.fail_on_warning) for checkup in check.plans]
    return table_of(plans, check.tally, width=width, colour=colour)


def table_of(plans: Iterable[str], tally: Tally, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the same of the text of each plan; of several plans a line before them says how many pass."""
    parts = []
    if len(tally.worst) != 1 or tally.errors:
        parts.append(to_terminal(Page(title=tally_text(tally)), width=width, colour=colour))
    lines = remark_lines(Remarks(warnings=tuple(note for _, note in tally.warnings)), printable)
    parts += plans
    parts += [to_terminal(Page(title="", lines=lines), width=width, colour=colour).lstrip("\n")] if lines else []
    return "\n".join(parts)


def plan_text(
    checkup: CheckedPlan,
    width: int,
    colour: bool,
    *,
    warnings_too: bool = False,
    complete: Callable[[Page], Page] = lambda page: page,
) -> str:
    """Return the page of one plan as text; ``warnings_too``: they fail the check; ``complete`` fills in commands."""
    return to_terminal(complete(check_page(checkup, warnings_too=warnings_too)), width=width, colour=colour)
