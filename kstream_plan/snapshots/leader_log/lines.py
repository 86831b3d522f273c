"""The logs that paths lead to, plain or gzip, each as the few lines that matter.

The rest is searched through but never decoded or kept.
"""

from __future__ import annotations

import codecs
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, NamedTuple, TypeVar, cast

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.files.content import GZIP_MAGIC, at_hand, pending_work, within_limit
from kstream_plan.snapshots.files.kinds import broken_gzip
from kstream_plan.snapshots.files.sources import check_paths
from kstream_plan.snapshots.rows.fields import printable

BLOCK_BYTES = 1 << 20

_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: So much of a line without any marker is kept, in case that a marker begins at its end.
_KEPT_BYTES = 128
#: A line without any marker is given up once it is longer than this.
_LONG_LINE_BYTES = 4 << 20
#: One with a marker may be so long. A message about 100,000 tasks has a few MiB.
LONGEST_LINE_BYTES = 64 << 20
#: When a line was logged: the time at its beginning or, of JSON, in a field of its own. As text the greatest is the
#: newest. Other times in a line may be still to come.
_LINE_TIME = re.compile(
    rb"""^(?:[^\n"]{0,120}?|[^\n]*?"(?:@timestamp|timestamp|time|ts|datetime|eventTime)" ?: ?")"""
    rb"""(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)""",
    re.MULTILINE,
)
#: In so much of a log the newest line is looked for; beyond that the last line of each block stands for it.
_SEARCHED_BYTES = 8 << 20
#: So many lines of a block are looked at to tell whether a sign may be in it.
_SAMPLES = 16

T = TypeVar("T")
_IN_MEMORY = 1 << 20


class LogLine(NamedTuple):
    """One line without its end, and its number, from 1."""

    number: int
    text: bytes


class Sign(NamedTuple):
    """What makes a line matter, and what is in every line of the logs in which such lines are.

    As a pattern is slow to search for, it is only searched for from the block on in which a line of its ``kind`` was
    seen; a few lines of each block are looked at.
    """

    pattern: re.Pattern[bytes]
    kind: re.Pattern[bytes]


