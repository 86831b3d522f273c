"""Which files are meant and what is in them, found out before Spark starts.

Paths on this machine are expanded, checked and looked into here; a path with another scheme (``s3a://…``, ``hdfs://…``)
goes to Spark as it is. Nothing here imports Spark.
"""

from __future__ import annotations

import gzip
import json
import logging
import os
import re
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from glob import has_magic, iglob
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias, cast
from urllib.parse import unquote, urlparse

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.files.content import (
    BYTES_A_VALUE,
    TooLargeError,
    at_hand,
    counted_json,
    fetched,
    limits,
    pending_work,
    size_limited,
)
from kstream_plan.snapshots.files.kinds import (
    HEAD_BYTES,
    SAVED_PLAN,
    SNAPSHOT,
    BrokenFileError,
    Head,
    file_kind,
    unreadable,
    unzipped_head,
)
from kstream_plan.snapshots.rows.fields import printable, shown
from kstream_plan.snapshots.rows.json_text import WRITTEN, kind_of

#: Tells from the beginning of a file whether it is plainly a log, which is read elsewhere.
IsALog: TypeAlias = Callable[[bytes], bool]

#: What is in the logs of Kafka Connect's workers.
OF_A_WORKER = b"[Worker clientId="
#: Standard input among the paths.
STDIN = "-"

#: How a Parquet file begins.
PARQUET_MAGIC = b"PAR1"
#: How many bytes stand after the footer of a Parquet file: its length and the magic number.
_PARQUET_END_BYTES = 8
#: How many times its size a packed file unpacks to at most (zlib's own figure).
_MOST_DEFLATED = 1032
_BLOCK_BYTES = 1 << 20
#: How names of policies, settings, texts, pictures and programs end.
_OF_ANOTHER_KIND = (".yaml", ".yml", ".properties", ".md", ".rst", ".html", ".svg", ".png", ".pdf", ".py", ".sh")
_UTF8_MARK = b"\xef\xbb\xbf"

_PLAIN_PATH = re.compile(r"/[\w./=+@-]*", re.ASCII)
_UNZIPPED_BY_SPARK = {".gz", ".bz2", ".deflate", ".lz4", ".snappy", ".xz", ".zst", ".zstd"}

_LOG = logging.getLogger(__name__)
_EMPTY_FIX = "give a file that is not empty"


class Form(StrEnum):
    """What a file holds."""

    #: One JSON object per line.
    LINES = "JSON Lines"
    #: One JSON object, or an array of them, over the whole file.
    DOCUMENT = "JSON"
    PARQUET = "Parquet"


class LocalFile(NamedTuple):
    """One file on this machine; ``name`` is how people know it (``standard input``, for a spooled one)."""

    path: str
    name: str


class Input(NamedTuple):
    """One file for Spark: the path it opens, the name people know it by, and what it holds.

    ``long_rows``: it is JSON on this machine with rows so long that Java, which copies a row in every step, would need
    many times their size.
    """

    path: str
    name: str
    form: Form
    long_rows: bool = False


class Paths(NamedTuple):
    """What is to be read: files on this machine, sorted and each once, and paths that only Spark can look at."""

    local: tuple[LocalFile, ...]
    remote: tuple[str, ...]
    stdin: bool


def check_paths(paths: Sequence[str]) -> Paths:
    """Expand paths, folders and globs, and check that each leads to at least one file that is not empty.

    In a folder of any depth, files whose names begin with ``.`` or ``_`` and empty files are left out, as in Spark.
    Links are followed, each folder is walked through once. This module's logger warns of a link that leads nowhere, in
    a folder or among the matches of a pattern, and of an empty file in a folder.

    Raises:
        SnapshotError: a path that does not exist, matches nothing, is empty, or is a device.
    """
    files_by_identity: dict[tuple[int, int], LocalFile] = {}
    remote = []
    for path in paths:
        if path == STDIN:
            continue
        local = local_path(path)
        if local is None:
            copies = [LocalFile(copy, name) for name, copy in fetched(path).items()]
            files_by_identity.update({_identity(file.path): file for file in copies})
            remote += [] if copies else [path]
            continue
        for file in _expanded(local):
            files_by_identity.setdefault(_identity(file), LocalFile(os.path.abspath(file), file))
    return Paths(tuple(sorted(files_by_identity.values())), tuple(sorted(set(remote))), STDIN in paths)


