"""Pictures of what a terminal shows, as SVG: no font from elsewhere, blanks kept."""

from __future__ import annotations

import re
from html import unescape
from io import StringIO

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

_FROM_ELSEWHERE = re.compile(r"\s*@font-face \{\{.*?\}\}", re.DOTALL)
_TEXT = re.compile(r"<text\b[^>]*>(.*?)</text>", re.DOTALL)


def picture(command: str, output: str, *, width: int) -> str:
    """Return what a terminal shows of a command and its ``output``, which may have colours."""
    console = Console(record=True, width=width, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(f"$ {command}\n{output.rstrip()}"), soft_wrap=True)
    form = _FROM_ELSEWHERE.sub("", CONSOLE_SVG_FORMAT)
    svg = console.export_svg(title=" ".join(command.split()[:2]), code_format=form, unique_id="terminal")
    return "\n".join(line.rstrip() for line in svg.replace("<text ", '<text xml:space="preserve" ').splitlines()) + "\n"


def words(svg: str) -> list[str]:
    """Return what a picture says, however it is drawn."""
    return [text for text in map(str.strip, map(unescape, _TEXT.findall(svg))) if text]
