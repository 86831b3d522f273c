"""``help``: the pages about the tool, by question, without a network."""

from __future__ import annotations

import os
import pydoc
import re
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from itertools import takewhile
from typing import Annotated

import typer

from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.output import NEVER, color_mode, page, write_stdout
from kstream_plan.errors import UsageError
from kstream_plan.pages.glossary import definition
from kstream_plan.pages.search import Search
from kstream_plan.pages.sections import Section, page_names, page_text, sections_of

#: The page that lists the others by question.
_INDEX = "index"
#: So many sections at most, and none that fits less than this share of the best.
_MOST, _LEAST = 5, 0.3
#: So many letters of what answers, and so many lines to type.
_PASSAGE, _TYPED = 740, 6
#: So many letters of what a page says first, below another passage that answers.
_FIRST = 360
#: Of a question of so few words it is said which of them no page has; more are a message that was pasted.
_FEW_WORDS = 6
_COMMENT = re.compile(r"^<!-- .*? -->\n", re.DOTALL | re.MULTILINE)
_SHELL = re.compile(r"^ *```sh\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"\A *```\n+(```yaml\n.*?\n```)", re.DOTALL)
_CONSOLE = re.compile(r"^\$ (kstream-plan (?:.*\\\n)*.*)$", re.MULTILINE)


def help(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAGE|WORD...]", help="Name of a page, or words of a question; without them the list of pages."
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Show the Markdown of the page.")] = False,
) -> None:
    """Show the pages about this tool: the list of them by question, or one."""
    with expected_failures():
        text = answer_text(words or [_INDEX])
        if markdown:
            write_stdout(text)
        else:
            _show(text)


def answer_text(words: Sequence[str]) -> str:
    """Return the page of this name, the section (``why#stuck``, ``why stuck``), or what answers the question."""
    pages = page_names()
    name, _, anchor = words[0].partition("#") if len(words) == 1 else (words[0], "", "-".join(words[1:]).lower())
    if name in pages and not anchor:
        return _readers(page_text(name))
    if name in pages:
        sections = [
            section
            for section in sections_of(name)
            if section.heading and section.name.partition("#")[2].startswith(anchor)
        ]
        if sections:
            return _section(sections[0])
        if len(words) == 1:
            fix = "; ".join(f"kstream-plan help {section.name}" for section in sections_of(name))
            raise UsageError(f"page {name!r} has no section {anchor!r}", fix=fix)
    return _answer(" ".join(words))


def _readers(text: str) -> str:
    """Return Markdown without the comments in it, which are for the search."""
    return _COMMENT.sub("", text)


def _section(section: Section) -> str:
    """Return what stands below its heading, and below the smaller ones in it."""
    sections = sections_of(section.page)
    start = sections.index(section)
    depth = _depth(section)
    end = next((place for place in range(start + 1, len(sections)) if _depth(sections[place]) <= depth), len(sections))
    text = "\n".join(section.text for section in sections[start:end])
    return f"{_readers(text)}\nThe whole page: `kstream-plan help {section.page}`\n"


def _depth(section: Section) -> int:
    return len(section.text) - len(section.text.lstrip("#"))


def _unknown_word(search: Search, word: str) -> UsageError:
    alternatives = search.similar_words(word)
    command = (
        f"kstream-plan help {', or '.join(alternatives)}"
        if alternatives
        else "kstream-plan help lists the pages by question"
    )
    return UsageError(f"no page has {word!r}", fix=command)


def _answer(question: str) -> str:
    """Return the passage that answers best, what to type, and where it stands; then the other sections that fit."""
    search, meaning = _search(), definition(question)
    unknown = [] if meaning else search.unknown(question)
    if unknown and len(unknown) == len(question.split()):
        raise _unknown_word(search, unknown[0])
    matches = search.best(question)
    if meaning:
        matches = [(section, fit) for section, fit in matches if section.page != "terms"]
        if not matches:
            return f"{meaning}\n\nMore: `kstream-plan help terms`\n"
    if not matches:
        raise _unknown_word(search, question)
    best, fits = matches[0]
    other_sections = [section for section, fit in matches[1:_MOST] if fit > fits * _LEAST]
    place = search.passage(best, question)
    is_typed = len(question.split()) <= _FEW_WORDS
    parts = [f"No page has: {', '.join(unknown)}." if unknown and is_typed else "", meaning or ""]
    parts += [f"{_title(best)} {best.link}", *_answers(best, place), _typed(best, place)]
    parts += [f"More: `kstream-plan help {best.name}`"]
    if other_sections:
        parts += ["Else:\n\n" + "\n".join(f"- {_title(section)} {section.link}" for section in other_sections)]
    return "\n\n".join(part for part in parts if part) + "\n"


@cache
def _search() -> Search:
    return Search([section for name in page_names() if name != _INDEX for section in sections_of(name)])


def _title(section: Section) -> str:
    if section.asks and not section.heading:
        return section.asks[0]
    return f"{section.title}: {section.heading}" if section.heading else section.title


def _answers(section: Section, place: int) -> list[str]:
    """Return the passage at this place, and of a page also, in short, what it says first."""
    passages = section.passages
    if place not in section.lead_places:
        return []
    if place == section.lead_places[0] or section.heading:
        parts = [_readable(passages[place], _PASSAGE)]
    else:
        parts = [_readable(passages[place], _PASSAGE - _FIRST), _readable(passages[section.lead_places[0]], _FIRST)]
    # a link on the page is one to the page from here
    return [text.replace("](#", f"]({section.page}.md#") for text in parts]


def _readable(passage: str, most: int) -> str:
    """Return a passage as a paragraph of so many letters, of a row of a table its cells."""
    text = passage.strip()
    if text.startswith("|"):
        text = ": ".join(cell.strip() for cell in re.split(r"(?<!\\)\|", text.splitlines()[0])[1:-1] if cell.strip())
    text = " ".join(re.sub(r"^(?:[-*]|\d+\.) ", "", text.replace("\\|", "|")).split())
    return text if len(text) <= most else text[:most].rpartition(" ")[0] + " […]"


def _typed(section: Section, place: int) -> str:
    """Return the commands that a passage leads to, else the first of its section, else of its page's beginning."""
    code = "\n".join(takewhile(lambda passage: passage.lstrip().startswith("```"), section.passages[place + 1 :]))
    for text in (code, section.text, sections_of(section.page)[0].text):
        commands = _SHELL.findall(text)[:1] or _CONSOLE.findall(text)[:1]
        if commands:
            lines = [line for line in commands[0].strip().splitlines() if line.strip()]
            whole = [number for number in range(1, len(lines) + 1) if not lines[number - 1].rstrip().endswith("\\")]
            last = max((number for number in whole if number <= _TYPED), default=whole[0])
            file = _FILE.search(text.partition(commands[0])[2])
            return "```sh\n" + "\n".join(lines[:last]) + "\n```" + (f"\n\n{file[1]}" if file else "")
    return ""


def _show(text: str) -> None:
    """Show Markdown as text, as wide as stdout; on a terminal in the pager where it is longer than the screen.

    ``--color never`` needs none.
    """
    from kstream_plan.cli.terminal_markdown import render  # noqa: PLC0415 - takes its time

    shape = page()
    lines = render(text, shape.width, colour=shape.colour)
    height = shutil.get_terminal_size().lines
    if color_mode() == NEVER or not sys.stdout.isatty() or lines.count("\n") < height:
        write_stdout(lines)
        return
    os.environ.setdefault("LESS", "-R")
    pydoc.pager(lines)
