"""Rounds become events, events become rows, and nothing important is folded away."""

from typing import get_args

import pytest

from kstream_plan.documents.scenario_file import read_scenario
from kstream_plan.plans import Plan, Reason, ReasonCode, Trigger
from kstream_plan.plans.rebalance_events import events
from kstream_plan.plans.step_indices import STEP_KINDS
from kstream_plan.plans.steps import (
    InstanceLeaving,
    InstanceStays,
    MemberJoined,
    MemberLeft,
    NobodyRuns,
    Revoke,
    Step,
    StopLearned,
    Withhold,
)
from kstream_plan.render.pages.steps import because
from kstream_plan.render.report.axis import head_of
from kstream_plan.simulation.simulate import simulate
from tests.helpers import captured_scenarios, plan_cases
from tests.helpers.random_scenarios import play_varied


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_pauses_add_up_to_what_the_summary_says(name: str) -> None:
    plan = plan_cases.case(name)
    assert sum(plan.pauses.ms.values()) == plan.summary.paused_task_ms


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_events_hold_every_round_and_every_move_of_the_summary(name: str) -> None:
    plan = plan_cases.case(name)
    found = events(plan)
    assert [rnd for event in found for rnd in event.rounds] == list(plan.rounds)
    assert all(event.rounds[0].trigger is not Trigger.FOLLOW_UP for event in found)
    assert sum(len(event.moves) for event in found) == plan.summary.hops
    assert sum(len(event.cold) for event in found) == plan.summary.cold_handovers
    assert sum(event.stateless for event in found) == plan.summary.stateless_hops
    assert sum(event.probe is not None for event in found) == plan.summary.probing_rebalances
    amounts = [event.records for event in found]
    assert (None if None in amounts else sum(amounts)) == plan.summary.restored_records  # type: ignore[arg-type]


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_what_a_probe_waits_for_is_where_the_target_wants_what_others_run(name: str) -> None:
    plan = plan_cases.case(name)
    group = plan.group
    process_of = [group.instances[instance].process_id for instance in group.instance_of]
    wanted = {
        (task, instance.process_id)
        for instance, tasks in zip(group.instances, plan.target.active, strict=True)
        for task in tasks
    }
    runs = {task: process_of[consumer] for consumer, held in enumerate(plan.initial) for task in held.active}
    for event in events(plan):
        runs |= {group.task_index[move.task_id]: move.destination for move in event.moves}
        held = enumerate(event.rounds[-1].assigned)
        copies = {(task, process_of[consumer]) for consumer, item in held for task in item.standby + item.warmup}
        awaited = [
            (group.tasks[task].task_id, item) for task, item in sorted(copies & wanted) if runs.get(task) != item
        ]
        waits = event.probe is not None and not event.changes
        assert [(copy.task_id, copy.destination) for copy in event.awaited] == (awaited if waits else [])


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_warm_ups_are_ready_that_a_probe_decides_to_run_or_keep(name: str) -> None:
    plan = plan_cases.case(name)
    compare_readiness(plan)


def test_warm_ups_are_ready_whoever_comes_and_goes() -> None:
    assert sum(compare_readiness(play_varied(seed)) for seed in range(30)) > 5


def compare_readiness(plan: Plan) -> int:
    """Compare how many warm-ups are ready with what is held and decided; return how many are."""
    found = events(plan)
    for event in found:
        first, ready, expected = event.rounds[0].number - 1, 0, 0
        held = plan.rounds[first - 1].assigned if first else plan.initial
        for consumer, task in ((consumer, task) for consumer, item in enumerate(held) for task in item.warmup):
            on_instance = plan.group.consumers_of[plan.group.instance_of[consumer]]
            decided = [event.rounds[0].decided[other] for other in on_instance]
            is_ready = any(task in item.active + item.standby for item in decided)
            ready += is_ready
            expected += is_ready or any(task in item.warmup for item in decided)
        assert (event.ready_warmups, event.probed_warmups) == ((0, 0) if event.probe is None else (ready, expected))
    return sum(event.ready_warmups for event in found)


def test_what_is_back_on_its_instance_has_not_changed_its_thread() -> None:
    """Within the session time-out a restart changes nothing, but every task of the instance starts again."""
    before = captured_scenarios.before("scale-out")
    result = simulate(before, read_scenario("events: [{at: 0s, bounce: {instances: i2, restart: 5s}}]", "s.yaml")).plan
    [event] = events(result)
    assert event.left_ids == event.joined_ids
    assert {(move.source, move.destination) for move in event.moves} == {(None, event.left_ids[0])}
    assert event.threads == 0


def test_who_returns_does_not_join_and_threads_are_no_members() -> None:
    said = (
        "{at: 0s, leave: i1}, {at: 10m, return: i1}, {at: 30m, threads: {instance: i2, count: 3}}, "
        "{at: 1h, threads: {instance: i2, count: 1}}, {at: 2h, join: {hosts: [i4]}}"
    )
    before = captured_scenarios.before("scale-out")
    result = simulate(before, read_scenario(f"events: [{said}]", "s.yaml"), number_of_draws=1, what_ifs=False).plan
    heads = [head_of(event, result) for event in events(result) if event.probe is None]
    assert heads == ["leave", "return", "thread change", "thread change", "join"]


def test_most_at_once_counts_overlaps_only() -> None:
    plan = plan_cases.case("scale-out")
    assert plan.pauses.most_at_once == 9


def test_every_reason_has_words() -> None:
    for code in ReasonCode:
        for lag in (None, -2, -3, 0, 500):
            text = because(Reason(code, lag, 100, 7))
            assert text
            assert "{" not in text


def test_every_kind_of_step_tells_who_runs_what_or_how() -> None:
    how = {Withhold, Revoke, InstanceLeaving, InstanceStays, StopLearned, NobodyRuns}
    assert {*get_args(Step)} == {*STEP_KINDS, MemberJoined, MemberLeft} | how
    assert how.isdisjoint(STEP_KINDS)
