"""What holds of every input, however broken: an answer or one clear error, nothing left behind, in time and memory."""

from __future__ import annotations

import atexit
import io
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kstream_plan.cli import run
from kstream_plan.errors import KstreamPlanError, PlanInvariantError

#: What every reader is told that its input is called: an error has to name it.
NAME = "input.file"
_EXIT_CODES = {0, 1, 2, 3, 4, 5}
#: So much time and memory may anything take, and so much more for each byte. Two hundred draws of a simulation take
#: 14 s, twice that on a slow machine; what hangs takes hours.
_SECONDS, _SECONDS_EACH = 60.0, 50e-6
_KIB, _KIB_EACH = 150_000, 1.0
#: So much beside an unfinished answer would be a torn one.
_OURS = "kstream-plan: "
#: How each other mistake of the same file begins.
_OTHER = "  also: "


class Broken(Exception):  # noqa: N818 - it is not the tool's
    """What should hold does not."""


class Input(NamedTuple):
    """One input: what a file holds, and the words of a command line, if it is one."""

    content: bytes
    arguments: tuple[str, ...] = ()


class Answer(NamedTuple):
    """What a command has answered."""

    code: int
    out: str
    err: str


def check(run_one: Callable[[Input], object], given: Input) -> str | None:
    """Return what is wrong with how an input is taken, ``None`` if nothing is."""
    started, before = time.process_time(), peak_kib()
    wrong = _outcome(run_one, given)
    size = len(given.content)
    if wrong is None and (took := time.process_time() - started) > _SECONDS + _SECONDS_EACH * size:
        return f"it took {took:.1f} s of {size} bytes"
    if wrong is None and (grown := peak_kib() - before) > _KIB + _KIB_EACH * size:
        return f"it took {grown / 1024:.0f} MiB of {size} bytes"
    return wrong


def _outcome(run_one: Callable[[Input], object], given: Input) -> str | None:
    try:
        run_one(given)
    except Broken as broken:
        return str(broken)
    except PlanInvariantError as error:
        return f"a plan that breaks an invariant: {error}"
    except KstreamPlanError as error:
        return _unclear(str(error))
    except (Exception, SystemExit) as error:
        return f"a traceback: {type(error).__name__}: {str(error)[:300]}"
    return None


def _unclear(message: str) -> str | None:
    if "\n" in message:
        return f"an error of several lines: {message!r}"
    if len(message) > 5_000:
        return f"an error of {len(message)} characters: {message[:200]!r}"
    return None


def named(reader: Callable[[Input], object]) -> Callable[[Input], object]:
    """Return the reader as one whose errors have to name the file."""

    def run_one(given: Input) -> object:
        try:
            return reader(given)
        except KstreamPlanError as error:
            if not isinstance(error, PlanInvariantError) and NAME not in str(error):
                raise Broken(f"an error that does not name the file: {error}") from error
            raise

    return run_one


def answered(arguments: Sequence[str], files: Mapping[str, bytes], stdin: bytes = b"") -> Answer:
    """Run a command line in a folder that holds these files, and check what holds of every one.

    Raises:
        Broken: something does not hold.
    """
    with _folder(files) as folder:
        before = _listing(folder)
        with _streams(stdin) as (out, err):
            code = run(arguments)
        answer = Answer(code, out.getvalue().decode(), err.getvalue().decode())
        _check_answer(answer, arguments)
        _check_folder(folder, before, arguments, code)
    return answer


def _check_answer(answer: Answer, arguments: Sequence[str]) -> None:
    if answer.code not in _EXIT_CODES:
        raise Broken(f"exit code {answer.code}")
    if answer.code in (1, 2) and answer.out and not _goes_on(arguments):
        raise Broken(f"exit code {answer.code} and something on stdout: {answer.out[:200]!r}")
    if "Traceback" in answer.err:
        raise Broken(f"a traceback: {answer.err[-300:]}")
    lines = answer.err.splitlines()
    errors = [line for line in lines if line.startswith(f"{_OURS}error: ")]
    if answer.code == 1 and (not errors or (len(errors) != 1 and "keep.going=true" not in arguments)):
        raise Broken(f"exit code 1 and not one error: {answer.err[:500]!r}")
    if answer.code in (0, 3, 4, 5) and errors:
        raise Broken(f"exit code {answer.code} and an error: {errors[0][:300]}")
    if answer.code == 2 and not lines:
        raise Broken("exit code 2 and not a word")
    for line in [*errors, *(line for line in lines if line.startswith(_OTHER))]:
        if (wrong := _unclear(line)) is not None:
            raise Broken(wrong)
        if not line.isprintable():
            raise Broken(f"an error that is not harmless in a terminal: {line!r}")


def _check_folder(folder: Path, before: set[str], arguments: Sequence[str], code: int) -> None:
    writes_a_folder = arguments[0] == "plugin"
    for name in sorted(_listing(folder) - before):
        given = name.partition("/")[0] if writes_a_folder else name
        if not any(given in argument for argument in arguments):
            raise Broken(f"it left {name!r}")
        if code in (1, 2) and "keep.going=true" not in arguments:
            raise Broken(f"exit code {code}, and it wrote {name!r}")
        if writes_a_folder:
            continue
        content = (folder / name).read_bytes()
        if name.endswith(".json") and arguments[0] != "bounce":  # whose scenario is YAML, whatever its file is called
            for line in content.splitlines():
                json.loads(line)


def _listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@contextmanager
def _folder(files: Mapping[str, bytes]) -> Iterator[Path]:
    """Give the folder that the command lines of this process share, with these files in it and nothing else."""
    here, folder = Path.cwd(), _shared_folder()
    for path in folder.iterdir():
        if path.name not in files:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, content in files.items():
        path = folder / name
        if (content, _written(path)) != _kept.get(name):
            path.write_bytes(content)
            _kept[name] = content, _written(path)
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(here)


#: What each file of the shared folder holds, and when it was written.
_kept: dict[str, tuple[bytes, int]] = {}


def _written(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


@cache
def _shared_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def _streams(stdin: bytes) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Put buffers in the place of the standard streams."""
    kept = sys.stdin, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", errors="backslashreplace", write_through=True)
    try:
        yield out, err
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            stream.detach()
        sys.stdin, sys.stdout, sys.stderr = kept


def peak_kib() -> int:
    """Return the most memory that this process has ever had, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _goes_on(arguments: Sequence[str]) -> bool:
    """Tell whether what is wrong with one application does not stop the others."""
    return "keep.going=true" in arguments or arguments[0] == "fleet"
