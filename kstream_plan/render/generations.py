"""The generations of a group as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.numbers import count


class HistoryLine(NamedTuple):
    """One generation: when it was decided, why, by how many, and what came of it. ``None``: not known."""

    application_id: str
    captured_at: str | None
    generation: int | None
    trigger: str | None
    instances: int
    consumers: int
    moved_tasks: int
    withheld_tasks: int
    probing: bool | None


_HEADS = ("time", "gen", "trigger", "members", "moved", "withheld", "probing")
_RIGHT = {"gen", "moved", "withheld"}


def history(lines: Sequence[HistoryLine]) -> str:
    """Return the table, one generation a line in the order given; with several applications, each line names it."""
    several = len({line.application_id for line in lines}) > 1
    heads = (*_HEADS, "application") if several else _HEADS
    rows = [heads, *(_cells(line)[: len(heads)] for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    return "".join(_line(row, heads, widths) for row in rows)


def _cells(line: HistoryLine) -> tuple[str, ...]:
    return (
        line.captured_at or "-",
        "-" if line.generation is None else str(line.generation),
        line.trigger or "-",
        f"{line.instances} ({line.consumers})",
        count(line.moved_tasks),
        count(line.withheld_tasks),
        "-" if line.probing is None else "yes" if line.probing else "no",
        printable(line.application_id),
    )


def _line(row: Sequence[str], heads: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.rjust(width) if head in _RIGHT else cell.ljust(width)
        for cell, head, width in zip(row, heads, widths, strict=True)
    ]
    return "  ".join(cells).rstrip() + "\n"
