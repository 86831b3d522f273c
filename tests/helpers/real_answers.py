"""What the commands answer about a real group while it runs, and what was so: its copies by Kafka's own account."""

from __future__ import annotations

import io
import json
import re
import threading
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from kstream_plan.cli import run
from tests.helpers.real_cluster import Application, Broker

SOURCES = ("log", "brokers", "metrics")
#: From one line of what an instance says of its copies to the next, and as much again on a busy machine.
_BETWEEN_LINES = timedelta(seconds=1.5)
_RESTORE = re.compile(
    r"^(?P<at>\S+Z) .* - restore start \S+-changelog-(?P<partition>\d+) from (?P<start>\d+) to (?P<end>\d+)"
)
_RESTORED = re.compile(r"^(?P<at>\S+Z) .* - restore end \S+-changelog-(?P<partition>\d+) ")


class Question(NamedTuple):
    """A question about one instance: ``drain`` or ``bounce``, and its options."""

    command: str
    instance: str
    process_id: str
    options: tuple[str, ...] = ()


class Answer(NamedTuple):
    """What was answered.

    Attributes:
        source: where the snapshot came from.
        question: the question.
        began: when the snapshot was begun.
        ended: when the answer was there.
        answer: yes, no or unknown; ``none``: an error, as while the group rebalances.
        document: the JSON, or the error.
    """

    source: str
    question: Question
    began: datetime
    ended: datetime
    answer: str
    document: Mapping[str, Any]


class Restore(NamedTuple):
    """What a task that was to run on an instance had to restore first.

    Attributes:
        at: when it began.
        instance: where.
        partition: of the task.
        records: how many it began with.
        until: when it had restored; ``None``: it never had.
    """

    at: datetime
    instance: str
    partition: int
    records: int
    until: datetime | None


class Asker:
    """Asks about a running application as people do, but in this process, which may have a Spark that all of them use.

    Args:
        folder: where snapshots and scrapes are put.
        properties: the application's settings, as a file.
    """

    def __init__(self, broker: Broker, application: Application, folder: Path, properties: Path) -> None:
        self._application = application
        self._folder = folder
        self._settings = ["--streams-config", str(properties)]
        group = ["--bootstrap-server", broker.address, "--group", application.application_id]
        self._group = [*group, "--topology", str(application.topology)]

    def ask(self, questions: Iterable[Question], running: Iterable[str]) -> list[Answer]:
        """Ask every question by a new snapshot of each source; ``running``: the instances whose metrics there are."""
        asked, answers = list(questions), []
        for source in SOURCES:
            began = datetime.now(UTC)
            snapshot = self._folder / f"{source}.json"
            code, _, error = _run("snapshot", *self._read(source, running), *self._settings, "--out", str(snapshot))
            for question in asked:
                document = {"answer": "none", "error": error} if code else _answered(question, snapshot)
                answers.append(Answer(source, question, began, datetime.now(UTC), document["answer"], document))
        return answers

    def _read(self, source: str, running: Iterable[str]) -> list[str]:
        if source == "log":
            return [*map(str, self._application.logs)]
        if source == "brokers":
            return [*self._group, "--set", "offsets.topic=true"]
        return [*self._group, "--metrics", str(self._scraped(running))]

    def _scraped(self, running: Iterable[str]) -> Path:
        folder = self._folder / "scrapes"
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for instance in running:
            url = self._application.metrics_urls[instance]
            with suppress(OSError), urllib.request.urlopen(url, timeout=20) as page:  # it may have just started
                (folder / f"{instance}.prom").write_bytes(page.read())
        return folder


def _answered(question: Question, snapshot: Path) -> Mapping[str, Any]:
    whom = ["--instance"] if question.command == "bounce" else []
    whom.append(question.process_id)
    asked = [str(snapshot), *whom, *question.options, "--set", "stores=persistent", "--output", "json"]
    code, text, error = _run(question.command, *asked)
    return dict(json.loads(text)) if code in (0, 3) else {"answer": "none", "error": error}


def _run(*arguments: str) -> tuple[int, str, str]:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as errors:
        code = run(arguments)
    return code, out.getvalue(), errors.getvalue()


class _Line(NamedTuple):
    """What an instance said at one moment: what is active on it, and the position and end by partition."""

    at: datetime
    active: frozenset[int]
    copies: Mapping[int, tuple[int, int]]


