"""Whether a stream takes colour: ``--color``, then ``NO_COLOR``, ``FORCE_COLOR`` and what the terminal can do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO

#: What ``--color`` takes.
MODES = AUTO, ALWAYS, NEVER = ("auto", "always", "never")

_mode = AUTO


def set_color_mode(mode: str) -> None:
    """Set what ``--color`` says, for this command line."""
    global _mode  # noqa: PLW0603 - one command line a process, as for the standard streams themselves
    _mode = mode


def color_mode() -> str:
    """Return what ``--color`` says."""
    return _mode


def takes_color(stream: IO[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if text for this stream may have colour.

    An explicit mode wins. Else ``NO_COLOR`` turns colour off and ``FORCE_COLOR`` turns it on, each unless it is empty;
    without them a terminal has colour unless it is a dumb one.
    """
    if _mode != AUTO:
        return _mode == ALWAYS
    if environment.get("NO_COLOR"):
        return False
    return bool(environment.get("FORCE_COLOR")) or (stream.isatty() and environment.get("TERM") != "dumb")
