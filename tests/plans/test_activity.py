"""Rounds become events, events become rows, and nothing important is folded away."""

import re
from dataclasses import replace
from typing import get_args

import pytest

from kstream_plan.documents.scenario_file import read_scenario
from kstream_plan.model import Consumer, Group, Instance, TaskId
from kstream_plan.plans import Plan, Reason, ReasonCode, Trigger
from kstream_plan.plans.activity import Activity, events
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
from kstream_plan.plans.told import TOLD
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.pages.step_sentences import because
from kstream_plan.render.plan.counts import counts
from kstream_plan.render.plan.folding import WHOLE, Run, fold
from kstream_plan.render.plan.rows import line
from kstream_plan.render.plan.story import tell
from kstream_plan.render.report.picture import picture
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import span
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
        copies = {(task, process_of[consumer]) for consumer, of in held for task in of.standby + of.warmup}
        awaited = [(group.tasks[task].task_id, of) for task, of in sorted(copies & wanted) if runs.get(task) != of]
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
        for consumer, task in ((consumer, task) for consumer, of in enumerate(held) for task in of.warmup):
            on_instance = plan.group.consumers_of[plan.group.instance_of[consumer]]
            decided = [event.rounds[0].decided[other] for other in on_instance]
            is_ready = any(task in of.active + of.standby for of in decided)
            ready += is_ready
            expected += is_ready or any(task in of.warmup for of in decided)
        assert (event.ready, event.expected) == ((0, 0) if event.probe is None else (ready, expected))
    return sum(event.ready for event in found)


def test_what_is_back_on_its_instance_has_not_changed_its_thread() -> None:
    """Within the session time-out a restart changes nothing, but every task of the instance starts again."""
    before = captured_scenarios.before("scale-out")
    made = simulate(before, read_scenario("events: [{at: 0s, bounce: {instances: i2, restart: 5s}}]", "s.yaml")).plan
    [event] = events(made)
    assert event.left == event.joined
    assert {(move.source, move.destination) for move in event.moves} == {(None, event.left[0])}
    assert event.threads == 0


def test_who_returns_does_not_join_and_threads_are_no_members() -> None:
    said = (
        "{at: 0s, leave: i1}, {at: 10m, return: i1}, {at: 30m, threads: {instance: i2, count: 3}}, "
        "{at: 1h, threads: {instance: i2, count: 1}}, {at: 2h, join: {hosts: [i4]}}"
    )
    before = captured_scenarios.before("scale-out")
    made = simulate(before, read_scenario(f"events: [{said}]", "s.yaml"), number_of_draws=1, what_ifs=False).plan
    found, names = events(made), Names(made.group)
    whys = [line(event, names).why for event in found if event.probe is None]
    assert whys == ["i1 leaves", "i1 returns", "new threads", "fewer threads", "i4 joins"]
    heads = [column.head for column in picture(made, found, names).columns if not column.head.isdigit()]
    assert heads == ["leave", "back", "thread", "thread", "join"]
    assert "1 leave + 1 return + 2 thread changes + 1 join" in table(made, width=200)


@pytest.mark.parametrize("name", ["crash", "crash-standbys", "scale-out-standbys", "scale-out"])
def test_a_narrow_table_breaks_between_words_only(name: str) -> None:
    made = plan_cases.case(name)
    rows = table(made, width=60).partition("why; warm-ups")[2].partition(" tasks ")[0]
    lines = tell(made, Names(made.group)).lines
    counted = [word for of in lines for item in of.cut_over_counts + of.warm_up_counts for word in item.split()]
    wide = table(made, width=1_000).split() + counted
    whole = {part for word in wide for part in (word, *re.split("(?<=→)", word))}
    assert {word for word in rows.split() if re.search(r"\d", word) and not word.startswith("+")} <= whole
    assert rows.count("standby") == rows.count("stand")


def test_most_at_once_counts_overlaps_only() -> None:
    plan = plan_cases.case("scale-out")
    assert plan.pauses.most_at_once == 9


def probe(number: int, moves: int = 2, ready: int = 2, cold: bool = False) -> Activity:
    """A probe with so many moves and copies; for folding nothing else counts."""
    source = events(plan_cases.case("scale-out"))[1]
    return Activity(
        rounds=source.rounds,
        probe=number,
        ready=ready,
        expected=2,
        moves=[source.moves[0]._replace(cold=cold)] * moves,
        copies=[source.copies[0]] * moves,
    )


def shapes(found: list[Activity]) -> list[str]:
    rows = [(row.events[0], row.events[-1]) if isinstance(row, Run) else (row, row) for row in fold(found)]
    return [span(first.probe or 0, last.probe or 0) for first, last in rows]


def test_up_to_twelve_rows_are_whole() -> None:
    found = [probe(number) for number in range(WHOLE)]
    assert fold(found) == found


def test_a_run_of_one_shape_is_folded_after_its_first_row() -> None:
    assert shapes([probe(n) for n in range(1, 15)]) == ["1", "2-14"]


def test_an_unready_probe_and_a_cold_start_are_never_folded() -> None:
    found = [probe(n) for n in range(1, 41)]
    found[9] = probe(10, ready=1)
    found[29] = probe(30, cold=True)
    assert shapes(found) == ["1", "2-9", "10", "11", "12-29", "30", "31", "32-40"]


def test_many_shapes_are_folded_in_the_middle_of_each_stretch() -> None:
    found = [probe(n, moves=n % 3) for n in range(1, 41)]
    rows = shapes(found)
    assert len(rows) <= WHOLE
    assert rows[0] == "1"
    assert rows[-1] == "40"
    assert sum("-" in row for row in rows) == 1


def test_every_reason_has_words() -> None:
    for code in ReasonCode:
        for lag in (None, -2, -3, 0, 500):
            text = because(Reason(code, lag, 100, 7))
            assert text
            assert "{" not in text


def test_a_long_list_is_told_as_how_many_of_what_go_where() -> None:
    pods = [
        Instance(
            process_id=f"i{n}", consumers=(Consumer(consumer_id=f"i{n}-1"),), client_tags=(("zone", "abc"[n % 3]),)
        )
        for n in range(6)
    ]
    names = Names(Group.of("orders", [], pods))
    places = [(TaskId(n % 2, n), f"i{n % 6}") for n in range(10)]
    nouns = ("task", "tasks")
    assert counts(places, nouns, names) == ("10 tasks:", "0_* 5,", "1_* 5", "to zone a 4,", "b 3,", "c 3")
    many = [(TaskId(n % 8, n), "i0") for n in range(17)]
    assert counts(many, nouns, names) == ("17 tasks", "of 8 subtopologies", "(2-3 each)", "to zone a 17")
    bare = Names(Group.of("orders", [], [replace(pod, client_tags=()) for pod in pods]))
    assert counts(places[:1], nouns, bare) == ("1 task",)


def test_every_kind_of_step_tells_who_runs_what_or_how() -> None:
    how = {Withhold, Revoke, InstanceLeaving, InstanceStays, StopLearned, NobodyRuns}
    assert {*get_args(Step)} == {*TOLD, MemberJoined, MemberLeft} | how
    assert how.isdisjoint(TOLD)
