"""A real group goes from 2 to 3 instances: what snapshots say before is what happens."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kstream_plan.model import Group, Holding
from kstream_plan.plans import Plan
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured
from tests.helpers.real_cluster import Application, Broker, until

pytestmark = [pytest.mark.kafka, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]

APPLICATION = "orders-app"
KEYS = 200
PARTITIONS = 8
#: Not in the order of their hosts' names, so that nothing comes out right by accident.
PROCESS_IDS = {
    "i1": "b8f1a7c2-5d31-4c8e-9a57-0d4be2c1f001",
    "i2": "0c93e5d4-12aa-4b6f-8f10-77a9c36e5002",
    "i3": "71d20b6e-9c44-4e0b-b3a8-1f5e8d92a003",
}
SETTINGS = {
    "acceptable.recovery.lag": 10,
    "max.warmup.replicas": 2,
    "probing.rebalance.interval.ms": 60_000,  # the least that Kafka takes
    "num.stream.threads": 1,  # with more, it is a race which of them reports left-over state, and so gets a task back
    "auto.offset.reset": "earliest",
    "replication.factor": 1,
    "commit.interval.ms": 500,
    "session.timeout.ms": 6000,
    "heartbeat.interval.ms": 1000,
}


class Scaled(NamedTuple):
    """The group after it has settled with three instances; ``before`` is its snapshot from when it had two."""

    broker: Broker
    application: Application
    properties: Path
    before: dict[str, Any]

    def by_cluster(self, *options: str) -> list[dict[str, Any]]:
        return rows(*asking(self.broker, self.application, self.properties), *options)

    def by_log(self, *options: str) -> list[dict[str, Any]]:
        logs = map(str, self.application.logs)
        return rows(*logs, "--streams-config", str(self.properties), *options)


@pytest.fixture(scope="module")
def scaled(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scaled]:
    folder = tmp_path_factory.mktemp("scale-out")
    properties = folder / "app.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in SETTINGS.items()))
    home = folder / "application"
    home.mkdir()
    with Application(broker, home, APPLICATION, SETTINGS) as application:
        application.create_topics(orders=PARTITIONS, audit=3)
        broker.produce(f"{APPLICATION}-orders", PARTITIONS, KEYS)
        application.start("i1", PROCESS_IDS["i1"])
        application.start("i2", PROCESS_IDS["i2"])
        application.settled(instances=2)
        before = until(lambda: filled(broker, application, properties), "the store to be filled")
        application.start("i3", PROCESS_IDS["i3"])
        application.settled(instances=3, seconds=600)
        yield Scaled(broker, application, properties, before)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as people do."""
    return subprocess.run(
        [sys.executable, "-m", "kstream_plan", "snapshot", *arguments], capture_output=True, text=True, check=False
    )


def rows(*arguments: str) -> list[dict[str, Any]]:
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def asking(broker: Broker, application: Application, properties: Path) -> list[str]:
    group = ["--bootstrap-server", broker.address, "--group", application.application_id]
    return [*group, "--topology", str(application.topology), "--streams-config", str(properties)]


def filled(broker: Broker, application: Application, properties: Path) -> dict[str, Any] | None:
    (row,) = rows(*asking(broker, application, properties))
    sums = [task["end_offset_sum"] for task in row["tasks"] if task["stateful"]]
    return row if len(sums) == PARTITIONS and min(sums) >= KEYS else None


def with_newcomer(row: dict[str, Any]) -> dict[str, Any]:
    """What one would write to ask about a third instance: an empty one."""
    process_id = PROCESS_IDS["i3"]
    consumer = {"consumer_id": f"{APPLICATION}-{process_id}-StreamThread-1-consumer-new", "active": [], "standby": []}
    return {**row, "instances": [*row["instances"], {"process_id": process_id, "consumers": [consumer]}]}


def thread(consumer_id: str) -> str:
    """A consumer without the random end of its id."""
    return consumer_id.partition("-consumer-")[0]


def planned(plan: Plan) -> list[Any]:
    return [
        (
            rnd.trigger,
            rnd.probing_rebalance,
            as_texts(plan.group, captured.copies_alike(plan.group, rnd.decided)),
            as_texts(plan.group, captured.copies_alike(plan.group, rnd.assigned)),
        )
        for rnd in plan.rounds
    ]


def happened(group: Group, decisions: list[dict[str, Any]]) -> list[Any]:
    return [
        (
            decision["trigger"],
            decision["probing_rebalance"],
            as_texts(group, captured.decided(group, decision)),
            as_texts(group, captured.assigned(group, decision)),
        )
        for decision in decisions
    ]


