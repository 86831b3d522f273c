"""Plans of ``balanced`` beside Kafka's and beside the bound, and groups that nothing fits."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from kstream_plan.assignors import ASSIGNORS, Assignor
from kstream_plan.assignors.balanced import active_flow
from kstream_plan.assignors.balanced.pending_moves import (
    PendingMove,
    by_relief,
    in_kafkas_order,
    probes_until_relieved,
)
from kstream_plan.designs.classic import design as planner
from kstream_plan.model import (
    LATEST,
    UNKNOWN,
    Consumer,
    Copy,
    Group,
    GroupState,
    Holding,
    Instance,
    Snapshot,
    Task,
    TaskId,
)
from kstream_plan.model.scenario import ConfigChange, Event, Join, Scenario, Stop
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import HandOver, Plan, Reason, ReasonCode, restores_anew
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from tests.assignors.balanced.test_balanced import balanced_group
from tests.helpers import captured, captured_scenarios, memberships, random_scenarios
from tests.helpers.small_groups import group, state

#: scenario → (moves, records restored) of Kafka's plan, of ours, and the bounds for each: loads only, KIP-441's balance
CAPTURED = {
    "scale-out": ((20, 58_000), (9, 26_000), 18_000, 26_000),
    "scale-out-traffic": ((12, 43_988), (12, 43_959), 29_389, 43_959),
    "scale-out-standbys": ((18, 72_000), (6, 30_000), 12_000, 18_000),
}


@pytest.mark.parametrize("scenario", CAPTURED)
def test_captured_scale_outs_move_and_restore_less(scenario: str) -> None:
    kafkas = plan(captured.join(scenario), bounds=True)
    ours = plan(captured.join(scenario), assignor="balanced")
    figures = [(result.summary.moves, result.summary.restored_records) for result in (kafkas, ours)]
    bounds = [result.summary.lower_bounds.restored_records for result in (kafkas, ours)]
    assert (*figures, *bounds) == CAPTURED[scenario]
    assert ours.verdict.kind == "settled"
    assert ours.rounds[-1].balance.balance_factor <= 1
    assert ours.rounds[-1].balance.subtopology_task_spread <= 1


def _within_the_limit(plan: Plan) -> int:
    """What is so little that tasks start without a copy, which the bound takes for nothing."""
    starts = (step for rnd in plan.rounds for step in rnd.steps if isinstance(step, HandOver) and step.caught_up)
    return sum(step.restore_records or 0 for step in starts if restores_anew(step, plan.group))


@pytest.mark.parametrize("assignor", ["balanced", "high-availability"])
@pytest.mark.parametrize("seed", range(10))
def test_nothing_restores_less_than_the_bound(assignor: str, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        before = balanced_group(rng, rng.choice([0, 1]))
        members = list(before.state.group.instances)
        new = [Instance(process_id=f"n{n}", consumers=(Consumer(consumer_id=f"n{n}-1"),)) for n in range(2)]
        stay = rng.sample(members, rng.randint(1, len(members)))
        after = memberships.with_members(before, [*stay, *new])
        result = plan(after, assignor=assignor, bounds=True, floor=False, ranges=False)
        bound, restored = result.summary.lower_bounds.restored_records, result.summary.restored_records
        assert bound is not None
        assert restored is not None
        assert bound <= restored
        if assignor == "balanced" and not before.config.num_standby_replicas and not _orphans(before, stay):
            assert bound == restored - _within_the_limit(result)


@pytest.mark.parametrize("assignor", ["balanced", "high-availability"])
@pytest.mark.parametrize("protocol", ["cooperative", "eager", "mixed"])
def test_nothing_restores_less_than_the_bound_whatever_happens(assignor: str, protocol: str) -> None:
    """Members come and go, with and without their disks, and rates and settings change."""
    compared = 0
    for seed in range(12):
        for make in (random_scenarios.random_case, random_scenarios.hard_case):
            before, scenario = make(seed)
            result = with_random_ids(scenario, before.state.group, 0)
            options = PlanOptions(assignor=assignor, protocol=protocol, max_rounds=150, bounds=True)
            outcome = plan(before, options, scenario=result, floor=False, ranges=False)
            bound, restored = outcome.summary.lower_bounds.restored_records, outcome.summary.restored_records
            if outcome.verdict.kind == "settled" and restored is not None:
                assert bound is not None
                assert bound <= restored, (make.__name__, seed)
                compared += bound > 0
    assert compared


def test_a_higher_limit_for_a_while_lowers_the_bound() -> None:
    """Who is caught up by then starts without restoring, so the bound may not ask for it."""
    snapshot = _with_copies(6, 1, _everything_on_the_first, PLAIN)
    new = Instance(process_id="n", consumers=(Consumer(consumer_id="n-1"),))

    def bound(*events: Event) -> int | None:
        scenario = Scenario(events=(Join(at_ms=0, instances=(new,)), *events))
        return plan(snapshot, scenario=scenario, bounds=True).summary.lower_bounds.restored_records

    assert bound() == 3_000
    higher = ConfigChange(at_ms=1, settings=(("acceptable_recovery_lag", 1_000),))
    assert bound(higher) == 0
    assert bound(higher, ConfigChange(at_ms=2, settings=(("acceptable_recovery_lag", 10),))) == 0


def test_what_an_assignor_offers_does_not_go_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    known = plan(captured.join("scale-out"), assignor="balanced")
    renamed = {"another": ASSIGNORS["balanced"], "plain": Assignor(ASSIGNORS["balanced"].assign)}
    monkeypatch.setattr(planner, "ASSIGNORS", renamed)
    assert plan(captured.join("scale-out"), assignor="another").summary == known.summary
    plain = plan(captured.join("scale-out"), assignor="plain").summary
    assert plain.lower_bounds.restored_records is None
    assert (
        plan(captured.join("scale-out"), assignor="plain", bounds=True).summary.lower_bounds.restored_records == 18_000
    )


def _orphans(before: Snapshot, stay: list[Instance]) -> bool:
    return len(stay) < len(before.state.group.instances)


def _with_copies(
    tasks: int, instances: int, copies: Callable[[int], tuple[Copy, ...]], config: AssignmentConfig, whole: int = 1000
) -> Snapshot:
    members = Group.of(
        "orders",
        [Task(task_id=TaskId(0, p), stateful=True, end_offset_sum=whole) for p in range(tasks)],
        [Instance(process_id=f"i{n:02}", consumers=(Consumer(consumer_id=f"i{n:02}-1"),)) for n in range(instances)],
    )
    item = tuple(copies(task) for task in range(tasks))
    held = [
        tuple(t for t in range(tasks) for c in item[t] if c.lag == LATEST and c.instance == i) for i in range(instances)
    ]
    start = GroupState(group=members, generation=1, at_ms=0, holdings=tuple(map(Holding, held)), copies=item)
    return Snapshot(state=start, config=config)


def _everything_on_the_first(_task: int) -> tuple[Copy, ...]:
    return (Copy(0, LATEST, (0,)),)


PLAIN = AssignmentConfig(acceptable_recovery_lag=10, max_warmup_replicas=3)
ONE_STANDBY = replace(PLAIN, num_standby_replicas=1)
#: name → snapshot, and how many tasks move (``None``: they run nowhere at first)
ODD_GROUPS: dict[str, tuple[Snapshot, int]] = {
    "all lags equal": (_with_copies(6, 3, lambda _: tuple(Copy(i, 500, (i,), 500) for i in range(3)), PLAIN), 0),
    "all unknown": (_with_copies(6, 3, lambda _: tuple(Copy(i, UNKNOWN, (i,), 1000) for i in range(3)), PLAIN), 0),
    "one instance with everything": (_with_copies(12, 4, _everything_on_the_first, ONE_STANDBY), 9),
    "more instances than tasks": (_with_copies(3, 9, _everything_on_the_first, ONE_STANDBY), 2),
    "one task": (_with_copies(1, 3, _everything_on_the_first, ONE_STANDBY), 0),
    "zero tasks": (_with_copies(0, 3, _everything_on_the_first, ONE_STANDBY), 0),
    "one instance": (_with_copies(3, 1, _everything_on_the_first, ONE_STANDBY), 0),
    "2^63-1 end offsets": (_with_copies(9, 3, _everything_on_the_first, PLAIN, whole=MAX_LONG), 6),
}


@pytest.mark.parametrize("name", ODD_GROUPS)
def test_odd_groups_settle_balanced(name: str) -> None:
    snapshot, moves = ODD_GROUPS[name]
    result = plan(snapshot, assignor="balanced")
    assert broken_invariants(result) == ()
    assert result.verdict.kind == "settled"
    assert result.summary.moves == moves
    assert max(map(len, result.target.active)) - min(map(len, result.target.active)) <= 1


def test_a_huge_lag_hides_no_small_one() -> None:
    """Two of three tasks of 2^63-1 records move to where one record is missing: no rounding loses it."""
    copies = {0: (Copy(0, LATEST, (0,)), Copy(1, MAX_LONG - 1, (1,), MAX_LONG - 1)), 1: _everything_on_the_first(1)}
    snapshot = _with_copies(2, 2, copies.__getitem__, replace(PLAIN, acceptable_recovery_lag=0), whole=MAX_LONG)
    result = plan(snapshot, assignor="balanced")
    assert result.target.active == ((1,), (0,))
    assert result.summary.lower_bounds.restored_records == MAX_LONG - 1


def _tagged(zones: str, tags: tuple[str, ...] = ("zone",)) -> Plan:
    snapshot = _with_copies(
        4, len(zones), _everything_on_the_first, replace(ONE_STANDBY, rack_aware_assignment_tags=tags)
    )
    members = snapshot.state.group
    instances = tuple(
        replace(instance, client_tags=(("zone", zone),))
        for instance, zone in zip(members.instances, zones, strict=True)
    )
    tagged = Group(members.application_id, members.tasks, instances)
    return plan(replace(snapshot, state=replace(snapshot.state, group=tagged)), assignor="balanced")


def test_standbys_are_in_another_zone_than_their_active() -> None:
    result = _tagged("aabb")
    zone = "aabb"
    owner = {task: zone[i] for i, tasks in enumerate(result.target.active) for task in tasks}
    assert all(zone[i] != owner[task] for i, tasks in enumerate(result.target.standby) for task in tasks)
    assert result.warnings == ()


def test_what_the_tags_do_not_allow_is_named() -> None:
    result = _tagged("aaab")
    warnings = {note.code: note.subjects for note in result.warnings}
    assert warnings == {"copies-uneven": ("i01", "i02", "i03")}  # all standbys but one have to be on i03
    assert len(result.target.standby[3]) == 3
    two = plan(
        replace(
            _with_copies(1, 3, _everything_on_the_first, replace(ONE_STANDBY, num_standby_replicas=2)),
        ),
        assignor="balanced",
    )
    assert two.warnings == ()


def test_copies_that_share_a_tag_whoever_takes_them_are_named() -> None:
    """Beside i00 there is one instance of its zone and one of its cluster, and none that differs in both."""
    snapshot = _with_copies(
        1, 3, _everything_on_the_first, replace(ONE_STANDBY, rack_aware_assignment_tags=("zone", "cluster"))
    )
    marks = ({"zone": "a", "cluster": "x"}, {"zone": "a", "cluster": "y"}, {"zone": "b", "cluster": "x"})
    members = snapshot.state.group
    instances = tuple(
        replace(instance, client_tags=tuple(sorted(tags.items())))
        for instance, tags in zip(members.instances, marks, strict=True)
    )
    tagged = Group(members.application_id, members.tasks, instances)
    result = plan(replace(snapshot, state=replace(snapshot.state, group=tagged)), assignor="balanced")
    assert {note.code: note.subjects for note in result.warnings} == {
        "tags-short": ("0_0",),
        "copies-together": ("0_0",),
    }
    assert [len(tasks) for tasks in result.target.standby].count(1) == 1


def test_a_target_that_is_not_proven_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """13 tasks on 4 instances, 2 apart: the cheapest flow leaves 5 where they are, and the search ends with it."""
    snapshot = _with_copies(13, 4, _everything_on_the_first, replace(PLAIN, balance_factor=2))
    proven = plan(snapshot, assignor="balanced")
    assert proven.warnings == ()
    monkeypatch.setattr(active_flow, "_MOST_ARCS", 0)
    result = plan(snapshot, assignor="balanced")
    assert [note.code for note in result.warnings] == ["target-not-proven"]
    assert result.rounds[-1].balance.balance_factor <= 2


def test_the_busiest_instance_is_relieved_first() -> None:
    def move(task: int, source: int, restore: int, caught_up: int = 1) -> PendingMove:
        return PendingMove(task, source, 3, restore, caught_up, is_begun=False)

    moves = [move(0, 0, 5), move(1, 0, 1), move(2, 1, 9), move(3, 1, 7, 2), move(4, 2, 1)]
    loads, capacities = [4, 6, 8, 0], [1, 1, 2, 4]
    assert [one.task for one in by_relief(moves, loads, capacities)] == [3, 2, 1, 4, 0]
    assert [one.task for one in in_kafkas_order(moves)] == [0, 1, 2, 4, 3]
    assert probes_until_relieved(by_relief(moves, loads, capacities), loads, capacities, 1) == 2
    assert probes_until_relieved(in_kafkas_order(moves), loads, capacities, 1) == 5


def test_the_plan_says_what_kafkas_order_would_take() -> None:
    result = plan(captured.join("scale-out"), assignor="balanced")
    (note,) = [note for note in result.assumptions if note.code == "order-of-moves"]
    assert "of 5 probes" in note.message
    assert "in Kafka's order" in note.message


def test_stateless_tasks_move_once_and_say_why() -> None:
    result = plan(captured.join("scale-out"), assignor="balanced")
    reasons = {step.reason for rnd in result.rounds for step in rnd.steps if step.kind == "hand-over"}
    assert Reason(ReasonCode.STATELESS_EVENED_OUT) in reasons
    assert Reason(ReasonCode.STATELESS_LEAST_LOADED) not in reasons
    assert result.summary.stateless_hops == 3


@pytest.mark.parametrize("assignor", ["balanced", "high-availability"])
@pytest.mark.parametrize("name", captured.SCENARIOS)
def test_instance_and_subtopology_balance_are_counted(name: str, assignor: str) -> None:
    result = plan(captured.join(name), assignor=assignor)
    found = [(result.initial_balance, result.initial)]
    for item, holdings in [*found, *((rnd.balance, rnd.decided) for rnd in result.rounds[:5])]:
        where = [
            (result.group.subtopologies[task], result.group.instance_of[c])
            for c, held in enumerate(holdings)
            for task in held.active
        ]
        names, instances = sorted(set(result.group.subtopologies)), range(len(result.group.instances))
        counts = [[where.count((subtopology, i)) for i in instances] for subtopology in names]
        assert item.subtopology_task_spread == max(max(row) - min(row) for row in counts)
        executing = [sum(map(bool, row)) for row in counts]
        assert item.subtopology_spread == max(executing) - min(executing)
        loads = [sum(column) for column in zip(*counts, strict=True)]
        assert item.balance_factor == max(loads) - min(loads)


def test_who_joins_later_does_not_count_at_first() -> None:
    before = captured_scenarios.before("scale-out")
    join = scale_out(before.state.group, add=2, add_at_ms=900_000)
    first = Stop(at_ms=0, process_ids=("i3",))
    plans = (
        simulate(before, Scenario(events=item), number_of_draws=1).plan for item in (join.events, (first, *join.events))
    )
    found = [item.initial_balance for item in plans]
    assert [(item.balance_factor, item.subtopology_task_spread) for item in found] == [(10, 4), (0, 0)]
    assert [len(item.active) for item in found] == [5, 5]


def test_a_standby_in_place_takes_over_without_a_warm_up() -> None:
    members = group(stateful=3, stateless=0)
    hot = {t: (Copy(0, LATEST, (0,)), Copy(1, 0, (2,)), Copy(2, 0, (4,))) for t in range(3)}
    start = state(members, {0: Holding((0, 1, 2)), 2: Holding((), (0, 1, 2)), 4: Holding((), (0, 1, 2))}, hot)
    result = plan(
        Snapshot(state=start, config=AssignmentConfig(num_standby_replicas=2)),
        assignor="balanced",
    )
    assert result.summary.warmups == 0
    assert result.summary.restored_records == 0
    assert [len(tasks) for tasks in result.target.active] == [1, 1, 1]


@pytest.mark.parametrize(
    "work",
    [
        'plan(captured.join("scale-out"), bounds=True)',
        "simulate(before, two_more, number_of_draws=1, bounds=True)",
        'plan(captured.join("scale-out"), assignor="balanced")',
    ],
)
def test_the_solver_is_loaded_only_for_what_needs_it(work: str) -> None:
    program = f"""
import sys
from tests.helpers import captured
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from tests.helpers import captured_scenarios

before = captured_scenarios.before("scale-out")
two_more = scale_out(before.state.group, add=2)

plan(captured.join("scale-out"))
simulate(before, two_more, number_of_draws=2, assignor="high-availability")
assert "ortools" not in sys.modules
{work}
assert "ortools" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], cwd="tests", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
