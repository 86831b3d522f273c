"""A plan that has its steps as rows, and what is held made when it is read, is the plan that has them as objects."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from itertools import pairwise

import pytest

from kstream_plan.designs.classic.design import Classic
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Snapshot
from kstream_plan.model.holding_changes import extra_copies
from kstream_plan.model.scenario import Leave, Scenario
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan import plan
from kstream_plan.plans import Outage, Pauses, Plan, Role
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.plans.invariants.plan_view import made_of_steps
from kstream_plan.plans.loads import after_each_round
from kstream_plan.plans.pauses import pauses_of
from kstream_plan.plans.rebalance_events import events
from kstream_plan.plans.replay import HoldingsLog, Outcome
from kstream_plan.plans.simulated import event_outcomes
from kstream_plan.render.answers import to_markdown as markdown
from kstream_plan.render.answers import to_table as table
from kstream_plan.simulation.random_ids import with_random_ids
from tests.helpers.counted_roles import counted
from tests.helpers.in_rows import InObjects
from tests.helpers.random_scenarios import hard_case, random_case
from tests.helpers.stateless_groups import joined

WAYS = [
    (assignor, protocol)
    for assignor in ("high-availability", "balanced")
    for protocol in ("cooperative", "cooperative", "mixed", "eager")
]


def _both(
    snapshot: Snapshot, scenario: Scenario | None, seed: int, *, share: float = 1.0, **options: bool
) -> tuple[Plan, Plan]:
    assignor, protocol = WAYS[seed % len(WAYS)]
    asked = PlanOptions(max_rounds=150, **options)
    item = None if scenario is None else with_random_ids(scenario, snapshot.state.group, 0)
    return (
        plan(snapshot, InObjects(assignor, protocol, share=share, seed=seed), asked, scenario=item),
        plan(snapshot, Classic(assignor, protocol), asked, scenario=item),
    )


def _compare(plan: Plan, rows: Plan, seed: int) -> None:
    assert _said(rows.pauses) == _said(plan.pauses)
    assert rows.summary == plan.summary
    assert (rows.warnings, rows.assumptions, rows.verdict) == (plan.warnings, plan.assumptions, plan.verdict)
    history = [rnd.assigned for rnd in plan.rounds]
    assert list(extra_copies([rnd.assigned for rnd in rows.rounds])) == list(extra_copies(history))
    order = [*range(len(plan.rounds))]
    random.Random(seed).shuffle(order)
    for index in order:
        one, other = plan.rounds[index], rows.rounds[index]
        assert (other.decided, other.assigned) == (one.decided, one.assigned)
        assert (one.assigned, one.decided) == (other.assigned, other.decided)
        assert (len(other.steps), other.member_steps) == (len(one.steps), one.member_steps)
        assert other.balance == one.balance
    assert list(after_each_round(rows)) == list(after_each_round(plan)) == counted(plan, Role.ACTIVE)
    assert events(rows) == events(plan)
    scenario = Scenario(events=tuple(Leave(at_ms=rnd.at_ms, process_ids=("m1",)) for rnd in plan.rounds[::7]))
    assert event_outcomes(rows, scenario) == event_outcomes(plan, scenario)
    _compare_outages(plan, rows, random.Random(seed))
    assert rows == plan
    assert plan_json(rows, full=True) == plan_json(plan, full=True)
    assert broken_invariants(rows) == ()


def _compare_outages(plan: Plan, rows: Plan, rng: random.Random) -> None:
    """Whatever outages there are, they stop the same tasks."""
    times_ms = sorted({rnd.at_ms for rnd in plan.rounds})
    outages = []
    for before_ms, after_ms in pairwise(times_ms):
        if after_ms - before_ms > 2 and rng.random() < 0.3:
            from_ms = rng.randrange(before_ms, after_ms - 1)
            process_id = rng.choice(plan.group.instances).process_id
            outages.append(Outage(process_id, from_ms, rng.randrange(from_ms + 1, after_ms)))
    one, other = (
        pauses_of(item.group, item.initial, item.rounds, item.stopping, item.config, outages) for item in (plan, rows)
    )
    assert _said(other) == _said(one)


def _said(found: Pauses) -> tuple[object, ...]:
    totals = found.ms, found.times, found.spans, found.shortest_ms, found.longest_ms, found.most_at_once
    starts_ms = sorted({0, *(pause.to_ms for pause in found)})
    return list(found), len(found), totals, found.tasks_between(starts_ms)


@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_it_says_the_same_whoever_comes_and_goes(first: int, share: float) -> None:
    answer = 0
    for seed in range(first, first + 20):
        result, rows = _both(*random_case(seed), seed, share=share, floor=False, ranges=False)
        answer += sum(map(len, made_of_steps(rows, apart=True)))
        _compare(result, rows, seed)
    assert answer > 20


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_it_says_the_same_where_copies_fall_behind(share: float) -> None:
    for seed in range(12):
        _compare(*_both(*hard_case(seed), seed, share=share, floor=False, ranges=False), seed)


@pytest.mark.parametrize("seed", range(4))
def test_it_says_the_same_between_stateless_tasks(seed: int) -> None:
    result, rows = _both(joined(seed), None, seed)
    _compare(result, rows, seed)
    assert table(rows, verbose=True) == table(result, verbose=True)
    assert markdown(rows, verbose=True) == markdown(result, verbose=True)


def test_it_says_the_same_of_what_else_may_be() -> None:
    for seed in range(5):
        _compare(*_both(*random_case(seed), seed), seed)


def test_it_is_pickled_as_what_it_stands_for() -> None:
    for seed in range(5):
        result, rows = _both(*random_case(seed), seed, floor=False, ranges=False)
        assert pickle.loads(pickle.dumps(rows)) == result


def test_nobody_looks_at_more_than_the_last_round(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def outcome(log: HoldingsLog, number: int) -> Outcome:
        asked.append(number)
        return whole(log, number)

    whole = HoldingsLog.outcome
    monkeypatch.setattr(HoldingsLog, "outcome", outcome)
    for seed in range(4):
        snapshot = replace(joined(seed), stores="persistent")
        rows = plan(snapshot, Classic("high-availability", "cooperative"))
        assert any(event.changes for event in events(rows))
        assert any(any(loads) for loads in after_each_round(rows))
        assert set(asked) == {0, len(rows.rounds) - 1}
        asked.clear()
