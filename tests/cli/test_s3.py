"""Snapshots and results on S3: a server of it on this machine (moto), hadoop-aws fetched by Spark.

Every start of Spark with that takes a minute: one command is run as people do, all others in one session.
"""

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

from kstream_plan.cli import run
from kstream_plan.errors import SparkError
from kstream_plan.snapshots.spark.find_java import find_java
from kstream_plan.snapshots.spark.java_process import sparks_jars
from kstream_plan.snapshots.spark.session import open_session

pytestmark = [pytest.mark.s3, pytest.mark.spark, pytest.mark.xdist_group("processes with a Java of their own")]

_EXAMPLES = Path("examples/two-applications")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The settings with which Spark finds the server, which has a bucket ``lake`` with the example's snapshots."""
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
        yield _conf(port)
    finally:
        server.terminate()
        server.wait(60)
        log.close()


def _put(url: str, data: bytes) -> None:
    kind = {"Content-Type": "application/octet-stream"}
    urllib.request.urlopen(urllib.request.Request(url, data, kind, method="PUT"), timeout=60).close()


def _conf(port: int) -> dict[str, str]:
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
    return conf


def _java_home() -> str | None:
    try:
        return str(find_java(bundled_too=False).home)
    except SparkError:
        return None


def test_snapshots_and_results_on_s3_are_as_those_here(
    conf: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*arguments: str) -> tuple[int, str, str]:
        return run(arguments), *capsys.readouterr()

    plans, there = tmp_path / "plans.jsonl", ["assign", "s3a://lake/snapshots", "-q", "--out", "s3a://lake/results"]
    with open_session(spark_conf=conf, java_home=_java_home()):
        assert said("assign", str(_EXAMPLES), "-q", "--out", str(plans))[0] == 0
        for form in ("parquet", "jsonl"):
            assert said(*there, "--set", f"out.format={form}", "--set", "overwrite=true")[::2] == (0, "")
            assert said("show", "s3a://lake/results", "--output", "json") == (0, plans.read_text(), "")
        code, _, err = said(*there, "--set", "out.format=parquet")
        assert (code, err.count("exists already")) == (1, 1)
        assert said("diff", "s3a://lake/results", str(plans), "--fail-on-changes")[0] == 0
        checked = said("check", "s3a://lake/results", "--require-generation", "2")
        assert checked[0] == said("check", str(plans), "--require-generation", "2")[0] == 3
    assert checked[1].count("s3a://lake/results/") == 2
    _as_people_do(conf, said("fleet", str(plans), "-q"))


def _as_people_do(conf: dict[str, str], here: tuple[int, str, str]) -> None:
    """A command by itself says of the results there what is said of them here."""
    options = [word for name, value in conf.items() for word in ("--spark-conf", f"{name}={value}")]
    options += ["--set", f"java.home={home}"] if (home := _java_home()) else []
    command = [sys.executable, "-m", "kstream_plan", "fleet", "s3a://lake/results", *options, "-q"]
    fleet = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert (fleet.returncode, fleet.stdout, fleet.stderr) == here
