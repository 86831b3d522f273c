"""Connectors that are created, rescaled and deleted while a Connect group runs."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import pytest
from hypothesis import given

from kstream_plan.designs import OF_GROUP_PROTOCOL
from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import ScenarioError
from kstream_plan.model.connect_group import all_items
from kstream_plan.model.scenario import (
    CreateConnectors,
    DeleteConnectors,
    Event,
    Leave,
    RescaleConnectors,
    Scenario,
    TaskCount,
)
from kstream_plan.plans import HandOver, Plan, ReasonCode, Revoke
from kstream_plan.plans.loads import without_owner
from kstream_plan.policy.rules import RULES, MeasuredPlan
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.simulate import simulate
from tests.helpers import captured_scenarios
from tests.helpers.connect_rows import even, snapshot
from tests.helpers.connect_scenarios import with_connector_changes
from tests.helpers.schemas import validator


def play(item: dict[str, Any], *events: Event, design: str | None = None) -> Plan:
    result = plan_checked(snapshot(item), scenario=Scenario(events=events), design=design)
    document = plan_json(result)
    validator("plan").validate(json.loads(document))
    assert read_plans(document.encode(), "saved") == [result]
    return result


def create(at_ms: int, **counts: int) -> CreateConnectors:
    return CreateConnectors(at_ms=at_ms, task_counts=tuple(TaskCount(*count) for count in counts.items()))


def rescale(at_ms: int, **counts: int) -> RescaleConnectors:
    return RescaleConnectors(at_ms=at_ms, task_counts=tuple(TaskCount(*count) for count in counts.items()))


def delete(at_ms: int, *names: str) -> DeleteConnectors:
    return DeleteConnectors(at_ms=at_ms, connectors=names)


def moved(plan: Plan) -> list[tuple[int, list[str], list[str]]]:
    """Of every round when it comes, what stops and what starts."""
    return [
        (
            rnd.at_ms,
            [str(step.task_id) for step in rnd.steps if isinstance(step, Revoke)],
            [str(step.task_id) for step in rnd.steps if isinstance(step, HandOver)],
        )
        for rnd in plan.rounds
    ]


def test_a_round_places_a_new_connector_and_a_second_one_its_tasks() -> None:
    result = play(even(), create(60_000, audit=3))
    assert moved(result) == [
        (60_000, [], ["audit (connector)"]),
        (63_000, [], ["audit-0", "audit-2", "audit-1"]),
    ]
    assert (result.summary.moves, result.summary.paused_task_ms, without_owner(result)) == (0, 0, 0)


def test_what_is_deleted_stops_and_an_empty_round_follows_and_nothing_of_it_stands_still_or_has_moved() -> None:
    result = play(even(), delete(0, "c0"), delete(10_000, "c1"))
    assert moved(result)[0][1] == ["c0 (connector)", "c0-0", "c0-1", "c0-2", "c0-3", "c1-0", "c1-1"]
    reasons = {step.reason.code for step in result.rounds[2].steps if isinstance(step, Revoke)}
    assert reasons == {ReasonCode.NOT_CONFIGURED}
    assert (result.verdict.kind, result.summary.moves, without_owner(result)) == ("settled", 0, 0)
    assert set(map(str, result.pauses.ms)) == {"c1-0", "c1-1"}  # they moved before they were deleted
    assert RULES["max_moves"].measure(MeasuredPlan(result), 0).value == 0
    assert not any(result.final[consumer].active for consumer in range(2))


def test_tasks_come_in_one_round_and_go_in_one_with_an_empty_one_after_it() -> None:
    assert moved(play(even(), rescale(0, c1=6))) == [(0, [], ["c1-4", "c1-5"])]
    assert moved(play(even(), rescale(0, c1=3))) == [(0, ["c1-3"], []), (3_000, [], [])]
    assert moved(play(even(), rescale(0, c1=4))) == [(0, [], [])]


def test_a_new_connector_is_placed_while_a_delay_runs() -> None:
    result = play(even(3), Leave(at_ms=0, process_ids=("w1",)), create(60_000, audit=1))
    assert [at_ms for at_ms, _, starts in moved(result) if starts] == [60_000, 63_000, 300_000]
    assert (result.pauses.most_at_once, result.pauses.longest_ms) == (5, 303_000)


def test_what_is_deleted_while_it_waits_is_not_dealt_out() -> None:
    result = play(even(3), Leave(at_ms=0, process_ids=("w1",)), delete(60_000, "c1"))
    assert not {"c1-0", "c1 (connector)"} & set(chain.from_iterable(starts for _, _, starts in moved(result)))
    assert result.verdict.kind == "settled"


def test_a_saved_simulation_tells_what_happened_to_connectors() -> None:
    scenario = Scenario(events=(create(0, audit=3), rescale(60_000, c0=2), delete(120_000, "c1", "audit")))
    simulation = simulate(snapshot(even()), scenario, number_of_draws=1)
    document = simulation_json(simulation)
    validator("plan").validate(json.loads(document))
    assert [event["kind"] for event in json.loads(document)["simulation"]["events"]] == ["create", "rescale", "delete"]
    assert read_plans(document.encode(), "saved") == [simulation.plan]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([create(0, c0=1)], "the connector 'c0' exists already"),
        ([create(0, x=1), create(1, x=1)], "the connector 'x' exists already"),
        ([rescale(0, c7=1)], "there is no connector 'c7'"),
        ([delete(0, "c0"), rescale(1, c0=1)], "there is no connector 'c0'"),
        ([delete(0, "c0", "x")], "there is no connector 'x'"),
    ],
)
def test_what_is_there_cannot_be_created_and_what_is_not_cannot_change(events: list[Event], message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as error:
        play(even(), *events)
    assert error.value.fix


def test_groups_of_other_kinds_have_no_connectors() -> None:
    for design in ("classic", "learner"):
        with pytest.raises(ScenarioError, match="in Connect groups, and this is not one"):
            plan_checked(
                captured_scenarios.before("scale-out"), scenario=Scenario(events=(create(0, x=1),)), design=design
            )


@pytest.mark.parametrize("design", OF_GROUP_PROTOCOL["connect"])
@given(scenario=with_connector_changes())
def test_everything_that_is_configured_runs_in_the_end_and_nothing_else(
    design: str, scenario: tuple[dict[str, Any], list[Event]]
) -> None:
    item, events = scenario
    configured = item.pop("configured")
    result = play(item, *events, design=design)
    assert result.verdict.kind == "settled"
    run = sorted(str(result.group.tasks[task].task_id) for held in result.final for task in held.active)
    wanted = sorted(all_items(configured.items()).names())
    if design == "connect" and any(isinstance(event, Leave) for event in events):
        # a leader that remembers nothing, or not who was away, learns of what was deleted only in a round after that
        run = sorted({*run} & {*wanted})
    assert run == wanted
    assert without_owner(result) == 0
