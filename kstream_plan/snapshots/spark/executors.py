"""Work on Spark's executors, in their Python workers: batches go out, what comes of them comes back in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext, StorageLevel
from pyspark.sql import SparkSession

from kstream_plan.snapshots.spark.failures import executor_failure
from kstream_plan.snapshots.spark.texts import explained

#: What is done with a batch: by its name in the worker, so that a function of a module, or a ``partial`` of one.
OnBatch: TypeAlias = Callable[[bytes], list[bytes]]

#: batches done, batches in all
OnDone: TypeAlias = Callable[[int, int], None]

_POLL_SECONDS = 0.2


def executor_cores(spark: SparkSession) -> int:
    """Return how many batches are worked on at once."""
    return int(spark.sparkContext.defaultParallelism)


@contextmanager
def on_executors(
    spark: SparkSession, work: OnBatch, batches: Sequence[bytes], on_done: OnDone = lambda _done, _all: None
) -> Iterator[Iterator[bytes]]:
    """Give what ``work`` returns for each batch, in the order of the batches, one after the other.

    A batch that Spark tries again counts once. What comes back is kept on the executors' disks until the context ends,
    so that there is never more of it here than what comes of one batch.

    Raises:
        SparkError: Spark gave up.
    """
    context = spark.sparkContext
    worked = context.parallelize(batches, len(batches)).flatMap(work).persist(StorageLevel.DISK_ONLY)
    try:
        yield _fetched(context, worked, on_done, len(batches))
    finally:
        with suppress(Py4JError, OSError):  # Java may be gone
            worked.unpersist()


def _fetched(context: SparkContext, worked: RDD[bytes], on_done: OnDone, number: int) -> Iterator[bytes]:
    with explained({}, executor_failure):
        _make(context, worked, on_done, number)
        yield from worked.toLocalIterator(prefetchPartitions=True)


def _make(context: SparkContext, worked: RDD[bytes], on_done: OnDone, number: int) -> None:
    """Have every batch worked on; meanwhile look how many are done, where an interrupt is answered at once."""
    raised: list[BaseException] = []
    group = f"kstream-plan-{id(worked)}"

    def count() -> None:
        context.setJobGroup(group, "planning")
        try:
            worked._jrdd.count()
        except BaseException as error:
            raised.append(error)

    counting = threading.Thread(target=count, daemon=True)
    counting.start()
    while counting.is_alive():
        counting.join(_POLL_SECONDS)
        on_done(_done(context, group), number)
    if raised:
        raise raised[0]


def _done(context: SparkContext, group: str) -> int:
    tracker = context.statusTracker()
    jobs: list[Any] = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages: list[Any] = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    return sum(stage.numCompletedTasks for stage in stages if stage is not None)
