"""A real group with the plug-in's jar goes from 3 to 5 instances as a target file says, whatever comes between."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kstream_plan.errors import KstreamPlanError
from kstream_plan.model.releases import numbers_of
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.leader_log.history import checked_rows, read_leader_logs
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured
from tests.helpers.kafka_jars import plugin_jar
from tests.helpers.real_cluster import Application, Broker, until
from tests.helpers.target_files import Slot, replace_file, shared_out, target_text

pytestmark = pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")

KEYS = 100
PARTITIONS = 10
STATELESS = 5
PLAN = "0123456789ab"
#: Not in the order of their names, so that nothing comes out right by accident.
PROCESS_IDS = {
    "i1": "b8f1a7c2-5d31-4c8e-9a57-0d4be2c1f001",
    "i2": "0c93e5d4-12aa-4b6f-8f10-77a9c36e5002",
    "i3": "71d20b6e-9c44-4e0b-b3a8-1f5e8d92a003",
    "i4": "e2d20b6e-9c44-4e0b-b3a8-1f5e8d92a004",
    "i5": "41d20b6e-9c44-4e0b-b3a8-1f5e8d92a005",
    "i6": "90d20b6e-9c44-4e0b-b3a8-1f5e8d92a006",
}
NAMES = {process_id: name for name, process_id in PROCESS_IDS.items()}
BEFORE = ("i1", "i2", "i3")
AFTER = (*BEFORE, "i4", "i5")
#: Since when an application may have an assignor of its own.
OWN_ASSIGNORS = (3, 8, 0)
ASSIGNOR = "io.kstreamplan.PlanTaskAssignor"
SETTINGS: dict[str, Any] = {
    "acceptable.recovery.lag": 10,
    "max.warmup.replicas": 2,
    "num.standby.replicas": 1,
    "probing.rebalance.interval.ms": 60_000,  # the least that Kafka takes
    "num.stream.threads": 1,
    "auto.offset.reset": "earliest",
    "replication.factor": 1,
    "commit.interval.ms": 500,
    "session.timeout.ms": 6000,
    "heartbeat.interval.ms": 1000,
}


@pytest.fixture(autouse=True)
def _takes_assignors(pytestconfig: pytest.Config) -> None:
    release = pytestconfig.getoption("--kafka-version")
    if numbers_of(release) < OWN_ASSIGNORS:
        pytest.skip(f"Kafka Streams {release} takes no assignor of an application (KIP-924)")


class Group:
    """The group with three instances and a target file for five, which is not written yet."""

    def __init__(self, application: Application, file: Path, standbys: int) -> None:
        self.application = application
        self.file = file
        self.text = ""
        before = decided(self.decisions()[-1])
        self.target = _target({name: active for name, (active, _) in before.items()}, standbys)

    def decisions(self) -> list[dict[str, Any]]:
        """What was decided so far, by whichever leader."""
        try:
            entries = read_leader_logs([str(log) for log in self.application.logs]).entries
        except KstreamPlanError:  # a log has no rebalance yet
            return []
        return [{**row["decision"], "row": row} for row in checked_rows(entries)]

    def begin(self, expires_in: timedelta = timedelta(hours=1)) -> None:
        """Write the file, start the other two, and wait until a decision has followed the plan."""
        moving = [task for name in ("i4", "i5") for task in self.target[name].active if task.startswith("0_")]
        expires = (datetime.now(UTC) + expires_in).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.text = target_text(
            self.target, plan=PLAN, application=self.application.application_id, expires=expires, order=moving
        )
        replace_file(self.file, self.text)
        for name in ("i4", "i5"):
            self.application.start(name, PROCESS_IDS[name])
        self.wait(lambda decisions: decisions[-1].get("plan") == PLAN, "a decision by the plan")

    def wait(self, condition: Callable[[list[dict[str, Any]]], bool], what: str) -> None:
        until(lambda: bool(decisions := self.decisions()) and condition(decisions), what)

    def ends_as_written(self, **renamed: str) -> list[dict[str, Any]]:
        """Wait until all is where the file has it, and return the decisions by the plan, each as the planner's."""
        self.wait(self._is_there, "the target to be reached")
        self.application.settled(instances=5)
        decisions = self.decisions()
        assert decided(decisions[-1]) == {
            renamed.get(name, name): (set(slot.active), set(slot.standby)) for name, slot in self.target.items()
        }
        first = next(place for place, decision in enumerate(decisions) if "plan" in decision)
        for decision in decisions[first:]:
            assert decision.get("plan") == PLAN
            self.assert_decided_as_planned(decision)
            assert_warm(decision)
        return decisions[first - 1 :]

    def assert_decided_as_planned(self, decision: dict[str, Any]) -> None:
        """From what the leader knew, the planner decides what the class did, copies of every kind included."""
        snapshot = snapshot_from_row(decision["row"], "log")
        result = plan(snapshot, assignor="planned", target=self.text.encode(), replay=True)
        made = captured.copies_alike(result.group, result.rounds[0].decided)
        assert made == captured.decided(result.group, decision), decision["generation"]

    def _is_there(self, decisions: list[dict[str, Any]]) -> bool:
        return not decisions[-1]["probing_rebalance"] and len(decided(decisions[-1])) == 5


