"""What stands behind a ``≥`` is no more than a real group then took: of every capture, from every generation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from math import inf
from typing import Any

import pytest

from kstream_plan.designs.classic.design import Classic
from kstream_plan.model import Copy, Rates, TaskId
from kstream_plan.model.snapshot import Stores
from kstream_plan.planner import plan as planner
from kstream_plan.planner.loop import RunResult
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan_request import PlanRequest
from kstream_plan.plans import Plan
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.render.answers import page_of
from kstream_plan.render.text.numbers import at_least
from kstream_plan.simulation.one_plan import design_of, plan, plan_checked
from kstream_plan.snapshots.leader_log.history import Entry, checked_rows, read_leader_logs
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.benchmarks.whole_plan import scale_out
from tests.helpers import captured
from tests.helpers.recorded_events import generations

GROUPS = ("big", "bounce", "duo3", "fresh", "two")


@cache
def _entries(name: str) -> tuple[Entry, ...]:
    if name in GROUPS:
        return generations(name)
    config = captured.rows(name, "inputs")[0]["config"]
    return read_leader_logs([str(captured.REAL / name / "leader.log.gz")], config=config).entries


def _seen_ms(entries: Sequence[Entry], place: int) -> int | None:
    """How long the group took from a decision to its last one; ``None`` if somebody came or went before it settled."""
    for entry in entries[place:]:
        if entry is not entries[place] and entry.decision["trigger"] not in ("follow-up", "probing"):
            return None
        if not entry.decision["probing_rebalance"] and not entry.withheld_tasks:
            return (entry.at_ms or 0) - (entries[place].at_ms or 0)
    return None


@pytest.mark.parametrize("name", [*GROUPS, *captured.SCENARIOS])
@pytest.mark.parametrize("replay", [False, True])
def test_no_group_was_faster_than_the_least_that_was_said(name: str, replay: bool) -> None:
    entries, compared = _entries(name), 0
    for place, entry in enumerate(entries):
        seen_ms = _seen_ms(entries, place)
        if seen_ms is None:
            continue
        snapshot = replace(snapshot_from_row(checked_rows([entry])[0], name), rates=Rates(), known_until_ms=0)
        result = plan(snapshot, replay=replay, ranges=False)
        said_ms = result.summary.floor_ms or 0
        assert said_ms <= seen_ms, f"generation {place}: said {said_ms}, seen {seen_ms}"
        compared += 1
        facts = {fact.key: fact.value for fact in page_of(result).facts}
        if said_ms:
            assert at_least(said_ms) in facts["duration"]
    assert compared >= 2


@pytest.mark.parametrize("standbys", [0, 1, 2])
@pytest.mark.parametrize("warmups", [1, 3])
def test_the_least_time_is_that_of_a_play_that_tells_its_steps(
    standbys: int, warmups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = scale_out(80, 6, 3, warmups, standbys=standbys)
    case = PlanRequest.from_snapshot(snapshot, Classic(), PlanOptions())
    alone = _soonest(case)
    monkeypatch.setattr(Classic, "telling_times_alone", lambda self: self)
    answer = _soonest(case)
    assert any(rnd.steps for rnd in answer.rounds)
    assert not any(rnd.steps for rnd in alone.rounds)
    assert _apart_from_steps(alone) == _apart_from_steps(answer)
    assert alone.verdict == answer.verdict


def _soonest(case: PlanRequest) -> RunResult:
    rates = replace(case.snapshot.rates, restore_per_instance=inf)
    return case.soonest().simulate(rates, balances=False)[2]


def _apart_from_steps(rehearsal: RunResult) -> list[Any]:
    return [
        (rnd.at_ms, rnd.ends_ms, rnd.trigger, rnd.generation, rnd.probing_rebalance, rnd.balance)
        for rnd in rehearsal.rounds
    ]


class _Recorded:
    """Plays one after the other, and remembers what was begun and what was asked for."""

    def __init__(self) -> None:
        self.begun: list[Callable[[], Any]] = []
        self.asked: list[Callable[[], Any]] = []

    def begin(self, plays: Sequence[Callable[[], Any]]) -> None:
        self.begun += plays

    def __call__(self, plays: Sequence[Callable[[], Any]]) -> list[Any]:
        self.asked += plays
        return [play() for play in plays]


def test_of_a_long_play_what_else_may_be_is_begun_before_it_is_asked_for() -> None:
    snapshot, recorded = replace(scale_out(80, 6, 3, 1, standbys=1), stores="persistent"), _Recorded()
    result = plan_checked(snapshot, side_by_side=recorded)
    assert result == plan_checked(snapshot)
    assert len(recorded.asked) == 3  # the least time, and left-over state deleted as early and as late as can be
    assert all(play in recorded.begun for play in recorded.asked)
    recorded.begun.clear()
    plan_checked(snapshot, max_rounds=50, side_by_side=recorded)
    assert not recorded.begun


def test_of_a_long_plan_that_nobody_waits_for_what_else_may_be_is_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, recorded = replace(scale_out(80, 6, 3, 1, standbys=1), stores="persistent"), _Recorded()
    whole = plan_checked(snapshot)
    assert whole.summary.ranges
    assert plan_checked(snapshot, long_ranges=False) == whole, "it is no long one"
    monkeypatch.setattr("kstream_plan.planner.ranges._MANY_STEPS", 100)
    result = plan_checked(snapshot, long_ranges=False, side_by_side=recorded)
    assert recorded.begun == recorded.asked
    assert len(recorded.asked) == 1, "the least time alone"
    assert (result.rounds, result.summary) == (whole.rounds, replace(whole.summary, ranges=()))
    assert not result.tells_ends
    page = page_of(result)
    assert "Other outcomes were not simulated (--set ranges=true does)." in page.sentences[-1], (
        "the first lines say it, too"
    )
    assert page.tone == "unknown"
    assert "ends-not-played" in [line.code for line in page.lines]
    assert plan_checked(snapshot) == whole


@pytest.mark.parametrize(
    ("stores", "sentence", "value"),
    [
        ("persistent", "In this simulation no task starts cold: ", "none in this simulation"),
        (None, " cold starts if stores are in memory; ", " or more)"),
    ],
)
def test_a_long_plan_does_not_say_that_no_other_outcome_starts_more_cold(
    stores: Stores | None, sentence: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kstream_plan.planner.ranges._MANY_STEPS", 100)
    snapshot = replace(scale_out(80, 6, 3, 1, standbys=1), stores=stores)
    page = page_of(plan_checked(snapshot, long_ranges=False))
    assert sentence in " ".join(page.sentences)
    assert "Up to" not in page.sentences[0]
    assert next(fact.value for fact in page.facts if fact.key == "cold").endswith(value)


@pytest.mark.parametrize("standbys", [0, 3])
def test_a_plan_is_checked_while_others_play_what_else_may_be(standbys: int) -> None:
    snapshot, recorded, seen = scale_out(80, 2, 1, 1, standbys=standbys), _Recorded(), list[tuple[Plan, int]]()
    outcome = planner.plan(
        snapshot,
        design_of(snapshot, PlanOptions()),
        on_played=lambda played: seen.append((played, len(recorded.asked))),
        side_by_side=recorded,
    )
    [(result, asked)] = seen
    assert (result.rounds, asked) == (outcome.rounds, 0)
    assert recorded.asked
    assert broken_invariants(result) == broken_invariants(outcome) == ()


def test_a_plan_of_follow_ups_alone_tells_what_comes_if_copies_are_ready_only_at_probes() -> None:
    """A copy that warms up already counts as caught up at a follow-up; nobody knows whether it is, without a rate."""
    before = captured.join("scale-out")
    group = before.state.group
    task = group.task_index[TaskId(0, 0)]
    at = group.instance_index[next(instance.process_id for instance in group.instances if instance.host == "i5")]
    consumer = group.consumers_of[at].start
    holdings = list(before.state.holdings)
    holdings[consumer] = holdings[consumer]._replace(warmup=(task,))
    whole = group.end_offset_sums[task]
    copies = list(before.state.copies)
    copies[task] = (*copies[task], Copy(at, whole - 100, (consumer,), whole - 100, consumer, False, 0))
    amid = replace(before, state=replace(before.state, holdings=tuple(holdings), copies=tuple(copies)))
    result = plan(amid)
    assert result.ready_at_follow_ups
    low, high = result.ends("duration_ms")
    assert low == result.summary.duration_ms < plan(before).summary.duration_ms <= high + 60_000
    assert "if copies catch up within 1m, some within seconds, else later" in " ".join(page_of(result).sentences)
    known = plan(replace(amid, rates=Rates(restore_per_instance=100.0)))
    assert not known.ready_at_follow_ups
    assert not plan(before).ready_at_follow_ups
