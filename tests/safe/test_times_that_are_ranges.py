"""What was captured of real groups lies within what is said of them, where it was outside before."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.designs.streams import simulation
from kstream_plan.designs.streams.beats import Beats
from kstream_plan.documents.scenario_file import read_scenario
from kstream_plan.model import Consumer, Instance, Rates, Snapshot
from kstream_plan.model.scenario import Join, Leave, Return, Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import seated
from kstream_plan.planner.assumptions import input_behind
from kstream_plan.planner.external_events import ExternalEvents
from kstream_plan.planner.membership_timeline import timeline
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Plan, Trigger
from kstream_plan.plans.membership import Disk, disk_of
from kstream_plan.plans.plan import figure_of
from kstream_plan.plans.restoring import Restoring, Span
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.snapshots.metrics.measurements import Measurements
from kstream_plan.snapshots.metrics.overlay import with_measured_lags
from kstream_plan.snapshots.metrics.scrapes import read_scrapes
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured_scenarios, one_standby
from tests.helpers.random_broker_groups import streams_case
from tests.helpers.schemas import validator

FOLDER = Path(__file__).parent


def _snapshot(name: str, rates: Rates) -> Snapshot:
    return replace(snapshot_from_row(json.loads((FOLDER / name).read_text("utf-8")), name), rates=rates)


def _ends(plan: Plan, figure: str) -> tuple[int, int]:
    value = figure_of(plan, figure)
    assert value is not None
    ranges = {range_.figure: (range_.low, range_.high) for range_ in plan.summary.ranges}
    return ranges.get(figure, (value, value))


class TestMembersExpireOneByOne:
    """Two threads were killed together: the broker decided between the ends of their sessions, and twice."""

    @pytest.fixture(scope="class")
    @staticmethod
    def made() -> Plan:
        snapshot = _snapshot("s4-streams-43/3-after-leave.json", Rates(restore_per_instance=6000.0))
        scenario = read_scenario((FOLDER / "s4-streams-43/crash.yaml").read_text("utf-8"), "crash.yaml")
        return plan_checked(snapshot, scenario=with_random_ids(scenario, snapshot.state.group, 0))

    def test_what_started_cold_is_within_the_range(self, made: Plan) -> None:
        low, high = _ends(made, "cold_handovers")
        assert (made.summary.cold_handovers, low) == (1, 1)
        assert high >= 2
        assert _ends(made, "rebalances") == (1, 2)

    def test_the_broker_decides_between_two_that_expire(self, made: Plan) -> None:
        snapshot = _snapshot("s4-streams-43/3-after-leave.json", Rates(restore_per_instance=6000.0))
        crash = Scenario(events=(Stop(at_ms=0, process_ids=("ba2a60ce-456e-4fca-9e2b-12e2b0847d90",), crash=True),))
        others = [
            plan_checked(snapshot, scenario=crash, noticed=item, ranges=False) for item in ("one-by-one", "reversed")
        ]
        assert [len(other.rounds) for other in (made, *others)] == [1, 2, 2]
        assert max(other.summary.cold_handovers for other in others) == 2

    def test_when_it_was_stable_is_within_the_range(self, made: Plan) -> None:
        low_ms, high_ms = _ends(made, "duration_ms")
        assert low_ms <= 43_300 <= high_ms
        assert (low_ms, high_ms) == (40_200, 55_200)

    def test_a_single_thread_expires_once(self) -> None:
        crash = Stop(at_ms=0, process_ids=("a",), crash=True)
        members = [_instance("a", 1), _instance("b", 2)]
        for noticed in ("one-by-one", "reversed"):
            found = timeline(members, AssignmentConfig(), (crash,), notice_timing=noticed)
            assert [change.at_ms for change in found.changes] == [45_000]


def _instance(name: str, threads: int) -> Instance:
    consumers = tuple(Consumer(consumer_id=f"{name}{number}") for number in range(threads))
    return Instance(process_id=name, consumers=consumers)


@given(
    threads=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    at_ms=st.integers(0, 100_000),
    session_ms=st.integers(6_000, 60_000),
    heartbeat_ms=st.integers(500, 5_000),
    is_crash=st.booleans(),
)
def test_every_member_expires_within_an_interval_of_the_session(
    threads: list[int], at_ms: int, session_ms: int, heartbeat_ms: int, is_crash: bool
) -> None:
    stopped = [_instance(f"a{number}", item) for number, item in enumerate(threads)]
    config = AssignmentConfig(session_timeout_ms=session_ms, heartbeat_interval_ms=heartbeat_ms)
    stop = Stop(at_ms=at_ms, process_ids=tuple(item.process_id for item in stopped), crash=is_crash)
    for noticed in ("early", "likely", "late", "one-by-one", "reversed"):
        found = timeline([*stopped, _instance("b", 1)], config, (stop,), notice_timing=noticed)
        earliest_ms, latest_ms = at_ms + session_ms - heartbeat_ms, at_ms + session_ms
        if noticed == "late":
            latest_ms += heartbeat_ms
        assert all(earliest_ms <= change.at_ms <= latest_ms for change in found.changes)
        assert [change.at_ms for change in found.changes] == sorted(change.at_ms for change in found.changes)
        assert [member.process_id for member in found.changes[-1].members] == ["b"]
        assert sorted(left.process_id for change in found.changes for left in change.departures) == sorted(
            stop.process_ids
        )
        by_itself = noticed in ("one-by-one", "reversed")
        assert len(found.changes) == (sum(threads) if by_itself else len(threads))


def test_a_crash_of_a_classic_group_is_noticed_within_two_heartbeat_intervals() -> None:
    """The session runs from the last heartbeat, and the others hear of its end with their own."""
    before = captured_scenarios.before("scale-out-standbys", 10_000.0)
    scenario = read_scenario("events: [{at: 0s, crash: i1}]", "s.yaml")
    result = plan_checked(before, scenario=with_random_ids(scenario, before.state.group, 0))
    session_ms, heartbeat_ms = before.config.session_timeout_ms, before.config.heartbeat_interval_ms
    assert result.rounds[0].at_ms == session_ms
    assert _ends(result, "longest_pause_ms") == (session_ms - heartbeat_ms, session_ms + heartbeat_ms)


class TestBacklog:
    """Two static members were away for longer than the session, while 15 records a second came for each task."""

    RATES = Rates(restore_per_instance=3000.0, produce_per_task=15.0)

    @pytest.mark.parametrize(
        ("name", "process_id", "back", "seen_ms"),
        [
            ("S2", "0d2f709f-a1dd-4dcf-8c44-6b14a7d61272", "36s", 299_800),
            ("S3", "bc1154f2-3d2b-47df-b81b-df7a14083eb7", "39s", 112_100),
        ],
    )
    def test_how_long_it_took_is_within_the_range(self, name: str, process_id: str, back: str, seen_ms: int) -> None:
        snapshot = _snapshot(f"s3-static/{name}-live.json", self.RATES)
        scenario = read_scenario(
            f"events: [{{at: 0s, bounce: {{instances: [{process_id}], restart: {back}}}}}]", "s.yaml"
        )
        result = plan_checked(snapshot, scenario=with_random_ids(scenario, snapshot.state.group, 0))
        low_ms, high_ms = _ends(result, "duration_ms")
        assert low_ms <= seen_ms <= high_ms

    @given(away_ms=st.integers(0, 100_000), longer_ms=st.integers(0, 100_000), rate=st.floats(0, 1000))
    def test_the_longer_the_owner_is_away_the_more_its_state_lacks(
        self, away_ms: int, longer_ms: int, rate: float
    ) -> None:
        """What nobody processed until the session ended is written by whoever takes over then."""
        state = seated(captured_scenarios.before("scale-out-standbys").state)
        outside = ExternalEvents(state.group, Rates(produce_per_task=rate))

        def disk_after(elapsed_ms: int) -> Disk:
            spans = [Span(outside.rates, elapsed_ms, frozenset([0]))]
            waiting = Restoring(state.group, dict(enumerate(state.copies))).restore(spans).backlog
            return disk_of(replace(state, waiting=waiting), 0, 0, elapsed_ms, outside.produced)

        soon, late = disk_after(away_ms), disk_after(away_ms + longer_ms)
        assert any(copy.active for copies in state.copies for copy in copies)
        for earlier, later in zip(soon, late, strict=True):
            assert earlier.lag <= later.lag
            assert earlier.backlog <= later.backlog
            whole = state.group.tasks[earlier.task].end_offset_sum
            assert earlier.lag + earlier.backlog >= min(int(rate * away_ms / 1000), whole)

    def test_what_the_owner_lacks_when_it_is_back(self) -> None:
        """Lags of 508 to 555 records were reported after 38 s; 240 were said."""
        snapshot = _snapshot("s3-static/S2-live.json", self.RATES)
        process_id = "0d2f709f-a1dd-4dcf-8c44-6b14a7d61272"
        events = (
            Stop(at_ms=0, process_ids=(process_id,)),
            Return(at_ms=36_000, process_ids=(process_id,), state="kept"),
        )
        outcome = plan_checked(snapshot, scenario=Scenario(events=events), ranges=False)
        before, back = (next(rnd for rnd in outcome.rounds if rnd.at_ms == at_ms) for at_ms in (20_000, 36_000))
        here = [c for c, item in enumerate(outcome.group.consumer_index) if item[0] == process_id]
        ran = {
            task for consumer in here for task in outcome.initial[consumer].active if outcome.group.stateful_flags[task]
        }
        assert ran
        assert not ran & {task for held in (back.decided[c] for c in here) for task in held.active}
        assert not any(before.decided[c].active for c in here)


class TestRates:
    """A rate that is given may be that of a thread, and no copy has to begin at once."""

    def test_a_chain_of_follow_ups_is_a_range(self) -> None:
        """Where a follow-up after 3 s finds nothing restored yet, each step takes until the next probe."""
        before = captured_scenarios.before("scale-out-standbys", 10_000.0)
        joined = read_scenario("events: [{at: 0s, join: 1}]", "s.yaml")
        result = plan_checked(before, scenario=with_random_ids(joined, before.state.group, 0))
        follows = [rnd for rnd in result.rounds if rnd.trigger is Trigger.FOLLOW_UP]
        low_ms, high_ms = _ends(result, "duration_ms")
        assert follows
        assert low_ms <= result.summary.duration_ms < high_ms

    @pytest.mark.parametrize(("rate", "is_range"), [(16_400.0, True), (20_000.0, False)])
    def test_a_probe_that_comes_at_its_earliest_may_find_less(self, rate: float, is_range: bool) -> None:
        """A probe comes up to a heartbeat interval after its own: within it a copy may catch up, or not yet."""
        joins = Scenario(events=(Join(at_ms=0, instances=(_instance("new", 1),)),))
        snapshot = replace(one_standby.snapshot(), rates=Rates(restore_per_instance=rate))
        config = replace(snapshot.config, probing_rebalance_interval_ms=60_000, acceptable_recovery_lag=0)
        result = plan_checked(replace(snapshot, config=config), scenario=joins)
        assert (_ends(result, "probing_rebalances")[0] < _ends(result, "probing_rebalances")[1]) == is_range

    def test_nothing_to_restore_is_no_range(self) -> None:
        before = captured_scenarios.before("scale-out", 10_000.0)
        outcome = plan_checked(before)
        assert outcome.summary.restored_records == 0
        assert outcome.summary.ranges == ()


class TestUndatedReports:
    """A running group does not tell when its members reported: what is behind may have caught up, at any rate."""

    @pytest.mark.parametrize(("restore_rate", "most"), [(None, 7), (3000.0, 5)])
    def test_a_cold_start_may_be_none(self, restore_rate: float | None, most: int) -> None:
        """Without a rate two tasks may move again before their new owners have restored them."""
        snapshot = _snapshot("s9-hot/W-live.json", Rates(restore_per_instance=restore_rate))
        snapshot = replace(snapshot, stores="persistent")
        leave = Leave(at_ms=0, process_ids=("05d0de1d-4f8d-4c80-b0d2-4582566b228b",))
        result = plan_checked(snapshot, scenario=Scenario(events=(leave,)))
        assert result.summary.cold_handovers == 5
        assert _ends(result, "cold_handovers") == (0, most)

    def test_dated_reports_are_what_they_say(self) -> None:
        snapshot = captured_scenarios.before("scale-out-standbys", 10_000.0)
        assert snapshot.undated_caught_up() is snapshot


class TestInputBehind:
    """A group that still works off its input writes to changelogs: its copies fall behind while it looks settled."""

    SCRAPE = FOLDER / "s9-hot/2-hA.prom.gz"
    STOP = Stop(at_ms=0, process_ids=("05d0de1d-4f8d-4c80-b0d2-4582566b228b",), crash=True)

    @staticmethod
    def _read(tmp_path: Path, waiting: int) -> Snapshot:
        """The group as it was scraped, but with so many records of each partition of ``orders`` to process."""
        lag = re.compile(r'(records_lag\{client_id="[^"]*-StreamThread-\d-consumer",[^}]*topic="orders"\}) 0\.0')
        text = gzip.decompress(TestInputBehind.SCRAPE.read_bytes()).decode()
        scraped = tmp_path / "scraped.prom"
        scraped.write_text(lag.sub(rf"\1 {waiting}.0", text))
        scrapes, _ = read_scrapes([str(scraped)])
        row = json.loads((FOLDER / "s9-hot/W-live.json").read_text("utf-8"))
        overlaid = with_measured_lags(row, Measurements(tuple(scrapes))).row
        validator("snapshot").validate(overlaid)
        rates = Rates(restore_per_instance=3000.0)
        return replace(snapshot_from_row(overlaid, "scraped"), rates=rates)

    def test_what_stream_threads_have_not_read_is_told(self, tmp_path: Path) -> None:
        snapshot = self._read(tmp_path, 550)
        names = {str(snapshot.state.group.tasks[task].task_id): lag for task, lag in snapshot.input_lags.items()}
        assert names == dict.fromkeys(("0_0", "0_2", "0_3", "0_5", "0_6"), 550)

    def test_how_long_it_takes_is_unknown_then(self, tmp_path: Path) -> None:
        caught_up, behind = (
            plan_checked(self._read(tmp_path, waiting), scenario=Scenario(events=(self.STOP,))) for waiting in (0, 550)
        )
        assert "input-behind" not in {note.code for note in caught_up.warnings}
        (answer,) = (note for note in behind.warnings if note.code == "input-behind")
        assert answer.subjects == ("0_0", "0_2", "0_3", "0_5", "0_6")
        assert "2,750 records" in answer.message
        assert behind.may_be_endless("duration_ms")
        assert not caught_up.may_be_endless("duration_ms")

    @given(waiting=st.integers(0, 10_000), more=st.integers(0, 10_000))
    def test_more_input_is_never_safer(self, waiting: int, more: int) -> None:
        snapshot = _snapshot("s3-static/S1-live.json", Rates(restore_per_instance=3000.0))
        leave = Scenario(events=(Leave(at_ms=0, process_ids=("0d2f709f-a1dd-4dcf-8c44-6b14a7d61272",)),))
        tasks = snapshot.state.group.stateful
        worst = [
            plan_checked(
                replace(snapshot, input_lags=dict.fromkeys(tasks, lag) if lag else {}).with_input_processed(),
                scenario=leave,
                ranges=False,
            ).summary.cold_handovers
            for lag in (waiting, waiting + more)
        ]
        assert worst == sorted(worst)

    def test_a_few_records_are_no_backlog(self, tmp_path: Path) -> None:
        snapshot = self._read(tmp_path, 200)
        assert snapshot.input_lags
        assert input_behind(snapshot) == ()


@given(back_ms=st.integers(0, 60_000), threads=st.integers(1, 4), is_reversed=st.booleans())
def test_a_static_member_that_is_back_has_all_its_threads(back_ms: int, threads: int, is_reversed: bool) -> None:
    """Threads of it may have expired by then; they join again."""
    members = [_instance("a", threads), _instance("b", 1)]
    events = (Stop(at_ms=0, process_ids=("a",), crash=True), Return(at_ms=back_ms, process_ids=("a",), static=True))
    found = timeline(members, AssignmentConfig(), events, notice_timing="reversed" if is_reversed else "one-by-one")
    last = found.changes[-1].members if found.changes else tuple(members)
    assert {instance.process_id: instance.capacity for instance in last} == {"a": threads, "b": 1}


@pytest.mark.parametrize("seed", [76, 108])
def test_whenever_members_of_a_streams_group_speak_pauses_are_in_the_range(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who gives up a task may have heard of it at once, and who gets it an interval later, and be waited for again."""
    snapshot, scenario = streams_case(seed)
    snapshot = replace(snapshot, rates=Rates(restore_per_instance=5_000.0, produce_per_task=0.0))
    options = PlanOptions(max_rounds=60)
    low_ms, high_ms = _ends(plan_checked(snapshot, options, scenario=scenario), "max_paused_task_ms")
    for draw in range(8):
        source = random.Random(f"{seed}/{draw}")

        def spread(
            member_ids: Sequence[str], interval_ms: int, *, source: random.Random = source, **_: object
        ) -> dict[str, Beats]:
            return {member_id: Beats(phase_ms=source.randrange(interval_ms)) for member_id in member_ids}

        monkeypatch.setattr(simulation, "spread_beats", spread)
        paused = plan_checked(snapshot, options.of_one_run(), scenario=scenario).summary.max_paused_task
        assert low_ms - 100 <= (0 if paused is None else paused.ms) <= high_ms + 100
