"""What was said beside what happened, as text for a terminal and as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from kstream_plan.comparison.said_and_happened import SaidAndHappened
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.diff.happened_story import HEADS, tell_happened
from kstream_plan.render.plan.markdown import fact_list
from kstream_plan.render.text.escape import MARKDOWN, markdown_row
from kstream_plan.render.text.page import coloured, fact_lines, title_lines
from kstream_plan.render.text.wrapping import padded, paragraph

_GAP = "  "
_NARROWEST = 60
#: The last column has at least so much room, on lines of its own if need be.
_LEAST_ROOM = 20


def happened_table(
    found: SaidAndHappened, *, width: int = DEFAULT_WIDTH, colour: bool = False, verbose: bool = False
) -> str:
    """Return it as lines of text, each ended.

    ``width`` in columns (at least 60 are taken); ``colour`` adds terminal control codes; ``verbose`` names every task
    that was decided otherwise.
    """
    story = tell_happened(found, verbose=verbose)
    width = max(width, _NARROWEST)
    lines = [*title_lines(story.title, width), *(text for fact in story.facts for text in fact_lines(fact, width))]
    lines += ["", *_rows(story.rows, width)]
    lines += [text for note in story.notes for text in paragraph(note, width, " ! ", "   ")]
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return coloured(text) if colour else text


def happened_markdown(found: SaidAndHappened, *, verbose: bool = False) -> str:
    """Return it as Markdown, its lines ended; ``verbose`` names every task that was decided otherwise."""
    story = tell_happened(found, escape=MARKDOWN, verbose=verbose)
    blocks = [f"### {story.title.label}: {story.title.forms[0]}", fact_list(story.facts)]
    blocks.append("\n".join(markdown_row(cells) for cells in (HEADS, ["---"] * len(HEADS), *story.rows)))
    if story.notes:
        blocks.append("\n".join(f"- ⚠ {note}" for note in story.notes))
    return "\n\n".join(blocks) + "\n"


def _rows(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    everyone = [HEADS, *rows]
    widths = [max(cell_len(row[column]) for row in everyone) for column in range(len(HEADS) - 1)]
    indent = sum(widths) + len(_GAP) * len(widths)
    lines = []
    for row in everyone:
        *cells, last = row
        head = "".join(padded(text, room) + _GAP for text, room in zip(cells, widths, strict=True))
        if width - indent >= _LEAST_ROOM:
            lines += paragraph(last, width, head, " " * indent)
        else:
            lines += [head, *paragraph(last, width, "    ", "    ")]
    return lines
