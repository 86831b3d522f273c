"""What releases decide otherwise, and which of them plans hold for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kstream_plan.documents.given_settings import GivenSettings
from kstream_plan.documents.plan.end_snapshot import end_snapshot
from kstream_plan.documents.scenario_file import load_scenario
from kstream_plan.documents.streams_config import StreamsConfigFile
from kstream_plan.errors import ScenarioError
from kstream_plan.model import Snapshot
from kstream_plan.model.not_modelled import RELEASE_NOT_MODELLED
from kstream_plan.model.releases import (
    NO_COPY_NO_TEMPORARY,
    NO_DELAY_AT_ONCE,
    RACKS,
    Difference,
    kafka_release,
    numbers_of,
    subscription_version,
)
from kstream_plan.model.scenario import Bounce, Join, Scenario, Stop
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import KeepTemporary, Place, Plan
from kstream_plan.plans.verdict import CauseCode
from kstream_plan.simulation.drain_workers import drain_workers
from kstream_plan.simulation.one_plan import assign_once, plan_checked
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import one_standby
from tests.helpers.connect_rows import even, worker
from tests.helpers.connect_rows import row as of_connectors
from tests.helpers.connect_rows import snapshot as of_workers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("4.3.1", (4, 3, 1)),
        ("4.3", (4, 3, 0)),
        ("3.5.2-ccs", (3, 5, 2)),
        ("4.1-ccs", (4, 1, 0)),
        ("10.0.x", (10, 0, 0)),
    ],
)
def test_a_release_has_three_numbers(text: str, numbers: tuple[int, int, int]) -> None:
    assert numbers_of(text) == numbers


@pytest.mark.parametrize(
    ("version", "release"),
    [("3.4.1", "3.4.1"), ("7.3.0-ccs", "3.3.0-ccs"), ("6.1.1-ce", "2.7.1-ce"), ("7.3.0", "7.3.0"), ("newest", None)],
)
def test_builds_of_confluent_are_numbered_by_their_platform(version: str, release: str | None) -> None:
    assert kafka_release(version) == release


@pytest.mark.parametrize(
    ("change", "without", "with_it"),
    [
        (NO_COPY_NO_TEMPORARY, ["3.3.2", "3.4.1", "3.5.1"], ["3.5.2", "3.6.0", "4.4.0", None]),
        (NO_DELAY_AT_ONCE, ["3.4.1", "3.5.1", "3.6.0"], ["3.5.2", "3.6.1", "3.7.0", "4.4.0", None]),
        (RACKS, ["3.5.2"], ["3.6.0", "4.0.0", None]),
    ],
)
def test_a_change_is_in_the_releases_since_it_and_in_patches_of_older_ones(
    change: Difference, without: list[str], with_it: list[str | None]
) -> None:
    assert [change.is_in(release) for release in (*without, *with_it)] == [False] * len(without) + [True] * len(with_it)


def _warned(**fields: object) -> list[str]:
    snapshot = snapshot_from_row(one_standby.row(**fields), "x")
    return [note.message for note in snapshot.warnings if note.code == RELEASE_NOT_MODELLED]


@pytest.mark.parametrize(
    ("release", "version"), [("2.6.3", 8), ("2.7.2", 8), ("2.8.0", 9), ("3.1.2", 10), ("3.2.0", 11), ("4.4.0", 11)]
)
def test_members_tell_about_themselves_in_a_version(release: str, version: int) -> None:
    assert subscription_version(release) == version


@pytest.mark.parametrize("release", ["2.6.0", "3.2.3", "3.5.1", "3.9.1", "4.4.0", None])
def test_nothing_is_warned_of_a_release_that_is_modelled(release: str | None) -> None:
    assert _warned(**({} if release is None else {"streams_version": release})) == []


@pytest.mark.parametrize(
    ("release", "words"),
    [("2.5.1", "older releases, as 2.5.1 is, decide otherwise"), ("4.5.0", "whether 4.5.0 does is unknown")],
)
def test_another_one_is_warned_of(release: str, words: str) -> None:
    [message] = _warned(streams_version=release)
    assert message == f"Plans go by what Kafka 2.6 to 4.4 decide; {words}"


def test_racks_of_partitions_in_3_6_are_warned_of() -> None:
    racks = {"config": {"rack_aware_assignment_strategy": "min_traffic"}}
    assert _warned(streams_version="3.7.0", **racks) == _warned(streams_version="3.5.2", **racks) == []
    [message] = _warned(streams_version="3.6.2", **racks)
    assert message.endswith("3.6.2 at times decides otherwise")


@pytest.mark.parametrize(
    ("release", "warmed"), [("3.2.3", ["0_1", "0_10", "0_2", "0_5"]), ("3.3.0", ["0_1", "0_2", "0_4", "0_5"])]
)
def test_before_3_3_warm_ups_come_as_movements_lie_in_a_heap(release: str, warmed: list[str]) -> None:
    """As Kafka's class of 3.2.3 gave them for this very group."""
    tasks = [{"task_id": f"0_{number}", "stateful": True, "end_offset_sum": 1_000_000} for number in range(12)]
    row = one_standby.row(tasks=tasks, streams_version=release)
    row["config"] = {"max_warmup_replicas": 4}
    for instance in row["instances"]:
        instance["consumers"][0].update(active=[], standby=[])
    row["instances"][0]["consumers"][0]["active"] = [task["task_id"] for task in tasks]
    snapshot = snapshot_from_row({**row, "lags": []}, "x")
    first = plan_checked(snapshot).rounds[0]
    assert sorted(str(step.task_id) for step in first.steps if isinstance(step, Place)) == warmed
    tasks_of = [snapshot.state.group.tasks[task] for held in assign_once(snapshot).instances for task in held.warmup]
    assert sorted(str(task.task_id) for task in tasks_of) == warmed


