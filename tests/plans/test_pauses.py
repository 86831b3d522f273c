"""Pauses of written-down rounds, held against a literal account of what runs when."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import PlanFileError
from kstream_plan.model import Holding, Snapshot, WorkId
from kstream_plan.model.scenario import Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import HandOver, Promote, Revoke, Role, Round, Step
from kstream_plan.plans.pauses import Pauses, pauses_of
from kstream_plan.plans.steps import Reason, ReasonCode, Seat
from kstream_plan.plans.task_pauses import Outage
from kstream_plan.simulation.one_plan import plan
from tests.helpers.safe_groups import safe_group
from tests.helpers.small_groups import group
from tests.helpers.small_plans import round_of
from tests.helpers.stateless_groups import joined
from tests.helpers.strategies import snapshots

GROUP = group(stateful=4, stateless=0)
_REASON = Reason(ReasonCode.MEMBERSHIP)


def _seat(consumer: int) -> Seat:
    instance = GROUP.instances[GROUP.instance_of[consumer]]
    return Seat(instance.process_id, GROUP.consumer_ids[consumer], Role.ACTIVE)


def _held(owners: list[int | None]) -> tuple[Holding, ...]:
    return tuple(
        Holding(tuple(task for task, owner in enumerate(owners) if owner == consumer))
        for consumer in range(len(GROUP.consumer_ids))
    )


@st.composite
def _courses(draw: st.DrawFn) -> tuple[list[int | None], list[tuple[int, list[int | None]]]]:
    """Who runs each task at first, and after each of some rebalances in time: nobody, or one of six consumers."""
    owners = st.lists(st.none() | st.integers(0, 5), min_size=4, max_size=4)
    times_ms = draw(st.lists(st.integers(0, 90), unique=True, min_size=1, max_size=6).map(sorted))
    return draw(owners), [(1_000 * at, draw(owners)) for at in times_ms]


def _rounds(initial: list[int | None], course: list[tuple[int, list[int | None]]]) -> list[Round]:
    rounds, before = list[Round](), initial
    for number, (at_ms, after) in enumerate(course, 1):
        steps = list[Step]()
        for task, (old, new) in enumerate(zip(before, after, strict=True)):
            task_id = GROUP.tasks[task].task_id
            if old == new:
                continue
            if old is not None:
                steps.append(Revoke(task_id, _seat(old), _REASON))
            if new is not None:
                steps.append(HandOver(task_id, None, _seat(new), True, 0, _REASON))
        rounds.append(replace(round_of(GROUP, number, steps, _held(after), _held(after)), at_ms=at_ms))
        before = after
    return rounds


def _paused(
    initial: list[int | None], course: list[tuple[int, list[int | None]]], *, from_start: bool
) -> list[tuple[WorkId, int, int]]:
    """Return the pauses, told task by task."""
    spans = []
    for task, item in enumerate(GROUP.tasks):
        since_ms: int | None = 0 if from_start and initial[task] is None else None
        owner = initial[task]
        for at_ms, after in course:
            if owner is not None and after[task] != owner:
                since_ms = at_ms
            if after[task] is not None and after[task] != owner and since_ms is not None:
                idle_at_once = owner is None and since_ms == at_ms == 0
                spans += [] if idle_at_once else [(item.task_id, since_ms, at_ms)]
                since_ms = None
            owner = after[task]
    return spans


def _pauses(initial: list[int | None], course: list[tuple[int, list[int | None]]], *, from_start: bool) -> Pauses:
    held, rounds = _held(initial), _rounds(initial, course)
    return pauses_of(GROUP, held, rounds, (), AssignmentConfig(), from_start=from_start)


@given(_courses(), st.booleans())
def test_pauses_are_what_a_literal_account_of_each_task_gives(
    course: tuple[list[int | None], list[tuple[int, list[int | None]]]], from_start: bool
) -> None:
    pauses = _pauses(*course, from_start=from_start)
    expected = _paused(*course, from_start=from_start)
    lengths_ms = [to_ms - from_ms for _, from_ms, to_ms in expected]
    assert sorted(map(tuple, pauses), key=str) == sorted(expected, key=str)
    assert len(pauses) == len(expected)
    assert pauses.shortest_ms == min(lengths_ms, default=0)
    assert pauses.longest_ms == max(lengths_ms, default=0)
    moments = [from_ms for _, from_ms, _ in expected]
    at_once = [sum(from_ms <= at_ms < to_ms for _, from_ms, to_ms in expected) for at_ms in moments]
    idle_at_first = course[0].count(None) if from_start else 0
    assert pauses.most_at_once == len(pauses.most_together()) == max([idle_at_first, *at_once])
    assert sum(pauses.ms.values()) == sum(lengths_ms)
    for task in GROUP.tasks:
        own_ms = [to_ms - from_ms for task_id, from_ms, to_ms in expected if task_id == task.task_id]
        assert (pauses.ms.get(task.task_id, 0), pauses.times.get(task.task_id, 0)) == (sum(own_ms), len(own_ms))


@given(_courses(), st.lists(st.integers(0, 95), unique=True, min_size=1, max_size=5).map(sorted))
def test_tasks_that_go_on_count_to_the_time_that_they_go_on_after(
    course: tuple[list[int | None], list[tuple[int, list[int | None]]]], starts_s: list[int]
) -> None:
    starts_ms = [1_000 * start for start in starts_s]
    pauses, expected = _pauses(*course, from_start=True), _paused(*course, from_start=True)
    edges_ms = [-(10**9), *starts_ms[1:], 10**9]
    within = [
        {(task_id, to_ms) for task_id, _, to_ms in expected if low <= to_ms < high} for low, high in pairwise(edges_ms)
    ]
    assert pauses.tasks_between(starts_ms) == [_each_rebalance_apart(item) for item in within]


def _each_rebalance_apart(ends: set[tuple[WorkId, int]]) -> int:
    """Return how many tasks these are: one that goes on twice between two times is one."""
    return len({task_id for task_id, _ in ends})


@pytest.mark.parametrize("protocol", ["cooperative", "eager"])
def test_stateless_tasks_that_go_on_are_counted_beside_the_others(protocol: str) -> None:
    """They are numbers unless all tasks stop at every rebalance; each counts once, whatever it is."""
    result = plan(joined(0), protocol=protocol, floor=False, ranges=False)
    assert any(True for _ in result.pauses.rounds.stateless()) is (protocol == "cooperative")
    pauses = list(result.pauses)
    assert (len(result.pauses), sum(result.pauses.times.values())) == (len(pauses), len(pauses))
    assert sum(result.pauses.ms.values()) == sum(pause.length_ms for pause in pauses)
    assert result.pauses.longest_ms == max(pause.length_ms for pause in pauses)
    for starts_ms in ([0], [0, *(rnd.at_ms for rnd in result.rounds)]):
        spans = pairwise([-(10**9), *starts_ms[1:], 10**9])
        tasks = [{pause.task_id for pause in result.pauses if low <= pause.to_ms < high} for low, high in spans]
        assert result.pauses.tasks_between(starts_ms) == [len(task) for task in tasks]


def test_what_an_instance_runs_stands_still_while_it_is_away_unnoticed() -> None:
    """Tasks 0 and 1 are i1's; task 2 goes from i2 to i3 at 12s."""
    initial, course = [0, 1, 2, 4], [(12_000, [0, 1, 4, 4])]
    held, rounds = _held(initial), _rounds(initial, course)
    away = Outage("i1", 5_000, 9_000)
    pauses = pauses_of(GROUP, held, rounds, (), AssignmentConfig(), (away,))
    expected = [(GROUP.tasks[task].task_id, 5_000, 9_000) for task in (0, 1)]
    assert sorted(map(tuple, pauses), key=str) == sorted([*expected, (GROUP.tasks[2].task_id, 12_000, 12_000)], key=str)
    assert (pauses.most_at_once, pauses.longest_ms, pauses.shortest_ms) == (2, 4_000, 0)
    assert pauses.tasks_between([0, 9_000, 12_000]) == [0, 2, 1]