def is_of_another_kind(file: LocalFile) -> bool:
    """Tell whether a file is by its name what this tool reads as something else, and neither JSON nor Parquet."""
    if Path(file.path).suffix.lower() not in _OF_ANOTHER_KIND:
        return False
    try:
        return not read_head(file).content.lstrip().startswith((b"{", b"[", PARQUET_MAGIC))
    except BrokenFileError:
        return False


def _identity(file: str) -> tuple[int, int]:
    status = os.stat(file)
    return status.st_dev, status.st_ino


def local_path(path: str) -> str | None:
    """Return where ``path`` is on this machine, ``None`` if its scheme leads elsewhere.

    Raises:
        SnapshotError: it is no URI, but looks like one.
    """
    if "://" not in path and not path.startswith("file:"):
        return path
    try:
        url = urlparse(path)
    except ValueError as error:
        raise SnapshotError(f"is no path: {error}", where=printable(path), fix="correct it") from None
    return unquote(url.path) if url.scheme == "file" else None


def spool(stream: BinaryIO, folder: Path) -> LocalFile:
    """Save what ``stream`` (standard input) still holds as a file in ``folder``.

    Raises:
        SnapshotError: there is nothing in it, or it cannot be read.
    """
    path = folder / "standard-input"
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(size_limited(pending_work(stream)), file)
    except OSError as error:
        raise unreadable("standard input", error, "check what is piped into it") from None
    if path.stat().st_size == 0:
        raise SnapshotError("is empty", where="standard input", fix="pipe a snapshot into it")
    return LocalFile(str(path), "standard input")


def local_input(file: LocalFile, folder: Path, number: int, is_a_log: IsALog) -> Input:
    """Check a file and make it ready for Spark, which goes by the name of a file and not by its content.

    A name that Spark would take for a pattern, pass over, or unzip when it should not (and the other way round) is
    replaced by a link in ``folder``, named after ``number``.

    Raises:
        BrokenFileError: it cannot be read, is neither JSON nor Parquet, or is a document of this tool.
    """
    file = _rereadable(file)
    head = read_head(file)
    kind = kind_of(head.content)
    if kind is not None:
        description, fix = WRITTEN[kind]
        raise BrokenFileError(file.name, f"is {description}, not a snapshot", fix)
    if head.zipped:
        _check_unpacked(file)
    form = form_of(head, file.name, is_a_log)
    if form is Form.PARQUET:
        _check_end(file)
    long_rows = form is not Form.PARQUET and not head.zipped and _is_long(head.content, form)
    suffix = Path(file.path).suffix
    is_plain = means_itself(file.path) and not Path(file.path).name.startswith((".", "_"))
    if is_plain and (form is Form.PARQUET or (suffix == ".gz" if head.zipped else suffix not in _UNZIPPED_BY_SPARK)):
        return Input(file.path, file.name, form, long_rows)
    link = folder / f"{number:06d}.{'parquet' if form is Form.PARQUET else 'json'}{'.gz' if head.zipped else ''}"
    link.symlink_to(file.path)
    return Input(str(link), file.name, form, long_rows)


def _check_unpacked(file: LocalFile) -> None:
    """Check that a packed file unpacks to no more than the limit of packed files: Spark has none.

    Raises:
        BrokenFileError: it unpacks to more.
    """
    if os.path.getsize(file.path) * _MOST_DEFLATED <= limits().packed_bytes // BYTES_A_VALUE:
        return
    try:
        with gzip.open(file.path) as unpacked, counted_json(cast(BinaryIO, unpacked)) as stream:
            while stream.read(_BLOCK_BYTES):
                pass
    except TooLargeError as error:
        raise unreadable(file.name, error, "check the file, or raise --set max.text") from None
    except (EOFError, OSError, zlib.error):
        pass  # what is damaged is told when it is read


