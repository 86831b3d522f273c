"""A scale-out with warm-ups is followed: each rebalance at once, and from half-way on when it will have ended."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kstream_plan.snapshots.rows.fields import parse_time
from tests.helpers.followed import (
    EVERY_MS,
    LATE_MS,
    PROCESS_IDS,
    SETTINGS,
    Running,
    followed,
    planned,
    running_group,
    strangers,
)
from tests.helpers.real_cluster import Broker

pytestmark = [pytest.mark.kafka_long, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]

#: Copies warm up, two at a time, so that the group probes for minutes.
WARMS_UP = {**SETTINGS, "acceptable.recovery.lag": 10, "max.warmup.replicas": 2}
#: A copy restores for 20s: for longer than a follow-up rebalance takes, and two on one instance are ready at a probe.
RECORDS = 2_000
RESTORES = {"restored.per.second": 100, "restore.consumer.max.poll.records": 20}
#: Scrapes while copies restore, which tell how fast they do.
SCRAPES, BETWEEN_SCRAPES_SECONDS = 4, 11


@pytest.fixture
def scrapes(tmp_path: Path) -> Path:
    folder = tmp_path / "scrapes"
    folder.mkdir()
    return folder


@pytest.fixture
def running(broker: Broker, tmp_path: Path, scrapes: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    def scrape(running: Running) -> None:
        for _ in range(SCRAPES):
            running.scrape(scrapes)
            time.sleep(BETWEEN_SCRAPES_SECONDS)

    name, slowly = request.node.name.replace("_", "-"), dict.fromkeys(PROCESS_IDS, RESTORES)
    with running_group(
        broker, tmp_path, name, ["i1", "i2", "i3"], 8, WARMS_UP, slowly, RECORDS, while_restoring=scrape
    ) as group:
        yield group


def planned_as_measured(running: Running, scrapes: Path) -> Path:
    running.scrape(scrapes)
    return planned(running, scrapes.parent, "i4", "i5", measured=("--metrics", str(scrapes)), known=())


def test_three_instances_become_five(running: Running, scrapes: Path) -> None:
    plan = planned_as_measured(running, scrapes)
    code, events, errors = followed(running, plan, ["i4", "i5"], give_up_after="900s")
    sys.stdout.writelines(f"{json.dumps(event)}\n" for event in events)
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
    assert (code, events[-1]["stage"]) == (0, "as-planned"), errors


def test_an_instance_that_joins_unplanned_in_the_middle_is_named(running: Running, scrapes: Path) -> None:
    plan = planned_as_measured(running, scrapes)
    code, events, errors = followed(running, plan, ["i4", "i5"], later=["i6"], give_up_after="900s")
    assert (code, events[-1]["stage"]) == (3, "otherwise"), errors
    assert strangers(events) == {PROCESS_IDS["i6"]}
