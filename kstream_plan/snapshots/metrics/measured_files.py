"""Files of what was measured, told apart by content: scrapes, offsets of changelogs, lags of stores, and lag rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.files.sources import PARQUET_MAGIC, STDIN, local_path
from kstream_plan.snapshots.metrics.endpoints import is_endpoint
from kstream_plan.snapshots.metrics.exposition import TextSource, expanded, open_text
from kstream_plan.snapshots.rows.fields import printable

#: What a path may be marked as, such as ``start=FILE`` → the argument of ``read_measurements`` that takes it; lag rows
#: are none of its.
MARKS: Mapping[str, str] = {
    "start": "start_offsets",
    "end": "end_offsets",
    "lags": "store_lags",
    "rows": "lag_rows",
}
_METRICS, _ROWS = "metrics", MARKS["rows"]
#: So much of a file tells what it is.
_BEGIN_BYTES = 1 << 16
#: JSON; Prometheus text with quoted names begins with a brace, too.
_JSON = re.compile(rb'\[|\{\s*(?:\}|"[^"]*"\s*:)')
_LINE_OF_OFFSETS = re.compile(rb"[^:\s{]+:\d+:\d*\s*$", re.MULTILINE)
_KEYS_OF_LAG_ROWS = (b"application_id", b"process_id", b"task_id")
_OF_STORES = re.compile(rb'"(?:offsetLag|endOffsetPosition|currentOffsetPosition)"\s*:')
_LAG_ROW = re.compile(rb"\[?\s*\{" + b"".join(rb'(?=[^{}]*"%s"\s*:)' % key for key in _KEYS_OF_LAG_ROWS))
_STARTS = re.compile(rb'"(?:start|starts|start_offsets)"\s*:\s*[\[{]')
_ENDS = re.compile(rb'"(?:end|ends|end_offsets|offsets|partitions)"\s*:\s*[\[{]')


class MeasuredFile(NamedTuple):
    """A path as it is given: its mark, empty if it has none, and the path without the mark."""

    mark: str
    path: str


def split_mark(text: str) -> MeasuredFile:
    """Return the mark and the path; a file that is there may have a ``=`` in its name."""
    mark, equals, path = text.partition("=")
    return MeasuredFile(mark, path) if equals and mark in MARKS and not os.path.exists(text) else MeasuredFile("", text)


def lag_rows(texts: Iterable[str]) -> list[str]:
    """Return the paths that hold lag rows, for a reader of snapshots; one with a scheme such as ``s3a:`` does.

    A folder is what its first file is. What is not there, or cannot be read, holds none.
    """
    files = map(split_mark, texts)
    return [
        file.path for file in files if MARKS.get(file.mark) == _ROWS or (not file.mark and _holds_lag_rows(file.path))
    ]


def _holds_lag_rows(path: str) -> bool:
    if path == STDIN or is_endpoint(path):
        return False
    try:
        local = local_path(path)
        if local is None:
            return True
        files = (file for file in expanded(local) if not os.path.basename(file).startswith("_"))
        first = next(filter(os.path.getsize, files), None)
        return first is not None and _ROWS in _kinds_in(first)
    except (SnapshotError, OSError):
        return False


def measured_files(texts: Sequence[str]) -> Mapping[str, Any]:
    """Return the arguments of :func:`read_measurements` that take these paths: files, folders, globs, ``-``.

    Standard input without a mark is a scrape.

    Raises:
        SnapshotError: a file is missing or holds lag rows, or there are offsets and no file says where the copies are.
    """
    files: dict[str, list[str]] = {}
    for text in texts:
        for kind, file in _kinds(split_mark(text)):
            if kind == _ROWS:
                fix = "give them to what plans: kstream-plan assign SNAPSHOT --metrics FILE"
                raise SnapshotError("holds lag rows, not what was measured just now", where=printable(file), fix=fix)
            files.setdefault(kind, []).append(file)
    if texts and not files.keys() & {_METRICS, MARKS["lags"]}:
        message = "holds offsets, and nothing tells where the copies are"
        raise SnapshotError(message, where=texts[0], fix="give the metrics of the instances as well: --metrics FILE")
    return files


def _kinds(measured_file: MeasuredFile) -> Iterator[tuple[str, str]]:
    if measured_file.mark or measured_file.path == STDIN:
        yield MARKS.get(measured_file.mark, _METRICS), measured_file.path
        return
    for file in expanded(measured_file.path):
        yield from ((kind, file) for kind in _kinds_in(file))


def _kinds_in(file: str) -> Sequence[str]:
    """Return what a file holds, by how it begins."""
    with open_text(TextSource(file, None, None)) as stream:
        begin = stream.read(_BEGIN_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    if begin.startswith(PARQUET_MAGIC) or _LAG_ROW.match(begin):
        return (_ROWS,)
    if not _JSON.match(begin):
        return (MARKS["end"] if _LINE_OF_OFFSETS.match(begin) else _METRICS,)
    if _OF_STORES.search(begin):
        return (MARKS["lags"],)
    starts = [MARKS["start"]] * bool(_STARTS.search(begin))
    return [MARKS["end"], *starts] if _ENDS.search(begin) or not starts else starts
