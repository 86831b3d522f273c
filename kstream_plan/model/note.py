"""What a reader is told beside the figures: assumptions and warnings."""

from __future__ import annotations

from typing import NamedTuple


class Note(NamedTuple):
    """An assumption or a warning: a stable code, one sentence, and the tasks or instances it is about, if any."""

    code: str
    message: str
    subjects: tuple[str, ...] = ()
