"""Names from a snapshot made harmless for the place they are shown in."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kstream_plan.snapshots.rows.fields import printable as printable  # noqa: PLC0414 - part of how texts are escaped

_PLAIN_IN_MARKDOWN = re.compile(r"(?!www\.)[A-Za-z0-9]+(?:[ .,_/→-][A-Za-z0-9]+)*", re.ASCII)
_PLAIN_WORD = re.compile(
    r"\d\d:\d\d:\d\dZ?|[→–…]|(?!www\.)\(?(?:[A-Za-z0-9]+(?:[._/=→'–-][A-Za-z0-9]+)*|\d[\d,.]*)[.,;:)?!]*|", re.ASCII
)
#: One column wider than what they stand for, where a blank follows.
_WIDER_ASCII_FORMS = {"→ ": "-> ", "≥ ": ">= ", "≤ ": "<= "}
_WIDER = re.compile("[→≥≤] ")
#: As wide as what they stand for, for what has been laid out already.
_ASCII_FORMS = (
    ("→", ">"),
    ("≥", ">"),
    ("≤", "<"),
    ("…", "~"),
    ("⚠", "!"),
    ("✗", "X"),
    ("✓", "+"),
    ("○", "o"),
    ("·", "-"),
    *zip("▁▂▃▄▅▆▇█", "_.:-=+*#", strict=True),
    *zip("╭╮╰╯│─–", "++++|--", strict=True),
)


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
    return " ".join(
        word if _PLAIN_WORD.fullmatch(word) and "__" not in word else markdown(word)
        for word in printable(text).split(" ")
    )


def _with_wider_signs(line: str) -> str:
    """Put the wider forms into a line, each at the cost of a blank of the gap behind it, if there is one."""
    place = 0
    while match := _WIDER.search(line, place):
        text = line[: match.start()] + _WIDER_ASCII_FORMS[match[0]]
        line, place = text + line[match.end() :].replace("   ", "  ", 1), len(text)
    return line


def to_encoding(text: str, encoding: str) -> str:
    """Return ``text`` with every character that ``encoding`` lacks replaced.

    Arrows and signs get ASCII forms of the same width, or take a blank of the next gap, so that columns stay where they
    are; anything else, which is in a name then, is written as an escape.
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = "\n".join(map(_with_wider_signs, text.split("\n")))
        for sign, form in _ASCII_FORMS:
            text = text.replace(sign, form)
        return text.encode(encoding, "backslashreplace").decode(encoding)
    return text
