"""Java's classes archived before the tests that start it: without, every start takes twice as long."""

from __future__ import annotations

import fcntl
import os
import time
from functools import cache
from pathlib import Path
from unittest import mock

import kstream_plan
from kstream_plan.errors import SparkError
from kstream_plan.snapshots.spark.class_archive import ClassArchive, class_archive
from kstream_plan.snapshots.spark.find_java import find_java
from kstream_plan.snapshots.spark.java_process import sparks_jars

_MOST_SECONDS = 180
EXAMPLE = Path(__file__).parents[2] / "examples" / "lag-history"


@cache
def archive_classes() -> None:
    """Have the archive written, and wait for it, unless it is there or cannot be; one worker writes, the others wait.

    In a new installation the first Java would write it at its end, and that is the session which the tests share until
    theirs.
    """
    with Path(__file__).open() as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        found = _archive()
        if found.lock is None:
            return
        found.close()
        with mock.patch.object(os, "setpriority"):  # here somebody waits for it
            kstream_plan.read([str(EXAMPLE / "snapshot.json")], lags=[str(EXAMPLE / "lags.parquet")])
        deadline = time.monotonic() + _MOST_SECONDS
        while (found := _archive()).lock is None and not found.options and time.monotonic() < deadline:
            time.sleep(0.2)
        found.close()


def _archive() -> ClassArchive:
    """The archive that a Java would be started with now, or would write."""
    try:
        java = find_java()
    except SparkError:  # the tests themselves say so
        return ClassArchive()
    return class_archive(java, sparks_jars(), may_write=True, sql=True)
