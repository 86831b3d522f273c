"""Files that a snapshot is made of, told apart by content: logs, a status of Connect, tables of Kafka's tool."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from glob import has_magic
from itertools import islice
from typing import BinaryIO, NamedTuple

from kstream_plan.errors import KstreamPlanError, SnapshotError, UsageError
from kstream_plan.snapshots.files.content import at_hand
from kstream_plan.snapshots.files.kinds import CONNECT_STATUS, RESOURCE, STREAMS_TABLE, file_kind
from kstream_plan.snapshots.files.sources import STDIN, local_path
from kstream_plan.snapshots.leader_log.kinds_of_logs import MOST_BLOCKS, LogKind, log_kinds
from kstream_plan.snapshots.leader_log.lines import text_blocks
from kstream_plan.snapshots.metrics.exposition import expanded
from kstream_plan.snapshots.rows.fields import printable

#: So much of a file tells what it is if it is no log.
_HEAD_BYTES = 1 << 16


class GroupFile(StrEnum):
    """What a file holds, by the word that marks it: ``connect-log=FILE``."""

    LEADER_LOG = "leader-log"
    CONNECT_LOG = "connect-log"
    CONNECT_STATUS = "connect-status"
    DESCRIBE_TEXT = "describe-text"

    @property
    def text(self) -> str:
        """What it is called, with its article."""
        return _TEXTS[self]


_TEXTS: Mapping[GroupFile, str] = {
    GroupFile.LEADER_LOG: LogKind.STREAMS.value,
    GroupFile.CONNECT_LOG: LogKind.CONNECT.value,
    GroupFile.CONNECT_STATUS: CONNECT_STATUS.name,
    GroupFile.DESCRIBE_TEXT: STREAMS_TABLE.name,
}
_OF_LOGS = {LogKind.STREAMS: GroupFile.LEADER_LOG, LogKind.CONNECT: GroupFile.CONNECT_LOG}
_OF_FILES = {CONNECT_STATUS: GroupFile.CONNECT_STATUS, STREAMS_TABLE: GroupFile.DESCRIBE_TEXT}
#: What `curl -i` prints before a status.
_HTTP_HEADERS = re.compile(rb"\A(?:HTTP/[\d.]+ [^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n)+")
#: So many files of a folder are looked into.
_MOST_FILES = 20
#: A resource of Kubernetes that has the status of a connector.
_KAFKA_CONNECTOR = re.compile(rb"\bkind\"?: *\"?KafkaConnector\b")


class GroupFiles(NamedTuple):
    """Files of one kind, and their paths as they are read: files, folders and globs; ``-`` is standard input."""

    kind: GroupFile
    paths: Sequence[str]

    def check_there(self) -> None:
        """Check that paths on this machine lead somewhere.

        Raises:
            SnapshotError: one does not.
        """
        missing_path = next(filter(_is_missing, self.paths), None)
        if missing_path is not None:
            raise SnapshotError("does not exist", where=printable(missing_path) or "''", fix="check the path")


def group_files(texts: Sequence[str]) -> GroupFiles:
    """Return what files hold, all of them the same; a mark, such as ``connect-log=FILE``, says it of one.

    Files that tell nothing, and standard input, are what a mark says, or else logs of Kafka Streams.

    Raises:
        UsageError: they are of several kinds, or a mark is none.
    """
    marked = [_split_mark(text) for text in texts]
    paths = [path for _, path in marked]
    places = {kind: f"{kind}={path}" for kind, path in marked if kind is not None}
    for kind, path in marked:
        for kind_in_file in _kinds_in(path) if kind is None else ():
            places.setdefault(kind_in_file, path)
    if len(places) > 1:
        (kind, place), (other_kind, other_place), *_ = places.items()
        problem = f"{_name(place)} is {kind.text}, {_name(other_place)} is {other_kind.text}"
        if place == other_place:
            problem = f"{_name(place)} holds {kind.text}, and {other_kind.text}"
        raise UsageError(f"{problem}: they are two sources", fix=f"give one of them, or say what counts: {kind}=FILE")
    return GroupFiles(next(iter(places), GroupFile.LEADER_LOG), paths)


def _name(path: str) -> str:
    return "standard input" if path == STDIN else printable(path)


def _split_mark(text: str) -> tuple[GroupFile | None, str]:
    """Return how a path is marked, and the path; one that is there may have a ``=`` in its name."""
    mark, equals, path = text.partition("=")
    if not equals or os.path.exists(text):
        return None, text
    if mark not in _TEXTS:
        if path and os.path.exists(path):
            raise UsageError(f"{printable(mark)} is no kind of file", fix=f"write one of {', '.join(_TEXTS)}={path}")
        return None, text
    if not path:
        raise UsageError(f"{text} names no file", fix=f"write {text}FILE")
    return GroupFile(mark), path


def _is_missing(path: str) -> bool:
    local = local_path(path)
    return path != STDIN and local is not None and not has_magic(local) and not os.path.exists(local)


def _kinds_in(path: str) -> Iterator[GroupFile]:
    """Yield what a path leads to; a folder, or a glob, is what its first file is that tells.

    What is not there, or cannot be read, is an error where it is read.
    """
    if path == STDIN:
        return
    with suppress(KstreamPlanError, OSError):
        for file in islice(filter(os.path.getsize, expanded(local_path(path) or path)), _MOST_FILES):
            with open(at_hand(file), "rb") as stream:
                kinds = [*_kinds_of(stream, path)]
            if kinds:
                yield from kinds
                return


def _kinds_of(stream: BinaryIO, name: str) -> Iterator[GroupFile]:
    """Yield what a file is by its beginning, or by the first part of a log that tells whose it is."""
    for number, block in enumerate(islice(text_blocks(stream, name), MOST_BLOCKS)):
        kind = None if number else _of_a_head(block[:_HEAD_BYTES])
        kinds = {_OF_LOGS[log] for log in log_kinds(block)} if kind is None else {kind}
        if kinds:
            yield from sorted(kinds)
            return


def _of_a_head(head: bytes) -> GroupFile | None:
    kind = file_kind(_HTTP_HEADERS.sub(b"", head))
    if kind is RESOURCE and _KAFKA_CONNECTOR.search(head):
        return GroupFile.CONNECT_STATUS
    return None if kind is None else _OF_FILES.get(kind)