def test_pauses_are_equal_to_others_with_the_same_ones_and_to_nothing_else() -> None:
    pauses, same = (_pauses(*_withheld(), from_start=True) for _ in range(2))
    assert (pauses, hash(pauses), repr(pauses)) == (same, hash(same), f"Pauses({list(same)})")
    assert pauses != _pauses(*_withheld(), from_start=False)
    assert pauses != list(pauses)


@given(_courses(), st.lists(st.integers(0, 95), unique=True, min_size=1, max_size=5).map(sorted))
def test_what_is_unassigned_counts_to_every_time_that_it_lasts_into(
    course: tuple[list[int | None], list[tuple[int, list[int | None]]]], starts_s: list[int]
) -> None:
    starts_ms = [1_000 * start for start in starts_s]
    pauses, heard_ms = _pauses(*course, from_start=True), AssignmentConfig().heartbeat_interval_ms
    edges_ms = [*starts_ms, 10**9]
    spans = [(-(10**9) if not place else low, high) for place, (low, high) in enumerate(pairwise(edges_ms))]
    expected = []
    for low, high in spans:
        unrun = set()
        for task_id, from_ms, to_ms in pauses:
            began_ms = min(from_ms + heard_ms, to_ms)
            ends_in_it = began_ms >= low and to_ms < high
            if began_ms < high and (to_ms > low or ends_in_it):
                unrun.add(task_id)
        expected.append(frozenset(unrun))
    assert pauses.unrun_from(starts_ms) == expected


