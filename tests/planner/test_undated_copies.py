"""A live snapshot without the offsets topic does not tell since when copies are there: what follows is a range."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstream_plan.model import Consumer, Instance, Snapshot
from kstream_plan.model.scenario import Join, Leave, Scenario
from kstream_plan.plans import Plan
from kstream_plan.plans.note_codes import LEFT_OVER_CLEANUP
from kstream_plan.plans.plan import MAYBE_READY
from kstream_plan.simulation.bounces import bounce
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

ROW = json.loads((Path(__file__).parents[1] / "safe" / "K1b" / "snapshot.json").read_bytes())


def snapshot(restore: float | None = 20_000.0) -> Snapshot:
    """Three instances of a real group that had settled, read live: nothing was reported of its standbys."""
    found = snapshot_from_row(ROW, "snapshot.json")
    return replace(found, rates=replace(found.rates, restore_per_instance=restore, produce_per_task=0.0))


def caught_up(of: Snapshot) -> Snapshot:
    """The same, as it was in truth: every standby had caught up."""
    copies = tuple(
        tuple(
            copy
            if copy.lag is not None or copy.consumer is None
            else copy._replace(lag=0, remaining=0, reporters=(copy.consumer,))
            for copy in of_task
        )
        for of_task in of.state.copies
    )
    return replace(of, state=replace(of.state, copies=copies))


def joining(*process_ids: str) -> Scenario:
    instances = tuple(
        Instance(process_id=name, consumers=tuple(Consumer(consumer_id=f"{name}-{n}") for n in (1, 2)), host=name[:5])
        for name in process_ids
    )
    return Scenario(events=(Join(at_ms=0, instances=instances),))


def outside(made: Plan, truth: Plan) -> dict[str, object]:
    """The figures of the truth that the plan's ranges do not hold."""
    return {
        figure: (made.ends(figure), truth.ends(figure))
        for figure in ("duration_ms", "rebalances", "moves", "warmups", "cold_handovers", "paused_task_ms")
        if not made.ends(figure)[0] <= getattr(truth.summary, figure) <= made.ends(figure)[1]
    }


@pytest.mark.parametrize("assignor", ["high-availability", "balanced"])
@settings(max_examples=5)
@given(ids=st.lists(st.uuids(version=4), min_size=1, max_size=2, unique=True))
def test_the_range_holds_what_follows_if_the_copies_have_long_been_there(assignor: str, ids: list[object]) -> None:
    scenario = joining(*map(str, ids))
    made = plan(snapshot(), scenario=scenario, assignor=assignor)
    truth = plan(caught_up(snapshot()), scenario=scenario, assignor=assignor)
    assert not outside(made, truth)


def test_a_plan_that_took_copies_for_new_tells_both_ends() -> None:
    scenario = joining("10000000-0000-4000-8000-000000000000", "20000000-0000-4000-8000-000000000000")
    made = plan(snapshot(), scenario=scenario, assignor="balanced")
    (soonest_ms, latest_ms), (fewest, most) = made.ends("duration_ms"), made.ends("rebalances")
    assert MAYBE_READY in {note.code for note in made.assumptions}
    assert (soonest_ms <= 141_000, latest_ms >= 537_000, fewest <= 8, most >= 20) == (True,) * 4


def test_copies_that_are_there_since_a_known_time_have_caught_up_at_a_known_rate() -> None:
    """It is the decision's time that the topic tells."""
    dated = {**ROW, "decision": {**ROW["decision"], "at": "2026-11-25T21:37:50.000Z", "generation": 1}, "generation": 1}
    found = snapshot_from_row(dated, "snapshot.json")
    found = replace(found, rates=replace(found.rates, restore_per_instance=20_000.0, produce_per_task=0.0))
    scenario = joining("10000000-0000-4000-8000-000000000000", "20000000-0000-4000-8000-000000000000")
    made = plan(found, scenario=scenario, assignor="balanced", ranges=False)
    assert (made.summary.duration_ms, made.summary.rebalances) == (537_000, 20)


def with_left_over(at: str | None) -> Snapshot:
    """The same with whole left-over state of every task on the one instance that has none of it."""
    held = {
        (instance["process_id"], task)
        for instance in ROW["instances"]
        for consumer in instance["consumers"]
        for task in (*consumer["active"], *consumer["standby"])
    }
    lags = [
        {"process_id": instance["process_id"], "task_id": task["task_id"], "lag": 0}
        for instance in ROW["instances"]
        for task in ROW["tasks"]
        if task["stateful"] and (instance["process_id"], task["task_id"]) not in held
    ]
    decision = ROW["decision"] if at is None else {**ROW["decision"], "at": at, "generation": 1}
    found = caught_up(snapshot_from_row({**ROW, "decision": decision, "lags": lags, "generation": 1}, "snapshot.json"))
    return replace(found, rates=replace(found.rates, restore_per_instance=20_000.0, produce_per_task=0.0))


def test_left_over_state_that_may_have_been_deleted_by_now_makes_a_range() -> None:
    going = ROW["instances"][0]["process_id"]
    scenario = Scenario(events=(Leave(at_ms=0, process_ids=(going,)),))
    made = plan(with_left_over(None), scenario=scenario)
    assert LEFT_OVER_CLEANUP in {note.code for note in made.warnings}
    assert not outside(made, plan(caught_up(snapshot()), scenario=scenario))
    fresh = plan(with_left_over(ROW["captured_at"]), scenario=scenario)
    assert not outside(made, fresh)


def test_no_restart_of_all_is_safe_if_nothing_was_ever_told_of_the_copies_that_tasks_start_from() -> None:
    """Each is away for longer than the session, so that its tasks start from standbys."""
    unknown, told = (bounce(replace(of, stores="persistent"), 40_000) for of in (snapshot(), caught_up(snapshot())))
    assert (unknown.as_it_is.safe, told.as_it_is.safe) == (False, True)
    assert (unknown.as_it_is.is_likely_unsafe, unknown.as_it_is.most_cold, told.as_it_is.most_cold) == (False, 19, 0)
