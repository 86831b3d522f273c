"""Twice as much of anything takes no more than twice the time: no line can keep the reader of logs for hours."""

from __future__ import annotations

import contextlib
import gc
import io
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import BinaryIO

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.connect_log.history import read_connect_logs
from kstream_plan.snapshots.leader_log.records import read_records

TIME = b"2026-11-21 12:00:00,000 INFO stream-thread [a-StreamThread-1-consumer] "
MEMBERS = TIME + b"2 client nodes and 2 consumers participating in this rebalance:\n"
SPLIT = TIME + b"Client a per-consumer assignment:\n"
DECIDED = TIME + b"Decided on assignment: {"
#: What was found to take hours for a megabyte, and what looks like it.
SHAPES: dict[str, Callable[[int], bytes]] = {
    "hosts and letters": lambda n: (
        TIME + b"Constructed client metadata {" + b"a" * n + b"=ClientMetadata{hostInfo=HostInfo{"
    ),
    "hosts without a quote": lambda n: (
        TIME + b"Constructed client metadata {" + b"a=ClientMetadata{hostInfo=HostInfo{host=" * n
    ),
    "hosts half": lambda n: TIME + b"Constructed client metadata {" + b"a=ClientMetadata{hostInfo=HostInfo{host='" * n,
    "threads": lambda n: b"stream-thread [" * n + b" No followup rebalance was requested",
    "groups": lambda n: b"groupId=" * n + b"] Finished assignment for group at generation 1: {a=",
    "groups without an end": lambda n: b"groupId=" * n + b" Finished assignment for group at generation 1: {a=",
    "finished": lambda n: b"] Finished assignment for group at generation 1: {a" * n,
    "fields": lambda n: SPLIT + b"assigned active {" * n,
    "fields and braces": lambda n: SPLIT + b"assigned active {}" * n + b"x",
    "fields over lines": lambda n: SPLIT + b"assigned active {" + b"\nx" * n,
    "fields over lines that end": lambda n: SPLIT + b"assigned active {" + b"x}\n}x\n" * n,
    "members": lambda n: MEMBERS + b"a: [" * n,
    "members and brackets": lambda n: MEMBERS + b" a: [" * n + b"]x",
    "members and letters": lambda n: MEMBERS + b"a" * n + b": ",
    "members over lines": lambda n: MEMBERS + b"a: [b" + b"\nx" * n,
    "members over lines that end": lambda n: MEMBERS + b"a: [b" + b"]x\ny]\n" * n,
    "loggers": lambda n: MEMBERS + b"a: [b] (" * n,
    "blanks": lambda n: MEMBERS + b"a: [b]" + b" " * n + b"x",
    "clients": lambda n: DECIDED + b"a=[activeTasks: ([" * n,
    "clients over lines": lambda n: DECIDED + b"\nx" * n,
    "tags": lambda n: (
        DECIDED + b"a=[activeTasks: ([]) standbyTasks: ([]) prevActiveTasks: ([]) prevStandbyTasks: ([]) "
        b"changelogOffsetTotalsByTask: ([]) taskLagTotals: ([]) clientTags: ([" * n
    ),
    "sums": lambda n: (
        DECIDED + b"a=[activeTasks: ([]) standbyTasks: ([]) prevActiveTasks: ([]) prevStandbyTasks: ([]) "
        b"changelogOffsetTotalsByTask: (["
        + b"0_1=1, "
        * n
        + b"]) taskLagTotals: ([]) clientTags: ([]) capacity: 1 assigned: 0]} "
        b"with no followup probing rebalance."
    ),
    "end offsets": lambda n: b"Task " * n + b" had endOffsetSum=1 smaller",
    "clients of splits": lambda n: b"Client " * n + b" per-consumer assignment:",
    "times": lambda n: b"2026-11-21 12:00:00 " * n + b"No followup rebalance was requested",
    "JSON": lambda n: b'{"message": "' + b"Decided on assignment: {" * n,
    "JSON inside": lambda n: b'{"a":' * n + b"No followup rebalance was requested",
    "prefixes": lambda n: b"a | " * n + b"No followup rebalance was requested",
    "colours": lambda n: b"\x1b[" + b"1;" * n + b" No followup rebalance was requested",
    "settings": lambda n: TIME + b"StreamsConfig values: " + b"\n\ta.b = c" * n,
    "settings in one line": lambda n: TIME + b"StreamsConfig values: " + b" a.b = c" * n,
    "settings that are none": lambda n: TIME + b"StreamsConfig values: " + b" a.b" * n + b" = = ",
    "escaped members": lambda n: MEMBERS[:-1] + b"#012a: [b]" * n + b"x",
    "escaped fields": lambda n: SPLIT[:-1] + b"\\nassigned active {" * n,
    "heads": lambda n: TIME + b"Decided on assignment: {" * n,
    "CSV": lambda n: b"message,time\n" + b'"a' * n + b" per-consumer assignment:",
    "a document": lambda n: b'{"events": [' + b'{"message": "a"},' * n,
    "a document inside": lambda n: b'{"events": ' + b"[" * n,
    "newest first": lambda n: b"".join(
        b"2026-11-21T12:%02d:%02d.%03dZ x\n" % (59 - m // 60000 % 60, 59 - m // 1000 % 60, 999 - m % 1000)
        for m in range(n)
    ),
    "parts": lambda n: b"2026-11-21T12:00:00Z stdout P No followup rebalance was requested\n" * n,
}

WORKER = b"5878 [x] INFO [Worker clientId=c, groupId=g] "
ANSWER = (
    WORKER + b"Joined group at generation 1 with protocol version 2 and got assignment: Assignment{error=0, "
    b"leader='c', leaderUrl='u', offset=1, connectorIds=["
)
#: The same of the logs of Connect's workers.
CONNECT_SHAPES: dict[str, Callable[[int], bytes]] = {
    "answers": lambda n: ANSWER * n,
    "answers without a list": lambda n: WORKER + b"Joined group at generation 1 with protocol version 2 " * n,
    "leaders": lambda n: WORKER + b"Joined group at generation 1 with protocol version 2 and got assignment: " * n,
    "connectors": lambda n: ANSWER + b"a, " * n + b"], taskIds=[",
    "tasks without a number": lambda n: ANSWER + b"], taskIds=[" + b"a, " * n + b"], revokedConnectorIds=[",
    "tasks": lambda n: (
        ANSWER + b"], taskIds=[" + b"a, " * n + b"a-1], revokedConnectorIds=[], revokedTaskIds=[], delay=0} with "
    ),
    "lists": lambda n: ANSWER + b"], taskIds=[" * n,
    "members": lambda n: WORKER + b"Received assignments: {" + b"a={ connectorIds=[" * n + b"]}}",
    "members and letters": lambda n: WORKER + b"Received assignments: {" + b"a" * n + b"}}",
    "ends of members": lambda n: WORKER + b"Received assignments: {" + b"}}(a" * n,
    "loggers": lambda n: WORKER + b"Received assignments: {}} (" + b"a." * n,
    "configured": lambda n: WORKER + b"Configured assignments: { connectorIds=[" + b"], taskIds=[" * n,
    "workers": lambda n: b"[Worker clientId=" * n + b"Successfully joined group with generation Generation{",
    "ids": lambda n: WORKER + b"Successfully joined group with generation Generation{generationId=1, memberId='" * n,
    "blanks": lambda n: b" " * n + b"jvm.spec = ",
    "Java": lambda n: b"jvm.spec = " * n + b", 17",
    "versions": lambda n: b"jvm.spec = a" + b", 1.7" * n,
    "clocks": lambda n: WORKER + b" now: 1" * n + b" diff scheduledRebalance - now: ",
    "numbers of generations": lambda n: b"".join(
        WORKER + b"Successfully joined group with generation Generation{generationId=%d, memberId='m', \n" % number
        for number in range(n)
    ),
}


@pytest.fixture(autouse=True, scope="module")
def _only_what_is_made_here_is_collected() -> Iterator[None]:
    """Looking through all that other tests have left would take longer than what is measured."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def _seconds(read: Callable[[BinaryIO], object], log: bytes, times: int = 2) -> float:
    """The least of so many runs."""
    best = float("inf")
    for _ in range(times):
        gc.collect()
        start = time.process_time()
        with contextlib.suppress(SnapshotError):
            read(io.BytesIO(log))
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_no_faster_than_the_log(shape: str) -> None:
    _grows_no_faster(lambda log: list(read_records(log, "log")), SHAPES[shape])


@pytest.mark.parametrize("shape", CONNECT_SHAPES)
def test_time_grows_no_faster_than_the_log_of_a_worker(shape: str) -> None:
    _grows_no_faster(lambda log: read_connect_logs(["-"], stdin=log), CONNECT_SHAPES[shape])


def _grows_no_faster(read: Callable[[BinaryIO], object], log: Callable[[int], bytes]) -> None:
    repeats = max(8_000 // max(1, len(log(2)) - len(log(1))), 1)
    while _seconds(read, log(repeats), times=1) < 0.01 and len(log(repeats)) < 4 << 20:
        repeats *= 2
    # what is quadratic takes four times as long at every step, whenever it is measured; with a full cache, or on a busy
    # machine, some steps of others do
    assert any(_least_growth(read, log, repeats) <= 3 for _ in range(3))


def _least_growth(read: Callable[[BinaryIO], object], log: Callable[[int], bytes], repeats: int) -> float:
    """Return the least factor by which the time grows where the log doubles, three times in a row."""
    seconds = [max(_seconds(read, log(repeats)), 0.002), *(_seconds(read, log(by * repeats)) for by in (2, 4, 8))]
    return min(later / earlier for earlier, later in pairwise(seconds))
