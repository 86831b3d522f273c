"""Snapshots and results on S3: a server of it on this machine (moto), hadoop-aws fetched by Spark."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from kstream_plan.errors import SparkError
from kstream_plan.snapshots.spark.find_java import find_java
from kstream_plan.snapshots.spark.java_process import sparks_jars

pytestmark = [pytest.mark.s3, pytest.mark.spark, pytest.mark.xdist_group("processes with a Java of their own")]

_EXAMPLES = Path("examples/two-applications")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The options with which Spark finds the server, which has a bucket ``lake`` with the example's snapshots."""
    pytest.importorskip("moto", reason="there is no S3 server: pip install 'moto[server]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (tmp_path_factory.mktemp("s3") / "server.log").open("wb")
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 120
        while not _listens(port):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        _put(f"http://127.0.0.1:{port}/lake", b"")
        for file in sorted(_EXAMPLES.iterdir()):
            _put(f"http://127.0.0.1:{port}/lake/snapshots/{file.name}", file.read_bytes())
        yield _options(port)
    finally:
        server.terminate()
        server.wait(60)
        log.close()


def _put(url: str, data: bytes) -> None:
    kind = {"Content-Type": "application/octet-stream"}
    urllib.request.urlopen(urllib.request.Request(url, data, kind, method="PUT"), timeout=60).close()


def _options(port: int) -> list[str]:
    hadoop = next(jar.stem.rpartition("-")[2] for jar in sparks_jars() if jar.name.startswith("hadoop-client-api-"))
    conf = {
        "spark.jars.packages": f"org.apache.hadoop:hadoop-aws:{hadoop}",
        "spark.hadoop.fs.s3a.endpoint": f"http://127.0.0.1:{port}",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": "any",
        "spark.hadoop.fs.s3a.secret.key": "any",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
    }
    if "SPARK_IVY" in os.environ:
        conf["spark.jars.ivy"] = os.environ["SPARK_IVY"]
    options = [word for name, value in conf.items() for word in ("--spark-conf", f"{name}={value}")]
    try:
        return [*options, "--java-home", str(find_java(bundled_too=False).home)]
    except SparkError:
        return options


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kstream_plan", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=1_200)


def test_snapshots_and_results_on_s3_are_as_those_here(settings: list[str], tmp_path: Path) -> None:
    plans = tmp_path / "plans.jsonl"
    assert _run("assign", str(_EXAMPLES), "-q", "--out", str(plans)).returncode == 0
    there = ["assign", "s3a://lake/snapshots", *settings, "-q", "--out", "s3a://lake/results"]
    for form in ("parquet", "jsonl"):
        written = _run(*there, "--out-format", form, "--overwrite")
        assert (written.returncode, written.stderr) == (0, "")
        shown = _run("show", "s3a://lake/results", *settings, "--output", "json")
        assert (shown.returncode, shown.stderr, shown.stdout) == (0, "", plans.read_text())
    again = _run(*there, "--out-format", "parquet")
    assert again.returncode == 1
    assert "exists already" in again.stderr
    here, fleet = _run("fleet", str(plans), "-q"), _run("fleet", "s3a://lake/results", *settings, "-q")
    assert fleet.stdout == here.stdout
    assert _run("diff", "s3a://lake/results", str(plans), *settings, "--fail-on-changes").returncode == 0
    checked = _run("check", "s3a://lake/results", *settings, "-q")
    assert checked.stdout.replace("s3a://lake/results", "") != ""
    assert checked.returncode == _run("check", str(plans), "-q").returncode
