"""Reports as HTML that needs nothing but itself, and pictures as SVG; every text is escaped by the template engine."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from textwrap import wrap

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from kstream_plan.render.report.page import Drawing, Report, Section
from kstream_plan.render.report.words import words_on
from kstream_plan.version import __version__

_TEMPLATES = "templates"
#: A picture has lines of so many characters, and a legend with so many pixels for a sign, and for a letter.
_LINE = 135
_LEGEND_SIGN, _LEGEND_LETTER = 38, 6
#: A cell of a table with more characters than this, or with a longer word, is a long one.
_LONG_TEXT, _LONG_WORD = 40, 24


def report_html(report: Report) -> str:
    """Return a page that needs no network, and can be read without its script."""
    script = _text("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _page(
        "page.html", report=report, words=words_on(report), style=_text("report.css"), script=script, digest=digest
    )


def section_html(section: Section) -> str:
    """Return one section without a script, to stand among others in a notebook."""
    return _page("fragment.html", section=section, style=_text("report.css"))


def drawing_svg(section: Section, drawing: Drawing) -> str:
    """Return a drawing alone, below the section's title and answer."""
    colon = "" if section.answer is None or section.answer.label.endswith("?") else ":"
    said = "" if section.answer is None else f"{section.answer.label}{colon} {section.answer.text}"
    widths = [_LEGEND_SIGN + _LEGEND_LETTER * len(item.text) for item in drawing.legend]
    return _page(
        "drawing.svg",
        section=section,
        drawing=drawing,
        lines=wrap(said, _LINE, max_lines=3, placeholder=" …"),
        places=[sum(widths[:place]) for place in range(len(widths))],
    )


def _page(template: str, **given: object) -> str:
    text = _environment().get_template(template).render(figure_style=_text("figure.css"), version=__version__, **given)
    return f"{_without_blanks(text)}\n"


def _is_long(text: str) -> bool:
    """Tell whether a cell needs room, or has to be broken within a word: most must not be."""
    return len(text) > _LONG_TEXT or any(len(word) > _LONG_WORD for word in text.split())


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
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["is_long"] = _is_long
    return environment
