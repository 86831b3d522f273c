"""Where text goes, and with what colour: results to stdout, talk to stderr, plans to a file at once or not at all.

Of files that are there already only those are replaced that this tool wrote, and of the same sort.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

from kstream_plan.errors import KstreamPlanError, UsageError
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.text.escape import printable, to_encoding
from kstream_plan.snapshots.files.content import unpacked

#: What ``--color`` takes.
MODES = AUTO, ALWAYS, NEVER = ("auto", "always", "never")

_mode = AUTO


def set_color_mode(mode: str) -> None:
    """Set what ``--color`` says, for this command line."""
    global _mode  # noqa: PLW0603 - one command line a process, as for the standard streams themselves
    _mode = mode


def color_mode() -> str:
    """Return what ``--color`` says."""
    return _mode


def takes_color(stream: IO[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if text for this stream may have colour.

    An explicit mode wins. Else ``NO_COLOR`` turns colour off and ``FORCE_COLOR`` turns it on, each unless it is empty;
    without them a terminal has colour unless it is a dumb one.
    """
    if _mode != AUTO:
        return _mode == ALWAYS
    if environment.get("NO_COLOR"):
        return False
    return bool(environment.get("FORCE_COLOR")) or (stream.isatty() and environment.get("TERM") != "dumb")


#: How a target file begins, or a ConfigMap with one: groups may follow it.
_OF_A_TARGET = re.compile(
    r"format=1\nplan=[0-9a-f]{12} | apiVersion:\ v1\nkind:\ ConfigMap\nmetadata:\n.*\n\ \ target\.properties:",
    re.DOTALL | re.VERBOSE,
)
#: How a report or a scenario begins that was written here; of a page only what follows is its own.
_OF_A_REPORT = re.compile(
    r"""<!DOCTYPE\ html>.*<body\ class="kp\b | <svg\b[^>]*\ class="kp" | <!--\ kstream-plan\b
    | ::(?:error|warning|notice)\b | <\?xml[^>]*>\s*<testsuites\ name="kstream-plan\b | \#\ restarts\ of\b""",
    re.DOTALL | re.VERBOSE,
)

#: What stands below a summary of several applications.
ONE_IN_FULL = "\nOne of them in full: --application-id ID; all of them: --verbose\n"


class Sort(StrEnum):
    """What is written: files of one sort replace no others."""

    SNAPSHOT = "snapshot"
    ANSWER = "answer of this tool"
    TARGET = "target file"


def check_replaced(path: Path, place: str, sort: Sort) -> None:
    """Check that a file which is to be written replaces nothing but what this tool wrote, of the same sort."""
    if not path.is_file() or not path.stat().st_size:
        return
    if not any(_is_of(sort, read(path)) for read in (_first_line, _text)):
        message = f"is there already, and is no {sort}: it is not replaced"
        raise KstreamPlanError(message, where=place, fix="name another file, or move this one away")


def _is_of(sort: Sort, text: str) -> bool:
    if sort is Sort.TARGET:
        return _OF_A_TARGET.match(text) is not None
    is_snapshot = sort is Sort.SNAPSHOT
    return _is_json(text, snapshots=is_snapshot) or (not is_snapshot and _OF_A_REPORT.match(text) is not None)


def _first_line(path: Path) -> str:
    """Return the first line of a file: of many plans it is one, and all of them are much; empty if it is no text."""
    with suppress(OSError, UnicodeDecodeError), path.open("rb") as file:
        return file.readline().decode("utf-8-sig").lstrip()
    return ""


def _text(path: Path) -> str:
    """Return the text of a file, unzipped; empty if it is none."""
    with suppress(OSError, EOFError, zlib.error, UnicodeDecodeError):
        return unpacked(path.read_bytes(), sys.maxsize).decode("utf-8-sig").lstrip()
    return ""


def _is_json(text: str, *, snapshots: bool) -> bool:
    first = _first(text)
    kind = first.get("kind")
    if snapshots:
        return kind is None and "application_id" in first and "instances" in first
    return isinstance(kind, str) and "format_version" in first


def _first(text: str) -> dict[str, Any]:
    """Return the first document of a JSON text; empty if it has none."""
    with suppress(ValueError, RecursionError):
        value, _ = json.JSONDecoder().raw_decode(text)
        value = value[0] if isinstance(value, list) and value else value
        return value if isinstance(value, dict) else {}
    return {}


