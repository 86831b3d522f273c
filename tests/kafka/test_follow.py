"""A real group is followed while an instance joins, and waited for before one restarts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kstream_plan.snapshots.rows.fields import parse_time
from tests.helpers.followed import EVERY_MS, LATE_MS, PROCESS_IDS, Running, followed, planned, running_group, strangers
from tests.helpers.real_cluster import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]


@pytest.fixture(scope="module")
def running(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("followed")
    with running_group(broker, folder, "followed", ["i1", "i2"], partitions=8) as group:
        yield group


def test_a_group_that_has_settled_is_not_waited_for(running: Running) -> None:
    done = running.wait("settled")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("YES ")


def test_an_instance_with_copies_elsewhere_may_restart(running: Running) -> None:
    done = running.wait("safe-to-restart", PROCESS_IDS["i1"], *running.metrics, "--set", "stores=persistent")
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
    assert strangers(events) == {PROCESS_IDS["i5"]}
