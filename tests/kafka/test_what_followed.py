"""What is planned from a running group's logs is what the group then does: a leave, a rolling restart, a kill.

The three run side by side, each with a group of its own. What is known is read right before the event, with
the commands that people use; the plan made of that is held against what followed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.real_cluster import Application, Broker, until

pytestmark = [pytest.mark.kafka, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]

KEYS = 200
PARTITIONS = 8
#: Not in the order of their hosts' names, so that nothing comes out right by accident.
PROCESS_IDS = {
    "i1": "b8f1a7c2-5d31-4c8e-9a57-0d4be2c1f001",
    "i2": "0c93e5d4-12aa-4b6f-8f10-77a9c36e5002",
    "i3": "71d20b6e-9c44-4e0b-b3a8-1f5e8d92a003",
}
HEARTBEAT_MS = 3_000
SETTINGS = {
    "acceptable.recovery.lag": 10,
    "max.warmup.replicas": 8,
    "num.standby.replicas": 1,
    "probing.rebalance.interval.ms": 60_000,  # the least that Kafka takes
    "num.stream.threads": 1,  # with more, it is a race which of them gets a task back
    "auto.offset.reset": "earliest",
    "replication.factor": 1,
    "commit.interval.ms": 500,
    "session.timeout.ms": 12_000,
    "heartbeat.interval.ms": HEARTBEAT_MS,
}
#: What an instance restores in a second: of a store of some hundred records everything within one.
RESTORED_PER_SECOND = 2_000
#: Slow enough that no copy which is new is ready at the follow-up already, where a tenth of a second would decide.
SLOWLY = 50
#: How much later than on an idle machine anything may happen.
BUSY_MS = 2_000
#: From a kill to the return: by then all that is restored slowly has been. Kafka fetches one partition after another.
KILLED_SECONDS = 32
#: Between the restarts of a rolling one: by then every member has heard of the rebalance, but it has not ended.
PAUSE_SECONDS = 4
_JOINS = b"(Re-)joining group"


class Done:
    """What is done to the instances of an application, and when, in milliseconds from the beginning."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._began = time.monotonic()

    def now_ms(self) -> int:
        return int((time.monotonic() - self._began) * 1000)

    def stop(self, instance: str) -> int:
        """Stop it as its settings say; return when it had ended."""
        self._application.stop(instance)
        return self.now_ms()

    def kill(self, instance: str) -> None:
        self._application.kill(instance)

    def start(self, instance: str) -> int:
        """Start it again; return when it asked to join."""
        (log,) = [log for log in self._application.logs if log.stem == instance]
        before = log.read_bytes().count(_JOINS)
        self._application.start(instance, PROCESS_IDS[instance])
        until(lambda: log.read_bytes().count(_JOINS) > before, f"{instance} to join")
        return self.now_ms()


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happens to a group of three: ``done`` does it and tells it as a scenario's events.

    ``from_log``: what is known before is what the leader's log tells, else what the running group does.
    """

    name: str
    instances_after: int
    done: Callable[[Done], str]
    settings: Mapping[str, object]
    from_log: bool = False
    restored_per_second: int = RESTORED_PER_SECOND


def leaving(done: Done) -> str:
    done.stop("i3")
    return f"[{{leave: {PROCESS_IDS['i3']}}}]"


def bouncing(done: Done) -> str:
    down_ms = []
    for place, instance in enumerate(PROCESS_IDS):
        if place:
            time.sleep(PAUSE_SECONDS)
        ended_ms = done.stop(instance)
        down_ms.append(done.start(instance) - ended_ms)
    restart_ms = sum(down_ms) // len(down_ms)  # they take turns on a busy machine
    instances = ", ".join(PROCESS_IDS.values())
    return f"[{{bounce: {{instances: [{instances}], restart: {restart_ms}, pause: {PAUSE_SECONDS}s}}}}]"


def killing(done: Done) -> str:
    done.kill("i2")
    time.sleep(KILLED_SECONDS)
    return f"[{{crash: {PROCESS_IDS['i2']}}}, {{at: {done.start('i2')}, return: {PROCESS_IDS['i2']}}}]"


EVENTS = (
    Event(name="leave", instances_after=2, done=leaving, settings={"leave.on.close": "true"}),
    Event(name="bounce", instances_after=3, done=bouncing, settings={}, from_log=True),
    Event(
        name="kill",
        instances_after=3,
        done=killing,
        # few at a time: a copy is as far as its last batch, and it is after each that the application waits
        settings={"restored.per.second": SLOWLY, "restore.consumer.max.poll.records": 10},
        restored_per_second=SLOWLY,
    ),
)


@pytest.fixture(scope="module")
def followed(
    broker: Broker, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Mapping[str, Future[Any]]]:
    """By event, what :func:`said_and_happened` gives."""
    release = pytestconfig.getoption("--kafka-version")
    folders = {event.name: tmp_path_factory.mktemp(event.name) for event in EVENTS}
    with ThreadPoolExecutor(len(EVENTS)) as pool:
        yield {
            event.name: pool.submit(said_and_happened, broker, release, event, folders[event.name]) for event in EVENTS
        }


def said_and_happened(broker: Broker, release: str, event: Event, folder: Path) -> dict[str, Any]:
    """Let an event happen to a group that has just started; return the plan beside what followed, as JSON."""
    application_id = f"{event.name}-app"
    properties = folder / "app.properties"
    settings = {"application.id": application_id, **SETTINGS}
    properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    home = folder / "application"
    home.mkdir()
    with Application(broker, home, application_id, {**SETTINGS, **event.settings}) as application:
        application.create_topics(orders=PARTITIONS, audit=3)
        broker.produce(f"{application_id}-orders", PARTITIONS, KEYS)
        for instance, process_id in PROCESS_IDS.items():
            application.start(instance, process_id)
        application.settled(instances=3)
        time.sleep(30)  # by then the stores are filled, and the copies of them
        before = folder / "before.jsonl"
        logs = [*map(str, application.logs), "--streams-config", str(properties)]
        group = ["--bootstrap-server", broker.address, "--group", application_id, "--set", "offsets.topic=true"]
        group += ["--topology", str(application.topology), "--streams-config", str(properties)]
        command("snapshot", *(logs if event.from_log else group), "--out", str(before))
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        scenario = event.done(Done(application))
        time.sleep(20)  # longer than the session time-out: by then the group has noticed everything
        application.settled(instances=event.instances_after, seconds=300)
        history = folder / "history.jsonl"
        command("snapshot", *logs, "--all", "--out", str(history))
    named = () if event.from_log else ("--set", f"release={release}")  # only logs tell it
    plan = planned(scenario, before, at, event.restored_per_second, *named)
    return dict(json.loads(command("diff", str(plan), str(history), "--from", at, "--output", "json")))


def planned(scenario: str, before: Path, at: str, restored_per_second: int, *options: str) -> Path:
    """Plan what happens from what was known before it, as people do; return where the plan is."""
    answer, plan = before.with_name("scenario.yaml"), before.with_name("plan.json")
    answer.write_text(f"events: {scenario}\n")
    asked = [
        "--set",
        f"now={at}",
        "--restore-rate",
        f"{restored_per_second}/s",
        "--set",
        "produce.rate=0/s",
        "--output",
        "json",
        "--set",
        "full=true",
        *options,
    ]
    command("simulate", str(before), str(answer), *asked, "--out", str(plan))
    return plan


def command(*arguments: str) -> str:
    """Run the command as people do; return what it prints."""
    run = [sys.executable, "-m", "kstream_plan", *arguments]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("name", [event.name for event in EVENTS])
def test_what_was_planned_is_what_happened(followed: Mapping[str, Future[Any]], name: str) -> None:
    """A rebalance takes up to a heartbeat interval more than is typical, for members hear of it by heartbeat.

    Beside that the machine is as late as JVMs that start together and threads that wait for the two cores.
    """
    beside = followed[name].result()
    answer = json.dumps(beside, indent=1)
    generations = beside["generations"]
    assert generations, answer
    assert {generation["likeness"] for generation in generations} <= {"as-said", "other-threads"}, answer
    assert beside["elsewhere"] == [], answer
    late_ms = [generation["late_ms"] for generation in generations]
    assert all(abs(ms) <= HEARTBEAT_MS * place + BUSY_MS for place, ms in enumerate(late_ms, 1)), answer
