"""What is known of a copy at a moment: only what was heard lately, or cannot have changed, is proven."""

from __future__ import annotations

from collections.abc import Callable
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
    written_at,
)
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.one_standby import IDS, WHOLE, row, snapshot

_MINUTE = 60_000


def _at(
    snapshot: Snapshot,
    at_ms: int,
    *,
    now_ms: int = 0,
    trust_ms: int | None = TRUST_MS,
    course: Course = AS_READ,
    until_ms: int | None = None,
    likely: bool | None = None,
) -> Evidence:
    task, instance = snapshot.state.group.task_index_by_text["0_0"], snapshot.state.group.instance_index[IDS[1]]
    known = KnownCopies(snapshot, now_ms, trust_ms)
    return known.evidence_of(task, instance, at_ms, written_until_ms=until_ms, course=course, likely=likely)


def _writing(per_second: float, snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, rates=Rates(produce_per_task=per_second))


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
        assert evidence.settled_by == ("--metrics", "--set produce.rate", "--set trust.reports.of=1m")
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
        assert evidence.settled_by == ("--metrics", "--set produce.rate", "--set trust.reports.of=2m")

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

    @pytest.mark.parametrize(("measured", "longest_ms"), [(True, _MINUTE), (False, 3_000)])
    def test_one_that_is_behind_may_have_caught_up_however_long_reports_are_trusted(
        self, measured: bool, longest_ms: int
    ) -> None:
        """Its owner stops at once, and the task starts after the session timeout: it restores until then."""
        behind = snapshot(lag=500_000, reported_at="2026-11-22T12:00:00.000Z")
        behind = replace(behind, measured_lags=frozenset({(0, 1)} if measured else ()))
        for trust_ms in (None, 3 * 24 * 60 * _MINUTE):
            assert _at(behind, longest_ms, until_ms=0, trust_ms=trust_ms).known is Known.BEHIND
            assert _at(behind, longest_ms + 1, until_ms=0, trust_ms=trust_ms).known is Known.UNKNOWN

    def test_measuring_that_failed_leaves_no_report_true(self) -> None:
        evidence = _at(replace(snapshot(), measuring_failed=True), 0)
        assert (evidence.known, evidence.fact) == (Known.UNKNOWN, Fact.NOT_MEASURED)

    def test_how_old_a_report_is_takes_the_time_of_the_snapshot(self) -> None:
        """It says when it was made, and nobody knows how long before the snapshot; a rate tells nothing of that."""
        undated = replace(snapshot(captured_at=None), rates=Rates(restore_per_instance=50.0, produce_per_task=0.0))
        assert _at(undated, 0).fact is Fact.UNDATED
        assert _at(snapshot(captured_at=None, reported_at=None), 0).known is Known.CAUGHT_UP

    def test_a_report_without_a_time_is_as_old_as_the_decision_that_was_made_from_it(self) -> None:
        """Of a decision of an unknown time the reports are of an unknown age."""
        result = snapshot(reported_at=None, decision={"at": "2026-11-22T11:59:00.000Z"})
        assert _at(result, 0).age_ms == _MINUTE
        assert _at(result, 1).fact is Fact.OLD_REPORT
        assert _at(snapshot(reported_at=None, decision={}), 0).fact is Fact.UNDATED
        assert _at(snapshot(decision={}), 0).known is Known.CAUGHT_UP, "it says itself when it was made"
        assert _at(snapshot(reported_at=None, decision={"at": "2026-11-22T12:00:01.000Z"}), 0).age_ms == 0
        assert _at(snapshot(reported_at=None, captured_at=None, decision={}), 0).known is Known.CAUGHT_UP

    @pytest.mark.parametrize("captured_at", ["2026-11-22T12:00:00.000Z", None])
    def test_a_process_that_started_after_the_decision_is_another_one_whenever_it_was_captured(
        self, captured_at: str | None
    ) -> None:
        given = row(reported_at=None, captured_at=captured_at, decision={"at": "2026-11-22T11:59:58.000Z"})
        given["instances"][1]["started_at"] = "2026-11-22T11:59:59.000Z"
        given = {name: value for name, value in given.items() if value is not None}
        assert _at(snapshot_from_row(given, "started since"), 0).fact is Fact.STORES_UNKNOWN
        given["instances"][1]["started_at"] = "2026-11-22T11:59:57.000Z"
        assert _at(snapshot_from_row(given, "started before"), 0).known is Known.CAUGHT_UP

    def test_rates_tell_nothing_of_a_snapshot_of_unknown_age(self) -> None:
        tasks = [{"task_id": f"0_{number}", "stateful": True, "end_offset_sum": 5_000} for number in range(3)]
        rates = Rates(restore_per_instance=50.0, produce_per_task=1_000.0)
        for undated in (
            snapshot(captured_at=None, reported_at=None),
            snapshot(captured_at=None, tasks=tasks, lag=None),
        ):
            known = KnownCopies(replace(undated, rates=rates), 0, undated=True).evidence_of(0, 1, 0, likely=True)
            assert known.known is Known.UNKNOWN

    def test_rates_tell_nothing_of_a_changelog_whose_end_is_unknown(self) -> None:
        """300,000 records were written, 15,000 restored; nothing is forecast without the end offset."""
        tasks = [{"task_id": f"0_{number}", "stateful": True} for number in range(3)]
        rates = Rates(restore_per_instance=50.0, produce_per_task=1_000.0)
        known = KnownCopies(replace(snapshot(tasks=tasks), rates=rates), 5 * _MINUTE).evidence_of(
            0, 1, 5 * _MINUTE, likely=True
        )
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
        assert evidence.settled_by == ("--set now=2026-11-26T12:00:00Z (in check: --as-of)",)

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

    @pytest.mark.parametrize("version", [None, "4.0.0", "4.3.1"])
    def test_it_may_be_gone_since_it_was_reported_where_nobody_says_how_old_it_is(self, version: str | None) -> None:
        """Nothing is written meanwhile, and reports of a day count: its cleaner has looked since."""
        for reported_at, known in (
            ("2026-11-22T12:00:00.000Z", Known.CAUGHT_UP),
            ("2026-11-22T11:59:59.999Z", Known.UNKNOWN),
            ("2026-11-21T12:00:00.000Z", Known.UNKNOWN),
        ):
            entry = snapshot(left_over=True, reported_at=reported_at, stores="persistent", streams_version=version)
            assert _at(_writing(0, entry), 0, trust_ms=86_400_000).known is known

    def test_it_is_there_until_its_instance_looks(self) -> None:
        """It started 11 minutes ago and looks every 10: not since the report of 50s ago; one of 30s ago has looked."""
        item = snapshot(left_over=True, reported_at="2026-11-22T11:59:10.000Z")
        for started_ms, known in ((-11 * _MINUTE, Known.CAUGHT_UP), (-10 * _MINUTE - 30_000, Known.UNKNOWN)):
            assert _at(replace(item, started_ms={IDS[1]: started_ms}), 0).known is known

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
        item = replace(snapshot(), stores=stores)  # type: ignore[arg-type]
        evidence = _at(item, 3_000, course=self._BACK, until_ms=0)
        assert evidence.known is known
        assert (evidence.at_most == WHOLE) == (stores == "in-memory")

    def test_a_process_that_started_after_its_report_is_another_one(self) -> None:
        entry = replace(snapshot(), started_ms={IDS[1]: 1})
        assert _at(entry, 5_000).fact is Fact.STORES_UNKNOWN


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
        item = _heard(later_ms, lag) if rate is None else _writing(rate, _heard(later_ms, lag))
        return _at(item, age_ms, trust_ms=trust_ms).known is Known.CAUGHT_UP

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
    assert options_that_tell(ages) == ("--metrics", "--set produce.rate", "--set trust.reports.of=60m")
    assert options_that_tell(later) == ("--set now=2026-11-25T12:00:00Z (in check: --as-of)",)
    assert options_that_tell([]) == ()


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0, "1m"), (60_001, "2m"), (3_600_001, "2h"), (172_800_001, "3d"), (259_200_000, "3d")]
)
def test_durations_are_rounded_up_as_options_take_them(milliseconds: int, text: str) -> None:
    assert at_least_as_long(milliseconds) == text


