"""Offsets of changelogs where no broker is asked: the text of ``kafka-get-offsets.sh``, or JSON.

Several sets of different times may be given; between two of them an offset is what lies between.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.metrics.exposition import TextSource, open_text, text_sources
from kstream_plan.snapshots.metrics.names import normal_topic
from kstream_plan.snapshots.metrics.scrapes import TopicPartition
from kstream_plan.snapshots.rows.fields import parse_time, printable, shown
from kstream_plan.snapshots.rows.json_text import parse_json

#: A line of ``kafka-get-offsets.sh``: TOPIC:PARTITION:OFFSET; a topic has no colon.
_LINE = re.compile(r"(?P<topic>[^:\s]+):(?P<partition>\d{1,10}):(?P<offset>\d{0,19})")
_PARTITION = re.compile(r"(?P<topic>.+)-(?P<partition>\d{1,10})", re.DOTALL)
#: Which offsets are meant: where changelogs end, or where they start.
OffsetKind: TypeAlias = Literal["end", "start"]

#: What a time may be called beside the offsets, and the offsets beside a time: each kind, or either.
_TIMES = ("t", "time", "at", "timestamp", "captured_at")
_NAMES: Mapping[OffsetKind, Sequence[str]] = {
    "end": ("end", "ends", "end_offsets"),
    "start": ("start", "starts", "start_offsets"),
}
_EITHER = ("offsets", "partitions")
_OFFSETS_OF_ITEMS = ("offset", "end_offset", "endOffset")
#: Seconds since 1970 up to this number, milliseconds above it.
_LAST_SECOND = 1e11
_FIX = (
    'give what kafka-get-offsets.sh prints (TOPIC:PARTITION:OFFSET), or JSON like {"topic-0": 123}, beside a time '
    '{"t": 1795355808, "end": {"topic-0": 123}} ("start" for start offsets)'
)


class OffsetSet(NamedTuple):
    """Offsets of one moment, by topic (with underscores for dots) and partition; ``at_ms`` since 1970, if known.

    ``place`` is their file, empty if they are from none.
    """

    at_ms: int | None
    offsets: Mapping[TopicPartition, int]
    place: str = ""


class OffsetAt(NamedTuple):
    """An offset at a moment, and how many milliseconds later than that it was looked up; negative: earlier.

    ``difference`` is by how much it differs in the two sets around the moment, which are ``apart_ms`` apart; ``timed``
    whether its time is known.
    """

    offset: int
    late_ms: int
    difference: int = 0
    timed: bool = True
    apart_ms: int = 0


@dataclass(frozen=True, slots=True)
class Offsets:
    """Sets of offsets in the order of time, those without a time first."""

    sets: tuple[OffsetSet, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return any(offset_set.offsets for offset_set in self.sets)

    def newest(self, partition: TopicPartition) -> int | None:
        """Return the last known offset, ``None`` if there is none."""
        key = (normal_topic(partition[0]), partition[1])
        return next((offset_set.offsets[key] for offset_set in reversed(self.sets) if key in offset_set.offsets), None)

    def offset_at(
        self, partition: TopicPartition, at_ms: int | None, most_apart_ms: float = math.inf
    ) -> OffsetAt | None:
        """Return the offset at a moment: what lies between the two sets around it, else that of the nearest.

        Of two sets that are further apart than ``most_apart_ms`` the later one counts.
        """
        key = (normal_topic(partition[0]), partition[1])
        dated_offsets = [
            (offset_set.at_ms, offset_set.offsets[key]) for offset_set in self.sets if key in offset_set.offsets
        ]
        if not dated_offsets:
            return None
        timed = [(dated_ms, offset) for dated_ms, offset in dated_offsets if dated_ms is not None]
        if at_ms is None or not timed:
            return OffsetAt(dated_offsets[-1][1], 0, timed=False)
        index = bisect_left(timed, (at_ms, -1))
        if index == len(timed) or index == 0:
            dated_ms, offset = timed[min(index, len(timed) - 1)]
            return OffsetAt(offset, dated_ms - at_ms)
        (previous_ms, previous_offset), (next_ms, next_offset) = timed[index - 1], timed[index]
        if next_ms - previous_ms > most_apart_ms:
            return OffsetAt(next_offset, next_ms - at_ms)
        offset = previous_offset + round(
            (next_offset - previous_offset) * (at_ms - previous_ms) / (next_ms - previous_ms)
        )
        return OffsetAt(offset, 0, abs(next_offset - previous_offset), apart_ms=next_ms - previous_ms)

    def newest_at(self, partition: TopicPartition, at_ms: int | None) -> OffsetAt | None:
        """Return the last offset that was known at a moment, else the first one after it."""
        key = (normal_topic(partition[0]), partition[1])
        dated_offsets = [
            (offset_set.at_ms, offset_set.offsets[key]) for offset_set in self.sets if key in offset_set.offsets
        ]
        if not dated_offsets:
            return None
        if at_ms is None:
            return OffsetAt(dated_offsets[0][1], 0, timed=False)
        earlier = [(dated_ms, offset) for dated_ms, offset in dated_offsets if dated_ms is None or dated_ms <= at_ms]
        dated_ms, offset = earlier[-1] if earlier else dated_offsets[0]
        return OffsetAt(offset, 0 if dated_ms is None else dated_ms - at_ms, timed=dated_ms is not None)

    def topics(self) -> set[str]:
        """Return the topics there are offsets of, with underscores for dots."""
        return {topic for offset_set in self.sets for topic, _ in offset_set.offsets}


def read_offsets(
    paths: Sequence[str], stdin: BinaryIO | None = None, now_ms: int | None = None, *, kind: OffsetKind = "end"
) -> Offsets:
    """Read files of offsets, plain or gzip; of those that hold both kinds, this ``kind``.

    JSON may be ``{"topic-0": 123}``, ``{"topic": {"0": 123}}`` or a list of ``{"topic", "partition", "offset"}``;
    beside a time (``{"t": 1795355808, "end": {…}}``, ``"start"`` for start offsets), and one such per line for several
    times. Without a time in it, a file's offsets are of when it was written.

    Raises:
        SnapshotError: there is no such file, or it holds anything else, the other kind of offsets for instance.
    """
    sets = [offset_set for source in text_sources(paths, stdin, now_ms) for offset_set in _read(source, kind)]
    return Offsets(tuple(_merged_by_time(sets, kind)))


def _merged_by_time(sets: Sequence[OffsetSet], kind: OffsetKind) -> Iterator[OffsetSet]:
    """Yield one set for each time, in order."""
    offsets_by_time: dict[int | None, dict[TopicPartition, int]] = {}
    place_by_time: dict[int | None, str] = {}
    for offset_set in sets:
        offsets = offsets_by_time.setdefault(offset_set.at_ms, {})
        place_by_time.setdefault(offset_set.at_ms, offset_set.place)
        for partition, offset in offset_set.offsets.items():
            _add(offsets, partition, offset, kind)
    for at_ms in sorted(offsets_by_time, key=lambda at_ms: -1 if at_ms is None else at_ms):
        yield OffsetSet(at_ms, offsets_by_time[at_ms], place_by_time[at_ms])


def _add(offsets: dict[TopicPartition, int], partition: TopicPartition, offset: int, kind: OffsetKind) -> None:
    """Add an offset; of several of one partition the one counts by which copies are further behind."""
    further = max if kind == "end" else min
    offsets[partition] = further(offset, offsets.get(partition, offset))


def _read(source: TextSource, kind: OffsetKind) -> Iterator[OffsetSet]:
    place = printable(source.name)
    with open_text(source) as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SnapshotError("is not UTF-8", where=place, fix=_FIX) from None
    if not text.strip():
        raise SnapshotError("is empty", where=place, fix=_FIX)
    if text.lstrip()[0] not in "[{":
        yield OffsetSet(source.at_ms, _of_tool(text, place, kind), place)
        return
    for number, document in _documents(text, place):
        try:
            yield _of_document(document, source.at_ms, kind)._replace(place=place)
        except ValueError as error:
            raise SnapshotError(str(error), where=f"{place}, line {number}", fix=_FIX) from None


def _of_tool(text: str, place: str, kind: OffsetKind) -> dict[TopicPartition, int]:
    offsets: dict[TopicPartition, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            problem = f"is {shown(line.strip())}, not TOPIC:PARTITION:OFFSET"
            raise SnapshotError(problem, where=f"{place}, line {number}", fix=_FIX)
        if match["offset"]:  # the tool leaves it out of a partition without a leader
            _add(offsets, (normal_topic(match["topic"]), int(match["partition"])), int(match["offset"]), kind)
    return offsets


def _documents(text: str, place: str) -> Iterator[tuple[int, Any]]:
    """Return the JSON documents in a text, one over the whole of it or one a line, and where they begin."""
    try:
        yield 1, parse_json(text)
        return
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            problem = f"is not JSON: {error.msg} (line {error.lineno} column {error.colno})"
            raise SnapshotError(problem, where=place, fix=_FIX) from None
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"cannot be read as JSON: {printable(str(error))}", where=place, fix=_FIX) from None
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                yield number, parse_json(line)
            except (ValueError, RecursionError) as error:
                reason = error.msg if isinstance(error, json.JSONDecodeError) else printable(str(error))
                raise SnapshotError(f"is not JSON: {reason}", where=f"{place}, line {number}", fix=_FIX) from None


def _of_document(document: Any, written_ms: int | None, kind: OffsetKind) -> OffsetSet:
    """Read one JSON document.

    Raises:
        ValueError: it is none of the forms.
    """
    at_ms, offsets_document = written_ms, document
    if isinstance(document, dict):
        inner = _beside_a_time(document, kind)
        if inner is not None:
            time = next((document[name] for name in _TIMES if name in document), None)
            at_ms, offsets_document = (written_ms if time is None else _time_ms(time)), inner
    offsets: dict[TopicPartition, int] = {}
    for topic, partition, offset in _entries(offsets_document):
        if offset is not None:
            _add(offsets, (normal_topic(topic), partition), _offset(offset, f"{topic}-{partition}"), kind)
    return OffsetSet(at_ms, offsets)


def _beside_a_time(document: Mapping[str, Any], kind: OffsetKind) -> Any:
    """Return the offsets in an object that has them beside a time, ``None`` if it is of another form.

    Raises:
        ValueError: it has the other kind of offsets only, or a name that is none of these.
    """
    kinds = (*_NAMES["end"], *_NAMES["start"], *_EITHER)
    present_names = [name for name in kinds if isinstance(document.get(name), dict | list)]
    if not present_names:
        return None
    for name in document:
        if name not in kinds and name not in _TIMES:
            raise ValueError(f"holds {shown(name)} beside {shown(present_names[0])}, where only a time may be")
    for name in (*_NAMES[kind], *_EITHER):
        if name in present_names:
            return document[name]
    raise ValueError(f"holds {shown(present_names[0])}, and {kind} offsets are asked for")


def _entries(document: Any) -> Iterator[tuple[str, int, Any]]:
    if isinstance(document, list):
        for item in document:
            if not isinstance(item, dict) or not isinstance(item.get("topic"), str):
                raise ValueError(f"holds {shown(item)} where an object with topic, partition and offset must be")
            offset = next((item[name] for name in _OFFSETS_OF_ITEMS if name in item), None)
            yield item["topic"], _number(item.get("partition")), offset
        return
    if not isinstance(document, dict):
        raise ValueError(f"holds {shown(document)} where offsets by partition must be")
    for name, value in document.items():
        if isinstance(value, dict):
            for partition, offset in value.items():
                yield name, _number(partition), offset
        elif (match := _PARTITION.fullmatch(name)) is not None:
            yield match["topic"], int(match["partition"]), value
        else:
            raise ValueError(f"holds {shown(name)}, which is no TOPIC-PARTITION")


def _number(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    if type(value) is int and value >= 0:
        return value
    raise ValueError(f"holds {shown(value)} where a partition's number must be")


def _offset(value: Any, partition: str) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"gives {shown(value)} for {printable(partition)}, which is no offset")
    return value


def _time_ms(value: Any) -> int:
    if isinstance(value, str):
        return parse_time(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e14:
        raise ValueError(f"has the time {shown(value)}, which is none")
    return int(value * 1000 if value < _LAST_SECOND else value)
