"""The content of files, pipes and standard input that are read here and not by Spark: all of it, and no more than that.

A device is refused; the wait for a silent pipe and the text of one input are limited. Errors are those of the system,
by the ``strerror`` of an :class:`OSError`: the caller knows the place and the fix. What is read in pieces waits in a
temporary folder; those that a killed command has left behind are deleted.
"""

from __future__ import annotations

import codecs
import errno
import fcntl
import gzip
import io
import os
import re
import select
import shutil
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.spark.signals import signals_afterwards

#: How a gzip file begins.
GZIP_MAGIC = b"\x1f\x8b"
#: How much of a file of settings, a policy or a scenario is read; they are kept whole, and have a few lines.
SETTINGS_BYTES = 64 << 20
#: The fewest bytes per value of packed JSON that is read: in memory each value takes many times that.
BYTES_A_VALUE = 8

_BLOCK_BYTES = 1 << 20
#: Signs that no text has: such data are of another kind.
_NO_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ESCAPED = re.compile(r"&(?:gt|lt|amp|quot|apos|nbsp|#39|#34|#x27|#x2F);")


class Limits(NamedTuple):
    """What of one input is waited for and read.

    ``wait_ms``: for how long a silent pipe or broker is waited for.
    ``text_bytes``: the most text, unpacked.
    ``packed_bytes``: the most text that a packed plan or snapshot may unpack to: they come from pull requests.
    """

    wait_ms: int = 15_000
    text_bytes: int = 4 << 30
    packed_bytes: int = 256 << 20


@dataclass(slots=True)
class _Command:
    """What holds as long as one command runs: its limits, copies of the pipes that it has read, and of files elsewhere.

    ``fetched`` are those, by the path that they were fetched for: the name of each, and its copy.
    """

    limits: Limits
    copies: dict[tuple[int, int], str | OSError] = field(default_factory=dict)
    fetched: dict[str, Mapping[str, str]] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)


_command: ContextVar[_Command | None] = ContextVar("_command", default=None)


@contextmanager
def reading_within(limits: Limits | None = None) -> Iterator[None]:
    """Let these limits hold, and a pipe be read more than once, until the end of the context.

    Without limits those that hold go on, or the usual ones begin.
    """
    if limits is None and _command.get() is not None:
        yield
        return
    command = _Command(limits or Limits())
    token = _command.set(command)
    try:
        with command.stack:
            yield
    finally:
        _command.reset(token)


def limits() -> Limits:
    """Return the limits that hold."""
    command = _command.get()
    return Limits() if command is None else command.limits


def keep_fetched(path: str, copies: Mapping[str, str]) -> None:
    """Know files of another file system by their names from now on: copies of what is under ``path`` are here."""
    command = _command.get()
    assert command is not None
    command.fetched[path] = copies


def fetched(path: str) -> Mapping[str, str]:
    """Return the names of files of another file system that are under ``path``, and their copies, if they are here."""
    command = _command.get()
    return {} if command is None else command.fetched.get(path, {})


def at_hand(path: str | Path) -> str:
    """Return a path that can be opened again and again: of a pipe, that of a copy.

    So is that of a file fetched from another file system.

    Outside of :func:`reading_within` nothing is copied, and a pipe can be read once.

    Raises:
        OSError: it is a device or a socket, does not exist, or is a pipe without a writer.
    """
    command = _command.get()
    for copies in () if command is None else command.fetched.values():
        if str(path) in copies:
            return copies[str(path)]
    status = os.stat(path)
    if _is_device(status):
        raise OSError(errno.EINVAL, "it is a device, not a file")
    if not stat.S_ISFIFO(status.st_mode) or command is None:
        return str(path)
    key = status.st_dev, status.st_ino
    if key not in command.copies:
        try:
            command.copies[key] = _copy(str(path), command.stack.enter_context(temporary_folder()))
        except OSError as error:
            command.copies[key] = error
    copy = command.copies[key]
    if isinstance(copy, OSError):
        raise copy
    return copy