_SEAT = frozenset({(0, 1)})


def _tasks(end_offset_sum: int) -> list[dict[str, Any]]:
    return [{"task_id": f"0_{number}", "stateful": True, "end_offset_sum": end_offset_sum} for number in range(3)]


def _known(
    snapshot: Snapshot,
    at_ms: int = 0,
    *,
    instance: int = 1,
    until_ms: int | None = None,
    course: Course = AS_READ,
    likely: bool | None = None,
    **beside: bool,
) -> Evidence:
    """Return what is known of the copy of 0_0 on an instance."""
    known = KnownCopies(snapshot, 0, **beside)
    return known.evidence_of(0, instance, at_ms, written_until_ms=until_ms, course=course, likely=likely)


def _evidence(known: Known, fact: Fact, words: str, **fields: Any) -> Evidence:
    return Evidence(known=known, fact=fact, words=words, **fields)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (
            lambda: _known(
                snapshot(
                    tasks=[{"task_id": f"0_{number}", "stateful": False} for number in range(3)],
                    lags=[],
                    lag=None,
                    left_over=True,
                )
            ),
            _evidence(Known.CAUGHT_UP, Fact.STATELESS, "the task has no state", at_most=0),
        ),
        (
            lambda: _known(
                replace(snapshot(lag=None), config=replace(snapshot().config, acceptable_recovery_lag=2**63 - 1))
            ),
            _evidence(
                Known.UNKNOWN,
                Fact.WITHIN_LIMIT,
                "the copy was never reported; acceptable.recovery.lag has no limit: every copy counts as caught up",
                settled_by=("--metrics",),
            ),
        ),
        (
            lambda: _known(replace(snapshot(), config=replace(snapshot().config, acceptable_recovery_lag=2**63 - 1))),
            _evidence(
                Known.CAUGHT_UP,
                Fact.REPORTED,
                "reported 0 records behind, at most 0 by then",
                age_ms=0,
                heard_ms=0,
                at_most=0,
            ),
        ),
        (
            lambda: _known(snapshot(tasks=_tasks(10_000), lag=None)),
            _evidence(
                Known.UNKNOWN,
                Fact.WITHIN_LIMIT,
                "the copy was never reported; the whole changelog, 10,000 records, is within acceptable.recovery.lag",
                at_most=10000,
                settled_by=("--metrics",),
            ),
        ),
        (
            lambda: _known(replace(snapshot(tasks=_tasks(9_000), lag=None), rates=Rates(produce_per_task=10)), 100_000),
            _evidence(
                Known.UNKNOWN,
                Fact.WITHIN_LIMIT,
                "the copy was never reported; the whole changelog, 10,000 records, is within acceptable.recovery.lag",
                at_most=10000,
                settled_by=("--metrics",),
            ),
        ),
        (
            lambda: _known(snapshot(tasks=_tasks(10_000), lag=10, left_over=True), 0),
            _evidence(
                Known.CAUGHT_UP,
                Fact.REPORTED,
                "reported 10 records behind, at most 10 by then",
                age_ms=0,
                heard_ms=0,
                at_most=10,
            ),
        ),
        (
            lambda: _known(snapshot(), instance=2),
            _evidence(Known.BEHIND, Fact.NO_COPY, "there is no copy", at_most=1000000, at_least=1000000),
        ),
        (
            lambda: _known(snapshot(), instance=-1),
            _evidence(Known.BEHIND, Fact.NO_COPY, "there is no copy", at_most=1000000, at_least=1000000),
        ),
        (
            lambda: _known(replace(snapshot(), stores="in-memory"), 3000, course=Course(restarted_ms=1)),
            _evidence(
                Known.BEHIND,
                Fact.IN_MEMORY,
                "its stores are in memory: a restart or a move leaves nothing",
                at_most=1000000,
                at_least=1000000,
            ),
        ),
        (
            lambda: _known(replace(snapshot(), stores="in-memory"), 3000, course=Course(left_over_ms=1)),
            _evidence(
                Known.BEHIND,
                Fact.IN_MEMORY,
                "its stores are in memory: a restart or a move leaves nothing",
                at_most=1000000,
                at_least=1000000,
            ),
        ),
        (
            lambda: _known(snapshot(), 3000, course=Course(restarted_ms=1)),
            _evidence(
                Known.UNKNOWN,
                Fact.STORES_UNKNOWN,
                "the process restarts, and whether stores are persistent or in memory is unknown",
                settled_by=("--set stores=persistent", "--set stores=in-memory"),
            ),
        ),
        (
            lambda: _known(snapshot(left_over=True), 45_000),
            _evidence(
                Known.UNKNOWN, Fact.LEFT_OVER, "left-over state that state.cleanup.delay.ms may have deleted by then"
            ),
        ),
        (
            lambda: _known(snapshot(lag=None)),
            _evidence(Known.UNKNOWN, Fact.NOT_REPORTED, "the copy was never reported", settled_by=("--metrics",)),
        ),
        (
            lambda: _known(replace(snapshot(lag=10_000), least_lags=_SEAT)),
            _evidence(
                Known.UNKNOWN,
                Fact.LEAST_LAG,
                "it is at least 10,000 records behind; how far at most is unknown",
                settled_by=("--metrics with end offsets",),
                at_least=10000,
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=10_001), least_lags=_SEAT)),
            _evidence(
                Known.BEHIND,
                Fact.LEAST_LAG,
                "it is at least 10,001 records behind; how far at most is unknown",
                settled_by=("--metrics with end offsets",),
                at_least=10001,
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=10_001), no_closer_ms={(0, 1): 5})),
            _evidence(
                Known.BEHIND,
                Fact.NO_CLOSER,
                "it is 10,001 records behind, and its lag did not fall while it was observed",
                at_most=10001,
                at_least=10001,
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=10_000), no_closer_ms={(0, 1): 5})),
            _evidence(
                Known.CAUGHT_UP,
                Fact.REPORTED,
                "reported 10,000 records behind, at most 10,000 by then",
                age_ms=0,
                heard_ms=0,
                at_most=10000,
            ),
        ),
        (
            lambda: _known(snapshot(lag=10_001, left_over=True)),
            _evidence(
                Known.BEHIND,
                Fact.LEFT_OVER,
                "left-over state 10,001 records behind, which is not restored",
                at_least=10001,
            ),
        ),
        (
            lambda: _known(replace(snapshot(), reported_ms={(0, 1): 90_500})),
            _evidence(
                Known.UNKNOWN,
                Fact.HEARD_LATER,
                "it was heard of only 1m30s after the time that counts as now",
                heard_ms=90500,
                settled_by=("--set now=2026-11-22T12:01:31Z (in check: --as-of)",),
            ),
        ),
        (
            lambda: _known(snapshot(captured_at=None)),
            _evidence(
                Known.UNKNOWN,
                Fact.UNDATED,
                "the snapshot does not say when it was taken, so how old its reports are is unknown",
                settled_by=("--metrics",),
            ),
        ),
        (
            lambda: _known(snapshot(lag=7), 2_999),
            _evidence(
                Known.CAUGHT_UP,
                Fact.REPORTED,
                "reported 7 records behind 2s before, at most 7 by then",
                age_ms=2999,
                heard_ms=0,
                at_most=7,
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=7), rates=Rates(produce_per_task=10)), 100_000),
            _evidence(
                Known.CAUGHT_UP,
                Fact.REPORTED,
                "reported 7 records behind 1m40s before, at most 1,007 by then",
                age_ms=100000,
                heard_ms=0,
                at_most=1007,
            ),
        ),
        (
            lambda: _known(snapshot(lag=7), 90_000),
            _evidence(
                Known.UNKNOWN,
                Fact.OLD_REPORT,
                "reported 7 records behind 1m30s before, and may have fallen behind since",
                age_ms=90000,
                heard_ms=0,
                settled_by=("--metrics", "--set produce.rate", "--set trust.reports.of=2m"),
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=7), rates=Rates(produce_per_task=1000)), 90_000),
            _evidence(
                Known.UNKNOWN,
                Fact.OLD_REPORT,
                "reported 7 records behind 1m30s before, and may have fallen behind since",
                age_ms=90000,
                heard_ms=0,
                at_most=90007,
                settled_by=("--metrics", "--set trust.reports.of=2m"),
            ),
        ),
        (
            lambda: _known(snapshot(lag=10_001), 2_999),
            _evidence(
                Known.BEHIND,
                Fact.REPORTED,
                "reported 10,001 records behind 2s before",
                age_ms=2999,
                heard_ms=0,
                at_least=10001,
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=10_001), rates=Rates(produce_per_task=10)), 2_000),
            _evidence(
                Known.BEHIND,
                Fact.REPORTED,
                "reported 10,001 records behind 2s before",
                age_ms=2000,
                heard_ms=0,
                at_most=10021,
                at_least=10001,
            ),
        ),
        (
            lambda: _known(snapshot(lag=10_001), 3_001),
            _evidence(
                Known.UNKNOWN,
                Fact.OLD_REPORT,
                "reported 10,001 records behind 3s before, and may have caught up since",
                age_ms=3001,
                heard_ms=0,
                settled_by=("--metrics", "--restore-rate"),
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=10_001), rates=Rates(restore={1: 5.0})), 1_000),
            _evidence(
                Known.UNKNOWN,
                Fact.FORECAST,
                "reported 10,001 records behind 1s before, and may have caught up since",
                age_ms=1000,
                heard_ms=0,
                settled_by=("--metrics", "--restore-rate"),
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=10_001), rates=Rates(restore_at_least={1: 5.0})), 1_000),
            _evidence(
                Known.UNKNOWN,
                Fact.FORECAST,
                "reported 10,001 records behind 1s before, and may have caught up since",
                age_ms=1000,
                heard_ms=0,
                settled_by=("--metrics", "--restore-rate"),
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=10_001), rates=Rates(restore_at_least={2: 5.0})), 1_000),
            _evidence(
                Known.BEHIND,
                Fact.REPORTED,
                "reported 10,001 records behind 1s before",
                age_ms=1000,
                heard_ms=0,
                at_least=10001,
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=7), measuring_failed=True), 5_000),
            _evidence(
                Known.UNKNOWN,
                Fact.NOT_MEASURED,
                "measuring it was asked for and failed; "
                "reported 7 records behind 5s before, and may have fallen behind since",
                age_ms=5000,
                heard_ms=0,
                settled_by=("--metrics", "--set produce.rate", "--set trust.reports.of=1m"),
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=10_001), measuring_failed=True), 5_000),
            _evidence(
                Known.UNKNOWN,
                Fact.NOT_MEASURED,
                "measuring it was asked for and failed; "
                "reported 10,001 records behind 5s before, and may have caught up since",
                age_ms=5000,
                heard_ms=0,
                settled_by=("--metrics", "--restore-rate"),
            ),
        ),
        (
            lambda: _known(
                replace(snapshot(lag=10_001), rates=Rates(restore_per_instance=5.0, produce_per_task=1)),
                5_000,
                likely=True,
            ),
            _evidence(Known.CAUGHT_UP, Fact.RATES, "by the rates that are known it has caught up by then", age_ms=5000),
        ),
        (
            lambda: _known(
                replace(snapshot(lag=10_001), rates=Rates(restore_per_instance=5.0, produce_per_task=1)),
                5_000,
                likely=False,
            ),
            _evidence(Known.BEHIND, Fact.RATES, "by the rates that are known it is behind by then", age_ms=5000),
        ),
        (
            lambda: _known(
                replace(snapshot(lag=10_001), rates=Rates(restore_of={1: 5.0}, produce_of={0: 1})), 5_000, likely=True
            ),
            _evidence(Known.CAUGHT_UP, Fact.RATES, "by the rates that are known it has caught up by then", age_ms=5000),
        ),
        (
            lambda: _known(
                replace(snapshot(lag=10_001), rates=Rates(restore_of={2: 5.0}, produce_of={0: 1})), 2_000, likely=True
            ),
            _evidence(
                Known.BEHIND,
                Fact.REPORTED,
                "reported 10,001 records behind 2s before",
                age_ms=2000,
                heard_ms=0,
                at_most=10003,
                at_least=10001,
            ),
        ),
        (
            lambda: _known(snapshot(lag=10_001), 5_000, likely=True, restores_as_given=True, writes_as_given=True),
            _evidence(Known.CAUGHT_UP, Fact.RATES, "by the rates that are known it has caught up by then", age_ms=5000),
        ),
        (
            lambda: _known(replace(snapshot(lag=10_001), rates=Rates(restore_per_instance=5.0)), 5_000, likely=True),
            _evidence(
                Known.UNKNOWN,
                Fact.FORECAST,
                "reported 10,001 records behind 5s before, and may have caught up since",
                age_ms=5000,
                heard_ms=0,
                settled_by=("--metrics", "--restore-rate"),
            ),
        ),
        (
            lambda: _known(
                replace(snapshot(lag=10_001), rates=Rates(restore_per_instance=5.0)), 5_000, until_ms=0, likely=True
            ),
            _evidence(Known.CAUGHT_UP, Fact.RATES, "by the rates that are known it has caught up by then", age_ms=0),
        ),
        (
            lambda: _known(
                replace(snapshot(), rates=Rates(restore_per_instance=5.0, produce_per_task=1)),
                5_000,
                likely=True,
                course=Course(is_new=True),
            ),
            _evidence(Known.CAUGHT_UP, Fact.RATES, "by the rates that are known it has caught up by then"),
        ),
        (
            lambda: _known(snapshot(), 5_000, course=Course(is_new=True)),
            _evidence(
                Known.UNKNOWN,
                Fact.NEW_COPY,
                "a copy that is made in this plan, and how fast it catches up is unknown",
                settled_by=("--restore-rate", "--set produce.rate"),
            ),
        ),
        (
            lambda: _known(snapshot(), 5_000, course=Course(ran_until_ms=4_000), until_ms=5_500),
            _evidence(
                Known.CAUGHT_UP,
                Fact.RAN_THERE,
                "ran the task there, so 0 records behind 1s before, at most 0 by then",
                age_ms=1000,
                at_most=0,
            ),
        ),
        (
            lambda: _known(snapshot(), 50_000, course=Course(ran_until_ms=4_000)),
            _evidence(
                Known.UNKNOWN,
                Fact.OLD_REPORT,
                "ran the task there, so 0 records behind 46s before, and may have fallen behind since",
                age_ms=46000,
                settled_by=("--metrics", "--set produce.rate", "--set trust.reports.of=1m"),
            ),
        ),
        (
            lambda: _known(snapshot(), 1_000, instance=0),
            _evidence(
                Known.CAUGHT_UP,
                Fact.RAN_THERE,
                "ran the task there, so 0 records behind 1s before, at most 0 by then",
                age_ms=1000,
                at_most=0,
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=7), measured_lags=_SEAT), 60_000),
            _evidence(
                Known.CAUGHT_UP,
                Fact.MEASURED,
                "measured 7 records behind 1m before, at most 7 by then",
                age_ms=60000,
                heard_ms=0,
                at_most=7,
            ),
        ),
        (
            lambda: _known(replace(snapshot(lag=10_001), measured_lags=_SEAT), 2_000),
            _evidence(
                Known.BEHIND,
                Fact.MEASURED,
                "measured 10,001 records behind 2s before",
                age_ms=2000,
                heard_ms=0,
                at_least=10001,
            ),
        ),
    ],
)
def test_every_fact_is_told_whole(evidence: Callable[[], Evidence], expected: Evidence) -> None:
    """What decides it, how old that is, how far behind the copy is at least and at most, and what would settle it."""
    assert evidence() == expected


