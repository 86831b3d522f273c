"""A page on a terminal: Rich's Markdown, with code as wide as the screen, and tables of which nothing is cut off.

Loaded by ``help`` only where there is a terminal, for Rich's Markdown takes its time.
"""

from __future__ import annotations

import re
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement, TableElement
from rich.syntax import Syntax

#: What is not shown, and would leave an empty line.
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)
#: A link to a page that is called by its name.
_LINK = re.compile(r"\[([\w-]+)(#[\w-]+)?\]\(\1\.md(?(2)\2)\)")


class _Code(CodeBlock):
    """Code without a margin: what the commands print is as wide as the screen."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Syntax(str(self.text).rstrip(), self.lexer_name, theme=self.theme, word_wrap=True, padding=(1, 0))


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
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }

    def __init__(self, text: str) -> None:
        """Take the text of a page."""
        super().__init__(_LINK.sub(r"**\1\2**", _COMMENT.sub("", text)), hyperlinks=False)
