"""Any page as text for a terminal: Rich tables in a panel's width, colour only where asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import zip_longest
from textwrap import wrap

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text
from rich.theme import Theme

from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.page import Cell, Column, Line, Page, Section, Table, Tone

#: Narrower pages wrap anyhow; a panel is no wider than a sentence is easy to read.
NARROWEST, _WIDEST_PANEL = 40, 120
#: Rich takes 2.4 ms a row: longer tables are set in plain text.
_MOST_RICH_ROWS = 200
#: A list of more lines and items stands as its short form, if it has one.
_MOST_LINES, _MOST_ITEMS = 2, 4
#: What stays on one line of a cell, the length beyond which it may be broken, and the width up to which a column of
#: numbers is never broken: the first of these that fits. A range in brackets is kept whole if there is room.
_RANGE = re.compile(r"\([^()]* to [^()]*\)")
_UNBROKEN = (
    *((re.compile(rf"{_RANGE.pattern}|[^ ]+"), 24, narrow) for narrow in (12, 6)),
    *((re.compile(r"[^ ]+"), longest, narrow) for longest, narrow in ((24, 12), (14, 12), (14, 6))),
)

#: What tones look like; the only place that knows colours.
THEME = Theme(
    {
        "tone.plain": "none",
        "tone.good": "bold green",
        "tone.unknown": "bold yellow",
        "tone.bad": "bold red",
        "tone.new": "green",
        "tone.moved": "cyan",
        "tone.dim": "dim",
        "line.warning": "bold yellow",
        "line.note": "bold",
        "line.assumption": "dim",
        "line.next": "bold",
        "bar": "cyan",
    }
)
_BORDERS: dict[Tone, str] = {"good": "green", "unknown": "yellow", "bad": "red"}
_KINDS = {"warning": "Warning: ", "note": "Note: ", "assumption": "Assumption: ", "next": "Next: "}
_TRAILING_BLANKS = re.compile(r" (?=(?: |\x1b\[[0-9;]*m)*$)", re.MULTILINE)


def to_terminal(page: Page, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return a page as lines of text, each ended.

    Args:
        page: what to show.
        width: columns; at least 40 are taken.
        colour: add terminal control codes; else there are none.
    """
    width = max(width, NARROWEST)
    output = StringIO()
    console = Console(
        file=output,
        width=width,
        theme=THEME,
        color_system="standard" if colour else None,
        force_terminal=colour,
        no_color=not colour,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )
    console.print(Group(*_blocks(page, width)), crop=False)  # a command may be longer
    return _TRAILING_BLANKS.sub("", output.getvalue())


def _blocks(page: Page, width: int) -> Iterator[RenderableType]:
    """Yield what stands below each other, with a blank line between tables."""
    yield _panel(page, width)
    for table in page.tables:
        yield Text("")
        if table.title:
            yield Text(table.title, "bold")
        yield from _table_lines(table, width)
        if table.note:
            yield Text(table.note, "tone.dim")
        if wide_heads := [column.head for column in table.columns if column.from_width > width]:
            yield Text(f"Wider pages also show: {', '.join(wide_heads)}.", "tone.dim")
    if page.lines:
        yield Text("")
        yield from map(_line, page.lines)
    for section in page.sections:
        yield Text("")
        yield from _section(section)


def _panel(page: Page, width: int) -> RenderableType:
    body: list[RenderableType] = [_sentence(page, place) for place in range(len(page.sentences))]
    if page.facts:
        body += [*([Text("")] if body else []), _facts(page, width)]
    if not body:
        return Text.assemble((page.title, "bold"), f"  ({page.source})" if page.source else "")
    long_title = cell_len(page.title) > min(width, _WIDEST_PANEL) - 6
    if long_title:
        body = [Text(page.title, "bold"), Text(""), *body]
    long_source = cell_len(page.source) > min(width, _WIDEST_PANEL) - 6
    if long_source:
        body += [Text(""), Text(page.source, "tone.dim")]
    return Panel(
        Group(*body),
        title=None if long_title else Text(page.title, "bold"),
        title_align="left",
        subtitle=Text(page.source, "tone.dim") if page.source and not long_source else None,
        subtitle_align="right",
        border_style=_BORDERS.get(page.tone, "none"),
        padding=(0, 1),
        width=min(width, _WIDEST_PANEL),
    )


