"""Names from a snapshot made harmless for the place they are shown in."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kstream_plan.snapshots.rows.fields import printable as printable  # noqa: PLC0414 - part of how texts are escaped

_PLAIN_IN_MARKDOWN = re.compile(r"(?!www\.)[A-Za-z0-9]+(?:[ .,_/→-][A-Za-z0-9]+)*", re.ASCII)
_PLAIN_WORD = re.compile(
    r"\d\d:\d\d:\d\dZ?|[→–…]?|(?!www\.|.*__)[A-Za-z0-9]+(?:[._/=→'–-][A-Za-z0-9]+)*|\d[\d,.]*", re.ASCII
)
#: A word, or ``--set`` with its value, without the stops after it: the bracket before it, and the rest.
_WORD = re.compile(r"(?<![^ ])(\(?)((?:--set )?[^ ]*?)(?=[.,;:)?!%]*(?![^ ]))")
#: Signs, and what stands for each where there is only ASCII; all are as wide.
_ASCII_SIGNS = str.maketrans("→…⚠✗✓○·▁▂▃▄▅▆▇█╭╮╰╯│─–", ">~!X+o-_.:-=+*#++++|--")


def markdown(text: str) -> str:
    """Return ``text`` as Markdown that shows it literally (in a table: see :func:`markdown_row`).

    Anything but plain words goes into a code span: no emphasis, no HTML, no link and no mention starts in there.
    """
    text = printable(text)
    if _PLAIN_IN_MARKDOWN.fullmatch(text) and "__" not in text:
        return text
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    padding = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) or not text else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def markdown_row(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table; a bar inside a cell, in a code span too, is escaped."""
    escaped_cells = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped_cells)} |"


def markdown_sentence(text: str) -> str:
    """Return a sentence as Markdown: its plain words as they are, every other one as :func:`markdown` shows it."""
    return _WORD.sub(
        lambda word: word[0] if _PLAIN_WORD.fullmatch(word[2]) else f"{word[1]}{markdown(word[2])}", printable(text)
    )


def to_encoding(text: str, encoding: str) -> str:
    """Return ``text`` with every character that ``encoding`` lacks replaced.

    Signs get ASCII forms of the same width, so that columns stay where they are; anything else, which is in a name
    then, is written as an escape.
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = "\n".join(map(_with_wide_arrows, text.split("\n"))).translate(_ASCII_SIGNS)
        return text.encode(encoding, "backslashreplace").decode(encoding)
    return text


def _with_wide_arrows(line: str) -> str:
    """Return a line with ``->`` for each arrow that a blank follows, which takes a blank of the next gap."""
    while "→ " in line:
        head, tail = line.split("→ ", 1)
        line = f"{head}-> {tail.replace('   ', '  ', 1)}"
    return line
