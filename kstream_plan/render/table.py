"""A plan as text for a terminal: at most ``width`` columns, colour only where asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

from kstream_plan.render.detail import Focus, details, where_it_stands
from kstream_plan.render.headline import Fact
from kstream_plan.render.names import Names
from kstream_plan.render.story import Story, tell
from kstream_plan.steps import Plan

DEFAULT_WIDTH = 80
_NARROWEST = 60
_LABEL = 9
_GAP = "  "
_RECORDS_FROM = 96


def table(plan: Plan, *, width: int = DEFAULT_WIDTH, colour: bool = False, verbose: bool = False) -> str:
    """Return the plan as lines of text, each ended.

    ``width`` in columns (at least 60 are taken); ``colour`` adds terminal control codes, else there are none;
    ``verbose`` adds every step with its reason.
    """
    names = Names(plan.group)
    story = tell(plan, names)
    width = max(width, _NARROWEST)
    lines = [*_title(story.title, width), *(text for fact in story.facts for text in _fact(fact, width))]
    if story.lines:
        lines += ["", *_time_table(story, width)]
    lines += _loads(story, width)
    lines += [text for remark in story.remarks for text in wrapped(remark.split(" "), " ", width, " ! ", "   ")]
    if story.legend:
        lines += wrapped(story.legend.split(" "), " ", width, " ", " ")
    if verbose:
        lines += _detail(plan, names, Focus(), width)
    return _finished(lines, colour=colour)


def excerpt(plan: Plan, focus: Focus, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the steps in focus with their reasons, and where what is in focus stands before and after."""
    names = Names(plan.group)
    width = max(width, _NARROWEST)
    story = tell(plan, names)
    lines = [*_title(story.title, width), *(text for fact in story.facts[:1] for text in _fact(fact, width))]
    for standing in where_it_stands(plan, names, focus):
        lines += wrapped(standing.split(" "), " ", width, " ", "   ")
    return _finished([*lines, *_detail(plan, names, focus, width)], colour=colour)


def _detail(plan: Plan, names: Names, focus: Focus, width: int) -> list[str]:
    lines = []
    for detail in details(plan, names, focus):
        lines += ["", detail.heading]
        for text in detail.sentences:
            lines += wrapped(text.split(" "), " ", width, "  ", "    ")
    return lines


def _finished(lines: list[str], *, colour: bool) -> str:
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return coloured(text) if colour else text


