"""The error of a file that cannot be read at all: it cannot be opened, or its gzip is torn."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.files.content import GZIP_MAGIC
from kstream_plan.snapshots.rows.fields import printable

#: How many bytes of a file are read to recognize its kind.
HEAD_BYTES = 1 << 20


class BrokenFileError(SnapshotError):
    """A file that cannot be read at all; ``name`` is its name as people know it."""

    def __init__(self, name: str, problem: str, fix: str) -> None:
        super().__init__(problem, where=printable(name), fix=fix)
        self.name = name


class Head(NamedTuple):
    """The beginning of a file, unzipped, and whether it was zipped."""

    content: bytes
    zipped: bool


def unreadable(name: str, error: OSError, fix: str = "check the file") -> BrokenFileError:
    """Return the error for a file, or a folder, that the system does not let us read."""
    return BrokenFileError(name, f"cannot be read: {error.strerror or error}", fix)


def unzipped_head(head: bytes, name: str) -> Head:
    """Unzip the beginning of a file if it is zipped.

    Raises:
        BrokenFileError: it begins like gzip, but is not.
    """
    if not head.startswith(GZIP_MAGIC):
        return Head(head, zipped=False)
    unzipper = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        content = unzipper.decompress(head, HEAD_BYTES)
    except zlib.error as error:
        raise broken_gzip(name, str(error)) from None
    if len(head) < HEAD_BYTES and not (unzipper.eof or unzipper.unconsumed_tail):
        raise broken_gzip(name, "it ends too early")
    return Head(content, zipped=True)


def broken_gzip(name: str, reason: str) -> BrokenFileError:
    """Return the error for a gzip file that ends too early or holds something else."""
    problem = f"is a damaged gzip file ({printable(reason)})"
    return BrokenFileError(name, problem, "copy it again, it was probably cut short")
