"""A log's lines → the messages in it, each with its time and place; lines that were split are joined again.

A line is joined with the one before it only where that is certain: the shipper marked it as a part (CRI's ``P``,
Docker's missing line end), or the message before it is unfinished, the line begins no record of its own, it is of the
same source, and what comes out is to the last count what Kafka Streams prints. So is a line that has the words of a
message but begins no record, if the one before it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.fields import printable
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
from kstream_plan.snapshots.leader_log.lines import Line, LogLines
from kstream_plan.snapshots.leader_log.messages import Heard, Message, Place
from kstream_plan.snapshots.leader_log.wording import MARKERS, Draft, begun, is_marked, thread_of

#: So many lines of others may stand between the lines of one message.
_MAX_GAP = 2000

_FIX = "give the log as it was written, or only up to the line before"


class Record(NamedTuple):
    """A message, when and where it was logged, by which stream thread and on which host as far as the log says."""

    message: Message
    at: Moment | None
    place: Place
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
    reader = _Reader(LogLines(stream, name, MARKERS), printable(name))
    yield from reader.records()


@dataclass(slots=True)
class _Open:
    """A message that is not whole yet."""

    draft: Draft
    envelope: Envelope
    place: Place
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
        self._parts: dict[str, tuple[Envelope, int, list[str]]] = {}
        self._voices: set[tuple[str | None, str | None]] = set()

    def records(self) -> Iterator[Record]:
        while line := self._next():
            envelope, number = self._envelope(line)
            if envelope is None:
                continue
            draft = begun(envelope.text)
            if draft is None:
                yield from self._continued(envelope)
                continue
            started = _Open(draft, envelope, Place(self._name, number))
            if draft.whole:
                record = self._record(started)
                if not self._heard_before(record):
                    yield record
            else:
                self._open.append(started)
        for place in [*(waiting.place for waiting in self._open), *self._unfinished_parts()]:
            raise self._cut(place, "its end is missing")

    def _next(self) -> Line | None:
        return self._lines.next_line() if self._open or self._parts else self._lines.next_marked()

    def _envelope(self, line: Line) -> tuple[Envelope | None, int]:
        """Take a line out of its envelope; ``None`` if it is a part of one, or nothing."""
        try:
            envelope = unwrap(line.text, is_marked)
            part = self._parts.pop(envelope.stream, None)
            if part is None and not envelope.goes_on:
                return self._with_beginning(envelope, line)
            first, number, texts = part or (envelope, line.number, [])
            texts.append(envelope.text)
            if envelope.goes_on:
                if part or is_marked(envelope.text) or self._open:
                    self._parts[envelope.stream] = (first, number, texts)
                return None, number
            whole = envelope._replace(text="".join(texts), at=first.at, host=first.host)
            return opened(whole, is_marked), number
        except CutLineError as error:
            if is_marked(line.text.decode("utf-8", "replace")):
                raise self._cut(Place(self._name, line.number), str(error)) from None
            return None, line.number

    def _with_beginning(self, envelope: Envelope, line: Line) -> tuple[Envelope, int]:
        """Join a line that matters but begins no record with the line before it, where that one does.

        The line before may also be a first part by what its shipper says, in which nothing told that it matters. A
        message out of JSON has no beginning elsewhere.
        """
        before = self._lines.before()
        if not before or not is_marked(envelope.text):
            return envelope, line.number
        try:
            first = unwrap(before, is_marked)
        except CutLineError:
            return envelope, line.number
        if first.stream != envelope.stream or is_marked(first.text):
            return envelope, line.number
        joined = first._replace(text=first.text + envelope.text, goes_on=False)
        if first.goes_on:
            return opened(joined, is_marked), line.number - 1
        is_text = line.text.decode("utf-8", "replace").endswith(envelope.text)
        if not is_text or starts_a_record(envelope.text) or not starts_a_record(first.text):
            return envelope, line.number
        return joined, line.number - 1

    def _continued(self, envelope: Envelope) -> Iterator[Record]:
        for waiting in self._open:
            if waiting.takes(envelope):
                if waiting.draft.whole:
                    self._open.remove(waiting)
                    yield self._record(waiting)
                return
        for waiting in self._open:
            waiting.gap += 1
            if waiting.gap > _MAX_GAP:
                raise self._cut(waiting.place, "its end is missing")

    def _record(self, found: _Open) -> Record:
        draft, envelope = found.draft, found.envelope
        try:
            message = draft.read()
        except GrammarError as error:
            raise self._cut(found.place, str(error)) from None
        at = header_time(draft.header)
        if at is None or (envelope.at and envelope.at.zoned and not at.zoned):
            at = envelope.at
        return Record(message, at, found.place, thread_of(draft.header), envelope.host)

    def _heard_before(self, record: Record) -> bool:
        """Tell whether a record says again, as every rebalance makes it, where a thread is."""
        if not isinstance(record.message, Heard):
            return False
        voice = (record.thread, record.host)
        known = voice in self._voices
        self._voices.add(voice)
        return known

    def _unfinished_parts(self) -> list[Place]:
        return [Place(self._name, number) for _, number, _ in self._parts.values()]

    def _cut(self, place: Place, why: str) -> SnapshotError:
        return SnapshotError(f"a message of the assignor cannot be read: {printable(why)}", where=str(place), fix=_FIX)
