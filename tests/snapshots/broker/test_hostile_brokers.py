"""A broker that is dead or hostile costs no more than the time limit, and is told as one error."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from kstream_plan.errors import ClusterError
from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster

_LIMIT_MS = 1_000


def _silent(connection: socket.socket) -> None:
    connection.recv(1 << 16)


def _closes(connection: socket.socket) -> None:
    connection.close()


def _speaks_http(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def _promises_two_gigabytes(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(b"\x7f\xff\xff\xff" + b"\0" * 100)


def _claims_a_negative_length(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(b"\xff\xff\xff\xff" * 10)


def _dribbles(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(b"\0\0\x10\0")
    for _ in range(1_000):
        connection.sendall(b"\0")
        time.sleep(0.05)


def _never_stops(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"\0" * (1 << 16))


_HOSTS = [_silent, _closes, _speaks_http, _promises_two_gigabytes, _claims_a_negative_length, _dribbles, _never_stops]


@pytest.fixture
def served() -> Iterator[Callable[[Callable[[socket.socket], None]], str]]:
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def answer(connection: socket.socket, host: Callable[[socket.socket], None]) -> None:
        with suppress(OSError):
            host(connection)

    def accept(host: Callable[[socket.socket], None]) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.append(connection)
                threading.Thread(target=answer, args=(connection, host), daemon=True).start()

    def serve(host: Callable[[socket.socket], None]) -> str:
        threading.Thread(target=accept, args=(host,), daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield serve
    listener.close()
    for connection in connections:
        connection.close()


@pytest.mark.parametrize("host", _HOSTS, ids=lambda host: host.__name__.strip("_"))
def test_it_costs_no_more_than_the_limit(
    host: Callable[[socket.socket], None], served: Callable[[Callable[[socket.socket], None]], str]
) -> None:
    started = time.monotonic()
    with pytest.raises(ClusterError) as caught:
        KafkaCluster(served(host), {}, _LIMIT_MS)
    assert time.monotonic() - started < 10 * _LIMIT_MS / 1000
    assert "\n" not in str(caught.value)
    assert caught.value.what.startswith("no answer within 1 s (--set timeout): ")
    assert caught.value.fix


def test_nobody_there_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = f"127.0.0.1:{gone.getsockname()[1]}"
    started = time.monotonic()
    with pytest.raises(ClusterError, match="the connection is refused: "):
        KafkaCluster(address, {}, 15_000)
    assert time.monotonic() - started < 10
