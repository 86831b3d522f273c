"""The logs that paths lead to, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, TypeVar, cast

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.files.content import at_hand, pending_work
from kstream_plan.snapshots.files.sources import check_paths
from kstream_plan.snapshots.rows.fields import printable

T = TypeVar("T")
_KEPT_BYTES = 1 << 20


class StandardInput:
    """What ``-`` stands for, by default the process's standard input; its beginning is kept."""

    def __init__(self, stream: BinaryIO | None) -> None:
        self._stream = stream or sys.stdin.buffer
        self.beginning = b""

    def fileno(self) -> int:
        """Return the number of the file."""
        return self._stream.fileno()

    def read(self, size: int = -1) -> bytes:
        """Return up to ``size`` bytes, by default all that are left."""
        block = self._stream.read(size)
        if len(self.beginning) < _KEPT_BYTES:
            self.beginning += block[:_KEPT_BYTES]
        return block


def each_log(paths: Sequence[str], stdin: StandardInput, read: Callable[[BinaryIO, str], Iterator[T]]) -> Iterator[T]:
    """Yield what ``read`` finds in each log; it is given the log and how people know it.

    Args:
        paths: files, folders and globs; ``-`` is standard input.
        stdin: what ``-`` stands for.
        read: reads one log.

    Raises:
        SnapshotError: a log cannot be read.
    """
    sources = check_paths(paths)
    if sources.remote:
        raise SnapshotError("is not on this machine", where=printable(sources.remote[0]), fix="copy the log here")
    for file in sources.local:
        try:
            with open(at_hand(file.path), "rb") as stream:
                yield from read(stream, file.name)
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
            raise SnapshotError(problem, where=printable(file.name), fix="check the file") from None
    if sources.stdin:
        try:
            yield from read(pending_work(cast(BinaryIO, stdin)), "standard input")
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
            raise SnapshotError(problem, where="standard input", fix="check what is piped into it") from None
