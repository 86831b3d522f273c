"""The rows of a history on this machine, read without Spark."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.files.sources import (
    STDIN,
    Form,
    LocalFile,
    broken_gzip,
    check_paths,
    form_of,
    unzipped_head,
)
from kstream_plan.snapshots.leader_log.recognition import is_a_log
from kstream_plan.snapshots.rows.fields import Row, printable
from kstream_plan.snapshots.rows.json_text import parse_row


def history_rows(path: str, stdin: BinaryIO) -> Iterator[tuple[Row, str]]:
    """Yield every row of a history and where it is from, in the order of the files.

    Args:
        path: a file, folder or glob of JSON or JSON Lines on this machine, plain or gzip; ``-`` is ``stdin``.
        stdin: what ``-`` stands for.

    Raises:
        SnapshotError: a file cannot be read, or is no history.
    """
    if path == STDIN:
        yield from _rows_of(stdin.read(), "standard input")
        return
    checked = check_paths([path])
    if checked.remote:
        raise SnapshotError("is not on this machine", where=printable(path), fix="copy the history here")
    for file in checked.local:
        yield from _rows_of(_content(file), file.name)


def _content(file: LocalFile) -> bytes:
    try:
        with open(file.path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise SnapshotError(
            f"cannot be read: {error.strerror}", where=printable(file.name), fix="check the file"
        ) from None


def _rows_of(content: bytes, name: str) -> Iterator[tuple[Row, str]]:
    head = unzipped_head(content, name)
    if is_a_log(head.content):
        fix = "make a history of it: kstream-plan snapshot --leader-log LOG --all --out history.jsonl"
        raise SnapshotError("is a log, not a history", where=printable(name), fix=fix)
    form = form_of(head, name, is_a_log)
    if form is Form.PARQUET:
        fix = "give the JSON that kstream-plan snapshot --all writes"
        raise SnapshotError("a history is read as JSON, this is Parquet", where=printable(name), fix=fix)
    if head.zipped:
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise broken_gzip(name, str(error)) from None
    if form is Form.LINES:
        for number, line in enumerate(content.splitlines(), start=1):
            if line.strip():
                where = f"{name}, line {number}"
                yield parse_row(line.removeprefix(b"\xef\xbb\xbf"), where), where
        return
    rows = _document(content, name)
    for number, row in enumerate(rows, start=1):
        where = f"{name}, row {number}"
        if not isinstance(row, Mapping):
            raise SnapshotError("holds something that is no snapshot row", where=where, fix="give objects")
        yield row, where


def _document(content: bytes, name: str) -> list[Any]:
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"is not JSON: {error}", where=printable(name), fix="give JSON or JSON Lines") from None
    return document if isinstance(document, list) else [document]
