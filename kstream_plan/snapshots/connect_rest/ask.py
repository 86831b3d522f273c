"""Asks REST interfaces of Connect workers, each once, within a time; a login goes only to the named address."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from kstream_plan.errors import ClusterError, UsageError
from kstream_plan.snapshots.connect_rest.saved_forms import PATH
from kstream_plan.snapshots.files.content import TooLargeError, limits
from kstream_plan.snapshots.rows.fields import printable

_BLOCK_BYTES = 1 << 16
#: What a worker says of itself at ``/`` is shorter.
_ABOUT_BYTES = 1 << 16
#: How many workers are asked at once, and for how long each at most.
_AT_ONCE = 16
_MOST_WAIT_S = 10.0
#: What wants a login is there.
_LOGIN_WANTED = frozenset({401, 403})
_FIXES = {
    401: "give user and password in --command-config: basic.auth.user.info=USER:PASSWORD",
    403: "ask as a user that may list connectors (--command-config)",
    404: "give the address of the REST interface, as rest.advertised.host.name and rest.advertised.port say it",
    409: "ask again: the workers rebalance",
}


class Access(NamedTuple):
    """How to log in: what TLS is to trust (``None``: what the system does), and ``user:password``."""

    ssl_context: ssl.SSLContext | None = None
    user_info: str | None = None


def checked_url(url: str) -> SplitResult:
    """Return an address in its parts.

    Raises:
        UsageError: it is none, or has a password in it. It is not in the message then.
    """
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one or parts.query or parts.fragment or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError("is no address of a REST interface", where="--connect-url", fix="write it as http://host:8083")
    if parts.username is not None or parts.password is not None:
        fix = "leave it out, and write basic.auth.user.info=USER:PASSWORD into a file for --command-config"
        raise UsageError("has a user or a password in it, which others would see", where="--connect-url", fix=fix)
    return parts


def ask_status(url: SplitResult, access: Access) -> bytes:
    """Return the answer of the interface; redirects are not followed.

    Raises:
        ClusterError: no answer within the limit of time, another status than 200, or more text than the limit. No
            secret is in the message.
    """
    place = printable(f"{url.scheme}://{url.netloc}")
    wait_s = limits().wait_ms / 1000
    connection = _connection(url, access, wait_s)
    try:
        with _ended_after(connection, wait_s) as expired:
            try:
                answer = _answer(connection, url, access, place)
                if expired.is_set():  # what was broken off may look like a whole answer
                    raise TimeoutError
                return answer
            except (OSError, http.client.HTTPException) as error:
                raise _unanswered(error, place, wait_s, expired=expired.is_set()) from None
    finally:
        connection.close()


def who_answers(worker_ids: Sequence[str], scheme: str, ssl_context: ssl.SSLContext | None) -> dict[str, bool]:
    """Return of each worker whether a Connect worker answers at its own address; it is sent no login.

    Args:
        worker_ids: ``host:port`` as the status names them.
        scheme: that of the interface that gave the status.
        ssl_context: what TLS is to trust.
    """
    access, wait_s = Access(ssl_context), min(limits().wait_ms / 1000, _MOST_WAIT_S)
    if not worker_ids:
        return {}
    with ThreadPoolExecutor(min(len(worker_ids), _AT_ONCE)) as pool:
        answers = pool.map(lambda worker_id: _answers(f"{scheme}://{worker_id}", access, wait_s), worker_ids)
        return dict(zip(worker_ids, answers, strict=True))


def _answers(url: str, access: Access, wait_s: float) -> bool:
    try:
        parts = checked_url(url)
    except UsageError:
        return False
    connection = _connection(parts, access, wait_s)
    try:
        with _ended_after(connection, wait_s) as expired:
            connection.request("GET", "/", headers={"Accept": "application/json", "Connection": "close"})
            response = connection.getresponse()
            root_document = response.read(_ABOUT_BYTES)
            return not expired.is_set() and (response.status in _LOGIN_WANTED or _is_about_a_worker(root_document))
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _is_about_a_worker(content: bytes) -> bool:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and "kafka_cluster_id" in document


def _connection(url: SplitResult, access: Access, wait_s: float) -> http.client.HTTPConnection:
    assert url.hostname is not None
    if url.scheme == "http":
        return http.client.HTTPConnection(url.hostname, url.port, timeout=wait_s)
    context = access.ssl_context or ssl.create_default_context()
    return http.client.HTTPSConnection(url.hostname, url.port, timeout=wait_s, context=context)


@contextmanager
def _ended_after(connection: http.client.HTTPConnection, wait_s: float) -> Iterator[threading.Event]:
    """Break the connection off when the time is over, however little at a time comes in until then."""
    expired = threading.Event()

    def end() -> None:
        expired.set()
        opened = connection.sock
        if opened is not None:
            try:
                opened.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it is closed already

    timer = threading.Timer(wait_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield expired
    finally:
        timer.cancel()


def _answer(connection: http.client.HTTPConnection, url: SplitResult, access: Access, place: str) -> bytes:
    headers = {"Accept": "application/json", "Connection": "close"}
    if access.user_info is not None:
        headers["Authorization"] = f"Basic {base64.b64encode(access.user_info.encode()).decode()}"
    connection.request("GET", url.path.rstrip("/") + PATH, headers=headers)
    response = connection.getresponse()
    if response.status != 200:
        raise _status_error(response, place)
    content, most_bytes = bytearray(), limits().text_bytes
    while block := response.read1(_BLOCK_BYTES):
        content += block
        if len(content) > most_bytes:
            raise ClusterError(str(TooLargeError(most_bytes).strerror), where=place, fix="raise --set max.text")
    if response.length:
        raise http.client.IncompleteRead(bytes(content), response.length)
    return bytes(content)


def _status_error(response: http.client.HTTPResponse, place: str) -> ClusterError:
    status = response.status
    if 300 <= status < 400:
        try:
            host = urlsplit(response.getheader("Location") or "").hostname or "another address"
        except ValueError:
            host = "another address"
        fix = "name the address that answers itself"
        return ClusterError(
            f"answers with a redirect ({status}) to {printable(host)}, which is not followed", where=place, fix=fix
        )
    return ClusterError(
        f"answers with status {status}", where=place, fix=_FIXES.get(status, "look into the worker's log")
    )


def _unanswered(error: Exception, place: str, wait_s: float, *, expired: bool) -> ClusterError:
    if expired or isinstance(error, TimeoutError):
        return ClusterError(
            f"has not answered within {wait_s:g} s (--set timeout)", where=place, fix="check the address"
        )
    if isinstance(error, http.client.IncompleteRead):
        return ClusterError("broke off in the middle of its answer", where=place, fix="ask again")
    if isinstance(error, ssl.SSLError):
        reason = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else error.reason
        fix = "check the address, and ssl.truststore.… in --command-config"
        return ClusterError(f"cannot be reached by TLS: {printable(str(reason))}", where=place, fix=fix)
    if isinstance(error, http.client.HTTPException):
        return ClusterError("does not answer as HTTP does", where=place, fix="check scheme and port of the address")
    assert isinstance(error, OSError)
    problem = f"cannot be reached: {printable(error.strerror or type(error).__name__)}"
    return ClusterError(problem, where=place, fix="check the address, and that the worker runs")
