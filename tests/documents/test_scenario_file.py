"""Scenario files: what they say, and errors that name line and column."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from kstream_plan.documents.scenario_file import load_scenario, read_scenario
from kstream_plan.errors import KstreamPlanError, ScenarioError
from kstream_plan.model.scenario import (
    ALL,
    Bounce,
    Burst,
    ConfigChange,
    CreateConnectors,
    DeleteConnectors,
    Join,
    Leave,
    NewInstance,
    ProduceRate,
    RescaleConnectors,
    RestoreRate,
    Return,
    Stop,
    TaskCount,
    Threads,
)
from tests.helpers.schemas import validator

SCHEMA = validator("scenario")
EXAMPLE = Path(__file__).parents[2] / "examples/scale-out/scenario.yaml"

EVERYTHING = """\
version: 1
events:
  - join: 2
  - {at: 1s, join: {count: 2, threads: 3, rack: a, client_tags: {zone: x}, hosts: [n1, n2], static: true}}
  - {at: 2s, join: {process_ids: [p1]}}
  - {at: 3s, leave: i1}
  - {at: 4s, stop: [i1, i2]}
  - {at: 5s, crash: i3}
  - {at: 6s, return: i1}
  - {at: 7s, return: {instances: [i2], disk: false, static: true}}
  - {at: 7s, return: {instances: [i3], state: flushed-at 400/s}}
  - {at: 8s, bounce: {restart: 20s}}
  - {at: 9s, bounce: {instances: [i1], restart: 20s, pause: 1m, leave: true, static: true}}
  - {at: 9s, bounce: {restart: 20s, leave: true, surge: 2, config: {max.warmup.replicas: 4}}}
  - {at: 10s, threads: {instance: i1, count: 4}}
  - {at: 11s, produce_rate: 100/s}
  - {at: 12s, produce_rate: {rate: 60/m, subtopology: 1}}
  - {at: 13s, restore_rate: 5000}
  - {at: 14s, restore_rate: {rate: 10/s, instances: i1}}
  - {at: 15s, burst: 500}
  - {at: 16s, burst: {records: 7, subtopology: "0"}}
  - {at: 17s, config: {max.warmup.replicas: 4, rack_aware_assignment_tags: [zone]}}
  - {at: 18s, create: {audit: 4, "1": 0}}
  - {at: 19s, rescale: {audit: 2}}
  - {at: 20s, delete: [audit, "1"]}
