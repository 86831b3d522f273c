"""A plan's end as a snapshot: planning on from there gives the rest of the plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstream_plan.documents.plan.end_snapshot import end_snapshot
from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import PlanFileError
from kstream_plan.model import (
    LATEST,
    UNKNOWN,
    Consumer,
    Copy,
    Group,
    GroupState,
    Holding,
    Instance,
    Rates,
    Snapshot,
    Task,
    TaskId,
)
from kstream_plan.model.scenario import Leave, Return, Scenario
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig
from kstream_plan.model.snapshot import Stores
from kstream_plan.plans import Plan, Trigger
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured_scenarios, strategies

TIME = "2026-11-21T12:00:00.000Z"


def end_of(made: Plan) -> Snapshot:
    snapshot = snapshot_from_row(end_snapshot(made), "end.json")
    assert not [note for note in snapshot.warnings if "no setting" in note.message]
    return snapshot


def scale_out_of(name: str, restore: float | None, produce: float | None) -> tuple[Snapshot, Scenario]:
    snapshot = replace(captured_scenarios.before(name, restore, produce), captured_at=TIME)
    return snapshot, with_random_ids(scale_out(snapshot.state.group, add=2), snapshot.state.group, 0)


def by_name(made: Plan, holdings: Any) -> dict[str, dict[str, list[str]]]:
    """What is held, standbys of all kinds together: a group does not tell them apart."""
    found = {}
    for consumer, held in enumerate(tuple(holdings)):
        if not any(held):
            continue
        copies = (*held.standby, *held.warmup, *held.temporary)
        roles = {"active": held.active, "standby": copies}
        found[made.group.consumer_ids[consumer]] = {
            role: sorted(str(made.group.tasks[task].task_id) for task in tasks) for role, tasks in roles.items()
        }
    return found


def rounds_of(made: Plan, first: int, zero_ms: int) -> list[Any]:
    return [
        (
            rnd.generation,
            rnd.at_ms - zero_ms,
            rnd.trigger,
            rnd.probing_rebalance,
            by_name(made, rnd.decided),
            by_name(made, rnd.assigned),
        )
        for rnd in made.rounds[first:]
    ]


def goes_on(snapshot: Snapshot, scenario: Scenario | None, rounds: int) -> tuple[Plan, bool]:
    """Plan on from the end of a plan that was cut; return that plan, and whether it is the rest of the whole one."""
    whole = plan(snapshot, scenario=scenario, ranges=False, floor=False)
    cut = plan(snapshot, scenario=scenario, max_rounds=rounds, ranges=False, floor=False)
    [saved] = read_plans(plan_json(cut).encode(), "plan.json")
    assert saved.end == cut.end
    rest = plan(end_of(saved), ranges=False, floor=False)
    zero_ms = cut.rounds[-1].at_ms if cut.rounds else 0
    assert by_name(rest, rest.initial) == by_name(cut, cut.final)
    left, found = rounds_of(whole, len(cut.rounds), zero_ms), rounds_of(rest, 0, 0)
    if whole.verdict.kind == "settled":
        return rest, found == left and rest.verdict.kind == "settled"
    shorter = min(len(left), len(found))  # a plan that does not settle ends where it has been looked at long enough
    return rest, found[:shorter] == left[:shorter]


@pytest.mark.parametrize("rates", [(400.0, 5.0), (None, None)])
@pytest.mark.parametrize("scenario", ["scale-out", "scale-out-standbys", "scale-out-traffic"])
@pytest.mark.parametrize("rounds", [1, 2, 3, 5, 8])
def test_planning_on_from_where_a_captured_plan_was_cut_gives_its_rest(
    scenario: str, rounds: int, rates: tuple[float | None, float | None]
) -> None:
    rest, same = goes_on(*scale_out_of(scenario, *rates), rounds)
    assert rest.rounds
    assert same
    assert any(note.code == "copies-maybe-ready" for note in rest.assumptions) == (rates[0] is None)


@given(strategies.snapshots(), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_planning_on_gives_the_rest_where_rates_are_known(snapshot: Snapshot, rounds: int) -> None:
    rates = Rates(restore_per_instance=400.0, produce_per_task=5.0)
    snapshot = replace(snapshot, captured_at=TIME, rates=rates, state=as_owners_say(snapshot.state))
    rest, same = goes_on(snapshot, None, rounds)
    doubted = [note for note in rest.assumptions if note.code == "copies-maybe-ready"]
    cut = plan(snapshot, max_rounds=rounds, ranges=False, floor=False)
    # after its end a plan has nothing left: Kafka would decide again only if somebody asked it to
    is_over = same or is_asked_to_decide_again(snapshot, rest, rounds)
    assert is_over or holds_copies_of_unknown_size(cut) or has_input_that_waits(cut)
    stateful = {str(rest.group.tasks[task].task_id) for task in rest.group.stateful}
    assert all(note.subjects and stateful.issuperset(note.subjects) for note in doubted)


def as_owners_say(state: GroupState) -> GroupState:
    """Return a group in which only owners say that they run a task, as Kafka's members do."""
    return replace(
        state,
        copies=tuple(
            tuple(copy._replace(lag=0) if copy.lag == LATEST and not copy.active else copy for copy in copies)
            for copies in state.copies
        ),
    )