def _sentence(page: Page, place: int) -> Text:
    """Return a paragraph; the first one begins with the answer."""
    text = Text(page.sentences[place])
    if place == 0 and page.answer is not None:
        return Text.assemble((f"{page.answer.word}: ", f"tone.{page.tone}"), text)
    return text


def _facts(page: Page, width: int) -> RenderableType:
    """Return the summary: labels beside values, or above them on a narrow page."""
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=width >= 60)
    grid.add_column(overflow="fold")
    for fact in page.facts:
        grid.add_row(Text(fact.label), Text(fact.value, f"tone.{fact.tone}"))
    return grid


def _line(line: Line) -> Text:
    """Return a line in its colours; a command stays in one piece, to be copied."""
    style, whole = "tone.dim" if line.kind == "assumption" else "tone.plain", line.kind == "next"
    parts = (_KINDS[line.kind], f"line.{line.kind}"), (line.text, style)
    return Text.assemble(*parts, no_wrap=whole, overflow="ignore" if whole else None)


def _section(section: Section) -> Iterator[RenderableType]:
    yield Text(section.heading, "bold")
    for sentence in section.sentences:
        grid = RichTable.grid(padding=(0, 1, 0, 0))
        grid.add_row("-", Text(sentence))
        yield grid


def _table_lines(table: Table, width: int) -> Iterator[RenderableType]:
    """Yield a table: of rich cells, as text if it is long, as a list of its cells if the page is too narrow."""
    table = table.leave_out(*(column.head for column in table.columns if column.from_width > width))
    room = width - 2 * (len(table.columns) - 1)
    for unit, longest, narrow in _UNBROKEN:
        is_whole = [_is_narrow(table, place, narrow) for place in range(len(table.columns))]
        least = [_least(table, place, unit, longest, is_whole=whole) for place, whole in enumerate(is_whole)]
        if sum(least) <= room:
            break
    if sum(least) > room:
        yield from _as_list(table)
    elif len(table.rows) > _MOST_RICH_ROWS:
        yield _as_text(table)
    else:
        yield _rich(table, _widths(table, least, room), is_whole)


def _least(table: Table, place: int, unit: re.Pattern[str], longest: int, *, is_whole: bool) -> int:
    """Return the columns that a column of a table needs: the longest unit of its head and cells, up to a limit.

    ``is_whole``: its cells stay whole.
    """
    texts = [text for row in table.rows for text in _texts(row.cells[place])]
    head_width = max((cell_len(word) for word in table.columns[place].head.split(" ")), default=0)
    if is_whole:
        return max([head_width, *map(cell_len, texts)])
    units = (cell_len(word) for text in texts for word in unit.findall(text))
    return min(max([head_width, *units]), longest)


def _is_narrow(table: Table, place: int, narrow: int) -> bool:
    """Return whether a column is one of numbers, none of them longer than so much: they stay on one line."""
    cells = [row.cells[place] for row in table.rows]
    if not table.columns[place].right or any(len(cell.items) > 1 for cell in cells):
        return False
    return max((cell_len(text) for cell in cells for text in cell.items), default=0) <= narrow


def _texts(cell: Cell) -> tuple[str, ...]:
    """Return what may stand in a cell of a narrow column."""
    return (cell.short,) if cell.short and len(cell.items) > _MOST_ITEMS else cell.items


def _widths(table: Table, least: Sequence[int], room: int) -> Sequence[int]:
    """Return the widths of columns, so that words stay whole; those that lack least grow first, cells before heads.

    Each cell gets two lines before one of them gets one, where the table is shorter then. Among lists the widest are
    narrowed, to the same width.
    """
    places = range(len(table.columns))
    cells = [max([cell_len(row.cells[place].text) for row in table.rows], default=0) for place in places]
    halves = [max([_half(row.cells[place]) for row in table.rows], default=0) for place in places]
    whole = [max(cell_len(column.head), width) for column, width in zip(table.columns, cells, strict=True)]
    has_lists = sum(whole) > room and any(len(cell.items) > 1 for row in table.rows for cell in row.cells)
    if has_lists:
        wants = list(zip(least, whole, strict=True))
        level = max(most for most in range(room) if sum(max(low, min(want, most)) for low, want in wants) <= room)
        cells = [min(want, level) for want in whole]
    layouts = [_grown(least, goals, room, widest_first=has_lists) for goals in ([cells, whole], [halves, cells, whole])]
    return min(layouts, key=lambda widths: _height(table, widths))


