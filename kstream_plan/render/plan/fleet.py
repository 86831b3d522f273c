"""Overviews: a heading, and a line for each of several, as a table or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from kstream_plan.plans import Plan
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.text.escape import markdown_row
from kstream_plan.render.text.numbers import duration
from kstream_plan.render.text.page import coloured
from kstream_plan.render.text.wrapping import padded, paragraph, wrapped


class Column(NamedTuple):
    """A column's heading, and whether its cells are set to the right."""

    head: str
    right: bool = False


def overview(
    heading: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    marked: Sequence[bool | str],
    *,
    width: int = DEFAULT_WIDTH,
    colour: bool = False,
) -> str:
    """Return a heading and rows under each other, the bad ones ``marked``, or others by another sign.

    The first column takes what room is left.
    """
    heads = [column.head for column in columns]
    widths = [max(map(cell_len, cells)) for cells in zip(heads, *rows, strict=True)]
    widths[0] = max(10, min(widths[0], width - sum(widths[1:]) - 2 * (len(widths) - 1) - 2))
    lines = [*paragraph(heading, width, "", "  "), ""]
    for mark, (name, *rest) in zip([False, *marked], [heads, *rows], strict=True):
        first, *more = wrapped([name], "", widths[0])
        cells = zip((first, *rest), widths, columns, strict=True)
        line = "  ".join(padded(cell, room, right=column.right) for cell, room, column in cells)
        lines.append(f"{'!' if mark is True else mark or ' '} {line.rstrip()}")
        lines += [f"  {part}" for part in more]
    text = "\n".join(lines) + "\n"
    return coloured(text) if colour else text


def markdown_overview(heading: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Return the same as Markdown."""
    rule = ["--:" if column.right else "---" for column in columns]
    table = [markdown_row(cells) for cells in ([column.head for column in columns], rule, *rows)]
    return "\n".join([heading, "", *table]) + "\n"


def outcome(plan: Plan, duration_ms: int) -> str:
    """Return how a plan with rounds ends, and after how long."""
    length = duration(duration_ms)
    if plan.verdict.kind != "settled":
        kinds = {"stuck": "STUCK", "cyclic": "CYCLES", "unfinished": "STOPPED"}
        return f"{kinds[plan.verdict.kind]} {'for' if plan.verdict.is_over else 'after'} {length}"
    if plan.summary.duration_is == "least":
        return f"settles ≥ {length}"
    if not duration_ms:
        return "settles at once"
    return f"settles ~{duration(duration_ms)}"
