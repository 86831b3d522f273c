"""One thing that people should know of a plan, before anything decides how wide the page is."""

from __future__ import annotations

from typing import NamedTuple


class Fact(NamedTuple):
    """A labelled text in one or more forms, the fullest first."""

    label: str
    forms: tuple[str, ...]
