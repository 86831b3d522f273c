"""Words and items on lines of a given width, measured in terminal columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, chop_cells


def wrapped(items: Sequence[str], gap: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Fill lines of ``width`` columns with ``items``, breaking between them, or inside one that is too long.

    The first line begins with ``first``, every other one with ``rest``.
    """
    lines: list[str] = []
    between, at_rest = cell_len(gap), cell_len(rest)
    line, used, empty = first, cell_len(first), True
    for item in items:
        columns = cell_len(item)
        if not empty:
            if used + between + columns <= width:
                line = f"{line}{gap}{item}"
                used = used + between + columns if line.isascii() else cell_len(line)  # others may join across a gap
                continue
            lines.append(line)
            line, used = rest, at_rest
        room = max(width - used, 1)
        *full, end = [item] if columns <= room else _pieces(item, max(min(room, width - at_rest), 1))
        for part in full:
            lines.append(line + part)
            line, used = rest, at_rest
        line, empty = line + end, False
        used = cell_len(line)
    return [*lines, line]


def _pieces(item: str, room: int) -> list[str]:
    """Cut an item that is too long: after its arrow if that comes last, else between its words, else anywhere."""
    head, arrow, tail = item.partition("→")
    if arrow and " " not in tail and cell_len(head) < room:
        return [head + arrow, *chop_cells(tail, room)]
    words = item.split(" ")
    return chop_cells(item, room) if len(words) == 1 else wrapped(words, " ", room)


def paragraph(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Wrap a text between its words."""
    return wrapped(text.split(" "), " ", width, first, rest)


def at_most(items: Sequence[str], gap: str, width: int, height: int) -> list[str]:
    """Fill at most ``height`` lines; if not all items fit, the last one says how many are left out.

    However many items there are, only as many as fit are laid out.
    """
    shown = 0
    while shown < len(items) and len(wrapped(items[: shown + 1], gap, width)) <= height:
        shown += 1
    if shown == len(items):
        return wrapped(items, gap, width)
    shown = max(shown, 1)
    lines = _cut_short(items, shown, gap, width)
    while len(lines) > height and shown > 1:
        shown -= 1
        lines = _cut_short(items, shown, gap, width)
    return lines


def _cut_short(items: Sequence[str], shown: int, gap: str, width: int) -> list[str]:
    return wrapped([*items[:shown], f"+{len(items) - shown:,} more"], gap, width)


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Fill ``text`` up with blanks, on its left if it is to stand ``right``."""
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks
