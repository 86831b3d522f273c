"""Ways to restart a group: the pause that is proposed is safe when it is played, and one second less is not."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kstream_plan.documents.scenario_file import read_scenario, scenario_yaml
from kstream_plan.errors import ScenarioError
from kstream_plan.model import (
    Consumer,
    Copy,
    Group,
    GroupState,
    Holding,
    Instance,
    KnownDecision,
    Note,
    Snapshot,
    Task,
    TaskId,
)
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Bounce, Join, Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Plan
from kstream_plan.plans.caught_up_evidence import Fact
from kstream_plan.plans.plan import ENDS_NOT_PLAYED
from kstream_plan.render.answers import to_json
from kstream_plan.render.pages.bounce import bounce_page
from kstream_plan.simulation import safe_pause
from kstream_plan.simulation.bounces import Bounces, SimulatedWay, bounce, ways_of
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.overlapping_restarts import standing_still
from kstream_plan.simulation.processes import processors
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.simulation.safe_pause import FoundPause, SafePause, is_safe
from tests.helpers import captured_scenarios
from tests.helpers.memberships import settled
from tests.helpers.random_groups import random_group
from tests.helpers.safe_groups import safe_group

RESTARTS_MS = [5_000, 20_000, 44_000, 46_000, 70_000]


def _group(instances: int, tasks: int, standbys: bool, zones: int = 0) -> Snapshot:
    """A settled group: every task runs somewhere, with a warm standby on the next instance."""
    members = [
        Instance(
            process_id=f"m{number}",
            consumers=(Consumer(consumer_id=f"m{number}-1"),),
            client_tags=(("zone", f"z{number % zones}"),) if zones else (),
        )
        for number in range(instances)
    ]
    all_tasks = [Task(task_id=TaskId(0, number), stateful=True, end_offset_sum=50_000) for number in range(tasks)]
    group = Group.of("g", all_tasks, members)
    runs = [tuple(range(number, tasks, instances)) for number in range(instances)]
    held = tuple(
        Holding(runs[number], runs[number - 1] if standbys and instances > 1 else ()) for number in range(instances)
    )
    copies = tuple(
        tuple(
            Copy(instance=member, lag=-2 if task in item.active else 0, consumer=member)
            for member, item in enumerate(held)
            if task in item.active + item.standby
        )
        for task in range(tasks)
    )
    state = GroupState(group=group, generation=5, at_ms=0, holdings=held, copies=copies, leader=None)
    return Snapshot(state=state, config=AssignmentConfig(num_standby_replicas=int(standbys)), stores="persistent")


#: Instances of the largest group whose restarts are searched: ``KSTREAM_PLAN_BOUNCED=200`` plays as many pods.
BOUNCED = int(os.environ.get("KSTREAM_PLAN_BOUNCED", "10"))


def _again(snapshot: Snapshot, played_way: SimulatedWay, restart_ms: int, pause_ms: int) -> Plan:
    config = replace(snapshot.config, **dict(played_way.way.settings))  # type: ignore[arg-type]
    scenario = with_random_ids(played_way.way.scenario(restart_ms, pause_ms), snapshot.state.group, 0)
    return plan(replace(snapshot, config=config), scenario=scenario, floor=False, proofs="none")


def _is_safe_at_every_end(snapshot: Snapshot, played_way: SimulatedWay, restart_ms: int, pause_ms: int) -> bool:
    """Tell whether all restarts are safe, whatever comes of what nobody knows."""
    config = replace(snapshot.config, **dict(played_way.way.settings))  # type: ignore[arg-type]
    search = SafePause(
        replace(snapshot, config=config),
        PlanOptions(),
        lambda _number, length_ms, pause: played_way.way.scenario(length_ms, pause),
        len(snapshot.state.group.instances),
        [restart_ms],
        all_at_once=True,
    )
    return search.is_safe(len(snapshot.state.group.instances), pause_ms)


def _is_least(snapshot: Snapshot, played_way: SimulatedWay, restart_ms: int) -> bool:
    """Tell whether the pause is safe when it is played whole, and one second less is not."""
    shorter_ms = played_way.pause_ms - 1_000
    safe = is_safe(_again(snapshot, played_way, restart_ms, played_way.pause_ms))
    return safe and (shorter_ms < 0 or not is_safe(_again(snapshot, played_way, restart_ms, shorter_ms)))


def _of(found: Bounces, name: str) -> SimulatedWay:
    return next(item for item in found.ways if item.way.name == name)


@settings(max_examples=6)
@example(instances=4, tasks=3, standbys=True, zones=0, restart_ms=46_000)
@given(
    instances=st.integers(2, 4),
    tasks=st.integers(1, 6),
    standbys=st.booleans(),
    zones=st.sampled_from([0, 2]),
    restart_ms=st.sampled_from(RESTARTS_MS),
)
def test_the_pause_is_safe_and_one_second_less_is_not(
    instances: int, tasks: int, standbys: bool, zones: int, restart_ms: int
) -> None:
    snapshot = _group(instances, tasks, standbys, zones)
    found = bounce(snapshot, restart_ms)
    for item in found.ways:
        if item.safe:
            assert is_safe(_again(snapshot, item, restart_ms, item.pause_ms))
            assert item.most_cold == item.still_at_once.most == 0
            if item.pause_ms and item.way.name != "surge":  # another draw of it may be the one that is not
                shorter = max(item.pause_ms - 1_000, 0)
                sides = [restart_ms] if abs(restart_ms - 45_000) > 3_000 else [restart_ms, 44_999, 45_001]
                assert not all(_is_safe_at_every_end(snapshot, item, side, shorter) for side in sides)
    safe, best = [way for way in found.ways if way.safe], found.best_safe
    assert (best is None) == (not safe)
    if best is not None:
        assert best in safe

        def order(way: SimulatedWay) -> tuple[bool, bool, int, int]:
            return way.is_prepared, bool(way.unproven), way.worst_cold, way.ends_ms

        assert order(best) == min(map(order, safe))
        faster = [way for way in safe if way.ends_ms < best.ends_ms]
        proven = [way for way in safe if best.unproven and not way.unproven]
        assert {way.way.label for way in found.better_ways} == {way.way.label for way in (*faster, *proven)}


def test_what_few_restarts_need_is_held_against_all_of_them_on_either_side_of_the_time_out() -> None:
    snapshot = _group(7, 7, True)
    found = _of(bounce(snapshot, 46_000), "default-close")
    assert found.safe
    for side in (44_999, 46_000, 45_001):
        assert is_safe(_again(snapshot, found, side, found.pause_ms))


@pytest.mark.parametrize("seed", [9, 18])
def test_a_start_that_nothing_proves_counts_on_either_side_of_the_time_out(seed: int) -> None:
    """A static member that is back in time starts nothing; one that is not leaves its tasks to what may be behind."""
    given_group = random_group(random.Random(seed))
    found = bounce(given_group.snapshot, 44_000, given_group.options, instances=[given_group.busiest])
    options, unproven = replace(given_group.options, closes_wait=False).of_one_run(), 0
    ways = [way for way in found.ways if way.safe_pause.outcome == "safe" and not way.way.settings]
    for item in ways:
        counted = {(start.task_id, start.process_id) for start in item.unproven}
        for side_ms in (44_999, 45_001):
            scenario = item.way.scenario(side_ms, item.pause_ms, found.process_ids)
            starts = plan(given_group.snapshot, options, scenario=scenario).unproven_starts
            assert {(start.task_id, start.process_id) for start in starts} <= counted
            unproven += len(starts)
    assert unproven


def test_a_member_that_leaves_hands_over_to_a_warm_standby_and_others_are_told_why_they_are_not_safe() -> None:
    with_standbys, without = bounce(_group(4, 8, True), 20_000), bounce(_group(4, 8, False), 20_000)
    assert _of(with_standbys, "leave").safe
    assert not _of(without, "leave").safe
    assert _of(without, "leave").most_cold
    assert _of(without, "default-close").safe  # each is back before the group has noticed: its tasks wait for it
    assert _of(without, "static").figures.rebalances.most == 0


def test_static_members_get_a_session_time_out_that_is_enough() -> None:
    found = bounce(_group(3, 6, False), 70_000)
    short, long = (item for item in found.ways if item.way.name == "static")
    assert (short.safe, long.safe, long.way.settings) == (False, True, (("session_timeout_ms", 76_000),))
    assert found.best_safe is long


def test_zones_are_those_of_a_tag_of_several_instances() -> None:
    zoned = [way for way in ways_of(_group(4, 4, True, zones=2), 5_000) if way.tag]
    assert [(way.name, way.tag, dict(way.zones)) for way in zoned] == [
        (name, "zone", {"z0": ("m0", "m2"), "z1": ("m1", "m3")}) for name in ("zone", "zone-leave")
    ]
    assert not [way for way in ways_of(_group(2, 4, True, zones=2), 5_000) if way.tag]  # one of each


def test_a_surge_of_many_tasks_is_left_out_with_the_least_that_it_takes() -> None:
    found = bounce(_group(3, 101, True), 5_000)
    assert [(way.name, least_ms) for way, least_ms in found.left_out] == [("surge", 51 * 600_000)]


@pytest.mark.parametrize("way", ways_of(_group(4, 4, True, zones=2), 70_000), ids=lambda way: way.name)
def test_a_scenario_is_read_as_it_was_written(way: object) -> None:
    scenario = way.scenario(40_000, 2_500)  # type: ignore[attr-defined]
    read = read_scenario(scenario_yaml(scenario, "for tests"), "s.yaml")
    assert Scenario(events=tuple(replace(event, where="") for event in read.events)) == scenario


def test_one_instance_has_nobody_to_hand_over_to() -> None:
    with pytest.raises(ScenarioError, match=r"^there is one instance only, .* Fix: add an instance first"):
        bounce(_group(1, 2, False), 5_000)


def test_one_named_is_restarted_alone_and_as_it_is() -> None:
    """A session time-out that is enough, or static members, would have to be there before: no yes to a restart now."""
    soon, late = (bounce(_group(3, 6, False), item, instances=["m1"]) for item in (20_000, 70_000))
    assert soon.process_ids == late.process_ids == ("m1",)
    assert soon.best_safe is not None
    assert soon.best_safe.way.name == "default-close"
    assert soon.best_safe.plan.summary.moves == 0
    assert late.best_safe is None
    assert any(item.safe for item in late.ways)
    assert {item.way.name for item in late.ways} == {"default-close", "leave", "static"}


def test_a_proven_way_comes_before_a_faster_one_that_is_likely_to_be_safe() -> None:
    """To leave on close is quicker here, and rests on copies that nothing proves to have caught up by then."""
    group = _group(2, 4, True)
    for found in (bounce(group, 20_000, instances=["m1"]), bounce(group, 20_000)):
        default, leave = found.ways[:2]
        assert found.best_safe is default
        assert leave.ends_ms < default.ends_ms
    assert (found.safety_of(default), found.safety_of(leave)) == ("yes", "likely")
    assert leave in found.better_ways
    ways = json.loads(to_json(found))["ways"]
    assert [(way["way"], way["safe"], way["safety"], way["best"]) for way in ways[:2]] == [
        ("default-close", True, "yes", True),
        ("leave", False, "likely", False),
    ]


@pytest.mark.parametrize("standbys", [False, True])
def test_where_no_way_is_safe_only_what_is_missing_may_help(standbys: bool) -> None:
    """Static members do not help stores in memory; standbys that are there do not either."""
    found = bounce(replace(_group(2, 4, standbys), stores="in-memory"), 20_000)
    if any(not way.is_likely_unsafe for way in found.ways):
        found = replace(found, ways=tuple(way for way in found.ways if way.is_likely_unsafe))
    sentence = bounce_page(found).sentences[0]
    assert "static members" not in sentence
    assert ("Standbys may help" in sentence) is not standbys


def test_only_who_is_restarted_has_to_be_static() -> None:
    """One static member among others needs no setup, and does not pause until the session time-out is over."""
    snapshot = _group(3, 6, True)
    group = snapshot.state.group
    static = replace(group.instances[0], consumers=(replace(group.instances[0].consumers[0], group_instance_id="s"),))
    members = Group.of("g", group.tasks, [static, *group.instances[1:]])
    snapshot = replace(snapshot, state=replace(snapshot.state, group=members))
    needs = {name: bounce(snapshot, 5_000, instances=[name]) for name in ("m0", "m1")}
    assert [_of(found, "static").needs_static for found in needs.values()] == [False, True]
    said = ["However soon it is back" in " ".join(bounce_page(found).sentences) for found in needs.values()]
    assert said == [False, True]


@pytest.mark.parametrize("zones", [0, 2])
def test_of_ways_that_are_likely_safe_that_with_fewest_possible_cold_starts_is_best(zones: int) -> None:
    """To leave on close is quicker here, and may start tasks cold; nothing is proven: stores may be in memory."""
    snapshot = replace(_group(3, 6, True, zones), stores=None)
    found = bounce(snapshot, 20_000)
    best = found.best_safe
    assert best is not None
    rivals = [way for way in found.ways if way.safe and way.is_prepared == best.is_prepared]
    assert any(way.ends_ms < best.ends_ms and way.worst_cold for way in rivals)
    assert (bool(best.unproven), best.worst_cold) == min((bool(way.unproven), way.worst_cold) for way in rivals)
    worse = next(way for way in rivals if way.worst_cold and way.ends_ms < best.ends_ms)
    assert f"up to {worse.worst_cold} start" in " ".join(bounce_page(found).sentences)


@given(
    tasks=st.integers(1, 6),
    standbys=st.booleans(),
    restart_ms=st.sampled_from(RESTARTS_MS),
    named=st.sampled_from(["m0", "m1", "m2"]),
)
@settings(max_examples=6)
def test_one_may_restart_now_only_if_that_is_safe_by_default_close(
    tasks: int, standbys: bool, restart_ms: int, named: str
) -> None:
    found = bounce(_group(3, tasks, standbys), restart_ms, instances=[named])
    default = _of(found, "default-close")
    assert found.as_it_is is default
    unsafe = default.plan.summary.cold_handovers or standing_still(default.plan, 0)
    assert found.answer is (Answer.YES if default.safe else Answer.NO if unsafe else Answer.UNKNOWN)
    assert replace(found, doubts=(Note("no-capture-time", ""),)).answer is not Answer.YES
    assert replace(found, doubts=(Note("overdue", ""),)).answer is Answer.UNKNOWN
    assert replace(found, doubts=(Note("overdue", ""),)).best_safe is None
    assert replace(found, process_ids=()).answer is None


@pytest.mark.parametrize("named", [["m1"], []])
def test_stores_that_may_be_in_memory_make_no_restart_safe(named: list[str]) -> None:
    """Without standbys: with warm ones tasks would go there, as Kafka decides when nothing is reported."""
    known = _group(3, 6, False)
    for stores, safe, answer in (
        ("persistent", True, Answer.YES),
        (None, not named, Answer.UNKNOWN),
        ("in-memory", False, Answer.NO),
    ):
        found = bounce(replace(known, stores=stores), 5_000, instances=named)
        default = found.as_it_is
        assert default.safe is safe
        assert default in [found.best_safe, *found.better_ways] or not safe or not named
        assert found.best_safe is not default or safe
        assert found.answer is (answer if named else None)
        assert (default.most_cold == 0) is (safe or (stores is None and not named))
        assert default.is_likely_safe is (stores != "in-memory")
        if stores is None:
            assert {start.evidence.fact for start in default.unproven} == {Fact.STORES_UNKNOWN}
            assert [note.code for note in found.reasons] == (["stores-unknown"] if named else [])
            assert default.pause_ms == bounce(known, 5_000, instances=named).as_it_is.pause_ms


@pytest.mark.parametrize("name", ["s7-mem/B-live", "s7-mem/B-log", "s7-mem1/B-live", "s7-mem1/B-log"])
def test_groups_whose_stores_were_in_memory_are_not_said_to_be_safe(name: str) -> None:
    """Seen: 7 of 7 changelogs were restored from nothing; with a standby all tasks went there."""
    snapshot = safe_group(f"{name}.json")
    assert snapshot.captured_at_ms is not None
    options = PlanOptions(now_ms=snapshot.captured_at_ms + snapshot.known_until_ms + 1_000)
    who = snapshot.state.group.instances[0].process_id
    assert bounce(snapshot, 3_000, options, instances=[who]).answer is Answer.UNKNOWN
    assert bounce(replace(snapshot, stores="in-memory"), 3_000, options, instances=[who]).answer is Answer.NO


def test_what_is_likely_safe_and_may_not_be_is_unknown() -> None:
    """Near the session time-out a restart may come out on either side; without standbys one of them is cold."""
    found = bounce(_group(3, 6, False), 44_500, instances=["m1"])
    assert (found.as_it_is.safe, found.answer) == (False, Answer.UNKNOWN)
    assert [note.code for note in found.reasons] == ["may-start-cold"]
    assert found.reasons[0].message == "Tasks start cold in the worst case of what is unknown"


def test_a_follow_up_that_is_under_way_is_held_up_by_a_close_or_comes_before_it() -> None:
    """Two of three instances take over tasks that nobody runs until the follow-up."""
    snapshot = replace(safe_group("10-nobody-runs/nobody.json"), stores="persistent")
    group = snapshot.state.group
    assert bounce(snapshot, 40_000, instances=["i0"]).answer is Answer.NO
    decision = KnownDecision(generation=6, at_ms=0, probing_rebalance=False, rejoining=(1,))
    under_way = replace(snapshot, decision=decision)
    stop = Scenario(events=(Stop(at_ms=0, process_ids=(group.instances[0].process_id,)),))
    waits, holds_up = (plan(under_way, scenario=stop, closes_wait=item, floor=False) for item in (True, False))
    assert waits.rounds[0].at_ms < 10_000
    assert holds_up.rounds[0].at_ms == 45_000
    low_ms, high_ms = waits.ends("paused_task_ms")
    assert low_ms < holds_up.summary.paused_task_ms <= high_ms
    now = bounce(under_way, 40_000, instances=["i0"])
    assert (now.answer, now.as_it_is.still_at_once.median) == (Answer.NO, 2)
    assert now.as_it_is.safe_pause.reason is not None
    assert now.as_it_is.safe_pause.reason.code == "may-pause-together"


def test_what_ends_a_simulation_early_is_the_reason() -> None:
    """Beyond the session time-out and without standbys everything starts cold, which shows long before the end."""
    of_all = bounce(_group(3, 6, False), 60_000)
    assert {way.safe_pause.reason.code for way in of_all.ways if way.safe_pause.reason} == {"may-start-cold"}


def test_several_named_are_restarted_in_this_order() -> None:
    found = bounce(_group(4, 8, True), 20_000, instances=["m2", "m0"]).best_safe
    assert found is not None
    (event,) = found.scenario.events
    assert isinstance(event, Bounce)
    assert event.process_ids == ("m2", "m0")


@pytest.mark.parametrize(("named", "said"), [(["m9"], "there is no instance 'm9'"), (["m1", "m1"], "named twice")])
def test_names_that_cannot_be_meant(named: list[str], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        bounce(_group(3, 3, False), 20_000, instances=named)


def test_other_events_are_no_restarts() -> None:
    with pytest.raises(TypeError, match="no part of restarts"):
        scenario_yaml(Scenario(events=(Join(at_ms=0, instances=()),)), "")


def test_the_pause_on_the_example_is_the_least_that_is_safe() -> None:
    snapshot = replace(captured_scenarios.before("scale-out"), stores="persistent")
    found = bounce(snapshot, 40_000)
    safe = [item for item in found.ways if item.safe and item.way.name != "surge"]
    assert found.best_safe in safe
    assert all(_is_least(snapshot, item, 40_000) for item in safe)


@pytest.mark.parametrize("restart_ms", [40_000, 70_000])
def test_the_pause_of_a_large_group_is_the_least_that_is_safe(restart_ms: int) -> None:
    snapshot = replace(settled(_group(BOUNCED, 2 * BOUNCED, True)), stores="persistent")
    found = bounce(snapshot, restart_ms, workers=processors())
    safe = [item for item in found.ways if item.safe and item.way.name != "surge"]
    assert found.best_safe in safe
    assert all(item.restarts == BOUNCED and _is_least(snapshot, item, restart_ms) for item in safe)


def test_a_group_that_takes_too_long_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_pause, "_MOST_WORK", 12_000)
    found = _of(bounce(_group(9, 9, True), 70_000), "leave")
    assert (found.safe_pause.outcome, found.safe, found.restarts) == ("undecided", False, 3)
    assert found.most_cold == found.still_at_once.most == 0


def test_so_is_one_of_few_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_pause, "_MOST_WORK", 2_000)
    found = _of(bounce(_group(3, 9, True), 70_000), "leave")
    assert (found.safe_pause.outcome, found.safe, found.safe_pause.restarts, found.restarts) == (
        "undecided",
        False,
        0,
        3,
    )


def test_what_is_not_safe_with_a_longer_pause_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    search = SafePause(_group(2, 2, True), PlanOptions(), _no_events, 2, (5_000,), all_at_once=True)
    safe_ms = {7_000, *range(20_000, search.longest_ms + 1_000, 1_000)}
    monkeypatch.setattr(search, "is_safe", lambda _number, pause_ms: pause_ms in safe_ms)
    assert search.find() == FoundPause(outcome="safe", pause_ms=20_000, restarts=2)
    safe_ms -= {search.longest_ms}
    safe_ms |= {0}
    assert search.find() == FoundPause(outcome="safe", pause_ms=0, restarts=2, longer_ms=1_000)


def _no_events(_number: int, _restart_ms: int, _pause_ms: int) -> Scenario:
    return Scenario(events=())


def test_a_pause_is_not_safe_where_other_outcomes_were_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    given = random_group(random.Random(19))  # other outcomes have cold starts
    monkeypatch.setattr("kstream_plan.planner.ranges._MANY_STEPS", -1)
    options = replace(given.options, long_ranges=False)
    found = bounce(given.snapshot, 40_000, options)
    for way in found.ways:
        assert found.safety_of(way) not in ("yes", "likely")
    assert found.best_safe is None
    assert ENDS_NOT_PLAYED in {way.safe_pause.reason.code for way in found.ways if way.safe_pause.reason is not None}