"""


def test_every_event_is_read() -> None:
    where = {
        number: f"s.yaml, line {number + 3}, column {line.index(': ', line.index('- ')) + 3}"
        for number, line in enumerate(EVERYTHING.splitlines()[2:])
    }
    scenario = read_scenario(EVERYTHING, "s.yaml")
    expected = (
        Join(at_ms=0, instances=(NewInstance(), NewInstance())),
        Join(
            at_ms=1000,
            instances=(
                NewInstance(threads=3, rack="a", client_tags=(("zone", "x"),), static=True, host="n1"),
                NewInstance(threads=3, rack="a", client_tags=(("zone", "x"),), static=True, host="n2"),
            ),
        ),
        Join(at_ms=2000, instances=(NewInstance(process_id="p1"),)),
        Leave(at_ms=3000, process_ids=("i1",)),
        Stop(at_ms=4000, process_ids=("i1", "i2")),
        Stop(at_ms=5000, process_ids=("i3",), crash=True),
        Return(at_ms=6000, process_ids=("i1",)),
        Return(at_ms=7000, process_ids=("i2",), keeps_disk=False, static=True),
        Return(at_ms=7000, process_ids=("i3",), state="flushed", flushed_per_second=400.0),
        Bounce(at_ms=8000, process_ids=(ALL,), restart_ms=20_000),
        Bounce(at_ms=9000, process_ids=("i1",), restart_ms=20_000, pause_ms=60_000, leaves=True, static=True),
        Bounce(
            at_ms=9000,
            process_ids=(ALL,),
            restart_ms=20_000,
            leaves=True,
            settings=(("max_warmup_replicas", 4),),
            surge=2,
        ),
        Threads(at_ms=10_000, process_id="i1", threads=4),
        ProduceRate(at_ms=11_000, per_second=100.0),
        ProduceRate(at_ms=12_000, per_second=1.0, subtopology="1"),
        RestoreRate(at_ms=13_000, per_second=5000.0),
        RestoreRate(at_ms=14_000, per_second=10.0, process_ids=("i1",)),
        Burst(at_ms=15_000, records=500),
        Burst(at_ms=16_000, records=7, subtopology="0"),
        ConfigChange(at_ms=17_000, settings=(("max_warmup_replicas", 4), ("rack_aware_assignment_tags", ("zone",)))),
        CreateConnectors(at_ms=18_000, task_counts=(TaskCount("audit", 4), TaskCount("1", 0))),
        RescaleConnectors(at_ms=19_000, task_counts=(TaskCount("audit", 2),)),
        DeleteConnectors(at_ms=20_000, connectors=("audit", "1")),
    )
    assert tuple(replace(event, where="") for event in scenario.events) == expected
    assert scenario.events[0].where == where[0]


def test_the_schema_takes_what_is_read() -> None:
    SCHEMA.validate(yaml.safe_load(EVERYTHING))
    SCHEMA.validate(yaml.safe_load(EXAMPLE.read_text(encoding="utf-8")))
    assert len(load_scenario(EXAMPLE).events) == 4


BAD = [
    ("", "s.yaml: the file is empty"),
    ("events: [", "s.yaml, line 1, column 10: not YAML"),
    ("- 1", "s.yaml, line 1, column 1: the file is a list, not a mapping"),
    ("version: 2\nevents: []", "line 1, column 10: version is not 1"),
    ("version: 1", "line 1, column 1: the file has no 'events'"),
    ("events: 3", "line 1, column 9: events is one value, not a list"),
    ("events:\n  - {at: 1s}", "line 2, column 5: the event has 0 things that happen"),
    ("events:\n  - {leave: a, stop: b}", "line 2, column 5: the event has 2 things"),
    ("events:\n  - {at: soon, leave: a}", "line 2, column 10: at is wrong: 'soon' is not a duration"),
    ("events:\n  - at: 1s\n    leve: a", "line 3, column 5: leve is not known here. Fix: is it leave?"),
    ("events:\n  - return: {instances: a, state: gone}", "state is wrong: is not kept, lost or flushed-at 400/s"),
    ("events:\n  - leave: [a, a]", "line 2, column 12: leave has a duplicate"),
    ("events:\n  - leave: []", "line 2, column 12: leave has no name"),
    ("events:\n  - leave: {a: b}", "line 2, column 13: a is not known here"),
    ("events:\n  - {leave: a, leave: b}", "column 16: the event has 'leave' twice"),
    ("events:\n  - create: {}", "create names no connector"),
    ("events:\n  - create: orders", "create is one value, not a mapping"),
    ("events:\n  - bounce: i1", "bounce does not say for how long. Fix: write bounce: {instances: NAME, restart: 40s}"),
    ("events:\n  - config: {scheduled.rebalance.max.delay.ms: 60s}", "is '60s', not a whole number"),
    ("events:\n  - rescale: {orders: -1}", "orders is no whole number from 0 to 1,000,000"),
    ("events:\n  - delete: []", "delete has no name"),
    ("events:\n  - join: 0", "line 2, column 11: join is no whole number from 1 to 10,000"),
    ("events:\n  - join: {count: 2, hosts: [a]}", "line 2, column 29: hosts are 1 for 2 instances"),
    ("events:\n  - bounce: {instances: a}", "line 2, column 13: bounce has no 'restart'"),
    ("events:\n  - bounce: {restart: 1s, leave: maybe}", "column 34: leave is neither true nor false"),
    ("events:\n  - bounce: {restart: 1s, surge: 0}", "column 34: surge is no whole number from 1 to 10,000"),
    ("events:\n  - bounce: {restart: 1s, surge: 1, static: true}", "column 45: static goes with no surge"),
    ("events:\n  - bounce: {restart: 1s, config: {max.warmup.replica: 1}}", "is it max.warmup.replicas?"),
    ("events:\n  - produce_rate: fast", "line 2, column 19: produce_rate is wrong: 'fast' is not a rate"),
    ("events:\n  - config: {max.warmup.replica: 1}", "is it max.warmup.replicas?"),
    ("events:\n  - config: {max.warmup.replicas: 0}", "line 2, column 35: max.warmup.replicas is 0, outside 1"),
    ("events:\n  - config: {max.warmup.replicas: {a: b}}", "not a whole number"),
    (
        "events:\n  - config: {rack.aware.assignment.tags: {a: b}}",
        "rack.aware.assignment.tags holds something else than",
    ),
    ("events:\n  - crash: true", "line 2, column 12: crash is true, which YAML takes for no text"),
    ("events:\n  - leave: [a, 1]", "line 2, column 16: leave is 1, which YAML takes for no text"),
    ("events:\n  - {<<: {leave: a}}", "the event has a merge key <<"),
    (b"events: \xff", "not YAML"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_mistake_is_told_with_its_place(text: str | bytes, message: str) -> None:
    with pytest.raises(KstreamPlanError) as caught:
        read_scenario(text, "s.yaml")
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot read the file"):
        load_scenario(tmp_path / "none.yaml")


def test_a_departure_may_be_announced() -> None:
    [event] = read_scenario("events:\n  - leave: {instances: [i1], announced: true}", "s.yaml").events
    assert isinstance(event, Leave)
    assert (event.process_ids, event.announced) == (("i1",), True)
