"""When left-over state is deleted, as the cleaner of a real group did it, and between which times otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.engine.state_cleaner import StateCleaner
from kstream_plan.model import Copy
from kstream_plan.model.starting_state import Cleaning
from kstream_plan.planner import plan_request
from kstream_plan.planner.loop import RunResult, run_rounds
from kstream_plan.planner.options import PlanOptions
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.snapshots.leader_log.history import Entry
from kstream_plan.snapshots.rows.fields import parse_time
from tests.helpers.engine_modes import engine_module
from tests.helpers.random_scenarios import hard_case
from tests.helpers.recorded_events import generations
from tests.helpers.small_groups import group

GROUP = group()


@pytest.fixture(autouse=True, scope="module", params=["compiled", "plain"])
def mode(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both modes of the engine."""
    with pytest.MonkeyPatch.context() as patched:
        module = engine_module("state_cleaner", request.param)
        patched.setitem(globals(), "StateCleaner", module.StateCleaner)
        yield


FIRST = GROUP.instances[0].process_id
TIMES = st.integers(-2_000_000, 2_000_000)


def _left_over(lost_at_ms: int, made_at_ms: int | None) -> Copy:
    return Copy(0, 0, (0,), lost_at_ms=lost_at_ms, made_at_ms=made_at_ms)


@given(
    lost_ms=TIMES,
    before_ms=st.none() | st.integers(0, 2_000_000),
    started_ms=st.none() | TIMES,
    in_stores=st.sampled_from([None, True, False]),
    delay_ms=st.sampled_from([0, 1, 60_000, 600_000]),
    by_ms=TIMES,
    later_ms=st.integers(0, 2_000_000),
)
def test_it_is_gone_for_good_and_late_is_not_before_early(
    lost_ms: int,
    before_ms: int | None,
    started_ms: int | None,
    in_stores: bool | None,
    delay_ms: int,
    by_ms: int,
    later_ms: int,
) -> None:
    copy = _left_over(lost_ms, None if before_ms is None else lost_ms - before_ms)
    started = {} if started_ms is None else {FIRST: started_ms}
    late, likely, early = (StateCleaner(delay_ms, started, in_stores, when) for when in ("late", "likely", "early"))
    gone = [cleaner.deletes(GROUP, copy, by_ms) for cleaner in (late, likely, early)]
    assert gone == sorted(gone)
    assert likely.other_cleanings == {when for when, item in (("late", gone[0]), ("early", gone[2])) if item != gone[1]}
    for cleaner, then in zip((late, likely, early), gone, strict=True):
        assert not then or (cleaner.deletes(GROUP, copy, by_ms + later_ms) and by_ms > lost_ms)


def test_without_a_time_of_the_start_it_is_gone_after_the_delay_or_not_before_twice_that() -> None:
    copy, cleaner = _left_over(0, None), StateCleaner(600_000)
    late, early = (StateCleaner(600_000, cleaning=when) for when in ("late", "early"))
    assert [cleaner.deletes(GROUP, copy, by_ms) for by_ms in (600_000, 600_001)] == [False, True]
    assert [late.deletes(GROUP, copy, by_ms) for by_ms in (1_200_000, 1_200_001)] == [False, True]
    assert early.deletes(GROUP, copy, 1)


@pytest.mark.parametrize("when", ["likely", "early", "late"])
def test_no_delay_and_no_time_is_too_long(when: Cleaning) -> None:
    cleaner = StateCleaner(2**63 - 1, {}, True, when)
    assert not cleaner.deletes(GROUP, _left_over(-(2**63) + 1, 0), 2**63 - 1)
    assert StateCleaner(0, {FIRST: 0}, True, when).deletes(GROUP, _left_over(1, 0), 2**70)


@pytest.mark.parametrize("name", ["big", "two"])
def test_left_over_state_of_real_groups_went_when_it_had_to(name: str) -> None:
    """Of 4.3.1: what was reported at a generation was there, what was no longer reported was gone by then."""
    entries = generations(name)
    present = gone = 0
    for before, entry in pairwise(entries):
        started = {instance["process_id"]: _ms(instance["started_at"], entry) for instance in before.row["instances"]}
        ages = {(item["process_id"], item["task_id"]): item for item in before.row.get("copies_since", ())}
        reported = {(lag["process_id"], lag["task_id"]) for lag in entry.row["lags"]}
        members = {instance["process_id"] for instance in entry.row["instances"]}
        for seat in _left_over_seats(before) - _left_over_seats(before, decided=True):
            if seat[0] not in members or "since" not in ages[seat]:
                continue
            cleaner = StateCleaner(600_000, {FIRST: started[seat[0]]}, in_stores=True)
            copy = _left_over(_ms(ages[seat]["since"], entry), _ms(ages[seat]["made_at"], entry))
            assert cleaner.deletes(GROUP, copy, 0) == (seat not in reported), (seat, entry.row["captured_at"])
            present, gone = present + (seat in reported), gone + (seat not in reported)
    assert present > 40
    assert gone == {"big": 14, "two": 0}[name]


def _left_over_seats(entry: Entry, *, decided: bool = False) -> set[tuple[str, str]]:
    """What was reported and not assigned when the leader decided; ``decided``: what it then assigned."""
    if decided:
        return {
            (process_id, task)
            for process_id, item in entry.decision["decided"].items()
            for task in (*item["active"], *item["standby"])
        }
    held = {
        (instance["process_id"], task)
        for instance in entry.row["instances"]
        for consumer in instance["consumers"]
        for task in (*consumer["active"], *consumer["standby"])
    }
    return {(lag["process_id"], lag["task_id"]) for lag in entry.row["lags"]} - held


def _ms(time: str, entry: Entry) -> int:
    return parse_time(time) - (entry.at_ms or 0)


def test_a_plan_is_the_same_with_whatever_time_it_says_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: list[RunResult] = []
    monkeypatch.setattr(
        plan_request, "run_rounds", lambda *a, **k: outcomes.append(found := run_rounds(*a, **k)) or found
    )
    the_same = Counter[str]()
    for seed in range(16):
        snapshot, item = hard_case(seed)
        options = PlanOptions(max_rounds=30, floor=False, ranges=False)
        scenario = with_random_ids(item, snapshot.state.group, 0)
        result = plan(snapshot, options, scenario=scenario)
        for when in {"early", "late"}.difference(outcomes[-1].cleanings):
            the_same[when] += 1
            assert plan(snapshot, replace(options, cleaning=when), scenario=scenario).rounds == result.rounds
    assert min(the_same["early"], the_same["late"]) > 1
    assert max(the_same.values()) < 16
