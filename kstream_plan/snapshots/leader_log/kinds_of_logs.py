"""Whether a file is plainly a log, and of which kind; and what a log is in which nothing was found."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from io import BytesIO
from typing import Any, BinaryIO

from kstream_plan.errors import SnapshotError
from kstream_plan.model.note import name_list
from kstream_plan.snapshots.files.content import at_hand
from kstream_plan.snapshots.files.kinds import CONNECT_STATUS, STREAMS_TABLE, file_kind
from kstream_plan.snapshots.files.sources import OF_A_WORKER, check_paths
from kstream_plan.snapshots.leader_log.envelope import starts_a_record
from kstream_plan.snapshots.leader_log.lines import StandardInput, text_blocks
from kstream_plan.snapshots.leader_log.log_fields import TEXT_FIELDS, TIME_FIELDS, fields_of
from kstream_plan.snapshots.leader_log.log_stores import rows_in
from kstream_plan.snapshots.leader_log.messages import is_marked
from kstream_plan.snapshots.rows.fields import printable

_LINES = 5


class LogKind(Enum):
    """Whose log one is, as it is called."""

    STREAMS = "a log of Kafka Streams"
    CONNECT = "a log of Kafka Connect's workers"


_SIGNS = {
    LogKind.STREAMS: re.compile(rb"stream-thread \[|stream-client \[|StreamsConfig values:"),
    LogKind.CONNECT: re.compile(
        re.escape(OF_A_WORKER) + rb"|DistributedConfig values:|connect\.runtime\.distributed|Kafka Connect distributed"
    ),
}
#: So much of a log is looked through.
MOST_BLOCKS = 256
#: How standard input that is no log is marked, and so much of it tells what it is.
_MARKS, _HEAD_BYTES = {CONNECT_STATUS: "connect-status", STREAMS_TABLE: "describe-text"}, 1 << 16
_SHOWN_FIELDS = 8
_LOOKED_FOR = ("message", "msg", "log", "line", "textPayload", "body")


def other_log(paths: Sequence[str], expected_kind: LogKind, lacks: str, piped: StandardInput) -> SnapshotError | None:
    """Return the error that a log is of another kind than wanted, or has no messages; ``None``: that is not known.

    Args:
        paths: the logs, files among them.
        expected_kind: whose log was asked for.
        lacks: what was not found.
        piped: standard input, if it was read.
    """
    for file in check_paths(paths).local:
        with suppress(OSError), open(at_hand(file.path), "rb") as stream:
            error = _error_of(stream, file.name, expected_kind, lacks)
            if error is not None:
                return error
    kind = file_kind(piped.beginning[:_HEAD_BYTES])
    if kind in _MARKS:
        return SnapshotError(
            f"is {kind.name}, and {lacks}", where="standard input", fix=_snapshot_command(_MARKS[kind], "-")
        )
    return _error_of(BytesIO(piped.beginning), "standard input", expected_kind, lacks)


def _snapshot_command(mark: str, path: str) -> str:
    return f"make a snapshot of it alone: kstream-plan snapshot {mark}={path}"


def log_kinds(text: bytes) -> set[LogKind]:
    """Return whose log a part of a log is: the kinds whose signs are in it."""
    return {kind for kind, sign in _SIGNS.items() if sign.search(text)}


def _error_of(stream: BinaryIO, name: str, expected_kind: LogKind, lacks: str) -> SnapshotError | None:
    head, kinds, place = b"", set[LogKind](), printable(name)
    with suppress(SnapshotError):  # of standard input only the beginning is there
        for block, _ in zip(text_blocks(stream, name), range(MOST_BLOCKS), strict=False):
            head = head or block
            kinds |= log_kinds(block)
    if kinds and expected_kind not in kinds:
        (kind, *_) = kinds
        mark = "leader-log" if kind is LogKind.STREAMS else "connect-log"
        path = "-" if name == "standard input" else place
        return SnapshotError(f"is {kind.value}, and {lacks}", where=place, fix=_snapshot_command(mark, path))
    names = _names_without_message(head)
    if not names:
        return None
    field_names = name_list([printable(name) for name in names], _SHOWN_FIELDS)
    looked_for = f"{', '.join(_LOOKED_FOR)} and {len(TEXT_FIELDS) - len(_LOOKED_FOR)} more"
    problem = (
        f"its records have no field with a message: they have {field_names}; looked for are {looked_for}, and "
        "Kafka's words in any field"
    )
    return SnapshotError(problem, where=place, fix="export it again with the text that the application logged")


def _names_without_message(head: bytes) -> list[str]:
    """Return the names of the fields of records in JSON that have no message; nothing of any other log."""
    rows = list(_rows(head.decode("utf-8", "replace")))
    names = dict.fromkeys(name for row in rows for name in map(str, row))
    has_text = any(isinstance(fields_of(row).get(name), str) for row in rows for name in TEXT_FIELDS)
    return [] if has_text else list(names)


def _rows(text: str) -> Iterable[Mapping[str, Any]]:
    lines = [line for line in text.splitlines()[:100] if line.lstrip().startswith("{")]
    if len(lines) > 1:
        with suppress(ValueError, RecursionError):
            return [row for line in lines for row in [json.loads(line)] if isinstance(row, Mapping)]
    return rows_in(text)


def is_a_log(head: bytes) -> bool:
    """Tell from the beginning of a file: it has a message of an assignor, or its first lines are records of a log."""
    text = head.decode("utf-8", "replace")
    if is_marked(text) or OF_A_WORKER in head:
        return True
    return any(_is_record(line) for line in text[:4096].splitlines()[:_LINES])


def _is_record(line: str) -> bool:
    if not line.startswith("{"):
        return starts_a_record(line)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    names = {name.lower() for name in row} if isinstance(row, Mapping) else set()
    return not names.isdisjoint(TEXT_FIELDS) and not names.isdisjoint(TIME_FIELDS)
