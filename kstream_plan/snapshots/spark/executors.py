"""Work on Spark's executors, in their Python workers: batches go out, what comes of them comes back in order."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext, StorageLevel, cloudpickle
from pyspark.sql import DataFrame

from kstream_plan.snapshots.spark.failures import executor_failure
from kstream_plan.snapshots.spark.private_names import count_in_java, scala_context
from kstream_plan.snapshots.spark.session import sql_session
from kstream_plan.snapshots.spark.texts import explained
from kstream_plan.version import __version__

#: What is done with a batch: by its name in the worker, so that a function of a module, or a ``partial`` of one.
OnBatch: TypeAlias = Callable[[Any], list[bytes]]

#: batches done, batches in all
OnDone: TypeAlias = Callable[[int, int], None]

#: To ask how many are done takes Java and us some milliseconds each time.
_POLL_SECONDS = 1.0


def executor_cores(context: SparkContext) -> int:
    """Return how many batches are worked on at once."""
    return int(context.defaultParallelism)


class Worked:
    """What comes of every batch, kept on the executors' disks."""

    def __init__(self, context: SparkContext, worked: RDD[bytes], batches: int) -> None:
        self._context = context
        self._worked = worked
        self._batches = batches

    def make(self, on_done: OnDone) -> None:
        """Have every batch worked on.

        Raises:
            SparkError: Spark gave up.
        """
        with explained({}, executor_failure):
            _make(self._context, self._worked, on_done, self._batches)

    def fetched(self, lighter: Callable[[bytes], bytes] | None = None) -> Iterator[bytes]:
        """Yield what came of the batches, in their order, never more at once than what came of one.

        ``lighter`` is called there, and leaves out what is not needed here.

        Raises:
            SparkError: Spark gave up.
        """
        worked = self._worked if lighter is None else self._worked.map(lighter)
        with explained({}, executor_failure):
            yield from worked.toLocalIterator(prefetchPartitions=True)

    def frame(
        self, rows: Callable[[bytes], list[tuple[Any, ...]]], columns: str, more: Sequence[tuple[Any, ...]]
    ) -> DataFrame:
        """Return the rows that are in what came of the batches, and ``more``; ``columns`` are Spark's."""
        context = self._context
        found = self._worked.flatMap(rows).coalesce(int(context.defaultParallelism))
        there = context.parallelize(more, 1) if more else context.parallelize([], 1)
        return sql_session(context).createDataFrame(context.union([found, there]), columns, verifySchema=False)


@contextmanager
def workers_started(context: SparkContext, work: OnBatch, batch: Any) -> Iterator[None]:
    """Meanwhile have Python workers of this machine start and load what ``work`` needs; there is nothing in ``batch``.

    Whatever goes wrong with that goes wrong with the work too, and is told there.
    """
    cores = executor_cores(context)
    if cores < 2 or not context.master.startswith("local"):
        yield
        return
    job = _Job(context, lambda: context.parallelize([batch] * cores, cores).flatMap(work))
    job.start()
    try:
        yield
    finally:
        job.end()


@contextmanager
def on_executors(context: SparkContext, work: OnBatch, batches: Sequence[Any]) -> Iterator[Worked]:
    """Give what ``work`` returns for each batch, as long as the context lasts.

    A batch that Spark tries again counts once. Executors on other machines run the package that is installed there.

    Raises:
        SparkError: Spark gave up, there is no room for the batches, or another version or none is installed there.
    """
    with explained({}, executor_failure):
        batch_data = context.parallelize(batches, len(batches) or 1)
        worked = batch_data.flatMap(_of_this_version(work)).persist(StorageLevel.DISK_ONLY)
    try:
        yield Worked(context, worked, len(batches))
    finally:
        with suppress(Py4JError, OSError):  # Java may be gone
            worked.unpersist()


def _of_this_version(work: OnBatch) -> OnBatch:
    """Return the work for executors that have this version: code that goes along asks before any of theirs is run."""
    version, pickled_work = __version__, cloudpickle.dumps(work)

    def checked(batch: Any) -> list[bytes]:
        import pickle  # noqa: PLC0415 - this function is all that an executor has of this module
        import platform  # noqa: PLC0415
        import sys  # noqa: PLC0415

        place = f"installed for {sys.executable} on {platform.node()}"
        try:
            from kstream_plan.version import __version__ as version_there  # noqa: PLC0415
        except ImportError:
            raise RuntimeError(f"kstream-plan is not {place}") from None
        if version_there != version:
            raise RuntimeError(f"kstream-plan {version_there} is {place}, and {version} here")
        work_there: OnBatch = pickle.loads(pickled_work)
        return work_there(batch)

    return checked


def _make(context: SparkContext, worked: RDD[bytes], on_done: OnDone, number: int) -> None:
    """Have every batch worked on; meanwhile look how many are done, where an interrupt is answered at once."""
    job = _Job(context, lambda: worked)
    job.start()
    while job.is_alive():
        job.join(_POLL_SECONDS)
        on_done(_done(context, job.group), number)
    if job.raised is not None:
        raise job.raised


class _Job(threading.Thread):
    """A job of Spark's in the background: everything of ``made()``. ``group`` is how Spark knows it."""

    def __init__(self, context: SparkContext, made: Callable[[], RDD[Any]]) -> None:
        super().__init__(daemon=True)
        self.group = f"kstream-plan-{uuid.uuid4().hex}"
        self.raised: BaseException | None = None
        self._context = context
        self._made = made

    def run(self) -> None:
        try:
            self._context.setJobGroup(self.group, "planning")
            count_in_java(self._made())
        except BaseException as error:
            self.raised = error

    def end(self) -> None:
        """Have it end now, even if it has not yet begun."""
        with suppress(Py4JError, OSError):  # Java may be gone
            scala_context(self._context).cancelJobGroupAndFutureJobs(self.group)
        self.join()


def _done(context: SparkContext, group: str) -> int:
    tracker = context.statusTracker()
    jobs: list[Any] = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages: list[Any] = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    return sum(stage.numCompletedTasks for stage in stages if stage is not None)
