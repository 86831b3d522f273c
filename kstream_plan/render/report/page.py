"""What a report consists of, whatever it is about: sections of labelled texts, drawings, tables and lists.

Texts are plain: whatever marks them up escapes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from kstream_plan.render.page import Section as Paragraph
from kstream_plan.render.report.figure import Figure

#: How a section, a note or a cell looks.
Tone: TypeAlias = Literal["good", "warn", "bad", "plain"]


class Labelled(NamedTuple):
    """A text below a label."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure, and the names of the kinds of shapes in it; ``on_demand``: it is opened on demand."""

    title: str
    figure: Figure
    legend: tuple[Labelled, ...]
    note: str = ""
    on_demand: bool = False
    kind: Literal["drawing"] = "drawing"


@dataclass(frozen=True, slots=True)
class TableRow:
    """The cells of a row; ``attributes``: what a filter looks at (``task``, ``group``, ``places``)."""

    cells: tuple[str, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads; ``right`` are the places of the columns that are set to the right.

    ``tasks``: the column whose cells are tasks, of which a story can be told. ``sortable``: by any column, on demand.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[TableRow, ...]
    right: frozenset[int] = frozenset()
    note: str = ""
    on_demand: bool = False
    tasks: int | None = None
    sortable: bool = False
    kind: Literal["table"] = "table"

    def unless_blank(self, head: str) -> Table:
        """Return the table without the column of that head, behind that of its tasks, if no row has anything in it."""
        if head not in self.heads or any(row.cells[self.heads.index(head)] for row in self.rows):
            return self
        index = self.heads.index(head)
        rows = tuple(replace(row, cells=row.cells[:index] + row.cells[index + 1 :]) for row in self.rows)
        right = frozenset(place - (place > index) for place in self.right if place != index)
        return replace(self, heads=self.heads[:index] + self.heads[index + 1 :], rows=rows, right=right)


@dataclass(frozen=True, slots=True)
class Notes:
    """A list of sentences."""

    title: str
    items: tuple[str, ...]
    tone: Tone = "plain"
    kind: Literal["notes"] = "notes"


@dataclass(frozen=True, slots=True)
class Settings:
    """Labelled texts that are looked up rather than read."""

    title: str
    items: tuple[Labelled, ...]
    on_demand: bool = False
    kind: Literal["settings"] = "settings"


@dataclass(frozen=True, slots=True)
class Steps:
    """Many sentences below many headings, opened on demand."""

    title: str
    paragraphs: tuple[Paragraph, ...]
    kind: Literal["steps"] = "steps"


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to copy."""

    title: str
    text: str
    kind: Literal["code"] = "code"


Block: TypeAlias = Drawing | Table | Notes | Settings | Steps | Code


@dataclass(frozen=True, slots=True)
class Section:
    """One application, or what else there is one answer about.

    ``name`` and ``subtitle`` are its title, ``answer`` what it comes to, ``facts`` its
    figures. ``capture_time``: of its input (RFC 3339). ``data``: what the script draws details from.
    """

    name: str
    subtitle: str
    tone: Tone
    answer: Labelled | None
    facts: tuple[Labelled, ...]
    blocks: tuple[Block, ...]
    capture_time: str | None = None
    data: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A whole page: what it is called, an overview of several sections, and these.

    ``reasons`` is more on those of the overview; ``left_out`` tells of others.
    """

    title: str
    sections: tuple[Section, ...]
    overview: Table | None = None
    reasons: Table | None = None
    left_out: str = ""
