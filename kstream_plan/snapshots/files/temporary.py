"""Folders for what is only needed while a command runs, and the end of those that a killed one has left behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kstream_plan.snapshots.spark.signals import signals_afterwards

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