class Copies:
    """How far the copies of a store were on each instance, as Kafka's own ``allLocalStorePartitionLags`` told."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._lines = {instance: _lines(path) for instance, path in files.items()}

    def least_lags(self, instance: str, began: datetime, ended: datetime) -> dict[int, int | None]:
        """Return how far the best copy elsewhere was behind, by partition that was active on an instance.

        The least that was told around that time; of a copy that nobody is assigned by then, what was told last.
        ``None``: there was no other copy.
        """
        window = began - _BETWEEN_LINES, ended + _BETWEEN_LINES
        active: set[int] = set()
        for line in self._between(instance, *window):
            active |= line.active & line.copies.keys()
        return {partition: self._least(instance, partition, *window) for partition in sorted(active)}

    def within(self, limit: int, began: datetime, ended: datetime, partitions: int) -> bool:
        """Tell whether each partition had the same two copies all the time, neither more behind than that."""
        lines = {instance: self._between(instance, began, ended) for instance in self._lines}
        if not all(lines.values()):
            return False
        of_partition: dict[int, set[str]] = {}
        for instance, answer in lines.items():
            if len({(line.active, frozenset(line.copies)) for line in answer}) > 1:
                return False
            if any(end - position > limit for line in answer for position, end in line.copies.values()):
                return False
            for partition in answer[0].copies:
                of_partition.setdefault(partition, set()).add(instance)
        return len(of_partition) == partitions and all(len(holders) == 2 for holders in of_partition.values())

    def end(self, partition: int, at: datetime) -> int:
        """Return where a partition's changelog ended the last time that was told before a moment."""
        answers = [
            (line.at, line.copies[partition][1])
            for lines in self._lines.values()
            for line in lines
            if line.at <= at and partition in line.copies
        ]
        return max(answers)[1]

    def _between(self, instance: str, began: datetime, ended: datetime) -> list[_Line]:
        return [line for line in self._lines[instance] if began <= line.at <= ended]

    def _least(self, instance: str, partition: int, began: datetime, ended: datetime) -> int | None:
        lags = []
        for other in self._lines:
            if other == instance:
                continue
            held = [line for line in self._lines[other] if line.at <= ended and partition in line.copies]
            around = [line for line in held if line.at >= began] or held[-1:]
            for line in around:
                position, end = line.copies[partition]
                lags.append(max(end, self.end(partition, line.at if line.at >= began else began)) - position)
        return min(lags, default=None)


def _lines(path: Path) -> list[_Line]:
    lines = []
    whole = path.read_text().rpartition("\n")[0] if path.exists() else ""
    for text in whole.splitlines():
        answer = json.loads(text)
        stateful = frozenset(int(task[2:]) for task in answer["active"] if task.startswith("0_"))
        copies = {int(partition): (position, end) for partition, (position, end) in answer["copies"].items()}
        lines.append(_Line(_time(answer["at"]), stateful, copies))
    return lines


def restores(logs: Sequence[Path]) -> list[Restore]:
    """Return what the instances' logs say was restored before a task ran, in the order of time."""
    return sorted((restore for log in logs for restore in _restores(log)), key=lambda restore: restore[:4])


def _restores(log: Path) -> Iterator[Restore]:
    began: dict[int, Restore] = {}
    for line in log.read_text(errors="replace").splitlines():
        if (start := _RESTORE.match(line)) is not None:
            partition, records = int(start["partition"]), int(start["end"]) - int(start["start"])
            if partition in began:
                yield began.pop(partition)
            began[partition] = Restore(_time(start["at"]), log.stem, partition, records, None)
        elif (end := _RESTORED.match(line)) is not None and int(end["partition"]) in began:
            yield began.pop(int(end["partition"]))._replace(until=_time(end["at"]))
    yield from began.values()


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text[:26].rstrip("Z") + "+00:00")


class Traffic:
    """Writes to a topic all the time, for as long as the block lasts.

    Attributes:
        rate: records per second and partition, from now on.
    """

    def __init__(self, broker: Broker, topic: str, partitions: int, rate: int) -> None:
        self.rate = rate
        self._broker = broker
        self._topic = topic
        self._partitions = partitions
        self._done = threading.Event()
        self._writing = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> Traffic:
        self._writing.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._done.set()
        self._writing.join()

    def _write(self) -> None:
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self._broker.address, linger_ms=20, enable_idempotence=False)
        due, written, before = 0.0, 0, time.monotonic()
        while not self._done.wait(0.1):
            now = time.monotonic()
            due, before = due + self.rate * (now - before), now
            for number in range(written, int(due)):
                for partition in range(self._partitions):
                    key = f"k{partition}-{number % 200}".encode()
                    producer.send(self._topic, b"v", key=key, partition=partition)
            written = int(due)
        producer.close()
