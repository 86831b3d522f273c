"""The learner design under the clock: the seed's walkthrough, what was recorded, and what it promises."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.designs.learner import disks
from kstream_plan.designs.learner.design import Learner
from kstream_plan.designs.learner.round_steps import steps_of
from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import ScenarioError
from kstream_plan.model import LATEST, Copy, Group, GroupState, Holding, Holdings, Rates, Snapshot, Task, TaskId
from kstream_plan.model.scenario import Event, Join, Leave, Return, Scenario, Stop
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan import plan
from kstream_plan.plans import (
    CauseCode,
    HandOver,
    InstanceLeaving,
    InstanceStays,
    MemberLeft,
    Pause,
    Place,
    Plan,
    Promote,
    ReasonCode,
    Role,
    Round,
    StopLearned,
    Trigger,
)
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.plans.restoring import Span
from kstream_plan.render.answers import page_of, to_json
from kstream_plan.simulation.drain import drain
from tests.helpers import learner_cases
from tests.helpers.learner_cases import group, instance, played, table
from tests.helpers.schemas import validator

VECTORS = Path(__file__).parents[1] / "vectors" / "learner.jsonl.gz"


def test_the_walkthrough_of_the_draft() -> None:
    """KIP-441's draft, "learner tasks": the leader's assignment round by round."""
    result = learner_cases.walkthrough()
    assert table(result) == [
        {"S1": "T1 T2", "S2": "T3 T4", "S3": "T5", "S4": "(T1)"},
        {"S1": "T1 T2", "S2": "T3 T4", "S3": "T5", "S4": "(T1)", "S5": "(T3)"},
        {"S1": "T2", "S2": "T3 T4", "S3": "T5", "S4": "T1", "S5": "(T3)"},
        {"S1": "T2", "S2": "T4", "S3": "T5", "S4": "T1", "S5": "T3"},
    ]
    assert [(rnd.at_ms, rnd.trigger) for rnd in result.rounds] == [
        (0, Trigger.JOIN),
        (5_000, Trigger.JOIN),
        (10_000, Trigger.LEARNER_READY),
        (15_000, Trigger.LEARNER_READY),
    ]
    assert result.verdict.kind == "settled"


def test_every_rebalance_pauses_what_is_learned_then() -> None:
    result = learner_cases.walkthrough()
    first, third = (result.group.tasks[task].task_id for task in (0, 2))
    assert list(result.pauses) == [
        Pause(first, 2_000, 5_000),
        Pause(first, 7_000, 10_000),
        Pause(third, 7_000, 10_000),
        Pause(third, 12_000, 15_000),
    ]
    stopped = [[step.task_ids for step in rnd.steps if isinstance(step, StopLearned)] for rnd in result.rounds]
    assert stopped == [[], [(first,)], [(first, third)], [(third,)]]


def test_who_leaves_is_gone_when_its_last_task_has_been_learned() -> None:
    result = learner_cases.left()
    [leaving] = [step for step in result.rounds[0].steps if isinstance(step, InstanceLeaving)]
    assert (leaving.process_id, leaving.until_ms, leaving.absent_since_ms) == ("S3", 600_000, None)
    last = result.rounds[-1]
    assert [step.process_id for step in last.steps if isinstance(step, MemberLeft)] == ["S3"]
    assert result.summary.cold_handovers == 0
    assert last.at_ms == 10_000
    assert table(result)[-1].keys() == {"S1", "S2"}


def test_at_its_deadline_who_leaves_is_gone_with_what_it_still_runs() -> None:
    slow = group("12", "34", "56", rate=100.0)
    result = played(slow, Leave(at_ms=0, process_ids=("S3",), announced=True), design=Learner(None, 60_000))
    [gone] = [rnd for rnd in result.rounds if any(isinstance(step, MemberLeft) for step in rnd.steps)]
    assert (gone.at_ms, gone.trigger) == (60_000, Trigger.DEADLINE)
    starts = [step for step in gone.steps if isinstance(step, HandOver | Promote)]
    assert [step.caught_up for step in starts] == [False, False]


def test_who_is_leaving_may_stay_after_all() -> None:
    away = Leave(at_ms=0, process_ids=("S3",), announced=True)
    result = played(group("12", "34", "56"), away, Return(at_ms=5_000, process_ids=("S3",)))
    assert [step.process_id for rnd in result.rounds for step in rnd.steps if isinstance(step, InstanceStays)] == ["S3"]
    assert table(result)[-1] == {"S1": "T1 T2", "S2": "T3 T4", "S3": "T5 T6"}


def test_without_a_restore_rate_the_time_is_the_least() -> None:
    result = played(group("12", "34", "5", rate=None), Join(at_ms=0, instances=(instance("S4"), instance("S5"))))
    assert result.summary.duration_is == "least"
    assert result.summary.duration_ms == 0
    assert [rnd.trigger for rnd in result.rounds] == [Trigger.JOIN, Trigger.LEARNER_READY, Trigger.LEARNER_READY]
    assert any(note.code == "learners-ready-at-once" for note in result.assumptions)


def test_a_task_that_changed_its_thread_is_reported_by_the_new_one() -> None:
    """Else the next split gives it back to a thread that has it no more."""
    members = Group.of("walk", [Task(task_id=TaskId(0, 1), stateful=True, end_offset_sum=100)], [instance("S1", 2)])
    whole = Copy(0, LATEST, (0,), consumer=0, active=True)
    before = GroupState(
        group=members, generation=1, at_ms=0, holdings=(Holding((0,)), Holding()), copies=((whole,),), leader=0
    )
    held = Holdings.of(members, (Holding(), Holding((0,))))
    [copy] = disks.restore_copies(before, disks.reseat_copies(before, held, 0), [Span(Rates(), 1_000)])[0][0]
    assert (copy.consumer, copy.reporters, copy.lag) == (1, (1,), LATEST)


@given(burst=st.integers(0, 90), written=st.integers(0, 20), seconds=st.integers(0, 12))
def test_a_copy_that_had_caught_up_falls_behind_what_is_written(burst: int, written: int, seconds: int) -> None:
    """By what comes at once, and by what it cannot restore as fast; whether its seat changes meanwhile or not."""
    members = Group.of(
        "walk", [Task(task_id=TaskId(0, 1), stateful=True, end_offset_sum=100)], [instance("S1", 1), instance("S2", 1)]
    )
    owner, standby = Copy(0, LATEST, (0,), consumer=0, active=True), Copy(1, 0, (1,), consumer=1)
    before = GroupState(
        group=members,
        generation=1,
        at_ms=0,
        holdings=(Holding((0,)), Holding(standby=(0,))),
        copies=((owner, standby),),
        leader=0,
    )
    rates = Rates(restore_per_instance=10.0, produce_per_task=float(written))
    spans = [Span(rates, 1_000 * seconds, burst={0: burst} if burst else {})]
    left = min(100, max(0, burst + (written - 10) * seconds))
    for seated in ({}, {0: (owner, standby)}):
        copies, waiting = disks.restore_copies(before, seated, spans)
        assert [copy.remaining for copy in copies.get(0, (owner, standby))] == [0, left]
        assert not waiting


def test_a_balanced_group_at_rest_is_left_alone() -> None:
    assert plan(group("12", "34", "56"), Learner(), PlanOptions()).rounds == ()
    assert plan(group("12", "34", "5"), Learner(), PlanOptions()).rounds == ()


def test_a_plan_comes_back_as_it_was_saved() -> None:
    for result in (learner_cases.walkthrough(), learner_cases.left()):
        text = plan_json(result)
        [read] = read_plans(text.encode(), "plan.json")
        assert read == result
        assert plan_json(read) == text


def test_recorded_histories_are_what_a_command_plays() -> None:
    """To two milliseconds: the clock here has whole ones, and copies share whole records."""
    with gzip.open(VECTORS, "rt", encoding="utf-8") as lines:
        records = [record for record in map(json.loads, lines) if record["kind"] == "sequence"]
    same = 0
    for record in records[:60]:
        case = learner_cases.recorded(record)
        if case is None:
            continue
        try:
            result = plan(case.snapshot, case.design, PlanOptions(max_rounds=5_000), scenario=case.scenario)
        except ScenarioError:  # nobody is left, or who has left returns before it is gone
            continue
        assert broken_invariants(result) == ()
        found = learner_cases.rounds_of(result)
        same += len(found) == len(case.rounds) and all(
            abs(one[0] - other[0]) <= 2 and one[1:] == other[1:] for one, other in zip(found, case.rounds, strict=True)
        )
    assert same >= 37


_NAMES = ("S1", "S2", "S3", "S4", "S5")


@st.composite
def _events(draw: st.DrawFn) -> list[Event]:
    """Members join, announce that they leave, stop and return; one always stays."""
    here, gone, events, at_ms = ["S1", "S2", "S3"], list[str](), list[Event](), 0
    for _ in range(draw(st.integers(1, 5))):
        at_ms += draw(st.sampled_from([0, 500, 5_000, 50_000, 700_000]))
        new = [name for name in _NAMES if name not in here and name not in gone]
        kind = draw(st.sampled_from(["join", "leave", "crash", "return"]))
        if kind == "join" and new:
            events.append(Join(at_ms=at_ms, instances=(instance(new[0], draw(st.integers(1, 2))),)))
            here.append(new[0])
        elif kind == "return" and gone:
            events.append(Return(at_ms=at_ms, process_ids=(gone[0],), state="kept"))
            here.append(gone.pop(0))
        elif kind in ("leave", "crash") and len(here) > 1:
            name = here.pop(draw(st.integers(1, len(here) - 1)))
            gone.append(name)
            events.append(
                Leave(at_ms=at_ms, process_ids=(name,), announced=True)
                if kind == "leave"
                else Stop(at_ms=at_ms, process_ids=(name,), crash=True)
            )
    return events


@given(
    events=_events(),
    rate=st.sampled_from([None, 100.0, 1_000.0, 100_000.0]),
    standbys=st.integers(0, 2),
    max_learners=st.sampled_from([None, 1, 2]),
)
def test_every_history_settles_and_keeps_every_invariant(
    events: list[Event], rate: float | None, standbys: int, max_learners: int | None
) -> None:
    snapshot = group("123", "45", "678", rate=rate, standbys=standbys)
    try:
        result = plan(
            snapshot, Learner(max_learners), PlanOptions(max_rounds=400), scenario=Scenario(events=tuple(events))
        )
    except ScenarioError:
        return
    assert broken_invariants(result) == ()
    assert result.verdict.kind == "settled"
    _at_most_one_learner_beside_one_active(result)
    learned = sum(map(_placed, result.rounds))
    with_an_event = sum(rnd.trigger not in (Trigger.LEARNER_READY, Trigger.FOLLOW_UP) for rnd in result.rounds)
    assert len(result.rounds) <= (1 + standbys) * (with_an_event + learned)


@pytest.mark.parametrize(
    ("left", "code"),
    [
        ({}, ReasonCode.NO_STATE_ANYWHERE),
        ({0: 10_000, 1: 10_000}, ReasonCode.NO_STATE_ANYWHERE),
        ({1: 500}, ReasonCode.TARGET_WARMS_UP),
        ({0: 700, 1: 500}, ReasonCode.TARGET_WARMS_UP),
        ({0: 500, 1: 700}, ReasonCode.MOST_CAUGHT_UP),
    ],
)
def test_no_instance_is_said_to_have_state_only_where_that_is_so(left: dict[int, int], code: ReasonCode) -> None:
    """S1 starts 0_1, which nobody runs; by instance so much is left to restore of 10,000 records."""
    state = group("1", "").state
    copies = (tuple(Copy(place, records, (), records) for place, records in left.items()),)
    before = replace(state, holdings=(Holding(), Holding()), copies=copies)
    [start] = steps_of(before, (Holding(active=(0,)), Holding()), SimpleNamespace(took_over=()), 0)  # type: ignore[arg-type]
    assert isinstance(start, HandOver)
    assert start.reason.code == code


def _placed(rnd: Round) -> int:
    return sum(isinstance(step, Place) and step.to.role is Role.WARMUP for step in rnd.steps)


def _at_most_one_learner_beside_one_active(plan: Plan) -> None:
    for rnd in plan.rounds:
        for task in range(len(plan.group.tasks)):
            on = [
                (plan.group.instance_of[consumer], place)
                for consumer, held in enumerate(rnd.assigned)
                for place, role in enumerate(held)
                if task in role
            ]
            places = [place for _, place in on]
            assert places.count(0) == 1
            assert places.count(2) <= 1
            assert len({item for item, _ in on}) == len(on), "two copies on one instance"


@pytest.mark.parametrize("limit", [1, 2])
def test_no_more_learners_at_once_than_asked_for(limit: int) -> None:
    joined = Join(at_ms=0, instances=(instance("S4"), instance("S5"), instance("S6")))
    result = played(group("1234", "567", "89"), joined, design=Learner(limit))
    assert max(sum(len(held.warmup) for held in rnd.assigned) for rnd in result.rounds) == limit
    assert result.verdict.kind == "settled"


def test_drain_says_when_who_announces_it_may_stop() -> None:
    found = drain(group("12", "34", "56"), ["S3"], PlanOptions(design="learner"))
    assert (found.announced, found.wait_ms, found.cold_later) == (True, 10_000, ())
    assert len(found.cold_now) == 2
    waits = {fact.key: fact.value for fact in page_of(found).facts}["wait"]
    assert waits.startswith("about 10s")
    assert waits.endswith(" (when they are let go): YES if copies have caught up by then: no cold start")
    unrated = drain(group("12", "34", "56", rate=None), ["S3"], PlanOptions(design="learner"))
    assert {fact.key: fact.value for fact in page_of(unrated).facts}["wait"].startswith("at least 0s (when they are")
    document = json.loads(to_json(found))
    validator("drain").validate(document)
    assert (document["announced"], document["wait_ms"]) == (True, 10_000)


def test_a_static_member_that_does_not_come_back_is_emptied() -> None:
    """It is absent from its session's end on: its tasks wait for their learners, and stand still until then."""
    snapshot = _static(group("12", "34", "56"))
    result = played(snapshot, Stop(at_ms=0, process_ids=("S3",)))
    assert broken_invariants(result) == ()
    [leaving] = [step for rnd in result.rounds for step in rnd.steps if isinstance(step, InstanceLeaving)]
    assert (leaving.until_ms, leaving.absent_since_ms) == (645_000, 0)
    assert [rnd.at_ms for rnd in result.rounds] == [45_000, 55_000]
    assert result.summary.cold_handovers == 0
    assert result.pauses.longest_ms == 55_000
    back = played(snapshot, Stop(at_ms=0, process_ids=("S3",)), Return(at_ms=50_000, process_ids=("S3",)))
    assert broken_invariants(back) == ()
    assert table(back)[-1] == {"S1": "T1 T2", "S2": "T3 T4", "S3": "T5 T6"}
    assert back.pauses.longest_ms == 50_000


