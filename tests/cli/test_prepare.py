"""``prepare``: a first run finds what otherwise the runs before it leave."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kstream_plan.cli import run
from kstream_plan.snapshots.spark.class_archive import NO_CACHE_VARIABLE, class_archive
from kstream_plan.snapshots.spark.find_java import find_java
from kstream_plan.snapshots.spark.java_process import sparks_jars


@pytest.mark.spark
@pytest.mark.xdist_group("archives of Java's classes")
def test_the_next_run_has_both_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(NO_CACHE_VARIABLE, raising=False)
    command = [sys.executable, "-m", "kstream_plan", "prepare"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("error")) == (0, 0), done.stderr
    assert f" MB in {tmp_path / 'cache'}" in done.stdout
    archives = [class_archive(find_java(), sparks_jars(), may_write=True, sql=sql) for sql in (False, True)]
    assert [archive.lock for archive in archives] == [None, None]
    assert all("SharedArchiveFile" in archive.options[0] for archive in archives)
    assert archives[0].options != archives[1].options


def test_where_spark_has_scripts_of_its_own_there_is_no_archive(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert run(["prepare"]) == 1
    error = capsys.readouterr().err
    assert "Spark starts by its own scripts, which take no archive. Fix: unset SPARK_HOME" in error


@pytest.mark.spark
@pytest.mark.xdist_group("archives of Java's classes")
def test_nothing_is_prepared_where_nothing_may_be_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NO_CACHE_VARIABLE, "1")
    command = [sys.executable, "-m", "kstream_plan", "prepare"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert (
        f"could not leave an archive of its classes in the cache folder. Fix: unset {NO_CACHE_VARIABLE}" in done.stderr
    )
