"""What a comparison says follows from its two sides alone, whatever they are."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.comparison.changes import Comparison, CopyChangeKind, InstanceChangeKind, Side, TaskClass
from kstream_plan.comparison.diff import compare
from kstream_plan.comparison.history_course import history_course
from kstream_plan.comparison.sides import plan_course, plan_side, snapshot_side, starts_at
from kstream_plan.model import LATEST, UNKNOWN, Copy, Group, Holding, Snapshot, TaskId
from kstream_plan.model.group import thread_number
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.model.scenario import Return, Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Role, Seat
from kstream_plan.render.answers import to_table
from kstream_plan.render.pages.diff import diff_page
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured, captured_scenarios, plan_cases
from tests.helpers.metric_texts import GROUP
from tests.helpers.small_groups import group, state
from tests.helpers.strategies import snapshots, two_snapshots

Held = dict[TaskId, set[Seat]]


def place(seat: Seat) -> Seat:
    """A seat by its thread: one that joined again, with another consumer id, is the same."""
    return seat._replace(consumer_id=thread_number(seat.consumer_id) or seat.consumer_id)


def held(side: Side) -> Held:
    """Every seat of every task, active and copies, by thread."""
    found: Held = {task.task_id: set() for task in side.group.tasks}
    for consumer, roles in enumerate(side.holdings):
        process_id = side.group.instances[side.group.instance_of[consumer]].process_id
        for kind, tasks in zip(Role, roles, strict=True):
            warms_up = kind is Role.STANDBY and not side.config.num_standby_replicas
            role = Role.WARMUP if warms_up else kind
            for task in tasks:
                seat = Seat(process_id, side.group.consumer_ids[consumer], role)
                found[side.group.tasks[task].task_id].add(place(seat))
    return found


def applied(before: Held, changes: Comparison) -> Held:
    """What was held before, with the changes carried out."""
    after = {task_id: set(seats) for task_id, seats in before.items()}
    for change in changes.tasks:
        seats = after.setdefault(change.task_id, set())
        for from_, to in [(change.from_, change.to), *((copy.from_, copy.to) for copy in change.copies)]:
            if from_ is not None:
                seats.remove(place(from_))
            if to is not None:
                assert place(to) not in seats
                seats.add(place(to))
        if change.kind is TaskClass.GONE:
            assert not after.pop(change.task_id)
    return after


def sides(pair: tuple[Snapshot, Snapshot]) -> tuple[Side, Side]:
    return snapshot_side(pair[0]), snapshot_side(pair[1])


@given(snapshot=snapshots())
def test_a_group_does_not_differ_from_itself(snapshot: Snapshot) -> None:
    side = snapshot_side(snapshot)
    found = compare(side, side)
    assert found.empty
    assert found.totals.moved_tasks == found.totals.restore_records == 0
    assert found.totals.classes[TaskClass.STAYED] == len(side.group.tasks)


@given(pair=two_snapshots())
def test_what_was_held_and_the_changes_give_what_is_held(pair: tuple[Snapshot, Snapshot]) -> None:
    old, new = sides(pair)
    assert applied(held(old), compare(old, new)) == held(new)


@given(pair=two_snapshots())
def test_the_way_back_is_the_way_there_with_its_ends_swapped(pair: tuple[Snapshot, Snapshot]) -> None:
    old, new = sides(pair)
    there, back = compare(old, new), compare(new, old)
    opposite = {
        **{kind: kind for kind in CopyChangeKind},
        CopyChangeKind.PLACED: CopyChangeKind.DROPPED,
        CopyChangeKind.DROPPED: CopyChangeKind.PLACED,
    }

    def ends(found: Comparison, swapped: bool) -> dict[TaskId, object]:
        return {
            change.task_id: (
                (change.to, change.from_) if swapped else (change.from_, change.to),
                {
                    (opposite[copy.kind], copy.to, copy.from_) if swapped else (copy.kind, copy.from_, copy.to)
                    for copy in change.copies
                },
            )
            for change in found.tasks
        }

    assert ends(there, swapped=False) == ends(back, swapped=True)
    assert (there.totals.classes[TaskClass.NEW], there.totals.moved_tasks) == (
        back.totals.classes[TaskClass.GONE],
        back.totals.moved_tasks,
    )
    gone, come = ({instance.process_id for instance in side.group.instances} for side in (old, new))
    left = {change.process_id for change in there.instances if change.kind is InstanceChangeKind.LEFT}
    assert left == gone - come


def literal_class(old: Side, new: Side, task_id: TaskId) -> TaskClass:  # noqa: PLR0911 - one per class
    """The classes as their definitions say, first that applies, from the members' seats and the lags."""
    if task_id not in old.group.task_index:
        return TaskClass.NEW
    if task_id not in new.group.task_index:
        return TaskClass.GONE
    before, after = held(old)[task_id], held(new)[task_id]
    ran = next((seat for seat in before if seat.role is Role.ACTIVE), None)
    runs = next((seat for seat in after if seat.role is Role.ACTIVE), None)
    if ran == runs:
        return TaskClass.STAYED
    if runs is None:
        return TaskClass.ORPHANED
    if ran is not None and ran.process_id == runs.process_id:
        return TaskClass.THREAD_MOVED
    task = new.group.tasks[new.group.task_index[task_id]]
    if not task.stateful:
        return TaskClass.STATELESS_MOVED
    lag = old.group.tasks[old.group.task_index[task_id]].end_offset_sum
    instance = old.group.instance_index.get(runs.process_id)
    if instance is None:
        lag = task.end_offset_sum
    elif old.copies is not None:
        reported = [copy.lag for copy in old.copies[old.group.task_index[task_id]] if copy.instance == instance]
        lag = reported[0] if reported and reported[0] is not None else lag
        lag = 0 if lag == UNKNOWN and not task.end_offset_sum else lag  # there is nothing to be behind
    if not (lag == 0 or is_caught_up(lag, new.config.acceptable_recovery_lag)):
        return TaskClass.COLD
    return TaskClass.PROMOTED if any(seat.process_id == runs.process_id for seat in before) else TaskClass.WARM


