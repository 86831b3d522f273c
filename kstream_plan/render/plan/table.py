"""A plan as text for a terminal: at most ``width`` columns, colour only where asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from kstream_plan.plans import Plan
from kstream_plan.policy.rules.measuring import OverDraws
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.plan.columns import time_table
from kstream_plan.render.plan.detail import NO_STEP, Focus, details, where_it_stands
from kstream_plan.render.plan.story import Story, tell
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.page import Fact
from kstream_plan.render.text.wrapping import paragraph, wrapped

_NARROWEST = 60
_LABEL = 9


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


def title_lines(fact: Fact, width: int) -> list[str]:
    """Return the first line, or lines: a name and what it is about."""
    head = f"{fact.label}:"
    text = _best(fact.forms, width - cell_len(head) - 1)
    return wrapped([head, *text.split(" ")], " ", width, "", "  ")


def fact_lines(fact: Fact, width: int) -> list[str]:
    """Return a labelled text in the fullest form that fits on a line, else the shortest, wrapped."""
    text = _best(fact.forms, width - _LABEL)
    return paragraph(text, width, f"{fact.label:<{_LABEL - 1}} ", " " * _LABEL)


def _best(forms: Sequence[str], room: int) -> str:
    """Return the fullest form that fits, else the shortest one."""
    return next((form for form in forms if cell_len(form) <= room), forms[-1])


def _loads(story: Story, width: int) -> list[str]:
    if not story.loads:
        return []
    items = wrapped(story.loads, "   ", width, " tasks   ", " " * _LABEL)
    legend = f"({story.loads_legend})"
    if cell_len(items[-1]) + len(legend) + 3 <= width:
        return [*items[:-1], f"{items[-1]}   {legend}"]
    return [*items, *paragraph(legend, width, " " * _LABEL, " " * _LABEL)]


_STYLES = (
    (r"^(SETTLES|SETTLED|SAME|TAKES)\b", "bold green"),
    (r"^ (IF|CURE)\b", "bold"),
    (r"^(MOVES|PAUSES|NOW|WAIT|LAGS|RELIEF|RANGE|RESTORE|BALANCE|COPIES|SETTINGS|NEXT|TASKS|CHANGED)\b", "bold"),
    (r"^(STUCK|CYCLES|STOPPED)", "bold red"),
    (r"^ *\d[\d:,]* +(STUCK|CYCLES|NOT FINISHED).*$", "red"),
    (r"^ *\d[\d:,]* +SETTLED.*$", "green"),
    (r"\b(COLD( STARTS?)?|ORPHANED)\b", "bold red"),
    (r"^ ! ", "yellow"),
    (r"CUT OVER|WARM UP", "bold"),
    (r"^round \d.*$", "bold"),
)
_NOT_ALL_READY = re.compile(r"probe \d+: (\d+)/(\d+)\b")


def coloured(text: str) -> str:
    """Return ``text`` with terminal colours; it must be free of control codes."""
    output = StringIO()
    console = Console(file=output, force_terminal=True, color_system="standard", no_color=False, highlight=False)
    for number, line in enumerate(text.splitlines()):
        styled = Text(line)
        for pattern, style in _STYLES:
            styled.highlight_regex(pattern, style)
        if number == 0:
            styled.stylize("bold", 0, max(line.find(":"), 0))
        for match in _NOT_ALL_READY.finditer(line):
            if match[1] != match[2]:
                styled.stylize("yellow", *match.span())
        console.print(styled, soft_wrap=True)
    return output.getvalue()
