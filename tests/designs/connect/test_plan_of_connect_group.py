"""Connect groups as plans: what stops and starts, what nobody runs and for how long, and when it has settled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.designs import OF_GROUP_PROTOCOL
from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import ScenarioError, SnapshotError
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Bounce, ConfigChange, Join, Leave, ProduceRate, Return, Scenario, Stop
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import HandOver, NobodyRuns, Plan, Revoke, Trigger
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.plans.loads import busiest_changes
from kstream_plan.plans.replay import replay
from kstream_plan.render.answers import page_of
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.simulate import simulate
from tests.benchmarks.replay_vectors import records, replays
from tests.helpers.connect_rows import even, row, snapshot, worker
from tests.helpers.connect_scenarios import scenarios, with_items_held_by_several
from tests.helpers.schemas import validator

VECTORS = Path(__file__).parents[2] / "vectors"
DELAY_MS = 300_000


def play(item: dict[str, Any] | Snapshot, *events: Any, design: str | None = None) -> Plan:
    found = item if isinstance(item, Snapshot) else snapshot(item)
    options = PlanOptions(design=design)
    result = plan_checked(found, options, scenario=Scenario(events=events) if events else None)
    replayed = replay(result.group, result.initial, (rnd.steps for rnd in result.rounds))
    assert [(rnd.decided, rnd.assigned) for rnd in result.rounds] == list(replayed)
    document = plan_json(result)
    validator("plan").validate(json.loads(document))
    assert read_plans(document.encode(), "saved") == [result]
    return result


def _facts(answer: Plan) -> dict[str, str]:
    return {fact.key: fact.value for fact in page_of(answer).facts}


def story(plan: Plan) -> list[tuple[int, Trigger, int, int, int]]:
    """Of every round when and why it comes, how many items stop and start, and how many nobody runs."""
    return [
        (
            rnd.at_ms,
            rnd.trigger,
            sum(isinstance(step, Revoke) for step in rnd.steps),
            sum(isinstance(step, HandOver) for step in rnd.steps),
            sum(len(step.task_ids) for step in rnd.steps if isinstance(step, NobodyRuns)),
        )
        for rnd in plan.rounds
    ]


@pytest.mark.parametrize("file", ["connect-sequences.jsonl.gz"])
def test_recorded_histories_come_out_the_same_as_a_frozen_value_between_rounds(file: str) -> None:
    path = VECTORS / file
    for record in list(records(path))[::10]:
        assert [difference for _, _, difference in replays(record, path)] == [None]


def test_rows_are_as_the_schema_says() -> None:
    check = validator("snapshot")
    check.validate(even())
    assert not check.is_valid({**even(), "group_protocol": "classic"})


def test_a_balanced_cluster_is_left_alone() -> None:
    result = play(even())
    assert (result.rounds, result.verdict.kind, result.design) == ((), "settled", "connect")


def test_a_worker_joins_and_what_moves_is_down_between_two_rounds() -> None:
    result = play(even(), Join(at_ms=10_000, instances=(worker("w2"),)))
    assert story(result) == [(10_000, Trigger.JOIN, 2, 0, 2), (13_000, Trigger.FOLLOW_UP, 0, 2, 0)]
    (unrun,) = (step for step in result.rounds[0].steps if isinstance(step, NobodyRuns))
    assert unrun.until_ms == 13_000
    assert (result.summary.moves, result.summary.paused_task_ms) == (2, 6_000)


def test_what_a_lost_worker_ran_is_run_by_nobody_until_the_delay_has_passed() -> None:
    result = play(even(), Stop(at_ms=10_000, process_ids=("w1",), crash=True))
    assert story(result) == [(20_000, Trigger.LEAVE, 0, 0, 5), (320_000, Trigger.DEADLINE, 0, 5, 0)]
    assert result.summary.max_paused_task is not None
    assert result.summary.max_paused_task.ms == 313_000
    assert _facts(result)["unassigned"] == "5 connectors and tasks at once, 26m05s (25m50s to 26m20s) over all"
    assert _facts(result)["pause"].startswith("c1 (connector): 5m13s (")
    assert "state" not in " ".join(note.message for note in result.assumptions)


def test_a_worker_that_is_back_gets_nothing_before_the_delay_has_passed() -> None:
    crash, back = Stop(at_ms=10_000, process_ids=("w1",), crash=True), Return(at_ms=60_000, process_ids=("w1",))
    result = play(even(), crash, back)
    assert story(result) == [
        (20_000, Trigger.LEAVE, 0, 0, 5),
        (60_000, Trigger.JOIN, 0, 0, 5),
        (320_000, Trigger.DEADLINE, 0, 5, 0),
    ]
    assert {step.to.process_id for step in result.rounds[-1].steps if isinstance(step, HandOver)} == {"w1"}


def test_there_is_no_delay_if_the_leader_is_gone_and_its_work_stands_still_until_all_have_heard() -> None:
    result = play(even(), Leave(at_ms=1_000, process_ids=("w0",)))
    assert story(result) == [(1_000, Trigger.LEAVE, 0, 5, 0)]
    assert _facts(result)["unassigned"] == "5 connectors and tasks at once, 15s over all"
    result = play(even(), Stop(at_ms=1_000, process_ids=("w0",), crash=True))
    assert story(result) == [(11_000, Trigger.LEAVE, 0, 5, 0)]
    assert _facts(result)["unassigned"] == "5 connectors and tasks at once, 1m05s (50s to 1m20s) over all"


def test_who_goes_while_a_rebalance_is_under_way_was_heard_of_by_its_end() -> None:
    joins, goes = Join(at_ms=0, instances=(worker("w2"),)), Leave(at_ms=1_000, process_ids=("w1",))
    result = play(even(config={"scheduled_rebalance_max_delay_ms": 0}), joins, goes)
    assert result.rounds[1].at_ms == 3_000
    assert {pause[1:] for pause in result.pauses if pause.from_ms > 0} == {(1_000, 3_000)}


def test_relief_and_what_nobody_runs_have_the_time_at_which_work_starts_not_that_of_the_loss() -> None:
    result = play(even(3), Leave(at_ms=60_000, process_ids=("w1",)))
    assert busiest_changes(result) == [(8, 363_000)]
    assert list(map(len, result.pauses.unrun_from([rnd.at_ms for rnd in result.rounds]))) == [5, 0]
    joined = play(even(), Join(at_ms=10_000, instances=(worker("w2"),)))
    assert list(map(len, joined.pauses.unrun_from([10_000]))) == [2]
    eager = play(even(3, config={"connect_protocol": "eager"}), Leave(at_ms=0, process_ids=("w0",)))
    assert list(map(len, eager.pauses.unrun_from([0]))) == [15]
    page = page_of(simulate(snapshot(even(3)), Scenario(events=(Leave(at_ms=60_000, process_ids=("w1",)),))))
    assert [column.head for column in page.tables[0].columns][-1] == "Unassigned"
    assert [row.cells[-1].items for row in page.tables[0].rows][:2] == [("5",), ("0",)]


def test_a_delay_that_ends_with_the_leader_counts_for_as_long_as_it_was() -> None:
    result = play(even(3), Leave(at_ms=0, process_ids=("w1",)), Leave(at_ms=60_000, process_ids=("w0",)))
    assert _facts(result)["unassigned"] == "10 connectors and tasks at once, 5m30s over all"
    assert result.pauses.longest_ms == 63_000


def test_a_second_loss_shares_the_first_ones_delay() -> None:
    first, second = Leave(at_ms=0, process_ids=("w1",)), Leave(at_ms=200_000, process_ids=("w2",))
    result = play(even(3), first, second)
    assert [(rnd.at_ms, unrun) for rnd, (*_, unrun) in zip(result.rounds, story(result), strict=True)] == [
        (0, 5),
        (200_000, 10),
        (300_000, 0),
    ]


def test_without_a_delay_lost_work_is_dealt_out_at_once() -> None:
    result = play(even(config={"scheduled_rebalance_max_delay_ms": 0}), Leave(at_ms=1_000, process_ids=("w1",)))
    assert story(result) == [(1_000, Trigger.LEAVE, 0, 5, 0)]


def test_a_delay_that_runs_already_goes_on() -> None:
    running = even(3)
    gone = running["instances"].pop()
    items = [group for item in [*running["instances"], gone] for group in item["held"]]
    running["instances"][0]["memory"] = {
        "previous": items,
        "scheduled_at": "2026-11-22T12:01:00Z",
        "delay_ms": DELAY_MS,
        "generation": 12,
        "members": ["w0", "w1"],
    }
    result = play(running, Join(at_ms=30_000, instances=(worker("w9"),)))
    assert story(result) == [(30_000, Trigger.JOIN, 0, 0, 5), (60_000, Trigger.DEADLINE, 0, 5, 0)]
    assert {step.to.process_id for step in result.rounds[-1].steps if isinstance(step, HandOver)} == {"w9"}
    assert (result.summary.paused_task_ms, result.pauses.longest_ms, result.pauses.most_at_once) == (
        5 * 60_000,
        60_000,
        5,
    )
    del running["captured_at"]
    with pytest.raises(SnapshotError, match="captured_at is missing"):
        snapshot(running)


def test_a_connector_may_be_called_like_a_task() -> None:
    result = play(row({"a": 1, "a-0": 1}, {"w0": {"a": (-1, 0)}, "w1": {"a-0": (-1, 0)}}))
    assert sorted(str(task.task_id) for task in result.group.tasks) == [
        "a (connector)",
        "a-0",
        "a-0 (connector)",
        "a-0-0",
    ]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"config": {"connect_protocol": "lazy"}}, "connect_protocol is 'lazy'"),
        ({"config": {"connect_protocol": []}}, r"connect_protocol is \[\]"),
        ({"config": False}, "config is false, true or false where an object of settings must be"),
        ({"tasks": [{"task_id": "0_0"}]}, "a Connect group has none"),
        ({"connectors": [{"name": "c0", "task_count": 4}]}, "which is not configured"),
        ({"connectors": [{"name": "c0", "task_count": 10**12}]}, "more than 1,000,000 tasks in all"),
        (
            {"connectors": [{"name": item, "task_count": 500_001} for item in ("c0", "c1")]},
            "more than 1,000,000 tasks in all",
        ),
        ({"instances": []}, "holds no worker"),
    ],
)
def test_what_is_not_planned_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(SnapshotError, match=message) as error:
        snapshot({**even(), **changed})
    assert error.value.fix


def test_unlike_configurations_and_a_missing_leader_are_refused() -> None:
    behind, nobody = even(), even()
    for place, item in enumerate(behind["instances"]):
        item["config_offset"] = place
    nobody["instances"][0]["leader"] = False
    for given_row, message in ((behind, "different offsets"), (nobody, "no leader")):
        with pytest.raises(SnapshotError, match=message):
            snapshot(given_row)


def held_by_several(**fields: Any) -> dict[str, Any]:
    """Three workers; the second has the first one's connector and a task of it too, and the third that task."""
    item = even(3, **fields)
    for place, items in ((1, [-1, 0]), (2, [0])):
        item["instances"][place]["held"].append({"connector": "c0", "items": items})
    return item


