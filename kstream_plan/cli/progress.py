"""How far long work is, on stderr: a bar in a terminal, else a line after a while and then ever more rarely."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from kstream_plan.cli.output import takes_color, write_stderr
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.numbers import duration

if TYPE_CHECKING:
    from rich.progress import Progress

#: Work that is over sooner says nothing where there is no terminal; after each line it is quiet for twice as long.
_A_WHILE_S = 10.0


class Report(Protocol):
    """Shows what is being done, and how much of it is."""

    def __call__(self, message: str, number: int = 0, total: int | None = None) -> None:
        """Show ``message``; ``total`` is ``None`` if it is not known."""
        ...

    def announce(self, text: str) -> None:
        """Say what is known of the work before it is done."""
        ...


@contextmanager
def show_progress(*, quiet: bool = False) -> Iterator[Report]:
    """Give a function that shows how far the work is; ``quiet``: it does not."""
    if quiet:
        yield SILENCE
        return
    if not sys.stderr.isatty():
        yield Lines(time.monotonic)
        return
    from rich import progress  # noqa: PLC0415 - only in a terminal
    from rich.console import Console  # noqa: PLC0415

    columns = (
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(24),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(
        *columns, console=Console(stderr=True, no_color=not takes_color(sys.stderr)), transient=True
    ) as bar:
        yield _Bar(bar)


class _Bar:
    """Shows in a terminal how far work is."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None)

    def __call__(self, message: str, number: int = 0, total: int | None = None) -> None:
        self._bar.update(self._task, description=printable(message), completed=number, total=total)

    def announce(self, text: str) -> None:
        write_stderr(text)


class Lines:
    """Tells in lines how far work is that lasts; ``now`` is a clock in seconds.

    It counts from where the amount of work is known; reading before that is not told of.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._began: float | None = None
        self._next = _A_WHILE_S

    def __call__(self, message: str, number: int = 0, total: int | None = None) -> None:
        """Say so, if it is time; ``number`` of ``total`` tell how long it may still take."""
        if total is None:
            return
        now = self._now()
        if self._began is None:
            self._began = now
        seconds = now - self._began
        if seconds < self._next:
            return
        self._next = 2 * seconds
        remaining_time = (
            f", about {duration(int(1000 * seconds * (total - number) / number))} to go" if 0 < number < total else ""
        )
        write_stderr(f"{message}{remaining_time}")

    def announce(self, text: str) -> None:
        """Say it at once."""
        write_stderr(text)


class _Silence:
    def __call__(self, message: str, number: int = 0, total: int | None = None) -> None:
        pass

    def announce(self, text: str) -> None:
        pass


#: Tells nobody.
SILENCE: Report = _Silence()