def is_asked_to_decide_again(snapshot: Snapshot, rest: Plan, rounds: int) -> bool:
    whole = plan(snapshot, ranges=False, floor=False)
    ended = whole.verdict.kind == "settled" and len(whole.rounds) <= rounds
    return ended and rest.rounds[0].trigger is Trigger.MANUAL


def copies_to_restore(cut: Plan) -> Iterator[tuple[int, bool, bool]]:
    """Yield the records that each copy has to restore at the end, and whether it ran its task, and runs it from now."""
    assert cut.end is not None
    group = cut.group
    whole = {str(group.tasks[task].task_id): group.tasks[task].end_offset_sum for task in group.stateful}
    ran = {
        (instance.process_id, task_id)
        for instance in cut.end.instances
        for consumer in instance.consumers
        for task_id in consumer.active
    }
    runs = {
        (group.instances[group.instance_of[consumer]].process_id, str(group.tasks[task].task_id))
        for consumer, held in enumerate(tuple(cut.final))
        for task in held.active
    }
    for copy in cut.end.copies:
        reported = {None: whole[copy.task_id], UNKNOWN: whole[copy.task_id], LATEST: 0}.get(copy.lag, copy.lag)
        records = reported if copy.to_restore is None else copy.to_restore
        assert records is not None
        place = copy.process_id, copy.task_id
        yield records, place in ran, place in runs


def holds_copies_of_unknown_size(cut: Plan) -> bool:
    """Tell whether a copy that does not run its task has 2^63-1 records to restore, which stands for unknown.

    A plan that begins counts it as behind, for nothing is known of it; one that goes on counts it as caught up by the
    second rebalance after the one that placed it.
    """
    return any(records == MAX_LONG and not runs for records, _, runs in copies_to_restore(cut))


def has_input_that_waits(cut: Plan) -> bool:
    """Tell whether who ran a task was restoring it: what came meanwhile is written later, when is not in a snapshot."""
    return any(records and ran for records, ran, _ in copies_to_restore(cut))


def two_threads(
    rates: Rates, whole: int, stateful: Sequence[bool], held: Sequence[Holding], *copies: tuple[Copy, ...]
) -> Snapshot:
    """Return one instance of two threads, with these tasks: 0_0, 0_1, or 1_1 if it is stateless."""
    tasks = [
        Task(task_id=TaskId(0 if flag else 1, number), stateful=flag, end_offset_sum=whole if flag else 0)
        for number, flag in enumerate(stateful)
    ]
    threads = tuple(Consumer(consumer_id=name) for name in ("i1-1", "i1-2"))
    group = Group.of("orders", tasks, [Instance(process_id="i1", consumers=threads)])
    state = GroupState(group=group, generation=3, at_ms=0, holdings=tuple(held), copies=copies)
    return Snapshot(state=state, config=AssignmentConfig(), captured_at=TIME, rates=rates)


@pytest.mark.parametrize(("rates", "whole"), [(Rates(), 5_000), (Rates(restore_per_instance=400.0), MAX_LONG)])
def test_a_task_that_the_last_decision_started_from_a_copy_behind_runs_at_the_follow_up(
    rates: Rates, whole: int
) -> None:
    """Nobody ran 0_1; 0_0 moves to the other thread, so that a follow-up comes."""
    held = [Holding(), Holding(active=(0,), standby=(1,))]
    copies = (Copy(0, LATEST, (1,)),), (Copy(0, UNKNOWN, (1,), whole),)
    rest, same = goes_on(two_threads(rates, whole, (True, True), held, *copies), None, 1)
    assert same
    assert ("tasks-maybe-restoring", ("0_1",)) in [(note.code, note.subjects) for note in rest.warnings]


@pytest.mark.parametrize(("whole", "left"), [(5_000_000, 4_999_960), (0, 0)])
def test_who_runs_a_task_and_has_not_reported_it_has_not_at_the_end(whole: int, left: int) -> None:
    """0_0 starts on a thread that revokes 1_1, and so rejoins before there is anything to report of 0_0."""
    held = [Holding(active=(1,)), Holding()]
    snapshot = two_threads(Rates(restore_per_instance=400.0), whole, (True, False), held, (), ())
    [copies, _] = end_of(plan(snapshot, max_rounds=2, ranges=False, floor=False)).state.copies
    assert [(copy.lag, copy.reporters, copy.remaining) for copy in copies] == [(None, (), left)]
    assert goes_on(snapshot, None, 2)[1]


