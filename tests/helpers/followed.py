"""A real group that is followed and waited for, as people do it: by the command, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster
from kstream_plan.snapshots.broker.source import group_decisions
from tests.helpers.real_cluster import Application, Broker, until

PROCESS_IDS = {
    "i1": "b8f1a7c2-5d31-4c8e-9a57-0d4be2c1f001",
    "i2": "0c93e5d4-12aa-4b6f-8f10-77a9c36e5002",
    "i3": "71d20b6e-9c44-4e0b-b3a8-1f5e8d92a003",
    "i4": "4ad1c9f0-2b7e-4f7c-9b55-3f0f4f6f9004",
    "i5": "9e7a4a5e-60cf-4b7e-a1d2-6a6d0f0f5005",
    "i6": "5c3f0d17-8b62-4a94-8e3d-2f9b7c61a006",
}
SETTINGS = {
    "num.standby.replicas": 1,
    "probing.rebalance.interval.ms": 60_000,
    "num.stream.threads": 1,
    "auto.offset.reset": "earliest",
    "replication.factor": 1,
    "commit.interval.ms": 500,
    "statestore.cache.max.bytes": 0,
    "session.timeout.ms": 6000,
    "heartbeat.interval.ms": 1000,
}
EVERY_MS = 1_000
#: A rebalance is seen within one poll, and so much more.
LATE_MS = 2_000
_KEYS = 200
_RESTORED_AT_ONCE = ("--restore-rate", "100000/s")


class Running(NamedTuple):
    """A running group, and how it is asked."""

    broker: Broker
    application: Application
    properties: Path

    @property
    def source(self) -> list[str]:
        group = ["--bootstrap-server", self.broker.address, "--group", self.application.application_id]
        return [*group, "--topology", str(self.application.topology), "--streams-config", str(self.properties)]

    @property
    def metrics(self) -> list[str]:
        return [word for url in self.application.metrics_urls.values() for word in ("--metrics", url)]

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "kstream_plan", *words, *self.source, "--set", f"every={EVERY_MS}ms"]

    def wait(self, *words: str, give_up_after: str = "60s") -> subprocess.CompletedProcess[str]:
        command = self.command("wait", *words, "--give-up-after", give_up_after)
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def scrape(self, folder: Path) -> None:
        """Add a scrape of each instance to a folder."""
        for instance, url in self.application.metrics_urls.items():
            with urllib.request.urlopen(url, timeout=20) as page:
                (folder / f"{instance}-{time.time_ns()}.prom").write_bytes(page.read())

    def decided_ms(self) -> Mapping[int, int]:
        """Return when the broker wrote each generation's assignment."""
        with KafkaCluster(self.broker.address, {}) as cluster:
            decisions = group_decisions(cluster, self.application.application_id, lambda _: True)
        return {decision.generation: decision.at_ms for decision in decisions}


@contextmanager
def running_group(
    broker: Broker,
    folder: Path,
    application_id: str,
    instances: Sequence[str],
    partitions: int,
    settings: Mapping[str, object] = SETTINGS,
    of_instance: Mapping[str, Mapping[str, object]] | None = None,
    keys: int = _KEYS,
    while_restoring: Callable[[Running], object] = lambda _: None,
) -> Iterator[Running]:
    """Start a group, and wait until it has settled and every copy has caught up; it ends with the block.

    Args:
        broker: where it runs.
        folder: its files.
        application_id: its name.
        instances: who runs it.
        partitions: the number of its stateful tasks.
        settings: of all instances.
        of_instance: more of them, by instance.
        keys: records in the store of each task.
        while_restoring: what is done once it has settled, and before its copies have caught up.
    """
    properties = folder / "app.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    home = folder / "application"
    home.mkdir()
    with Application(broker, home, application_id, settings, of_instance, with_metrics=True) as application:
        application.create_topics(orders=partitions, audit=3)
        broker.produce(f"{application_id}-orders", partitions, keys)
        for instance in instances:
            application.start(instance, PROCESS_IDS[instance])
        application.settled(instances=len(instances), seconds=600)
        group = Running(broker, application, properties)
        while_restoring(group)
        until(lambda: group.wait("caught-up", *group.metrics).returncode == 0, "the copies to catch up")
        yield group


def planned(
    running: Running,
    folder: Path,
    *instances: str,
    measured: Sequence[str] = (),
    known: Sequence[str] = _RESTORED_AT_ONCE,
) -> Path:
    """Save the plan of what follows if instances join whose process ids are known.

    Args:
        running: the group.
        folder: where the plan is put.
        instances: those that join.
        measured: options of ``snapshot`` that name measurements.
        known: options of ``simulate`` that say how fast copies restore.
    """
    snapshot, scenario, plan = folder / "snapshot.json", folder / "scenario.yaml", folder / "plan.json"
    command = [sys.executable, "-m", "kstream_plan"]
    source = [*running.source, "--set", "offsets.topic=true", *measured]
    subprocess.run([*command, "snapshot", *source, "--out", str(snapshot)], check=True)
    ids = json.dumps([PROCESS_IDS[instance] for instance in instances])
    scenario.write_text(f"events: [{{join: {{process_ids: {ids}}}}}]\n")
    settings = ["--set", "produce.rate=0", "--set", f"release={running.broker.release}"]  # brokers do not tell it
    options = [*known, *settings, "--set", "stores=persistent", "--out", str(plan), "--output", "json"]
    subprocess.run([*command, "simulate", str(snapshot), str(scenario), *options], capture_output=True, check=True)
    return plan


def followed(
    running: Running, plan: Path, joins: Sequence[str], later: Sequence[str] = (), give_up_after: str = "150s"
) -> tuple[int, list[dict[str, Any]], str]:
    """Follow a plan while instances join, ``later`` those that join after a rebalance.

    Returns the exit code, the events, and what it said on stderr.
    """
    command = running.command("follow", str(plan), "--output", "json", "--give-up-after", give_up_after)
    events = list[dict[str, Any]]()
    starts = [joins, later]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            events.append(json.loads(line))
            if starts and (len(events) == 1 or events[-1]["event"] == "rebalance"):
                for instance in starts.pop(0):
                    running.application.start(instance, PROCESS_IDS[instance])
        errors = process.communicate()[1]
    return process.returncode, events, errors


def strangers(events: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the process ids that took part in a rebalance and in no planned one."""
    return {process_id for event in events if event["rebalance"] for process_id in event["rebalance"]["members_seen"]}