def as_texts(group: Group, holdings: dict[str, Holding]) -> dict[str, Any]:
    names = [str(task.task_id) for task in group.tasks]
    return {
        thread(consumer_id): ([names[task] for task in held.active], [names[task] for task in held.standby])
        for consumer_id, held in holdings.items()
    }


def test_the_plan_made_before_the_deployment_is_what_happened(scaled: Scaled) -> None:
    result = plan(snapshot_from_row(with_newcomer(scaled.before), "before"))
    decisions = [row["decision"] for row in scaled.by_log("--all")]
    after = decisions[1:]
    assert [decision["generation"] for decision in decisions] == list(range(1, len(decisions) + 1))
    assert len(after) > 3
    assert after[0]["trigger"] == "join"
    assert planned(result) == happened(result.group, after)


def test_the_leader_s_log_gives_the_same_plan(scaled: Scaled) -> None:
    join = scaled.by_log("--all")[1]
    (row,) = scaled.by_log("--as-of", join["captured_at"])
    assert row["generation"] == 1
    result = plan(snapshot_from_row(row, "log"), replay=True)
    after = [item["decision"] for item in scaled.by_log("--all")[1:]]
    assert [rnd.generation for rnd in result.rounds] == [decision["generation"] for decision in after]
    assert planned(result) == happened(result.group, after)


def test_the_offsets_topic_tells_what_the_log_tells(scaled: Scaled) -> None:
    answer = scaled.by_cluster("--set", "offsets.topic=true", "--all")
    logged = scaled.by_log("--all")
    assert answer[-1]["generation"] == len(logged)  # one more: that of now
    assert [facts(row) for row in answer[:-1]] == [facts(row) for row in logged]
    for of_cluster, of_log in zip(answer[:-1], logged, strict=True):
        assert of_log["config"].items() >= of_cluster["config"].items(), "the log has the settings of the start as well"


def facts(row: dict[str, Any]) -> dict[str, Any]:
    """What both sources know for certain; end offsets by time are an estimate, and so are lags made of them."""
    return {
        "generation": row["generation"],
        "tasks": [(task["task_id"], task["stateful"]) for task in row["tasks"]],
        "held": {
            consumer["consumer_id"]: (consumer["active"], consumer["standby"])
            for instance in row["instances"]
            for consumer in instance["consumers"]
        },
        "reported": sorted((lag["process_id"], lag["task_id"], lag["consumer_ids"]) for lag in row["lags"]),
        "leader": [instance["process_id"] for instance in row["instances"] if instance["leader"]],
    }


def test_both_lists_show_the_same_generations(scaled: Scaled) -> None:
    by_log = command(*map(str, scaled.application.logs), "--list")
    group = ["--bootstrap-server", scaled.broker.address, "--group", APPLICATION]
    by_cluster = command(*group, "--set", "offsets.topic=true", "--list")
    assert (by_log.returncode, by_log.stderr, by_cluster.returncode, by_cluster.stderr) == (0, "", 0, "")
    lines = (item.stdout.splitlines()[1:] for item in (by_log, by_cluster))
    # the last lines say what the columns mean
    logged, answer = ([line.split() for line in item if line[:4].isdigit()] for item in lines)
    assert len(logged) > 4
    # not the time (of the decision, of its record), and not the tasks that moved (when decided, when got)
    certain = (2, 3, 4, 6)
    assert [[line[at] for at in certain] for line in answer] == [[line[at] for at in certain] for line in logged]
    assert all(of_told[-1] in ("unknown", of_logged[-1]) for of_told, of_logged in zip(answer, logged, strict=True))


def test_the_settled_group_has_nothing_to_do(scaled: Scaled) -> None:
    (row,) = scaled.by_cluster()
    last = scaled.by_log()[0]["decision"]
    held = {
        consumer["consumer_id"]: consumer["active"]
        for instance in row["instances"]
        for consumer in instance["consumers"]
    }
    decided = {
        name: item["active"] for instance in last["decided"].values() for name, item in instance["consumers"].items()
    }
    assert held == decided
    assert {name[:2] for name in (path.name for path in scaled.application.logs)} == {"i1", "i2", "i3"}
    result = plan(snapshot_from_row(row, "settled"))
    assert (result.verdict.kind, result.summary.moves) == ("settled", 0)


def test_hosts_come_from_the_names_of_the_logs(scaled: Scaled) -> None:
    hosts = {instance["process_id"]: instance.get("host") for instance in scaled.by_log()[0]["instances"]}
    assert hosts == {process_id: host for host, process_id in PROCESS_IDS.items()}