@given(pair=two_snapshots())
def test_every_task_has_the_class_of_its_definition_and_the_totals_are_the_sums(
    pair: tuple[Snapshot, Snapshot],
) -> None:
    old, new = sides(pair)
    found = compare(old, new)
    everyone = {*old.group.task_index, *new.group.task_index}
    kinds = dict.fromkeys(everyone, TaskClass.STAYED) | {task.task_id: task.kind for task in found.tasks}
    assert kinds == {task_id: literal_class(old, new, task_id) for task_id in everyone}
    totals = found.totals
    assert dict(totals.classes) == dict.fromkeys(TaskClass, 0) | Counter(kinds.values())
    assert totals.tasks == len(everyone) == sum(totals.classes.values())
    assert totals.moved_tasks + totals.started_tasks == sum(kind.is_move for kind in kinds.values())
    assert sum(totals.copies.values()) == sum(len(task.copies) for task in found.tasks)
    amounts = [task.start.restore_records for task in found.tasks if task.start]
    amounts += [copy.restore_records for task in found.tasks for copy in task.copies]
    assert totals.restore_records == (None if None in amounts else sum(map(int, filter(None, amounts))))
    changed = {task.task_id for task in found.tasks}
    stopped = [task_id for task_id in everyone - changed if stops_at_every_rebalance(old, task_id)]
    pause_ms = new.config.heartbeat_interval_ms
    assert totals.pause_ms == sum(task.pause_ms for task in found.tasks) + len(stopped) * pause_ms


def stops_at_every_rebalance(side: Side, task_id: TaskId) -> bool:
    """Whether its owner lists ``eager``."""
    consumers = {
        (instance.process_id, thread_number(c.consumer_id)): c
        for instance in side.group.instances
        for c in instance.consumers
    }
    owner = next((seat for seat in held(side)[task_id] if seat.role is Role.ACTIVE), None)
    return owner is not None and "eager" in consumers[owner.process_id, owner.consumer_id].protocols