@pytest.mark.parametrize(
    ("release", "config", "timeout_ms"),
    [("2.8.2", {}, 10_000), ("2.8.2", {"session_timeout_ms": 30_000}, 30_000), ("3.0.0", {}, 45_000)],
)
def test_before_3_0_members_are_missed_after_10s(release: str, config: dict[str, int], timeout_ms: int) -> None:
    row = one_standby.row(streams_version=release)
    row["config"].update(config)
    read = snapshot_from_row(row, "x")
    assert read.config.session_timeout_ms == timeout_ms
    later = GivenSettings(release="3.9.1").apply(read, StreamsConfigFile({}))
    assert later.config.session_timeout_ms == (config.get("session_timeout_ms") or 45_000)
    set_by_hand = GivenSettings({"session_timeout_ms": 20_000}, release=release).apply(later, StreamsConfigFile({}))
    assert set_by_hand.config.session_timeout_ms == 20_000


def test_what_a_release_has_by_default_is_not_called_given() -> None:
    read = replace(one_standby.snapshot(), session_by_default=True)
    released = GivenSettings({"num_standby_replicas": 2}, release="2.8.0").apply(read, StreamsConfigFile({}))
    message = next(note.message for note in released.assumptions if note.code == "settings-given")
    given, _, defaults = message.partition("Defaults of the given release: ")
    assert "num.standby.replicas=2" in given
    assert "session.timeout.ms" not in given
    assert defaults.startswith("session.timeout.ms=10s instead of 45s. ")


class TestTemporaryStandbys:
    """0_0 has so little state that everybody counts as caught up on it, and the newcomer gets it at once."""

    @staticmethod
    def _plan(release: str) -> Plan:
        tasks = [{"task_id": f"0_{number}", "stateful": True, "end_offset_sum": 100} for number in range(3)]
        row = one_standby.row(tasks=tasks, streams_version=release, stores="persistent")
        row["config"]["num_standby_replicas"] = 0
        row["instances"][0]["consumers"][0]["active"], row["instances"][2]["consumers"][0]["active"] = (
            ["0_0", "0_2"],
            [],
        )
        for instance in row["instances"]:
            instance["consumers"][0]["standby"] = []
        return plan_checked(snapshot_from_row({**row, "lags": []}, "x"))

    @pytest.mark.parametrize(("release", "kept"), [("3.5.1", 1), ("3.5.2", 0), ("3.6.0", 0)])
    def test_a_task_without_a_copy_is_a_standby_until_its_owner_has_revoked_it(self, release: str, kept: int) -> None:
        steps = [step for rnd in self._plan(release).rounds for step in rnd.steps]
        temporary = [step for step in steps if isinstance(step, KeepTemporary)]
        assert [(step.from_, step.to.process_id) for step in temporary] == [(None, one_standby.IDS[2])] * kept


