"""New process ids are random: many are drawn, the same ones wherever and by however many processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import uuid
from dataclasses import dataclass, replace
from functools import partial

import pytest

from kstream_plan.comparison.alternatives import alternative_figures
from kstream_plan.documents.plan.end_snapshot import end_snapshot
from kstream_plan.errors import ScenarioError, UsageError
from kstream_plan.model import Group, Instance, Note, Rates, is_uuid
from kstream_plan.model.scenario import Join, NewInstance, Return, Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner import ranges
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.interruptions import Stops
from kstream_plan.plans.plan import ENDS_NOT_PLAYED, ENDS_OF_OTHERS_NOT_PLAYED
from kstream_plan.plans.result import result_of
from kstream_plan.plans.simulated import Figures, Range, Simulation
from kstream_plan.policy.rules.over_draws import measure_rules
from kstream_plan.render.answers import page_of
from kstream_plan.simulation import draws, processes
from kstream_plan.simulation.instance_names import process_id_of
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import is_random, with_random_ids
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from tests.benchmarks.whole_plan import scale_out as settled_and_joined
from tests.helpers import captured_scenarios, plan_cases
from tests.helpers.small_groups import group
from tests.helpers.snapshot_rows import read

TWO_MORE = Scenario(events=(Join(at_ms=0, instances=(NewInstance(threads=2), NewInstance(threads=2))),))


def _facts(answer: Simulation) -> dict[str, str]:
    return {fact.key: fact.value for fact in page_of(answer).facts}


def _ids(scenario: Scenario) -> list[str]:
    [event] = scenario.events
    assert isinstance(event, Join)
    return [instance.process_id or "" for instance in event.instances]


def test_a_draw_is_the_same_every_time_and_another_one_is_not() -> None:
    members = captured_scenarios.before("scale-out").state.group
    first = _ids(with_random_ids(TWO_MORE, members, 0))
    assert first == _ids(with_random_ids(TWO_MORE, members, 0))
    assert set(first).isdisjoint(_ids(with_random_ids(TWO_MORE, members, 1)))
    assert all(map(is_uuid, first))
    assert all(uuid.UUID(item).version == 4 for item in first)


def test_numbered_ids_go_on_and_nothing_is_random() -> None:
    members = group()
    assert _ids(with_random_ids(TWO_MORE, members, 5)) == ["i4", "i5"]
    assert not is_random(TWO_MORE, members)
    assert simulate(captured_scenarios.before("scale-out"), Scenario(events=())).draws is None


def test_ids_that_are_given_are_not_drawn() -> None:
    before = captured_scenarios.before("scale-out")
    fixed = scale_out(before.state.group, add=1, process_ids=["8772d290-3ede-4e2d-aa72-8c0277e14a59"])
    assert not is_random(fixed, before.state.group)
    simulation = simulate(before, fixed)
    assert simulation.draws is None
    assert "8772d290-3ede-4e2d-aa72-8c0277e14a59" in simulation.plan.group.instance_index


def test_an_instance_without_its_disk_comes_back_under_another_id() -> None:
    members = captured_scenarios.before("scale-out").state.group
    one = members.instances[0].process_id
    scenario = Scenario(
        events=(Stop(at_ms=0, process_ids=(one,)), Return(at_ms=90_000, process_ids=(one,), keeps_disk=False))
    )
    assert is_random(scenario, members)
    simulation = simulate(captured_scenarios.before("scale-out"), scenario, number_of_draws=2, what_ifs=False)
    assert len(simulation.plan.group.instances) == 4


def test_the_ranges_are_those_of_the_captured_scale_out() -> None:
    before = captured_scenarios.before("scale-out")
    found = simulate(before, TWO_MORE, number_of_draws=60, what_ifs=False).draws
    assert found is not None
    assert found.settled == found.number == 60
    assert 18 <= found.moves.least <= found.moves.median <= found.moves.most <= 21
    assert 9 <= found.probing_rebalances.least <= found.probing_rebalances.most <= 11


@pytest.fixture(scope="module")
def amid_a_migration() -> Simulation:
    """One joins and one crashes in a group of which nobody knows how far its copies are."""
    before = captured_scenarios.before("scale-out")
    begun = plan(
        before, scenario=with_random_ids(TWO_MORE, before.state.group, 0), max_rounds=3, floor=False, ranges=False
    )
    amid = read(end_snapshot(begun))
    joined = Join(at_ms=0, instances=(NewInstance(threads=1),))
    crash = Stop(at_ms=0, process_ids=(amid.state.group.instances[0].process_id,))
    return simulate(amid, Scenario(events=(joined, crash)), number_of_draws=6, what_ifs=False)


def test_ranges_take_in_what_nobody_knows_of_every_draw(amid_a_migration: Simulation) -> None:
    found = amid_a_migration.draws
    assert found is not None
    assert amid_a_migration.plan.summary.ranges
    assert amid_a_migration.most_cold_handovers == found.worst["max_cold_handovers"]
    for rule, item in (
        ("max_duration", found.duration_ms),
        ("max_rebalances", found.rebalances),
        ("max_moves", found.moves),
        ("max_cold_handovers", found.cold_handovers),
        ("max_restored_records", found.restored_records),
        ("max_pause_per_task", found.max_paused_ms),
    ):
        assert item.most == found.worst[rule], rule


def test_most_copies_at_once_are_those_of_the_worst_draw(amid_a_migration: Simulation) -> None:
    found = amid_a_migration.draws
    assert found is not None
    worst = found.worst["max_peak_extra_copies"]
    assert worst is not None
    assert result_of(amid_a_migration.plan, amid_a_migration).peak_extra_copies == worst
    worse = replace(found, worst={**found.worst, "max_peak_extra_copies": worst + 3})
    assert f" to {worst + 3}) extra copies at a time" in _facts(replace(amid_a_migration, draws=worse))["restore"]


def test_what_one_draw_does_not_know_is_not_known(amid_a_migration: Simulation) -> None:
    result, found = amid_a_migration.plan, amid_a_migration.draws
    assert found is not None
    first, *others = result.group.tasks
    unsized = replace(result.group, tasks=(replace(first, end_offset_known=False), *others))
    known = replace(amid_a_migration, plan=replace(result, group=unsized))
    assert result_of(known.plan, known).restored_records_most is not None
    unknown = replace(known, draws=replace(found, worst={**found.worst, "max_restored_records": None}))
    assert result_of(unknown.plan, unknown).restored_records_most is None
    assert alternative_figures(unknown.plan, unknown.draws).restored_records is None
    assert ", or unknown" in _facts(unknown)["restore"]


def test_a_draw_that_restores_nothing_does_not_stand_for_others(amid_a_migration: Simulation) -> None:
    result, found = amid_a_migration.plan, amid_a_migration.draws
    assert found is not None
    nothing = replace(result, summary=replace(result.summary, restored_records=0, ranges=()))
    shown = replace(amid_a_migration, plan=nothing, draws=replace(found, restored_records=Range(0, 0, 5_000)))
    assert "(0 to 5,000) records" in _facts(shown)["restore"]


def test_the_least_time_is_never_more_than_another_draw_or_end_takes(amid_a_migration: Simulation) -> None:
    summary, found = amid_a_migration.plan.summary, amid_a_migration.draws
    assert summary.floor_ms is not None
    assert found is not None
    [low_ms] = [range_.low for range_ in summary.ranges if range_.figure == "duration_ms"]
    assert summary.floor_ms <= low_ms
    sooner = replace(found, duration_ms=found.duration_ms._replace(least=2_000))
    assert "(2s to " in _facts(replace(amid_a_migration, draws=sooner))["duration"]


def test_any_number_of_processes_gives_the_same() -> None:
    before = captured_scenarios.before("scale-out")
    alone = draws.draws(before, TWO_MORE, number=6)
    with processes.Runner(2) as side_by_side:
        assert draws.draws(before, TWO_MORE, number=6, side_by_side=side_by_side) == alone


def test_what_else_may_be_and_other_settings_are_the_same_by_any_number_of_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = settled_and_joined(tasks=60, instances=7, joining=0, max_warmup_replicas=2, standbys=1)
    alone = simulate(before, TWO_MORE, number_of_draws=1)
    assert alone.plan.summary.floor_ms is not None
    assert alone.plan.summary.ranges
    assert alone.what_ifs
    monkeypatch.setattr(processes, "_WORTH_SHARING_MS", 0)
    assert simulate(before, TWO_MORE, number_of_draws=1, workers=2) == alone


def test_what_is_drawn_tells_all_that_a_plan_that_is_shown_tells() -> None:
    """Nobody sees it, so that what no figure goes by is left out."""
    before = captured_scenarios.before("scale-out")
    result = plan(before, scenario=with_random_ids(TWO_MORE, before.state.group, 0), floor=False)
    assert result.end is not None
    assert draws._outcome(before, TWO_MORE, PlanOptions(), 0) == draws._outcome_of(result, measure_rules(result))


def test_a_budget_of_time_ends_the_draws() -> None:
    before = captured_scenarios.before("scale-out")
    assert len(draws.draws(before, TWO_MORE, number=50, within_ms=0)) == 1


def _never_done_elsewhere(but: int | None, draw: int) -> draws.Outcome:
    if draw != but and multiprocessing.parent_process() is not None:
        threading.Event().wait()
    nothing = Figures(0, 0, 0, 0, 0, 0, 0)
    return draws.Outcome(True, nothing, nothing, nothing, {}, Stops(0, 0), plan_cases.case("scale-out").summary)


def test_draws_that_nobody_wants_any_more_are_not_waited_for() -> None:
    outcomes = processes.in_processes(partial(_never_done_elsewhere, 0), 8, 2)
    assert next(outcomes).settles
    outcomes.close()  # type: ignore[attr-defined]
    for worker in multiprocessing.active_children():
        worker.join()  # would never return


def test_a_draw_that_is_interrupted_is_not_waited_for() -> None:
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        outcomes = processes.in_processes(partial(_never_done_elsewhere, None), 2, 2)
        signal.setitimer(signal.ITIMER_REAL, 1)
        with pytest.raises(KeyboardInterrupt):
            next(outcomes)
    finally:
        signal.signal(signal.SIGALRM, before)
    for worker in multiprocessing.active_children():
        worker.join(20)
        assert not worker.is_alive()


def test_what_a_killed_process_should_have_played_is_played_here() -> None:
    plays = [partial(_killed_elsewhere, number) for number in range(3)]
    with processes.Runner(2) as side_by_side:
        side_by_side.begin(plays[1:2])
        assert side_by_side(plays) == [0, 1, 2]


@dataclass(frozen=True)
class _ByProcess:
    """Says which process plays it; ``waits``: for ever."""

    number: int
    waits: bool = False

    def __call__(self) -> int:
        if self.waits:
            threading.Event().wait()
        return os.getpid()


def test_what_was_begun_is_not_played_again_and_ends_if_nobody_wants_it() -> None:
    with processes.Runner(3) as side_by_side:
        side_by_side.begin([_ByProcess(0, waits=True), _ByProcess(1)])
        [begun, other] = side_by_side([_ByProcess(1), _ByProcess(2)])
        assert side_by_side([_ByProcess(1)]) == [begun]
        assert begun not in (other, os.getpid())
    assert not multiprocessing.active_children()


def test_so_many_are_begun_that_this_process_may_play_as_well() -> None:
    with processes.Runner(2) as side_by_side:
        side_by_side.begin([_ByProcess(0), _ByProcess(1)])
        [begun, here] = side_by_side([_ByProcess(0), _ByProcess(1)])
        assert here == os.getpid() != begun


def test_one_process_begins_with_nothing() -> None:
    with processes.Runner(1) as side_by_side:
        side_by_side.begin([_ByProcess(0, waits=True)])
        assert side_by_side([_ByProcess(1)]) == [os.getpid()]


def _killed_elsewhere(number: int) -> int:
    if number and multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_draws_of_a_process_that_was_killed_end_with_it() -> None:
    killed = (
        "import math, os, signal\n"
        "from kstream_plan.simulation import processes\n"
        "outcomes = processes.in_processes(math.sqrt, 8, 2)\n"
        "next(outcomes)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    # its workers have its output: it is read to its end only when they have ended, too
    done = subprocess.run([sys.executable, "-c", killed], capture_output=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL


def test_the_number_of_draws_follows_the_work_of_one() -> None:
    none, one = AssignmentConfig(), AssignmentConfig(num_standby_replicas=1)
    sizes = [group(stateful=tasks) for tasks in (0, 24, 200, 3_000)]
    assert [draws.usual_number(of_size, none) for of_size in sizes] == [200, 59, 8, 1]
    assert [draws.usual_number(of_size, one) for of_size in sizes] == [200, 31, 3, 1]


@pytest.mark.parametrize(
    ("tasks", "standbys", "restore_rate", "options", "expected"),
    [
        (20, 1, None, PlanOptions(long_ranges=False), 37),
        (1_200, 1, None, PlanOptions(long_ranges=False), 5),
        (3_000, 0, None, PlanOptions(long_ranges=False), 5),
        (700, 2, None, PlanOptions(long_ranges=False), 5),
        (1_200, 1, None, PlanOptions(), 1),
        (1_200, 1, 1_000.0, PlanOptions(long_ranges=False), 5),
        (1_200, 1, None, PlanOptions(long_ranges=False, protocol="eager"), 5),
        (1_200, 1, None, PlanOptions(long_ranges=False, assignor="balanced"), 1),
        (3_000, 1, None, PlanOptions(long_ranges=False), 1),
    ],
)
def test_a_few_are_drawn_at_least_where_each_is_a_quick_play(
    tasks: int, standbys: int, restore_rate: float | None, options: PlanOptions, expected: int
) -> None:
    before = settled_and_joined(tasks=tasks, instances=5, joining=0, max_warmup_replicas=2, standbys=standbys)
    before = replace(before, rates=Rates(restore_per_instance=restore_rate))
    assert draws.usual_draws(before, options) == expected


@pytest.mark.parametrize(("stateless", "expected"), [(0, 5), (300, 5), (5_000, 2)])
def test_thousands_of_stateless_tasks_make_a_play_a_long_one(stateless: int, expected: int) -> None:
    before = settled_and_joined(300, instances=5, joining=0, max_warmup_replicas=2, standbys=1, stateless=stateless)
    assert draws.usual_draws(before, PlanOptions(long_ranges=False)) == expected


def test_the_plan_of_several_draws_is_that_of_the_shown_one() -> None:
    before = settled_and_joined(tasks=60, instances=7, joining=0, max_warmup_replicas=2, standbys=1)
    shown = simulate(before, TWO_MORE, number_of_draws=4, what_ifs=False)
    assert shown.plan.summary.ranges
    assert shown.plan.summary.floor_ms is not None
    assert shown.plan == plan(before, scenario=shown.scenario)


def test_a_plan_says_where_others_of_its_draws_were_not_played_to_either_end() -> None:
    before = settled_and_joined(tasks=60, instances=7, joining=0, max_warmup_replicas=2, standbys=1)
    result = plan(before, scenario=with_random_ids(TWO_MORE, before.state.group, 0))
    whole = draws.draws(before, TWO_MORE, number=2)
    summary = replace(whole[1].summary, ranges=())
    others = whole[0], whole[1]._replace(summary=summary, warnings=(Note(ENDS_NOT_PLAYED, "not played"),))
    for outcomes, tells in ((whole, True), (others, False)):
        found = replace(draws.summarize_draws(outcomes), shown=0)
        shown, _ = draws.shown_draw(lambda _options: result, PlanOptions(long_ranges=False), found, outcomes)
        assert shown.summary.ranges == result.summary.ranges != ()
        assert shown.tells_ends is tells


def test_what_else_may_come_of_the_shown_draw_is_played_where_plays_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "_MANY_STEPS", 0)
    before = settled_and_joined(tasks=60, instances=7, joining=0, max_warmup_replicas=2, standbys=1)
    before = replace(before, stores="persistent")
    result = partial(simulate, before, TWO_MORE, number_of_draws=4, what_ifs=False, long_ranges=False)
    alone, outcome = result(), result(ranges_of_shown=True)
    assert (alone.scenario, alone.plan.rounds) == (outcome.scenario, outcome.plan.rounds)
    assert alone.plan.summary.ranges == () != outcome.plan.summary.ranges
    assert outcome.plan.summary == plan(before, scenario=outcome.scenario).summary
    assert [note.code for note in outcome.plan.warnings if note.code.startswith("ends")] == [ENDS_OF_OTHERS_NOT_PLAYED]
    assert outcome.draws is not None is not alone.draws
    for item in outcome.plan.summary.ranges:
        if (range_ := getattr(outcome.draws, item.figure, None)) is not None:
            assert range_.least <= item.low <= item.high <= range_.most
    assert outcome.draws.rebalances.most > alone.draws.rebalances.most
    assert ENDS_OF_OTHERS_NOT_PLAYED in [line.code for line in page_of(outcome).lines]


def test_by_chance_draws_differ_as_they_likely_come_out_not_by_what_nobody_knows_of_each() -> None:
    before = settled_and_joined(tasks=60, instances=7, joining=0, max_warmup_replicas=2, standbys=1)
    outcomes = draws.draws(before, TWO_MORE, number=4)
    durations_ms = [one.figures.duration_ms for one in outcomes]
    assert draws.by_chance_ms(outcomes) == max(durations_ms) - min(durations_ms)
    of_all = draws.summarize_draws(outcomes).duration_ms
    assert of_all.most - of_all.least > draws.by_chance_ms(outcomes)
    assert draws.by_chance_ms(()) == 0


def test_new_instances_are_like_most_others_unless_told_otherwise() -> None:
    members = captured_scenarios.before("scale-out").state.group
    scenario = scale_out(members, add=3, racks=["a", "b"], client_tags=[(("zone", "x"),)])
    [event] = with_random_ids(scenario, members, 0).events
    assert isinstance(event, Join)
    assert [
        (instance.capacity, instance.rack, instance.host)
        for instance in event.instances
        if isinstance(instance, Instance)
    ] == [
        (2, "a", "new-1"),
        (2, "b", "new-2"),
        (2, "a", "new-3"),
    ]


@pytest.mark.parametrize("name", ["i3", "4a"])
def test_an_instance_that_is_not_there_is_an_error(name: str) -> None:
    members = captured_scenarios.before("scale-out").state.group
    other = Group.of("x", [], [replace(instance, host=None) for instance in members.instances])
    with pytest.raises(ScenarioError, match="there is no instance"):
        process_id_of(other, name)
    assert process_id_of(other, other.instances[0].process_id[:8]) == other.instances[0].process_id


def test_a_host_that_two_instances_have_is_ambiguous() -> None:
    twins = [Instance(process_id=name, consumers=(), host="same") for name in ("a", "b")]
    with pytest.raises(ScenarioError, match="2 instances have the name 'same'"):
        process_id_of(Group.of("x", [], twins), "same")


def test_more_ids_than_new_instances_are_an_error() -> None:
    with pytest.raises(UsageError, match="2 process ids for 1 new"):
        scale_out(group(), add=1, process_ids=["a", "b"])
