"""Any page as a section of a report: the same words as on a terminal, with drawings beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kstream_plan.render.page import Cell, LineKind, Page, bar_text
from kstream_plan.render.page import Table as PageTable
from kstream_plan.render.page import Tone as PageTone
from kstream_plan.render.report.page import Block, Code, Labelled, Notes, Section, Steps, Table, TableRow, Tone

_TONES: dict[PageTone, Tone] = {"good": "good", "unknown": "warn", "bad": "bad", "new": "good"}
_HEADINGS: dict[LineKind, str] = {"warning": "Warnings", "note": "Notes", "assumption": "Assumptions"}
#: Up to so many sentences of steps are part of a page.
MOST_SENTENCES = 2_000


def section_of(
    page: Page,
    *,
    drawings: Sequence[Block] = (),
    extra_blocks: Sequence[Block] = (),
    capture_time: str | None = None,
    data: Mapping[str, object] | None = None,
) -> Section:
    """Return a page as a section.

    Args:
        page: the answer.
        drawings: stand before its tables.
        extra_blocks: stand after its lines.
        capture_time: when what it was made from was captured (RFC 3339).
        data: what the script draws details from.
    """
    first, *sentences = page.sentences or ("",)
    label = "" if page.answer is None else f"{page.answer.word}:"
    return Section(
        name=page.title,
        subtitle=page.source,
        tone=_TONES.get(page.tone, "plain"),
        answer=Labelled(label, " ".join([first, *sentences])) if first else None,
        facts=tuple(Labelled(fact.label, fact.value) for fact in page.facts),
        blocks=(*drawings, *map(table_of, page.tables), *_lines(page), *extra_blocks, *_steps(page)),
        capture_time=capture_time,
        data=data,
    )


def table_of(table: PageTable, *, sortable: bool = False) -> Table:
    """Return a table of a page; ``sortable``: by any column, on demand."""
    rows = tuple(
        TableRow(tuple(map(_text, row.cells)), tone=_row_tone([row.tone, *(cell.tone for cell in row.cells)]))
        for row in table.rows
    )
    right = frozenset(place for place, column in enumerate(table.columns) if column.right)
    heads = tuple(column.head for column in table.columns)
    return Table(table.title, heads, rows, right, note=table.note, sortable=sortable)


def _row_tone(tones: Sequence[PageTone]) -> Tone:
    """Return the worst of the tones of a row."""
    return "bad" if "bad" in tones else "warn" if "unknown" in tones else "plain"


def _text(cell: Cell) -> str:
    if cell.bar is not None:
        return bar_text(cell, 12)
    return ", ".join(cell.items)


def _lines(page: Page) -> Iterator[Block]:
    for kind, heading in _HEADINGS.items():
        texts = tuple(line.text for line in page.lines if line.kind == kind)
        if texts:
            yield Notes(heading, texts, tone="warn" if kind == "warning" else "plain")
    commands = [line.text for line in page.lines if line.kind == "next"]
    if commands:
        yield Code("Next", "\n".join(commands))


def _steps(page: Page) -> Iterator[Block]:
    if sum(len(section.sentences) for section in page.sections) > MOST_SENTENCES:
        excuse = "Too many steps for a page: kstream-plan show PLAN --round N, --task ID or --instance ID shows some."
        yield Notes("Every step with its reason", (excuse,))
    elif page.sections:
        yield Steps("Every step with its reason", page.sections)
