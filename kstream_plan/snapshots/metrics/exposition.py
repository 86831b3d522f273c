"""Prometheus text → the few samples in it that tell how far behind copies are.

A scrape is read line by line, so one of any size needs memory for what is wanted of it only. Lines are taken apart by
the Prometheus client library; unused ones are not even parsed.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import re
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from glob import glob, has_magic
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, cast

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note
from kstream_plan.model.note import name_list
from kstream_plan.snapshots.files.content import GZIP_MAGIC, at_hand, pending_work, size_limited
from kstream_plan.snapshots.files.sources import STDIN
from kstream_plan.snapshots.metrics.names import (
    Meaning,
    StoreLabel,
    identity_in_name,
    may_count,
    meaning_of,
    names_a_store,
    normal_labels,
    store_label,
)
from kstream_plan.snapshots.rows.fields import parse_time, printable, shown

#: No line of a scrape is longer; what is, is no scrape.
_LONGEST_LINE = 1 << 16
#: A comment at the top may say when the scrape was taken.
_TIME_IN_COMMENT = re.compile(rb"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?")
_TOP_LINES = 5
#: A line that only metrics have.
_METRICS_BEGIN = re.compile(rb'^(?:# (?:HELP|TYPE) \S+ |[A-Za-z_:][\w:]*\{\w+="[^\n]*\} [-+\d.NI])', re.MULTILINE)
#: Timestamps of OpenMetrics are in seconds; read as milliseconds they would lie in January 1970.
_SECONDS_READ_AS_MS = 1e8
#: What exporters write nearly always: labels without escapes, a plain number, no time.
_PLAIN_LABEL = rb'[A-Za-z]\w*="[^"\\{}#\x00-\x1f\x7f-\xff]*"'
_PLAIN_LINE = re.compile(
    rb"([A-Za-z_:][\w:]*)\{(%s(?:,%s)*),?\} ([-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"
    % (_PLAIN_LABEL, _PLAIN_LABEL)
)
_EACH_LABEL = re.compile(r'(\w+)="([^"]*)"')
#: How Micrometer's endpoint fails as a whole, over a gauge of Kafka's that it takes for a counter.
_MICROMETER_FAILED = b"counters cannot have a negative value"

_AGAIN = "scrape it again"
_WHAT_TO_GIVE = "give what the instance's metrics endpoint answers: curl http://HOST:PORT/metrics > FILE"


class Sample(NamedTuple):
    """One sample that counts: its meaning, its labels by Kafka's names, and its value."""

    meaning: Meaning
    labels: Mapping[str, str]
    value: float


class Exposition(NamedTuple):
    """What one file says.

    Attributes:
        place: the file.
        at_ms: when it was scraped, since 1970; ``None`` if nothing tells.
        has_own_time: whether it says itself when that was: else it is of when the file was written, or before.
        samples: the samples that count.
        stores: the stores that its labels name.
        about_kafka: whether it has any of Kafka's metrics.
        assumed_now: whether it came from standard input and says no time itself: it is taken to be of now.
    """

    place: str
    at_ms: int | None
    has_own_time: bool
    samples: Sequence[Sample]
    stores: frozenset[StoreLabel]
    about_kafka: bool
    assumed_now: bool = False


class TextSource(NamedTuple):
    """One file of text, or a stream that stays open; ``at_ms`` is when it was written, since 1970, if that is known."""

    name: str
    stream: BinaryIO | None
    at_ms: int | None


def read_expositions(
    paths: Sequence[str], stdin: BinaryIO | None = None, now_ms: int | None = None
) -> tuple[list[Exposition], list[Note]]:
    """Read files of Prometheus text, plain or gzip.

    Args:
        paths: files, folders (all files in them) and globs; ``-`` is standard input.
        stdin: what ``-`` stands for.
        now_ms: the time, since 1970: that of what comes from standard input.

    Returns:
        What each of them says; warnings if endpoints have failed, or standard input does not say when it was scraped.

    Raises:
        SnapshotError: there is no such file; it is no Prometheus text, or it ends in the middle.
    """
    expositions, failed, notes = [], [], []
    for source in text_sources(paths, stdin, now_ms):
        exposition = _read(source)
        if exposition is None:
            failed.append(source.name)
            continue
        expositions.append(exposition)
        if exposition.assumed_now:
            notes.append(_piped_note())
    return expositions, [*notes, _micrometer_note(failed)] if failed else notes