def _target(placement: dict[str, set[str]], standbys: int) -> dict[str, Slot]:
    """The rest of a member's share goes to the new ones, standbys go to the next in turn."""
    stateful = {name: {task for task in tasks if task.startswith("0_")} for name, tasks in placement.items()}
    stateless = {name: tasks - stateful[name] for name, tasks in placement.items()}
    run, others = shared_out(stateful, AFTER), shared_out(stateless, AFTER)
    copies = {name: run[AFTER[place - 1]] if standbys else () for place, name in enumerate(AFTER)}
    return {name: Slot((*run[name], *others[name]), copies[name]) for name in AFTER}


def decided(decision: dict[str, Any]) -> dict[str, tuple[set[str], set[str]]]:
    """By instance, what it is to run, and what to hold copies of."""
    return {
        NAMES[process_id]: (set(held["active"]), set(held["standby"]))
        for process_id, held in decision["decided"].items()
    }


@contextmanager
def group_of_three(
    broker: Broker, folder: Path, application_id: str, standbys: int = 1, *, assignor: str | None = ASSIGNOR
) -> Iterator[Group]:
    """Give a group that has settled; without ``assignor`` Kafka's own decides."""
    folder.mkdir(exist_ok=True)
    file = folder / "target.properties"
    with_plugin = broker._replace(class_path=f"{plugin_jar()}:{broker.class_path}")
    settings = {**SETTINGS, "num.standby.replicas": standbys}
    if assignor is not None:
        settings |= {"task.assignor.class": assignor, "kstream.plan.file": file}
    tags = {name: {"client.tag.pod": name} for name in PROCESS_IDS}
    home = folder / "application"
    home.mkdir()
    with Application(with_plugin, home, application_id, settings, tags) as application:
        application.create_topics(orders=PARTITIONS, audit=STATELESS)
        broker.produce(f"{application_id}-orders", PARTITIONS, KEYS)
        for name in BEFORE:
            application.start(name, PROCESS_IDS[name])
        application.settled(instances=3)
        yield Group(application, file, standbys)