def wrapped(items: Sequence[str], gap: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Fill lines of ``width`` columns with ``items``, breaking between them, or inside one that is too long."""
    lines: list[str] = []
    line, empty = first, True
    for item in items:
        if not empty and cell_len(line) + cell_len(gap) + cell_len(item) > width:
            lines.append(line)
            line, empty = rest, True
        room = max(width - cell_len(line), 1)
        *full, end = chop_cells(item, room) if cell_len(item) > room else [item]
        for part in full:
            lines.append(line + part)
            line = rest
        line, empty = (line + end if empty else line + gap + end), False
    return [*lines, line]


def _title(fact: Fact, width: int) -> list[str]:
    head = f"{fact.label}: "
    return wrapped(_best(fact.forms, width - cell_len(head)).split(" "), " ", width, head, "  ")


def _fact(fact: Fact, width: int) -> list[str]:
    text = _best(fact.forms, width - _LABEL)
    return wrapped(text.split(" "), " ", width, f"{fact.label:<{_LABEL - 1}} ", " " * _LABEL)


def _best(forms: Sequence[str], room: int) -> str:
    """Return the fullest form that fits, else the shortest one."""
    return next((form for form in forms if cell_len(form) <= room), forms[-1])


@dataclass(frozen=True, slots=True)
class _Column:
    heading: tuple[str, str]
    cells: list[tuple[str, ...]]
    gap: str
    right: bool = False
    is_list: bool = False

    @property
    def natural(self) -> int:
        """The width that the heading and each item on its own need."""
        return max(cell_len(text) for text in (*self.heading, *(item for cell in self.cells for item in cell)))

    @property
    def widest(self) -> int:
        """The width that puts all items of every cell on one line."""
        return max(self.natural, *(cell_len(self.gap.join(cell)) for cell in self.cells))


def _time_table(story: Story, width: int) -> list[str]:
    columns = _columns(story, _GAP, with_records=width >= _RECORDS_FROM)
    if sum(column.widest + len(_GAP) for column in columns) - len(_GAP) > width:
        columns = _columns(story, " ", with_records=width >= _RECORDS_FROM)
    widths = _widths(columns, width)
    lines = [_joined([column.heading[row] for column in columns], columns, widths) for row in (0, 1)]
    for cells in zip(*(column.cells for column in columns), strict=True):
        lines += _row(cells, columns, widths)
    if story.ending is not None:
        at, what = story.ending
        lines.append(f"{at:>{widths[0]}}{_GAP}{what}")
    return lines


def _row(cells: Sequence[tuple[str, ...]], columns: Sequence[_Column], widths: Sequence[int]) -> list[str]:
    filled = [wrapped(cell, column.gap, room) for cell, column, room in zip(cells, columns, widths, strict=True)]
    height = max(map(len, filled))
    return [
        _joined([lines[row] if row < len(lines) else "" for lines in filled], columns, widths) for row in range(height)
    ]


def _columns(story: Story, gap: str, *, with_records: bool) -> list[_Column]:
    def column(heading: tuple[str, str], read: str, *, right: bool = False, is_list: bool = False) -> _Column:
        values = [getattr(line, read) for line in story.lines]
        cells = [value if isinstance(value, tuple) else (value,) for value in values]
        return _Column(heading, cells, gap, right, is_list)

    columns = [
        column(("", "at".rjust(len(story.ending[0]) if story.ending else 0)), "at", right=True),
        column(("", "gen"), "generations"),
        column(("why:", "copies ready"), "why"),
        column(("CUT OVER: old stops,", f"{story.pause}, new starts"), "cut_over", is_list=True),
    ]
    if any(line.stateless for line in story.lines):
        columns.append(column(("state", "less"), "stateless", right=True))
    columns.append(column(("WARM UP: old runs", "on meanwhile"), "warm_up", is_list=True))
    if with_records:
        columns.append(column(("records to", "restore"), "records", right=True))
    return columns


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """Give every column what it needs, and the lists of tasks what is left, as long as they need more."""
    widths = [column.natural for column in columns]
    room = width - sum(widths) - len(_GAP) * (len(columns) - 1)
    lists = [index for index, column in enumerate(columns) if column.is_list]
    while room > 0 and any(widths[index] < columns[index].widest for index in lists):
        for index in lists:
            if room > 0 and widths[index] < columns[index].widest:
                widths[index] += 1
                room -= 1
    return widths


def _joined(texts: Sequence[str], columns: Sequence[_Column], widths: Sequence[int]) -> str:
    padded = []
    for text, column, room in zip(texts, columns, widths, strict=True):
        blanks = " " * (room - cell_len(text))
        padded.append(blanks + text if column.right else text + blanks)
    return _GAP.join(padded)


def _loads(story: Story, width: int) -> list[str]:
    if not story.loads:
        return []
    items = [*story.loads, f"({story.loads_legend})"]
    return wrapped(items, "   ", width, " tasks   ", " " * _LABEL)


_STYLES = (
    (r"^(SETTLES|SETTLED)", "bold green"),
    (r"^(MOVES|PAUSES|RESTORE|BALANCE|COPIES|SETTINGS|NEXT|TASKS)\b", "bold"),
    (r"^(STUCK|CYCLES|UNFINISHED)", "bold red"),
    (r"^ *\d[\d:,]* +(STUCK|CYCLES|NOT FINISHED).*$", "red"),
    (r"^ *\d[\d:,]* +SETTLED.*$", "green"),
    (r"\bCOLD( STARTS?)?\b", "bold red"),
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
