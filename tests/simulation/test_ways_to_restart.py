"""Which ways there are to restart a group, as scenarios, and what is said of those that were played."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kstream_plan.model import Consumer, Group, GroupState, Holding, Instance, Note, Snapshot, Task, TaskId
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Bounce, Leave, Return, Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.caught_up_evidence import Evidence, Fact, Known, UnprovenStart
from kstream_plan.plans.simulated import Range
from kstream_plan.simulation.bounces import (
    Bounces,
    SimulatedWay,
    Way,
    _probes_of_a_surge,
    _worth_sharing,
    bounce,
    other_sides_ms,
    ways_of,
)
from kstream_plan.simulation.safe_pause import FoundPause
from tests.helpers.one_standby import snapshot as one_standby

TAGS = {"a": ("z0", "r0"), "b": ("z1", "r0"), "c": ("z0", "r1"), "d": ("z1", "r1")}


def _group(
    members: dict[str, tuple[str | None, str | None]] | int = 3,
    tasks: int = 4,
    racks: dict[str, str] | None = None,
    **config: Any,
) -> Snapshot:
    """Instances with a zone and a row each, of which everybody runs what falls to it in turn."""
    given = {f"m{n}": (None, None) for n in range(members)} if isinstance(members, int) else members
    instances = [
        Instance(
            process_id=name,
            consumers=(Consumer(consumer_id=f"{name}-1"),),
            client_tags=tuple(
                (tag, item) for tag, item in zip(("zone", "row"), values, strict=True) if item is not None
            ),
            rack=(racks or {}).get(name),
        )
        for name, values in given.items()
    ]
    group = Group.of(
        "g", [Task(task_id=TaskId(0, n), stateful=True, end_offset_sum=50) for n in range(tasks)], instances
    )
    held = tuple(Holding(tuple(range(n, tasks, len(instances)))) for n in range(len(instances)))
    state = GroupState(group=group, generation=5, at_ms=0, holdings=held, copies=((),) * tasks, leader=None)
    return Snapshot(state=state, config=AssignmentConfig(**config), stores="persistent")


def zones(snapshot: Snapshot) -> list[tuple[str, str | None, dict[str, tuple[str, ...]]]]:
    return [(way.name, way.tag, dict(way.zones)) for way in ways_of(snapshot, 5_000) if way.zones]


def test_zones_are_the_tags_that_spread_standbys_else_every_tag_else_the_racks() -> None:
    by_zone = {"z0": ("a", "c"), "z1": ("b", "d")}
    by_row = {"r0": ("a", "b"), "r1": ("c", "d")}
    both = [(name, tag, item) for tag, item in (("row", by_row), ("zone", by_zone)) for name in ("zone", "zone-leave")]
    assert zones(_group(TAGS)) == both
    assert zones(_group(TAGS, rack_aware_assignment_tags=("zone",))) == both[2:]
    racks = {"a": "k2", "b": "k1", "c": "k2", "d": "k1"}
    assert zones(_group(TAGS, racks=racks)) == both, "racks count where no tag makes zones"
    untagged = dict.fromkeys(TAGS, (None, None))
    by_rack = {"k1": ("b", "d"), "k2": ("a", "c")}
    assert zones(_group(untagged, racks=racks)) == [(name, "rack", by_rack) for name in ("zone", "zone-leave")]
    assert list(zones(_group(untagged, racks=racks))[0][2]) == ["k1", "k2"], "in the order of their names"
    assert zones(_group(untagged)) == []
    assert zones(_group(untagged, racks={name: racks[name] for name in "abc"})) == [], "one has none"
    assert zones(_group(untagged, racks=dict.fromkeys(TAGS, "k1"))) == [], "all in one"
    assert zones(_group(untagged, racks={name: f"k{name}" for name in TAGS})) == [], "each in its own"


@pytest.mark.parametrize(
    ("restart_ms", "settings"),
    [
        (41_999, None),
        (42_000, 48_000),
        (42_001, 49_000),
        (70_000, 76_000),
        (70_001, 77_000),
        (1_794_000, 1_800_000),
        (1_794_001, None),
    ],
)
def test_static_members_need_a_session_time_out_above_restart_and_two_heartbeats(
    restart_ms: int, settings: int | None
) -> None:
    item = _group(session_timeout_ms=45_000, heartbeat_interval_ms=3_000)
    names = [(way.name, way.settings) for way in ways_of(item, restart_ms)]
    longer = [] if settings is None else [("static", (("session_timeout_ms", settings),))]
    assert names == [("default-close", ()), ("leave", ()), ("static", ()), *longer, ("surge", ())]


@pytest.mark.parametrize(
    ("restart_ms", "sides"),
    [(41_999, False), (42_000, True), (45_000, True), (48_000, True), (48_001, False)],
)
def test_a_restart_near_the_session_time_out_may_come_out_on_either_side(restart_ms: int, sides: bool) -> None:
    config = AssignmentConfig(session_timeout_ms=45_000, heartbeat_interval_ms=3_000)
    assert other_sides_ms(config, restart_ms) == ((44_999, 45_001) if sides else ())


@pytest.mark.parametrize(("tasks", "probes"), [(0, 0), (1, 1), (4, 2), (5, 3), (101, 51)])
def test_a_surge_takes_a_probe_for_every_few_copies(tasks: int, probes: int) -> None:
    assert _probes_of_a_surge(_group(tasks=tasks, max_warmup_replicas=2)) == probes


@pytest.mark.parametrize(("tasks", "shared"), [(1_000, False), (1_001, True)])
def test_other_processes_help_where_there_is_much_to_play(tasks: int, shared: bool) -> None:
    assert _worth_sharing(_group(2, tasks)) is shared


def events(way: Way, process_ids: tuple[str, ...] | None = None) -> tuple[Any, ...]:
    scenario = way.scenario(20_000, 1_500) if process_ids is None else way.scenario(20_000, 1_500, process_ids)
    assert isinstance(scenario, Scenario)
    return scenario.events


@pytest.mark.parametrize("name", ["default-close", "leave", "static", "surge"])
def test_a_way_is_a_bounce_of_all_or_of_those_that_are_named(name: str) -> None:
    for process_ids in (None, ("m2", "m0")):
        assert events(Way(name=name), process_ids) == (
            Bounce(
                at_ms=0,
                process_ids=process_ids or ("all",),
                restart_ms=20_000,
                pause_ms=1_500,
                leaves=name == "leave",
                static=name == "static",
                surge=1 if name == "surge" else 0,
            ),
        )


@pytest.mark.parametrize(("name", "end"), [("zone", Stop), ("zone-leave", Leave)])
def test_zones_go_one_after_the_other_and_each_comes_back_as_one(name: str, end: type[Stop | Leave]) -> None:
    way = Way(name=name, tag="zone", zones={"z0": ("a", "c"), "z1": ("b",)})
    assert events(way, ("c",)) == (
        end(at_ms=0, process_ids=("a", "c")),
        Return(at_ms=20_000, process_ids=("a", "c")),
        end(at_ms=21_500, process_ids=("b",)),
        Return(at_ms=41_500, process_ids=("b",)),
    )


@pytest.fixture(scope="module")
def played() -> Bounces:
    answers: list[tuple[int, int]] = []
    found = bounce(_group(2, 2), 5_000, instances=["m1"], on_way=lambda done, in_all: answers.append((done, in_all)))
    assert answers == [(1, 3), (2, 3), (3, 3)]
    assert (found.restart_ms, found.left_out) == (5_000, ())
    assert [(way.takes_proof, way.restarts) for way in found.ways] == [(True, 1)] * 3
    assert [event.process_ids for way in found.ways for event in way.scenario.events] == [("m1",)] * 3
    return found


def start(
    task: int, known: Known = Known.UNKNOWN, fact: Fact = Fact.OLD_REPORT, words: str = "it may be"
) -> UnprovenStart:
    evidence = Evidence(known=known, fact=fact, words=words)
    return UnprovenStart(task_id=TaskId(0, task), process_id="m0", at_ms=0, evidence=evidence)


def test_what_is_unknown_of_copies_is_told_together_where_it_is_the_same(played: Bounces) -> None:
    starts = (start(1), start(0), start(2, words="it is not"), start(3, fact=Fact.UNDATED))
    way = replace(played.as_it_is, unproven=starts)
    doubt = Note("no-capture-time", "When")
    found = replace(played, ways=(way, *played.ways[1:]), doubts=(doubt,))
    assert found.reasons == (
        doubt,
        Note("old-report", "It may be", ("0_1", "0_0")),
        Note("old-report", "It is not", ("0_2",)),
        Note("no-capture-time", "It may be", ("0_3",)),
    )
    assert replace(found, process_ids=()).reasons == (doubt,)


def _safe(played_way: SimulatedWay, **changes: Any) -> SimulatedWay:
    safe = FoundPause(outcome="safe", pause_ms=1_000, restarts=2)
    return replace(played_way, safe_pause=safe, unproven=(), still_at_once=Range(0, 0, 0), **changes)


def test_a_way_is_safe_if_its_pause_is_and_nothing_is_proven_cold_or_has_to_be_proven(played: Bounces) -> None:
    way = _safe(played.as_it_is, takes_proof=True)
    assert (way.safe, way.is_likely_safe, way.pause_ms, way.proven_cold) == (True, True, 1_000, ())
    doubted = replace(way, unproven=(start(0),))
    assert (doubted.safe, doubted.is_likely_safe, doubted.proven_cold) == (False, True, ())
    assert replace(doubted, takes_proof=False).safe
    behind = replace(way, unproven=(start(0), start(1, Known.BEHIND)), takes_proof=False)
    assert (behind.safe, behind.is_likely_safe, behind.proven_cold) == (False, False, (start(1, Known.BEHIND),))
    for outcome in ("unsafe", "undecided"):
        other = replace(way, safe_pause=replace(way.safe_pause, outcome=outcome))
        assert (other.safe, other.is_likely_safe) == (False, False)


def test_what_is_likely_decides_between_no_and_unknown(played: Bounces) -> None:
    way = _safe(played.as_it_is, takes_proof=True)

    def answer(played_way: SimulatedWay, *doubts: Note) -> tuple[bool, Answer | None]:
        found = replace(played, ways=(played_way, *played.ways[1:]), doubts=doubts)
        return played_way.is_likely_unsafe, found.answer

    assert answer(way) == (False, Answer.YES)
    assert answer(way, Note("no-capture-time", "")) == (False, Answer.UNKNOWN)
    assert answer(way, Note("overdue", "")) == (False, Answer.UNKNOWN)
    assert answer(replace(way, unproven=(start(0),))) == (False, Answer.UNKNOWN)
    cold = replace(way.plan, summary=replace(way.plan.summary, cold_handovers=1))
    several = replace(way.figures, cold_handovers=Range(1, 0, 2))
    few = replace(way.figures, cold_handovers=Range(0, 0, 2))
    unsettled = replace(way.figures, settled=0)
    for changes in (
        {"plan": cold},
        {"figures": several},
        {"figures": unsettled},
        {"unproven": (start(0, Known.BEHIND),)},
        {"still_at_once": Range(1, 0, 1)},
    ):
        unsafe = replace(way, **changes)  # type: ignore[arg-type]
        assert answer(unsafe) == (True, Answer.NO)
        assert answer(unsafe, Note("overdue", ""))[1] is Answer.UNKNOWN
    assert answer(replace(way, figures=few)) == (False, Answer.YES)
    assert answer(replace(way, still_at_once=Range(0, 0, 1))) == (False, Answer.YES)


def test_what_needs_nothing_comes_first_then_fewest_cold_starts_then_the_fastest(played: Bounces) -> None:
    figures = played.ways[0].figures
    close, leave, static = (
        replace(_safe(item, ends_ms=ends_ms), figures=figures, most_cold=0)
        for item, ends_ms in zip(played.ways, (9, 5, 1), strict=True)
    )
    assert (close.is_prepared, leave.is_prepared, static.is_prepared, static.needs_static) == (False, False, True, True)
    of_all = replace(played, ways=(close, leave, static), process_ids=(), doubts=())
    assert of_all.best_safe == leave
    assert of_all.better_ways == (static,)
    assert replace(of_all, ways=(close, replace(leave, most_cold=17), static)).best_safe == close
    some = replace(of_all, process_ids=("m1",))
    assert some.best_safe == close
    assert (
        replace(
            some, ways=(replace(close, safe_pause=replace(close.safe_pause, outcome="unsafe")), leave, static)
        ).best_safe
        == leave
    )
    unsafe = tuple(replace(item, safe_pause=replace(item.safe_pause, outcome="unsafe")) for item in (close, leave))
    assert replace(some, ways=(*unsafe, static)).best_safe is None
    assert replace(of_all, ways=(*unsafe, static)).best_safe == static
    doubted = replace(of_all, doubts=(Note("no-capture-time", ""),))
    assert (doubted.best_safe, doubted.better_ways) == (None, ())
    equal = replace(of_all, ways=(replace(close, ends_ms=5), leave))
    assert equal.best_safe == equal.ways[0]
    assert equal.better_ways == ()
    settings = replace(leave, way=Way(name="leave", settings=(("session_timeout_ms", 1),)))
    assert (settings.is_prepared, settings.needs_static) == (True, False)


def _static(group: Group, number: int) -> Group:
    """The same with the members of so many instances static."""

    def made_static(instance: Instance) -> Instance:
        members = (replace(member, group_instance_id=member.consumer_id) for member in instance.consumers)
        return replace(instance, consumers=tuple(members))

    instances = [*map(made_static, group.instances[:number]), *group.instances[number:]]
    return Group.of(group.application_id, group.tasks, instances)


def test_members_are_static_once_all_that_restart_are(played: Bounces) -> None:
    way, *others = played.ways
    for number, are_static in ((0, False), (1, False), (2, True)):
        plan = replace(way.plan, group=_static(way.plan.group, number))
        assert replace(played, ways=(replace(way, plan=plan), *others), process_ids=()).are_static is are_static


@pytest.mark.parametrize(
    ("name", "restart_ms", "margin_ms", "back_within_ms"),
    [
        ("default-close", 40_000, (2_000, 5_000), 42_000),
        ("default-close", 42_000, (0, 3_000), 42_000),
        ("default-close", 44_999, (0, 1), 44_999),
        ("default-close", 45_000, None, None),
        ("static", 40_000, (2_000, 5_000), 42_000),
        ("leave", 40_000, None, None),
    ],
)
def test_a_restart_has_to_end_before_the_session_time_out_from_the_last_heartbeat(
    played: Bounces, name: str, restart_ms: int, margin_ms: tuple[int, int] | None, back_within_ms: int | None
) -> None:
    assert (played.first.config.session_timeout_ms, played.first.config.heartbeat_interval_ms) == (45_000, 3_000)
    best = _safe(next(item for item in played.ways if item.way.name == name))
    unsafe = [
        replace(item, safe_pause=replace(item.safe_pause, outcome="unsafe"))
        for item in played.ways
        if item.way.name != name
    ]
    static = replace(best, plan=replace(best.plan, group=_static(best.plan.group, 2)))
    found = replace(played, ways=(static, *unsafe), restart_ms=restart_ms, process_ids=(), doubts=())
    assert found.best_safe == static
    assert (found.margin_ms, found.back_within_ms) == (margin_ms, back_within_ms)


def test_a_group_goes_on_before_a_restart_if_one_of_its_assumptions_says_so(played: Bounces) -> None:
    other, goes_on = Note("typical-times", "Times are typical"), Note("goes-on", "A decision is known")
    for assumptions, is_going_on in (
        ((other,), False),
        ((other, goes_on), True),
        ((goes_on, other), True),
        ((), False),
    ):
        way = replace(played.ways[0], plan=replace(played.first, assumptions=assumptions))
        assert replace(played, ways=(way, *played.ways[1:])).goes_on is is_going_on


def test_every_way_is_played_with_the_options_that_are_given() -> None:
    found = bounce(one_standby(), 5_000, PlanOptions(assignor="balanced"))
    assert [way.way.name for way in found.ways] == ["default-close", "leave", "static", "surge"]
    assert {way.plan.assignor for way in found.ways} == {"balanced"}
    assert found.ways[-1].draws is not None
    assert all(way.settles for way in found.ways)
    assert not any(way.takes_proof for way in found.ways)