def test_a_task_that_the_last_decision_started_from_nothing_leaves_the_rate_to_others() -> None:
    """It is unknown how much 0_0 has to restore; 2_1 warms up beside it, and is ready at the probe."""
    sizes = {TaskId(0, 0): MAX_LONG, TaskId(1, 0): None, TaskId(2, 0): 10**16, TaskId(2, 1): 1}
    tasks = [Task(task_id=of, stateful=size is not None, end_offset_sum=size or 0) for of, size in sizes.items()]
    instances = [
        Instance(process_id=name, consumers=tuple(Consumer(consumer_id=f"{name}-{thread}") for thread in range(3)))
        for name in ("i1", "i2")
    ]
    state = GroupState(
        group=Group.of("orders", tasks, instances),
        generation=3,
        at_ms=0,
        holdings=(Holding(active=(1,)), Holding(), Holding(), Holding(active=(3,)), Holding(), Holding()),
        copies=((), (), (), (Copy(1, LATEST, (3,)),)),
    )
    rates = Rates(restore_per_instance=400.0, produce_per_task=5.0)
    config = AssignmentConfig(acceptable_recovery_lag=0)
    snapshot = Snapshot(state=state, config=config, captured_at=TIME, rates=rates)
    assert goes_on(snapshot, None, 1)[1]


def test_who_has_joined_is_there_at_the_end_and_who_has_left_is_not() -> None:
    snapshot = replace(captured_scenarios.before("scale-out", 400.0, 5.0), captured_at=TIME)
    instances = snapshot.state.group.instances
    gone = Leave(at_ms=0, process_ids=(instances[0].process_id,))
    made = plan(snapshot, scenario=Scenario(events=(gone,)))
    end = end_of(made)
    assert [of.process_id for of in end.state.group.instances] == [of for of, _ in made.members]
    assert end.captured_at_ms == (snapshot.captured_at_ms or 0) + made.rounds[-1].at_ms
    assert end.decision is not None
    assert end.decision.generation == made.rounds[-1].generation
    assert plan(end).rounds == ()
    assert goes_on(snapshot, Scenario(events=(gone,)), 2)[1]


@pytest.mark.parametrize("stores", [None, "persistent", "in-memory", "mixed"])
def test_where_stores_are_is_known_at_the_end_as_before(stores: Stores | None) -> None:
    snapshot, scenario = scale_out_of("scale-out", 400.0, 5.0)
    [saved] = read_plans(plan_json(plan(replace(snapshot, stores=stores), scenario=scenario)).encode(), "plan.json")
    assert end_of(saved).stores == stores


@pytest.mark.parametrize("strategy", ["none", "min_traffic"])
def test_input_that_the_snapshot_had_to_process_may_still_be_unprocessed_at_the_end(strategy: str) -> None:
    snapshot, scenario = scale_out_of("scale-out", 400.0, 5.0)
    [task, *_] = snapshot.state.group.stateful
    config = replace(snapshot.config, rack_aware_assignment_strategy=strategy)
    snapshot = replace(snapshot, input_lags={task: 70_000}, config=config)
    [saved] = read_plans(plan_json(plan(snapshot, scenario=scenario)).encode(), "plan.json")
    task_ids = {str(saved.group.tasks[each].task_id): records for each, records in end_of(saved).unwritten.items()}
    assert task_ids == {str(snapshot.state.group.tasks[task].task_id): snapshot.unwritten[task]}
    assert "input-behind" in [note.code for note in plan(end_of(saved), replay=True).warnings]


def test_input_that_waits_for_a_task_that_restores_is_unprocessed_at_the_end() -> None:
    rates = Rates(restore_per_instance=400.0, produce_per_task=300.0)
    snapshot = two_threads(rates, 5_000_000, (True, False), [Holding(active=(1,)), Holding()], (), ())
    made = plan(snapshot, max_rounds=2, ranges=False, floor=False)
    assert has_input_that_waits(made)
    written_meanwhile = 300 * made.rounds[-1].at_ms // 1000
    assert end_of(made).unwritten == {0: written_meanwhile}


def test_what_comes_after_the_end_is_counted() -> None:
    snapshot = captured_scenarios.before("scale-out", 400.0, 5.0)
    process_ids = (snapshot.state.group.instances[0].process_id,)
    events = (Leave(at_ms=0, process_ids=process_ids), Return(at_ms=3_600_000_000, process_ids=process_ids))
    made = plan(snapshot, scenario=Scenario(events=events), max_rounds=1)
    assert made.end is not None
    assert made.end.to_come == 1


def test_the_last_decision_is_made_again_from_its_own_input() -> None:
    snapshot, scenario = scale_out_of("scale-out", 400.0, 5.0)
    made = plan(snapshot, scenario=scenario, max_rounds=3)
    again = plan(end_of(made), replay=True)
    assert by_name(again, again.rounds[0].decided) == by_name(made, made.rounds[-1].decided)


def test_a_plan_that_does_not_hold_its_end_is_refused() -> None:
    made = plan(captured_scenarios.before("scale-out"))
    with pytest.raises(PlanFileError, match="does not contain its end"):
        end_snapshot(replace(made, end=None))
