"""A worker's log → the messages in it, each with its time and place; one that cannot be read is a gap."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from kstream_plan.snapshots.connect_log.messages import (
    CONSUMER,
    MARKERS,
    Answered,
    CutMessageError,
    Gap,
    Joined,
    MaxDelay,
    Message,
    RunsOn,
    RunsRelease,
    is_marked,
    messages_in,
    worker_of,
)
from kstream_plan.snapshots.leader_log.envelope import CutLineError, Envelope, unwrap, unwrap_json
from kstream_plan.snapshots.leader_log.lines import LogLines, text_blocks
from kstream_plan.snapshots.leader_log.log_stores import LogStore
from kstream_plan.snapshots.leader_log.log_times import AmbiguousDatesError, LogTimes, Moment
from kstream_plan.snapshots.leader_log.message_values import LogPlace
from kstream_plan.snapshots.leader_log.split_lines import PART_SIGN, SplitLines, WholeLine
from kstream_plan.snapshots.rows.fields import printable

#: Milliseconds since the process began, as ``slf4j-simple`` and ``%r`` have them at the beginning of a line.
_SINCE_START = re.compile(r"\s{0,9}(\d{1,15}) ")
#: What stands before a message, its time among it, is seldom longer.
_HEADER_CHARACTERS = 60


class Stamp(NamedTuple):
    """When a line was logged: ``ms`` since 1970 if it is ``dated``, else since its process began.

    ``moment`` is what its date may mean, before the dates of the log are known.
    """

    ms: int
    dated: bool
    zoned: bool = True
    moment: Moment | None = None


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
    stamp: Stamp | None
    place: LogPlace
    file: str
    stream: str
    voice: Voice | None
    host: str | None


class LogEnd(NamedTuple):
    """When the last line of a log was written."""

    file: str
    stamp: Stamp


def read_records(stream: BinaryIO, name: str, dates: str | None = None) -> Iterator[Record | LogEnd]:
    """Yield the messages of one log in order, and when it ends.

    Args:
        stream: the log, plain or gzip.
        name: how people know it.
        dates: the order of day, month and year in it, if it is given.

    Raises:
        SnapshotError: it cannot be read, or the order of its dates is not known.
    """
    times, printable_name = LogTimes.of_file(stream, dates, with_seconds=False), printable(name)
    store = LogStore(text_blocks(stream, name), name, is_marked, times)
    records = list(_records(store, _Reader(printable_name, times)))
    store.see_dates()
    try:
        moments = times.settle(record.stamp.moment if record.stamp is not None else None for record in records)
        for record, moment in zip(records, moments, strict=True):
            stamp = _dated(record.stamp, moment)
            if stamp is not None:
                yield record._replace(stamp=stamp)
            elif isinstance(record, Record):
                yield record._replace(stamp=None)
    except AmbiguousDatesError as error:
        if any(isinstance(record, Record) for record in records):
            raise error.as_snapshot_error(printable_name) from None


def _dated(stamp: Stamp | None, moment: Moment | None) -> Stamp | None:
    if stamp is None or not stamp.dated:
        return stamp
    return None if moment is None else Stamp(moment.us // 1000, dated=True, zoned=moment.zoned)


def _records(store: LogStore, reader: _Reader) -> Iterator[Record | LogEnd]:
    stored = store.records()
    end_stamps = list[Stamp]()
    if stored is not None:
        for stored_record in stored:
            if stored_record.envelope is None:
                yield reader.gap(LogPlace(reader.name, stored_record.number, stored_record.unit), stored_record.reason)
                continue
            end_stamps += [stamp] if (stamp := _stamp_of(stored_record.envelope.moment)) else []
            yield from reader.read(WholeLine(stored_record.envelope, stored_record.number, b""), stored_record.unit)
    else:
        lines, split = LogLines(store.lines()[0], reader.name, MARKERS, PART_SIGN), SplitLines(is_marked, reader.times)
        while line := lines.next_line() if split else lines.next_marked():
            try:
                whole_lines = list(split.add(line, lines.previous_line()))
            except CutLineError as error:
                yield reader.gap(LogPlace(reader.name, line.number), str(error))
                continue
            for whole in whole_lines:
                yield from reader.read(whole)
        for whole in split.rest():
            yield from reader.read(whole)
        end_stamps = [stamp for text in lines.newest if (stamp := reader.stamp_of_line(text)) is not None]
    if end_stamps:
        dated_stamps = [stamp for stamp in end_stamps if stamp.dated]
        yield LogEnd(reader.name, max(dated_stamps) if dated_stamps else end_stamps[-1])


class _Reader(NamedTuple):
    """Reads the lines of a log: how people know it, and what reads its times."""

    name: str
    times: LogTimes

    def read(self, line: WholeLine, unit: str = "line") -> Iterator[Record]:
        if not is_marked(line.envelope.text):
            return
        place = LogPlace(self.name, line.number, unit)
        try:
            envelope = unwrap_json(line.envelope, is_marked, self.times)
        except CutLineError as error:
            yield self.gap(place, str(error), line.envelope.stream)
            return
        for text in envelope.text.split("\n"):
            yield from self._read_line(text, envelope, place)

    def _read_line(self, text: str, envelope: Envelope, place: LogPlace) -> Iterator[Record]:
        try:
            messages = list(messages_in(text))
        except CutMessageError as error:
            yield self.gap(place, str(error), envelope.stream)
            return
        for header, message in messages:
            worker = worker_of(header)
            if worker is None and not isinstance(message, RunsOn | MaxDelay | RunsRelease):
                if isinstance(message, Joined | Answered) and CONSUMER not in header:
                    yield self.gap(place, "which worker says so is cut off", envelope.stream)
                continue  # of a connector's own consumer, say
            voice = None if worker is None else Voice(self.name, envelope.stream, *worker)
            stamp = self._stamp(header, envelope)
            yield Record(message, stamp, place, self.name, envelope.stream, voice, envelope.host)

    def gap(self, place: LogPlace, reason: str, stream: str = "") -> Record:
        return Record(Gap(reason), None, place, self.name, stream, None, None)

    def stamp_of_line(self, line: bytes) -> Stamp | None:
        try:
            envelope = unwrap_json(unwrap(line, self.times), is_marked, self.times)
        except CutLineError:
            return None
        return self._stamp(envelope.text[:_HEADER_CHARACTERS], envelope)

    def _stamp(self, header: str, envelope: Envelope) -> Stamp | None:
        moment = self.times.logged_at(header, envelope.moment)
        return _stamp_of(moment) or _since_start(header)


def _stamp_of(moment: Moment | None) -> Stamp | None:
    return None if moment is None else Stamp(moment.us // 1000, dated=True, zoned=moment.zoned, moment=moment)


def _since_start(header: str) -> Stamp | None:
    match = _SINCE_START.match(header)
    return None if match is None else Stamp(int(match[1]), dated=False)
