"""The time table's columns: as wide as they need to be, as narrow as they have to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from kstream_plan.render.plan.rows import Line
from kstream_plan.render.plan.story import Story
from kstream_plan.render.text.wrapping import at_most, padded, wrapped

_GAP = "  "
#: From this width on there is room for one column more.
_RECORDS_FROM = 96
#: A row grows to so many lines, then it says how much it leaves out.
_MOST_LINES = 6
_NARROWEST_LIST = 9


@dataclass(frozen=True, slots=True)
class _Column:
    """One column: two lines of heading, and for every row a list of items that are kept together.

    ``counts``: for every row what stands for a list that does not fit (empty: its first items do).
    """

    heading: tuple[str, str]
    cells: tuple[tuple[str, ...], ...]
    gap: str = " "
    right: bool = False
    is_list: bool = False
    counts: tuple[tuple[str, ...], ...] = ()

    @property
    def natural(self) -> int:
        """The width that the heading and every item on its own need."""
        return max(cell_len(text) for text in (*self.heading, *(item for cell in self.cells for item in cell)))

    @property
    def least(self) -> int:
        """The width that the heading and every word need."""
        words = (word for cell in self.cells for item in cell for word in item.replace("→", "→ ").split(" "))
        return max(_NARROWEST_LIST, *(cell_len(text) for text in (*self.heading, *words)))

    @property
    def widest(self) -> int:
        """The width that puts all items of every cell on one line."""
        return max(self.natural, *(cell_len(self.gap.join(cell)) for cell in self.cells))


def time_table(story: Story, width: int) -> list[str]:
    """Return the rows of ``story`` as lines of at most ``width`` columns, with a heading and the ending."""
    columns = _fitting(story, width)
    widths = _widths(columns, width)
    lines = [_joined([column.heading[row] for column in columns], columns, widths) for row in (0, 1)]
    for row in range(len(story.lines)):
        lines += _row(row, columns, widths)
    if story.ending is not None:
        at, what = story.ending
        closing = f"{at:>{widths[0]}}{_GAP}{what}"
        with_numbering = f"{closing}   {story.numbering}"
        lines.append(with_numbering if cell_len(with_numbering) <= width else closing)
    return lines


def _fitting(story: Story, width: int) -> list[_Column]:
    """Return the most generous layout that fits: two blanks between items, one blank, short headings."""
    with_records = width >= _RECORDS_FROM
    roomy = _columns(story, _GAP, with_records=with_records, short=False)
    if _sum(column.widest for column in roomy) <= width:
        return roomy
    tight = _columns(story, " ", with_records=with_records, short=False)
    if _sum(column.natural for column in tight) <= width:
        return tight
    return _columns(story, " ", with_records=with_records, short=True)


def _sum(widths: Iterator[int]) -> int:
    found = list(widths)
    return sum(found) + len(_GAP) * (len(found) - 1)


def _columns(story: Story, gap: str, *, with_records: bool, short: bool) -> list[_Column]:
    lines = story.lines
    at_width = len(story.ending[0]) if story.ending else 0
    cut_over = ("CUT OVER", story.pause) if short else ("CUT OVER: old stops,", f"{story.pause}, new starts")
    warm_up = ("WARM UP", "") if short else ("WARM UP: old runs", "on meanwhile")
    columns = [
        _Column(("", "at".rjust(at_width)), tuple((line.at,) for line in lines), right=True),
        _Column(("", "gen"), tuple((line.generations,) for line in lines)),
        _Column(
            ("why; warm-ups", "ready") if story.with_state else ("", "why"),
            tuple(_why(line) for line in lines),
            is_list=True,
        ),
        _list_column(cut_over, [(line.cut_over, line.cut_over_counts) for line in lines], gap),
    ]
    if not story.with_state:
        return columns
    if any(line.stateless for line in lines):
        columns.append(_Column(("+ no", "state"), tuple((line.stateless,) for line in lines), right=True))
    columns.append(_list_column(warm_up, [(line.warm_up, line.warm_up_counts) for line in lines], gap))
    if with_records:
        columns.append(_Column(("records to", "restore"), tuple((line.records,) for line in lines), right=True))
    return columns


def _list_column(
    heading: tuple[str, str], cells: Sequence[tuple[tuple[str, ...], tuple[str, ...]]], gap: str
) -> _Column:
    lists, counts = zip(*cells, strict=True) if cells else ((), ())
    return _Column(heading, lists, gap, is_list=True, counts=counts)


def _why(line: Line) -> tuple[str, ...]:
    """Keep a probe with its number and result together; names of instances may wrap."""
    return (line.why,) if line.is_probe else tuple(line.why.split(" "))


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """Give every column what it needs; share what is left, or missing, among the lists, the first one first."""
    widths = [column.natural for column in columns]
    widest = [column.widest for column in columns]
    lists = [index for index, column in enumerate(columns) if column.is_list]
    room = width - _sum(iter(widths))
    for least in ([column.least for column in columns], [_NARROWEST_LIST] * len(columns)):
        while room < 0 and (wider := [index for index in lists if widths[index] > least[index]]):
            widths[max(wider, key=lambda index: widths[index])] -= 1
            room += 1
    while room > 0 and any(widths[index] < widest[index] for index in lists):
        for index in lists:
            if room > 0 and widths[index] < widest[index]:
                widths[index] += 1
                room -= 1
    return widths


def _row(number: int, columns: Sequence[_Column], widths: Sequence[int]) -> list[str]:
    filled = [_filled(column, number, room) for column, room in zip(columns, widths, strict=True)]
    height = max(map(len, filled))
    return [
        _joined([lines[row] if row < len(lines) else "" for lines in filled], columns, widths) for row in range(height)
    ]


def _filled(column: _Column, row: int, room: int) -> list[str]:
    """Return the lines of one cell: its items, or how many there are of what if more would be left out than told."""
    items, counts = column.cells[row], column.counts[row] if column.counts else ()
    half = items[: (len(items) + 1) // 2]
    too_many = counts and len(wrapped(half, column.gap, room)) > _MOST_LINES
    return at_most(counts if too_many else items, column.gap, room, _MOST_LINES)


def _joined(texts: Sequence[str], columns: Sequence[_Column], widths: Sequence[int]) -> str:
    return _GAP.join(
        padded(text, room, right=column.right) for text, column, room in zip(texts, columns, widths, strict=True)
    )
