"""Reports as HTML that needs nothing but itself, and pictures as SVG; every text is escaped by the template engine."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from textwrap import wrap
from typing import NamedTuple, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from kstream_plan.pages.glossary import words_on
from kstream_plan.render.page import Page, Table
from kstream_plan.render.report.figure import Figure
from kstream_plan.version import __version__

_TEMPLATES = "templates"
#: A picture has lines of so many characters.
_LINE = 135
#: Up to this many sentences of steps are part of a page.
_MOST_SENTENCES = 2_000
#: A cell of a table with more characters than this, or with a longer word, is a long one.
_LONG_TEXT, _LONG_WORD = 40, 24
#: Letters that are read from the right: Hebrew, Arabic and their kin.
_FROM_THE_RIGHT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_BETWEEN = r"\s→,;:()"
_WORD = rf"[^{_BETWEEN}{_FROM_THE_RIGHT}]*[{_FROM_THE_RIGHT}][^{_BETWEEN}]*"
_NAMES_FROM_THE_RIGHT = re.compile(rf"{_WORD}(?: {_WORD})*")
#: What is between these is put in order by itself, whatever stands beside it.
_ISOLATE, _ISOLATED = "\u2068", "\u2069"


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


@dataclass(frozen=True, slots=True)
class Lookup:
    """Labelled texts that are looked up rather than read."""

    title: str
    items: tuple[Labelled, ...]


Block: TypeAlias = Drawing | Table | Lookup


@dataclass(frozen=True, slots=True)
class Section:
    """The page of one answer, and what a report has beside it.

    page: the same as on a terminal.
    drawings: stand before its tables.
    details: stand after its lines.
    capture_time: of its input (RFC 3339).
    data: what the script draws details from.
    subject: what the answer is about, as a section of its own.
    """

    page: Page
    drawings: tuple[Block, ...] = ()
    details: tuple[Block, ...] = ()
    capture_time: str | None = None
    data: Mapping[str, object] | None = None
    subject: Section | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report: its title, of several sections an overview, these, and how many others there are."""

    title: str
    sections: tuple[Section, ...]
    overview: tuple[Table, ...] = ()
    left_out: str = ""


def report_html(report: Report) -> str:
    """Return a page that needs no network, and can be read without its script."""
    script, content = _text("report.js"), _page("main.html", report=report)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    style, words = _text("report.css"), tuple(words_on(content))
    return _page("page.html", report=report, content=content, words=words, style=style, script=script, digest=digest)


def section_html(section: Section) -> str:
    """Return one section without a script, to stand among others in a notebook."""
    return _page("fragment.html", section=section, style=_text("report.css"))


def drawing_svg(section: Section, drawing: Drawing) -> str:
    """Return a drawing alone, below the section's title and answer."""
    page = section.page
    answer = " ".join([*([f"{page.answer.word}:"] if page.answer else []), *page.sentences])
    lines = wrap(answer, _LINE, max_lines=3, placeholder=" …")
    return _page("drawing.svg", section=section, drawing=drawing, lines=lines)


def _page(template: str, **values: object) -> str:
    text = _environment().get_template(template).render(figure_style=_text("figure.css"), version=__version__, **values)
    return f"{_without_blanks(text)}\n"


def _is_long(text: str) -> bool:
    """Tell whether a cell needs room, or has to be broken within a word: most must not be."""
    return len(text) > _LONG_TEXT or any(len(word) > _LONG_WORD for word in text.split())


def isolate(value: object) -> object:
    """Return a text whose names that are read from the right do not reorder what stands beside them."""
    if type(value) is not str or value.isascii():
        return value
    return _NAMES_FROM_THE_RIGHT.sub(rf"{_ISOLATE}\g<0>{_ISOLATED}", value)


def _text(name: str) -> str:
    return _without_blanks(files(__package__).joinpath(_TEMPLATES, name).read_text(encoding="utf-8"))


def _without_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__, _TEMPLATES),
        autoescape=select_autoescape(["html", "svg"], default=True),
        undefined=StrictUndefined,
        finalize=isolate,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"is_long": _is_long, "most_sentences": _MOST_SENTENCES}
    return environment