def test_a_copy_that_is_made_on_an_instance_that_comes_is_of_no_instance_of_the_snapshot() -> None:
    others = replace(snapshot(), started_ms={IDS[2]: 1})
    assert _known(others, instance=-1, course=Course(is_new=True)).fact is Fact.NEW_COPY
    again = replace(snapshot(), started_ms={IDS[1]: 1})
    assert _known(again, 3_000, course=Course(ran_until_ms=3_000)).fact is Fact.RAN_THERE


def test_left_over_state_was_there_when_it_was_heard_of() -> None:
    heard = replace(snapshot(left_over=True), reported_ms={(0, 1): 30_000})
    assert _known(heard, 30_000).fact is Fact.REPORTED
    assert _known(heard, 30_001).fact is Fact.LEFT_OVER


def test_an_owner_s_word_is_as_old_as_it_is() -> None:
    answer = _known(replace(snapshot(), reported_ms={(0, 0): -2_000}), 500, instance=0)
    assert (answer.fact, answer.age_ms, answer.heard_ms) == (Fact.RAN_THERE, 2_500, None)


def test_how_much_later_a_report_is_than_now_is_told_to_the_second() -> None:
    later = _known(replace(snapshot(), reported_ms={(0, 1): 2_000_500}))
    assert later.words == "it was heard of only 33m20s after the time that counts as now"
    assert later.settled_by == ("--set now=2026-11-22T12:33:21Z (in check: --as-of)",)


