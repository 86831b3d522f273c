"""A real streams group goes from 2 to 3 instances: its broker computes, and its members do, what the plan says."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from kstream_plan.errors import ClusterError
from kstream_plan.model import Consumer, Instance, Snapshot
from kstream_plan.model.scenario import Join, Scenario, Stop
from kstream_plan.model.streams_group import BrokerGroup
from kstream_plan.plans import Plan
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster
from kstream_plan.snapshots.broker.streams_describe import DescribedStreamsGroup
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.real_cluster import Application, Broker, until

pytestmark = [pytest.mark.kafka, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]

APPLICATION = "decided-app"
KEYS, PARTITIONS, STATELESS = 50, 8, 3
PROCESS_IDS = {
    "i1": "b8f1a7c2-5d31-4c8e-9a57-0d4be2c1f001",
    "i2": "0c93e5d4-12aa-4b6f-8f10-77a9c36e5002",
    "i3": "71d20b6e-9c44-4e0b-b3a8-1f5e8d92a003",
}
SETTINGS = {
    "group.protocol": "streams",
    "num.stream.threads": 1,
    "auto.offset.reset": "earliest",
    "replication.factor": 1,
    "commit.interval.ms": 500,
}
#: Where the streams protocol is on without further settings (KIP-1071).
_SINCE = (4, 2)
_POLL_SECONDS = 0.1
#: From what a broker has computed to what a test is told of it, on a machine that does other things as well.
_LATE_SECONDS = 5.0


class Scaled(NamedTuple):
    """``before`` is the snapshot with two instances, ``after`` with three; it took so long to be Stable again."""

    broker: Broker
    application: Application
    before: dict[str, Any]
    after: dict[str, Any]
    took_seconds: float


class Crashed(NamedTuple):
    """The same once ``i3`` was killed: after so long the broker let it go, and after so long the group was Stable."""

    before: dict[str, Any]
    after: dict[str, Any]
    noticed_seconds: float
    took_seconds: float


@pytest.fixture(scope="module")
def scaled(broker: Broker, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Scaled]:
    release = pytestconfig.getoption("--kafka-version")
    if tuple(map(int, release.split(".")[:2])) < _SINCE:
        pytest.skip(f"Kafka {release} has no streams groups that are on by themselves")
    with Application(broker, tmp_path_factory.mktemp("decided"), APPLICATION, SETTINGS) as application:
        application.create_topics(orders=PARTITIONS, audit=STATELESS)
        broker.set_group_setting(APPLICATION, "streams.num.standby.replicas", "1")
        broker.produce(f"{APPLICATION}-orders", PARTITIONS, KEYS)
        for instance in ("i1", "i2"):
            application.start(instance, PROCESS_IDS[instance])
        with KafkaCluster(broker.address, {}) as cluster:
            until(lambda: stable_with(cluster, 2), "two instances to be Stable")
            before = until(lambda: filled(broker), "the store to be filled")
            application.start("i3", PROCESS_IDS["i3"])
            until(
                lambda: cluster.describe_streams_group(APPLICATION).group.group_epoch > before["generation"], "a join"
            )
            began = time.monotonic()
            until(lambda: stable_with(cluster, 3), "three instances to be Stable", poll_seconds=_POLL_SECONDS)
            took_seconds = time.monotonic() - began
        yield Scaled(broker, application, before, row(broker), took_seconds)


@pytest.fixture(scope="module")
def crashed(scaled: Scaled) -> Crashed:
    with KafkaCluster(scaled.broker.address, {}) as cluster:
        before, epoch = row(scaled.broker), described(cluster).group_epoch
        scaled.application.kill("i3")
        began = time.monotonic()
        until(lambda: described(cluster).group_epoch > epoch, "the broker to let it go", poll_seconds=_POLL_SECONDS)
        noticed_seconds = time.monotonic() - began
        until(lambda: stable_with(cluster, 2), "two instances to be Stable again", poll_seconds=_POLL_SECONDS)
        return Crashed(before, row(scaled.broker), noticed_seconds, time.monotonic() - began)


def described(cluster: KafkaCluster) -> DescribedStreamsGroup:
    return cluster.describe_streams_group(APPLICATION).group


def stable_with(cluster: KafkaCluster, instances: int) -> bool:
    try:
        group = described(cluster)
    except ClusterError:  # nobody has joined yet
        return False
    return group.state == "Stable" and len(group.members) == instances


def command(broker: Broker, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command as people do."""
    group = ["snapshot", "--bootstrap-server", broker.address, "--group", APPLICATION]
    return subprocess.run(
        [sys.executable, "-m", "kstream_plan", *group, *options], capture_output=True, text=True, check=False
    )


def row(broker: Broker) -> dict[str, Any]:
    done = command(broker)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def filled(broker: Broker) -> dict[str, Any] | None:
    found = row(broker)
    sums = [task["end_offset_sum"] for task in found["tasks"] if task["stateful"]]
    return found if len(sums) == PARTITIONS and min(sums) >= KEYS else None