def _withheld() -> tuple[list[int | None], list[tuple[int, list[int | None]]]]:
    """Nobody runs two of four tasks at first; one starts at once, the other one with the second rebalance."""
    return [0, 2, None, None], [(0, [0, 2, 4, None]), (3_000, [0, 2, 4, 1])]


def test_a_task_that_nobody_runs_when_the_plan_begins_is_paused_from_then_on() -> None:
    pauses = _pauses(*_withheld(), from_start=True)
    assert list(pauses) == [(GROUP.tasks[3].task_id, 0, 3_000)]
    assert (pauses.most_at_once, pauses.longest_ms) == (2, 3_000)
    assert pauses.most_together() == (GROUP.tasks[2].task_id, GROUP.tasks[3].task_id)


@settings(max_examples=60)
@given(snapshots())
def test_so_is_every_one_of_a_plan(snapshot: Snapshot) -> None:
    result = plan(snapshot, floor=False, ranges=False)
    pauses = {(pause.task_id, pause.from_ms, pause.to_ms) for pause in result.pauses}
    for task in result.group.tasks:
        index = result.group.task_index[task.task_id]
        if any(index in held.active for held in result.initial):
            continue
        starts_ms = [
            rnd.at_ms
            for rnd in result.rounds
            for step in rnd.single_steps
            if isinstance(step, HandOver | Promote) and step.task_id == task.task_id
        ]
        assert not starts_ms or starts_ms[0] == 0 or (task.task_id, 0, starts_ms[0]) in pauses


def test_a_plan_that_an_earlier_version_saved_counts_none_of_that() -> None:
    snapshot = safe_group("10-nobody-runs/nobody.json")
    away = Stop(at_ms=0, process_ids=(snapshot.state.group.instances[0].process_id,))
    result = plan(snapshot, scenario=Scenario(events=(away,)), floor=False, ranges=False)
    assert result.pauses_between(0, 1).times
    saved = json.loads(plan_json(result))
    (new,) = read_plans(json.dumps(saved).encode(), "new.json")
    assert (new.pauses, new.summary) == (result.pauses, result.summary)
    del saved["pauses_from_start"], saved["seal"]
    saved["tool"]["version"] = "0.1.0"
    with pytest.raises(PlanFileError, match="paused_task_ms"):
        read_plans(json.dumps(saved).encode(), "edited.json")
    without = pauses_of(result.group, result.initial, result.rounds, result.stopping, result.config)
    saved["summary"]["paused_task_ms"] = sum(without.ms.values())
    if not without.ms:
        saved["summary"]["max_paused_task"] = None
    (old,) = read_plans(json.dumps(saved).encode(), "old.json")
    assert old.pauses == without
    assert len(old.pauses) < len(new.pauses)
