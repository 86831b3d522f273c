"""Work on Spark's executors, in their Python workers: batches go out, what comes of them comes back in order."""

from __future__ import annotations

import math
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, TypeAlias

from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext, StorageLevel, cloudpickle
from pyspark.sql import DataFrame

from kstream_plan.snapshots.spark.failures import executor_failure, explained
from kstream_plan.snapshots.spark.private_names import count_in_java, scala_context
from kstream_plan.snapshots.spark.session import sql_session
from kstream_plan.version import __version__

#: What is done with a batch: by its name in the worker, so that a function of a module, or a ``partial`` of one.
OnBatch: TypeAlias = Callable[[Any], list[bytes]]

#: how much is fetched, and of how much
OnFetched: TypeAlias = Callable[[int, int], None]

#: Batches for each core that are under way, or wait to be fetched: while one takes long, the cores have others.
_BATCHES_PER_CORE = 4
#: The most Spark jobs that these are divided into: each takes a thread here, and one in Java.
_JOBS = 64


def executor_cores(context: SparkContext) -> int:
    """Return how many batches are worked on at once."""
    return int(context.defaultParallelism)


class BatchRun:
    """Batches on the executors. What comes of them stays on the executors' disks if it ``is_kept``."""

    def __init__(
        self, context: SparkContext, pool: ThreadPoolExecutor, work: OnBatch, batches: Sequence[Any], *, is_kept: bool
    ) -> None:
        self._context = context
        self._pool = pool
        self._work = work
        self._batches = batches
        self._is_kept = is_kept
        self.result_rdds: list[RDD[bytes]] = []

    def fetched(self, on_fetched: OnFetched, lighter: Callable[[bytes], bytes] | None = None) -> Iterator[bytes]:
        """Have the batches worked on, and yield what came of them, in their order, when it is there.

        The next ones begin when earlier ones are fetched. ``lighter`` is called there, and leaves out what is not
        needed here.

        Raises:
            SparkError: Spark gave up, or there is no room for a batch.
        """
        at_once = _BATCHES_PER_CORE * executor_cores(self._context)
        size = math.ceil(at_once / _JOBS)
        parts = [self._batches[first : first + size] for first in range(0, len(self._batches), size)]
        on_fetched(0, len(parts))
        with explained({}, executor_failure):
            futures = (self._pool.submit(self._run, self._data_of(part), lighter) for part in parts)
            under_way = deque(islice(futures, at_once // size))
            for number in range(1, len(parts) + 1):
                results = under_way.popleft().result()
                under_way.extend(islice(futures, 1))
                on_fetched(number, len(parts))
                yield from results

    def _data_of(self, batches: Sequence[Any]) -> RDD[bytes]:
        result_rdd = self._context.parallelize(batches, len(batches)).flatMap(self._work)
        if self._is_kept:
            self.result_rdds.append(result_rdd.persist(StorageLevel.DISK_ONLY))
        return result_rdd

    @staticmethod
    def _run(result_rdd: RDD[bytes], lighter: Callable[[bytes], bytes] | None) -> list[bytes]:
        results: list[bytes] = (result_rdd if lighter is None else result_rdd.map(lighter)).collect()
        return results

    def frame(
        self,
        rows: Callable[[bytes], list[tuple[Any, ...]]],
        columns: str,
        further_rows: Sequence[tuple[Any, ...]],
        order_by: str,
    ) -> DataFrame:
        """Return the rows in the kept results of the batches, in order, and ``further_rows``.

        ``columns`` are Spark's; ``order_by`` is the one that the rows are in order of.
        """
        context = self._context
        further_part = context.parallelize(further_rows, 1) if further_rows else context.parallelize([], 1)
        size = math.ceil(len(self.result_rdds) / executor_cores(context)) or 1
        # Spark keeps the order of parts, and not the order of what it puts together in one
        parts = [
            context.union(self.result_rdds[first : first + size]).flatMap(rows).coalesce(1)
            for first in range(0, len(self.result_rdds), size)
        ]
        frame = sql_session(context).createDataFrame(context.union([*parts, further_part]), columns, verifySchema=False)
        return frame.sortWithinPartitions(order_by)


@contextmanager
def workers_started(context: SparkContext, work: OnBatch, batch: Any) -> Iterator[None]:
    """Meanwhile have Python workers of this machine start and load what ``work`` needs; there is nothing in ``batch``.

    Whatever goes wrong with that goes wrong with the work too, and is told there.
    """
    cores = executor_cores(context)
    if cores < 2 or not context.master.startswith("local"):
        yield
        return
    with _jobs(context, 1) as pool:
        pool.submit(lambda: count_in_java(context.parallelize([batch] * cores, cores).flatMap(work)))
        yield


@contextmanager
def on_executors(
    context: SparkContext, work: OnBatch, batches: Sequence[Any], *, is_kept: bool = False
) -> Iterator[BatchRun]:
    """Give what ``work`` returns for each batch, as long as the context lasts; with it ends what is under way.

    A batch that Spark tries again counts once. Executors on other machines run the package that is installed there.

    Raises:
        SparkError: another version or none is installed there.
    """
    with _jobs(context, _JOBS) as pool:
        batch_run = BatchRun(context, pool, _of_this_version(work), batches, is_kept=is_kept)
        try:
            yield batch_run
        finally:
            with suppress(Py4JError, OSError):  # Java may be gone
                for result_rdd in batch_run.result_rdds:
                    result_rdd.unpersist()


@contextmanager
def _jobs(context: SparkContext, at_once: int) -> Iterator[ThreadPoolExecutor]:
    """Give threads for Spark jobs, ``at_once`` at most; jobs that are under way end with the context."""
    group = f"kstream-plan-{uuid.uuid4().hex}"
    pool = ThreadPoolExecutor(at_once, "kstream-plan", context.setJobGroup, (group, "planning"))
    try:
        yield pool
    finally:
        with suppress(Py4JError, OSError):  # Java may be gone
            scala_context(context).cancelJobGroupAndFutureJobs(group)
        pool.shutdown(cancel_futures=True)


def _of_this_version(work: OnBatch) -> OnBatch:
    """Return the work for executors that have this version: code that goes along asks before any of theirs is run."""
    version, pickled_work = __version__, cloudpickle.dumps(work)

    def run_batch(batch: Any) -> list[bytes]:
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

    return run_batch