def test_what_several_hold_is_taken_from_all_and_then_given_to_one() -> None:
    result = play(held_by_several())
    assert story(result) == [(0, Trigger.MANUAL, 5, 0, 2), (3_000, Trigger.FOLLOW_UP, 0, 2, 0)]
    (answer,) = (note for note in result.warnings if note.code == "held-by-several")
    assert answer.subjects == ("c0 (connector)", "c0-0")
    assert "c0 (connector) by w0 and w1, c0-0 by w0 and w1 and w2" in answer.message
    assert (result.summary.moves, result.summary.lower_bounds.moves, result.summary.paused_task_ms) == (0, 0, 6_000)
    (broken, *_) = broken_invariants(replace(result, warnings=()))
    assert broken[:2] == ("one-active-per-task", 0)


def test_what_another_worker_holds_too_goes_on_when_one_of_them_leaves() -> None:
    item = held_by_several()
    del item["instances"][2]["held"][-1]
    result = play(item, Stop(at_ms=60_000, process_ids=("w1",), crash=True))
    assert story(result) == [(70_000, Trigger.LEAVE, 0, 0, 5), (370_000, Trigger.DEADLINE, 0, 5, 0)]
    assert {str(task_id)[:2] for task_id in result.pauses.ms} == {"c1"}


