"""The Java process that Spark runs in: started quietly, and ended with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, java_gateway
from pyspark.errors import PySparkException

from kstream_plan.snapshots.spark.java import find_java, why_spark_failed

#: So long Java may take to clean up after itself (its temporary folders) before it is killed.
_SECONDS_TO_CLEAN_UP = 3


def start_java(conf: SparkConf, noise: IO[bytes], java_home: str | None, debug: bool) -> JavaGateway:
    """Start Java in a process group of its own; on an interrupt it ends too.

    Args:
        conf: Spark's settings.
        noise: what takes the process's output, unless ``debug`` lets it through to standard error.
        java_home: the Java installation to use.
        debug: see ``noise``.

    Raises:
        SparkError: there is no fitting Java, or it does not become Spark.
    """
    program = find_java(java_home)
    output = sys.__stderr__ if debug and sys.__stderr__ is not None else noise
    with _java_home(java_home), _started() as processes:
        try:
            return java_gateway.launch_gateway(conf, {"stdout": output, "stderr": output, "process_group": 0})
        except (PySparkException, OSError):
            noise.seek(0)
            raise why_spark_failed(program, noise.read().decode("utf-8", "replace")) from None
        except BaseException:
            for process in processes:
                end(process)
            raise


def end(process: subprocess.Popen[Any]) -> None:
    """End Java and what it has started."""
    if getattr(process, "pid", None) is None or process.poll() is not None:
        return
    with suppress(ProcessLookupError, subprocess.TimeoutExpired):
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(_SECONDS_TO_CLEAN_UP)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def _started() -> Iterator[list[subprocess.Popen[Any]]]:
    """List the processes that Spark's own code starts; it forgets them if it is interrupted while it waits."""
    processes: list[subprocess.Popen[Any]] = []

    class Process(subprocess.Popen[Any]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            processes.append(self)
            super().__init__(*arguments, **options)

    original = java_gateway.Popen
    java_gateway.Popen = Process
    try:
        yield processes
    finally:
        java_gateway.Popen = original


@contextmanager
def _java_home(java_home: str | None) -> Iterator[None]:
    before = os.environ.get("JAVA_HOME")
    if java_home is not None:
        os.environ["JAVA_HOME"] = java_home
    try:
        yield
    finally:
        if java_home is not None:
            os.environ.pop("JAVA_HOME")
            if before is not None:
                os.environ["JAVA_HOME"] = before
