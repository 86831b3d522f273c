"""How far long work is, on stderr: a bar in a terminal, else a line after a while and then ever more rarely."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from kstream_plan.cli.output import talk
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.numbers import duration

#: Work that is over sooner says nothing where there is no terminal; after each line it is quiet for twice as long.
_A_WHILE_S = 10.0


class Report(Protocol):
    """Shows what is being done, and how much of it is."""

    def __call__(self, what: str, done: int = 0, total: int | None = None) -> None:
        """Show ``what``; ``total`` is ``None`` if it is not known."""
        ...


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Report]:
    """Give a function that shows how far the work is; ``quiet``: it does not."""
    if quiet:
        yield _silence
        return
    if not sys.stderr.isatty():
        yield Lines(time.monotonic)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(24),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def report(what: str, done: int = 0, total: int | None = None) -> None:
            bar.update(task, description=printable(what), completed=done, total=total)

        yield report


class Lines:
    """Tells in lines how far work is that lasts; ``now`` is a clock in seconds.

    It counts from where the amount of work is known; reading before that is not told of.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._began: float | None = None
        self._next = _A_WHILE_S

    def __call__(self, what: str, done: int = 0, total: int | None = None) -> None:
        """Say so, if it is time; ``done`` of ``total`` tell how long it may still take."""
        if total is None:
            return
        now = self._now()
        if self._began is None:
            self._began = now
        passed = now - self._began
        if passed < self._next:
            return
        self._next = 2 * passed
        left = f", about {duration(int(1000 * passed * (total - done) / done))} to go" if 0 < done < total else ""
        talk(f"{what}{left}")


def _silence(what: str, done: int = 0, total: int | None = None) -> None:
    pass
