"""Differences between rounds and plans of Connect groups: what nobody runs in between is told."""

from __future__ import annotations

import json
import re

import pytest

from kstream_plan.comparison.changes import Side
from kstream_plan.comparison.diff import compare
from kstream_plan.comparison.sides import plan_course, plan_side, snapshot_side
from kstream_plan.model.scenario import Event, Join, Leave, Scenario
from kstream_plan.plans import Plan
from kstream_plan.render.answers import to_json, to_markdown, to_table
from kstream_plan.render.pages.diff import diff_page
from kstream_plan.simulation.one_plan import plan_checked
from tests.helpers.connect_rows import even, row, snapshot, worker
from tests.helpers.schemas import validator


def _plan(*events: Event) -> Plan:
    return plan_checked(snapshot(even(3)), scenario=Scenario(events=events))


LEFT = _plan(Leave(at_ms=60_000, process_ids=("w1",)))


@pytest.mark.parametrize(
    ("old", "new", "answer"),
    [
        (0, 1, ["5 connectors and tasks that ran before are unassigned", "about 15s summed over all of them"]),
        (
            1,
            2,
            [
                "5 connectors and tasks that were unassigned started",
                "c1 (connector): about 5m; about 25m summed over all of them",
            ],
        ),
        (
            0,
            2,
            ["5 of 15 connectors and tasks run on another worker", "about 5m03s; about 25m15s summed over all of them"],
        ),
    ],
)
def test_what_nobody_runs_between_two_rounds_is_told(old: int, new: int, answer: list[str]) -> None:
    found = compare(plan_side(LEFT, old), plan_side(LEFT, new), plan_course(LEFT, old, new))
    page = diff_page(found)
    text = " ".join([*page.sentences, *(fact.value for fact in page.facts)])
    assert all(one in text for one in answer), text
    validator("diff").validate(json.loads(to_json(found)))


def test_what_moves_when_a_worker_joins_is_down_between_the_rounds() -> None:
    joined = _plan(Join(at_ms=0, instances=(worker("w9"),)))
    assert joined.paused_ms_between(0, 2) == joined.pauses.ms
    assert sorted(joined.paused_ms_between(1, 2).values()) == [3_000] * 3
    assert joined.paused_ms_between(2, 2) == {}


def test_the_time_between_all_rounds_adds_up() -> None:
    events = [Leave(at_ms=0, process_ids=("w1",)), Join(at_ms=90_000, instances=(worker("w9"),))]
    plan = _plan(*events)
    parts = [plan.paused_ms_between(place, place + 1) for place in range(len(plan.rounds))]
    assert sum(sum(part.values()) for part in parts) == plan.summary.paused_task_ms


def _side(generation: int, held: dict[str, dict[str, tuple[int, ...]]]) -> Side:
    item = row({"c0": 2}, held, generation=generation)
    return snapshot_side(snapshot(item))


BOTH = {"w0": {"c0": (-1,)}, "w1": {"c0": (0, 1)}}


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        (
            BOTH,
            {"w0": {"c0": (-1,)}},
            [
                "2 connectors and tasks that ran before are unassigned. "
                "No other connector or task runs on another worker."
            ],
        ),
        (BOTH, {"w0": {"c0": (-1, 0, 1)}}, ["2 of 3 connectors and tasks run on another worker."]),
        ({"w0": {"c0": (-1,)}}, {"w0": {"c0": (-1, 0, 1)}}, ["2 connectors and tasks that were unassigned started."]),
    ],
)
def test_snapshots_of_workers_tell_no_state_and_not_how_long_work_stood_still(
    before: dict[str, dict[str, tuple[int, ...]]], after: dict[str, dict[str, tuple[int, ...]]], answer: list[str]
) -> None:
    for generation in (13, 15):
        found = compare(_side(12, before), _side(generation, after))
        document = json.loads(to_json(found))
        validator("diff").validate(document)
        assert (document["totals"]["pause_is"], document["totals"]["cold_starts"]) == ("floor", [0, 0])
        for text in (
            to_table(found, width=120),
            to_table(found, width=120, verbose=True),
            to_markdown(found),
        ):
            assert all(one in text for one in answer), text
            assert "unknown: snapshots do not say when work stopped and started" in text
            assert not re.search(r"warm|cold|stateful|restore|instance|subtopology|orphan|lag", text, re.I), text