@pytest.mark.parametrize(("release", "shares"), [("2.6.2", [4, 6, 7]), ("3.3.2", [4, 6, 7]), ("3.4.0", [5, 5, 7])])
def test_before_3_4_connect_does_not_even_out_to_the_last(release: str, shares: list[int]) -> None:
    """A connector and 16 tasks of two workers, and a third one joins: as Kafka's class of 3.2.3 shared them."""
    held = {"w0": {"a": [-1, *range(8)]}, "w1": {"a": list(range(8, 16))}}
    snapshot = replace(of_workers(of_connectors({"a": 16}, held)), streams_version=release)
    result = plan_checked(snapshot, scenario=Scenario(events=(Join(at_ms=0, instances=(worker("w2"),)),)))
    assert result.verdict.kind == "settled"
    assert sorted(len(held.active) for held in result.final) == shares


@pytest.mark.parametrize(("restarted", "shares"), [((), [4, 6, 7]), (("w0",), [4, 6, 7]), (("w0", "w1"), [5, 5, 7])])
def test_the_release_of_the_worker_that_leads_decides(restarted: tuple[str, ...], shares: list[int]) -> None:
    """w1, of 3.2.3, leads once w0 has gone, and w0 once w1 has; then a third one joins."""
    held = {"w0": {"a": [-1, *range(8)]}, "w1": {"a": list(range(8, 16))}}
    snapshot = replace(of_workers(of_connectors({"a": 16}, held)), streams_version="3.2.3")
    roll = Bounce(at_ms=0, process_ids=restarted, restart_ms=20_000, pause_ms=400_000, settings=(("release", "3.9.1"),))
    joins = Join(at_ms=2_000_000, instances=(worker("w2"),))
    result = plan_checked(snapshot, scenario=Scenario(events=(*([roll] if restarted else []), joins)))
    assert result.verdict.kind == "settled"
    assert sorted(len(held.active) for held in result.final) == shares
    assert ("own-release" in {note.code for note in result.assumptions}) == bool(restarted)


def test_drafts_of_connect_have_no_releases() -> None:
    roll = Bounce(at_ms=0, process_ids=("w0",), restart_ms=20_000, settings=(("release", "3.9.1"),))
    with pytest.raises(ScenarioError, match="release is not a setting that matters"):
        plan_checked(of_workers(even()), PlanOptions(design="connect-eager"), scenario=Scenario(events=(roll,)))


class TestConnectWithoutADelay:
    """``KAFKA-15693``: what a stopped worker ran is assigned only in the next rebalance."""

    @staticmethod
    def _snapshot(release: str) -> Snapshot:
        found = of_workers(even())
        config = replace(found.config, scheduled_rebalance_max_delay_ms=0)
        return replace(found, config=config, streams_version=release)

    def _plan(self, release: str, *events: Join | Stop) -> Plan:
        snapshot = self._snapshot(release)
        gone = snapshot.state.group.instances[-1].process_id
        crash = Stop(at_ms=0, process_ids=(gone,), crash=True)
        return plan_checked(snapshot, scenario=Scenario(events=(crash, *events)))

    @pytest.mark.parametrize("release", ["3.4.1", "3.5.1", "3.6.0"])
    def test_it_does_not_settle(self, release: str) -> None:
        result = self._plan(release)
        assert result.verdict.kind == "stuck"
        assert result.verdict.cause is not None
        assert result.verdict.cause.code is CauseCode.LEFT_UNASSIGNED
        assert result.verdict.is_never_over
        assert len(result.verdict.tasks) == len(result.initial[-1].active) > 0

    @pytest.mark.parametrize("release", ["3.5.2", "3.6.1", "4.4.0"])
    def test_later_releases_assign_it_at_once(self, release: str) -> None:
        assert self._plan(release).verdict.kind == "settled"

    def test_no_delay_is_no_way_to_stop_a_worker(self) -> None:
        snapshot = replace(self._snapshot("3.5.1"), config=of_workers(even()).config)
        gone = snapshot.state.group.instances[-1].process_id
        ways = {way.way: way for way in drain_workers(snapshot, [gone]).ways}
        assert ways["delay-60s"].runs_after_ms is not None
        assert (ways["delay-0s"].runs_after_ms, ways["delay-0s"].items) == (None, ways["stopped"].items)


