"""A worker's log → the messages in it, each with its time and place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.connect_log.messages import (
    MARKERS,
    CutMessageError,
    MaxDelay,
    Message,
    RunsOn,
    is_marked,
    message_in,
    worker_of,
)
from kstream_plan.snapshots.leader_log.envelope import CutLineError, header_time, opened, unwrap
from kstream_plan.snapshots.leader_log.lines import LogLines
from kstream_plan.snapshots.leader_log.message_values import LogPlace
from kstream_plan.snapshots.leader_log.split_lines import PART_SIGN, SplitLines, WholeLine
from kstream_plan.snapshots.rows.fields import printable

#: Milliseconds since the process began, as ``slf4j-simple`` and ``%r`` have them at the beginning of a line.
_SINCE_START = re.compile(r"\s{0,9}(\d{1,15}) ")
#: What stands before a message, its time among it, is seldom longer.
_HEADER_CHARACTERS = 60


class Stamp(NamedTuple):
    """When a line was logged: ``ms`` since 1970 if it is ``dated``, else since its process began."""

    ms: int
    dated: bool
    zoned: bool = True


class Voice(NamedTuple):
    """Who says something: a worker's client in one stream of a log."""

    file: str
    stream: str
    client_id: str
    group_id: str


class Record(NamedTuple):
    """A message, when and where it was logged, by whom, and on which host as far as a shipper says so.

    What a process says of itself has no voice: ``file`` and ``stream`` tell which it is.
    """

    message: Message
    at: Stamp | None
    place: LogPlace
    file: str
    stream: str
    voice: Voice | None
    host: str | None


class LogEnd(NamedTuple):
    """When the last line of a log was written."""

    file: str
    at: Stamp


def read_records(stream: BinaryIO, name: str) -> Iterator[Record | LogEnd]:
    """Yield the messages of one log in order, and when it ends.

    Args:
        stream: the log, plain or gzip.
        name: how people know it.

    Raises:
        SnapshotError: it cannot be read, or a message in it is cut.
    """
    lines, split = LogLines(stream, name, MARKERS, PART_SIGN), SplitLines(is_marked)
    shown = printable(name)
    while line := lines.next_line() if split else lines.next_marked():
        try:
            whole_lines = list(split.add(line, lines.before()))
        except CutLineError as error:
            raise _cut(LogPlace(shown, line.number), str(error)) from None
        for whole in whole_lines:
            yield from _read(whole, shown)
    for whole in split.rest():
        yield from _read(whole, shown)
    ended = [at for line in lines.newest if (at := _stamp_of_line(line)) is not None]
    if ended:
        yield LogEnd(shown, max(at for at in ended if at.dated) if any(at.dated for at in ended) else ended[-1])


def _read(line: WholeLine, name: str) -> Iterator[Record]:
    if not is_marked(line.envelope.text):
        return
    place = LogPlace(name, line.number)
    try:
        envelope = opened(line.envelope, is_marked)
        found = message_in(envelope.text)
    except (CutLineError, CutMessageError) as error:
        raise _cut(place, str(error)) from None
    if found is None:
        return
    header, message = found
    worker = worker_of(header)
    if worker is None and not isinstance(message, RunsOn | MaxDelay):
        return  # of a connector's own consumer, say
    voice = None if worker is None else Voice(name, envelope.stream, *worker)
    at = header_time(header) or envelope.at
    stamp = _since_start(header) if at is None else Stamp(at.us // 1000, dated=True, zoned=at.zoned)
    yield Record(message, stamp, place, name, envelope.stream, voice, envelope.host)


def _since_start(header: str) -> Stamp | None:
    match = _SINCE_START.match(header)
    return None if match is None else Stamp(int(match[1]), dated=False)


def _stamp_of_line(line: bytes) -> Stamp | None:
    try:
        envelope = opened(unwrap(line), is_marked)
    except CutLineError:
        return None
    header = envelope.text[:_HEADER_CHARACTERS]
    at = header_time(header) or envelope.at
    return _since_start(header) if at is None else Stamp(at.us // 1000, dated=True, zoned=at.zoned)


def _cut(place: LogPlace, why: str) -> SnapshotError:
    fix = "give the log as it was written, or only up to the line before"
    return SnapshotError(f"a message of a worker cannot be read: {printable(why)}", where=str(place), fix=fix)
