"""Every command as it is seen: looked at once and kept, in every width and colour the same words."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from kstream_plan.pages.glossary import definition
from kstream_plan.render.page import Cell, Page, Row, Table
from kstream_plan.render.terminal import to_terminal
from tests.helpers.figures import figures_in, figures_of
from tests.helpers.goldens import assert_golden
from tests.helpers.plain_heads import PLAIN
from tests.helpers.screens import COMMANDS, NAMES, document, screen

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), pytest.mark.xdist_group("spark")]

#: Screens that are kept in colour as well: every tone, border and kind of line is on one of them.
IN_COLOUR = (
    *(f"classic-5/{command}" for command in ("assign-cold", "drain", "drain-cold", "bounce", "bounce-instance")),
    *(f"classic-5/{command}" for command in ("compare-two-axes", "check", "fleet", "diff", "diff-plan-history")),
    "streams-5/assign",
    "connect-5/drain",
)
#: Settings, limits and settings of what is also tried, which are no result.
_OF_THE_RULE = {
    "classic-5/bounce": {"45s", "9"},  # session.timeout.ms; tasks that are not named
    "classic-5/bounce-instance": {"45s"},
    "classic-5/history": {"10,000"},  # a lag that grew by less is none
    "classic-5/why": {"100"},  # acceptable.recovery.lag
    "classic-5/why-instance": {"100"},
    "connect-5/drain": {"10s", "1m"},  # session.timeout.ms; a delay and an absence that are tried
}
_CODES = re.compile(r"\x1b\[[0-9;]*m")
_DRAWN = re.compile(r"[╭╮╰╯│─█▁▂▃▄▅▆▇]")


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_is_as_somebody_looked_at_it(name: str) -> None:
    shown = screen(name)
    assert shown.drawn(80) == shown.text
    assert_golden(f"screens/{name}.txt", shown.text)
    if "-5/" in name:
        assert_golden(f"screens/{name}-120.txt", shown.drawn(120))
    if name in IN_COLOUR:
        assert_golden(f"screens/{name}.svg", picture(name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_a_screen_fits_and_has_the_same_text_in_colour(name: str, width: int) -> None:
    shown = screen(name).drawn(width)
    assert _CODES.sub("", screen(name).drawn(width, colour=True)) == shown
    for line in shown.splitlines():
        assert cell_len(line) <= width or line.startswith("Next: "), line
        assert line == line.rstrip()


@pytest.mark.parametrize("name", NAMES)
def test_a_narrow_screen_loses_nothing_but_width(name: str) -> None:
    for page in screen(name).pages:
        narrow = to_terminal(page, width=40)
        squeezed = "".join(_DRAWN.sub("", narrow).split())
        wide = to_terminal(replace(page, tables=tuple(map(_of_any_width, page.tables))), width=120)
        words = {word for word in _DRAWN.sub(" ", wide).split() if word != "–"}
        assert {word for word in words if word not in squeezed} == set()
        for cell in _lists(page):
            short, *items = (text.split() for text in (cell.short, *cell.items))
            assert all(word in squeezed for word in short) or all("".join(item) in squeezed for item in items)


@pytest.mark.parametrize("name", [name for name in NAMES if "-5/" in name and not name.endswith("snapshot-list")])
def test_every_figure_is_in_the_json(name: str) -> None:
    """Whatever number or time a page has above its lines comes from the document of the same command."""
    pages = [replace(page, lines=(), source="") for page in screen(name).pages]
    shown = figures_in("\n".join(to_terminal(page, width=200) for page in pages))
    given = figures_of(document(name)) | _OF_THE_RULE.get(name, set())
    assert shown - given == set()
    assert not shown or shown & given


@pytest.mark.parametrize("name", [name for name in NAMES if "-5/" in name and not name.endswith("snapshot-list")])
def test_every_line_is_in_the_json(name: str) -> None:
    """A line has its code and text in the document, in the list that its word names."""
    documents = document(name) if isinstance(document(name), list) else [document(name)]
    if name.endswith("/check"):
        documents = [{**each, "next": each["plans"][0]["next"]} for each in documents]
    for page in screen(name).pages:
        for line in page.lines:
            if line.kind == "next" and name.endswith("/fleet"):
                continue  # its rows are those of a data set, which has no commands
            field = "next" if line.kind == "next" else f"{line.kind}s"
            notes = [note for each in documents for note in each[field] if note["code"] == line.code]
            texts = {note["message"].replace("SNAPSHOT", "").removesuffix(".") for note in notes}
            assert (line.kind == "next" and notes) or any(
                line.text.endswith(f"{text}.") or line.text.endswith(text) for text in texts
            ), line


@pytest.mark.parametrize("name", NAMES)
def test_help_explains_every_label_and_head(name: str) -> None:
    labels = {fact.label for page in screen(name).pages for fact in page.facts}
    tables = [table for page in screen(name).pages for table in page.tables]
    heads = {column.head for table in tables if not table.columns[0].heads_columns for column in table.columns}
    words = {word for label in labels | heads for word in label.split(" and ")}
    assert {word for word in words if word not in PLAIN and definition(word) is None} == set()


def test_a_large_group_folds() -> None:
    for command in COMMANDS["classic-220"]:
        assert len(screen(f"classic-220/{command}").text.splitlines()) < 250, command


def picture(name: str) -> str:
    """Return a screen in colour as SVG."""
    group, command = name.split("/")
    console = Console(file=io.StringIO(), record=True, width=80)
    console.print(Text.from_ansi(screen(name).drawn(80, colour=True)))
    return console.export_svg(title=f"kstream-plan {COMMANDS[group][command]}", unique_id="screen")


def _of_any_width(table: Table) -> Table:
    """Return what of a table stands on pages of every width.

    Left out are columns of wide pages, columns without anything in them, and lists, which may fold.
    """
    places = [
        place
        for place, column in enumerate(table.columns)
        if column.from_width <= 40 and any(row.cells[place].items != ("–",) for row in table.rows)
    ]
    columns = tuple(table.columns[place] for place in places)
    rows = [tuple(Cell() if row.cells[place].short else row.cells[place] for place in places) for row in table.rows]
    return replace(table, columns=columns, rows=tuple(Row(cells) for cells in rows))


def _lists(page: Page) -> Iterator[Cell]:
    """Yield the lists of a page that may fold."""
    for table in page.tables:
        for row in table.rows:
            for cell, column in zip(row.cells, table.columns, strict=True):
                if cell.short and column.from_width <= 40:
                    yield cell