def test_an_absent_member_is_gone_with_the_leader_that_knew_it() -> None:
    """A new leader never saw it: it is no member from that round on, and does not leave a second time."""
    absent, leader_leaves = Stop(at_ms=0, process_ids=("S3",)), Leave(at_ms=50_000, process_ids=("S1",))
    result = played(_static(group("12", "34", "56", rate=10.0)), absent, leader_leaves)
    assert broken_invariants(result) == ()
    left = [(rnd.at_ms, step.process_id) for rnd in result.rounds for step in rnd.steps if isinstance(step, MemberLeft)]
    assert left == [(50_000, "S1"), (50_000, "S3")]
    assert sum(isinstance(step, InstanceLeaving) for rnd in result.rounds for step in rnd.steps) == 1


def _static(snapshot: Snapshot) -> Snapshot:
    members = [
        replace(item, consumers=instance(item.process_id, static=True).consumers)
        for item in snapshot.state.group.instances
    ]
    static = Group.of("walk", list(snapshot.state.group.tasks), members)
    return replace(snapshot, state=replace(snapshot.state, group=static))


def test_learners_that_are_outrun_are_told() -> None:
    outrun = replace(group("12", "34", "5"), rates=Rates(restore_per_instance=100.0, produce_per_task=200.0))
    result = played(outrun, Join(at_ms=0, instances=(instance("S4"),)))
    assert broken_invariants(result) == ()
    assert (result.verdict.kind, [str(task) for task in result.verdict.tasks]) == ("stuck", ["0_1"])
    assert result.verdict.cause is not None
    assert (result.verdict.cause.code, result.verdict.cause.process_id) == (CauseCode.RESTORE_TOO_SLOW, "S4")
