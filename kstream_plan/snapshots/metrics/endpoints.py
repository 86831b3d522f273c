"""Metrics of running instances: their endpoints are asked at once, and what they answer becomes files."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit

from kstream_plan.errors import UsageError
from kstream_plan.model import Note
from kstream_plan.snapshots.files.content import limits
from kstream_plan.snapshots.rows.fields import printable

#: What stands for the host of each instance.
HOST = "{host}"
#: So many endpoints are asked at once, each for so long, and so much of its answer is read.
_AT_ONCE = 16
_LONGEST_WAIT_S = 10.0
_MOST_BYTES = 64 << 20


def is_endpoint(text: str) -> bool:
    """Tell whether a text is an address, not a path."""
    return re.match("https?://", text) is not None


def check_endpoint(text: str) -> None:
    """Check an address, in which ``{host}`` may stand for a host.

    Raises:
        UsageError: it is none, or has a user or a password in it.
    """
    parts = urlsplit(text.replace(HOST, "host"))
    if not parts.hostname:
        raise UsageError("is no address", where=f"--metrics {printable(text)}", fix="write http://{host}:9404/metrics")
    if parts.username is not None or parts.password is not None:
        fix = "leave it out: endpoints that want a login cannot be asked"
        raise UsageError("has a user or a password in it, which others would see", where="--metrics", fix=fix)


def ask_endpoints(addresses: Sequence[str], hosts: Collection[str], folder: Path) -> list[Note]:
    """Ask endpoints for their metrics, and write each answer to a file; return which did not answer.

    Args:
        addresses: addresses; ``{host}`` stands for each of the hosts.
        hosts: the hosts of the instances.
        folder: an empty folder.
    """
    urls = list(dict.fromkeys(text.replace(HOST, host) for text in addresses for host in sorted(hosts)))
    if not urls:
        return []
    with ThreadPoolExecutor(min(len(urls), _AT_ONCE)) as pool:
        answers = list(pool.map(_ask, urls))
    problems = []
    for number, (url, answer) in enumerate(zip(urls, answers, strict=True)):
        if isinstance(answer, bytes):
            (folder / f"{number:05}.txt").write_bytes(answer)
        else:
            problems.append(Note("no-metrics", f"{printable(url)} does not answer: {answer}", (url,)))
    return problems


def _ask(url: str) -> bytes | str:
    """Return what an endpoint answers, or why it does not."""
    try:
        with urllib.request.urlopen(url, timeout=min(limits().wait_ms / 1000, _LONGEST_WAIT_S)) as response:
            content: bytes = response.read(_MOST_BYTES + 1)
    except HTTPError as error:
        return f"status {error.code}"
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error))
    return content if len(content) <= _MOST_BYTES else f"more than {_MOST_BYTES >> 20} MiB"
