"""A page of text: its title, labelled facts in the form that fits, and colours for a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from kstream_plan.render.text.wrapping import paragraph, wrapped

#: Columns that a label takes, the blank after it included.
LABEL_WIDTH = 9


class Fact(NamedTuple):
    """A labelled text in one or more forms, the fullest first."""

    label: str
    forms: tuple[str, ...]


def title_lines(fact: Fact, width: int) -> list[str]:
    """Return the first line, or lines: a name and what it is about."""
    head = f"{fact.label}:"
    text = _best(fact.forms, width - cell_len(head) - 1)
    return wrapped([head, *text.split(" ")], " ", width, "", "  ")


def fact_lines(fact: Fact, width: int) -> list[str]:
    """Return a labelled text in the fullest form that fits on a line, else the shortest, wrapped."""
    text = _best(fact.forms, width - LABEL_WIDTH)
    return paragraph(text, width, f"{fact.label:<{LABEL_WIDTH - 1}} ", " " * LABEL_WIDTH)


def _best(forms: Sequence[str], room: int) -> str:
    """Return the fullest form that fits, else the shortest one."""
    return next((form for form in forms if cell_len(form) <= room), forms[-1])


_STYLES = (
    (r"^(SETTLES|SETTLED|SAME|AS SAID|TAKES)\b", "bold green"),
    (r"^ (IF|CURE)\b", "bold"),
    (
        r"^(MOVES|PAUSES|WHY|IF|NOW|NOTICED|OTHERS|BUSIEST|AFTER|WAIT|LAGS|RELIEF|RATES|RANGE|RESTORE|BALANCE|COPIES|SETTINGS|NEXT|TASKS|TASK|INSTANCE|WAITS|QUEUE|PROBES|SOONER|CURE|COUNT|STEP|THEN|CHANGED|DIFFERS|FIRST|LASTS|END)\b",
        "bold",
    ),
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
