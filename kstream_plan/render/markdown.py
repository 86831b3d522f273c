"""Any page as GitHub-flavoured Markdown, for a pull request or a ticket."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.render.page import Cell, Line, Page, Section, Table, bar_text
from kstream_plan.render.text.escape import markdown, markdown_row, markdown_sentence

#: A list of more items stands as its short form, if it has one.
_MOST_ITEMS = 12
_KINDS = {"warning": "⚠ **Warning:**", "note": "**Note:**", "assumption": "*Assumption:*", "next": "**Next:**"}


def to_markdown(page: Page) -> str:
    """Return a page as Markdown, its lines ended."""
    return "\n\n".join(_blocks(page)) + "\n"


def _blocks(page: Page) -> Iterator[str]:
    yield f"### {markdown_sentence(page.title)}"
    for place, sentence in enumerate(page.sentences):
        answer = f"**{page.answer.word}**: " if place == 0 and page.answer is not None else ""
        yield f"{answer}{markdown_sentence(sentence)}"
    if page.facts:
        yield "\n".join(f"- **{fact.label}**: {markdown_sentence(fact.value)}" for fact in page.facts)
    for table in page.tables:
        yield from _table(table)
    if page.lines:
        yield "\n".join(f"- {_line(line)}" for line in page.lines)
    if page.source:
        yield f"<sub>{markdown_sentence(page.source)}</sub>"
    if page.sections:
        yield "<details><summary>Every step</summary>"
        yield from map(_section, page.sections)
        yield "</details>"


def _line(line: Line) -> str:
    text = markdown(line.text) if line.kind == "next" else markdown_sentence(line.text)
    return f"{_KINDS[line.kind]} {text}"


def _section(section: Section) -> str:
    sentences = (f"- {markdown_sentence(sentence)}" for sentence in section.sentences)
    return "\n".join([f"**{markdown_sentence(section.heading)}**", "", *sentences])


def _table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"**{markdown_sentence(table.title)}**"
    heads = [markdown_sentence(column.head) for column in table.columns]
    rule = ["--:" if column.right else "---" for column in table.columns]
    yield "\n".join(map(markdown_row, [heads, rule, *([_cell(cell) for cell in row.cells] for row in table.rows)]))
    if table.note:
        yield f"<sub>{markdown_sentence(table.note)}</sub>"


def _cell(cell: Cell) -> str:
    if cell.bar is not None:
        return bar_text(cell, 8)
    if cell.short and len(cell.items) > _MOST_ITEMS:
        text = markdown_sentence(cell.short)
    else:
        text = ", ".join(map(markdown_sentence, cell.items))
    return f"**{text}**" if cell.tone in ("bad", "unknown") else text