def test_what_several_hold_stands_still_once_when_all_of_them_leave_and_by_the_eager_protocol() -> None:
    item = held_by_several()
    del item["instances"][2]["held"][-1]
    result = play(item, Leave(at_ms=60_000, process_ids=("w0", "w1")))
    assert len(result.pauses) == len(result.pauses.ms) == 10
    eager = play(held_by_several(config={"connect_protocol": "eager"}))
    assert (len(eager.pauses), eager.summary.rebalances) == (15, 1)


def test_what_is_held_twice_and_workers_at_one_address_are_told() -> None:
    item = even()
    item["instances"][1]["held"][0]["items"].append(-1)
    for worker_of in item["instances"]:
        worker_of["host"] = "10.0.0.1:8083"
    found = snapshot(item)
    assert {note.code: note.subjects for note in found.warnings} == {
        "held-twice": ("c1",),
        "same-address": ("10.0.0.1:8083",),
    }
    assert found.state == replace(snapshot(even()).state, group=found.state.group)


def test_events_that_workers_do_not_know_are_refused() -> None:
    with pytest.raises(ScenarioError, match="has no such event"):
        play(even(), ProduceRate(at_ms=0, per_second=1.0))
    with pytest.raises(ScenarioError, match=r"max\.warmup\.replicas is not a setting that matters"):
        play(even(), ConfigChange(at_ms=0, settings=(("max_warmup_replicas", 1),)))
    with pytest.raises(ScenarioError, match=r"session\.timeout\.ms is not a setting that matters"):
        play(even(), Bounce(at_ms=0, process_ids=("w1",), restart_ms=1, settings=(("session_timeout_ms", 1),)))
    with pytest.raises(ScenarioError, match="workers are not static members"):
        play(even(), Bounce(at_ms=0, process_ids=("w1",), restart_ms=1_000, static=True))


