"""Python workers: they start beforehand, work on no more batches than are soon fetched, and end with who wants them."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.snapshots.spark import executors
from kstream_plan.snapshots.spark.executors import on_executors, workers_started

pytestmark = pytest.mark.spark


def _noted(folder: str, batch: bytes) -> list[bytes]:
    """Work long enough that it is done by another worker at the same time."""
    Path(folder, str(os.getpid())).touch()
    time.sleep(0.5)
    return []


def _failing(folder: str, batch: bytes) -> list[bytes]:
    Path(folder, str(os.getpid())).touch()
    raise ImportError("no such package here")


def _quick(folder: str, batch: str) -> list[bytes]:
    Path(folder, batch).touch()
    return [batch.encode(), b"end"]


def _endless(folder: str, batch: bytes) -> list[bytes]:
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)
    return []


def _endless_but_first(folder: str, batch: str) -> list[bytes]:
    return _endless(folder, b"") if batch else [b""]


def _waited_for(folder: Path, number: int) -> set[str]:
    deadline = time.monotonic() + 60
    while len(found := set(os.listdir(folder))) < number:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


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


def test_that_they_cannot_start_is_told_by_the_work_alone(
    spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with workers_started(spark.sparkContext, partial(_failing, str(tmp_path)), b""):
        _waited_for(tmp_path, 1)
        assert _ended_in_spark(spark)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("begun", [True, False])
def test_what_ends_the_reading_ends_them(begun: bool, spark: Any, tmp_path: Path) -> None:
    def fail() -> None:
        with workers_started(spark.sparkContext, partial(_endless, str(tmp_path)), b""):
            _waited_for(tmp_path, begun)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail()
    assert _ended_in_spark(spark)


@pytest.mark.parametrize("jobs", [64, 3])
def test_a_batch_begins_when_earlier_ones_are_fetched(
    jobs: int, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "_JOBS", jobs)
    context = spark.sparkContext
    names = [f"{number:03}" for number in range(12 * context.defaultParallelism)]
    fetched: list[int] = []
    with on_executors(context, partial(_quick, str(tmp_path)), names) as batch_run:
        results = batch_run.fetched(lambda number, _all: fetched.append(number))
        first = next(results)
        assert _ended_in_spark(spark)
        begun = len(os.listdir(tmp_path))
        rest = list(results)
    assert begun <= len(names) / 2
    assert [first, *rest] == [line for name in names for line in (name.encode(), b"end")]
    assert fetched == [*range(len(fetched))]


def _rows(answer: bytes) -> list[tuple[str, str]]:
    return [] if answer == b"end" else [("row", answer.decode())]


@pytest.mark.parametrize("lost", [0, 1])
def test_what_is_kept_of_batches_is_a_frame_in_their_order(lost: int, spark: Any, tmp_path: Path) -> None:
    """Also where a batch is lost, and worked on again."""
    names = [f"{number:03}" for number in range(25)]
    with on_executors(spark.sparkContext, partial(_quick, str(tmp_path)), names, is_kept=True) as batch_run:
        list(batch_run.fetched(lambda *_: None))
        for kept in batch_run.result_rdds[:lost]:
            kept.unpersist(blocking=True)
        rows = batch_run.frame(_rows, "kind string, name string", [("row", "error")], order_by="name")
        assert [row.name for row in rows.collect()] == [*names, "error"]


def test_rows_are_in_order_however_spark_puts_batches_together(spark: Any, tmp_path: Path) -> None:
    names = [f"{number:03}" for number in range(25)]
    with on_executors(spark.sparkContext, partial(_quick, str(tmp_path)), names[::-1], is_kept=True) as batch_run:
        list(batch_run.fetched(lambda *_: None))
        rows = batch_run.frame(_rows, "kind string, name string", [], order_by="name")
        of_parts = [[row.name for row in part] for part in rows.rdd.glom().collect()]
    assert of_parts == [sorted(part) for part in of_parts]
    assert [name for part in of_parts for name in part] != names[::-1]


def test_batches_under_way_end_with_who_wants_them(spark: Any, tmp_path: Path) -> None:
    def interrupt(number: int, _all: int) -> None:
        raise InterruptedError

    work = partial(_endless_but_first, str(tmp_path))
    with (
        pytest.raises(InterruptedError),
        on_executors(spark.sparkContext, work, ["", *["endless"] * 40]) as batch_run,
    ):
        list(batch_run.fetched(interrupt))
    assert _ended_in_spark(spark)
