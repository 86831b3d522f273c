"""``help``: the pages about the tool, by question, without a network."""

from __future__ import annotations

import os
import pydoc
import re
import shutil
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from itertools import takewhile
from typing import Annotated

import typer

from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.help_search import Search
from kstream_plan.cli.help_sections import Section, definition, page_names, page_text, sections_of
from kstream_plan.cli.output import page, say
from kstream_plan.errors import UsageError

#: The page that lists the others by question.
_INDEX = "index"
#: So many sections at most, and none that fits less than this share of the best.
_MOST, _LEAST = 5, 0.3
#: So many letters of what answers, and so many lines to type.
_PASSAGE, _TYPED = 740, 6
#: So many letters of what a page says first, below another passage that answers.
_FIRST = 360
_COMMENT = re.compile(r"^<!-- .*? -->\n", re.DOTALL | re.MULTILINE)
_SHELL = re.compile(r"^ *```sh\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_CONSOLE = re.compile(r"^\$ (kstream-plan (?:.*\\\n)*.*)$", re.MULTILINE)


def help(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAGE|WORD...]", help="Name of a page, or words of a question; without them the list of pages."
        ),
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Show text without colours and without a pager.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Show the Markdown of the page.")] = False,
) -> None:
    """Show the pages about this tool: the list of them by question, or one."""
    with expected_failures():
        text = answer_text(words or [_INDEX])
        if markdown:
            say(text)
        else:
            _show(text, plain=plain)


def answer_text(words: Sequence[str]) -> str:
    """Return the page of this name, the section (``why#stuck``, ``why stuck``), or what answers the question.

    Raises:
        UsageError: there is no such section, or no page has any of the words.
    """
    known = page_names()
    name, _, below = words[0].partition("#") if len(words) == 1 else (words[0], "", "-".join(words[1:]).lower())
    if name in known and not below:
        return _readers(page_text(name))
    if name in known:
        there = [of for of in sections_of(name) if of.heading and of.name.partition("#")[2].startswith(below)]
        if there:
            return _section(there[0])
        if len(words) == 1:
            fix = "; ".join(f"kstream-plan help {of.name}" for of in sections_of(name))
            raise UsageError(f"page {name!r} has no section {below!r}", fix=fix)
    return _answer(" ".join(words), known)


def _readers(text: str) -> str:
    """Return Markdown without the comments in it, which are for the search."""
    return _COMMENT.sub("", text)


def _section(section: Section) -> str:
    """Return what stands below its heading, and below the smaller ones in it."""
    own = sections_of(section.page)
    at = own.index(section)
    depth = _depth(section)
    until = next((place for place in range(at + 1, len(own)) if _depth(own[place]) <= depth), len(own))
    said = "\n".join(of.text for of in own[at:until])
    return f"{_readers(said)}\nThe whole page: `kstream-plan help {section.page}`\n"


def _depth(section: Section) -> int:
    return len(section.text) - len(section.text.lstrip("#"))


def _answer(question: str, known: Sequence[str]) -> str:
    """Return the passage that answers best, what to type, and where it stands; then the other sections that fit.

    Raises:
        UsageError: no page has any of the words.
    """
    search = _search()
    found = search.best(question)
    meaning = definition(question)
    if meaning:
        found = [(section, fit) for section, fit in found if section.page != "terms"]
        if not found:
            return f"{meaning}\n\nMore: `kstream-plan help terms`\n"
    if not found:
        near = get_close_matches("-".join(question.split()), known, n=1)
        fix = f"kstream-plan help {near[0]}" if near else "kstream-plan help lists the pages by question"
        raise UsageError(f"no page is called {question!r}, and none has the words", fix=fix)
    best, fits = found[0]
    others = [section for section, fit in found[1:_MOST] if fit > fits * _LEAST]
    at = search.passage(best, question)
    parts = [meaning or "", f"{_called(best)} {best.link}", *_answers(best, at), _typed(best, at)]
    parts += [f"More: `kstream-plan help {best.name}`"]
    if others:
        parts += ["Else:\n\n" + "\n".join(f"- {_called(section)} {section.link}" for section in others)]
    return "\n\n".join(part for part in parts if part) + "\n"


@cache
def _search() -> Search:
    return Search([section for name in page_names() if name != _INDEX for section in sections_of(name)])


def _called(section: Section) -> str:
    if section.asks and not section.heading:
        return section.asks[0]
    return f"{section.title}: {section.heading}" if section.heading else section.title


def _answers(section: Section, at: int) -> list[str]:
    """Return the passage at this place, and of a page also, in short, what it says first."""
    passages = section.passages
    if at not in section.told:
        return []
    if at == section.told[0] or section.heading:
        shown = [_readable(passages[at], _PASSAGE)]
    else:
        shown = [_readable(passages[at], _PASSAGE - _FIRST), _readable(passages[section.told[0]], _FIRST)]
    # a link on the page is one to the page from here
    return [text.replace("](#", f"]({section.page}.md#") for text in shown]


def _readable(passage: str, most: int) -> str:
    """Return a passage as a paragraph of so many letters, of a row of a table its cells."""
    text = passage.strip()
    if text.startswith("|"):
        text = ": ".join(cell.strip() for cell in re.split(r"(?<!\\)\|", text.splitlines()[0])[1:-1] if cell.strip())
    text = " ".join(re.sub(r"^(?:[-*]|\d+\.) ", "", text).split())
    return text if len(text) <= most else text[:most].rpartition(" ")[0] + " […]"


def _typed(section: Section, at: int) -> str:
    """Return the commands that a passage leads to, else the first of its section, else of its page's beginning."""
    below = "\n".join(takewhile(lambda passage: passage.lstrip().startswith("```"), section.passages[at + 1 :]))
    for text in (below, section.text, sections_of(section.page)[0].text):
        shown = _SHELL.findall(text)[:1] or _CONSOLE.findall(text)[:1]
        if shown:
            lines = [line for line in shown[0].strip().splitlines() if line.strip()]
            whole = [at for at in range(1, len(lines) + 1) if not lines[at - 1].rstrip().endswith("\\")]
            last = max((at for at in whole if at <= _TYPED), default=whole[0])
            return "```sh\n" + "\n".join(lines[:last]) + "\n```"
    return ""


def _show(text: str, *, plain: bool) -> None:
    """Show Markdown as text, as wide as stdout; on a terminal in the pager where it is longer than the screen."""
    from kstream_plan.cli.terminal_markdown import rendered  # noqa: PLC0415 - takes its time

    shape = page()
    colour = shape.colour and not plain
    shown = rendered(text, shape.width, colour=colour)
    height = shutil.get_terminal_size().lines
    if plain or not sys.stdout.isatty() or shown.count("\n") < height:
        say(shown)
        return
    os.environ.setdefault("LESS", "-R")
    pydoc.pager(shown)
