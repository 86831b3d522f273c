"""A cluster that gives no executors: what waits for them is ended after a while; Spark itself waits for ever."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError
from pyspark import SparkContext, StatusTracker

from kstream_plan.errors import SparkError
from kstream_plan.snapshots.spark.failures import EXECUTOR_TIMEOUT, NO_EXECUTOR
from kstream_plan.snapshots.spark.private_names import scala_context

_DEFAULT = "300s"
_POLL_SECONDS = 1.0
#: After so long it is worth a word that nothing happens.
_SAID_SECONDS = 30.0

_log = logging.getLogger(__name__)


@contextmanager
def executors_awaited(context: SparkContext) -> Iterator[None]:
    """Meanwhile end what no executor has worked on for as long as ``spark.kstream-plan.executorTimeout`` says.

    So none ever came, or those that come die before they work, or the cluster is gone.

    Raises:
        SparkError: the setting is no time.
    """
    seconds, stop_event = _seconds(context), threading.Event()
    watcher = threading.Thread(target=_watch, args=(context, seconds, stop_event), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop_event.set()
        watcher.join()


def _seconds(context: SparkContext) -> int:
    jvm_conf = scala_context(context).conf()
    try:
        return int(jvm_conf.getTimeAsSeconds(EXECUTOR_TIMEOUT, _DEFAULT))
    except Py4JError:
        value = jvm_conf.get(EXECUTOR_TIMEOUT)
        raise SparkError(f"{value!r} is no time", where=EXECUTOR_TIMEOUT, fix="give one as 90s or 10m") from None


def _watch(context: SparkContext, seconds: int, stop_event: threading.Event) -> None:
    with suppress(Py4JError, OSError):  # Java may be gone
        idle_since, has_warned = time.monotonic(), False
        while not stop_event.wait(_POLL_SECONDS):
            jobs = _idle_jobs(context.statusTracker())
            if not jobs:
                idle_since = time.monotonic()
            idle_seconds = time.monotonic() - idle_since
            if idle_seconds >= seconds:
                for job in jobs:
                    scala_context(context).cancelJob(job, f"{NO_EXECUTOR} for {seconds:,} s")
            elif idle_seconds >= _SAID_SECONDS and not has_warned:
                has_warned = True
                _log.warning("%s yet; waiting for up to %s s", NO_EXECUTOR, f"{seconds:,}")


def _idle_jobs(tracker: StatusTracker) -> list[int]:
    """Return the active jobs, if no executor works on any of them."""
    jobs = tracker.getActiveJobsIds()
    job_infos = [info for job in jobs if (info := tracker.getJobInfo(job)) is not None]
    stages = [tracker.getStageInfo(int(stage)) for info in job_infos for stage in info.stageIds]
    return [] if any(stage is not None and stage.numActiveTasks for stage in stages) else jobs
