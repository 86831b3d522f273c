"""What is known of a copy at a moment: only what was heard lately, or cannot have changed, is proven."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Rates, Snapshot
from kstream_plan.plans.caught_up_evidence import (
    AS_READ,
    TRUST_MS,
    Course,
    Evidence,
    Fact,
    Known,
    KnownCopies,
    at_least_as_long,
    options_that_tell,
)
from tests.helpers.one_standby import IDS, WHOLE, snapshot

_MINUTE = 60_000


def _at(
    of: Snapshot,
    at_ms: int,
    *,
    now_ms: int = 0,
    trust_ms: int | None = TRUST_MS,
    course: Course = AS_READ,
    until_ms: int | None = None,
    likely: bool | None = None,
) -> Evidence:
    task, instance = of.state.group.task_index_by_text["0_0"], of.state.group.instance_index[IDS[1]]
    known = KnownCopies(of, now_ms, trust_ms)
    return known.at(task, instance, at_ms, written_until_ms=until_ms, course=course, likely=likely)


def _writing(per_second: float, of: Snapshot) -> Snapshot:
    return replace(of, rates=Rates(produce_per_task=per_second))


class TestReports:
    def test_one_within_the_minute_is_true(self) -> None:
        evidence = _at(snapshot(), _MINUTE)
        assert (evidence.known, evidence.fact, evidence.age_ms) == (Known.CAUGHT_UP, Fact.REPORTED, _MINUTE)

    def test_a_join_s_counts_for_a_heartbeat_interval_unless_somebody_says_for_how_long(self) -> None:
        """A slow instance of a real group was 384 records behind (limit 200) 9s after a join at which it was not."""
        heartbeat_ms = snapshot().config.heartbeat_interval_ms
        assert _at(snapshot(), heartbeat_ms, trust_ms=None).known is Known.CAUGHT_UP
        evidence = _at(snapshot(), heartbeat_ms + 1, trust_ms=None)
        assert (evidence.known, evidence.fact) == (Known.UNKNOWN, Fact.OLD_REPORT)
        assert evidence.settled_by == ("--metrics", "--produce-rate", "--trust-reports-of 1m")
        measured = replace(snapshot(), measured_lags=frozenset({(0, 1)}))
        assert _at(measured, _MINUTE, trust_ms=None).known is Known.CAUGHT_UP
        assert _at(measured, _MINUTE + 1, trust_ms=None).known is Known.UNKNOWN

    def test_ten_times_as_much_may_be_written_as_was_in_the_past(self) -> None:
        """Real traffic rose to eight times what the log's earlier generations had seen."""
        past = replace(snapshot(), rates=Rates(produce={0: 10}))
        assert _at(past, 100_000, trust_ms=None).at_most == 10_000
        assert _at(past, 100_000, trust_ms=None).known is Known.CAUGHT_UP
        assert _at(past, 101_000, trust_ms=None).known is Known.UNKNOWN
        assert _at(_writing(10, snapshot()), 1_000_000, trust_ms=None).known is Known.CAUGHT_UP

    def test_what_was_seen_written_beats_rates_of_the_past(self) -> None:
        """It reported that it had caught up 40s ago, and 10,001 records were written since."""
        lags = [
            {
                "process_id": IDS[1],
                "task_id": "0_0",
                "offset": 989_999,
                "end_offset": 989_999,
                "reported_at": "2026-11-22T11:59:20.000Z",
            }
        ]
        written = replace(snapshot(lags=lags), rates=Rates(produce={0: 1}))
        assert _at(written, 0, trust_ms=None).known is Known.UNKNOWN
        assert _at(replace(written, rates=Rates(produce_per_task=1)), 0, trust_ms=None).known is Known.UNKNOWN
        assert _at(written, 0).known is Known.CAUGHT_UP  # who accepts reports of a minute

    def test_an_older_one_proves_nothing_and_says_what_would(self) -> None:
        evidence = _at(snapshot(), _MINUTE + 1)
        assert (evidence.known, evidence.fact) == (Known.UNKNOWN, Fact.OLD_REPORT)
        assert evidence.settled_by == ("--metrics", "--produce-rate", "--trust-reports-of 2m")

    def test_who_accepts_older_ones_gets_an_answer(self) -> None:
        assert _at(snapshot(), 3 * 86_400_000, trust_ms=3 * 86_400_000).known is Known.CAUGHT_UP

    def test_nothing_is_written_once_the_owner_has_stopped(self) -> None:
        assert _at(snapshot(), 10 * _MINUTE, until_ms=_MINUTE).known is Known.CAUGHT_UP

    @pytest.mark.parametrize(("per_second", "known"), [(166, Known.CAUGHT_UP), (167, Known.UNKNOWN)])
    def test_a_written_rate_carries_it_out_of_the_limit_or_cannot(self, per_second: int, known: Known) -> None:
        assert _at(_writing(per_second, snapshot()), 60_000 + 1, trust_ms=0).known is known

    def test_what_was_seen_written_since_counts(self) -> None:
        """It reported offset 990,000 an hour ago, and the changelog ends at 1,000,000 now."""
        lags = [
            {
                "process_id": IDS[1],
                "task_id": "0_0",
                "offset": 990_000,
                "end_offset": 990_000,
                "reported_at": "2026-11-22T11:00:00.000Z",
            }
        ]
        evidence = _at(snapshot(lags=lags), 0)
        assert (evidence.known, evidence.fact, evidence.at_most) == (Known.CAUGHT_UP, Fact.SEEN_WRITTEN, 10_000)
        lags[0]["offset"] = lags[0]["end_offset"] = 989_999
        assert _at(snapshot(lags=lags), 0).known is Known.UNKNOWN

    def test_the_least_lag_is_no_proof(self) -> None:
        assert _at(replace(snapshot(), least_lags=frozenset({(0, 1)})), 0).fact is Fact.LEAST_LAG

    @pytest.mark.parametrize(("lag", "fact"), [(None, Fact.NOT_REPORTED), (-3, Fact.NOT_REPORTED)])
    def test_nothing_reported_is_unknown(self, lag: int | None, fact: Fact) -> None:
        evidence = _at(snapshot(lag=lag), 0)
        assert (evidence.known, evidence.fact) == (Known.UNKNOWN, fact)

    def test_one_that_was_measured_a_moment_ago_is_behind(self) -> None:
        behind = replace(snapshot(lag=10_001), measured_lags=frozenset({(0, 1)}))
        assert _at(behind, 5_000).known is Known.BEHIND
        assert _at(behind, _MINUTE + 1).known is Known.UNKNOWN

    def test_measuring_that_failed_leaves_no_report_true(self) -> None:
        evidence = _at(replace(snapshot(), measuring_failed=True), 0)
        assert (evidence.known, evidence.fact) == (Known.UNKNOWN, Fact.NOT_MEASURED)

    def test_how_old_a_report_is_takes_the_time_of_the_snapshot(self) -> None:
        """It says when it was made, and nobody knows how long before the snapshot; a rate tells nothing of that."""
        undated = replace(snapshot(captured_at=None), rates=Rates(restore_per_instance=50.0, produce_per_task=0.0))
        assert _at(undated, 0).fact is Fact.UNDATED
        assert _at(snapshot(captured_at=None, reported_at=None), 0).known is Known.CAUGHT_UP

    def test_rates_tell_nothing_of_a_snapshot_of_unknown_age(self) -> None:
        tasks = [{"task_id": f"0_{number}", "stateful": True, "end_offset_sum": 5_000} for number in range(3)]
        rates = Rates(restore_per_instance=50.0, produce_per_task=1_000.0)
        reported = snapshot(captured_at=None, reported_at=None)
        for undated in (reported, snapshot(captured_at=None, tasks=tasks, lag=None)):
            known = KnownCopies(replace(undated, rates=rates), undated=True).at(0, 1, 0, likely=True)
            assert known.known is Known.UNKNOWN

    def test_rates_tell_nothing_of_a_changelog_whose_end_is_unknown(self) -> None:
        """300,000 records were written, 15,000 restored; nothing is forecast without the end offset."""
        tasks = [{"task_id": f"0_{number}", "stateful": True} for number in range(3)]
        rates = Rates(restore_per_instance=50.0, produce_per_task=1_000.0)
        known = KnownCopies(replace(snapshot(tasks=tasks), rates=rates)).at(0, 1, 5 * _MINUTE, likely=True)
        assert (known.known, known.fact) == (Known.UNKNOWN, Fact.OLD_REPORT)

    def test_nothing_can_lack_of_an_empty_changelog(self) -> None:
        tasks = [{"task_id": f"0_{number}", "stateful": True, "end_offset_sum": 0} for number in range(3)]
        assert _at(snapshot(tasks=tasks, lag=None), 0).known is Known.CAUGHT_UP

    def test_a_small_changelog_is_within_the_limit_whatever_the_copy(self) -> None:
        tasks = [{"task_id": f"0_{number}", "stateful": True, "end_offset_sum": 10_000} for number in range(3)]
        evidence = _at(snapshot(tasks=tasks, lag=None), 0)
        assert (evidence.known, evidence.fact, evidence.at_most) == (Known.UNKNOWN, Fact.WITHIN_LIMIT, 10_000)
        assert _at(snapshot(tasks=tasks, lag=None, left_over=True), 0).known is Known.CAUGHT_UP


