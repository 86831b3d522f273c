"""The captured logs in other layouts: what other loggers and shippers would have made of the same messages."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from tests.helpers import captured

_RECORD = re.compile(r"(\S+)\| (\d{4}-\S+)Z \[(.*?)\] (\w+) (\S+) - (.*)")


class Logged(NamedTuple):
    """One record of a captured log: who logged it, when, and its message, which may have several lines."""

    host: str
    at: str
    thread: str
    level: str
    logger: str
    message: str


@cache
def text(scenario: str) -> str:
    """The captured log of a scenario, all its instances in one."""
    return gzip.decompress((captured.REAL / scenario / "leader.log.gz").read_bytes()).decode()


@cache
def records(scenario: str) -> Sequence[Logged]:
    """The same record by record."""
    found: list[Logged] = []
    for line in text(scenario).splitlines():
        if match := _RECORD.fullmatch(line):
            found.append(Logged(*match.groups()))
        else:
            found[-1] = found[-1]._replace(message=f"{found[-1].message}\n{line.partition('| ')[2]}")
    return tuple(found)


def _lines(record: Logged, first: str) -> list[str]:
    return f"{first}{record.message}".split("\n")


def log4j(record: Logged) -> list[str]:
    """Kafka's own pattern: the logger's name is behind the message."""
    return f"[{record.at.replace('T', ' ').replace('.', ',')}] {record.level} {record.message} ({record.logger})".split(
        "\n"
    )


def logback(record: Logged) -> list[str]:
    """Everything before the message, which then begins late in the line."""
    return _lines(record, f"{record.at}Z [{record.thread}] {record.level} {record.logger} - ")


def spring_boot(record: Logged) -> list[str]:
    return _lines(record, f"{record.at}Z  {record.level:5} 1 --- [{record.thread[-15:]}] o.a.k.s.p.i.Assignor : ")


def coloured(record: Logged) -> list[str]:
    return _lines(
        record, f"\x1b[2m{record.at}+00:00\x1b[0;39m \x1b[32m{record.level}\x1b[0;39m [x] \x1b[36mo.a.k\x1b[0m: "
    )


def kubectl(record: Logged) -> list[str]:
    return [f"[pod/{record.host}/app] {line}" for line in _lines(record, f"{record.at}Z {record.level} - ")]


def kubectl_timestamps(record: Logged) -> list[str]:
    return [f"{record.at}789Z {line}" for line in _lines(record, f"{record.at.replace('T', ' ')} {record.level} - ")]


def compose(record: Logged) -> list[str]:
    return [f"{record.host}   | {line}" for line in _lines(record, f"{record.at}Z {record.level} - ")]


def logstash(record: Logged) -> list[str]:
    row = {"@timestamp": f"{record.at}Z", "@version": "1", "message": record.message, "logger_name": record.logger}
    return [json.dumps(row | {"level": record.level, "kubernetes": {"pod_name": record.host}})]


def log4j_json(record: Logged) -> list[str]:
    seconds, millis = _epoch_ms(record.at)
    instant = {"epochSecond": seconds, "nanoOfSecond": millis * 1_000_000}
    return [json.dumps({"instant": instant, "thread": record.thread, "level": record.level, "message": record.message})]


def docker(record: Logged, size: int = 16384) -> list[str]:
    """Docker's json-file: each line an object, long ones split."""
    return _as_docker(_lines(record, f"{record.level} - "), record, size)


def docker_of_json(record: Logged, size: int = 16384) -> list[str]:
    return _as_docker(logstash(record), record, size)


def cri(record: Logged, size: int = 2000) -> list[str]:
    """The containers' own format, long lines split."""
    return _as_cri(_lines(record, f"{record.at}Z {record.level} - "), record, size)


def cri_of_json(record: Logged, size: int = 2000) -> list[str]:
    return _as_cri(logstash(record), record, size)


def conmon(found: Sequence[Logged], size: int = 8192, offset: int = 0) -> bytes:
    """As CRI-O's conmon: what comes out of the pipe in blocks is split at their ends, wherever lines begin."""
    return _in_blocks([line for record in found for line in logback(record)], size, offset)


def conmon_of_json(found: Sequence[Logged], size: int = 8192, offset: int = 0) -> bytes:
    return _in_blocks([line for record in found for line in logstash(record)], size, offset)


def split(record: Logged) -> list[str]:
    """A shipper that splits long lines and does not say so."""
    return [part for line in _lines(record, f"{record.at}Z {record.level} - ") for part in _parts(line, 1500)]


#: Layouts → whether they say which instance logged a line.
LAYOUTS: dict[Callable[[Logged], list[str]], bool] = {
    log4j: False,
    logback: False,
    spring_boot: False,
    coloured: False,
    kubectl: True,
    kubectl_timestamps: False,
    compose: True,
    logstash: True,
    log4j_json: False,
    docker: False,
    docker_of_json: True,
    cri: False,
    cri_of_json: True,
    split: False,
}


def laid_out(found: Sequence[Logged], layout: Callable[[Logged], list[str]], end: str = "\n") -> bytes:
    """A whole log in another layout."""
    return "".join(f"{line}{end}" for record in found for line in layout(record)).encode()


def finished(scenario: str) -> Iterator[Logged]:
    """The records, with what the leader's consumer logs at the end of each generation (it was not captured)."""
    generation = 0
    group = ""
    member = ""
    for record in records(scenario):
        yield record
        if match := re.search(
            r"assigned active \{((\w+)-[0-9a-f-]{36}-StreamThread-\d+-consumer-[0-9a-f-]{36})=", record.message
        ):
            member, group = match.groups()
        if record.message.endswith(("a followup rebalance will be scheduled.", "no followup rebalances required.")):
            generation += 1
            client = f"{record.thread}-consumer"
            message = (
                f"[Consumer clientId={client}, groupId={group}] Finished assignment for group at generation "
                f"{generation}: "
                f"{{{member}=Assignment(partitions=[orders-0], userDataSize=312)}}"
            )
            logger = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
            yield record._replace(level="INFO", logger=logger, message=message)


def _in_blocks(lines: list[str], size: int, offset: int) -> bytes:
    written = "".join(f"{line}\n" for line in lines).encode()
    found = []
    for start in range(offset - size, len(written), size):
        for part in written[max(start, 0) : start + size].splitlines(keepends=True):
            flag = b"F" if part.endswith(b"\n") else b"P"
            found.append(b"2026-11-21T13:00:00.000000000+00:00 stdout %b %b\n" % (flag, part.rstrip(b"\n")))
    return b"".join(found)


def _as_docker(lines: list[str], record: Logged, size: int) -> list[str]:
    at = f"{record.at}123456Z"
    parts = (part for line in lines for part in _parts(f"{line}\n", size))
    return [json.dumps({"log": part, "stream": "stdout", "time": at}) for part in parts]


def _as_cri(lines: list[str], record: Logged, size: int) -> list[str]:
    found = []
    for line in lines:
        parts = _parts(line, size)
        flags = ["P"] * (len(parts) - 1) + ["F"]
        found += [f"{record.at}123456Z stdout {flag} {part}" for flag, part in zip(flags, parts, strict=True)]
    return found


def _parts(line: str, size: int) -> list[str]:
    return [line[start : start + size] for start in range(0, max(len(line), 1), size)]


def _epoch_ms(at: str) -> tuple[int, int]:
    from datetime import datetime

    moment = datetime.fromisoformat(f"{at}+00:00")
    return int(moment.timestamp()), moment.microsecond // 1000
