"""A real classic group is switched to a streams group, offline, as the pages say: what follows is what was told."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kstream_plan.errors import ClusterError
from kstream_plan.model.scenario import Scenario
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.streams_equivalent import starting
from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.real_cluster import Application, Broker, until

pytestmark = [pytest.mark.kafka, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]

APPLICATION = "switched-app"
KEYS, PARTITIONS, STATELESS = 50, 6, 2
PROCESS_IDS = {
    "i1": "b8f1a7c2-5d31-4c8e-9a57-0d4be2c1f001",
    "i2": "0c93e5d4-12aa-4b6f-8f10-77a9c36e5002",
}
SETTINGS = {
    "num.stream.threads": 1,
    "auto.offset.reset": "earliest",
    "replication.factor": 1,
    "commit.interval.ms": 500,
    "leave.on.close": "true",
}
#: Where the streams protocol is on without further settings (KIP-1071).
_SINCE = (4, 2)
_POLL_SECONDS = 0.1
#: From what a broker has done to what a test is told of it, on a machine that does other things as well.
_LATE_SECONDS = 5.0


class Switched(NamedTuple):
    """``before`` is the snapshot of the classic group, ``after`` of the streams group; it was Stable after so long."""

    before: dict[str, Any]
    after: dict[str, Any]
    took_seconds: float


@pytest.fixture(scope="module")
def switched(broker: Broker, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Switched:
    release = pytestconfig.getoption("--kafka-version")
    if tuple(map(int, release.split(".")[:2])) < _SINCE:
        pytest.skip(f"Kafka {release} has no streams groups that are on by themselves")
    folder = tmp_path_factory.mktemp("switched")
    before = _classic(broker, folder)
    return _streams(broker, folder, before)


def _classic(broker: Broker, folder: Path) -> dict[str, Any]:
    """Run the classic group until its store is filled, and close all instances, which leaves it empty."""
    with Application(broker, folder, APPLICATION, SETTINGS) as application:
        application.create_topics(orders=PARTITIONS, audit=STATELESS)
        broker.produce(f"{APPLICATION}-orders", PARTITIONS, KEYS)
        for instance, process_id in PROCESS_IDS.items():
            application.start(instance, process_id)
        topology = ["--topology", str(application.topology)]
        before = until(lambda: filled(broker, *topology), "two instances that have filled the store")
        for instance in PROCESS_IDS:
            application.stop(instance)
    return before


def _streams(broker: Broker, folder: Path, before: dict[str, Any]) -> Switched:
    settings = {**SETTINGS, "group.protocol": "streams"}
    with Application(broker, folder, APPLICATION, settings) as application, KafkaCluster(broker.address, {}) as cluster:
        for instance, process_id in PROCESS_IDS.items():
            application.start(instance, process_id)
        until(lambda: members(cluster) > 0, "somebody to join", poll_seconds=_POLL_SECONDS)
        began = time.monotonic()
        until(lambda: members(cluster, "Stable") == 2, "two instances to be Stable", poll_seconds=_POLL_SECONDS)
        took_seconds = time.monotonic() - began
        after = row(broker)
        assert after is not None
        return Switched(before, after, took_seconds)


def members(cluster: KafkaCluster, state: str | None = None) -> int:
    """How many members the streams group has, if it is in that state; 0 before it is one."""
    try:
        group = cluster.describe_streams_group(APPLICATION).group
    except ClusterError:
        return 0
    return len(group.members) if state in (None, group.state) else 0


def row(broker: Broker, *options: str) -> dict[str, Any] | None:
    """What the command says of the group as it runs; nothing if it cannot."""
    group = ["snapshot", "--bootstrap-server", broker.address, "--group", APPLICATION]
    done = subprocess.run(
        [sys.executable, "-m", "kstream_plan", *group, *options], capture_output=True, text=True, check=False
    )
    return json.loads(done.stdout) if done.returncode == 0 else None


def filled(broker: Broker, *options: str) -> dict[str, Any] | None:
    found = row(broker, *options)
    if found is None or len(found["instances"]) < len(PROCESS_IDS):
        return None
    sums = [task["end_offset_sum"] for task in found["tasks"] if task["stateful"]]
    return found if len(sums) == PARTITIONS and min(sums) >= KEYS else None


def loads(found: dict[str, Any]) -> list[int]:
    return sorted(sum(len(consumer["active"]) for consumer in instance["consumers"]) for instance in found["instances"])


def test_every_task_runs_again_on_the_disks_that_were_there(switched: Switched) -> None:
    before, after, _ = switched
    assert after["group_protocol"] == "streams"
    assert {instance["process_id"] for instance in after["instances"]} == set(PROCESS_IDS.values())
    assert sorted(
        task for instance in after["instances"] for seat in instance["consumers"] for task in seat["active"]
    ) == sorted(task["task_id"] for task in before["tasks"])
    # committed offsets are kept: nothing was counted anew
    ends = [
        {task["task_id"]: task["end_offset_sum"] for task in one["tasks"] if task["stateful"]} for one in switched[:2]
    ]
    assert ends[0] == ends[1]


def test_the_broker_deals_out_as_was_told_and_the_group_is_stable_in_time(
    switched: Switched, pytestconfig: pytest.Config
) -> None:
    release = ".".join(pytestconfig.getoption("--kafka-version").split(".")[:2])
    item = starting(snapshot_from_row(switched.before, "before"), release, 0, 0)
    result = plan_checked(item, scenario=Scenario(events=()))
    assert loads(switched.after) == sorted(len(held.active) for held in result.final)
    (answer,) = (range_ for range_ in result.summary.ranges if range_.figure == "duration_ms")
    delay_seconds = (item.config.streams_initial_rebalance_delay_ms or 0) / 1000
    assert delay_seconds - 1.0 <= switched.took_seconds <= answer.high / 1000 + _LATE_SECONDS