def taken(found: dict[str, Any]) -> Snapshot:
    return snapshot_from_row(found, "running")


def planned(scaled: Scaled) -> Plan:
    """The plan of the join, made of what was known before and of the ids that are known since."""
    (joined,) = (item for item in taken(scaled.after).state.group.instances if item.process_id == PROCESS_IDS["i3"])
    consumers = tuple(Consumer(consumer_id=consumer.consumer_id) for consumer in joined.consumers)
    instance = Instance(process_id=joined.process_id, consumers=consumers)
    return plan_checked(taken(scaled.before), scenario=Scenario(events=(Join(at_ms=0, instances=(instance,)),)))


def test_the_snapshot_is_of_the_group_that_runs(scaled: Scaled, pytestconfig: pytest.Config) -> None:
    item = taken(scaled.before)
    memory = item.state.memory
    assert isinstance(memory, BrokerGroup)
    release = ".".join(pytestconfig.getoption("--kafka-version").split(".")[:2])
    assert (memory.broker_version, memory.state, memory.ordered) == (release, "Stable", True)
    assert item.config.num_standby_replicas == 1
    assert {instance.process_id for instance in item.state.group.instances} == {PROCESS_IDS["i1"], PROCESS_IDS["i2"]}
    assert [task.stateful for task in item.state.group.tasks] == [True] * PARTITIONS + [False] * STATELESS
    assert sorted(task for held in item.state.holdings for task in held.active) == list(range(PARTITIONS + STATELESS))


def test_who_holds_what_in_the_end_is_what_was_planned(scaled: Scaled) -> None:
    result, after = planned(scaled), taken(scaled.after).state
    index = {item: consumer for consumer, item in enumerate(result.group.consumer_ids)}
    assert {consumer_id: result.final[index[consumer_id]] for consumer_id in after.group.consumer_ids} == dict(
        zip(after.group.consumer_ids, after.holdings, strict=True)
    )
    assert isinstance(after.memory, BrokerGroup)
    assert {member.member_id: tuple(map(set, member.target)) for member in after.memory.members} == {
        item: (set(named(result, held.active)), set(named(result, held.standby)))
        for item, held in zip(result.group.consumer_ids, result.final, strict=True)
    }
    assert result.summary.hops > 0


def named(plan: Plan, tasks: tuple[int, ...]) -> list[str]:
    return [str(plan.group.tasks[task].task_id) for task in tasks]


def test_it_is_stable_within_the_range_that_was_told(scaled: Scaled) -> None:
    (answer,) = (range_ for range_ in planned(scaled).summary.ranges if range_.figure == "duration_ms")
    assert answer.low / 1000 - _POLL_SECONDS <= scaled.took_seconds + 1.0
    assert scaled.took_seconds <= answer.high / 1000 + _LATE_SECONDS


def test_who_is_killed_is_fenced_when_the_session_ends_and_its_tasks_go_where_was_planned(crashed: Crashed) -> None:
    result = plan_checked(
        taken(crashed.before),
        scenario=Scenario(events=(Stop(at_ms=0, process_ids=(PROCESS_IDS["i3"],), crash=True),)),
    )
    after = taken(crashed.after).state
    held = {
        item: (named(result, holding.active), named(result, holding.standby))
        for item, holding in zip(result.group.consumer_ids, result.final, strict=True)
    }
    assert {consumer_id: held.pop(consumer_id) for consumer_id in after.group.consumer_ids} == {
        item: tuple(
            [str(after.group.tasks[task].task_id) for task in role] for role in (holding.active, holding.standby)
        )
        for item, holding in zip(after.group.consumer_ids, after.holdings, strict=True)
    }
    assert list(held.values()) == [([], [])]  # of who was killed
    # its last heartbeat was up to an interval before it was killed
    config = result.config
    least = (config.session_timeout_ms - config.heartbeat_interval_ms) / 1000
    assert least - _LATE_SECONDS <= crashed.noticed_seconds <= config.session_timeout_ms / 1000 + _LATE_SECONDS
    (answer,) = (range_ for range_ in result.summary.ranges if range_.figure == "duration_ms")
    assert least - _LATE_SECONDS <= crashed.took_seconds <= answer.high / 1000 + _LATE_SECONDS
    # a task stands still for as long as nobody has noticed
    assert result.pauses.longest_ms >= config.session_timeout_ms
    assert {str(pause.task_id) for pause in result.pauses} >= {
        task
        for instance in crashed.before["instances"]
        if instance["process_id"] == PROCESS_IDS["i3"]
        for task in instance["consumers"][0]["active"]
    }


def test_it_has_no_history(scaled: Scaled) -> None:
    done = command(scaled.broker, "--set", "offsets.topic=true")
    assert done.returncode == 1
    assert "is of the newer streams protocol (group.protocol=streams), which has no history" in done.stderr
