"""A real group of Connect's workers: what snapshots say before one joins, and before one is lost, is what happens."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kstream_plan import read_said_and_happened, to_json
from kstream_plan.comparison.prediction import Likeness
from kstream_plan.documents.connect_config import load_connect_config
from kstream_plan.model import Snapshot
from kstream_plan.model.connect_group import ConnectGroup
from kstream_plan.model.scenario import Event, Join, Return, Scenario, Stop
from kstream_plan.plans import HandOver, NobodyRuns, Plan, Revoke
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.connect_log.history import ConnectEntry, checked_row, read_connect_logs
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from kstream_plan.snapshots.rows.write import row_lines
from tests.helpers.connect_rows import worker
from tests.helpers.real_cluster import Broker
from tests.helpers.real_connect import Workers

pytestmark = [pytest.mark.kafka, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]

DELAY_MS = 20_000
SETTINGS = {
    "scheduled.rebalance.max.delay.ms": DELAY_MS,
    "session.timeout.ms": 4000,
    "heartbeat.interval.ms": 1000,
}
CONNECTORS = {"alpha": 3, "beta": 4}


class Seen(NamedTuple):
    """The generations of a group, what REST said of it before a worker was lost, and when that was, and it was back.

    ``kept`` is where the worker is that leads and was not lost: of others older releases do not say where they are.
    """

    entries: Sequence[ConnectEntry]
    one: int
    two: int
    rest: dict[str, Any]
    kept: str
    lost_ms: int


@pytest.fixture(scope="module")
def seen(broker: Broker, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("connect")
    with Workers(broker, folder, "live-connect", SETTINGS, pytestconfig.getoption("--kafka-version")) as workers:
        workers.start("w1")
        for connector, tasks in CONNECTORS.items():
            workers.create(connector, tasks, "w1")
        items = len(CONNECTORS) + sum(CONNECTORS.values())
        one = _settled(workers, 1, 1, items)
        workers.start("w2")
        two = _settled(workers, one.generation + 1, 2, items)
        rest = _asked(workers.host("w1"))
        lost_ms = time.time_ns() // 1_000_000
        workers.kill("w2")
        workers.generation(two.generation + 1, is_over=False)
        workers.start("w2")
        _settled(workers, two.generation + 2, 2, items)
        config = load_connect_config(folder / "w1.properties").settings
        entries = read_connect_logs(workers.logs, config=lambda _: config)
        yield Seen(entries, one.generation, two.generation, rest, workers.host("w1"), lost_ms)


def _settled(workers: Workers, number: int, count: int, items: int) -> ConnectEntry:
    while True:
        entry = workers.generation(number)
        if entry.workers == count and sum(map(len, _held(entry).values())) == items:
            return entry
        number = entry.generation + 1


def _asked(host: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "kstream_plan", "snapshot", "--connect-url", f"http://{host}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def _snapshot(entry: ConnectEntry) -> Snapshot:
    return snapshot_from_row(checked_row(entry), "row")


def _held(entry: ConnectEntry) -> dict[str, set[str]]:
    """What every worker holds, by where it is."""
    group = _snapshot(entry).state.memory
    assert isinstance(group, ConnectGroup)
    hosts = {instance["process_id"]: instance["host"] for instance in entry.row["instances"]}
    return {hosts[one.member_id]: set(one.held.names()) for one in group.workers}


def _entry(seen: Seen, generation: int) -> ConnectEntry:
    return next(entry for entry in seen.entries if entry.generation == generation)


def _planned(entry: ConnectEntry, *events: Event) -> Plan:
    return plan_checked(_snapshot(entry), scenario=Scenario(events=events))


def _counts(plan: Plan) -> list[tuple[int, int, int]]:
    """Of every round how many items stop, start, and are run by nobody."""
    return [
        (
            sum(isinstance(step, Revoke) for step in rnd.steps),
            sum(isinstance(step, HandOver) for step in rnd.steps),
            sum(len(step.task_ids) for step in rnd.steps if isinstance(step, NobodyRuns)),
        )
        for rnd in plan.rounds
    ]


def _ends_with(plan: Plan) -> Counter[int]:
    return Counter(len(held.active) for held in plan.final)


def test_a_join_goes_as_the_snapshot_before_it_says(seen: Seen) -> None:
    plan = _planned(_entry(seen, seen.one), Join(at_ms=0, instances=(worker("new"),)))
    first, second = (_entry(seen, seen.one + number) for number in (1, 2))
    assert _counts(plan) == [(first.stopped_count, 0, first.unassigned_count), (0, second.started_count, 0)]
    assert seen.two == seen.one + 2
    # what one worker alone has to give up does not hang on the other's id
    leader = _entry(seen, seen.one).leader
    revoked = {str(step.task_id) for step in plan.rounds[0].steps if isinstance(step, Revoke)}
    assert revoked == _held(_entry(seen, seen.one))[leader] - _held(first)[leader]
    assert _ends_with(plan) == Counter(map(len, _held(second).values()))


def test_what_was_planned_is_found_in_the_history(seen: Seen, tmp_path: Path) -> None:
    plan = _planned(_entry(seen, seen.one), Join(at_ms=0, instances=(worker("new"),)))
    saved, history = tmp_path / "plan.json", tmp_path / "history.jsonl"
    saved.write_text(to_json(plan, full=True), encoding="utf-8")
    history.write_text("".join(row_lines([checked_row(entry) for entry in seen.entries])), encoding="utf-8")
    comparisons = read_said_and_happened(str(saved), str(history), last=str(seen.two))
    assert comparisons is not None
    assert [pair.likeness for pair in comparisons[0].pairs] == [Likeness.AS_SAID, Likeness.AS_SAID]
    assert comparisons[0].misplaced_tasks == ()


def test_a_crash_and_a_return_go_as_the_snapshot_before_them_says(seen: Seen) -> None:
    before = _entry(seen, seen.two)
    lost = next(one["process_id"] for one in before.row["instances"] if one["host"] != seen.kept)
    crash, back = (_entry(seen, seen.two + number) for number in (1, 2))
    assert crash.at_ms is not None
    assert back.at_ms is not None
    plan = _planned(
        before,
        Stop(at_ms=0, process_ids=(lost,), crash=True),
        Return(at_ms=back.at_ms - crash.at_ms + SETTINGS["session.timeout.ms"], process_ids=(lost,)),
    )
    happened = [entry for entry in seen.entries if entry.generation > seen.two]
    # a worker that is lost does not say that it has stopped
    assert [(stops, starts, unrun) for stops, starts, unrun in _counts(plan)] == [
        (0 if entry is crash else entry.stopped_count, entry.started_count, entry.unassigned_count)
        for entry in happened
    ]
    assert abs(plan.rounds[0].at_ms - (crash.at_ms - seen.lost_ms)) < 5_000
    for rnd, entry in zip(plan.rounds, happened, strict=True):
        assert entry.at_ms is not None
        assert abs((rnd.at_ms - plan.rounds[0].at_ms) - (entry.at_ms - crash.at_ms)) < 5_000
    hosts = {one["process_id"]: one["host"] for one in before.row["instances"]}
    ends = {
        hosts[instance.process_id]: {str(plan.group.tasks[task].task_id) for task in held.active}
        for instance, held in zip(plan.group.instances, plan.final, strict=True)
    }
    assert ends == _held(happened[-1])


def test_rest_counts_what_the_logs_tell(seen: Seen) -> None:
    assert seen.rest["exact"] is False
    by_rest = {one["host"]: sum(len(item["items"]) for item in one["held"]) for one in seen.rest["instances"]}
    by_log = {host: len(items) for host, items in _held(_entry(seen, seen.two)).items()}
    assert sorted(by_rest.values()) == sorted(by_log.values())
    assert by_rest[seen.kept] == by_log[seen.kept]


def test_logs_tell_the_delay_and_java(seen: Seen) -> None:
    row = seen.entries[-1].row
    assert [note.code for note in seen.entries[-1].notes] == ["members-assumed"]
    assert all(one["java"] >= 17 for one in row["instances"])
