"""Nobody without its secret gets an answer from Spark's Java, though its sockets are there for all on this machine."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark import SparkContext

from kstream_plan.snapshots.spark.session import _settings, open_context

_LISTENING = "0A"
_RPC_REQUEST = 3


def test_a_secret_is_asked_for_where_all_of_spark_is_one_process() -> None:
    for master in (None, "local", "local[2]", "local[*]"):
        assert _settings(master, {}, True)["spark.authenticate"] == "true"
    for master in ("local-cluster[1,1,1024]", "spark://host:7077"):
        assert "spark.authenticate" not in _settings(master, {}, True)
    assert _settings(None, {"spark.authenticate": "false"}, True)["spark.authenticate"] == "false"


@pytest.mark.spark
def test_who_does_not_know_the_secret_is_refused() -> None:
    with open_context(little_work=True) as context:
        ports = list(_ports_of(_java(context)))
        answers = [_answer(port) for port in ports]
    spoken = [answer for answer in answers if answer]
    assert len(spoken) == 2  # Spark's own two; the third is Py4J's, which waits for its secret
    assert len(ports) >= 3  # one more while rows are on their way to Python, and that waits for its secret, too
    assert all(b"Expected SaslMessage" in answer for answer in spoken), spoken


def _java(context: SparkContext) -> int:
    handle = context._jvm.java.lang.ProcessHandle.current()
    return int(handle.pid())


def _ports_of(pid: int) -> Iterator[int]:
    """Yield where a process listens, by what Linux says."""
    process = Path(f"/proc/{pid}")
    sockets = set[str]()
    for descriptor in (process / "fd").iterdir():
        with suppress(OSError):
            sockets.add(str(descriptor.readlink()))
    for table in ("tcp", "tcp6"):
        for line in (process / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING and f"socket:[{fields[9]}]" in sockets:
                yield int(fields[1].rpartition(":")[2], 16)


def _answer(port: int) -> bytes:
    """Return what Java answers to a call of Spark's without a secret; nothing if it waits for more."""
    call = struct.pack(">BQI", _RPC_REQUEST, 7, 5) + b"hello"
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.settimeout(10)  # a busy machine answers late
        connection.sendall(struct.pack(">Q", 8 + len(call)) + call)
        with suppress(TimeoutError):
            return connection.recv(4096)
    return b""