def read_file(path: str | Path, most_bytes: int | None = None) -> bytes:
    """Return what a file or pipe holds, packed as it is.

    Raises:
        OSError: it cannot be read, as of :func:`at_hand`, or is larger than ``most_bytes``, by default the limit.
    """
    with open(at_hand(path), "rb") as stream:
        return _read(stream, limits().text_bytes if most_bytes is None else most_bytes)


def standard_input(stream: BinaryIO | None = None) -> bytes:
    """Return the rest of standard input, or of the stream in its place.

    Raises:
        SnapshotError: no process writes to it, it cannot be read, or it holds more than the limit.
    """
    try:
        return _read(pending_work(stream or sys.stdin.buffer), limits().text_bytes)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise SnapshotError(problem, where="standard input", fix="check what is piped into it") from None


def pending_work(stream: BinaryIO) -> BinaryIO:
    """Return a stream as soon as it has content, or has ended.

    Raises:
        OSError: it is a pipe without a writer, or a device.
    """
    try:
        number = stream.fileno()
        status = os.fstat(number)
    except (OSError, ValueError, AttributeError):
        return stream  # it stands in for standard input
    if _is_device(status) and not os.isatty(number) and status.st_rdev != os.stat(os.devnull).st_rdev:
        raise OSError(errno.EINVAL, "it is a device, not a file")
    if stat.S_ISFIFO(status.st_mode):
        _wait(number)
    return stream


def size_limited(stream: BinaryIO) -> BinaryIO:
    """Return the stream as one that fails with :class:`TooLargeError` beyond the limit of text."""
    return cast(BinaryIO, io.BufferedReader(_SizeLimited(stream, limits().text_bytes), _BLOCK_BYTES))