DELAY = "scheduled_rebalance_max_delay_ms"


def test_a_shorter_delay_counts_from_the_rebalance_in_which_all_workers_have_it() -> None:
    change = ConfigChange(at_ms=10_000, settings=((DELAY, 60_000),))
    result = play(even(3), change, Leave(at_ms=20_000, process_ids=("w1",)))
    assert [rnd.at_ms for rnd in result.rounds] == [10_000, 20_000, 80_000]
    assert result.rounds[0].trigger is Trigger.CONFIG_CHANGE
    sooner = ConfigChange(at_ms=10_000, settings=(("session_timeout_ms", 2_000),))
    result = play(even(3), sooner, Stop(at_ms=20_000, process_ids=("w1",), crash=True))
    assert [rnd.at_ms for rnd in result.rounds] == [10_000, 22_000, 322_000]


def test_the_delay_is_that_of_the_worker_that_leads_restarted_ones_with_their_own() -> None:
    settings = ((DELAY, 60_000),)
    goes = Leave(at_ms=900_000, process_ids=("w2",))
    follower = Bounce(at_ms=0, process_ids=("w1",), restart_ms=20_000, settings=settings)
    result = play(even(4), follower, goes)
    assert result.rounds[-1].at_ms - 900_000 == DELAY_MS
    two = Bounce(at_ms=0, process_ids=("w0", "w1"), restart_ms=20_000, pause_ms=300_000, settings=settings)
    result = play(even(4), two, goes)  # the second one led once the first had gone
    assert result.rounds[-1].at_ms - 900_000 == 60_000
    result = play(even(4), two, ConfigChange(at_ms=800_000, settings=((DELAY, 30_000),)), goes)
    assert result.rounds[-1].at_ms - 900_000 == 30_000
    assert "own-delay" in {note.code for note in result.assumptions}


@given(scenario=with_items_held_by_several(), design=st.sampled_from(OF_GROUP_PROTOCOL["connect"]))
def test_items_that_several_hold_run_once_in_the_end_by_every_design(
    scenario: tuple[dict[str, Any], Sequence[Any]], design: str
) -> None:
    item, events = scenario
    result = play(item, *events, design=design)
    assert result.verdict.kind == "settled"
    assert sorted(task for held in result.final for task in held.active) == list(range(len(result.group.tasks)))


@given(scenario=scenarios())
def test_every_item_runs_at_most_once_nothing_is_forgotten_and_it_settles(
    scenario: tuple[dict[str, Any], Sequence[Any]],
) -> None:
    item, events = scenario
    result = play(item, *events)
    assert result.verdict.kind == "settled"
    run = sorted(task for held in result.final for task in held.active)
    assert run == list(range(len(result.group.tasks)))
