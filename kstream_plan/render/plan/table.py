"""A plan as text for a terminal: at most ``width`` columns, colour only where asked for."""

from __future__ import annotations

from rich.cells import cell_len

from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.pages.steps import NO_STEP, Focus, details, where_it_stands
from kstream_plan.render.plan.columns import time_table
from kstream_plan.render.plan.story import Story, tell
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.page import LABEL_WIDTH, coloured, fact_lines, title_lines
from kstream_plan.render.text.wrapping import paragraph, wrapped

_NARROWEST = 60


def table(
    plan: Plan,
    *,
    width: int = DEFAULT_WIDTH,
    colour: bool = False,
    verbose: bool = False,
    draws: OverDraws | None = None,
) -> str:
    """Return the plan as lines of text, each ended.

    ``width`` in columns (at least 60 are taken); ``colour`` adds terminal control codes, else there are none;
    ``verbose`` adds every step with its reason; ``draws``: the plan is one of these of a simulation.
    """
    names = Names(plan.group)
    story = tell(plan, names, draws)
    width = max(width, _NARROWEST)
    lines = [*title_lines(story.title, width), *(text for fact in story.facts for text in fact_lines(fact, width))]
    if story.lines:
        lines += ["", *time_table(story, width)]
    lines += _loads(story, width)
    lines += [text for remark in story.remarks for text in paragraph(remark, width, " ! ", "   ")]
    if story.legend:
        lines += paragraph(story.legend, width, " ", " ")
    if verbose:
        lines += _detail(plan, names, Focus(), width)
    return _finished(lines, colour=colour)


def excerpt(plan: Plan, focus: Focus, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the steps in focus with their reasons, and where what is in focus stands before and after."""
    names = Names(plan.group)
    width = max(width, _NARROWEST)
    story = tell(plan, names)
    lines = [*title_lines(story.title, width), *(text for fact in story.facts[:1] for text in fact_lines(fact, width))]
    for standing in where_it_stands(plan, names, focus):
        lines += paragraph(standing, width, " ", "   ")
    return _finished([*lines, *(_detail(plan, names, focus, width) or ["", NO_STEP])], colour=colour)


def _detail(plan: Plan, names: Names, focus: Focus, width: int) -> list[str]:
    lines = []
    for detail in details(plan, names, focus):
        lines += ["", *paragraph(detail.heading, width, "", "  ")]
        for text in detail.sentences:
            lines += paragraph(text, width, "  ", "    ")
    return lines


def _finished(lines: list[str], *, colour: bool) -> str:
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return coloured(text) if colour else text


def _loads(story: Story, width: int) -> list[str]:
    if not story.loads:
        return []
    items = wrapped(story.loads, "   ", width, " tasks   ", " " * LABEL_WIDTH)
    legend = f"({story.loads_legend})"
    if cell_len(items[-1]) + len(legend) + 3 <= width:
        return [*items[:-1], f"{items[-1]}   {legend}"]
    return [*items, *paragraph(legend, width, " " * LABEL_WIDTH, " " * LABEL_WIDTH)]