@given(snapshot=snapshots(), ends=st.tuples(st.integers(0, 12), st.integers(0, 12)))
def test_a_plan_tells_its_own_way(snapshot: Snapshot, ends: tuple[int, int]) -> None:
    result = plan(snapshot, max_rounds=12)
    first, last = sorted(min(end, len(result.rounds)) for end in ends)
    old, new = plan_side(result, first), plan_side(result, last)
    found = compare(old, new, plan_course(result, first, last))
    assert applied(held(old), found) == held(new)
    assert not found.remarks.assumptions
    whole = compare(plan_side(result, 0), plan_side(result), plan_course(result, 0, len(result.rounds)))
    stateful = sum(
        change.kind.is_move and change.from_ is not None
        for change in whole.tasks
        if _stateful(result.group, change.task_id)
    )
    orphaned = sum(
        change.kind is TaskClass.ORPHANED for change in whole.tasks if _stateful(result.group, change.task_id)
    )
    assert stateful + orphaned == result.summary.moves
    assert starts_at(snapshot_side(snapshot), result)


def _stateful(group: Group, task_id: TaskId) -> bool:
    return group.tasks[group.task_index[task_id]].stateful


def test_each_round_of_a_scale_out_tells_its_starts() -> None:
    result = plan_cases.case("scale-out")
    promoted = []
    for number in range(len(result.rounds)):
        sides = plan_side(result, number), plan_side(result, number + 1)
        found = compare(*sides, plan_course(result, number, number + 1))
        assert not found.totals.classes[TaskClass.COLD]
        promoted += [
            task.task_id
            for task in found.tasks
            if task.kind is TaskClass.PROMOTED and task.start and task.start.lag == 0
        ]
    assert len(promoted) == result.summary.hops == 20


def test_a_whole_scale_out_restores_what_its_plan_restores_and_pauses_as_long() -> None:
    result = plan_cases.case("scale-out")
    found = compare(plan_side(result, 0), plan_side(result), plan_course(result, 0, len(result.rounds)))
    assert found.totals.restore_records == result.summary.restored_records == 58_000
    assert found.totals.pause_ms <= result.summary.paused_task_ms  # of tasks that came back to where they were, none
    assert found.totals.classes[TaskClass.PROMOTED] == result.summary.moves == 20
    names = {instance.process_id: instance.host for instance in result.group.instances}
    assert {names[change.process_id] for change in found.instances} == {"i4", "i5"}


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_a_history_tells_each_move_with_the_lags_it_was_decided_by(scenario: str) -> None:
    history = [snapshot_side(snapshot) for snapshot in captured.inputs(scenario)[:15]]
    found = compare(history[1], history[-1], history_course(history[1:]))
    assert applied(held(history[1]), found) == held(history[-1])
    moved = [change for change in found.tasks if change.start is not None]
    assert all(change.kind is TaskClass.PROMOTED for change in moved if scenario == "scale-out")
    assert moved
    assert {note.code for note in found.remarks.warnings} <= {"left-before"}
    without = compare(history[1], history[-1])
    assert [note.code for note in without.remarks.warnings] == ["old-lags"]
    assert without.totals.classes[TaskClass.COLD] > found.totals.classes[TaskClass.COLD]
    assert found.untold == 0
    assert found.cold_starts == (found.totals.classes[TaskClass.COLD],) * 2
    assert without.untold == history[-1].generation - history[1].generation - 1
    assert without.cold_starts == (0, len([change for change in without.tasks if change.start is not None]))
    page = diff_page(without)
    assert page.tone != "good"
    assert f"cold (0 to {without.cold_starts[1]}): {without.untold} generations lie between" in page.sentences[0]
    facts = {fact.key: fact.value for fact in page.facts}
    assert facts["restored"] == f"unknown: {without.untold} generations lie between"
    assert facts["pause"] == "unknown for the same reason"
    assert facts["cold"] == f"unknown: 0 to {without.cold_starts[1]}"