@pytest.mark.parametrize(
    ("release", "tasks"), [("2.6.3", [1, 1, 1]), ("3.1.2", [1, 1, 1]), ("3.2.0", [0, 0, 3]), (None, [0, 0, 3])]
)
def test_before_3_2_no_task_waits_with_the_most_caught_up(release: str | None, tasks: list[int]) -> None:
    """The third instance has half of every task's state, and is not caught up."""
    ids = [f"0_{number}" for number in range(3)]
    row = one_standby.row(
        tasks=[{"task_id": task, "stateful": True, "end_offset_sum": 1_000_000} for task in ids],
        **({} if release is None else {"streams_version": release}),
    )
    for instance in row["instances"]:
        instance["consumers"][0].update(active=[], standby=[])
    lags = [{"process_id": one_standby.IDS[2], "task_id": task, "lag": 500_000} for task in ids]
    decision = assign_once(snapshot_from_row({**row, "lags": lags}, "x"))
    assert [len(held.active) for held in decision.instances] == tasks


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("3.1.2", "Kafka Streams 3.1.2, classic protocol"),
        ("7.3.0-ccs", "Kafka Streams 3.3.0-ccs, classic protocol"),
        ("2.5.1", "Kafka Streams 2.6-4.4, classic protocol"),
        (None, "Kafka Streams 4.4, classic protocol"),
    ],
)
def test_a_plan_says_which_release_it_models(release: str | None, words: str) -> None:
    row = one_standby.row(**({} if release is None else {"streams_version": release}))
    assert plan_checked(snapshot_from_row(row, "x")).models == words


def test_so_does_a_plan_of_workers() -> None:
    snapshot = replace(of_workers(even()), streams_version="3.2.3")
    assert plan_checked(snapshot).models == "Kafka Connect 3.2.3, incremental cooperative rebalancing"


class TestRollingUpgrade:
    """All instances are restarted one after the other with a newer release; who leads decides by its own."""

    @staticmethod
    def _plan(release: str | None, threads: int = 1) -> Plan:
        row = one_standby.row(streams_version="3.1.2", stores="persistent")
        for instance in row["instances"] if threads > 1 else ():
            instance["consumers"].append({"consumer_id": f"{instance['process_id']}-2", "active": [], "standby": []})
        settings = () if release is None else (("release", release),)
        bounce = Bounce(
            at_ms=60_000,
            process_ids=one_standby.IDS,
            restart_ms=40_000,
            pause_ms=120_000,
            leaves=True,
            settings=settings,
        )
        return plan_checked(snapshot_from_row(row, "x"), scenario=Scenario(events=(bounce,)))

    def test_the_release_of_the_leader_decides(self) -> None:
        result = self._plan("3.9.1")
        releases = [config.release for _, config in result.later_configs]
        assert releases == ["3.9.1"]
        first = result.later_configs[0][0]
        assert 1 < first <= len(result.rounds)
        [said] = [note.message for note in result.assumptions if note.code == "led-by-release"]
        assert said == f"From rebalance {first} on a leader of 3.9.1 decides"
        assert result.end is not None
        assert result.end.streams_version == "3.9.1"
        assert end_snapshot(result)["streams_version"] == "3.9.1"
        assert "release" not in end_snapshot(result)["config"]

    @pytest.mark.parametrize(
        ("release", "probed"), [("3.9.1", ["3.1.2 to 3.9.1"]), ("3.0.2", []), ("2.8.2", ["3.1.2 to 2.8.2"]), (None, [])]
    )
    def test_version_probing_is_named(self, release: str | None, probed: list[str]) -> None:
        """A leader of 3.1 cannot read what members of 3.2 tell about themselves, but what those of 3.0 do."""
        messages = [note.message for note in self._plan(release).assumptions if note.code == "version-probing"]
        assert [message.partition("(")[2].partition(")")[0] for message in messages] == probed

    def test_without_a_new_one_nothing_changes(self) -> None:
        assert self._plan(None).later_configs == ()

    @pytest.mark.parametrize(("release", "most"), [(None, 2), ("3.9.1", 1)])
    def test_the_laws_change_with_it(self, release: str | None, most: int) -> None:
        """Before 3.2 one of two threads may have the one active task and the one standby of its instance."""
        result = self._plan(release, threads=2)
        first = result.later_configs[0][0] if release else len(result.rounds) + 1
        tasks = [[len(held.active) + len(held.standby) for held in rnd.decided] for rnd in result.rounds]
        assert max(map(max, tasks[: first - 1])) == 2
        assert max(tasks[-1]) == most

    @pytest.mark.parametrize("release", ["newest", "2.5.1", "4.5"])
    def test_other_releases_are_refused(self, release: str, tmp_path: Path) -> None:
        path = tmp_path / "roll.yaml"
        path.write_text(
            f"version: 1\nevents:\n  - {{at: 1m, bounce: {{restart: 40s, config: {{release: {release}}}}}}}\n"
        )
        with pytest.raises(ScenarioError, match="is not a release of Kafka that is modelled"):
            load_scenario(path)
