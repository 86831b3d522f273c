"""Whether a copy counts as caught up at a plan's first decision, where its restore rate or beginning is unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.designs.classic.caught_up_estimate import CaughtUpEstimate, silent_copies, to_restore
from kstream_plan.model import LATEST, Copy, Group, Rates
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import KnownHistory, state_now
from kstream_plan.plans.design import CopyDoubt
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import one_standby
from tests.helpers.small_groups import group, state

GROUP = group(stateful=3, end_offset_sum=5_000)
HEARTBEAT_MS, PROBING_MS = 3_000, 600_000
#: The copy of task 2 on i2.
SEAT = (2, 1)
SILENT = Copy(1, None, (), 4_000, 2)


def readiness(beginning: KnownHistory, **fields: Any) -> CaughtUpEstimate:
    config = AssignmentConfig(
        acceptable_recovery_lag=100,
        heartbeat_interval_ms=HEARTBEAT_MS,
        probing_rebalance_interval_ms=PROBING_MS,
    )
    return CaughtUpEstimate(
        **{
            "beginning": beginning,
            "from_ms": 0,
            "to_ms": 10_000,
            "config": config,
            "rates": Rates(),
            **fields,
        }
    )


def doubts(
    beginning: KnownHistory, copy: Copy = SILENT, restores: int = 4_000, of: Group = GROUP, **fields: Any
) -> tuple[bool, dict[tuple[int, int], CopyDoubt]]:
    """Tell whether the copy counts as caught up, and what is doubted of it."""
    asked = readiness(beginning, **fields)
    return asked.counts_as_caught_up(of, SEAT[0], copy, {copy.instance: restores}), asked.doubts


def test_one_that_had_caught_up_follows_its_changelog() -> None:
    for lag in (0, 100, LATEST):
        copy = SILENT._replace(lag=lag, remaining=max(lag, 0))
        assert doubts(KnownHistory(), copy) == (True, {})
        assert readiness(KnownHistory(undated=True), to_ms=0).rate_decides(SEAT[0], copy)
    behind = SILENT._replace(lag=101, remaining=101)
    assert not doubts(KnownHistory(), behind)[0]
    assert not readiness(KnownHistory(undated=True)).rate_decides(SEAT[0], behind)


@pytest.mark.parametrize("ready", ["likely", "all", "none"])
@pytest.mark.parametrize("active", [True, False])
def test_what_is_doubted_is_told_as_it_is(ready: Any, active: bool) -> None:
    found, answer = doubts(KnownHistory(ready=ready), SILENT._replace(active=active))
    assert found is (ready == "all")
    assert answer == {
        SEAT: CopyDoubt(
            task_id=GROUP.tasks[2].task_id,
            process_id="i2",
            active=active,
            records=4_000,
            since_ms=0,
            to_ms=10_000,
            is_likely_ready=False,
        )
    }
    unknown = replace(GROUP.tasks[2], end_offset_known=False)
    group = Group(GROUP.application_id, (*GROUP.tasks[:2], unknown, *GROUP.tasks[3:]), GROUP.instances)
    assert doubts(KnownHistory(ready=ready), of=group)[1][SEAT].records is None


@pytest.mark.parametrize(("restores", "ready"), [(4_000, True), (4_001, False)])
def test_the_least_that_its_instance_was_seen_to_restore_may_be_enough(restores: int, ready: bool) -> None:
    """400 records/s for 10 s, for all copies of the instance."""
    bound = Rates(restore_at_least={1: 400.0, 0: 9_999.0})
    found, answer = doubts(KnownHistory(ready="none"), restores=restores, rates=bound)
    assert (found, SEAT in answer) == (ready, not ready)
    no_closer = KnownHistory(ready="none", no_closer=frozenset({SEAT}))
    assert doubts(no_closer, restores=restores, rates=bound)[0] is False
    assert doubts(KnownHistory(ready="none"), restores=0, rates=Rates())[0] is True


@pytest.mark.parametrize("to_ms", [-HEARTBEAT_MS - 1, -HEARTBEAT_MS, 0, HEARTBEAT_MS, HEARTBEAT_MS + 1])
def test_one_that_was_measured_within_a_heartbeat_interval_is_as_it_was(to_ms: int) -> None:
    behind = SILENT._replace(lag=4_000)
    measured = KnownHistory(ready="all", measured_lags=frozenset({SEAT}), reported_ms={SEAT: 0})
    found, answer = doubts(measured, behind, to_ms=to_ms)
    assert found is (abs(to_ms) > HEARTBEAT_MS)
    assert bool(answer) is found
    others = replace(measured, measured_lags=frozenset({(0, 0)}))
    assert doubts(others, behind, to_ms=to_ms)[0]


@pytest.mark.parametrize(("to_ms", "likely"), [(PROBING_MS, True), (PROBING_MS - 1, False)])
def test_one_that_was_there_for_a_probing_interval_is_likely_caught_up(to_ms: int, likely: bool) -> None:
    found, answer = doubts(KnownHistory(ready="likely"), to_ms=to_ms)
    assert (found, answer[SEAT].is_likely_ready) == (likely, likely)
    assert doubts(KnownHistory(ready="none"), to_ms=to_ms)[0] is False
    assert doubts(KnownHistory(ready="all"), to_ms=to_ms)[0] is True
    for doubted in (
        KnownHistory(measured_lags=frozenset({(0, 0)})),
        KnownHistory(no_closer=frozenset({SEAT})),
        KnownHistory(undated=True),
    ):
        found, answer = doubts(doubted, to_ms=to_ms)
        assert (found, answer[SEAT].is_likely_ready) == (False, False)


@pytest.mark.parametrize(("ready", "counts"), [("likely", True), ("all", True), ("none", False)])
def test_a_standby_that_the_newest_decision_made_run_its_task_likely_runs_it(ready: Any, counts: bool) -> None:
    def answer(beginning: KnownHistory) -> tuple[bool, bool]:
        asked, copy = readiness(beginning), SILENT._replace(active=True)
        found = asked.counts_as_caught_up(GROUP, SEAT[0], copy, {copy.instance: 4_000}, just_promoted=True)
        return found, asked.doubts[SEAT].is_likely_ready

    assert answer(KnownHistory(ready=ready)) == (counts, True)
    for doubted in (KnownHistory(measured_lags=frozenset({(0, 0)})), KnownHistory(no_closer=frozenset({SEAT}))):
        assert answer(replace(doubted, ready=ready)) == (ready == "all", False)


@pytest.mark.parametrize(
    ("copy", "beginning", "fields", "since_ms"),
    [
        (SILENT, KnownHistory(), {}, -5),
        (SILENT, KnownHistory(), {"to_ms": -5}, None),
        (SILENT, KnownHistory(reported_ms={SEAT: 3}), {}, 3),
        (SILENT, KnownHistory(reported_ms={SEAT: 10_000}), {}, None),
        (SILENT, KnownHistory(undated=True), {}, None),
        (SILENT, KnownHistory(since_ms={SEAT: 7}), {}, 7),
        (SILENT, KnownHistory(since_ms={SEAT: 7}, undated=True), {"to_ms": -5}, 7),
        (SILENT._replace(made_at_ms=9), KnownHistory(since_ms={SEAT: 7}), {}, 9),
        (SILENT._replace(made_at_ms=5), KnownHistory(since_ms={SEAT: 7}), {}, 7),
        (SILENT._replace(made_at_ms=9), KnownHistory(undated=True), {}, None),
        (SILENT._replace(lag=4_000), KnownHistory(since_ms={SEAT: 7}), {}, -5),
        (SILENT._replace(lag=4_000), KnownHistory(reported_ms={SEAT: 3}), {}, 3),
        (SILENT._replace(lag=4_000), KnownHistory(undated=True), {}, None),
        (SILENT._replace(lag=4_000), KnownHistory(reported_ms={SEAT: 3}, undated=True), {}, 3),
    ],
)
def test_since_when_it_restores_is_its_report_else_its_assignment(
    copy: Copy, beginning: KnownHistory, fields: dict[str, Any], since_ms: int | None
) -> None:
    _, answer = doubts(replace(beginning, ready="none"), copy, from_ms=-5, **fields)
    assert answer[SEAT].since_ms == since_ms
    asked = readiness(beginning, from_ms=-5, **fields)
    assert asked.rate_decides(SEAT[0], copy) is (since_ms is not None)
    no_closer = replace(beginning, no_closer=frozenset({SEAT}))
    assert readiness(no_closer, from_ms=-5, **fields).rate_decides(SEAT[0], copy)


@given(st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.integers(-20, 20)), st.integers(-9, 9))
def test_lags_that_were_reported_later_are_reported_on_the_way(
    reported_ms: dict[tuple[int, int], int], from_ms: int
) -> None:
    found = readiness(KnownHistory(reported_ms=reported_ms), from_ms=from_ms, to_ms=10).reported_in()
    assert found == {seat: at - from_ms for seat, at in reported_ms.items() if from_ms < at <= 10}


@pytest.mark.parametrize(("since", "assigned_ms"), [(None, 0), ("2026-11-22T11:00:00Z", -3_600_000)])
def test_a_copy_that_was_never_reported_restores_since_it_is_known_to_be_assigned(
    since: str | None, assigned_ms: int
) -> None:
    """Not since another copy was reported, a day before."""
    [report] = one_standby.row()["lags"]
    old = {**report, "process_id": one_standby.IDS[2], "reported_at": "2026-11-21T12:00:00Z"}
    copies_since = [{"process_id": one_standby.IDS[1], "task_id": "0_0", "since": since}] if since else []
    snapshot = snapshot_from_row(one_standby.row(lags=[old], copies_since=copies_since), "x")
    state_then = state_now(snapshot, 0)
    silent = next(copy.instance for copy in state_then.copies[0] if copy.lag is None)
    assert isinstance(state_then.memory, KnownHistory)
    assert (state_then.at_ms, state_then.memory.reported_ms[0, silent]) == (-86_400_000, assigned_ms)


def test_an_instance_restores_the_copies_that_its_consumers_hold() -> None:
    copies = [
        (Copy(0, 0, (), 5, 0), Copy(1, 0, (), 7, 2)),
        (Copy(0, 0, (), 11, 1), Copy(1, 0, (), 13, None)),
        (Copy(2, 0, (), 17, None),),
    ]
    assert to_restore(copies) == {0: 16, 1: 7}


@pytest.mark.parametrize(
    ("rates", "beginning", "ready"),
    [
        (Rates(), KnownHistory(ready="all"), True),
        (Rates(), KnownHistory(ready="none"), False),
        (Rates(restore_per_instance=1.0), KnownHistory(ready="all"), False),
        (Rates(restore_of={1: 1.0}), KnownHistory(ready="all"), False),
        (Rates(restore_of={0: 1.0}), KnownHistory(ready="all"), True),
        (Rates(restore_per_instance=1.0), KnownHistory(ready="all", undated=True), True),
    ],
)
def test_of_now_a_copy_that_said_nothing_counts_as_caught_up_where_no_rate_decides(
    rates: Rates, beginning: KnownHistory, ready: bool
) -> None:
    left_over = Copy(0, None, (), 4_000, None)
    copy = Copy(2, 3_000, (4,), 3_000, 4)
    item = state(GROUP, {}, {2: (left_over, SILENT, copy)})
    now = silent_copies(item, readiness(beginning, rates=rates), rates)
    caught_up = SILENT._replace(lag=0, reporters=(2,), remaining=0)
    assert now[2] == (left_over, caught_up if ready else SILENT, copy)
    assert now[:2] == ((), ())


def test_of_now_the_bound_is_shared_by_all_copies_of_the_instance() -> None:
    item = state(GROUP, {}, {1: (SILENT,), 2: (SILENT,)})
    for bound, ready in ((800.0, True), (799.0, False)):
        rates = Rates(restore_at_least={1: bound})
        now = silent_copies(item, readiness(KnownHistory(ready="none"), rates=rates), rates)
        assert [copies[0].lag == 0 for copies in now[1:3]] == [ready, ready]