def counted_json(stream: BinaryIO, most_bytes: int | None = None) -> BinaryIO:
    """Return the same for JSON: beyond a limit, by default that of packed files, of text or of the values in it."""
    most_bytes = limits().packed_bytes if most_bytes is None else most_bytes
    return cast(
        BinaryIO, io.BufferedReader(_SizeLimited(stream, most_bytes, most_bytes // BYTES_A_VALUE), _BLOCK_BYTES)
    )


def within_limit(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield blocks of text, up to the limit.

    Raises:
        TooLargeError: there is more.
    """
    most_bytes, size = limits().text_bytes, 0
    for block in blocks:
        size += len(block)
        if size > most_bytes:
            raise TooLargeError(most_bytes)
        yield block


def unpacked(data: bytes, most_bytes: int | None = None) -> bytes:
    """Return data as they are, or what they are when gzip is taken off.

    Raises:
        TooLargeError: they hold more text than ``most_bytes``, by default the limit of packed files, or more values
            than that much JSON has.
        OSError: they are damaged.
        EOFError: they end too early.
        zlib.error: they are damaged.
    """
    if not data.startswith(GZIP_MAGIC):
        return data
    return counted_json(cast(BinaryIO, gzip.GzipFile(fileobj=io.BytesIO(data))), most_bytes).read()


def text_in(data: bytes) -> str:
    """Return the text of data: gzip is taken off; UTF-16 is known by its mark, as PowerShell writes it, else UTF-8.

    What is neither, and has the signs of a text alone, is Latin-1, as Windows writes it.

    Raises:
        OSError: they are none of these, or damaged, or hold more than a file of settings may.
    """
    plain = unzipped_text(data)
    try:
        return decoded(plain)
    except UnicodeDecodeError:
        if plain.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _NO_TEXT.search(plain):
            raise OSError(errno.EINVAL, "it is not UTF-8") from None
        return plain.decode("cp1252", "replace")


def uncoloured(text: str) -> str:
    """Return a text without what colours it on a terminal."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def unescaped(text: str) -> str:
    """Return a text with the signs that HTML writes as ``&gt;`` and so on, also if they were escaped twice."""
    for _ in range(2):
        if _ESCAPED.search(text) is None:
            return text
        import html  # noqa: PLC0415 - has a table of 2,000 names, and few texts need one

        text = _ESCAPED.sub(lambda match: html.unescape(match[0]), text)
    return text


def unzipped_text(data: bytes) -> bytes:
    """Return data as they are, or what they are when gzip is taken off.

    Raises:
        OSError: they are damaged, or hold more than a file of settings may.
    """
    try:
        return unpacked(data, SETTINGS_BYTES)
    except (EOFError, zlib.error) as error:
        raise OSError(errno.EINVAL, f"it is damaged: {error}") from None


def decoded(data: bytes) -> str:
    """Return the text of data in UTF-16, if they begin with its mark, else in UTF-8.

    Raises:
        UnicodeDecodeError: they are neither.
    """
    return data.decode("utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig")


class TooLargeError(OSError):
    """An input holds more than ``most_bytes``, or more values than JSON of that size has."""

    def __init__(self, most_bytes: int, *, in_values: bool = False) -> None:
        option = "" if most_bytes == SETTINGS_BYTES else " (--set max.text)"
        most = f"{most_bytes // BYTES_A_VALUE:,} values" if in_values else f"{_size(most_bytes)} of text"
        super().__init__(errno.EFBIG, f"it holds more than {most}{option}")


def _read(stream: BinaryIO, most_bytes: int) -> bytes:
    content = io.BytesIO()
    while block := stream.read(_BLOCK_BYTES):
        if content.tell() + len(block) > most_bytes:
            raise TooLargeError(most_bytes)
        content.write(block)
    return content.getvalue()


def _is_device(status: os.stat_result) -> bool:
    mode = status.st_mode
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode)


def _copy(path: str, folder: Path) -> str:
    """Copy the content of a pipe; without ``O_NONBLOCK`` opening alone would wait for a writer."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(number, "rb") as pipe, (folder / "pipe").open("wb") as file:
        _wait(number)
        os.set_blocking(number, True)
        shutil.copyfileobj(size_limited(pipe), file)
    return file.name


def _wait(number: int) -> None:
    wait_ms = limits().wait_ms
    poll = select.poll()
    poll.register(number, select.POLLIN)
    if not poll.poll(wait_ms):
        seconds = f"{wait_ms / 1000:g}"
        raise OSError(errno.ETIMEDOUT, f"no data has arrived in this pipe within {seconds} s (--set timeout)")


def _size(size: int) -> str:
    for unit, unit_bytes in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= unit_bytes:
            return f"{size / unit_bytes:g} {unit}"
    return f"{size} bytes"


class _SizeLimited(io.RawIOBase):
    """A stream that fails beyond a number of bytes, or of JSON values that begin in them."""

    def __init__(self, stream: BinaryIO, most_bytes: int, most_values: int | None = None) -> None:
        super().__init__()
        self._stream = stream
        self._most = self._bytes_left = most_bytes
        self._values_left = most_values

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._stream.read(min(len(memoryview(buffer)), _BLOCK_BYTES))
        self._bytes_left -= len(block)
        if self._bytes_left < 0:
            raise TooLargeError(self._most)
        if self._values_left is not None:
            self._values_left -= sum(map(block.count, (b",", b"[", b"{")))
            if self._values_left < 0:
                raise TooLargeError(self._most, in_values=True)
        memoryview(buffer)[: len(block)] = block
        return len(block)


_PREFIX = "kstream-plan-"
#: Holds a lock as long as the folder is used, which the system releases whenever and however the process ends.
_LOCK = ".in-use"
#: A folder younger than this may be one that is just being made, and has no lock yet.
_YOUNG_SECONDS = 60


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a new folder that is deleted with its context; delete those of ours whose process was killed."""
    _delete_left_behind()
    with signals_afterwards():
        folder = tempfile.TemporaryDirectory(prefix=_PREFIX)
        lock = os.open(Path(folder.name, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield Path(folder.name)
    finally:
        with signals_afterwards():  # one that came within the deletion would leave the rest
            os.close(lock)
            folder.cleanup()


def _delete_left_behind() -> None:
    """Delete the folders of this user that no process uses any more."""
    with suppress(OSError):
        for folder in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")):
            with suppress(OSError):
                status = folder.lstat()
                if status.st_uid == os.getuid() and time.time() - status.st_mtime > _YOUNG_SECONDS:
                    _delete_if_unused(folder)


def _delete_if_unused(folder: Path) -> None:
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
