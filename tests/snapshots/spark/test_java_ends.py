"""A Java that has ended is told as one error, with the size of its heap; a dead one is not asked what it died of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from kstream_plan.errors import SparkError
from kstream_plan.snapshots.spark import session
from kstream_plan.snapshots.spark.failures import explained, why_java_ended


def ended(code: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", f"raise SystemExit({code})", "-Xmx2g"])


class _DeadError(Py4JNetworkError):
    """What Py4J raises: its message is asked of the JVM."""

    def __str__(self) -> str:
        raise Py4JNetworkError


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (3, "Java ran out of memory: it had 2g. Fix: give it more"),
        (137, r"Java ended while it read .*\(exit code 137\)"),
    ],
)
def test_it_is_one_error_what_java_ended_of(code: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=ended(code)))
    with pytest.raises(SparkError, match=said) as caught, explained({}):
        raise _DeadError
    assert caught.value.__suppress_context__


def test_a_java_that_goes_on_is_not_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    process: Any = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
    with pytest.raises(ValueError, match="mine"), explained({}):
        raise ValueError("mine")
    process.communicate()
    assert why_java_ended(None) is None


@pytest.mark.parametrize(("gibibytes", "heap"), [(1, 1024), (8, 2048), (24, 6144), (512, 30720)])
def test_the_heap_follows_the_machine(gibibytes: int, heap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_CONTAINER_LIMIT", Path("/nowhere"))
    monkeypatch.setattr(
        session.os, "sysconf", lambda name: 4096 if name == "SC_PAGE_SIZE" else (gibibytes << 30) // 4096
    )
    assert session._heap_mebibytes() == heap
