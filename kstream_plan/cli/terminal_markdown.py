"""A page as text: Rich's Markdown, with code as wide as the screen, and tables in which nothing is cut off.

Loaded late by ``help``: Rich's Markdown takes its time.
"""

from __future__ import annotations

import io
import re
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.syntax import Syntax
from rich.text import Text

#: What is not shown, and would leave an empty line.
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)
#: A link to a page, or to a section of one.
_LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+)\.md(#[\w-]+)?\)")


class _Code(CodeBlock):
    """Code without a margin: what the commands print is as wide as the screen."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Syntax(str(self.text).rstrip(), self.lexer_name, theme=self.theme, word_wrap=True, padding=(1, 0))


class _Heading(Heading):
    """A heading at the left; where there are no bold letters a line below it marks it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text
        if not console.is_terminal:
            yield Text(("═" if self.tag == "h1" else "─") * min(self.text.cell_len, options.max_width))


class _Table(TableElement):
    """A table that folds the words that are wider than their column, and cuts none off."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for row in self.body.rows if self.body else ():
            for cell in row.cells:
                cell.content.overflow = "fold"
        yield from super().__rich_console__(console, options)


class TerminalMarkdown(Markdown):
    """A page as it is shown: links to other pages by their names, which ``help`` takes."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }

    def __init__(self, text: str) -> None:
        """Take the text of a page."""
        super().__init__(_LINK.sub(_link_text, _COMMENT.sub("", text)), hyperlinks=False)


def _link_text(link: re.Match[str]) -> str:
    """Return a link as the name that ``help`` opens, after its words unless they are that name."""
    name = f"{link[2]}{link[3] or ''}"
    return f"**{name}**" if name.startswith(link[1].replace("\n", " ")) else f"{link[1]} (**{name}**)"


def render(text: str, width: int, *, colour: bool) -> str:
    """Return a page as text of this width; without ``colour`` it has no control codes either."""
    buffer = io.StringIO()
    console = Console(file=buffer, width=width, force_terminal=colour, no_color=not colour)
    console.print(TerminalMarkdown(text))
    return "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())