def _heard(later_ms: int, lag: int = 0, **fields: Any) -> Snapshot:
    """The copy of 0_0 was heard of so long after now."""
    return replace(snapshot(lag=lag), reported_ms={(0, 1): later_ms}, **fields)


class TestReportsOfAfterNow:
    """What was heard of a copy after the moment asked about says nothing of that moment, but for a clock's error."""

    def test_a_clock_may_be_off_as_far_as_reports_are_trusted_and_by_no_more_than_a_minute(self) -> None:
        assert _at(_heard(_MINUTE), 0).known is Known.CAUGHT_UP
        assert _at(_heard(_MINUTE + 1), 0).known is Known.UNKNOWN
        assert _at(_heard(1), 0, trust_ms=0).known is Known.UNKNOWN
        assert _at(_heard(_MINUTE + 1), 0, trust_ms=86_400_000).known is Known.UNKNOWN

    @pytest.mark.parametrize("lag", [0, 10_001])
    @pytest.mark.parametrize("facts", [{}, {"least_lags": frozenset({(0, 1)})}, {"no_closer_ms": {(0, 1): 1}}])
    @pytest.mark.parametrize("measured", [frozenset[tuple[int, int]](), frozenset({(0, 1)})])
    def test_neither_caught_up_nor_behind_then_is_so_now(
        self, lag: int, facts: dict[str, Any], measured: frozenset[tuple[int, int]]
    ) -> None:
        evidence = _at(_heard(4 * 86_400_000, lag, measured_lags=measured, **facts), 45_000)
        assert (evidence.known, evidence.fact) == (Known.UNKNOWN, Fact.HEARD_LATER)
        assert (evidence.heard_ms, evidence.age_ms, evidence.at_most) == (4 * 86_400_000, None, None)
        assert evidence.settled_by == ("--now 2026-11-26T12:00:00Z (in check: --as-of)",)

    @pytest.mark.parametrize("likely", [True, False])
    def test_no_rate_carries_it_back(self, likely: bool) -> None:
        rated = _heard(4 * 86_400_000, rates=Rates(produce_per_task=1, restore_per_instance=1_000_000))
        assert _at(rated, 45_000, likely=likely).fact is Fact.HEARD_LATER

    def test_a_plan_that_goes_on_for_days_does_not_reach_it(self) -> None:
        assert _at(_heard(4 * 86_400_000), 5 * 86_400_000, until_ms=0).known is Known.UNKNOWN

    def test_a_later_now_settles_it(self) -> None:
        day_ms = 86_400_000
        assert _at(_heard(4 * day_ms), 4 * day_ms + 45_000, now_ms=4 * day_ms, until_ms=4 * day_ms).known is (
            Known.CAUGHT_UP
        )

    def test_what_an_instance_runs_in_the_plan_is_known_whatever_was_heard(self) -> None:
        assert _at(_heard(4 * 86_400_000), 0, course=Course(ran_until_ms=0)).known is Known.CAUGHT_UP


