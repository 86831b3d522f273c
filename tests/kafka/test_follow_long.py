"""A scale-out with warm-ups is followed: each rebalance at once, and from half-way on when it will have ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kstream_plan.snapshots.rows.times import parse_time
from tests.helpers.real_cluster import Application, Broker, until
from tests.kafka import test_follow
from tests.kafka.test_follow import EVERY_MS, KEYS, LATE_MS, PARTITIONS, PROCESS_IDS, Running, followed, planned

pytestmark = [pytest.mark.kafka_long, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]

APPLICATION = "followed-long"
#: Copies warm up, two at a time, so that the group probes for minutes.
SETTINGS = {**test_follow.SETTINGS, "acceptable.recovery.lag": 10, "max.warmup.replicas": 2}


@pytest.fixture(scope="module")
def running(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("followed-long")
    properties = folder / "app.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in SETTINGS.items()))
    home = folder / "application"
    home.mkdir()
    with Application(broker, home, APPLICATION, SETTINGS, with_metrics=True) as application:
        application.create_topics(orders=PARTITIONS, audit=3)
        broker.produce(f"{APPLICATION}-orders", PARTITIONS, KEYS)
        for instance in ("i1", "i2", "i3"):
            application.start(instance, PROCESS_IDS[instance])
        application.settled(instances=3)
        group = Running(broker, application, properties)
        until(lambda: group.wait("caught-up", *group.metrics).returncode == 0, "the copies to catch up")
        yield group


def test_three_instances_become_five(running: Running, tmp_path: Path) -> None:
    plan = planned(running, tmp_path, "i4", "i5")
    code, events, errors = followed(running, plan, ["i4", "i5"], give_up_after="900s")
    rebalances = [event for event in events if event["event"] == "rebalance"]
    decided_ms = running.decided_ms()
    times_ms = [decided_ms[event["rebalance"]["seen"]["generation"]] for event in rebalances]
    for event, at_ms in zip(rebalances, times_ms, strict=True):
        assert parse_time(event["at"]) - at_ms <= EVERY_MS + LATE_MS, event["message"]
    began_ms, ended_ms = times_ms[0], times_ms[-1]
    for event in events:
        at_ms = parse_time(event["at"])
        if began_ms + (ended_ms - began_ms) / 2 <= at_ms < ended_ms and event["ends_at"] is not None:
            assert abs(parse_time(event["ends_at"]) - ended_ms) <= (ended_ms - began_ms) / 10, event["message"]
    assert (code, events[-1]["event"]) in ((0, "end"), (3, "end")), errors