def text_sources(paths: Sequence[str], stdin: BinaryIO | None, now_ms: int | None) -> Iterator[TextSource]:
    """Return what paths stand for, each file once: files, folders (all files in them), globs, ``-``.

    Raises:
        SnapshotError: there is no such file.
    """
    real_paths: set[str] = set()
    for path in paths:
        if path == STDIN:
            yield TextSource("standard input", stdin or sys.stdin.buffer, now_ms)
            continue
        for file in expanded(path):
            if (real := os.path.realpath(file)) not in real_paths:
                real_paths.add(real)
                yield TextSource(file, None, os.stat(file).st_mtime_ns // 1_000_000)


def holds_metrics(path: str) -> bool:
    """Tell whether a path is a file of Prometheus text that can be read, by its beginning."""
    if not os.path.isfile(path):
        return False
    try:
        with open_text(TextSource(path, None, None)) as file:
            return _METRICS_BEGIN.search(file.read(_LONGEST_LINE)) is not None
    except SnapshotError:
        return False


@contextmanager
def open_text(source: TextSource) -> Iterator[IO[bytes]]:
    """Open what is plain or gzip, whatever it is called; what goes wrong on the way is told as an error of the file."""
    place = printable(source.name)
    try:
        with ExitStack() as stack:
            stream = (
                stack.enter_context(open(at_hand(source.name), "rb"))
                if source.stream is None
                else pending_work(source.stream)
            )
            buffered = io.BufferedReader(cast(io.RawIOBase, stream))
            stack.callback(buffered.detach)  # a stream that was given stays open
            packed = buffered.peek(2)[:2] == GZIP_MAGIC
            yield size_limited(cast(BinaryIO, gzip.GzipFile(fileobj=buffered) if packed else buffered))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problem = f"ends in the middle of what is zipped, or is damaged: {error}"
        raise SnapshotError(problem, where=place, fix="copy or fetch it again") from None
    except OSError as error:
        raise SnapshotError(f"cannot be read: {error.strerror or error}", where=place, fix="check the path") from None


def expanded(path: str) -> list[str]:
    """Return the files that a path stands for: a file, all files in a folder, or those of a glob.

    Raises:
        SnapshotError: there is none.
    """
    if has_magic(path) and not os.path.exists(path):
        files = [file for file in sorted(glob(path, recursive=True)) if os.path.isfile(file)]
        problem = "matches no file"
    elif os.path.isdir(path):
        files = sorted(str(file) for file in Path(path).rglob("*") if file.is_file() and not file.name.startswith("."))
        problem = "is a folder without files"
    else:
        files = [path] if os.path.exists(path) else []
        problem = "does not exist"
    if not files:
        raise SnapshotError(problem, where=printable(path), fix="check the path")
    return files


def _read(source: TextSource) -> Exposition | None:
    """Read one file; ``None`` if it is the answer of Micrometer's endpoint that it has failed."""
    reading = _Reading(source.name)
    with open_text(source) as file:
        for number, line in enumerate(_lines(file, source.name), start=1):
            if not reading.has_begun and _MICROMETER_FAILED in line:
                return None
            reading.line(number, line)
    if not reading.has_begun:
        if reading.is_empty:
            raise SnapshotError("is empty", where=printable(source.name), fix=_AGAIN)
        raise _no_metrics(source.name, 1, "only comments")
    at_ms = reading.at_ms()
    return Exposition(
        source.name,
        source.at_ms if at_ms is None else at_ms,
        at_ms is not None or source.stream is not None,
        tuple(reading.samples),
        frozenset(reading.stores),
        reading.about_kafka,
        assumed_now=source.stream is not None and at_ms is None and bool(reading.samples),
    )


def _lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
            raise SnapshotError(
                "has a line without end: it is no Prometheus text", where=printable(name), fix=_WHAT_TO_GIVE
            )
        yield line


class _Reading:
    """What has been read of one file so far."""

    def __init__(self, name: str) -> None:
        self.samples: list[Sample] = []
        self.stores: set[StoreLabel] = set()
        self.about_kafka = False
        self.has_begun = False
        self.is_empty = True
        self._name = name
        self._told_ms: int | None = None
        self._stamp_s: float | None = None
        self._clock: dict[Meaning, float] = {}
        self._labels_seen: set[bytes] = set()

    def line(self, number: int, line: bytes) -> None:
        """Read one line.

        Raises:
            SnapshotError: it is no line of Prometheus text, or cut off. Unused lines are skipped.
        """
        text = line.strip()
        if not text:
            return
        self.is_empty = False
        if text.startswith(b"#"):
            if number <= _TOP_LINES and self._told_ms is None:
                self._told_ms = _time_in(text)
            return
        self.about_kafka = self.about_kafka or b"kafka" in text
        cut = not line.endswith(b"\n")
        if not cut and names_a_store(text):
            self._store(text)
        if self.has_begun and not cut and not may_count(text):
            return
        self._sample(number, text, cut)
        self.has_begun = True

    def _store(self, text: bytes) -> None:
        """Note the store that a line is about; there are some fifty lines about each."""
        labels = text[text.find(b"{") : text.rfind(b"}")]
        if labels not in self._labels_seen and (label := store_label(labels)) is not None:
            self._labels_seen.add(labels)
            self.stores.add(label)

    def _sample(self, number: int, text: bytes, cut: bool) -> None:
        try:
            name, labels, value, stamp = _parse_plain(text) or _parse(text)
        except ValueError:
            if not self.has_begun:
                raise _no_metrics(self._name, number, text) from None
            if cut:
                problem = f"ends in the middle of line {number}: {_quoted(text)}"
                raise SnapshotError(problem, where=printable(self._name), fix=_AGAIN) from None
            problem = f"is no line of Prometheus text: {_quoted(text)}"
            raise SnapshotError(problem, where=f"{printable(self._name)}, line {number}", fix=_AGAIN) from None
        self._stamp_s = stamp if self._stamp_s is None or stamp is None else max(self._stamp_s, stamp)
        meaning = meaning_of(name)
        if meaning is None:
            return
        if meaning in (Meaning.STARTED_MS, Meaning.STARTED_S, Meaning.UPTIME_MS, Meaning.UPTIME_S):
            self._clock[meaning] = value
            return
        plain = normal_labels(labels)
        if meaning is Meaning.IDENTITY and (identity := identity_in_name(name)) is not None:
            plain = {"process_id": identity[0], "application_id": identity[1], **plain}
        self.samples.append(Sample(meaning, plain, value))

    def at_ms(self) -> int | None:
        """Return when it was scraped, as a comment, the samples' own times or the clock of the process tell."""
        if self._told_ms is not None:
            return self._told_ms
        if self._stamp_s is not None:
            return int(self._stamp_s * 1000)
        for start, uptime, unit in (
            (Meaning.STARTED_MS, Meaning.UPTIME_MS, 1),
            (Meaning.STARTED_S, Meaning.UPTIME_S, 1000),
        ):
            moment = self._clock.get(start, math.nan) + self._clock.get(uptime, math.nan)
            if math.isfinite(moment):
                return int(moment * unit)
        return None


def _parse_plain(text: bytes) -> tuple[str, Mapping[str, str], float, None] | None:
    """Take a line apart as :func:`_parse` does, many times as fast; ``None`` for one that is not plain."""
    match = _PLAIN_LINE.fullmatch(text)
    if match is None:
        return None
    name, inner, value = match.groups()
    pairs = _EACH_LABEL.findall(inner.decode("ascii"))
    labels = dict(pairs)
    return (name.decode("ascii"), labels, float(value), None) if len(labels) == len(pairs) else None


def _parse(text: bytes) -> tuple[str, Mapping[str, str], float, float | None]:
    """Take one line apart: name, labels, value, and its time in seconds since 1970, if it has one.

    Raises:
        ValueError: it is no sample.
    """
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 - takes its time

    try:
        for family in text_string_to_metric_families(text.decode("utf-8") + "\n"):
            for sample in family.samples:
                stamp = None if sample.timestamp is None else float(sample.timestamp)
                if stamp is not None and stamp < _SECONDS_READ_AS_MS:
                    stamp *= 1000
                return sample.name, sample.labels, float(sample.value), stamp
    except (KeyError, IndexError, TypeError) as error:  # what the library makes of some broken lines
        raise ValueError(str(error)) from None
    raise ValueError("no sample")


def _time_in(comment: bytes) -> int | None:
    match = _TIME_IN_COMMENT.search(comment)
    try:
        return None if match is None else parse_time(match[0].decode("ascii"))
    except ValueError:
        return None


def _quoted(text: bytes) -> str:
    return shown(text.decode("utf-8", "replace"))


def _no_metrics(name: str, number: int, text: bytes | str) -> SnapshotError:
    first_text = text if isinstance(text, str) else _quoted(text)
    kind = "a page of HTML" if first_text.lstrip("'\"").startswith("<") else "no Prometheus text"
    return SnapshotError(f"is {kind}: line {number} is {first_text}", where=printable(name), fix=_WHAT_TO_GIVE)


def _piped_note() -> Note:
    message = (
        "the scrape on standard input has no time: it counts as of now, however old it is; pipe what the endpoint "
        "answers at this moment, or put a comment with the time at its top"
    )
    return Note("scrape-piped", message)


def _micrometer_note(names: Sequence[str]) -> Note:
    verb = "is the answer of an endpoint" if len(names) == 1 else "are the answers of endpoints"
    answers = f"{name_list(list(map(printable, names)), 1)} {verb}"
    message = (
        f"{answers} that failed: Micrometer takes a gauge of RocksDB for a counter. Deny the meter "
        "kafka.stream.state.number.open.files (KAFKA-18495); the copies there keep the lags of their last join"
    )
    return Note("micrometer-failed", message)