def test_who_is_assigned_a_copy_or_has_one_is_told() -> None:
    kept, assigned = KnownCopies(snapshot(left_over=True), 0), KnownCopies(snapshot(), 0)
    assert (kept.has_copy(0, 1), kept.is_assigned(0, 1)) == (True, False)
    assert (assigned.has_copy(0, 1), assigned.is_assigned(0, 1)) == (True, True)
    assert (assigned.has_copy(0, 0), assigned.is_assigned(0, 0)) == (True, True), "its owner has one"
    assert (assigned.has_copy(0, 2), assigned.is_assigned(0, 2)) == (False, False)
    assert not assigned.has_copy(0, -1)


@pytest.mark.parametrize(
    ("item", "at_ms", "whole"),
    [
        (snapshot(tasks=_tasks(10_001), lag=None), 0, False),
        (snapshot(tasks=_tasks(10_000), lag=None), 3_000, True),
        (snapshot(tasks=_tasks(10_000), lag=None), 3_001, False),
        (snapshot(tasks=_tasks(0), lag=None), 0, True),
        (snapshot(tasks=_tasks(0), lag=None), 1, False),
        (_writing(10, snapshot(tasks=_tasks(9_000), lag=None)), 100_000, True),
        (_writing(10, snapshot(tasks=_tasks(9_000), lag=None)), 100_101, False),
    ],
)
def test_a_whole_changelog_is_within_the_limit_as_long_as_nothing_can_have_been_written(
    item: Snapshot, at_ms: int, whole: bool
) -> None:
    assert (_known(item, at_ms).at_most is not None) is whole