class OutputForm(StrEnum):
    """What stdout shows."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


class Page(NamedTuple):
    """How wide stdout is, and whether it takes colour."""

    width: int
    colour: bool


#: So many signs of a line may be a column wider where they have to be ASCII.
_WIDER_SIGNS = 3


def page() -> Page:
    """Return the width of the terminal, else ``COLUMNS`` or 80, and whether stdout takes colour.

    Where stdout has no arrows, the width leaves room for their wider forms.
    """
    wider = 0 if to_encoding("→", sys.stdout.encoding or "utf-8") == "→" else _WIDER_SIGNS
    if sys.stdout.isatty():
        width = shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns
    else:
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdigit() and int(columns) else DEFAULT_WIDTH
    return Page(width - wider, takes_color(sys.stdout))


def write_stdout(text: str) -> None:
    """Write a result to stdout; if nobody reads it any more, be quiet."""
    try:
        sys.stdout.write(to_encoding(text, sys.stdout.encoding or "utf-8"))
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
    except OSError as error:
        _discard(sys.stdout)
        raise _write_error(error) from error


def not_written(error: OSError) -> int:
    """Say that stdout could not be written to, unless nobody reads it any more, and return the exit code."""
    _discard(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return 0
    failure = _write_error(error)
    write_stderr(f"error: {failure}")
    return failure.exit_code


def _write_error(error: OSError) -> KstreamPlanError:
    return KstreamPlanError(
        f"cannot be written: {error.strerror or error}", where="standard output", fix="check the disk"
    )


def write_stderr(text: str) -> None:
    """Write a message for people to stderr, names in it made harmless."""
    lines = "\n".join(printable(line) for line in text.removesuffix("\n").split("\n"))
    try:
        sys.stderr.write(to_encoding(f"kstream-plan: {lines}\n", sys.stderr.encoding or "utf-8"))
        sys.stderr.flush()
    except OSError:  # there is nobody to tell
        _discard(sys.stderr)


def warn(messages: Iterable[str]) -> None:
    """Write warnings to stderr."""
    for message in messages:
        write_stderr(f"warning: {message}")


def _discard(stream: IO[str]) -> None:
    """Point stdout or stderr at nothing, so that neither later writes nor Python's last flush fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def check_target(path: Path, option: str = "--out", sort: Sort = Sort.ANSWER) -> None:
    """Check before the work that ``path``, given by ``option``, can be written after it, with a file of this sort."""
    if str(path) == "-":
        fix = "name a file, such as /dev/stdout"
        raise UsageError(f"{option} takes a file, and - stands for none", fix=fix)
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        message = f"cannot be written to: {error.strerror or error}"
        raise KstreamPlanError(message, where=f"{option} {path}", fix="choose another place") from None
    folder = path.resolve().parent
    if path.is_dir():
        raise KstreamPlanError("is a folder", where=f"{option} {path}", fix="name a file in it")
    if not folder.is_dir():
        raise KstreamPlanError("its folder does not exist", where=f"{option} {path}", fix=f"create {folder}")
    if not _is_special(path) and not os.access(folder, os.W_OK):
        raise KstreamPlanError("its folder cannot be written to", where=f"{option} {path}", fix="choose another place")
    check_replaced(path, f"{option} {path}", sort)


@contextmanager
def written_at_once(path: Path) -> Iterator[IO[str]]:
    """Give a text file to write to, as :func:`bytes_written_at_once` does."""
    with bytes_written_at_once(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield text
        text.flush()
        text.detach()


@contextmanager
def bytes_written_at_once(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to that replaces ``path`` in one step at the end, and leaves it as it was on any error.

    What is no regular file, as ``/dev/stdout``, gets all of it at the end.
    """
    try:
        if _is_special(path):
            with tempfile.TemporaryFile() as file:
                yield file
                file.seek(0)
                with path.open("wb") as special:
                    shutil.copyfileobj(file, special)
            return
        with _atomic_file(path.resolve()) as file:
            yield file
    except OSError as error:
        raise KstreamPlanError(
            f"cannot be written: {error.strerror or error}",
            where=str(path),
            fix="check the disk, or choose another place",
        ) from error


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


@contextmanager
def _atomic_file(path: Path) -> Iterator[BinaryIO]:
    mode = path.stat().st_mode if path.exists() else 0o666 & ~_umask()
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode & 0o777)
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
