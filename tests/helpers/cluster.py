"""A cluster: a standalone master and two workers of the installed Spark, each a process on this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest

from kstream_plan.errors import SparkError
from kstream_plan.snapshots.spark.find_java import find_java
from kstream_plan.snapshots.spark.java_process import sparks_jars

T = TypeVar("T")

_DEPLOY = "org.apache.spark.deploy"
_SECONDS = 300


class Cluster:
    """Where it listens, and its workers, which can be killed, as can what they have started."""

    def __init__(self, url: str, workers: list[subprocess.Popen[bytes]], folder: Path) -> None:
        self.url = url
        self.workers = workers
        self._folder = folder

    def executors(self, number: int) -> list[int]:
        """The processes of the executors that a worker runs now."""
        return _children(self.workers[number].pid)

    def is_at_work(self, executor: int) -> bool:
        """Whether an executor has a Python worker."""
        return bool(_children(executor))

    def executor_at_work(self, item: int) -> int:
        """The process of an executor, as soon as it is at work."""
        return pending_work(lambda: next((found for found in self.executors(item) if self.is_at_work(found)), None))

    def all_executors_ended(self) -> None:
        """Wait for those of the commands before."""
        pending_work(lambda: None if self.executors(0) or self.executors(1) else True)

    def executors_so_far(self) -> int:
        """How many executors there ever were."""
        return len(list(self._folder.glob("work-*/app-*/*")))


def pending_work(ask: Callable[[], T | None]) -> T:
    """What is answered at last."""
    deadline = time.monotonic() + _SECONDS
    while (answer := ask()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return answer


def kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Start one, and end it and whatever it has started."""
    here = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with ExitStack() as stack:
        _started(stack, folder / "master.log", f"{_DEPLOY}.master.Master", *here)
        url = _said(folder / "master.log", r"spark://127\.0\.0\.1:\d+")
        workers = []
        for number in range(2):
            log, work = folder / f"worker-{number}.log", ("--work-dir", str(folder / f"work-{number}"))
            limits = ("--cores", "1", "--memory", "1g")
            workers.append(_started(stack, log, f"{_DEPLOY}.worker.Worker", *here, *limits, *work, url))
        for number in range(2):
            _said(folder / f"worker-{number}.log", "Successfully registered with master")
        yield Cluster(url, workers, folder)


def _whole_java() -> Path:
    """A Java with the module that Spark's workers start executors with, which the bundled one lacks."""
    try:
        program = find_java(bundled_too=False).program
    except SparkError:
        pytest.skip("there is no whole JDK")
    modules = subprocess.run([program, "--list-modules"], capture_output=True, text=True, check=False).stdout
    if "jdk.incubator.vector" not in modules:
        pytest.skip("there is no whole JDK")
    return program


def _started(stack: ExitStack, log: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A process of Spark's, which ends with the stack, and with it what it has started."""
    jars = sparks_jars()
    command = [str(_whole_java()), "-Xmx256m", "-cp", os.pathsep.join(map(str, jars)), *arguments]
    # as Spark's scripts set it, which are not run here
    scala = next(match[1] for jar in jars if (match := re.fullmatch(r"spark-core_([\d.]+)-.*", jar.name)))
    home = {"SPARK_HOME": str(jars[0].parents[1]), "SPARK_SCALA_VERSION": scala}
    environment = {**os.environ, **home}
    environment.pop("PYTHONPATH", None)
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=file, cwd=log.parent)

    def end() -> None:
        process.terminate()
        process.wait(60)

    stack.callback(end)
    return process


def _said(log: Path, pattern: str) -> str:
    """What a process says at last."""
    return pending_work(lambda: match[0] if (match := re.search(pattern, log.read_text(errors="replace"))) else None)


def _children(process: int) -> list[int]:
    """The processes that a process has started, and that have not ended."""
    found = []
    for there in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            state, parent, *_ = (there / "stat").read_text().rpartition(")")[2].split()
            if int(parent) == process and state != "Z":
                found.append(int(there.name))
    return sorted(found)
