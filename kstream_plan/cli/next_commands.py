"""The commands below an answer, with the snapshot's path as it was given."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from kstream_plan.render.page import Page
from kstream_plan.render.text.escape import printable
from kstream_plan.snapshots.files.sources import STDIN

#: What stands for the snapshot's path in a command.
_PLACEHOLDER = "SNAPSHOT"
#: Commands that take one path only.
_ONE_PATH = ("kstream-plan why ", "kstream-plan drain ")


class Input(NamedTuple):
    """Where the snapshot of an answer was read.

    paths: as they were given; empty, or with standard input among them: no command finds it again.
    application_id: the application, where others are there too; ``None``: it is the only one.
    """

    paths: tuple[str, ...] = ()
    application_id: str | None = None


#: Where the snapshot was read is unknown.
NOT_READ = Input()


def input_of(paths: Sequence[str], application_id: str, *, is_plural: bool) -> Input:
    """Return where an application was read; ``is_plural``: there may be others."""
    return Input(tuple(paths), application_id if is_plural else None)


def with_paths(page: Page, source: Input) -> Page:
    """Return a page whose commands can be copied, where it is known what was read."""
    lines = tuple(
        line._replace(text=_command(line.text, source)) if line.kind == "next" else line for line in page.lines
    )
    return replace(page, lines=lines)


def _command(text: str, source: Input) -> str:
    if not source.paths or STDIN in source.paths or (len(source.paths) > 1 and text.startswith(_ONE_PATH)):
        return text
    paths = [f"./{path}" if path.startswith("-") else path for path in source.paths]
    option = [] if source.application_id is None else ["--application-id", glob.escape(source.application_id)]
    words = shlex.join([*paths, *option])
    return text.replace(_PLACEHOLDER, words, 1) if printable(words) == words else text
