"""``help``: the pages about the tool, by question, without a network."""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from importlib.resources import files
from typing import Annotated

import typer

from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.output import page, say
from kstream_plan.errors import UsageError

#: The page that lists the others by question.
_INDEX = "index"


def help(
    name: Annotated[str, typer.Argument(metavar="[PAGE]", help="Which page; without it all, by question.")] = _INDEX,
    plain: Annotated[bool, typer.Option("--plain", help="Markdown as it is written, without a pager.")] = False,
) -> None:
    """Show the pages about this tool: the list of them by question, or one."""
    with expected_failures():
        text = page_text(name)
        if plain or not sys.stdout.isatty():
            say(text)
        else:
            _show(text)


def page_names() -> list[str]:
    """Return the names of all pages, in order."""
    folder = files("kstream_plan") / "pages"
    return sorted(file.name.removesuffix(".md") for file in folder.iterdir() if file.name.endswith(".md"))


def page_text(name: str) -> str:
    """Return a page as it is written.

    Raises:
        UsageError: there is no such page.
    """
    known = page_names()
    if name not in known:
        near = get_close_matches(name, known, n=1)
        fix = f"kstream-plan help {near[0]}" if near else "kstream-plan help lists the pages by question"
        raise UsageError(f"there is no page {name!r}", fix=fix)
    return (files("kstream_plan") / "pages" / f"{name}.md").read_text(encoding="utf-8")


def _show(text: str) -> None:
    """Show Markdown on the terminal, in the pager where it is longer than the screen."""
    from rich.console import Console  # noqa: PLC0415 - takes its time
    from rich.markdown import Markdown  # noqa: PLC0415

    shape = page()
    console = Console(width=shape.width, no_color=not shape.colour)
    rendered = Markdown(text, hyperlinks=False)
    with console.capture() as captured:
        console.print(rendered)
    if captured.get().count("\n") < console.height:
        say(captured.get())
        return
    os.environ.setdefault("LESS", "-R")
    with console.pager(styles=shape.colour):
        console.print(rendered)