def test_pauses_and_restores_of_a_history_are_those_that_were_seen() -> None:
    """Of the decisions from the first to the follow-up that gave everything out, by the leader's own lines."""
    snapshots = captured.inputs("scale-out")
    times = [parse_time(str(snapshot.captured_at)) for snapshot in snapshots]
    observed = captured.rows("scale-out", "observed")
    withheld = [
        {
            TaskId.parse(task)
            for process in item["decided"].values()
            for consumer in process["consumers"].values()
            for task in consumer["withheld"]
        }
        for item in observed
    ]
    expected: Counter[TaskId] = Counter()
    for number in range(1, len(snapshots) - 1):
        owned = {TaskId.parse(str(task.task_id)) for task in snapshots[number].state.group.tasks}
        for task in withheld[number] & owned:
            expected[task] += times[number + 1] - times[number]
    history = [snapshot_side(snapshot) for snapshot in snapshots[1:]]
    course = history_course(history)
    seen = {task: ms for task, ms in (course.pauses_ms or {}).items() if ms}
    assert seen
    assert all(ms <= expected[task] for task, ms in seen.items())
    found = compare(history[0], history[-1], course)
    assert found.totals.pause_is == "seen"
    assert found.totals.restore_records == 58_000, "as many as the plan from there restores"
    pause = next(fact.value for fact in diff_page(found).facts if fact.key == "pause")
    assert re.search(r"; 3m\d\ds summed over all tasks \(by the times in the history\); ", pause)


def test_what_a_group_writes_from_its_first_start_on_is_not_restored() -> None:
    """No task ran before, and every changelog was empty."""
    history = [snapshot_side(snapshot) for snapshot in captured.inputs("scale-out")[:2]]
    comparison = compare(history[0], history[-1], history_course(history))
    assert any(change.start is not None for change in comparison.tasks)
    assert comparison.totals.restore_records == 0


def test_since_when_the_tasks_of_a_gone_instance_stood_still_is_not_told() -> None:
    history = [snapshot_side(snapshot) for snapshot in captured.inputs("scale-out-standbys")]
    found = compare(history[1], history[-1], history_course(history[1:]))
    assert found.totals.pause_is == "floor"
    pause = next(fact for fact in diff_page(found).facts if fact.key == "pause")
    assert pause.value.count("at least") == 2
    assert pause.tone == "unknown"
    assert "left-before" in {note.code for note in found.remarks.warnings}


@pytest.mark.parametrize(
    ("generations", "title", "said"),
    [
        ((5, 7), "generation 5 → 7", "1 generation lies between"),
        ((5, 8), "generation 5 → 8", "2 generations lie between"),
        ((0, 8), "generation unknown → 8", "an unknown number of generations lies between"),
        ((5, 0), "generation 5 → unknown", ""),
        ((0, 0), "unknown generation,", ""),
    ],
)
def test_what_lies_between_two_snapshots_is_told(generations: tuple[int, int], title: str, said: str) -> None:
    history = [snapshot_side(snapshot) for snapshot in captured.inputs("scale-out")[:15]]
    old, new = (
        replace(side, generation=item) for side, item in zip((history[1], history[-1]), generations, strict=True)
    )
    found = compare(old, new)
    shown = to_table(found, width=200)
    assert title in diff_page(found).title
    assert " ".join(shown.split()).count(said) >= (3 if said else 1)
    assert all(said in line.text for line in diff_page(found).lines if line.kind != "next")
    assert "generation 0" not in shown


#: i1 runs both stateful tasks and the stateless one; i2 keeps a copy of 0_0, i3 has left-over state of 0_1
START = state(
    group(),
    {0: Holding((0, 1, 2)), 2: Holding((), (0,))},
    {
        0: (Copy(0, LATEST, (0,)), Copy(1, 40, (2,))),
        1: (Copy(0, LATEST, (0,)), Copy(2, 70, (4,))),
    },
)
CONFIG = AssignmentConfig(acceptable_recovery_lag=50)


