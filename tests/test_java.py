"""Which Java Spark gets, what is said if there is none, and that nobody loads Spark without need. No JVM."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kstream_plan.errors import SparkError
from kstream_plan.snapshots.spark.failures import spark_failure, start_failure
from kstream_plan.snapshots.spark.java import find_java, why_spark_failed


def test_a_master_that_cannot_be_reached_is_named() -> None:
    said = ": java.lang.IllegalStateException: Cannot call methods on a stopped "
    error = start_failure(f"{said}SparkContext.\nIt was created at: ...", "spark://nowhere:1")
    assert "the Spark master spark://nowhere:1 cannot be reached" in str(error)


def fake_java(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2018-01-01' >&2\n")
    program.chmod(0o755)
    return program


def test_importing_the_package_does_not_load_spark() -> None:
    code = "import sys, kstream_plan, kstream_plan.snapshots; sys.exit(len({'pyspark', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_java_that_is_named_beats_the_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, environments = fake_java(tmp_path / "named", "17"), fake_java(tmp_path / "environments", "17")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "environments"))
    assert find_java(str(tmp_path / "named")) == named
    assert find_java(None) == environments
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(named.parent))
    assert find_java(None) == named


def test_no_java_is_an_error_with_a_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SparkError, match=r"--java-home\): no bin/java"):
        find_java(str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkError, match=r"\(JAVA_HOME\): no bin/java"):
        find_java(None)
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkError, match="no Java runtime was found") as caught:
        find_java(None)
    assert caught.value.fix == "install Java 17 or newer, or name one with --java-home"


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 8), ("11.0.2", 11)])
def test_a_java_that_is_too_old_is_named(version: str, major: int, tmp_path: Path) -> None:
    error = why_spark_failed(fake_java(tmp_path, version), "Unrecognized option: --add-modules")
    assert error.what.startswith(f"Java {major} at ")
    assert error.what.endswith("is too old for Spark")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "WARNING: x\nInvalid maximum heap size: -Xmxlots\nError: Could not create it.\n",
            "Invalid maximum heap size: -Xmxlots",
        ),
        ('Exception in thread "main" org.x.SparkException: Master must be one\n\tat y', "Master must be one"),
    ],
)
def test_another_failure_to_start_gives_the_first_complaint(said: str, reason: str, tmp_path: Path) -> None:
    error = why_spark_failed(fake_java(tmp_path, "17.0.1"), said)
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
        ("nothing to go by", "Spark could not read the input: nothing to go by"),
    ],
)
def test_sparks_exceptions_become_one_line(said: str, what: str) -> None:
    error = spark_failure(said, {})
    assert isinstance(error, SparkError)
    assert what in error.what
    assert str(error).isprintable()
