"""A real group is followed while an instance joins, and waited for before one restarts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster
from kstream_plan.snapshots.broker.source import group_decisions
from kstream_plan.snapshots.rows.times import parse_time
from tests.helpers.real_cluster import Application, Broker, until

pytestmark = [pytest.mark.kafka, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]

APPLICATION = "followed"
KEYS, PARTITIONS = 200, 8
PROCESS_IDS = {
    "i1": "b8f1a7c2-5d31-4c8e-9a57-0d4be2c1f001",
    "i2": "0c93e5d4-12aa-4b6f-8f10-77a9c36e5002",
    "i3": "71d20b6e-9c44-4e0b-b3a8-1f5e8d92a003",
    "i4": "4ad1c9f0-2b7e-4f7c-9b55-3f0f4f6f9004",
    "i5": "9e7a4a5e-60cf-4b7e-a1d2-6a6d0f0f5005",
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
        return [sys.executable, "-m", "kstream_plan", *words, *self.source, "--every", f"{EVERY_MS}ms"]

    def wait(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = self.command("wait", *words, "--give-up-after", "60s")
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def decided_ms(self) -> Mapping[int, int]:
        """Return when the broker wrote each generation's assignment."""
        with KafkaCluster(self.broker.address, {}) as cluster:
            decisions = group_decisions(cluster, self.application.application_id, lambda _: True)
        return {decision.generation: decision.at_ms for decision in decisions}


@pytest.fixture(scope="module")
def running(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("followed")
    properties = folder / "app.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in SETTINGS.items()))
    home = folder / "application"
    home.mkdir()
    with Application(broker, home, APPLICATION, SETTINGS, with_metrics=True) as application:
        application.create_topics(orders=PARTITIONS, audit=3)
        broker.produce(f"{APPLICATION}-orders", PARTITIONS, KEYS)
        for instance in ("i1", "i2"):
            application.start(instance, PROCESS_IDS[instance])
        application.settled(instances=2)
        group = Running(broker, application, properties)
        until(lambda: group.wait("caught-up", *group.metrics).returncode == 0, "the copies to catch up")
        yield group


def planned(running: Running, folder: Path, *instances: str) -> Path:
    """Save the plan of what follows if instances join whose process ids are known."""
    snapshot, scenario, plan = folder / "snapshot.json", folder / "scenario.yaml", folder / "plan.json"
    command = [sys.executable, "-m", "kstream_plan"]
    subprocess.run([*command, "snapshot", *running.source, "--offsets-topic", "--out", str(snapshot)], check=True)
    ids = json.dumps([PROCESS_IDS[instance] for instance in instances])
    scenario.write_text(f"events: [{{join: {{process_ids: {ids}}}}}]\n")
    known = ("--restore-rate", "100000/s", "--set", "produce.rate=0", "--stores", "persistent")
    saved = ("--out", str(plan), "--output", "json")
    subprocess.run(
        [*command, "simulate", str(snapshot), str(scenario), *known, *saved], capture_output=True, check=True
    )
    return plan


def followed(
    running: Running, plan: Path, joins: Sequence[str], give_up_after: str = "150s"
) -> tuple[int, list[dict[str, Any]], str]:
    """Follow a plan while instances join; return the exit code, the events, and what it said on stderr."""
    command = running.command("follow", str(plan), "--output", "json", "--give-up-after", give_up_after)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]  # it follows from here on
        for instance in joins:
            running.application.start(instance, PROCESS_IDS[instance])
        rest, errors = process.communicate()
    return process.returncode, [json.loads(line) for line in (*lines, *rest.splitlines()) if line], errors


def test_a_group_that_has_settled_is_not_waited_for(running: Running) -> None:
    done = running.wait("settled")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("YES ")


def test_an_instance_with_copies_elsewhere_may_restart(running: Running) -> None:
    done = running.wait("safe-to-restart", PROCESS_IDS["i1"], *running.metrics, "--stores", "persistent")
    assert done.returncode == 0, (done.stdout, done.stderr)


def test_every_rebalance_of_a_scale_out_appears_at_once(running: Running, tmp_path: Path) -> None:
    plan = planned(running, tmp_path, "i3")
    code, events, errors = followed(running, plan, ["i3"])
    rebalances = [event for event in events if event["event"] == "rebalance"]
    assert rebalances, errors
    otherwise = [event for event in rebalances if event["rebalance"]["likeness"] != "as-said"]
    assert not otherwise, json.dumps(otherwise)
    decided_ms = running.decided_ms()
    for event in rebalances:
        late_ms = parse_time(event["at"]) - decided_ms[event["rebalance"]["seen"]["generation"]]
        assert late_ms <= EVERY_MS + LATE_MS
    assert events[-1]["event"] == "end"
    assert (code, events[-1]["stage"]) == (0, "as-planned")


def test_an_instance_that_was_not_planned_is_named(running: Running, tmp_path: Path) -> None:
    plan = planned(running, tmp_path, "i4")
    code, events, errors = followed(running, plan, ["i4", "i5"])
    assert (code, events[-1]["stage"]) == (3, "otherwise"), errors
    strangers = {
        process_id for event in events if event["rebalance"] for process_id in event["rebalance"]["members_seen"]
    }
    assert strangers == {PROCESS_IDS["i5"]}
