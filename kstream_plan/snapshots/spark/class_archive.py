"""An archive of Java's classes, with which Spark starts in a third of the time (JEP 310, JEP 350).

Java writes it when a process ends, under a name of its own; the next process gives it its place if it is whole. One
process writes at a time: it holds a lock, which the system releases whenever and however it ends. An archive that is
not of the size it had when it was finished is never used, for Java would die of it; nor is one that somebody else may
have put there, for Java would run what is in it. Without a folder to write to, or
with ``KSTREAM_PLAN_NO_CACHE=1``, everything works as well, only slower.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from kstream_plan.snapshots.spark.find_java import Java

#: Set to 1, nothing is cached.
NO_CACHE_VARIABLE = "KSTREAM_PLAN_NO_CACHE"

#: HotSpot's ``filemap.hpp``: the header begins with one of these, for an archive of its own or on top of another one.
#: It is written last, so a file that has it is finished.
_MAGIC = {order.to_bytes(4, "little") for order in (0xF00BABA2, 0xF00BABA8)}

#: What an archive takes on the disk, with something to spare.
_BYTES_NEEDED = 1 << 29
_UNUSED_DAYS = 30
#: How archives are named.
_WITH_SQL, _WITHOUT = "classes", "core"


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """What Java is told about its archive: ``options`` for its command line.

    ``lock`` is an open file that the Java process has to inherit if it writes the archive, else ``None``; ``folder``
    is where the archives of this Java and this Spark are.
    """

    options: tuple[str, ...] = ()
    lock: int | None = None
    folder: Path | None = None

    def discard(self) -> None:
        """Delete what is there: Java did not start with it."""
        if self.folder is not None:
            for file in self.folder.glob("*.jsa"):
                with suppress(OSError):
                    file.unlink()

    def close(self) -> None:
        """Let go of the lock, once Java has inherited it."""
        if self.lock is not None:
            os.close(self.lock)


NO_ARCHIVE = ClassArchive()


def class_archive(java: Java, jars: Sequence[Path], *, may_write: bool, sql: bool) -> ClassArchive:
    """Return the archive for this Java and these classes; where there is none yet, let Java write it if it may.

    ``sql``: those of Spark SQL are asked for. Loading them for an archive takes half a minute, so one without is
    written for who can do without; an archive with them is as good for that, and one without better than none.
    """
    folder, archive = _folder(java, jars), NO_ARCHIVE
    if folder is None:
        return archive
    lock = _locked(folder / "lock")
    with suppress(OSError, subprocess.SubprocessError):  # no place, no right to write: it works without as well
        if lock is not None:
            _settle(folder)
        archive = _archive(folder, java, lock if may_write else None, _WITH_SQL if sql else _WITHOUT)
    if lock is not None and archive.lock is None:
        os.close(lock)
    return archive


def finish_archives(java: Java, jars: Sequence[Path]) -> list[Path]:
    """Wait until no Java writes an archive for this Java and these classes, and return those that are there."""
    folder = _folder(java, jars)
    if folder is None:
        return []
    with suppress(OSError):
        lock = os.open(folder / "lock", os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _settle(folder)
        finally:
            os.close(lock)
    return [archive for name in (_WITHOUT, _WITH_SQL) for archive in _whole(folder, name)]


def _folder(java: Java, jars: Sequence[Path]) -> Path | None:
    """Return where archives are; ``None``: there may be none."""
    if os.environ.get(NO_CACHE_VARIABLE) == "1":
        return None
    folder = user_cache_path("kstream-plan", appauthor=False) / "class-archives" / _key(java, jars)
    # with two paths in its name Java would take it for two files
    return folder if os.pathsep not in str(folder) and _is_ours(folder) else None


def _archive(folder: Path, java: Java, lock: int | None, name: str) -> ClassArchive:
    """Return the archive that is there, else one that Java is to write if there is a lock and room for it."""
    needs_base = not (java.home / "lib" / "server" / "classes.jsa").exists()
    base = _whole(folder, "base") if needs_base else []
    may_write = lock is not None and shutil.disk_usage(folder).free >= _BYTES_NEEDED
    classes = _whole(folder, name) or _whole(folder, _WITH_SQL) or ([] if may_write else _whole(folder, _WITHOUT))
    if classes and (base or not needs_base):
        return ClassArchive(_options([*base, *classes]), None, folder)
    if not may_write:
        return NO_ARCHIVE
    if needs_base and not base:
        _dump_base(folder, java)
        base = _whole(folder, "base")
    return ClassArchive((*_options(base), f"-XX:ArchiveClassesAtExit={folder / name}.new"), lock, folder)


def _options(archives: Sequence[Path]) -> tuple[str, ...]:
    """Return Java's options for using these; without ``-Xlog`` it would comment on them on standard output."""
    archive_options = [f"-XX:SharedArchiveFile={os.pathsep.join(map(str, archives))}"] if archives else []
    return (*archive_options, "-Xshare:auto", "-Xlog:disable", "-Xlog:all=off")


def _dump_base(folder: Path, java: Java) -> None:
    """Archive the runtime's own classes, for a runtime that comes without (under a second)."""
    command = [str(java.program), "-Xshare:dump", "-XX:+UseG1GC", f"-XX:SharedArchiveFile={folder / 'base.new'}"]
    subprocess.run(command, capture_output=True, check=True, timeout=60)
    _settle(folder)


def _key(java: Java, jars: Sequence[Path]) -> str:
    """Name what an archive is good for; Java itself checks it as well, but would go on without a word."""
    described = hashlib.sha256()
    for file in (java.program, java.home / "release", java.home / "lib" / "server" / "libjvm.so", *jars):
        with suppress(OSError):
            status = file.stat()
            described.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return described.hexdigest()[:20]


def _is_ours(folder: Path) -> bool:
    """Tell whether a folder, if it is there, and its parents belong to us or root, and no other user may write there.

    In a folder with the sticky bit, as the temporary one has it, others may write but not replace what is ours.
    """
    try:
        real = folder.resolve()
        for place in (real, *real.parents):
            if not place.exists():
                continue
            status = place.stat()
            open_to_all = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX
            if status.st_uid not in (os.getuid(), 0) or open_to_all:
                return False
    except (OSError, RuntimeError):
        return False
    return True


def _locked(path: Path) -> int | None:
    """Return the locked file, ``None`` if another process has it or nothing can be written here."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.utime(lock)
    except OSError:
        os.close(lock)
        return None
    return lock


def _settle(folder: Path) -> None:
    """Give what has been finished its place, with its size in its name; delete what is not as it was finished."""
    for path in sorted(folder.glob("*.new")):
        if _is_finished(path):
            for old in folder.glob(f"{path.stem}-*.jsa"):
                old.unlink()
            path.replace(folder / f"{path.stem}-{path.stat().st_size}.jsa")
            _delete_unused(folder.parent)
        else:
            path.unlink()
    for path in folder.glob("*.jsa"):
        if not _is_whole(path):
            path.unlink()


def _whole(folder: Path, kind: str) -> list[Path]:
    return [path for path in sorted(folder.glob(f"{kind}-*.jsa")) if _is_whole(path)][:1]


def _is_whole(path: Path) -> bool:
    return path.stem.endswith(f"-{path.stat().st_size}") and _is_finished(path)


def _is_finished(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in _MAGIC


def _delete_unused(archives: Path) -> None:
    """Delete what other versions of Java, Spark or this package have left here."""
    for lock in archives.glob("*/lock"):
        if time.time() - lock.stat().st_mtime > _UNUSED_DAYS * 86400:
            shutil.rmtree(lock.parent, ignore_errors=True)
