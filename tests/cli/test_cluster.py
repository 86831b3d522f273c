"""A cluster: a standalone master and two workers of the installed Spark, each a process on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kstream_plan.errors import SparkError
from kstream_plan.snapshots.spark.find_java import find_java
from kstream_plan.snapshots.spark.java_process import sparks_jars
from tests.helpers.fleets import write_fleet

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.spark,
    pytest.mark.xdist_group("processes with a Java of their own"),
]

_DEPLOY = "org.apache.spark.deploy"


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
    deadline = time.monotonic() + 120
    while not (match := re.search(pattern, log.read_text(errors="replace"))):
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-2_000:]
        time.sleep(0.1)
    return match[0]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("cluster")
    here = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with ExitStack() as stack:
        _started(stack, folder / "master.log", f"{_DEPLOY}.master.Master", *here)
        url = _said(folder / "master.log", r"spark://127\.0\.0\.1:\d+")
        for number in range(2):
            log, work = folder / f"worker-{number}.log", ("--work-dir", str(folder / f"work-{number}"))
            _started(stack, log, f"{_DEPLOY}.worker.Worker", *here, "--cores", "1", "--memory", "1g", *work, url)
        for number in range(2):
            _said(folder / f"worker-{number}.log", "Successfully registered with master")
        yield url


def _assign(fleet: Path, master: str, out: Path) -> subprocess.CompletedProcess[str]:
    driver = ("--spark-conf", "spark.driver.host=127.0.0.1", "--spark-conf", "spark.driver.bindAddress=127.0.0.1")
    arguments = ["assign", str(fleet), "--master", master, *driver, "--out", str(out), "--out-format", "jsonl", "-q"]
    command = [sys.executable, "-m", "kstream_plan", *arguments, "--output", "json"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_a_cluster_says_what_this_machine_says(master: str, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.jsonl"
    write_fleet(fleet, 6, tasks=4, seed=8)
    here, there = (_assign(fleet, of, tmp_path / name) for name, of in (("here", "local[2]"), ("there", master)))
    assert there.stderr == ""
    assert there.returncode == 0
    assert there.stdout == here.stdout
    assert there.stdout.count("\n") == 6

    def rows(name: str) -> list[str]:
        return sorted(line for file in (tmp_path / name).glob("part-*") for line in file.read_text().splitlines())

    assert rows("there") == rows("here")
