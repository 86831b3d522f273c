"""What a reader is told beside the figures: assumptions and warnings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

#: Returns a command completed: ``SNAPSHOT`` in it becomes the snapshot's path, and options follow.
Command: TypeAlias = Callable[[str], str]


class Note(NamedTuple):
    """An assumption or a warning: a stable code, one sentence, and the tasks or instances it is about, if any."""

    code: str
    message: str
    subjects: tuple[str, ...] = ()


class Remarks(NamedTuple):
    """The lines below the figures of an answer.

    warnings: what may hurt.
    notes: what is good to know.
    assumptions: what the answer takes for granted.
    next: commands that answer what one asks next, with ``SNAPSHOT`` for the snapshot's path.
    """

    warnings: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    assumptions: tuple[Note, ...] = ()
    next: tuple[Note, ...] = ()

    def completed(self, command: Command) -> Remarks:
        """Return the same with commands that are completed."""
        return self._replace(next=tuple(note._replace(message=command(note.message)) for note in self.next))


def name_list(names: Sequence[str], maximum: int = 3) -> str:
    """Return ``i4``, ``i4, i5`` or, of more than ``maximum`` + 1, ``i4, i5, i6 and 7 more``."""
    if len(names) <= maximum + 1:
        return ", ".join(names)
    return f"{', '.join(names[:maximum])} and {len(names) - maximum:,} more"


def span_to(least: int, most: int, *, is_open: bool = False) -> str:
    """Return ``4`` or ``4 to 5``; if there may be more, ``at least 4``, ``4 to 5 or more`` or ``0 or more``."""
    if least == most and most:
        return f"{'at least ' * is_open}{most:,}"
    return f"{least:,}{f' to {most:,}' * (least < most)}{' or more' * is_open}"


def count_range(likely: int, least: int, most: int, *, is_open: bool = False) -> str:
    """Return a count with the ends of what it may be: ``20 (18 to 21)``, or ``20 (18 to 21 or more)``."""
    ends = span_to(least, most, is_open=is_open)
    return ends if least == most else f"{likely:,} ({ends})"


def count(number: int, singular: str = "", plural: str = "") -> str:
    """Return ``58,000``, or with a noun ``1 task``, ``6 tasks`` (``plural`` defaults to ``singular`` + s)."""
    if not singular:
        return f"{number:,}"
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