def means_itself(path: str) -> bool:
    """Tell whether a path means itself to Spark: it is no pattern, no list, and spelled alike in a URI."""
    return _PLAIN_PATH.fullmatch(path) is not None


def _check_end(file: LocalFile) -> None:
    """Check that a Parquet file is whole: Spark would say so of one file at a time, and read all others again.

    Raises:
        BrokenFileError: it does not end as such files do, with the length of what stands before and the magic number.
    """
    try:
        with open(file.path, "rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - _PARQUET_END_BYTES))
            end = stream.read()
    except OSError as error:
        raise unreadable(file.name, error) from None
    footer_bytes = int.from_bytes(end[:4], "little")
    if not end.endswith(PARQUET_MAGIC) or footer_bytes + _PARQUET_END_BYTES + len(PARQUET_MAGIC) > size:
        raise BrokenFileError(file.name, "begins like Parquet but is not a whole Parquet file", "copy it again")


def _is_long(head: bytes, form: Form) -> bool:
    """Tell by its beginning whether what Spark would take for one text, a line or a document, is longer than that."""
    return len(head) == HEAD_BYTES and (form is Form.DOCUMENT or b"\n" not in head)


def _rereadable(file: LocalFile) -> LocalFile:
    """Return a file that can be read again: of a pipe, a copy."""
    try:
        return file._replace(path=at_hand(file.path))
    except OSError as error:
        raise unreadable(file.name, error) from None


def read_head(file: LocalFile) -> Head:
    """Return the beginning of a file, unzipped.

    Raises:
        BrokenFileError: it cannot be opened or unzipped.
    """
    try:
        with open(file.path, "rb") as stream:
            return unzipped_head(stream.read(HEAD_BYTES), file.name)
    except OSError as error:
        raise unreadable(file.name, error) from None


def form_of(head: Head, name: str, is_a_log: IsALog) -> Form:
    """Return the form of a file, by its beginning.

    Raises:
        BrokenFileError: it is empty, or neither JSON nor Parquet.
    """
    if head.content.startswith(PARQUET_MAGIC):
        if head.zipped:
            raise BrokenFileError(name, "is Parquet inside gzip", "unzip it: Parquet compresses by itself")
        return Form.PARQUET
    text = head.content.removeprefix(_UTF8_MARK).lstrip()
    if not text:
        problem = "is empty" if len(head.content) < HEAD_BYTES else "begins with blanks only"
        raise BrokenFileError(name, problem, _EMPTY_FIX)
    if b'"application_id"' not in text and is_a_log(text):
        log = STDIN if name == "standard input" else printable(name)
        fix = f"make a snapshot of it: kstream-plan snapshot {log} | kstream-plan assign -"
        raise BrokenFileError(name, "this is a log, not a snapshot", fix)
    kind = file_kind(text)
    if kind not in (None, SAVED_PLAN, SNAPSHOT):
        raise BrokenFileError(name, f"this is {kind.name}, not a snapshot", kind.fix)
    if text[:1] not in (b"{", b"["):
        problem = f"is neither JSON nor Parquet: it begins with {shown(text[:20])[1:]}"
        raise BrokenFileError(name, problem, "give JSON, JSON Lines (gzip or not) or Parquet")
    return Form.LINES if text[:1] == b"{" and _first_line_is_whole(text) else Form.DOCUMENT


def _first_line_is_whole(text: bytes) -> bool:
    """Tell JSON Lines from a document over several lines; a line longer than the head is taken for a whole one."""
    line, newline, _ = text.partition(b"\n")
    if not newline:
        return True
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _expanded(path: str) -> list[str]:
    place = printable(path) or "''"
    if os.path.isdir(path):
        files = _files_below(path)
        if not files:
            raise SnapshotError(
                "is a folder without a file to read", where=place, fix="name a folder that has files in it"
            )
        return files
    if os.path.exists(path):
        status = os.stat(path)
        if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode) or stat.S_ISSOCK(status.st_mode):
            raise SnapshotError("is a device, not a file", where=place, fix="name a file, or - for standard input")
        if not status.st_size and stat.S_ISREG(status.st_mode):
            raise SnapshotError("is empty", where=place, fix=_EMPTY_FIX)
        return [path]
    if not has_magic(path):
        problem = "is a link that leads nowhere" if os.path.islink(path) else "does not exist"
        raise SnapshotError(problem, where=place, fix="check the path")
    matches = sorted(_matches(path))
    if not matches:
        raise SnapshotError("matches no file", where=place, fix="check the pattern, and quote it for the shell")
    return [file for match in matches if _is_there(match) for file in _expanded(match)]


