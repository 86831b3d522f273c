"""May Connect workers stop? What nobody runs meanwhile is said in every form, and is what the plan says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kstream_plan
from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.errors import KstreamPlanError, ScenarioError, UsageError
from kstream_plan.live.conditions import Question, has_settled
from kstream_plan.model.answer import Answer
from kstream_plan.model.connect_group import SAME_ADDRESS, WORKER_SILENT
from kstream_plan.model.scenario import Leave, Return, Scenario
from kstream_plan.planner.options import PlanOptions
from kstream_plan.render.answers import page_of, to_json, to_markdown, to_table
from kstream_plan.simulation.drain_workers import (
    StandStill,
    WorkersDrained,
    _restarted,
    _stand_still,
    _worse,
    drain_workers,
)
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.snapshots.rows.fields import parse_time
from tests.helpers.connect_rows import even, row, snapshot
from tests.helpers.schemas import validator

DELAY_MS = 300_000
#: Until all have heard that somebody has gone.
HEARD_MS = 3_000


def _figures(item: dict[str, Any], *names: str) -> dict[str, tuple[int, int, int, int | None]]:
    found = drain_workers(snapshot(item), names)
    return {way.way: (way.items, way.longest_ms, way.item_ms, way.runs_after_ms) for way in found.ways}


def _facts(drained: WorkersDrained) -> dict[str, str]:
    return {fact.key: fact.value for fact in page_of(drained).facts}


def test_nothing_is_said_of_state_that_connectors_do_not_have() -> None:
    fields = {**even(3), "captured_at": "2026-11-22T12:00:00Z"}
    hour_later = PlanOptions(now_ms=parse_time("2026-11-22T13:00:00Z"))
    drained = drain_workers(snapshot(fields), ["w1"], hour_later)
    assert drained.ways[0].items
    assert "end-offsets-of-start" not in {line.code for line in page_of(drained).lines}


def test_what_a_worker_ran_is_run_by_nobody_until_the_delay_has_passed_whether_it_is_back_or_not() -> None:
    assert _figures(even(3), "w1") == {
        way: (5, waits_ms + HEARD_MS, 5 * (waits_ms + HEARD_MS), waits_ms + HEARD_MS)
        for way, waits_ms in (
            ("stopped", DELAY_MS),
            ("killed", DELAY_MS + 10_000),
            ("restarted", DELAY_MS),
            ("delay-60s", 60_000),
            ("delay-0s", 0),
        )
    }


def test_there_is_no_delay_for_what_the_leader_ran() -> None:
    found = _figures(even(3), "w0")
    assert found["stopped"] == (5, 3_000, 15_000, 3_000)
    assert found["killed"] == (5, 13_000, 65_000, 13_000)
    page = page_of(drain_workers(snapshot(even(3)), ["w0"]))
    assert page.answer is Answer.YES
    assert page.sentences[0] == "5 of 15 connectors and tasks start on other workers within about 3s."
    assert page.sentences[1].startswith("The group's leader stops, too, and the next one knows of no delay: ")


def test_if_the_leader_stops_with_others_the_worse_order_counts() -> None:
    found = drain_workers(snapshot(even(4)), ["w0", "w3"])
    assert found.in_turn
    assert [rnd.at_ms for rnd in found.plan.rounds][:2] == [0, HEARD_MS]
    assert {way.longest_ms for way in found.ways if way.way in ("stopped", "restarted")} == {DELAY_MS + 2 * HEARD_MS}
    page = page_of(found)
    assert page.answer is Answer.NO
    assert "the leader is assumed to stop first, which is worse" in page.sentences[1]
    assert [line.text.split(" (")[0] for line in page.lines if line.kind == "note"][:1] == [
        "The work of w3 stays unassigned for up to 5m"
    ]


@settings(max_examples=25)
@example(workers=5, busy=1, gone=(0, 1, 4), delay_ms=DELAY_MS, release=None)
@example(workers=4, busy=4, gone=(0, 1, 3), delay_ms=DELAY_MS, release=None)
@example(workers=4, busy=4, gone=(0, 3), delay_ms=0, release="3.5.1")
@given(
    workers=st.integers(3, 5),
    busy=st.integers(1, 5),
    gone=st.lists(st.integers(0, 4), min_size=2, max_size=3, unique=True),
    delay_ms=st.sampled_from([0, 60_000, DELAY_MS]),
    release=st.sampled_from([None, "3.5.1"]),
)
def test_in_whatever_order_workers_stop_nothing_stands_unassigned_for_longer(
    workers: int, busy: int, gone: Sequence[int], delay_ms: int, release: str | None
) -> None:
    """Of ``busy`` connectors each has a worker of its own, the last ones; who leads next may have nothing to do.

    Without a delay some releases assign what a worker ran only in the next rebalance, and nothing starts one.
    """
    names = [f"w{number}" for number in gone if number < workers]
    held = {f"w{number}": {f"c{number}": (-1, 0)} if number >= workers - busy else {} for number in range(workers)}
    connectors = {name: 1 for items in held.values() for name in items}
    config = {"scheduled_rebalance_max_delay_ms": delay_ms}
    if len(names) == workers or not names:
        return
    entry = replace(snapshot(row(connectors, held, config=config)), streams_version=release)
    found = drain_workers(entry, names)
    for order in permutations(names):
        leaves = [Leave(at_ms=HEARD_MS * place, process_ids=(name,)) for place, name in enumerate(order)]
        plan = plan_checked(entry, scenario=Scenario(events=tuple(leaves)))
        longest_ms = _stand_still("stopped", plan).longest_ms
        assert plan.verdict.kind == "settled" or found.answer is Answer.NO
        if plan.verdict.kind != "settled":
            continue
        assert longest_ms <= found.ways[0].longest_ms + 2 * HEARD_MS * len(names)
        together = plan_checked(entry, scenario=Scenario(events=(Leave(at_ms=0, process_ids=tuple(names)),)))
        assert longest_ms <= together.ends("max_paused_task_ms")[1] + 2 * HEARD_MS * len(names)
    if found.answer is Answer.YES:
        assert together.ends("max_paused_task_ms")[1] <= HEARD_MS


def test_a_check_of_a_leader_that_stops_with_others_is_no_yes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    group, policy = tmp_path / "group.json", tmp_path / "policy.yaml"
    group.write_text(json.dumps(even(4)))
    policy.write_text("version: 1\ndefaults: {max_pause_per_task: 1m}\n")
    asked = ["check", str(group), "--policy", str(policy), "--set", "now=2026-11-22T12:00:00Z"]
    assert run([*asked, "--remove", "w0"]) == 0
    capsys.readouterr()
    assert run([*asked, "--remove", "w3", "--remove", "w0"]) == 3
    assert "UNKNOWN: It is unknown whether 1 of 2 rules is kept" in capsys.readouterr().out


def test_by_the_eager_protocol_everything_stands_still_for_a_rebalance_and_nothing_waits() -> None:
    found = drain_workers(snapshot(even(3, config={"connect_protocol": "eager"})), ["w1"])
    assert [way.way for way in found.ways] == ["stopped", "killed", "restarted"]
    assert _facts(found)["others"] == f"{found.ways[0].items - 5} connectors and tasks pause too"
    assert page_of(found).sentences[1].startswith("Work of a worker that is gone is assigned at once")


def test_what_stands_still_already_counts_and_waiting_for_it_is_offered() -> None:
    running = even(3)
    gone = running["instances"].pop()
    running["instances"][0]["memory"] = {
        "previous": [group for item in [*running["instances"], gone] for group in item["held"]],
        "scheduled_at": "2026-11-22T12:01:00Z",
        "delay_ms": DELAY_MS,
        "generation": 12,
        "members": ["w0", "w1"],
    }
    found = drain_workers(snapshot(running), ["w1"])
    assert (found.ways[0].items, found.ways[0].longest_ms, found.ways[0].at_once) == (10, 63_000, 10)
    assert found.wait_ms == 63_000
    assert found.later is not None
    assert (found.later.items, found.later.longest_ms) == (7, DELAY_MS + HEARD_MS)
    assert _facts(found)["wait"] == ("about 1m03s, until the group has settled: 7 unassigned, at most 5m03s each")


def test_it_never_says_that_work_goes_on_while_it_stands_still() -> None:
    found = drain_workers(snapshot(even(3)), ["w1"])
    for answer in (to_table(found), to_markdown(found)):
        assert "5 of 15 connectors and tasks stand unassigned for up to 5m03s" in answer
        assert not {"warm", "cold", "safe", "stateful"}.intersection(answer.lower().split())
    document = json.loads(to_json(found))
    validator("drain-workers").validate(document)
    assert document["kind"] == "drain-workers"
    assert {item["pause_ms"] for item in document["items"]} == {DELAY_MS + HEARD_MS}
    with pytest.raises(UsageError, match="neither cold nor warm"):
        kstream_plan.drain(snapshot(even(3)), ["w1"])


@pytest.mark.parametrize(("names", "message"), [(["w7"], "no instance 'w7'"), (["w0", "w1"], "no instance is left")])
def test_nobody_of_that_name_and_nobody_left(names: list[str], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        drain_workers(snapshot(even()), names)


@given(
    workers=st.integers(2, 5),
    delay_ms=st.sampled_from([0, 1, 40, 60_000, DELAY_MS]),
    gone=st.sets(st.integers(0, 4), min_size=1, max_size=3),
)
def test_the_ways_are_what_simulations_say(workers: int, delay_ms: int, gone: set[int]) -> None:
    names = [f"w{number}" for number in sorted(gone) if number < workers]
    entry = snapshot(even(workers, config={"scheduled_rebalance_max_delay_ms": delay_ms}))
    try:
        found = drain_workers(entry, names)
    except KstreamPlanError:
        assert len(names) == workers
        return
    stopped = found.ways[0]
    assert stopped.item_ms == found.plan.summary.paused_task_ms
    assert stopped.at_once == found.plan.pauses.most_at_once
    assert sum(item.pause_ms for item in found.items) == stopped.item_ms
    assert len(found.items) == 5 * len(names)
    assert all(item.destination not in (None, *names) for item in found.items)
    assert stopped.longest_ms >= (delay_ms if "w0" not in names else 0) + HEARD_MS if names else True


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (snapshot(even(3)),))
    for form, start in (
        ("table", "╭─ live: stop w1"),
        ("markdown", "### live: stop w1"),
        ("json", '{"answer":"no",'),
    ):
        out = tmp_path / form
        assert run(["drain", "x.json", "w1", "--output", form, "--out", str(out)]) == 0
        assert capsys.readouterr().out.startswith(start)
        validator("drain-workers").validate(json.loads(out.read_text(encoding="utf-8")))
    assert run(["drain", "x.json", "w1", "--require-warm"]) == 2
    assert "max_pause_per_task" in capsys.readouterr().err


def test_who_is_back_has_a_new_member_id_and_the_worst_of_several_counts() -> None:
    item = even(4)
    for place, one in enumerate(item["instances"]):
        one["process_id"] = f"connect-h{place}:8083-{place:08x}-571c-4eee-96be-fa395e3c536c"
        one["host"] = f"h{place}:8083"
    found = snapshot(item)
    events = (Leave(at_ms=0, process_ids=("h0:8083",)), Return(at_ms=60_000, process_ids=("h0:8083",)))
    plans = [with_random_ids(Scenario(events=events), found.state.group, draw) for draw in range(10)]
    assert len({event.new_process_ids for each in plans for event in each.events if isinstance(event, Return)}) == 10
    in_all = [plan_checked(found, scenario=each).summary.paused_task_ms for each in plans]
    (back,) = (way for way in drain_workers(found, ["h0:8083"]).ways if way.way == "restarted")
    assert back.item_ms == max(in_all)


def test_who_leads_is_unknown_where_rest_alone_was_asked() -> None:
    led = even(3)
    unled = {
        **led,
        "exact": False,
        "instances": [{key: instance[key] for key in instance if key != "leader"} for instance in led["instances"]],
    }
    assert drain_workers(snapshot(led), ["w0"]).doubts == ()
    found = drain_workers(snapshot(unled), ["w0"])
    (doubt,) = found.doubts
    assert (doubt.code, doubt.message) == (
        "leader-unknown",
        "Who leads, and whether a delay runs already, is unknown: the workers' logs tell (snapshot FILE)",
    )
    assert not found.leader_stops
    assert found.answer is Answer.NO
    at_once = drain_workers(snapshot({**unled, "config": {"scheduled_rebalance_max_delay_ms": 0}}), ["w1"])
    assert (at_once.ways[0].longest_ms, at_once.answer) == (HEARD_MS, Answer.UNKNOWN)


def test_work_that_may_wait_for_an_unknown_delay_is_no_yes() -> None:
    rest = even(3)
    idle = rest["instances"][1]
    rest["instances"][2]["held"] += idle.pop("held")
    everywhere = drain_workers(snapshot(rest), [idle["process_id"]])
    assert (everywhere.doubts, everywhere.answer) == ((), Answer.YES)
    rest["instances"][2]["held"] = []
    found = drain_workers(snapshot(rest), [idle["process_id"]])
    (doubt,) = found.doubts
    assert doubt.code == "delay-unknown"
    assert found.answer is Answer.UNKNOWN
    assert "are unassigned" in page_of(found).sentences[0]


def _draws(workers: int, stops: Sequence[Leave], *, random: bool) -> list[tuple[Any, ...]]:
    item = even(workers)
    for place, one in enumerate(item["instances"]):
        if random:
            one["process_id"] = f"connect-h{place}:8083-{place:08x}-571c-4eee-96be-fa395e3c536c"
            one["host"] = f"h{place}:8083"
    return list(_restarted(snapshot(item), stops))


@pytest.mark.parametrize("who", [["w0"], ["w1"]])
@pytest.mark.parametrize("doubt", [WORKER_SILENT, SAME_ADDRESS])
def test_work_that_may_go_to_a_worker_that_is_gone_is_no_yes(doubt: str, who: list[str]) -> None:
    """Without a delay others start it within a heartbeat interval, unless they are not there."""
    item = even(4, config={"scheduled_rebalance_max_delay_ms": 0})
    options = PlanOptions(now_ms=parse_time(item["captured_at"]))
    assert drain_workers(snapshot(item), who, options).answer is Answer.YES
    for worker in item["instances"][2:]:
        worker.update({"answered": False} if doubt == WORKER_SILENT else {"host": "10.0.0.1:8083"})
    read = snapshot(item)
    drained = drain_workers(read, who, options)
    assert drained.answer is Answer.UNKNOWN
    assert [note.code for note in drained.doubts] == [doubt]
    assert has_settled(read, Question((), 0, options)).answer is Answer.UNKNOWN


def test_who_is_back_after_a_minute_is_drawn_as_often_as_is_worth_while() -> None:
    ids = [f"connect-h{place}:8083-{place:08x}-571c-4eee-96be-fa395e3c536c" for place in range(2)]
    first, then = Leave(at_ms=0, process_ids=(ids[0],)), Leave(at_ms=3_000, process_ids=(ids[1],))
    draws = _draws(3, [first, then], random=True)
    assert len(draws) == 10
    for events in draws:
        *stops, back = events
        assert stops == [first, then]
        assert isinstance(back, Return)
        assert (back.at_ms, len(back.process_ids)) == (60_000, 2)
    (same,) = _draws(3, [Leave(at_ms=0, process_ids=("w0",))], random=False)
    assert same[1:] == (Return(at_ms=60_000, process_ids=("w0",)),)


def test_of_several_restarts_the_worst_is_what_never_settles_then_what_stands_still_most() -> None:
    way = StandStill("restarted", 2, 5, 1_000, 9_000, 3, 1_000)
    ordered = [
        way,
        way._replace(longest_ms=2_000),
        way._replace(item_ms=9_001, longest_ms=0),
        way._replace(runs_after_ms=None, item_ms=0, longest_ms=0),
    ]
    for few in permutations(ordered):
        assert sorted(few, key=_worse) == ordered


def test_waiting_counts_what_stands_still_after_that_alone() -> None:
    result = drain_workers(snapshot(even(3)), ["w1"]).plan
    whole, rest = _stand_still("stopped", result), _stand_still("stopped", result, DELAY_MS)
    assert (whole.items, rest.items, whole.rebalances) == (5, 5, len(result.rounds))
    assert rest.runs_after_ms == (whole.runs_after_ms or 0) - DELAY_MS
    later_ms = result.rounds[-1].at_ms + 1
    nothing = _stand_still("stopped", result, later_ms)
    assert nothing == StandStill("stopped", 0, 0, 0, 0, 0, 0)
    assert _stand_still("stopped", result, result.rounds[-1].at_ms).rebalances == 1
    unsettled = replace(result, verdict=replace(result.verdict, kind="unfinished"))
    assert _stand_still("stopped", unsettled).runs_after_ms is None


@pytest.mark.parametrize(
    ("delay_ms", "others"),
    [(0, []), (1, ["delay-0s"]), (60_000, ["delay-0s"]), (60_001, ["delay-60s", "delay-0s"])],
)
def test_shorter_delays_are_shown_beside_the_one_that_is_set(delay_ms: int, others: list[str]) -> None:
    found = drain_workers(snapshot(even(3, config={"scheduled_rebalance_max_delay_ms": delay_ms})), ["w1"])
    assert [way.way for way in found.ways] == ["stopped", "killed", "restarted", *others]
    assert found.waits


@pytest.mark.parametrize(("longest_ms", "answer"), [(HEARD_MS, Answer.YES), (HEARD_MS + 1, Answer.NO)])
def test_what_nobody_runs_for_longer_than_all_need_to_hear_of_it_is_a_no(longest_ms: int, answer: Answer) -> None:
    found = drain_workers(snapshot(even(3)), ["w0"])
    stopped = found.ways[0]._replace(longest_ms=longest_ms)
    assert replace(found, ways=(stopped, *found.ways[1:])).answer is answer
    never = stopped._replace(longest_ms=0, runs_after_ms=None)
    assert replace(found, ways=(never, *found.ways[1:])).answer is Answer.NO


def test_the_moment_that_is_asked_of_is_told() -> None:
    at_ms = 1_795_348_800_000 + 1_000
    assert drain_workers(snapshot(even(3)), ["w1"], PlanOptions(now_ms=at_ms)).time == "2026-11-22T12:00:01.000Z"
    undated = {**even(3), "captured_at": None}
    assert drain_workers(snapshot(undated), ["w1"]).time is None
