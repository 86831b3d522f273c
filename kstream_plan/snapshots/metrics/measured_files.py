"""Files of what was measured, told apart by content: scrapes, offsets of changelogs, and lags of stores."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.files.sources import STDIN
from kstream_plan.snapshots.metrics.exposition import TextSource, expanded, opened

#: What a path may be marked as, such as ``start=FILE`` → the argument of ``read_measurements`` that takes it.
MARKS: Mapping[str, str] = {"start": "start_offsets", "end": "end_offsets", "lags": "store_lags"}
_METRICS = "metrics"
#: So much of a file tells what it is.
_BEGIN_BYTES = 1 << 16
#: JSON; Prometheus text with quoted names begins with a brace, too.
_JSON = re.compile(rb'\[|\{\s*(?:\}|"[^"]*"\s*:)')
_LINE_OF_OFFSETS = re.compile(rb"[^:\s{]+:\d+:\d*\s*$", re.MULTILINE)
_OF_STORES = re.compile(rb'"(?:offsetLag|endOffsetPosition|currentOffsetPosition)"\s*:')
_STARTS = re.compile(rb'"(?:start|starts|start_offsets)"\s*:\s*[\[{]')
_ENDS = re.compile(rb'"(?:end|ends|end_offsets|offsets|partitions)"\s*:\s*[\[{]')


class MeasuredFile(NamedTuple):
    """A path as it is given: what it is marked as, empty if it is not, and the path without the mark."""

    mark: str
    path: str


def split_mark(text: str) -> MeasuredFile:
    """Return the mark and the path; a file that is there may have a ``=`` in its name."""
    mark, equals, path = text.partition("=")
    return MeasuredFile(mark, path) if equals and mark in MARKS and not os.path.exists(text) else MeasuredFile("", text)


def measured_files(texts: Sequence[str]) -> Mapping[str, Any]:
    """Return the arguments of :func:`read_measurements` that take these paths: files, folders, globs, ``-``.

    Standard input without a mark is a scrape.

    Raises:
        SnapshotError: there is no such file, or there are offsets, and nothing of which they would tell the lag.
    """
    files: dict[str, list[str]] = {}
    for text in texts:
        for kind, file in _kinds(split_mark(text)):
            files.setdefault(kind, []).append(file)
    if texts and not files.keys() & {_METRICS, MARKS["lags"]}:
        message = "holds offsets, and nothing tells where the copies are"
        raise SnapshotError(message, where=texts[0], fix="give the metrics of the instances as well: --metrics FILE")
    return files


def _kinds(item: MeasuredFile) -> Iterator[tuple[str, str]]:
    if item.mark or item.path == STDIN:
        yield MARKS.get(item.mark, _METRICS), item.path
        return
    for file in expanded(item.path):
        yield from ((kind, file) for kind in _kinds_in(file))


def _kinds_in(file: str) -> Sequence[str]:
    """Return what a file holds, by how it begins."""
    with opened(TextSource(file, None, None)) as stream:
        begin = stream.read(_BEGIN_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not _JSON.match(begin):
        return (MARKS["end"] if _LINE_OF_OFFSETS.match(begin) else _METRICS,)
    if _OF_STORES.search(begin):
        return (MARKS["lags"],)
    starts = [MARKS["start"]] * bool(_STARTS.search(begin))
    return [MARKS["end"], *starts] if _ENDS.search(begin) or not starts else starts