class TestLeftOverState:
    def test_it_was_there_when_it_was_reported_and_may_be_gone_later(self) -> None:
        assert _at(snapshot(left_over=True), 0).known is Known.CAUGHT_UP
        evidence = _at(snapshot(left_over=True), 45_000)
        assert (evidence.known, evidence.fact) == (Known.UNKNOWN, Fact.LEFT_OVER)

    def test_a_young_directory_is_there_still(self) -> None:
        ages = [
            {"process_id": IDS[1], "task_id": "0_0", "since": "2026-11-22T11:59:00Z", "made_at": "2026-11-22T11:55:00Z"}
        ]
        young = snapshot(left_over=True, copies_since=ages)
        assert _at(young, 45_000).known is Known.CAUGHT_UP
        assert _at(young, 5 * _MINUTE + 1, trust_ms=10 * _MINUTE).fact is Fact.LEFT_OVER

    def test_nobody_restores_it(self) -> None:
        evidence = _at(snapshot(lag=10_001, left_over=True), 0)
        assert (evidence.known, evidence.at_least) == (Known.BEHIND, 10_001)


class TestRestarts:
    _BACK = Course(ran_until_ms=0, restarted_ms=3_000)

    @pytest.mark.parametrize(
        ("stores", "known"),
        [
            (None, Known.UNKNOWN),
            ("persistent", Known.CAUGHT_UP),
            ("in-memory", Known.BEHIND),
            ("mixed", Known.UNKNOWN),
        ],
    )
    def test_what_is_left_depends_on_the_stores(self, stores: str | None, known: Known) -> None:
        of = replace(snapshot(), stores=stores)  # type: ignore[arg-type]
        evidence = _at(of, 3_000, course=self._BACK, until_ms=0)
        assert evidence.known is known
        assert (evidence.at_most == WHOLE) == (stores == "in-memory")

    def test_a_process_that_started_after_its_report_is_another_one(self) -> None:
        of = replace(snapshot(), started_ms={IDS[1]: 1})
        assert _at(of, 5_000).fact is Fact.STORES_UNKNOWN