def stateful_moves(decisions: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Every change of who is to run a stateful task: the task, from whom, to whom."""
    moves, runs = [], dict[str, str]()
    for decision in decisions:
        now = {task: name for name, (active, _) in decided(decision).items() for task in active if task[:2] == "0_"}
        moves += [(task, runs[task], name) for task, name in now.items() if runs.get(task, name) != name]
        runs = now
    return moves


def assert_warm(decision: dict[str, Any]) -> None:
    """No task goes to a member that is further behind than another one that is there."""
    lags: dict[str, dict[str, int]] = {}
    for lag in decision["row"]["lags"]:
        lags.setdefault(lag["task_id"], {})[NAMES[lag["process_id"]]] = lag["lag"]
    for name, (active, _) in decided(decision).items():
        for task in active & lags.keys():
            rank = {
                holder: 0 if lag <= SETTINGS["acceptable.recovery.lag"] else lag for holder, lag in lags[task].items()
            }
            assert rank.get(name, max(rank.values())) == min(rank.values()), (task, name, rank)


def assert_none_lost(decisions: list[dict[str, Any]]) -> None:
    for decision in decisions:
        run = [task for active, _ in decided(decision).values() for task in active]
        assert len(run) == len(set(run)) == PARTITIONS + STATELESS, decision["generation"]


@pytest.mark.kafka
@pytest.mark.parametrize("standbys", [0, 1])
def test_every_round_goes_by_the_file(broker: Broker, tmp_path: Path, standbys: int) -> None:
    with group_of_three(broker, tmp_path, f"plugin-scale-out-{standbys}", standbys) as group:
        assert {decision.get("without_plan") for decision in group.decisions()} == {"no-file"}
        group.begin()
        before, *decisions = group.ends_as_written()
        moved = sorted(stateful_moves([before, *decisions]))
        assert moved == sorted(
            (task, source, name)
            for name in ("i4", "i5")
            for task in group.target[name].active
            for source, (active, _) in decided(before).items()
            if task in active and task.startswith("0_")
        ), "each task moves once, and only those that have to"
        for decision in decisions:
            copies = sum(len(standby) for _, standby in decided(decision).values())
            assert copies <= PARTITIONS * standbys + 2, "as many beside the wanted ones as the file allows"


@pytest.mark.kafka_long
def test_a_file_that_is_taken_away_in_the_middle_is_not_followed(broker: Broker, tmp_path: Path) -> None:
    with group_of_three(broker, tmp_path, "plugin-file-gone") as group:
        group.begin()
        group.file.unlink()
        group.wait(lambda decisions: decisions[-1].get("without_plan") == "no-file", "a decision without the file")
        decisions = group.decisions()
        assert_none_lost(decisions)
        assert_warm(decisions[-1])
        log = "".join(path.read_text(errors="replace") for path in group.application.logs)
        assert f"kstream-plan: not following {group.file}: no-file" in log
        assert " ERROR io.kstreamplan" not in log


@pytest.mark.kafka_long
def test_another_leader_goes_on_by_the_plan(broker: Broker, tmp_path: Path) -> None:
    with group_of_three(broker, tmp_path, "plugin-leader-gone") as group:
        group.begin()
        leader = next(name for name, row in _leaders(group.decisions()[-1]) if row)
        group.application.kill(leader)
        group.application.start(leader, PROCESS_IDS[leader])
        group.wait(
            lambda decisions: next(name for name, row in _leaders(decisions[-1]) if row) != leader, "another leader"
        )
        group.ends_as_written()


@pytest.mark.kafka_long
def test_a_pod_under_another_name_takes_its_slot(broker: Broker, tmp_path: Path) -> None:
    with group_of_three(broker, tmp_path, "plugin-renamed") as group:
        group.begin()
        group.application.stop("i5")
        group.application.start("i6", PROCESS_IDS["i6"])
        group.wait(lambda decisions: "i6" in decided(decisions[-1]), "the other pod")
        group.ends_as_written(i5="i6")


@pytest.mark.kafka_long
def test_a_file_that_expires_in_the_middle_is_no_longer_followed(broker: Broker, tmp_path: Path) -> None:
    with group_of_three(broker, tmp_path, "plugin-expired") as group:
        group.begin(expires_in=timedelta(seconds=15))
        group.wait(lambda decisions: decisions[-1].get("without_plan") == "expired", "the file to expire")
        group.application.settled(instances=5)
        decisions = group.decisions()
        assert_none_lost(decisions)
        assert_warm(decisions[-1])


@pytest.mark.kafka_long
def test_fewer_moves_and_sooner_than_by_kafkas_own_assignor(broker: Broker, tmp_path: Path) -> None:
    """Both at once on one broker; the page of the recipe has what this prints."""
    with (
        group_of_three(broker, tmp_path / "planned", "beside-planned") as planned,
        group_of_three(broker, tmp_path / "default", "beside-default", assignor=None) as default,
    ):
        for name in ("i4", "i5"):
            default.application.start(name, PROCESS_IDS[name])
        planned.begin()
        before, *by_plan = planned.ends_as_written()
        default.wait(lambda decisions: len(decided(decisions[-1])) == 5, "five instances")
        default.application.settled(instances=5, seconds=1200)
        decisions = default.decisions()
        first = next(place for place, decision in enumerate(decisions) if len(decided(decision)) > 3)
        of_plan, of_default = _course([before, *by_plan]), _course(decisions[first - 1 :])
        sys.stdout.write(f"planned: {of_plan}\ndefault: {of_default}\n")
        assert of_plan.moves < of_default.moves
        assert of_plan.seconds < of_default.seconds


class Course(NamedTuple):
    """What became of a group: ``paused_seconds`` of all tasks that were withheld, added up."""

    moves: int
    rebalances: int
    seconds: float
    paused_seconds: float


def _course(decisions: list[dict[str, Any]]) -> Course:
    """Return what followed the first of these decisions."""
    times = [datetime.fromisoformat(decision["row"]["captured_at"]) for decision in decisions]
    paused = sum(
        len(held["withheld"]) * (after - at).total_seconds()
        for decision, (at, after) in zip(decisions[1:], pairwise(times[1:]), strict=False)
        for of_instance in decision["decided"].values()
        for held in of_instance["consumers"].values()
    )
    return Course(len(stateful_moves(decisions)), len(decisions) - 1, (times[-1] - times[1]).total_seconds(), paused)


def _leaders(decision: dict[str, Any]) -> list[tuple[str, bool]]:
    return [(NAMES[row["process_id"]], bool(row.get("leader"))) for row in decision["row"]["instances"]]