def _side(config: AssignmentConfig = CONFIG, **holdings: Holding) -> Side:
    after = tuple(holdings.get(f"c{c}", Holding()) for c in range(6))
    return snapshot_side(Snapshot(state=replace(START, holdings=after, generation=8), config=config))


OLD = snapshot_side(Snapshot(state=START, config=CONFIG))


def test_a_copy_within_the_limit_is_promoted_and_swapped_and_left_over_state_above_it_starts_cold() -> None:
    found = compare(OLD, _side(c0=Holding((), (0,)), c2=Holding((0,)), c4=Holding((1,)), c5=Holding((2,))))
    kinds = {str(change.task_id): change.kind for change in found.tasks}
    assert kinds == {"0_0": TaskClass.PROMOTED, "0_1": TaskClass.COLD, "1_0": TaskClass.STATELESS_MOVED}
    swapped = found.tasks[0].copies[0]
    assert (swapped.kind, swapped.from_ and swapped.from_.process_id, swapped.to and swapped.to.process_id) == (
        CopyChangeKind.SWAPPED,
        "i2",
        "i1",
    )
    assert found.tasks[1].start is not None
    assert (found.tasks[1].start.lag, found.tasks[1].start.restore_records) == (70, 70)
    assert found.totals.restore_records == 40 + 70
    assert found.totals.pause_is == "floor"
    wider = replace(CONFIG, acceptable_recovery_lag=100)
    warm = compare(OLD, _side(wider, c0=Holding((0, 2)), c2=Holding((), (0,)), c4=Holding((1,))))
    assert [change.kind for change in warm.tasks] == [TaskClass.WARM]
    assert warm.totals.pause_ms == wider.heartbeat_interval_ms


@pytest.mark.parametrize("name", ["scale-out", "scale-out-standbys", "crash", "settled", "many-instances"])
def test_a_plan_s_own_sides_are_as_balanced_as_the_plan_says(name: str) -> None:
    result = plan_cases.case(name)
    first = result.initial_balance
    found = compare(plan_side(result, 0), plan_side(result)).totals
    for skew, balance in (
        ((found.skew_before, first), (found.skew_after, result.rounds[-1].balance)) if result.rounds else ()
    ):
        assert skew.balance_factor == balance.balance_factor
        assert skew.subtopology == balance.subtopology_task_spread
        assert skew.subtopology_spread == balance.subtopology_spread


def test_who_returns_later_was_there_before() -> None:
    before = captured_scenarios.before("scale-out")
    events = (Stop(at_ms=0, process_ids=(before.state.group.instances[0].process_id,)),)
    back = Return(at_ms=200_000, process_ids=events[0].process_ids)
    result = plan(before, scenario=Scenario(events=(*events, back)))
    assert len(plan_side(result, 0).group.instances) == len(plan_side(result).group.instances) == 3
    assert compare(plan_side(result, 0), plan_side(result)).instances == ()


def test_a_task_between_threads_and_one_that_nobody_runs() -> None:
    found = compare(OLD, _side(c0=Holding((1,)), c1=Holding((2,)), c2=Holding((), (0,))))
    assert [change.kind for change in found.tasks] == [TaskClass.ORPHANED, TaskClass.THREAD_MOVED]
    assert (found.totals.moved_tasks, found.totals.skew_before.thread, found.totals.skew_after.thread) == (0, 3, 1)


def test_a_crashed_owner_is_missed_for_a_session() -> None:
    stay = Group.of("orders", list(START.group.tasks), list(START.group.instances[1:]))
    after = replace(START, group=stay, holdings=(Holding((0, 1, 2)), Holding(), Holding(), Holding()), generation=8)
    found = compare(OLD, snapshot_side(Snapshot(state=replace(after, copies=((),) * 3), config=CONFIG)))
    assert [(change.process_id, change.kind) for change in found.instances] == [("i1", InstanceChangeKind.LEFT)]
    assert {change.pause_ms for change in found.tasks} == {CONFIG.session_timeout_ms}


