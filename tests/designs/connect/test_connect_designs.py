"""The designs that a Connect group can be planned by: what each promises, and what holds of all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.designs import OF_GROUP_PROTOCOL
from kstream_plan.designs.connect.draft import ConnectRound, LeaderMemory
from kstream_plan.designs.connect.items import Items
from kstream_plan.designs.connect_design_1 import DESIGN_1
from kstream_plan.designs.connect_design_2 import Deferred
from kstream_plan.designs.connect_design_3 import Stepwise
from kstream_plan.errors import UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.connect_group import GroupMemory
from kstream_plan.model.scenario import Event, Join, Leave, Return, Scenario, Stop
from kstream_plan.plans import HandOver, NobodyRuns, Plan, Revoke
from kstream_plan.plans.replay import replay
from kstream_plan.simulation.one_plan import plan_checked
from tests.helpers.connect_drafts_model import Memory, Settings
from tests.helpers.connect_drafts_model import play as model_of
from tests.helpers.connect_rows import even, row, snapshot, worker
from tests.helpers.connect_scenarios import scenarios
from tests.helpers.learner_cases import group

DELAY_MS = 300_000
DESIGNS = OF_GROUP_PROTOCOL["connect"]


WAITING = DESIGNS[3:]


def play(item: dict[str, Any] | Snapshot, design: str | None, *events: Event, **options: Any) -> Plan:
    found = item if isinstance(item, Snapshot) else snapshot(item)
    result = plan_checked(found, scenario=Scenario(events=events) if events else None, design=design, **options)
    replayed = replay(result.group, result.initial, (rnd.steps for rnd in result.rounds))
    assert [(rnd.decided, rnd.assigned) for rnd in result.rounds] == list(replayed)
    return result


def times_ms(plan: Plan) -> list[int]:
    return [rnd.at_ms for rnd in plan.rounds]


def runs(plan: Plan) -> list[list[str]]:
    """What each worker runs at the end."""
    return [[str(plan.group.tasks[task].task_id) for task in held.active] for held in plan.final]


@pytest.mark.parametrize("design", DESIGNS)
@given(scenario=scenarios())
def test_every_item_runs_at_most_once_nothing_is_forgotten_and_it_settles(
    design: str, scenario: tuple[dict[str, Any], Sequence[Any]]
) -> None:
    item, events = scenario
    result = play(item, design, *events)
    assert result.design == design
    assert result.verdict.kind == "settled"
    assert sorted(chain.from_iterable(held.active for held in result.final)) == list(range(len(result.group.tasks)))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_balanced_cluster_is_left_alone(design: str, workers: int) -> None:
    dealt_out = play(even(workers), "connect-eager")  # what the eager protocol calls balanced
    names = [worker.process_id for worker in dealt_out.group.instances]
    held: dict[str, dict[str, list[int]]] = {name: {} for name in names}
    for name, items in zip(names, runs(dealt_out), strict=True):
        for item in items:
            connector, _, number = item.replace(" (connector)", "--1").partition("-")
            held[name].setdefault(connector, []).append(int(number))
    assert play(row({f"c{place}": 4 for place in range(workers)}, held), design).rounds == ()


def test_a_design_for_other_groups_is_refused() -> None:
    with pytest.raises(UsageError, match="a connect group cannot be planned by --design learner") as error:
        play(even(), "learner")
    assert "connect-eager" in error.value.fix
    with pytest.raises(UsageError, match="a classic group cannot be planned by --design connect-eager"):
        plan_checked(group("12", "34"), design="connect-eager")


def test_a_group_whose_protocol_is_eager_is_planned_by_it() -> None:
    eager = even(config={"connect_protocol": "eager"})
    assert play(eager, None).design == "connect-eager"
    assert play(eager, "connect").design == "connect"
    assert not any(note.code == "leader-memory-assumed" for note in snapshot(eager).assumptions)


def test_eager_stops_everything_and_deals_it_out_again_in_one_round() -> None:
    result = play(even(), "connect-eager", Join(at_ms=10_000, instances=(worker("w2"),)))
    assert times_ms(result) == [10_000]
    assert runs(result) == [
        ["c0 (connector)", "c0-1", "c1-0", "c1-3"],
        ["c0-2", "c1 (connector)", "c1-1"],
        ["c0-0", "c0-3", "c1-2"],
    ]
    assert {pause[1:] for pause in result.pauses} == {(7_000, 10_000)}
    assert result.summary.paused_task_ms == 10 * 3_000
    moved = {step.task_id for step in result.rounds[0].steps if isinstance(step, HandOver)}
    assert moved == {step.task_id for step in result.rounds[0].steps if isinstance(step, Revoke)}


def test_what_a_crash_stopped_is_not_stopped_again_by_the_rebalance() -> None:
    result = play(even(), "connect-eager", Stop(at_ms=10_000, process_ids=("w1",), crash=True))
    assert {pause[1:] for pause in result.pauses} == {(7_000, 20_000), (17_000, 20_000)}
    assert result.pauses.most_at_once == 10
    assert result.summary.paused_task_ms == 5 * 13_000 + 5 * 3_000
    left = play(even(), "connect-eager", Leave(at_ms=10_000, process_ids=("w1",)))
    assert {pause[1:] for pause in left.pauses} == {(7_000, 10_000)}  # in its first round at least, like everybody's
    assert len(left.pauses) == 10


def test_eager_waits_for_nobody() -> None:
    crash = Stop(at_ms=10_000, process_ids=("w1",), crash=True)
    assert times_ms(play(even(), "connect-eager", crash)) == [20_000]
    both = Leave(at_ms=0, process_ids=("w1",)), Leave(at_ms=50_000, process_ids=("w0",))
    assert times_ms(play(even(3), "connect-eager", *both)) == [0, 50_000]


@given(scenario=scenarios())
def test_design_1_waits_for_nobody(scenario: tuple[dict[str, Any], Sequence[Any]]) -> None:
    item, events = scenario
    result = play(item, "connect-design-1", *events)
    for rnd in result.rounds:
        waits = [step for step in rnd.steps if isinstance(step, NobodyRuns)]
        assert all(step.until_ms == rnd.at_ms + 3_000 for step in waits)  # what was revoked, until the next round


def test_a_worker_may_leave_and_return_in_the_millisecond_in_which_another_leaves() -> None:
    events = (
        Leave(at_ms=0, process_ids=("w0",)),
        Return(at_ms=0, process_ids=("w0",)),
        Leave(at_ms=0, process_ids=("w1",)),
    )
    assert play(even(), "connect-design-1", *events).verdict.kind == "settled"


@pytest.mark.parametrize("design", WAITING)
def test_designs_2_and_3_keep_what_is_lost_whoever_leads(design: str) -> None:
    leader_first = Leave(at_ms=0, process_ids=("w0",)), Leave(at_ms=200_000, process_ids=("w1",))
    result = play(even(3), design, *leader_first)
    assert times_ms(result) == [0, 200_000, DELAY_MS]  # the second loss shares the delay
    assert [sum(isinstance(step, HandOver) for step in rnd.steps) for rnd in result.rounds] == [0, 0, 10]
    assert times_ms(play(even(3), "connect-design-1", *leader_first)) == [0, 200_000]
    asked = play(even(3), design, *leader_first, connect_delay_ms=60_000)
    assert times_ms(asked) == [0, 60_000, 200_000, 260_000]


@pytest.mark.parametrize("design", WAITING)
def test_a_worker_that_is_back_gets_what_was_lost_once_the_delay_is_over(design: str) -> None:
    back = Leave(at_ms=0, process_ids=("w1",)), Return(at_ms=20_000, process_ids=("w1",))
    result = play(even(), design, *back)
    assert times_ms(result) == [0, 20_000, DELAY_MS]
    assert runs(result) == [
        [f"c{place} (connector)", *(f"c{place}-{number}" for number in range(4))] for place in (0, 1)
    ]


def test_design_2_may_keep_a_worker_waiting_that_joins() -> None:
    joins = Join(at_ms=10_000, instances=(worker("w2"),))
    assert times_ms(play(even(), "connect-design-2", joins)) == [10_000, 13_000]
    result = play(even(), "connect-design-2", joins, connect_defer_join=True)
    assert times_ms(result) == [10_000, 310_000, 313_000]
    assert not result.rounds[0].single_steps[1:]  # nothing stops before


def test_design_3_takes_away_so_much_at_once_and_then_pauses() -> None:
    joins = Join(at_ms=0, instances=(worker("w2"), worker("w3")))
    result = play(even(), "connect-design-3", joins, connect_step=1, connect_pause_ms=20_000)
    revoked = {rnd.at_ms: sum(isinstance(step, Revoke) for step in rnd.steps) for rnd in result.rounds}
    assert {at_ms: number for at_ms, number in revoked.items() if number} == {0: 1, 20_000: 1, 40_000: 1, 60_000: 1}
    assert (
        play(even(), "connect-design-3", joins, connect_step=9).rounds == play(even(), "connect-design-2", joins).rounds
    )


@given(scenario=scenarios(), step=st.integers(1, 3), pause_ms=st.integers(0, 100_000))
def test_design_3_never_takes_away_more(
    scenario: tuple[dict[str, Any], Sequence[Any]], step: int, pause_ms: int
) -> None:
    item, events = scenario
    result = play(item, "connect-design-3", *events, connect_step=step, connect_pause_ms=pause_ms)
    revoking_ms = []
    for rnd in result.rounds:
        revoked = [str(one.task_id) for one in rnd.steps if isinstance(one, Revoke)]
        connectors = sum(name.endswith("(connector)") for name in revoked)
        assert max(connectors, len(revoked) - connectors) <= step
        revoking_ms += [rnd.at_ms] if revoked else []
    for before_ms, after_ms in pairwise(revoking_ms):
        assert after_ms >= before_ms + pause_ms or any(before_ms < event.at_ms <= after_ms for event in events)


@given(scenario=scenarios())
def test_design_2_without_a_delay_gives_as_many_items_as_design_1(
    scenario: tuple[dict[str, Any], Sequence[Any]],
) -> None:
    """Not the same ones: it places what is new before what is lost."""
    item, events = scenario
    found = [
        [(rnd.at_ms, [len(held.active) for held in rnd.assigned]) for rnd in result.rounds]
        for result in (
            play(item, "connect-design-1", *events),
            play(item, "connect-design-2", *events, connect_delay_ms=0),
        )
    ]
    assert found[0] == found[1]


@st.composite
def _rounds(draw: st.DrawFn) -> tuple[Settings, int, dict[str, int], list[tuple[str, list[Any], list[Any]]], Memory]:
    """A round of any state: duplicates, what was deleted, and what has just been created included."""
    names = [f"c{place}" for place in range(draw(st.integers(0, 4)))]
    configured = {name: draw(st.integers(0, 5)) for name in names if draw(st.booleans())}
    items: list[list[Any]] = [names, [(name, place) for name in names for place in range(5)]]
    members = []
    for place in range(draw(st.integers(1, 20))):
        held = [draw(st.lists(st.sampled_from(kind), unique=True)) if kind else [] for kind in items]
        members.append((f"worker-{place}", *held) if place < 4 else (f"worker-{place}", [], []))
    some = [item for kind in items for item in kind]
    known = frozenset(draw(st.lists(st.sampled_from(some)))) if some else frozenset()
    time = st.none() | st.integers(0, 200)
    settings = Settings(
        draw(st.integers(1, 3)),
        draw(st.integers(0, 100)),
        step=draw(st.integers(1, 4)),
        pause_ms=draw(st.integers(0, 100)),
    )
    settings = settings._replace(defer_join=settings.design == 2 and draw(st.booleans()))
    memory = (
        Memory() if settings.design == 1 else Memory(known, draw(time), draw(time) if settings.design == 3 else None)
    )
    return settings, draw(st.integers(0, 200)), configured, draw(st.permutations(members)), memory


_TOLD_OF = {
    1: lambda _of: DESIGN_1.decide,
    2: lambda entry: Deferred(entry.delay_ms, entry.defer_join).decide,
    3: lambda item: Stepwise(item.delay_ms, step=item.step, pause_ms=item.pause_ms).decide,
}


@given(case=_rounds())
def test_decisions_are_those_that_are_written(case: Any) -> None:
    item, now_ms, connectors, members, memory = case
    report, after = model_of(item, now_ms, connectors, members, memory)
    answer = _TOLD_OF[item.design](item)(
        ConnectRound(
            now_ms=now_ms,
            generation=1,
            last_completed=0,
            task_counts=connectors,
            members={member: Items(tuple(items), tuple(tasks)) for member, items, tasks in members},
            max_delay_ms=1,
            group_memory=GroupMemory(known=memory.known, deadline_ms=memory.deadline, next_step_ms=memory.next_step),
        ),
        LeaderMemory(),
    )
    assert {member: [*map(list, items)] for member, items in answer.assigned_items.items()} == report.assigned
    assert {member: [*map(sorted, items)] for member, items in answer.revoked_items.items()} == {
        member: [*map(sorted, kinds)] for member, kinds in report.revoked.items()
    }
    assert answer.delay_ms == report.delay
    if item.design > 1:
        assert (answer.group_memory.known, answer.group_memory.deadline_ms, answer.group_memory.next_step_ms) == after


def test_a_group_that_is_eager_now_waits_for_who_is_gone_by_the_incremental_protocols() -> None:
    item = snapshot(even(3, config={"connect_protocol": "eager"}))
    result = plan_checked(item, scenario=Scenario(events=(Leave(at_ms=0, process_ids=("w1",)),)), design="connect")
    assert result.pauses.longest_ms == DELAY_MS + 3_000
