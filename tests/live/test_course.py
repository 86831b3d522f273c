"""Following a recorded group, generation by generation: what came as planned, what is due, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.answers.formats import document_of
from kstream_plan.documents.history import with_generations
from kstream_plan.live.conditions import copies_to_catch_up
from kstream_plan.live.course import Course, Follower, Stage
from kstream_plan.live.events import Event, EventKind, events
from kstream_plan.model import UNKNOWN, Copy, Holding, Snapshot
from kstream_plan.model.scenario import Bounce, ConfigChange, Join, Leave, NewInstance, Scenario
from kstream_plan.model.times import format_time
from kstream_plan.plans import Plan
from kstream_plan.render.answers import to_json
from kstream_plan.render.pages.follow import follow_message, follow_page, follow_remarks
from kstream_plan.render.terminal import to_terminal
from kstream_plan.simulation.simulate import simulate
from kstream_plan.snapshots.leader_log.history import checked_rows
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import recorded_events, streams_rows
from tests.helpers.goldens import assert_golden
from tests.helpers.recorded_events import BY_NAME
from tests.helpers.schemas import validator

EVERY_MS = 5_000
EXAMPLES = Path(__file__).parents[2] / "examples"


def rows_of(group: str) -> Sequence[Mapping[str, Any]]:
    return with_generations(checked_rows(recorded_events.generations(group)))


def followed(name: str) -> Iterator[tuple[Course | None, Course]]:
    """Follow an event from its first generation on, asked every five seconds; yield each course and that before."""
    event = BY_NAME[name]
    rows = [row for row in rows_of(event.group) if parse_time(row["captured_at"]) > event.at_ms - 1]
    rows = rows[: event.generations]
    before = [row for row in rows_of(event.group) if parse_time(row["captured_at"]) < event.at_ms]
    follower, last = Follower(recorded_events.planned(event)), None
    now_ms = event.at_ms
    while last is None or (last.stage is Stage.GOES_ON and now_ms < event.at_ms + 3_600_000):
        known = [row for row in rows if parse_time(row["captured_at"]) <= now_ms]
        newest = [*before, *known][-1]
        course = follower.take(snapshot_from_row(newest, ""), known, now_ms)
        yield last, course
        last, now_ms = course, now_ms + EVERY_MS


def events_of(name: str) -> list[Event]:
    return [event for before, course in followed(name) for event in events(before, course)]


def first_event(course: Course) -> Event:
    return next(iter(events(None, course)))


@pytest.mark.parametrize("name", ["fresh", "drain", "two"])
def test_each_generation_is_an_event_once_and_at_its_poll(name: str) -> None:
    happened = events_of(name)
    rebalances = [event for event in happened if event.kind is EventKind.REBALANCE]
    assert [event.pair.number for event in rebalances if event.pair] == list(range(1, BY_NAME[name].generations + 1))
    for event in rebalances:
        assert event.pair is not None
        assert event.pair.recorded_generation is not None
        assert 0 <= event.at_ms - event.pair.recorded_generation.at_ms < EVERY_MS
    assert [event.kind for event in happened].count(EventKind.BEGIN) == 1
    assert happened[0].kind is EventKind.BEGIN
    assert happened[-1].kind is EventKind.END


def test_a_group_that_did_as_planned_ends_so() -> None:
    last = events_of("drain")[-1]
    assert last.course is not None
    assert (last.course.stage, last.course.due) == (Stage.AS_PLANNED, [])


def test_a_group_that_did_otherwise_ends_so() -> None:
    """A plan of nothing, and a group that an instance leaves."""
    event = BY_NAME["drain"]
    rows = [row for row in rows_of(event.group) if parse_time(row["captured_at"]) > event.at_ms][: event.generations]
    before = [row for row in rows_of(event.group) if parse_time(row["captured_at"]) < event.at_ms]
    follower = Follower(None)
    begun = follower.take(snapshot_from_row(before[-1], ""), before[-1:], parse_time(before[-1]["captured_at"]))
    assert begun.stage is Stage.AS_PLANNED
    assert not begun.plan.rounds
    newest_ms = parse_time(rows[-1]["captured_at"])
    late = follower.take(snapshot_from_row(rows[-1], ""), rows, newest_ms + 600_000)
    assert late.stage is Stage.GOES_ON, "by then it may have gone on"
    assert "is unknown" in follow_page(first_event(late)).sentences[-1]
    later = follower.take(snapshot_from_row(rows[-1], ""), rows, newest_ms + 5_000)
    assert later.stage is Stage.OTHERWISE


def test_from_half_way_on_the_end_is_known_within_a_tenth() -> None:
    courses = [course for _, course in followed("drain")]
    assert courses[-1].comparison is not None
    ended_ms = courses[-1].comparison.starts_ms + (courses[-1].comparison.recorded_pairs[-1].seen_ms or 0)
    begun_ms = courses[0].at_ms
    looked_at = 0
    for course in courses:
        is_half_way = begun_ms + (ended_ms - begun_ms) / 2 <= course.at_ms < ended_ms
        if is_half_way and course.comparison is not None:
            looked_at += 1
            assert course.ends_ms is not None
            assert abs(course.ends_ms - ended_ms) <= max((ended_ms - begun_ms) / 10, 5_000)
    assert looked_at


def test_what_was_planned_to_happen_later_is_waited_for() -> None:
    """Before the instance has gone the group has settled, and nothing of the plan has come."""
    first = next(iter(followed("drain")))[1]
    assert first.stage is Stage.GOES_ON
    assert first.comparison is None
    assert len(first.due) == BY_NAME["drain"].generations


def test_events_are_as_their_schema_says() -> None:
    schema = validator("follow")
    for event in events_of("drain"):
        document = json.loads(to_json(event))
        schema.validate(document)
        assert document["message"] == follow_message(event)
    assert document_of("follow").kind == "follow"


def test_the_last_event_says_what_is_assumed_as_diff_does() -> None:
    last = events_of("drain")[-1]
    assert last.course is not None
    assert last.course.comparison is not None
    remarks = last.course.comparison.remarks
    assert follow_remarks(last) == remarks
    document = json.loads(to_json(last))
    assert [note["message"] for note in document["assumptions"]] == [note.message for note in remarks.assumptions]


def test_what_people_see() -> None:
    lines = [follow_message(event) for event in events_of("drain")]
    assert_golden("follow/drain.txt", "".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_page_of_a_group_that_goes_on(width: int) -> None:
    courses = [course for _, course in followed("two")]
    course = courses[len(courses) // 2]
    event = Event(kind=EventKind.REBALANCE, at_ms=course.at_ms, application_id="two", course=course)
    assert_golden(f"follow/page-{width}.txt", to_terminal(follow_page(event), width=width))


def test_memory_does_not_grow_with_looks_at_which_nothing_happens() -> None:
    """A day of polls of a group that has settled."""
    rows = rows_of("bounce")
    follower, snapshot = Follower(recorded_events.planned(BY_NAME["drain"])), snapshot_from_row(rows[-1], "")
    at_ms = parse_time(rows[-1]["captured_at"])
    sizes = []
    for poll in range(17_280):
        follower.take(snapshot, [], at_ms + poll * EVERY_MS)
        if poll in (10, 17_279):
            sizes.append(len(follower._recorded) + len(follower._most))
    assert sizes[0] == sizes[1]


def test_copies_that_catch_up_are_named_once() -> None:
    caught_up = [(copy.task_id, copy.process_id) for each in events_of("big4") for copy in each.caught_up]
    assert caught_up
    assert len(set(caught_up)) == len(caught_up)


def test_a_copy_that_starts_its_task_behind_has_not_caught_up() -> None:
    """The owner has gone, and the warm-up that takes over lacks more than ``acceptable.recovery.lag``."""
    happened = list(followed("big4"))
    before, course = next(pair for pair in happened if pair[0] and pair[0].restoring)
    assert before is not None
    copy, snapshot = before.restoring[0], before.snapshot
    group = snapshot.state.group
    task, instance = group.task_index[copy.task_id], group.instance_index[copy.process_id]
    consumer = group.consumers_of[instance][0]
    holdings = list[Holding]()
    for place, held in enumerate(snapshot.assigned):
        active, standby, warmup, temporary = (tuple(each for each in role if each != task) for role in held)
        holdings.append(Holding((*active, task) if place == consumer else active, standby, warmup, temporary))
    started = replace(snapshot, decision=None, state=replace(snapshot.state, holdings=tuple(holdings)))
    rest = tuple(each for each in before.restoring if each.task_id != copy.task_id)
    after = replace(course, snapshot=started, restoring=rest)
    assert not [event for event in events(before, after) if event.kind is EventKind.CAUGHT_UP]


@pytest.mark.parametrize("is_least", [False, True])
def test_a_copy_of_which_too_little_is_known_has_not_caught_up(is_least: bool) -> None:
    """Its offset could not be told (Kafka's marker), or only the least that it is behind."""
    snapshot = snapshot_from_row(rows_of("bounce")[-1], "")
    event, group = BY_NAME["drain"], snapshot.state.group
    seat = next(iter(copies_to_catch_up(snapshot)))
    copies = list(snapshot.state.copies)
    others = tuple(copy for copy in copies[seat[0]] if copy.instance != seat[1])
    copies[seat[0]] = (*others, Copy(seat[1], 0 if is_least else UNKNOWN, (), 0, 0, False))
    told = replace(snapshot, state=replace(snapshot.state, copies=tuple(copies)))
    told = replace(told, least_lags=frozenset([seat]) if is_least else frozenset())
    known = replace(told, least_lags=frozenset())
    name = group.tasks[seat[0]].task_id, group.instances[seat[1]].process_id

    def courses(*seen: Snapshot) -> list[Course]:
        follower = Follower(recorded_events.planned(event))
        return [follower.take(each, [], parse_time(str(snapshot.captured_at)) + 5_000) for each in seen]

    before, after = courses(told, told)
    assert [copy.lag for copy in before.restoring if (copy.task_id, copy.process_id) == name] == [None]
    assert not [each for each in events(before, after) if each.kind is EventKind.CAUGHT_UP]
    unlisted = events(before, replace(after, restoring=()))
    assert not [each for each in unlisted if each.kind is EventKind.CAUGHT_UP and name in _names_of(each)]
    if is_least:
        assert EventKind.CAUGHT_UP in {each.kind for each in events(*courses(told, known))}


def _names_of(event: Event) -> list[tuple[object, str]]:
    return [(copy.task_id, copy.process_id) for copy in event.caught_up]


def ended(row: Mapping[str, Any], plan: Plan, *, elsewhere: bool = False) -> Snapshot:
    """Return a Connect group as it is at the end of a plan; ``elsewhere``: two workers have each other's tasks."""
    final = list(plan.final)
    if elsewhere:
        final[0], final[-1] = final[-1], final[0]
    workers = []
    for instance, holding in zip(plan.group.instances, final, strict=True):
        items = dict[str, list[int]]()
        for task in holding.active:
            name = str(plan.group.tasks[task].task_id)
            connector, number = (name[:-12], -1) if name.endswith(" (connector)") else name.rsplit("-", 1)
            items.setdefault(connector, []).append(int(number))
        held = [{"connector": connector, "items": numbers} for connector, numbers in sorted(items.items())]
        workers.append({"process_id": instance.process_id, "leader": instance.process_id == "w0", "held": held})
    return snapshot_from_row({**row, "instances": workers}, "")


def test_what_is_planned_to_happen_to_workers_is_waited_for() -> None:
    """Two restarts, after which the workers are those of before: each takes a minute."""
    row = json.loads((EXAMPLES / "connect" / "ten-workers.json").read_text(encoding="utf-8"))
    snapshot = snapshot_from_row(row, "")
    restarts = Bounce(at_ms=600_000, process_ids=("w0", "w1"), restart_ms=60_000, pause_ms=60_000)
    plan = simulate(snapshot, Scenario(events=(restarts,)), number_of_draws=1).plan
    rest = [{**worker, "leader": worker["process_id"] == "w1"} for worker in row["instances"][1:]]
    away = snapshot_from_row({**row, "instances": rest}, "")
    follower, now_ms = Follower(plan), parse_time(row["captured_at"])

    def stage(seen: Snapshot, after_ms: int) -> Stage:
        seen = replace(seen, captured_at=format_time(now_ms + after_ms))
        return follower.take(seen, [], now_ms + after_ms).stage

    assert stage(snapshot, 0) is Stage.GOES_ON, "no worker has restarted yet"
    assert stage(snapshot, 900_000) is Stage.GOES_ON, "they may restart later than planned"
    assert stage(away, 905_000) is Stage.GOES_ON
    assert stage(snapshot, 1_000_000) is Stage.GOES_ON, "the second one has not restarted yet"
    assert stage(snapshot, 1_200_000) is Stage.OTHERWISE


@pytest.mark.parametrize("standbys", [0, 1])
def test_settings_that_are_planned_to_change_are_waited_for(standbys: int) -> None:
    """A streams group: its epoch tells that something has happened to it."""
    seats = {
        name: [{"consumer_id": f"{name}1", "position": place, "active": [f"0_{place}"]}]
        for place, name in enumerate("ab")
    }
    row = streams_rows.row("4.3", seats, {"0": (2, True, 20_000)})
    change = ConfigChange(at_ms=600_000, settings=(("streams_num_standby_replicas", standbys),))
    join = Join(at_ms=0, instances=streams_rows.joining("c"))
    leave = Leave(at_ms=60_000, process_ids=("c",))
    events_of_plan = (change,) if standbys else (join, leave)
    snapshot = streams_rows.snapshot(row)
    follower = Follower(simulate(snapshot, Scenario(events=events_of_plan), number_of_draws=1).plan)
    now_ms = parse_time(row["captured_at"])
    assert follower.take(snapshot, [], now_ms).stage is Stage.GOES_ON
    later = streams_rows.snapshot({**row, "generation": 14, "captured_at": format_time(now_ms + 300_000)})
    assert follower.take(later, [], now_ms + 300_000).stage in ((Stage.AS_PLANNED,) if standbys else (Stage.GOES_ON,))
    later = replace(later, captured_at=format_time(now_ms + 400_000))
    assert follower.take(later, [], now_ms + 400_000).stage in (Stage.AS_PLANNED, Stage.OTHERWISE)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_group_whose_rebalances_nobody_records_is_held_against_the_end(elsewhere: bool) -> None:
    """Connect by its REST interface: a worker joins."""
    row = json.loads((EXAMPLES / "connect" / "ten-workers.json").read_text(encoding="utf-8"))
    snapshot = snapshot_from_row(row, "")
    plan = simulate(snapshot, Scenario(events=(Join(at_ms=0, instances=(NewInstance(),)),)), number_of_draws=1).plan
    follower, now_ms = Follower(plan), parse_time(row["captured_at"])
    begun = follower.take(snapshot, [], now_ms)
    assert begun.stage is Stage.GOES_ON, "the worker has not joined"
    last = follower.take(ended(row, plan, elsewhere=elsewhere), [], now_ms + EVERY_MS)
    assert last.stage is (Stage.OTHERWISE if elsewhere else Stage.AS_PLANNED)
    kinds = [event.kind for event in events(begun, last)]
    assert kinds == [EventKind.MOVED, EventKind.END]
    for event in events(begun, last):
        validator("follow").validate(json.loads(to_json(event)))
        assert to_terminal(follow_page(event))
    message = follow_message(list(events(begun, last))[-1])
    assert ("elsewhere than planned" in message) is elsewhere
    assert ("every task is assigned where planned" in message) is not elsewhere
