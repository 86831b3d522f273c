"""Python workers started beforehand: they are there when work comes, and nothing is heard of it if they are not."""

from __future__ import annotations

import os
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.snapshots.spark import executors
from kstream_plan.snapshots.spark.executors import workers_started

pytestmark = pytest.mark.spark


def _noted(folder: str, batch: bytes) -> list[bytes]:
    """Work long enough that it is done by another worker at the same time."""
    Path(folder, str(os.getpid())).touch()
    time.sleep(0.5)
    return []


def _failing(batch: bytes) -> list[bytes]:
    raise ImportError("no such package here")


def _endless(folder: str, batch: bytes) -> list[bytes]:
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)
    return []


def _waited_for(folder: Path, number: int) -> set[str]:
    deadline = time.monotonic() + 60
    while len(found := set(os.listdir(folder))) < number:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def _goes_on() -> bool:
    return any(isinstance(thread, executors._Job) for thread in threading.enumerate())


def _ended_in_spark(spark: Any) -> bool:
    """Spark hears of the end of a job a little later than who waits for it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not spark.sparkContext.statusTracker().getActiveJobsIds():
            return True
    return False


def test_every_core_has_a_worker_that_has_loaded_the_work(spark: Any, tmp_path: Path) -> None:
    with workers_started(spark.sparkContext, partial(_noted, str(tmp_path)), b""):
        assert len(_waited_for(tmp_path, spark.sparkContext.defaultParallelism)) > 1


def test_that_they_cannot_start_is_told_by_the_work_alone(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with workers_started(spark.sparkContext, _failing, b""):
        while _goes_on():
            time.sleep(0.05)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("begun", [True, False])
def test_what_ends_the_reading_ends_them(begun: bool, spark: Any, tmp_path: Path) -> None:
    def fail() -> None:
        with workers_started(spark.sparkContext, partial(_endless, str(tmp_path)), b""):
            _waited_for(tmp_path, begun)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail()
    assert not _goes_on()
    assert _ended_in_spark(spark)
