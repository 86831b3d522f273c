"""What ``why`` says is what then happened, and what other plans say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.model import Holding, KnownDecision, Rates, Snapshot, TaskId
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import HandOver, Promote, Trigger, Withhold
from kstream_plan.plans.why_answers import Why, WhyBalance, WhyInstance, WhyTask
from kstream_plan.protocols import PROTOCOLS
from kstream_plan.render.answers import to_json, to_markdown, to_table
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.why import why
from kstream_plan.snapshots.leader_log.history import Entry, checked_rows
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import small_groups
from tests.helpers.recorded_events import generations
from tests.helpers.schemas import validator
from tests.helpers.strategies import snapshots

#: Moments of captured groups just before a probe: (group, place of the generation in its log).
MOMENTS = (
    ("big", 2),
    ("big", 10),
    ("big", 15),
    ("big", 17),
    ("big", 24),
    ("big", 30),
    ("big", 41),
    ("bounce", 5),
    ("fresh", 2),
    ("two", 14),
    ("two", 20),
)
#: Moments that the others follow from: members come or go, or hand-overs follow.
DECISIONS = (("big", 13), ("big", 17), ("big", 27), ("big", 28), ("bounce", 3), ("duo3", 2), ("two", 12), ("two", 15))
SCHEMA = validator("why")


@cache
def taken(group: str, place: int) -> Snapshot:
    """A captured group just after a decision."""
    return snapshot_from_row(checked_rows(generations(group)[place : place + 1])[0], group)


def runs(entry: Entry, snapshot: Snapshot) -> set[tuple[str, str]]:
    """Which stateful task was decided to run where."""
    stateful = {str(task.task_id) for task in snapshot.state.group.tasks if task.stateful}
    decided = entry.decision["decided"].items()
    return {(task, process_id) for process_id, item in decided for task in item["active"] if task in stateful}


def started(group: str, place: int) -> set[tuple[str, str]]:
    """What the decision after that one started elsewhere."""
    before, after = generations(group)[place : place + 2]
    return runs(after, taken(group, place)) - runs(before, taken(group, place))


@pytest.mark.parametrize(("group", "place"), MOMENTS)
def test_the_next_probe_moved_what_was_said_to_be_ready_and_nothing_else(group: str, place: int) -> None:
    before, after = generations(group)[place : place + 2]
    assert after.decision["trigger"] == "probing"
    found = why(taken(group, place), other_settings=False)
    ready = {
        (str(item.task_id), item.destination)
        for item in found.probing.waiting
        if item.decided_ms == found.probing.next_ms
    }
    assert ready == started(group, place)
    assert abs((after.at_ms or 0) - (before.at_ms or 0) - (found.probing.next_ms or 0)) <= 3_000


@pytest.mark.parametrize(("group", "place"), MOMENTS)
def test_an_instance_that_gets_nothing_at_the_next_probe_got_nothing(group: str, place: int) -> None:
    snapshot, got = taken(group, place), {process_id for _, process_id in started(group, place)}
    for instance in snapshot.state.group.instances:
        found = why(snapshot, process_id=instance.process_id, other_settings=False)
        assert found.instance is not None
        stateful = [item.decided_ms for item in found.instance.waiting]
        assert (found.probing.next_ms in stateful) == (instance.process_id in got)
        if instance.process_id in got:
            assert found.instance.why is WhyInstance.WAITS_FOR_COPIES


@pytest.mark.parametrize(("group", "place"), MOMENTS)
def test_a_copy_that_is_waited_for_is_where_it_was_put_since_it_was_put_there(group: str, place: int) -> None:
    entries, snapshot = generations(group), taken(group, place)
    decided = entries[place].decision["decided"]
    for item in why(snapshot, other_settings=False).probing.waiting:
        task_id = str(item.task_id)
        assert task_id in decided[item.owner]["active"]
        first = place
        while first and _has_copy(entries[first - 1], item.destination, task_id):
            first -= 1
        assert _has_copy(entries[place], item.destination, task_id)
        assert item.since_ms == (entries[first].at_ms or 0) - (entries[place].at_ms or 0)
        # nothing was reported of it yet
        if item.lag_is == "whole":
            task = snapshot.state.group.tasks[snapshot.state.group.task_index[item.task_id]]
            assert item.lag == task.end_offset_sum


def _has_copy(entry: Entry, process_id: str, task_id: str) -> bool:
    return task_id in entry.decision["decided"].get(process_id, {"standby": ()})["standby"]


@pytest.mark.parametrize(("group", "place"), MOMENTS)
def test_tasks_and_instances_ended_where_they_were_said_to_while_nobody_came_or_went(group: str, place: int) -> None:
    entries, snapshot = generations(group), taken(group, place)
    last = place
    while last + 1 < len(entries) and entries[last + 1].decision["trigger"] in ("probing", "follow-up"):
        last += 1
    ended, now = runs(entries[last], snapshot), runs(entries[place], snapshot)
    over = not entries[last].decision["probing_rebalance"]
    for task in snapshot.state.group.tasks[place % 3 :: 3]:  # of every moment other ones: each takes a plan
        said = why(snapshot, task_id=task.task_id, other_settings=False).task
        assert said is not None
        if not task.stateful:
            assert said.why is WhyTask.STATELESS
            continue
        assert (str(task.task_id), said.owner) in now
        assert said.ends == said.target
        # somebody left before it was over: what still waited for its copy had not moved
        places = {said.ends} if over else {said.ends, said.owner}
        assert any((str(task.task_id), one) in ended for one in places)
    for instance in snapshot.state.group.instances:
        answer = why(snapshot, process_id=instance.process_id, other_settings=False).instance
        assert answer is not None
        assert answer.stateful == sum(process_id == instance.process_id for _, process_id in now)
        assert not over or answer.target == sum(process_id == instance.process_id for _, process_id in ended)
    balance = why(snapshot, other_settings=False).balance
    assert not over or balance.to_move == len(ended - now)


@pytest.mark.parametrize(("group", "place"), DECISIONS)
def test_why_it_moved_then_is_what_was_decided_from_what_was_reported(group: str, place: int) -> None:
    snapshot, entry = taken(group, place), generations(group)[place]
    found = why(snapshot, replay=True, other_settings=False)
    assert found.as_decided is True
    held = {
        (str(snapshot.state.group.tasks[task].task_id), snapshot.state.group.instances[instance].process_id)
        for task, instance in _owners(snapshot)
    }
    moved = {
        (str(step.task_id), step.to.process_id)
        for step in found.plan.rounds[0].single_steps
        if isinstance(step, Withhold | HandOver | Promote)
    }
    stateful = {str(task.task_id) for task in snapshot.state.group.tasks if task.stateful}
    assert {item for item in moved if item[0] in stateful} == runs(entry, snapshot) - held


def _owners(snapshot: Snapshot) -> Iterator[tuple[int, int]]:
    group = snapshot.state.group
    for consumer, held in enumerate(snapshot.state.holdings):
        yield from ((task, group.instance_of[consumer]) for task in held.active)


@pytest.mark.parametrize(("group", "place"), [("big", 3), ("big", 19), ("big", 40), ("two", 14), ("fresh", 2)])
def test_the_rate_that_would_do_does_and_one_less_does_not(group: str, place: int) -> None:
    snapshot = replace(taken(group, place), rates=Rates())
    found = why(snapshot, other_settings=False)
    assert found.probing.next_ms is not None
    for item in found.probing.waiting[:2]:
        instance = snapshot.state.group.instance_index[item.destination]
        assert item.restore_rate is None
        assert item.needed_rate is not None
        for rate, in_time in ((item.needed_rate, True), (item.needed_rate - 1, False)):
            again = why(replace(snapshot, rates=Rates(restore_of={instance: rate})), other_settings=False)
            copy = next(one for one in again.probing.waiting if one.task_id == item.task_id)
            assert copy.ready_ms is not None
            assert (copy.ready_ms <= found.probing.next_ms) == in_time
            assert copy.decided_ms is not None
            assert copy.decided_ms >= copy.ready_ms - 2_000  # an instance reads a poll ahead of its rate


@pytest.mark.parametrize(("restored", "written"), [(400, 0), (400, 30), (300, 20)])
def test_a_copy_is_ready_when_the_plan_finds_it_so_beside_copies_that_had_caught_up(
    restored: int, written: int
) -> None:
    """What is written of those takes its share of the rate."""
    rates = Rates(restore_per_instance=float(restored), produce_per_task=float(written))
    found = why(replace(taken("two", 20), rates=rates), other_settings=False)
    probes_ms = [rnd.at_ms for rnd in found.plan.rounds if rnd.trigger is Trigger.PROBING]
    decided = [copy for copy in found.probing.waiting if copy.decided_ms is not None]
    assert decided
    for copy in decided:
        assert copy.ready_ms is not None
        assert copy.decided_ms == next(at_ms for at_ms in probes_ms if at_ms >= copy.ready_ms)


def test_a_setting_is_told_with_what_its_own_plan_says() -> None:
    snapshot = taken("big", 15)
    found = why(snapshot)
    assert [entry.value for entry in found.probing.sooner] == [4, 8]
    for item in found.probing.sooner:
        other = why(replace(snapshot, config=replace(snapshot.config, max_warmup_replicas=item.value))).plan.summary
        assert (item.duration_ms, item.rebalances) == (other.duration_ms, other.rebalances)
        assert item.duration_ms < found.plan.summary.duration_ms
    assert f"about {duration(found.probing.sooner[0].duration_ms)}" in to_table(found)


def test_a_task_that_moves_is_told_where_it_stands() -> None:
    moves = why(taken("big", 15), task_id=TaskId(0, 2), other_settings=False).task
    assert moves is not None
    assert moves.why is WhyTask.WAITS_FOR_COPY
    assert moves.waiting is not None
    assert moves.waiting.lag == 20_425
    assert [type(item.step).__name__ for item in moves.steps][-1] == "HandOver"
    stays = why(taken("big", 50), task_id=TaskId(0, 2), other_settings=False).task
    assert stays is not None
    assert (stays.why, stays.steps) == (WhyTask.STAYS, ())


def test_over_all_captured_moments_as_many_come_as_said() -> None:
    """Those that do not come after a crash, and where the log has told a rate of one interval only."""
    alike = []
    for group in ("big", "bounce", "duo3", "fresh", "two"):
        entries = generations(group)
        for place, entry in enumerate(entries):
            found = why(taken(group, place), other_settings=False).probing
            assert bool(found.waiting or found.queued) == entry.decision["probing_rebalance"]
            if [item.decision["trigger"] for item in entries[place + 1 : place + 2]] == ["probing"]:
                ready = {
                    (str(item.task_id), item.destination) for item in found.waiting if item.decided_ms == found.next_ms
                }
                alike.append(ready == started(group, place))
    assert (sum(alike), len(alike)) == (29, 33)


@settings(max_examples=25)
@given(snapshots(), st.data())
def test_every_figure_is_that_of_the_plan(snapshot: Snapshot, data: st.DataObject) -> None:
    group = snapshot.state.group
    task_id = data.draw(st.sampled_from([task.task_id for task in group.tasks]) if group.tasks else st.none())
    process_id = data.draw(st.sampled_from([instance.process_id for instance in group.instances]))
    how = PlanOptions(
        assignor=data.draw(st.sampled_from(sorted(ASSIGNORS))),
        protocol=data.draw(st.sampled_from(sorted(PROTOCOLS))),
        max_rounds=40,
    )
    decision = KnownDecision(
        generation=snapshot.state.generation + 1,
        at_ms=data.draw(st.sampled_from([None, -5_000, 0])),
        probing_rebalance=data.draw(st.sampled_from([None, True, False])),
        next_ms=data.draw(st.sampled_from([None, 30_000])),
    )
    snapshot = replace(snapshot, decision=data.draw(st.sampled_from([None, decision])))
    found = why(snapshot, how, task_id=task_id, process_id=process_id, other_settings=False)
    plan, summary = found.plan, found.plan.summary
    by_trigger = found.rebalances.by_trigger
    assert sum(by_trigger.values()) == len(plan.rounds) == summary.rebalances
    assert by_trigger.get("probing", 0) == summary.probing_rebalances  # type: ignore[call-overload]
    rounds = {rnd.number: rnd.at_ms for rnd in plan.rounds}
    for item in found.probing.waiting:
        assert item.decided_round is None or rounds[item.decided_round] == item.decided_ms
        assert item.takes_over_ms is None or item.takes_over_ms in rounds.values()
    if plan.verdict.kind == "settled":
        assert found.task is None or found.task.why is not WhyTask.NEVER_ARRIVES
    assert found.balance.warming <= found.balance.to_move
    assert (found.balance.why in (WhyBalance.WAITS_FOR_COPIES, WhyBalance.MOVES)) == (found.balance.to_move > 0)
    SCHEMA.validate(json.loads(to_json(found)))
    _check_figures(found)
    assert to_markdown(found).endswith("\n")


def _check_figures(found: Why) -> None:
    """Every number of more than two digits that people read is one of the answers, of the settings or of a name."""
    document = json.loads(to_json(found))
    known = {f"{number:,}" for number in _numbers(document)} | {f"{found.plan.config.acceptable_recovery_lag:,}"}
    notes = [note for kind in ("warnings", "notes", "assumptions") for note in document[kind]]
    known.update(number for note in notes for number in re.findall(r"\d[\d,]*", note["message"]))
    names = Names(found.plan.group)
    text = to_table(found, width=10_000)
    for name in {names.instance(item.process_id) for item in found.plan.group.instances} | {
        str(task.task_id) for task in found.plan.group.tasks
    }:
        text = text.replace(name, "")
    assert [
        number for number in re.findall(r"(?<![\w.-])\d[\d,]{2,}(?![\w.:-])", text) if number.rstrip(",") not in known
    ] == []


def _numbers(item: Any) -> Iterator[float]:
    if isinstance(item, dict):
        yield from (number for one in item.values() for number in _numbers(one))
    elif isinstance(item, list):
        yield from (number for one in item for number in _numbers(one))
    elif isinstance(item, int | float):
        yield from (item, round(item))


def test_a_decision_is_made_again_from_what_it_was_made_from_however_late_one_asks() -> None:
    snapshot = taken("big", 15)
    later_ms = (snapshot.captured_at_ms or 0) + 50_000
    assert plan(snapshot, replay=True, now_ms=later_ms) == plan(snapshot, replay=True)
    assert why(snapshot, replay=True, now_ms=later_ms) == why(snapshot, replay=True)


def test_who_has_come_since_the_newest_decision_is_told_so() -> None:
    row = json.loads(json.dumps(checked_rows(generations("big")[12:13])[0]))
    row["instances"].append({"process_id": str(UUID(int=9)), "host": "i9", "consumers": [{"consumer_id": "nine"}]})
    found = why(snapshot_from_row(row, "big"), process_id=str(UUID(int=9)), other_settings=False).instance
    assert found is not None
    assert (found.why, found.now, found.copies) == (WhyInstance.NOT_DECIDED_FOR, 0, 0)
    assert found.target == 3
    assert found.first_ms is not None


def test_who_gets_nothing_for_want_of_tasks_is_told_so() -> None:
    group = small_groups.group(stateful=2, stateless=0)
    held = small_groups.state(group, {0: Holding((0,)), 2: Holding((1,))}, {})
    snapshot = Snapshot(state=held, config=AssignmentConfig())
    nothing = [why(snapshot, process_id=item.process_id).instance for item in group.instances]
    assert [item.why for item in nothing if item] == [
        WhyInstance.HAS_ITS_SHARE,
        WhyInstance.HAS_ITS_SHARE,
        WhyInstance.NOTHING_LEFT_FOR_IT,
    ]
    assert why(snapshot).balance.why is WhyBalance.BALANCED


def test_a_task_that_nobody_ran_is_started_by_the_rebalance_that_starts_now() -> None:
    group = small_groups.group(stateful=1, stateless=0, end_offset_sum=100_000)
    found = why(Snapshot(state=small_groups.state(group, {}, {}), config=AssignmentConfig()), task_id=TaskId(0, 0))
    assert found.task is not None
    assert (found.task.why, found.task.owner) == (WhyTask.STAYS, group.instances[0].process_id)
    assert [item.step.reason.code for item in found.task.steps] == ["no-state-anywhere"]


def test_beside_a_long_plan_only_many_more_warm_ups_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kstream_plan.simulation.why._MOST_WORK", 0)
    assert [(item.setting, item.value) for item in why(taken("big", 15)).probing.sooner] == [("max_warmup_replicas", 8)]