class LogLines:
    """Walks through a log, from one line that matters to the next, or line by line.

    Memory is bounded by a few blocks and the longest line that has a marker in it, which may have 64 MiB.

    Args:
        blocks: the log, block by block (:func:`text_blocks`).
        name: how people know it.
        markers: what makes a line matter, each without a line end.
        sign: what also does, if it is in a line that is no longer than a few blocks.
    """

    def __init__(self, blocks: Iterable[bytes], name: str, markers: Sequence[bytes], sign: Sign | None = None) -> None:
        self._blocks = iter(blocks)
        self._name = name
        self._markers = markers
        self._sign = sign
        self._sign_is_likely = False
        self._whole = b""  # whole lines
        self._position = 0
        self._rest: list[bytes] = []  # the beginning of a line that goes on in the next block
        self._rest_matters = False
        self._number = 1
        self._hits: dict[bytes | None, int] = {}  # by marker; ``None`` is the sign
        self._line_at = 0  # where the line begins that was returned last
        self._last_before = b""  # the last line of the block before
        self._to_search = _SEARCHED_BYTES
        self.newest: list[bytes] = []  # of each block the line that was logged last

    def next_marked(self) -> LogLine | None:
        """Return the next line that has a marker or the sign, ``None`` at the end."""
        while True:
            hit = self._next_hit()
            if hit >= 0:
                start = self._whole.rfind(b"\n", self._position, hit) + 1 or self._position
                self._number += self._whole.count(b"\n", self._position, start)
                self._position = start
                return self.next_line()
            self._number += self._whole.count(b"\n", self._position)
            self._position = len(self._whole)
            if not self._refill():
                return None

    def next_line(self) -> LogLine | None:
        """Return the next line, ``None`` at the end."""
        if self._position == len(self._whole) and not self._refill():
            return None
        end = self._line_end(self._position)
        self._line_at = self._position
        line = LogLine(self._number, self._whole[self._position : end].rstrip(b"\r"))
        self._position = min(end + 1, len(self._whole))
        self._number += 1
        return line

    def previous_line(self) -> bytes:
        """Return the line before the one that was returned last, without its end; empty at the beginning of the log.

        Of a line as long as several blocks it is only the end.
        """
        return _last_line(self._whole, self._line_at) if self._line_at else self._last_before

    def _next_hit(self) -> int:
        """Return where the next marker or sign begins among the whole lines, -1 if there is none."""
        for marker in (*self._markers, None):
            if 0 <= self._hits.get(marker, 0) < self._position or marker not in self._hits:
                self._hits[marker] = self._find(marker)
        return min((hit for hit in self._hits.values() if hit >= 0), default=-1)

    def _find(self, marker: bytes | None) -> int:
        if marker is not None:
            return self._whole.find(marker, self._position)
        match = self._sign.pattern.search(self._whole, self._position) if self._sign and self._sign_is_likely else None
        return match.start() if match else -1

    def _refill(self) -> bool:
        """Read on until there is at least one whole line; return whether there is one."""
        for block in self._blocks:
            end = block.rfind(b"\n") + 1
            if end:
                self._start(b"".join([*self._rest, memoryview(block)[:end]]), [block[end:]])
                return True
            self._rest.append(block)
            length = sum(map(len, self._rest))
            if length > LONGEST_LINE_BYTES:
                raise self._too_long()
            if not self._rest_matters and length > _LONG_LINE_BYTES:
                self._shorten_rest()
        self._start(b"".join(self._rest), [])
        return bool(self._whole)

    def _start(self, whole: bytes, rest: list[bytes]) -> None:
        self._last_before = _last_line(self._whole, len(self._whole))
        if whole:
            self.newest.append(_newest_line(whole) if self._to_search > 0 else _last_line(whole, len(whole)))
            self._to_search -= len(whole)
        self._whole, self._position, self._hits = whole, 0, {}
        self._rest, self._rest_matters = rest, False
        self._sign_is_likely = self._sign_is_likely or (self._sign is not None and self._has(self._sign.kind))

    def _has(self, kind: re.Pattern[bytes]) -> bool:
        """Look at a few of the whole lines."""
        places = range(0, len(self._whole), len(self._whole) // _SAMPLES + 1)
        starts = {self._whole.rfind(b"\n", 0, place) + 1 for place in places}
        return any(kind.search(self._whole, start, self._line_end(start)) for start in starts)

    def _line_end(self, position: int) -> int:
        end = self._whole.find(b"\n", position)
        return end if end >= 0 else len(self._whole)

    def _too_long(self) -> SnapshotError:
        problem = f"a line is longer than {LONGEST_LINE_BYTES >> 20} MiB"
        return SnapshotError(
            problem, where=f"{printable(self._name)}, line {self._number}", fix="give the log as it was written"
        )

    def _shorten_rest(self) -> None:
        text = b"".join(self._rest)
        self._rest_matters = any(marker in text for marker in self._markers)
        self._rest = [text] if self._rest_matters else [text[-_KEPT_BYTES:]]


def _last_line(lines: bytes, end: int) -> bytes:
    end -= lines.endswith(b"\n", 0, end)
    return lines[lines.rfind(b"\n", 0, end) + 1 : end].rstrip(b"\r")


def _newest_line(lines: bytes) -> bytes:
    """Return the line with the greatest time; logs of several instances may stand one after the other."""
    newest = max(_LINE_TIME.findall(lines), default=None)
    position = -1 if newest is None else lines.find(newest)
    while newest is not None and position >= 0:
        start, end = lines.rfind(b"\n", 0, position) + 1, lines.find(b"\n", position)
        end = end if end >= 0 else len(lines)
        match = _LINE_TIME.match(lines, start)
        if match is not None and match[1] == newest:
            return lines[start:end].rstrip(b"\r")
        position = lines.find(newest, end)  # a line may be about a time
    return _last_line(lines, len(lines))


def text_blocks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield a log block by block, unzipped, in UTF-8; it is read once, from where it is.

    Raises:
        SnapshotError: it cannot be read, is damaged gzip, or there is more text in it than the limit.
    """
    try:
        yield from within_limit(_texts(stream, name))
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise SnapshotError(problem, where=printable(name), fix="check the file") from None


def _texts(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the log block by block, unzipped, in UTF-8 if it is marked as UTF-16."""
    head = stream.read(BLOCK_BYTES)
    if head.startswith(GZIP_MAGIC):
        yield from _unzipped(head, stream, name)
        return
    # what PowerShell's > writes; everything else is read as the bytes that it is
    decoder = codecs.getincrementaldecoder("utf-16")("replace") if head.startswith(_UTF_16_MARKS) else None
    while head:
        yield decoder.decode(head).encode("utf-8", "replace") if decoder else head
        head = stream.read(BLOCK_BYTES)


def _unzipped(head: bytes, stream: BinaryIO, name: str) -> Iterator[bytes]:
    unzipper = zlib.decompressobj(zlib.MAX_WBITS | 16)
    packed = head
    while packed:
        try:
            text = unzipper.decompress(packed, BLOCK_BYTES)
        except zlib.error as error:
            raise broken_gzip(name, str(error)) from None
        if text:
            yield text
        packed = unzipper.unused_data or unzipper.unconsumed_tail or stream.read(BLOCK_BYTES)
        if unzipper.eof and packed:
            unzipper = zlib.decompressobj(zlib.MAX_WBITS | 16)
    if not unzipper.eof:
        raise broken_gzip(name, "it ends too early")


class StandardInput:
    """What ``-`` stands for, by default the process's standard input; its beginning is kept."""

    def __init__(self, stream: BinaryIO | None) -> None:
        self._stream = stream or sys.stdin.buffer
        self.beginning = b""

    def fileno(self) -> int:
        """Return the number of the file."""
        return self._stream.fileno()

    def read(self, size: int = -1) -> bytes:
        """Return up to ``size`` bytes, by default all that are left."""
        block = self._stream.read(size)
        if len(self.beginning) < _IN_MEMORY:
            self.beginning += block[:_IN_MEMORY]
        return block


def each_log(paths: Sequence[str], stdin: StandardInput, read: Callable[[BinaryIO, str], Iterator[T]]) -> Iterator[T]:
    """Yield what ``read`` finds in each log; it is given the log and how people know it.

    Args:
        paths: files, folders and globs; ``-`` is standard input.
        stdin: what ``-`` stands for.
        read: reads one log.

    Raises:
        SnapshotError: a log cannot be read.
    """
    sources = check_paths(paths)
    if sources.remote:
        raise SnapshotError("is not on this machine", where=printable(sources.remote[0]), fix="copy the log here")
    for file in sources.local:
        try:
            with open(at_hand(file.path), "rb") as stream:
                yield from read(stream, file.name)
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
            raise SnapshotError(problem, where=printable(file.name), fix="check the file") from None
    if sources.stdin:
        try:
            yield from read(pending_work(cast(BinaryIO, stdin)), "standard input")
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
            raise SnapshotError(problem, where="standard input", fix="check what is piped into it") from None
