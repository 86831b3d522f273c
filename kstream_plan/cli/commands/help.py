"""``help``: the pages about the tool, by question, without a network."""

from __future__ import annotations

import os
import re
import sys
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
_QUESTION = re.compile(r"^- .*(?:\n  .*)*", re.MULTILINE)
#: What a page answers.
_ASKS = re.compile(r"^> (.*)", re.MULTILINE)
#: A link to a page that is called by its name.
_LINK = re.compile(r"\[([\w-]+)\]\(\1\.md\)")


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
    """Return the page of this name, else the questions that have all of these words, else those of the pages that do.

    Raises:
        UsageError: there are none.
    """
    known = page_names()
    if len(words) == 1 and words[0] in known:
        return page_text(words[0])
    questions = _QUESTION.findall(page_text(_INDEX))
    asked = [one for one in questions if _has(one, words)]
    if not asked:
        pages = {name: page_text(name) for name in known if name != _INDEX}
        asked = [f"- {_ASKS.findall(text)[0]} [{name}]({name}.md)" for name, text in pages.items() if _has(text, words)]
    if not asked:
        near = get_close_matches("-".join(words), known, n=1)
        fix = f"kstream-plan help {near[0]}" if near else "kstream-plan help lists the pages by question"
        raise UsageError(f"no page is called {' '.join(words)!r}, and none has the words", fix=fix)
    return "".join(f"{one}\n" for one in asked)


def _has(text: str, words: Sequence[str]) -> bool:
    return all(word.lower() in text.lower() for word in words)


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
    from rich.markdown import Markdown  # noqa: PLC0415

    shape = page()
    console = Console(width=shape.width, no_color=not shape.colour)
    rendered = Markdown(_LINK.sub(r"**\1**", text), hyperlinks=False)
    with console.capture() as captured:
        console.print(rendered)
    if captured.get().count("\n") < console.height:
        say(captured.get())
        return
    os.environ.setdefault("LESS", "-R")
    with console.pager(styles=shape.colour):
        console.print(rendered)