@pytest.mark.parametrize("by", ["host", "static member"])
def test_a_new_process_in_an_old_one_s_place_has_restarted(by: str) -> None:
    def named(prefix: str) -> Group:
        instances = [
            replace(
                item,
                process_id=f"{prefix}{n}" if n == 0 else item.process_id,
                host=f"host-{n}" if by == "host" else None,
                consumers=tuple(
                    replace(c, group_instance_id=f"s-{n}-{c.consumer_id[-1]}" if by != "host" else None)
                    for c in item.consumers
                ),
            )
            for n, item in enumerate(START.group.instances)
        ]
        return Group.of("orders", list(START.group.tasks), instances)

    old, new = (snapshot_side(Snapshot(state=replace(START, group=named(item)), config=CONFIG)) for item in ("a", "b"))
    changes = compare(old, new).instances
    assert [tuple(change) for change in changes] == [("b0", InstanceChangeKind.RESTARTED, "a0", "b0")]


def test_other_threads_and_other_tags_are_told() -> None:
    first, *others = START.group.instances
    changed = replace(first, consumers=first.consumers[:1], client_tags=(("zone", "a"),))
    after = replace(
        START,
        group=Group.of("orders", list(START.group.tasks), [changed, *others]),
        holdings=START.holdings[:1] + START.holdings[2:],
    )
    changes = compare(OLD, snapshot_side(Snapshot(state=after, config=CONFIG))).instances
    assert [tuple(change) for change in changes] == [
        ("i1", InstanceChangeKind.CAPACITY, "2", "1"),
        ("i1", InstanceChangeKind.TAGS, "", "zone=a"),
    ]


def test_without_lags_a_held_copy_counts_as_caught_up_and_it_is_said() -> None:
    found = compare(replace(OLD, copies=None), _side(c0=Holding((2,)), c2=Holding((0,)), c4=Holding((1,))))
    assert [change.kind for change in found.tasks] == [TaskClass.PROMOTED, TaskClass.COLD]
    assert [(note.code, note.subjects) for note in found.remarks.assumptions] == [("no-lags", ("0_0", "0_1"))]
    assert found.totals.restore_records == 1000


def test_what_started_from_a_copy_of_which_the_least_is_known_may_have_started_cold() -> None:
    least = snapshot_side(Snapshot(state=START, config=CONFIG, least_lags=frozenset([(0, 1)])))
    after = _side(c0=Holding((), (0,)), c2=Holding((0,)), c4=Holding((1,)), c5=Holding((2,)))
    known, unknown = compare(OLD, after), compare(least, after)
    assert known.cold_starts == (1, 1)
    assert unknown.cold_starts == (1, 2)
    assert "only the least that they were behind was measured" in " ".join(diff_page(unknown).sentences)


def test_of_each_side_it_is_told_of_how_many_copies_the_lag_was_measured() -> None:
    at = "2026-11-21T11:59:56.000Z"
    measured = [{**lag, "source": "metrics", "reported_at": at} for lag in GROUP["lags"]]
    by_join, by_metrics = (snapshot_side(snapshot_from_row({**GROUP, "lags": lags}, "")) for lags in ([], measured))
    answer = "2 of 2 copies measured 4s ago, 0 as of the last join"
    assert [note.message for note in compare(by_join, by_metrics).remarks.notes] == [f"After: {answer}"]
    assert [note.message for note in compare(by_metrics, by_metrics).remarks.notes] == [
        f"Before: {answer}",
        f"After: {answer}",
    ]
    assert f"Before: {answer}." in [line.text for line in diff_page(compare(by_metrics, by_metrics)).lines]
    assert not compare(by_join, by_join).remarks.notes
