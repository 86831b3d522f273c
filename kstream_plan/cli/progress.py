"""A progress bar on stderr for long work; nothing when stderr is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from kstream_plan.render.text.escape import printable


class Report(Protocol):
    """Shows what is being done, and how much of it is."""

    def __call__(self, what: str, done: int = 0, total: int | None = None) -> None:
        """Show ``what``; ``total`` is ``None`` if it is not known."""
        ...


@contextmanager
def progress() -> Iterator[Report]:
    """Give a function that shows how far the work is."""
    if not sys.stderr.isatty():
        yield _silence
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(24), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def report(what: str, done: int = 0, total: int | None = None) -> None:
            bar.update(task, description=printable(what), completed=done, total=total)

        yield report


def _silence(what: str, done: int = 0, total: int | None = None) -> None:
    pass
