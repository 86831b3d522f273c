"""Any page on a terminal of any width: nothing is lost but width, and no control code gets in."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kstream_plan.model.answer import Answer
from kstream_plan.render.markdown import to_markdown
from kstream_plan.render.page import (
    Cell,
    Column,
    Fact,
    Line,
    Page,
    Row,
    Section,
    Table,
    answer_tone,
    as_sentence,
    text_cell,
    text_row,
)
from kstream_plan.render.terminal import fill, to_terminal

_WORDS = st.text(st.sampled_from("abc→0_9é漢[]*`|<&"), min_size=1, max_size=12).map(str.strip).filter(bool)
_TEXTS = st.lists(_WORDS, min_size=1, max_size=9).map(" ".join)
_CELLS = st.builds(Cell, st.lists(_WORDS, max_size=5).map(tuple), st.sampled_from(["", "many"]), bar=st.none())


@st.composite
def pages(draw: st.DrawFn) -> Page:
    columns = draw(st.lists(st.builds(Column, _WORDS, st.booleans(), st.just(0)), min_size=1, max_size=5))
    rows = draw(st.lists(st.tuples(*[_CELLS] * len(columns)).map(Row), max_size=4))
    return Page(
        title=draw(_TEXTS),
        tone=draw(st.sampled_from(["good", "unknown", "bad", "plain"])),
        sentences=tuple(draw(st.lists(_TEXTS, max_size=2))),
        facts=tuple(draw(st.lists(st.builds(Fact, _WORDS, _WORDS, _TEXTS), max_size=3))),
        source=draw(st.one_of(st.just(""), _TEXTS)),
        tables=(Table(draw(_TEXTS), tuple(columns), tuple(rows)),),
        lines=(Line("warning", "code", draw(_TEXTS)), Line("next", "code", "kstream-plan why SNAPSHOT")),
        sections=(Section(draw(_TEXTS), (draw(_TEXTS),)),),
    )


def _letters(text: str) -> str:
    """Return what is left of a text wherever it is broken and whatever is drawn around it."""
    return re.sub(r"[\s│╭╮╰╯─█,]", "", text)


@given(pages(), st.sampled_from([40, 60, 80, 120, 200]))
def test_a_page_fits_and_loses_nothing(page: Page, width: int) -> None:
    text = to_terminal(page, width=width)
    for line in text.splitlines():
        assert cell_len(line) <= width
        assert line == line.rstrip()
    assert "\x1b" not in text
    shown = _letters(text)
    for said in (page.title, *page.sentences, *(fact.value for fact in page.facts), page.lines[0].text):
        assert _letters(said) in shown
    for row in page.tables[0].rows:
        for cell in row.cells:
            if len(cell.items) <= 1 or not cell.short:
                assert all(set(_letters(item)) <= set(shown) for item in cell.items)


@given(pages())
def test_markdown_has_every_cell_and_no_markup_of_a_name(page: Page) -> None:
    text = to_markdown(page)
    assert text.endswith("\n")
    assert len(re.findall(r"^\| .* \|$", text, re.MULTILINE)) >= 2 + len(page.tables[0].rows)


@pytest.mark.parametrize("answer", list(Answer))
def test_the_first_word_is_the_answer(answer: Answer) -> None:
    page = Page(title="orders: stop i2", tone=answer_tone(answer), answer=answer, sentences=("8 tasks start cold.",))
    assert f"│ {answer.word}: 8 tasks start cold." in to_terminal(page)
    assert f"**{answer.word}**: 8 tasks start cold." in to_markdown(page)


def test_colour_is_by_tone_and_never_by_what_a_text_says() -> None:
    rows = (text_row("COLD"), Row((text_cell("0", "bad"),)))
    page = Page(title="COLD: SETTLES", tables=(Table("", (Column("UNSAFE"),), rows),))
    plain, coloured = to_terminal(page), to_terminal(page, colour=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert "\x1b[1;31m0" in coloured
    assert not re.search(r"\x1b\[[0-9;]*3[1-6]m[^\x1b]*(COLD|SETTLES|UNSAFE)", coloured)


def test_a_list_is_short_beyond_two_lines_and_items_stay_whole() -> None:
    items = tuple(f"0_{task} i{task}→i{task + 1}" for task in range(30))
    page = Page(title="x", tables=(Table("", (Column("Cut over"),), (Row((Cell(items, "30 tasks"),)),)),))
    assert "30 tasks" in to_terminal(page, width=60)
    assert "0_29" not in to_terminal(page, width=60)
    assert fill(("0_0 i1→i2", "0_1 i1→i3"), 12) == ["0_0 i1→i2,", "0_1 i1→i3"]
    assert fill(("0_0 i1→i2", "0_1 i1→i3"), 40) == ["0_0 i1→i2, 0_1 i1→i3"]


def test_a_narrow_page_lists_the_cells_of_a_wide_table() -> None:
    columns = tuple(Column(f"Column{number}") for number in range(8))
    page = Page(title="x", tables=(Table("", columns, (text_row(*map(str, range(8))),)),))
    lines = to_terminal(page, width=40).splitlines()
    assert "  Column7: 7" in lines
    assert "Column0  Column1" in to_terminal(page, width=120)


def test_cells_have_two_lines_before_one_of_them_has_three() -> None:
    columns = (Column("Way"), *(Column(f"Head{number}", right=True) for number in range(4)))
    table = Table("", columns, (text_row("leave on close", *["at least 40.1s"] * 4),))
    lines = to_terminal(Page(title="x", tables=(table,)), width=60).splitlines()
    assert len(lines[lines.index("─" * 60) + 1 :]) == 2


def test_a_column_of_wide_pages_comes_with_the_width() -> None:
    table = Table("", (Column("Task"), Column("Stateless", from_width=100)), (text_row("0_0", "6"),))
    page = Page(title="x", tables=(table,))
    assert "Stateless" in to_terminal(page, width=100)
    narrow = to_terminal(page, width=99)
    assert "Stateless" not in narrow.partition("Wider")[0]
    assert narrow.endswith("\nWider pages also show: Stateless.\n"), "nothing is left out without a word"


def test_a_long_table_is_the_same_as_plain_text() -> None:
    rows = tuple(text_row(f"pod-{number}", str(number)) for number in range(500))
    table = Table("", (Column("Instance"), Column("Tasks", right=True)), rows)
    long, short = (
        to_terminal(Page(title="x", tables=(table,))),
        to_terminal(Page(title="x", tables=(Table("", table.columns, (*rows[:1], rows[-1])),))),
    )
    assert set(short.splitlines()) <= set(long.splitlines())
    assert len(long.splitlines()) > 500


def test_a_sentence_ends_once() -> None:
    assert as_sentence("It settles") == "It settles."
    assert as_sentence("It settles.") == "It settles."
