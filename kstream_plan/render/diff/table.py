"""A comparison as text for a terminal."""

from __future__ import annotations

from rich.cells import cell_len

from kstream_plan.comparison.changes import Comparison
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.diff.story import Row, tell_diff
from kstream_plan.render.text.page import coloured, fact_lines, title_lines
from kstream_plan.render.text.wrapping import at_most, padded, paragraph, wrapped

_GAP = "  "
#: A class with many tasks takes up to so many lines.
_MOST_LINES = 4
_NARROWEST = 60


def diff_table(found: Comparison, *, width: int = DEFAULT_WIDTH, colour: bool = False, verbose: bool = False) -> str:
    """Return the comparison as lines of text, each ended.

    ``width`` in columns (at least 60 are taken); ``colour`` adds terminal control codes, else there are none;
    ``verbose`` tells every task apart, however many there are.
    """
    story = tell_diff(found, verbose=verbose)
    width = max(width, _NARROWEST)
    lines = [*title_lines(story.title, width), *(text for fact in story.facts for text in fact_lines(fact, width))]
    if story.rows:
        lines += ["", *_rows(story.heads, story.rows, width)]
    if story.more:
        lines.append(f" {story.more}")
    lines += wrapped([*story.loads, f"({story.loads_legend})"], "   ", width, " tasks   ", "         ")
    lines += [text for note in story.notes for text in paragraph(note, width, " ! ", "   ")]
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return coloured(text) if colour else text


def _rows(heads: Row, rows: tuple[Row, ...], width: int) -> list[str]:
    folded = any(len(row.ways) > 1 for row in rows)
    everyone = (heads, *rows)
    tasks = min(max(cell_len(row.tasks) for row in everyone), width // 4)
    what = max(cell_len(row.what) for row in everyone)
    rest = width - tasks - what - 2 * len(_GAP)
    ways = rest if folded else min(max(cell_len(row.ways[0]) for row in everyone), rest // 2)
    why = 0 if folded else rest - ways - len(_GAP)
    lines = []
    for row in everyone:
        cells = [
            wrapped([row.tasks], "", tasks),
            [row.what],
            at_most(row.ways, _GAP, ways, _MOST_LINES) if folded else wrapped(row.ways, "", ways),
            paragraph(row.why, why) if row.why and not folded else [],
        ]
        if folded and row.why and row is not heads:
            cells[2] += paragraph(row.why, ways)
        for place in range(max(map(len, cells))):
            texts = [cell[place] if place < len(cell) else "" for cell in cells]
            joined = (padded(text, room) for text, room in zip(texts, (tasks, what, ways, why), strict=True))
            lines.append(_GAP.join(joined).rstrip())
    return lines
