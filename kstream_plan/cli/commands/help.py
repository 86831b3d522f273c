"""``help``: the pages about the tool, by question, without a network."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.resources import files
from typing import Annotated

import typer

from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.output import page, say
from kstream_plan.errors import UsageError

#: The page that lists the others by question.
_INDEX = "index"
#: What a page answers: its question, and others that mean the same.
_ASKS = re.compile(r"^> (.*)", re.MULTILINE)
#: Other words for that, which are not shown.
_ALSO = re.compile(r"^<!-- also: .* -->$", re.MULTILINE)
_WORD = re.compile(r"kip-\d+|--[a-z-]+|[a-z0-9]{2,}")
#: Words that say nothing of what is asked.
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        """
        a about after all am an and any anybody anything are at be been but by can cannot could did do does doing done
        for from get gets give got happens has have he her here his how i if in into is it its just less let make may me
        might much must my need no not now of on one ones or our please really right running s say see shall she should
        since so some somebody something t tell than that the their them then there these they this those to too until
        up us use very want was we were what when where which while who whole why will with would you your
        """,
    )
)
#: A beginning of so many letters is a word's, with an ending of at most so many more, and shorter than it.
_STEM, _ENDING = 3, 3
#: Endings that do not make another word of it.
_ENDINGS = frozenset(("d", "e", "ed", "es", "ing", "s"))
#: What a word with another ending counts.
_ALIKE = 3 / 4
#: So many questions at most.
_MOST = 5


def help(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PAGE|WORD...]", help="Which page, or words of a question; without any all questions."),
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Markdown as it is written, without a pager.")] = False,
) -> None:
    """Show the pages about this tool: the list of them by question, or one."""
    with expected_failures():
        text = _found(words or [_INDEX])
        if plain or not sys.stdout.isatty():
            say(text)
        else:
            _show(text)


def _found(words: Sequence[str]) -> str:
    """Return the page of this name, else what is asked by the pages that these words fit best, the best one first.

    A word counts as much as it is rare among the questions; in the text of a page as much as that has of all that there
    are of it, and a third of that.

    Raises:
        UsageError: no page has any of them.
    """
    known = page_names()
    if len(words) == 1 and words[0] in known:
        return page_text(words[0])
    wanted = sorted({word for text in words for word in _words_of(text)})
    pages = [page_text(name) for name in known]
    asked = [_ASKS.findall(text) for text in pages]
    questions = [" ".join([known[at], *asked[at], *_ALSO.findall(text)]) for at, text in enumerate(pages)]
    shown = [f"- {asked[at][0]} [{known[at]}]({known[at]}.md)\n" for at in _fitting(wanted, questions, pages)]
    if not shown:
        near = get_close_matches("-".join(words), known, n=1)
        fix = f"kstream-plan help {near[0]}" if near else "kstream-plan help lists the pages by question"
        raise UsageError(f"no page is called {' '.join(words)!r}, and none has the words", fix=fix)
    return "".join(shown)


def _fitting(wanted: Sequence[str], questions: Sequence[str], pages: Sequence[str]) -> list[int]:
    """Return the places of those in which these words stand most often, the best first."""
    fits = [0.0] * len(pages)
    for texts, share in ((questions, 1.0), (pages, 1 / 3)):
        words = [Counter(set(_words_of(text)) if texts is questions else _words_of(text)) for text in texts]
        for word in wanted:
            often = [sum(times * _likeness(word, other) for other, times in has.items()) for has in words]
            for place, times in enumerate(often):
                fits[place] += share * times / max(sum(often), 1)
    best = sorted(range(len(fits)), key=lambda place: (-fits[place], place))[:_MOST]
    return [place for place in best if fits[place] > max(fits) / 3]


def _words_of(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _FILLERS]


def _likeness(word: str, other: str) -> float:
    """Return how much one word is the other: less if it begins so (end, ends) or ends otherwise (evicts, evicted)."""
    if word == other or word[:_STEM] != other[:_STEM]:
        return float(word == other)
    short, long = sorted((word, other), key=len)
    if long.startswith(short):
        alike = len(short) >= _STEM and len(long) - len(short) <= min(_ENDING, len(short) - 1)
    else:
        same = next(at for at, letters in enumerate(zip(word, other, strict=False)) if len(set(letters)) > 1)
        alike = {word[same:], other[same:]} <= _ENDINGS
    return _ALIKE * alike


def page_names() -> list[str]:
    """Return the names of all pages, in order."""
    folder = files("kstream_plan") / "pages"
    return sorted(file.name.removesuffix(".md") for file in folder.iterdir() if file.name.endswith(".md"))


def page_text(name: str) -> str:
    """Return a page as it is written."""
    return (files("kstream_plan") / "pages" / f"{name}.md").read_text(encoding="utf-8")


def _show(text: str) -> None:
    """Show Markdown on the terminal, in the pager where it is longer than the screen."""
    from rich.console import Console  # noqa: PLC0415 - takes its time

    from kstream_plan.cli.terminal_markdown import TerminalMarkdown  # noqa: PLC0415

    shape = page()
    console = Console(width=shape.width, no_color=not shape.colour)
    rendered = TerminalMarkdown(text)
    with console.capture() as captured:
        console.print(rendered)
    if captured.get().count("\n") < console.height:
        say(captured.get())
        return
    os.environ.setdefault("LESS", "-R")
    with console.pager(styles=shape.colour):
        console.print(rendered)
