"""What a reader is told beside the figures: assumptions and warnings."""

from __future__ import annotations

from typing import NamedTuple


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
