"""Snapshot rows as the text of a file: canonical JSON, so that the same rows are the same bytes."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Sequence

from kstream_plan.errors import UsageError
from kstream_plan.snapshots.rows.fields import Row, shown

#: Endings of files that can be written.
ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


def row_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield each row as one line of JSON Lines: keys sorted, everything but ASCII escaped."""
    for row in rows:
        yield json.dumps(row, sort_keys=True, separators=(", ", ": "), allow_nan=False) + "\n"


def check_ending(name: str, option: str = "--out") -> None:
    """Check that a file of this name, given by ``option``, can be written.

    Raises:
        UsageError: it ends in none of :data:`ENDINGS`.
    """
    if not name.endswith(ENDINGS):
        fix = f"end it in one of {', '.join(ENDINGS)}"
        raise UsageError(f"{shown(name)} does not say what to write", where=option, fix=fix)


def file_bytes(rows: Sequence[Row], name: str) -> bytes:
    """Return the content of a file by its name.

    ``.json`` is one document (an array, for several rows), ``.jsonl`` one row per line; with ``.gz`` it is zipped,
    without name and time in it.
    """
    lines = list(row_lines(rows))
    is_lines = name.removesuffix(".gz").endswith(".jsonl") or len(lines) == 1
    text = "".join(lines) if is_lines else "[\n" + ",\n".join(line.rstrip("\n") for line in lines) + "\n]\n"
    return _zipped(text.encode()) if name.endswith(".gz") else text.encode()


def _zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:
        file.write(content)
    return buffer.getvalue()