def _files_below(folder: str) -> list[str]:
    """Return the files of a folder that Spark would read, in the order of their names, folder by folder."""
    return [
        os.path.join(parent, name)
        for parent, _, files in _walk(folder, hidden_prefixes=(".", "_"))
        for name in files
        if _is_there(os.path.join(parent, name)) and _holds_something(os.path.join(parent, name))
    ]


def _matches(pattern: str) -> Iterator[str]:
    """Yield the matches of a pattern; ``**`` is any number of folders, each of which is walked through once."""
    parts = pattern.split("/")
    if "**" not in parts:
        yield from iglob(pattern)
        return
    index = parts.index("**")
    for folder in iglob("/".join(parts[:index]) or ("/" if index else ".")):
        for parent, folders, files in _walk(folder, hidden_prefixes=(".",)):
            for name in (*folders, *files):
                path = os.path.join(parent, name)
                if _fits(os.path.relpath(path, folder).split("/"), parts[index:]):
                    yield path


def _fits(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Tell whether a path, name by name, is what the parts of a pattern stand for."""
    if not parts:
        return not names
    if parts[0] == "**":
        return any(_fits(names[skipped:], parts[1:]) for skipped in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], parts[0]) and _fits(names[1:], parts[1:])


def _walk(folder: str, *, hidden_prefixes: tuple[str, ...]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield every folder below one with the names in it, sorted, without those that begin with a hidden prefix.

    Links to folders are followed, but no folder is walked through twice: a link may lead back up.

    Raises:
        SnapshotError: one cannot be read.
    """
    visited = set()
    for parent, folders, files in os.walk(folder, onerror=_raise_unreadable, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith(hidden_prefixes))
        yield parent, list(folders), sorted(name for name in files if not name.startswith(hidden_prefixes))
        status = os.stat(parent)
        visited.add((status.st_dev, status.st_ino))
        inside = [(name, os.stat(os.path.join(parent, name))) for name in folders]
        fresh = [
            (name, inner_status)
            for name, inner_status in inside
            if (inner_status.st_dev, inner_status.st_ino) not in visited
        ]
        visited.update((inner_status.st_dev, inner_status.st_ino) for _, inner_status in fresh)
        folders[:] = [name for name, _ in fresh]


def _raise_unreadable(error: OSError) -> None:
    """Raise an error about a folder that cannot be read: its files would be missing without a word."""
    raise unreadable(error.filename, error, "check the folder") from None


def _is_there(path: str) -> bool:
    """Tell whether a path exists; warn of a link that leads nowhere."""
    if os.path.exists(path):
        return True
    _LOG.warning("%s is a link that leads nowhere: it is passed over", printable(path))
    return False


def _holds_something(path: str) -> bool:
    """Tell whether a file is not empty; warn of an empty one, which may be the rest of a snapshot."""
    if os.stat(path).st_size:
        return True
    if not may_be_empty(path):
        _LOG.warning("%s is empty: it is passed over", printable(path))
    return False


def may_be_empty(path: str) -> bool:
    """Tell whether a file is one that Spark writes, which has no rows for some."""
    return os.path.basename(path).startswith("part-")