@given(
    lag=st.integers(0, 30_000),
    more=st.integers(0, 30_000),
    age_ms=st.integers(0, 200_000),
    older_ms=st.integers(0, 200_000),
    rate=st.none() | st.integers(0, 400),
    faster=st.integers(0, 400),
    later_ms=st.integers(0, 200_000),
    trust_ms=st.none() | st.integers(0, 200_000),
    less_trust_ms=st.integers(0, 200_000),
)
def test_more_lag_older_later_faster_written_or_less_trusted_is_never_safer(
    lag: int,
    more: int,
    age_ms: int,
    older_ms: int,
    rate: int | None,
    faster: int,
    later_ms: int,
    trust_ms: int | None,
    less_trust_ms: int,
) -> None:
    def known(lag: int, age_ms: int, rate: int | None, trust_ms: int | None, later_ms: int = 0) -> bool:
        of = _heard(later_ms, lag) if rate is None else _writing(rate, _heard(later_ms, lag))
        return _at(of, age_ms, trust_ms=trust_ms).known is Known.CAUGHT_UP

    better = known(lag, age_ms, rate, trust_ms)
    assert better >= known(lag + more, age_ms, rate, trust_ms)
    assert better >= known(lag, age_ms + older_ms, rate, trust_ms)
    assert better >= known(lag, age_ms, rate, max(0, (trust_ms or 0) - less_trust_ms))
    assert known(lag, 0, rate, trust_ms) >= known(lag, 0, rate, trust_ms, later_ms)
    if rate is not None:
        assert better >= known(lag, age_ms, rate + faster, trust_ms)
        assert better >= known(lag, age_ms, None, trust_ms)


def test_of_options_with_a_time_only_the_farthest_is_named() -> None:
    ages = [_at(snapshot(), minutes * _MINUTE) for minutes in (30, 60, 45)]
    later = [_at(_heard(days * 86_400_000), 0) for days in (1, 3, 2)]
    assert options_that_tell(ages) == ("--metrics", "--produce-rate", "--trust-reports-of 60m")
    assert options_that_tell(later) == ("--now 2026-11-25T12:00:00Z (in check: --as-of)",)
    assert options_that_tell([]) == ()


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0, "1m"), (60_001, "2m"), (3_600_001, "2h"), (172_800_001, "3d"), (259_200_000, "3d")]
)
def test_durations_are_rounded_up_as_options_take_them(milliseconds: int, text: str) -> None:
    assert at_least_as_long(milliseconds) == text
