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


def count(number: int, singular: str = "", plural: str = "") -> str:
    """Return ``58,000``, or with a noun ``1 task``, ``6 tasks`` (``plural`` defaults to ``singular`` + s)."""
    if not singular:
        return f"{number:,}"
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
