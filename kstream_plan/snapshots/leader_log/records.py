"""A log's lines → the messages in it, each with its time and place; lines that were split are joined again.

A message ends in its own words, or where the next record of its source begins. One that does not, or says what Kafka
Streams never does, is a :class:`.Gap`: the rest of the log counts.

Parts of which the shipper says that it split a line are joined by :mod:`.split_lines`. A line that was split without a
word about it is joined with the one before it only where that is certain: the message before it is unfinished, the line
begins no record of its own, it is of the same source, and what comes out is to the last count what Kafka Streams
prints. So is a line that has the words of a message but begins no record, if the one before it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from kstream_plan.snapshots.leader_log.envelope import (
    CutLineError,
    Envelope,
    has_level,
    is_empty,
    starts_a_record,
    unwrap,
    unwrap_json,
)
from kstream_plan.snapshots.leader_log.grammar import GrammarError
from kstream_plan.snapshots.leader_log.lines import LogLine, LogLines, text_blocks
from kstream_plan.snapshots.leader_log.log_stores import LogStore, StoredRecord
from kstream_plan.snapshots.leader_log.log_times import AmbiguousDatesError, LogTimes, Moment
from kstream_plan.snapshots.leader_log.message_values import Ended, Gap, Heard, LogPlace, Message
from kstream_plan.snapshots.leader_log.messages import (
    MARKERS,
    Draft,
    begin_draft,
    is_marked,
    number_of_heads,
    thread_of,
)
from kstream_plan.snapshots.leader_log.split_lines import MAX_GAP, PART_SIGN, SplitLines, WholeLine
from kstream_plan.snapshots.rows.fields import printable

#: Why several messages of one line are not read.
IN_ONE_LINE = "it stands in one line with others"
#: What stands before a message, its time among it, is seldom longer.
_HEADER_CHARACTERS = 60
#: In so much of a line its stream thread is looked for, by Kafka's own names.
_LONGEST_HEAD = 1_000
_THREAD = re.compile(r"[^\s\[\](){},;=\"']{1,300}-[0-9a-f]{8}-[0-9a-f-]{27}-StreamThread-\d+")
_THREAD_WORDS = "-StreamThread-"


class Record(NamedTuple):
    """A message, when and where it was logged, by which stream thread and on which host as far as the log says.

    ``stream`` tells the lines of one source in a log from others'.
    """

    message: Message
    logged_at: Moment | None
    place: LogPlace
    thread: str | None
    host: str | None
    stream: str = ""

    @property
    def source(self) -> tuple[str, str]:
        """The log, and the source in it."""
        return self.place.file, self.stream


def read_records(stream: BinaryIO, name: str, dates: str | None = None) -> Iterator[Record]:
    """Yield the messages of one log, in the order in which they end.

    Args:
        stream: the log, plain or gzip.
        name: how people know it.
        dates: the order of day, month and year in it, if it is given.

    Raises:
        SnapshotError: it cannot be read, or the order of its dates is not known.
    """
    times = LogTimes.of_file(stream, dates)
    store = LogStore(text_blocks(stream, name), name, is_marked, times)
    stored = store.records()
    if stored is not None:
        records = list(_Reader(printable(name), times).of_store(stored))
    else:
        blocks, is_turned = store.lines()
        lines = LogLines(blocks, name, MARKERS, PART_SIGN)
        records = list(_Reader(printable(name), times, is_turned=is_turned).of_lines(lines))
    store.see_dates()
    try:
        moments = times.settle(record.logged_at for record in records)
        yield from (record._replace(logged_at=moment) for record, moment in zip(records, moments, strict=True))
    except AmbiguousDatesError as error:
        if any(not isinstance(record.message, Ended) for record in records):
            raise error.as_snapshot_error(printable(name)) from None


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
    """Reads the messages of one log.

    Args:
        name: how people know the log.
        times: what reads its times.
        is_turned: whether its lines come in another order than they stand in it.
    """

    def __init__(self, name: str, times: LogTimes, *, is_turned: bool = False) -> None:
        self._name = name
        self._times = times
        self._unit = "line from its end" if is_turned else "line"
        self._open: list[_Open] = []
        self._voices: set[tuple[str | None, str | None]] = set()

    def of_lines(self, lines: LogLines) -> Iterator[Record]:
        split = SplitLines(is_marked, self._times)
        while line := lines.next_line() if self._open or split else lines.next_marked():
            yield from self._of_line(line, lines, split)
        for whole in split.rest():
            yield from self._read(whole)
        yield from self._close_messages(self._open)
        yield from self._ends(map(self._header, lines.newest))

    def of_store(self, records: Iterator[StoredRecord]) -> Iterator[Record]:
        newest: dict[str | None, Moment] = {}
        for envelope, number, unit, reason in records:
            if envelope is None:
                yield self._gap(LogPlace(self._name, number, unit), reason)
                continue
            if envelope.moment is not None:
                thread = _thread_in(envelope.text[:_LONGEST_HEAD])
                newest[thread] = max(envelope.moment, newest.get(thread, envelope.moment))
            yield from self._read(WholeLine(envelope, number, b""), unit)
        yield from self._close_messages(self._open)
        yield from self._ends((moment, thread) for thread, moment in newest.items())

    def _ends(self, lines: Iterable[tuple[Moment | None, str | None]]) -> Iterator[Record]:
        """Yield of each stream thread, and of what names none, when its newest line of these was logged."""
        newest: dict[str | None, Moment] = {}
        for moment, thread in lines:
            if moment is not None:
                newest[thread] = max(moment, newest.get(thread, moment))
        for thread, moment in newest.items():
            yield Record(Ended(thread), moment, LogPlace(self._name, 0), None, None)

    def _of_line(self, line: LogLine, lines: LogLines, split: SplitLines) -> Iterator[Record]:
        try:
            whole_lines = list(split.add(line, lines.previous_line()))
        except CutLineError as error:
            yield self._gap(LogPlace(self._name, line.number, self._unit), str(error))
            return
        for whole in whole_lines:
            yield from self._read(whole)

    def _read(self, line: WholeLine, unit: str | None = None) -> Iterator[Record]:
        if not self._open and not is_marked(line.envelope.text):
            return  # it is here only as it was split, or stands between the parts of one that was
        try:
            envelope, number = self._message(line)
        except CutLineError as error:
            if is_marked(line.envelope.text):
                yield self._gap(LogPlace(self._name, line.number, unit or self._unit), str(error))
            return
        first, *further_texts = envelope.text.split("\n")
        if any(map(is_marked, further_texts)):
            for text in (first, *further_texts):
                yield from self._read(WholeLine(envelope._replace(text=text), number, b""), unit)
            return
        yield from self._read_text(envelope, LogPlace(self._name, number, unit or self._unit))

    def _read_text(self, envelope: Envelope, place: LogPlace) -> Iterator[Record]:
        """Read a text with one message at most, or a part of one."""
        heads, draft = number_of_heads(envelope.text), begin_draft(envelope.text)
        if heads > 1:
            yield self._gap(place, IN_ONE_LINE)
            return
        if heads and (draft is None or not draft.has_head):
            yield self._gap(place, "its beginning is missing")
        if draft is None:
            yield from self._continue_message(envelope)
            return
        yield from self._close_messages(
            [open_message for open_message in self._open if open_message.envelope.stream == envelope.stream]
        )
        message = _Open(draft, envelope, place)
        if not draft.whole:
            self._open.append(message)
            return
        record = self._record(message)
        if not self._heard_before(record):
            yield record

    def _message(self, line: WholeLine) -> tuple[Envelope, int]:
        """Return what a line says, and where it begins.

        Raises:
            CutLineError: it is damaged JSON.
        """
        envelope = unwrap_json(line.envelope, is_marked, self._times)
        first_envelope = self._beginning(envelope, line.previous_line)
        if first_envelope is None:
            return envelope, line.number
        return first_envelope._replace(text=first_envelope.text + envelope.text), line.number - 1

    def _beginning(self, envelope: Envelope, previous_line: bytes | Envelope) -> Envelope | None:
        """Return the line before a line that matters but begins no record, if that one does.

        A message out of JSON has no beginning elsewhere. A line that begins with its level may have its time there.
        """
        is_begun = starts_a_record(envelope.text)
        has_time = is_begun and self._times.in_header(envelope.text[:_HEADER_CHARACTERS]) is not None
        if not previous_line or envelope.was_json or has_time or not is_marked(envelope.text):
            return None
        try:
            first = unwrap_json(
                unwrap(previous_line, self._times) if isinstance(previous_line, bytes) else previous_line,
                is_marked,
                self._times,
            )
        except CutLineError:
            return None
        is_its = first.stream == envelope.stream and starts_a_record(first.text) and not is_marked(first.text)
        return first if is_its and (not is_begun or self._is_only_a_header(first.text)) else None

    def _is_only_a_header(self, text: str) -> bool:
        """Tell whether a line has a time and no level: Java's own logger puts that on the next one."""
        return self._times.in_text(text[:_HEADER_CHARACTERS]) is not None and not has_level(text)

    def _continue_message(self, envelope: Envelope) -> Iterator[Record]:
        """Give a line to the message that it belongs to; one that begins a record ends those of its source."""
        for open_message in reversed(self._open):
            if open_message.takes(envelope):
                if open_message.draft.whole:
                    self._open.remove(open_message)
                    yield self._record(open_message)
                return
        ended_messages = [
            open_message
            for open_message in self._open
            if open_message.envelope.stream == envelope.stream
            and (open_message.draft.ends_with_the_record or _starts_another(envelope.text))
        ]
        yield from self._close_messages(ended_messages)
        for open_message in self._open:
            open_message.gap += 1
        yield from self._close_messages([open_message for open_message in self._open if open_message.gap > MAX_GAP])

    def _close_messages(self, ended_messages: list[_Open]) -> Iterator[Record]:
        """Yield messages that nothing comes to any more."""
        for open_message in list(ended_messages):
            self._open.remove(open_message)
            if open_message.draft.ends_with_the_record:
                yield self._record(open_message)
            else:
                yield self._gap(open_message.place, "its end is missing", open_message)

    def _record(self, whole: _Open) -> Record:
        draft, envelope = whole.draft, whole.envelope
        try:
            message = draft.read()
        except GrammarError as error:
            return self._gap(whole.place, str(error), whole)
        self._times.not_before(draft.logged_after_us)
        moment = self._times.logged_at(draft.header, envelope.moment)
        return Record(message, moment, whole.place, thread_of(draft.header), envelope.host, envelope.stream)

    def _gap(self, place: LogPlace, reason: str, open_message: _Open | None = None) -> Record:
        if open_message is None:
            return Record(Gap(reason), None, place, None, None)
        envelope = open_message.envelope
        moment = self._times.logged_at(open_message.draft.header, envelope.moment)
        return Record(Gap(reason), moment, place, thread_of(open_message.draft.header), envelope.host, envelope.stream)

    def _heard_before(self, record: Record) -> bool:
        """Tell whether a record repeats where a thread is, as one does after every rebalance."""
        if not isinstance(record.message, Heard):
            return False
        voice = (record.thread, record.host)
        is_known = voice in self._voices
        self._voices.add(voice)
        return is_known

    def _header(self, line: bytes) -> tuple[Moment | None, str | None]:
        """Return when a line was logged, and the stream thread that it names."""
        try:
            envelope = unwrap_json(unwrap(line, self._times), is_marked, self._times)
        except CutLineError:
            return None, None
        moment = self._times.logged_at(envelope.text[:_HEADER_CHARACTERS], envelope.moment)
        return moment, _thread_in(line[:_LONGEST_HEAD].decode("utf-8", "replace"))


def _thread_in(text: str) -> str | None:
    words = text.find(_THREAD_WORDS)
    start = max(text.rfind(mark, 0, max(words, 0)) for mark in " \t\n[](){},;=\"'") + 1
    match = _THREAD.match(text, start) if words >= 0 else None
    return match[0] if match else None


def _starts_another(text: str) -> bool:
    return starts_a_record(text) and not is_empty(text)
