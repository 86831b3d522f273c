"""Questions that were answered with a yes, and are not; and those that are (``tests/safe``)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Rates, Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Bounce, Scenario
from kstream_plan.model.starting_state import state_now
from kstream_plan.model.times import format_time
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.caught_up_evidence import Fact
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.instance_names import process_id_of
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import streams_rows
from tests.helpers.one_standby import AT, IDS, WHOLE, row, snapshot

_SAFE = Path(__file__).parents[1] / "safe"
_THREE_HOURS = 3 * 3_600_000
#: The answers, from the worst to the best.
_ORDER = (Answer.NO, Answer.UNKNOWN, Answer.YES)


def _row(path: str) -> dict[str, Any]:
    row: dict[str, Any] = json.loads((_SAFE / path).read_text())
    return row


def _read(path: str) -> Snapshot:
    return snapshot_from_row(_row(path), path)


def _answer(snapshot: Snapshot, host: str, *, later_ms: int = 0, leave: bool = False, trust_ms: int = 60_000) -> Answer:
    assert snapshot.captured_at_ms is not None
    options = PlanOptions(now_ms=snapshot.captured_at_ms + later_ms, trust_ms=trust_ms)
    return drain(snapshot, [host], options, leave=leave).answer


def _facts(snapshot: Snapshot, host: str, *, leave: bool = False) -> set[Fact]:
    return {start.evidence.fact for start in drain(snapshot, [host], PlanOptions(), leave=leave).unproven}


class TestConstructed:
    def test_left_over_state_of_unknown_age(self) -> None:
        entry = _read("01-leftover-unknown-age/snap.json")
        assert _answer(entry, "i0") is Answer.UNKNOWN
        assert _facts(entry, "i0") == {Fact.LEFT_OVER}

    @pytest.mark.parametrize("name", ["lag0", "lag10001"])
    def test_more_written_than_restored(self, name: str) -> None:
        of = _read(f"04-produce-above-restore/{name}.json")
        rated = replace(of, rates=Rates(restore_per_instance=50.0, produce_per_task=1_000.0))
        assert _answer(rated, "i0", later_ms=_THREE_HOURS) is Answer.NO

    def test_a_copy_that_has_fallen_behind_is_as_far_as_the_rates_say(self) -> None:
        element = _read("04-produce-above-restore/lag0.json")
        rated = replace(element, rates=Rates(restore_per_instance=50.0, produce_per_task=1_000.0))
        assert element.captured_at_ms is not None
        [task] = drain(rated, ["i0"], PlanOptions(now_ms=element.captured_at_ms + _THREE_HOURS)).now
        assert task.restore_records == 950 * 10_800 - 50 * 45  # nobody writes until the group notices that i0 has gone

    def test_measuring_that_failed(self) -> None:
        item = _read("05-metrics-open/nan.json")
        assert item.measuring_failed
        assert _answer(item, "i1") is Answer.UNKNOWN
        assert _facts(item, "i1") == {Fact.NOT_MEASURED}

    @pytest.mark.parametrize(
        ("waiting", "answer", "facts"),
        [
            (None, Answer.YES, set()),
            (10_000, Answer.YES, set()),
            (10_001, Answer.UNKNOWN, {Fact.INPUT_BEHIND}),
            (1_000_000, Answer.UNKNOWN, {Fact.INPUT_BEHIND}),
        ],
    )
    def test_a_task_that_still_works_off_its_input(self, waiting: int | None, answer: Answer, facts: set[Fact]) -> None:
        """It writes as fast as it can, so that its copy may be beyond the limit a moment after it was measured."""
        asked = row(stores="persistent")
        for task in asked["tasks"]:
            task["input_lag"] = waiting
        of = snapshot_from_row(asked, "input")
        rated = replace(of, rates=Rates(restore_per_instance=5_000.0, produce_per_task=1.0))
        assert [_answer(each, "i0", leave=leave) for each in (of, rated) for leave in (False, True)] == 4 * [answer]
        assert _facts(of, "i0") == facts
        notes = [note.code for note in drain(of, ["i0"], PlanOptions()).warnings]
        assert notes == (["input-behind"] if facts else [])

    @pytest.mark.parametrize("name", ["snap", "without"])
    def test_the_least_lag_with_a_decision_and_without(self, name: str) -> None:
        member_of = _read(f"07-least-lag-decision/{name}.json")
        assert _answer(member_of, "i0") is Answer.UNKNOWN
        assert _facts(member_of, "i0") == {Fact.LEAST_LAG}

    def test_a_stateless_task_with_a_changelog_is_an_error(self) -> None:
        with pytest.raises(SnapshotError, match="a changelog of 1,000,000 records"):
            _read("08-contradictions/stateful-false-with-changelog.json")

    def test_a_stateless_task_with_lags_is_an_error(self) -> None:
        row = _row("08-contradictions/stateful-false-with-changelog.json")
        row["tasks"] = [{"task_id": task["task_id"], "stateful": False} for task in row["tasks"]]
        with pytest.raises(SnapshotError, match="1,000,000 records of task 0_0"):
            snapshot_from_row(row, "x")

    @pytest.mark.parametrize("name", ["whole-0-older-store-1e6-newer", "no-stateful-flag-lag-1e6", "no-copy-at-all"])
    def test_other_contradictions(self, name: str) -> None:
        assert _answer(_read(f"08-contradictions/{name}.json"), "i0") is Answer.NO


class TestCaptured:
    @pytest.mark.parametrize(
        ("name", "answer"),
        [("live", Answer.UNKNOWN), ("log", Answer.UNKNOWN), ("ot", Answer.UNKNOWN), ("met", Answer.NO)],
    )
    def test_standbys_of_a_slow_instance(self, name: str, answer: Answer) -> None:
        entry = _read(f"s9-hot/W-{name}.json")
        found = drain(entry, ["9bc2"], PlanOptions(), leave=True)
        assert found.answer is answer

    def test_with_the_true_rates_they_are_behind(self) -> None:
        element = replace(_read("s9-hot/W-ot.json"), rates=Rates(restore_per_instance=60.0, produce_per_task=30.0))
        assert drain(element, ["9bc2"], PlanOptions(), leave=True).answer is Answer.NO

    @pytest.mark.parametrize("path", ["s7-mem/B-live", "s7-mem/B-log", "s7-mem1/B-live", "s7-mem1/B-log"])
    @pytest.mark.parametrize(("stores", "ends"), [(None, (0, 5)), ("in-memory", (5, 5)), ("persistent", (0, 0))])
    def test_a_restart_with_stores_in_memory(self, path: str, stores: Any, ends: tuple[int, int]) -> None:
        item = replace(_read(f"{path}.json"), stores=stores)
        who = process_id_of(item.state.group, "05bb" if "s7-mem/" in path else "69ec")
        result = plan_checked(item, scenario=Scenario(events=(Bounce(at_ms=0, process_ids=(who,), restart_ms=3_000),)))
        low, high = result.ends("cold_handovers")
        if "s7-mem1" in path and stores == "in-memory":
            assert high <= 5  # they go to their standbys
        else:
            assert (low, high) == ends or (path.endswith("1/B-log") and high >= ends[1])


class TestControls:
    def test_now_of_a_snapshot_that_does_not_say_when_it_was_taken_is_not_ignored(self) -> None:
        undated = snapshot(captured_at=None, reported_at=None)
        assert drain(undated, ["i0"]).answer is Answer.YES
        report = drain(undated, ["i0"], PlanOptions(now_ms=1_795_000_000_000))
        assert report.answer is Answer.UNKNOWN
        assert {doubt.code for doubt in report.doubts} == {"no-capture-time"}

    def test_reported_within_the_minute(self) -> None:
        assert _answer(snapshot(), "i0") is Answer.YES

    def test_measured_within_the_minute(self) -> None:
        measured = replace(snapshot(lag=9_999), measured_lags=frozenset({(0, 1)}))
        assert _answer(measured, "i0", later_ms=59_000) is Answer.YES

    def test_no_more_written_since_than_fits(self) -> None:
        lags = [
            {
                "process_id": IDS[1],
                "task_id": "0_0",
                "offset": 995_000,
                "end_offset": 995_000,
                "reported_at": "2026-11-20T12:00:00.000Z",
            }
        ]
        assert _answer(snapshot(lags=lags), "i0") is Answer.YES

    @pytest.mark.parametrize("restore", [None, 5_000.0])
    @pytest.mark.parametrize(
        ("seen", "given", "answer"),
        [(0.0, None, Answer.UNKNOWN), (0.1, None, Answer.YES), (0.0, 0.0, Answer.YES)],
    )
    def test_that_nothing_was_written_once_proves_nothing_of_later(
        self, seen: float, given: float | None, answer: Answer, restore: float | None
    ) -> None:
        rates = Rates(produce=dict.fromkeys(range(3), seen), produce_per_task=given, restore_per_instance=restore)
        hour_ms = 3_600_000
        item = replace(snapshot(), rates=rates, known_until_ms=hour_ms, seen_until_ms=hour_ms)
        assert _answer(item, "i0", later_ms=hour_ms, leave=True) is answer

    def test_old_reports_for_who_accepts_them(self) -> None:
        old = snapshot(reported_at="2026-11-20T12:00:00.000Z")
        assert _answer(old, "i0") is Answer.UNKNOWN
        assert _answer(old, "i0", trust_ms=3 * 86_400_000) is Answer.YES


class TestReportsOfSeveralAges:
    """Another copy reported an hour before: what this one said is of when it said so, and not of then."""

    @staticmethod
    def _snapshot(lag: int, reported_at: str | None, rates: Rates, *, left_over: bool = False) -> Snapshot:
        both = row(lag=lag, reported_at=reported_at, left_over=left_over)
        before = {"process_id": IDS[2], "task_id": "0_1", "lag": 0, "reported_at": "2026-11-22T11:00:00.000Z"}
        return replace(snapshot_from_row(both | {"lags": [*both["lags"], before]}, "x"), rates=rates)

    @pytest.mark.parametrize("reported_at", [AT, None])
    def test_a_copy_that_is_behind_now_has_not_been_restored_before(self, reported_at: str | None) -> None:
        entry = self._snapshot(500_000, reported_at, Rates(restore_per_instance=5_000.0))
        assert _answer(entry, "i0", leave=True) is Answer.NO

    @pytest.mark.parametrize("reported_at", [AT, None])
    def test_left_over_state_does_not_lack_what_was_written_before(self, reported_at: str | None) -> None:
        rates = Rates(restore_per_instance=5_000.0, produce_per_task=20.0)
        assert _answer(self._snapshot(0, reported_at, rates, left_over=True), "i0", leave=True) is Answer.YES

    def test_end_offsets_are_of_when_the_snapshot_was_taken(self) -> None:
        item = self._snapshot(0, AT, Rates(produce_per_task=20.0))
        assert [task.end_offset_sum for task in state_now(item, 0).group.tasks] == [WHOLE] * 3
        assert [task.end_offset_sum for task in state_now(item, 60_000).group.tasks] == [WHOLE + 1_200] * 3


@given(
    lag=st.integers(0, 20_000),
    more=st.integers(0, 20_000),
    age_ms=st.integers(0, 120_000),
    older_ms=st.integers(0, 120_000),
    trust_ms=st.integers(0, 120_000),
    lower=st.integers(0, 10_000),
    left_over=st.booleans(),
)
def test_more_lag_older_a_lower_limit_or_less_known_is_never_safer(
    lag: int, more: int, age_ms: int, older_ms: int, trust_ms: int, lower: int, left_over: bool
) -> None:
    def answer(entry: Snapshot, age_ms: int = age_ms, trust_ms: int = trust_ms) -> int:
        return _ORDER.index(_answer(entry, "i0", later_ms=age_ms, trust_ms=trust_ms))

    item = snapshot(lag=lag, left_over=left_over)
    better = answer(item)
    assert better >= answer(snapshot(lag=lag + more, left_over=left_over)) or better == 1
    assert better >= answer(item, age_ms + older_ms) or better < 2
    assert better >= answer(item, trust_ms=trust_ms // 2) or better < 2
    strict = replace(item, config=replace(item.config, acceptable_recovery_lag=10_000 - lower))
    assert better == 2 or answer(strict) < 2
    assert better == 2 or answer(replace(item, least_lags=frozenset({(0, 1)}))) < 2
    assert better == 2 or answer(snapshot(lag=None, left_over=left_over)) < 2
    if not left_over:
        assert better == 2 or answer(snapshot(lag=lag, left_over=True)) < 2


@given(
    lags=st.lists(st.none() | st.integers(-3, 30_000).filter(lambda lag: lag not in (-1, -2)), min_size=1, max_size=1)
)
def test_a_task_whose_survivors_cannot_have_a_copy_within_the_limit_is_cold(lags: list[int | None]) -> None:
    """Checked by hand: who is left has reported more than the limit, and nothing else is known of it."""
    [lag] = lags
    item = snapshot(lag=lag, left_over=lag is not None and lag > 20_000)
    within = lag is not None and 0 <= lag <= 10_000
    assert (_answer(item, "i0") is Answer.YES) == within


class TestStreamsGroups:
    """What reports of copies of a streams group prove by a later moment, if rates are given."""

    @staticmethod
    def _answers(restore: float, *, reported_ms: int = 0, later_ms: int = 0) -> list[Answer]:
        """Return whether ``a`` may stop: all copies had caught up so long before the snapshot."""
        seats = {
            name: [{"consumer_id": f"m-{name}", "position": place, "active": held, "standby": copies}]
            for place, (name, held, copies) in enumerate(
                [("a", ["0_0", "0_1"], []), ("b", ["0_2"], ["0_0", "0_3"]), ("c", ["0_3"], ["0_1", "0_2"])]
            )
        }
        asked = streams_rows.row("4.3", seats, {"0": (4, True, WHOLE)}, standbys=1, stores="persistent")
        at = format_time(parse_time(asked["captured_at"]) - reported_ms)
        asked["lags"] = [
            {"process_id": name, "task_id": task, "lag": 0, "reported_at": at}
            for name, [consumer] in seats.items()
            for task in consumer["standby"]
        ]
        rates = Rates(restore_per_instance=restore, produce_per_task=30.0)
        item = replace(streams_rows.snapshot(asked), rates=rates)
        return [_answer(item, "a", later_ms=later_ms, trust_ms=trust_ms) for trust_ms in (60_000, 2 * _THREE_HOURS)]

    @pytest.mark.parametrize("age", ["reported_ms", "later_ms"])
    @pytest.mark.parametrize(("restore", "answer"), [(50.0, Answer.NO), (5_000.0, Answer.YES)])
    def test_copies_fall_behind_where_more_is_written_than_their_instance_restores(
        self, restore: float, answer: Answer, age: str
    ) -> None:
        """Of the two copies on each instance 60 records a second are written, and it restores 50."""
        asked = {age: _THREE_HOURS}
        assert self._answers(restore, **asked)[1] is answer
        assert Answer.YES not in self._answers(50.0, **asked)

    def test_a_moment_after_they_had_caught_up_they_have(self) -> None:
        """At 50 records a second they restore a second where a heartbeat comes late."""
        assert self._answers(55.0) == [Answer.YES] * 2
        assert self._answers(50.0) == [Answer.UNKNOWN] * 2

    def test_what_restores_for_long_within_the_limit_is_no_warm_start(self) -> None:
        """In ten minutes a copy falls 3,000 records behind, which take a minute."""
        assert self._answers(50.0, reported_ms=600_000) == [Answer.NO] * 2
