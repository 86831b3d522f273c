"""A log's lines → the messages in it, each with its time and place; lines that were split are joined again.

Parts of which the shipper says that it split a line are joined by :mod:`.split_lines`. A line that was split without a
word about it is joined with the one before it only where that is certain: the message before it is unfinished, the line
begins no record of its own, it is of the same source, and what comes out is to the last count what Kafka Streams
prints. So is a line that has the words of a message but begins no record, if the one before it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.leader_log.envelope import (
    CutLineError,
    Envelope,
    Moment,
    header_time,
    opened,
    starts_a_record,
    unwrap,
)
from kstream_plan.snapshots.leader_log.grammar import GrammarError
from kstream_plan.snapshots.leader_log.lines import LogLine, LogLines
from kstream_plan.snapshots.leader_log.message_values import Ended, Heard, LogPlace, Message
from kstream_plan.snapshots.leader_log.messages import MARKERS, Draft, begun, is_marked, thread_of
from kstream_plan.snapshots.leader_log.split_lines import MAX_GAP, PART_SIGN, SplitLines, WholeLine
from kstream_plan.snapshots.rows.fields import printable

#: What stands before a message, its time among it, is seldom longer.
_HEADER_CHARACTERS = 60

_FIX = "give the log as it was written, or only up to the line before"


class Record(NamedTuple):
    """A message, when and where it was logged, by which stream thread and on which host as far as the log says."""

    message: Message
    at: Moment | None
    place: LogPlace
    thread: str | None
    host: str | None


def read_records(stream: BinaryIO, name: str) -> Iterator[Record]:
    """Yield the messages of one log, in the order in which they end.

    Args:
        stream: the log, plain or gzip.
        name: how people know it.

    Raises:
        SnapshotError: it cannot be read, or a message in it is cut.
    """
    reader = _Reader(LogLines(stream, name, MARKERS, PART_SIGN), printable(name))
    yield from reader.records()


@dataclass(slots=True)
class _Open:
    """A message that is not whole yet."""

    draft: Draft
    envelope: Envelope
    place: LogPlace
    gap: int = 0

    def takes(self, envelope: Envelope) -> bool:
        same_source = envelope.stream == self.envelope.stream
        if not same_source and envelope.stream:
            return False
        joinable = same_source and not starts_a_record(envelope.text)
        lines = envelope.text.split("\n")
        return sum([self.draft.offer(line, joinable=joinable) for line in lines if not self.draft.whole]) > 0


class _Reader:
    def __init__(self, lines: LogLines, name: str) -> None:
        self._lines = lines
        self._name = name
        self._open: list[_Open] = []
        self._split = SplitLines(is_marked)
        self._voices: set[tuple[str | None, str | None]] = set()

    def records(self) -> Iterator[Record]:
        while line := self._next():
            try:
                whole_lines = list(self._split.add(line, self._lines.before()))
            except CutLineError as error:
                raise self._cut(LogPlace(self._name, line.number), str(error)) from None
            for whole in whole_lines:
                yield from self._read(whole)
        for whole in self._split.rest():
            yield from self._read(whole)
        for waiting in self._open:
            raise self._cut(waiting.place, "its end is missing")
        ended = max((at for line in self._lines.newest if (at := _logged_at(line)) is not None), default=None)
        if ended is not None:
            yield Record(Ended(), ended, LogPlace(self._name, 0), None, None)

    def _next(self) -> LogLine | None:
        return self._lines.next_line() if self._open or self._split else self._lines.next_marked()

    def _read(self, line: WholeLine) -> Iterator[Record]:
        if not self._open and not is_marked(line.envelope.text):
            return  # it is here only as it was split, or stands between the parts of one that was
        found = self._message(line)
        if found is None:
            return
        envelope, number = found
        draft = begun(envelope.text)
        if draft is None:
            yield from self._continued(envelope)
            return
        started = _Open(draft, envelope, LogPlace(self._name, number))
        if not draft.whole:
            self._open.append(started)
            return
        record = self._record(started)
        if not self._heard_before(record):
            yield record

    def _message(self, line: WholeLine) -> tuple[Envelope, int] | None:
        """Return what a line says, and where it begins; ``None`` for damaged JSON of others."""
        try:
            envelope = opened(line.envelope, is_marked)
        except CutLineError as error:
            if is_marked(line.envelope.text):
                raise self._cut(LogPlace(self._name, line.number), str(error)) from None
            return None
        before = self._beginning(envelope, line.before)
        if before is None:
            return envelope, line.number
        return before._replace(text=before.text + envelope.text), line.number - 1

    def _beginning(self, envelope: Envelope, before: bytes | Envelope) -> Envelope | None:
        """Return the line before a line that matters but begins no record, if that one does.

        A message out of JSON has no beginning elsewhere.
        """
        if not before or envelope.was_json or starts_a_record(envelope.text) or not is_marked(envelope.text):
            return None
        try:
            first = opened(unwrap(before) if isinstance(before, bytes) else before, is_marked)
        except CutLineError:
            return None
        is_its = first.stream == envelope.stream and starts_a_record(first.text) and not is_marked(first.text)
        return first if is_its else None

    def _continued(self, envelope: Envelope) -> Iterator[Record]:
        for waiting in self._open:
            if waiting.takes(envelope):
                if waiting.draft.whole:
                    self._open.remove(waiting)
                    yield self._record(waiting)
                return
        for waiting in self._open:
            waiting.gap += 1
            if waiting.gap > MAX_GAP:
                raise self._cut(waiting.place, "its end is missing")

    def _record(self, found: _Open) -> Record:
        draft, envelope = found.draft, found.envelope
        try:
            message = draft.read()
        except GrammarError as error:
            raise self._cut(found.place, str(error)) from None
        return Record(message, _time(draft.header, envelope), found.place, thread_of(draft.header), envelope.host)

    def _heard_before(self, record: Record) -> bool:
        """Tell whether a record says again, as every rebalance makes it, where a thread is."""
        if not isinstance(record.message, Heard):
            return False
        voice = (record.thread, record.host)
        known = voice in self._voices
        self._voices.add(voice)
        return known

    def _cut(self, place: LogPlace, why: str) -> SnapshotError:
        return SnapshotError(f"a message of the assignor cannot be read: {printable(why)}", where=str(place), fix=_FIX)


def _time(header: str, envelope: Envelope) -> Moment | None:
    """Return when a message was logged: what its own header says, unless only its envelope names a zone."""
    at = header_time(header)
    return envelope.at if at is None or (envelope.at and envelope.at.zoned and not at.zoned) else at


def _logged_at(line: bytes) -> Moment | None:
    try:
        envelope = opened(unwrap(line), is_marked)
    except CutLineError:
        return None
    return _time(envelope.text[:_HEADER_CHARACTERS], envelope)
