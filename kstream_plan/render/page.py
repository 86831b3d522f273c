"""What a person reads of any answer: a page, before a width, a colour or a markup is known.

A function makes the page of an answer; ``terminal``, ``markdown`` and ``html`` draw any page. Every text in it is
printable (:func:`~kstream_plan.render.text.escape.printable`); whatever marks it up escapes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import compress
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from kstream_plan.model import Note
from kstream_plan.model.answer import Answer
from kstream_plan.model.note import Remarks
from kstream_plan.plans.note_codes import EXPERT_CODES
from kstream_plan.render.text.escape import printable

#: What a value means; a theme gives each a colour.
Tone: TypeAlias = Literal["plain", "good", "unknown", "bad", "new", "moved", "dim"]
#: The word that a line below the tables begins with.
LineKind: TypeAlias = Literal["warning", "note", "assumption", "next"]

#: So many columns has the longest bar.
_BAR_WIDTH = 12
_TONES: dict[Answer, Tone] = {Answer.YES: "good", Answer.NO: "bad", Answer.UNKNOWN: "unknown"}


class Fact(NamedTuple):
    """A labelled value of the summary.

    key: a stable name, for tests and for what is coloured.
    label: what a person reads before the value.
    value: the figure in words.
    tone: what the value means.
    """

    key: str
    label: str
    value: str
    tone: Tone = "plain"


class Column(NamedTuple):
    """A column of a table.

    head: its heading.
    right: whether cells are set to the right.
    from_width: the narrowest page, in columns, that has it; 0: every page.
    heads_columns: whether its heading is about the other headings, as where its cells name figures.
    of_tasks: whether its cells are tasks, each of which a report has more to say of.
    """

    head: str
    right: bool = False
    from_width: int = 0
    heads_columns: bool = False
    of_tasks: bool = False


class Cell(NamedTuple):
    """A cell of a table.

    items: texts that are kept whole, with ``, `` between them.
    short: what stands for them where they are more than four, on more than two lines; empty: they always stand in full.
    tone: what the cell means.
    bar: the length of a bar before the text, 0 to 1.
    """

    items: tuple[str, ...] = ()
    short: str = ""
    tone: Tone = "plain"
    bar: float | None = None

    @property
    def text(self) -> str:
        """All that is in it; a bar as signs."""
        return ", ".join(self.items) if self.bar is None else bar_text(self, _BAR_WIDTH)


class Row(NamedTuple):
    """A row of a table.

    cells: one for each column.
    tone: what the whole row means.
    attributes: what a report's filter looks at (``task``, ``group``, ``places``).
    """

    cells: tuple[Cell, ...]
    tone: Tone = "plain"
    attributes: Mapping[str, str] = MappingProxyType({})

    @property
    def worst(self) -> Tone:
        """The worst tone of the row and its cells."""
        tones = {self.tone, *(cell.tone for cell in self.cells)}
        return "bad" if "bad" in tones else "unknown" if "unknown" in tones else "plain"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads.

    title: the heading above it; empty: none.
    columns: the heads.
    rows: a cell for each column.
    note: a sentence below it.
    on_demand: whether a report shows it when it is asked for.
    sortable: whether a report's reader can sort it.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    on_demand: bool = False
    sortable: bool = False

    def leave_out(self, *heads: str) -> Table:
        """Return the table without the columns of these heads."""
        is_kept = [column.head not in heads for column in self.columns]
        rows = (row._replace(cells=tuple(compress(row.cells, is_kept))) for row in self.rows)
        return replace(self, columns=tuple(compress(self.columns, is_kept)), rows=tuple(rows))


class Line(NamedTuple):
    """A line below the tables, by the word that it begins with; ``code`` is the same in the JSON."""

    kind: LineKind
    code: str
    text: str


class Section(NamedTuple):
    """Details that are read on demand: a heading and sentences."""

    heading: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The page of one answer.

    title: who and what changes.
    tone: good: settles and nothing is cold; unknown; bad; plain: no question was asked.
    answer: the first word, where the question is one of yes or no.
    sentences: paragraphs that say what happens, how long it takes, whether it is safe, what is unknown.
    facts: at most seven labelled values.
    source: what the answer is made from, and of which moment.
    tables: in the order in which they are read.
    lines: warnings, notes, assumptions and commands, in this order.
    sections: details for ``--verbose``.
    """

    title: str
    tone: Tone = "plain"
    answer: Answer | None = None
    sentences: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    source: str = ""
    tables: tuple[Table, ...] = ()
    lines: tuple[Line, ...] = ()
    sections: tuple[Section, ...] = ()


def bar_text(cell: Cell, width: int) -> str:
    """Return a cell's bar, of at most so many columns, and its text."""
    length = cell.bar or 0.0
    return " ".join(filter(None, ("█" * max(length > 0, round(width * length)), *cell.items)))


def answer_tone(answer: Answer) -> Tone:
    """Return the tone of a yes, a no or an unknown."""
    return _TONES[answer]


def text_cell(text: str, tone: Tone = "plain") -> Cell:
    """Return a cell of one text; ``–`` for an empty one."""
    return Cell((text,), tone=tone) if text else Cell(("–",), tone="dim")


def text_row(*cells: str | Cell, tone: Tone = "plain") -> Row:
    """Return a row of texts, and of cells that are more than that."""
    return Row(tuple(text_cell(cell) if isinstance(cell, str) else cell for cell in cells), tone)


def columns_of(*heads: str, wide: Mapping[str, int] | None = None) -> tuple[Column, ...]:
    """Return columns: ``>`` before a head sets its cells to the right, ``wide`` has the narrowest pages of some."""
    widths = wide or {}
    names = [head.removeprefix(">") for head in heads]
    return tuple(Column(name, name != head, widths.get(name, 0)) for name, head in zip(names, heads, strict=True))


def steps_table(title: str, steps: Iterable[str]) -> Table:
    """Return steps, numbered."""
    rows = (text_row(f"{number}", printable(step)) for number, step in enumerate(steps, start=1))
    return Table(title, columns_of(">#", "Step"), tuple(rows))


def overview_page(number: int, summary: str, title: str, columns: tuple[Column, ...], rows: Iterable[Row]) -> Page:
    """Return several applications at a glance, with how to see one of them in full."""
    applications = "1 application" if number == 1 else f"{number:,} applications"
    note = "--application-id ID shows one of them in full, --verbose all of them"
    return Page(title=f"{applications}: {summary}", tables=(Table(title, columns, tuple(rows), note),))


def remark_lines(
    remarks: Remarks, escape: Callable[[str], str] = printable, *, left_out: Collection[str] = EXPERT_CODES
) -> tuple[Line, ...]:
    """Return the warnings, notes, assumptions and commands of an answer as lines; ``left_out`` are codes."""
    kinds: tuple[tuple[LineKind, tuple[Note, ...]], ...]
    kinds = ("warning", remarks.warnings), ("note", remarks.notes), ("assumption", remarks.assumptions)
    shown_notes = ((kind, note) for kind, notes in kinds for note in notes if note.code not in left_out)
    lines = [Line(kind, note.code, as_sentence(escape(note.message))) for kind, note in shown_notes]
    return (*lines, *(Line("next", note.code, note.message) for note in remarks.next))


def as_sentence(text: str) -> str:
    """Return a text with a full stop at its end, unless it has an end of its own."""
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."