def _grown(least: Sequence[int], goals: Sequence[Sequence[int]], room: int, *, widest_first: bool) -> list[int]:
    """Return widths that grow to one goal after the other, as far as there is room."""
    widths = list(least)
    for goal in goals:
        lacks = [want - width for want, width in zip(goal, widths, strict=True)]
        for place in sorted(range(len(widths)), key=lacks.__getitem__, reverse=widest_first):
            widths[place] += max(0, min(lacks[place], room - sum(widths)))
    return widths


def _height(table: Table, widths: Sequence[int]) -> int:
    """Return how many lines the rows of a table have."""

    def lines(cell: Cell, width: int) -> int:
        return sum(len(wrap(line, width, break_on_hyphens=False)) or 1 for line in _cell(cell, width).plain.split("\n"))

    return sum(max(map(lines, row.cells, widths)) for row in table.rows)


def _half(cell: Cell) -> int:
    """Return the columns in which a cell has two lines, as :func:`_cell` breaks it; bars and items stay whole."""
    text, match = cell.text, _RANGE.search(cell.text)
    if cell.bar is not None or len(cell.items) > 1:
        return max(cell_len(f"{item},") for item in cell.items) if cell.bar is None else cell_len(text)
    breaks = [match.start() - 1] if match and match.start() else [i for i, sign in enumerate(text) if sign == " "]
    return min((max(cell_len(text[:i]), cell_len(text[i + 1 :])) for i in breaks), default=cell_len(text))


def _rich(table: Table, widths: Sequence[int], is_whole: Sequence[bool]) -> RichTable:
    grid = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True, header_style="bold")
    for column, width, plain in zip(table.columns, widths, is_whole, strict=True):
        justify: JustifyMethod = "right" if column.right else "left"
        grid.add_column(Text(column.head, no_wrap=False), justify=justify, no_wrap=plain, overflow="fold", width=width)
    for row in table.rows:
        grid.add_row(*map(_cell, row.cells, widths), style=f"tone.{row.tone}")
    return grid


def _cell(cell: Cell, width: int) -> Text:
    """Return a cell of so many columns; a range in brackets that has no room beside its figure stands below it."""
    if cell.bar is not None:
        return Text(cell.text, "bar")
    lines = fill(cell.items, width)
    is_long = len(cell.items) > _MOST_ITEMS or max(map(cell_len, lines), default=0) > width
    if cell.short and len(lines) > _MOST_LINES and is_long:
        lines = [cell.short]
    elif len(cell.items) == 1 and cell_len(cell.text) > width and (match := _RANGE.search(cell.text)) and match.start():
        lines = [cell.text[: match.start()].rstrip(), cell.text[match.start() :]]
    return Text("\n".join(lines), f"tone.{cell.tone}", overflow="fold")


def fill(items: Sequence[str], width: int) -> list[str]:
    """Return lines of at most so many columns, broken between items with a comma in between."""
    lines: list[str] = []
    for place, item in enumerate(items):
        text = f"{item}," if place + 1 < len(items) and cell_len(item) < width else item
        if lines and cell_len(lines[-1]) + 1 + cell_len(text) <= width:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    return lines


def _as_text(table: Table) -> Text:
    """Return a long table as aligned text, each cell on one line."""
    rows = [list(map(_plain, row.cells)) for row in table.rows]
    heads = [column.head for column in table.columns]
    widths = [max(map(cell_len, cells)) for cells in zip_longest(heads, *rows, fillvalue="")]
    head, *lines = [_aligned(cells, widths, table.columns) for cells in (heads, *rows)]
    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    return Text("\n".join([head, rule, *lines]), no_wrap=True, overflow="ignore")


def _aligned(cells: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    return "  ".join(
        " " * (width - cell_len(cell)) + cell if column.right else cell + " " * (width - cell_len(cell))
        for cell, width, column in zip(cells, widths, columns, strict=True)
    ).rstrip()


def _plain(cell: Cell) -> str:
    return cell.short if cell.short and len(cell.items) > _MOST_ITEMS else cell.text


def _as_list(table: Table) -> Iterator[RenderableType]:
    """Yield every row as lines of head and value, for a page that is narrower than the table."""
    first, *columns = table.columns
    for row in table.rows:
        head, *cells = map(_plain, row.cells)
        yield Text.assemble(("" if first.heads_columns else f"{first.head} ", "bold"), head)
        for column, text in zip(columns, cells, strict=True):
            if text not in ("", "–"):
                yield Text.assemble(("  ", ""), (f"{column.head}: ", "bold"), text)