@pytest.mark.parametrize(("per_second", "whole"), [(0, True), (1, False), (None, False)])
def test_of_a_snapshot_without_a_time_nothing_is_written_only_where_nothing_ever_is(
    per_second: float | None, whole: bool
) -> None:
    item = snapshot(tasks=_tasks(5_000), lag=None)
    item = item if per_second is None else _writing(per_second, item)
    assert (_known(item, undated=True).at_most is not None) is whole


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(60_000, "1m"), (3_600_000, "60m"), (7_200_000, "2h"), (7_200_001, "3h"), (172_800_000, "48h")],
)
def test_the_unit_of_a_duration_is_the_smallest_that_is_read_easily(milliseconds: int, text: str) -> None:
    assert at_least_as_long(milliseconds) == text


@pytest.mark.parametrize(
    ("rates", "records"),
    [
        (Rates(), None),
        (Rates(produce={0: 3.0}), 60),
        (Rates(produce={1: 3.0}), None),
        (Rates(produce_per_task=3.0), 6),
        (Rates(produce={0: 9.0}, produce_per_task=3.0), 6),
        (Rates(produce_of={0: 4.0}, produce_per_task=3.0), 8),
    ],
)
def test_what_was_measured_may_be_ten_times_as_much_and_what_is_given_is_as_much(
    rates: Rates, records: int | None
) -> None:
    item = replace(snapshot(), rates=rates)
    assert written_at(item, 0, 1_000, 3_000) == records
    assert written_at(item, 0, 3_000, 3_000) == written_at(item, 0, 3_000, 1_000) == 0
