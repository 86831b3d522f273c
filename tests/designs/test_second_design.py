"""A design that has nothing in common with the classic protocol is played by the same loop into the same plan."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.cli import run
from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Join, Leave, Return, Scenario, Stop
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan import check_invariants, plan
from kstream_plan.plans import HandOver, MemberUpdate, Phase, Plan, Revoke, Round, Trigger, Withhold
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.plans.replay import replay
from kstream_plan.render.answers import to_markdown as markdown
from kstream_plan.render.answers import to_table as simulation_table
from kstream_plan.render.answers import to_table as table
from kstream_plan.simulation import one_plan
from kstream_plan.simulation.simulate import simulate
from tests.helpers.relay import BEAT_MS, PatientRelay, Pin, Relay, Wanted, group_of, member, who_runs
from tests.helpers.schemas import validator


def _play(snapshot: Snapshot, *events: Any) -> Plan:
    result = plan(snapshot, Relay(), scenario=Scenario(events=events) if events else None, on_played=check_invariants)
    replayed = replay(result.group, result.initial, (rnd.steps for rnd in result.rounds))
    assert [(rnd.decided, rnd.assigned) for rnd in result.rounds] == list(replayed)
    document = plan_json(result)
    validator("plan").validate(json.loads(document))
    assert read_plans(document.encode(), "saved") == [result]
    return result


def _join(at_ms: int, *names: str) -> Join:
    return Join(at_ms=at_ms, instances=tuple(map(member, names)))


def _story(rnd: Round) -> list[str]:
    """When which item stops and starts where."""
    return [
        f"{at_ms} {'-' if isinstance(step, Revoke) else '+'}{step.task_id}"
        for at_ms, steps in rnd.moments
        for step in steps
        if isinstance(step, Revoke | HandOver)
    ]


def test_members_take_over_one_by_one_on_their_own_timers() -> None:
    result = _play(group_of(m1="abc", m2="def"), _join(1_000, "m3"))
    (rnd,) = result.rounds
    assert (rnd.at_ms, rnd.trigger, rnd.generation) == (1_000, Trigger.JOIN, 8)
    assert [step.task_id.name for step in rnd.steps if isinstance(step, Withhold)] == ["c", "f"]
    assert who_runs(rnd.decided, result.group) == {"m1": "ab", "m2": "de", "m3": "cf"}
    assert rnd.turns == (
        MemberUpdate(1_400, "m2", "m2", 3),
        MemberUpdate(2_100, "m3", "m3", 4),
        MemberUpdate(5_700, "m1", "m1", 5),
        MemberUpdate(7_100, "m3", "m3", 6),
    )
    assert _story(rnd) == ["1400 -f", "2100 +f", "5700 -c", "7100 +c"]
    assert rnd.phases == (Phase.CUT_OVER, Phase.SETTLED)
    assert who_runs(result.final, result.group) == {"m1": "ab", "m2": "de", "m3": "cf"}
    assert [(str(pause.task_id), *pause[1:]) for pause in result.pauses] == [("f", 1_400, 2_100), ("c", 5_700, 7_100)]
    summary = result.summary
    assert (result.verdict.kind, summary.duration_ms, summary.moves, summary.hops) == ("settled", 7_100, 2, 2)
    assert (summary.lower_bounds.moves, summary.cold_handovers, summary.restored_records) == (2, 0, 0)


def test_a_plan_says_which_design_and_releases_it_models() -> None:
    result = _play(group_of(m1="ab", m2=""))
    assert (result.design, result.models, result.assignor, result.protocol) == (
        "relay",
        "Relays 1-2",
        "relay",
        "one-by-one",
    )
    document = json.loads(plan_json(result))
    assert (document["tool"]["design"], document["tool"]["models"]) == ("relay", "Relays 1-2")
    assert [turn["at_ms"] for turn in document["rounds"][0]["turns"]] == [700, 1_400]
    assert "relay" in table(result)


def test_a_group_that_is_even_is_left_alone() -> None:
    result = _play(group_of(m1="ab", m2="cd"))
    assert (result.rounds, result.verdict.kind) == ((), "settled")


def test_nothing_is_said_of_probes_where_there_are_none() -> None:
    settled, moving = _play(group_of(m1="ab", m2="cd")), _play(group_of(m1="abc", m2="def"), _join(1_000, "m3"))
    for result in (settled, moving):
        assert not result.probes
        assert not any("probe" in table(result, width=width, verbose=True) for width in (60, 80, 120))
        assert "probe" not in markdown(result, verbose=True)


def test_who_leaves_in_the_middle_leaves_what_it_still_had_to_hand_on() -> None:
    result = _play(group_of(m1="abc", m2="def"), _join(1_000, "m3"), Leave(at_ms=4_000, process_ids=("m1",)))
    first, second = result.rounds
    assert _story(first) == ["1400 -f", "2100 +f"]
    assert who_runs(first.decided, result.group) == {"m1": "ab", "m2": "de", "m3": "cf"}
    assert who_runs(first.assigned, result.group) == {"m1": "abc", "m2": "de", "m3": "f"}
    assert (second.at_ms, second.trigger) == (4_000, Trigger.LEAVE)
    assert _story(second) == ["4000 +a", "4000 +b", "4000 +c"]
    assert {(pause.from_ms, pause.to_ms) for pause in result.pauses} == {(1_400, 2_100), (4_000, 4_000)}


def test_others_go_on_while_the_group_does_not_know_that_one_has_crashed() -> None:
    """m1's timer does not ring any more: what it had to hand on waits until its session has timed out."""
    crash = Stop(at_ms=2_000, process_ids=("m1",), crash=True)
    result = _play(group_of(m1="abc", m2="def"), _join(1_000, "m3"), crash)
    first, second = result.rounds
    assert _story(first) == ["1400 -f", "2100 +f"]
    assert (second.at_ms, second.trigger) == (47_000, Trigger.LEAVE)
    assert {(str(pause.task_id), pause.length_ms) for pause in result.pauses} >= {("a", 45_000), ("c", 45_000)}


def test_an_event_that_only_the_design_knows_reaches_it() -> None:
    pin = Pin(at_ms=3_000, item="a", process_id="m2", where="by hand")
    result = _play(group_of(m1="ab", m2="cd"), pin)
    (rnd,) = result.rounds
    assert (rnd.at_ms, rnd.trigger) == (3_000, Trigger.CONFIG_CHANGE)
    assert who_runs(result.final, result.group) == {"m1": "bd", "m2": "ac"}
    assert _play(group_of(m1="ab", m2="cd"), replace(pin, item="b")).digest != result.digest


def test_a_design_may_keep_who_leaves_until_it_has_handed_on_everything() -> None:
    leave = Scenario(events=(Leave(at_ms=1_000, process_ids=("m1",)),))
    result = plan(group_of(m1="abc", m2="def", m3="gh"), PatientRelay(), scenario=leave, on_played=check_invariants)
    (rnd,) = result.rounds
    assert (rnd.at_ms, rnd.trigger) == (1_000, Trigger.LEAVE)
    assert _story(rnd) == ["5700 -a", "5700 -b", "5700 -c", "6400 +b", "7100 +a", "7100 +c"]
    assert [(step.process_id, step.stopped_at_ms) for step in rnd.member_steps] == [("m1", 5_700)]
    assert result.members == (("m2", 1), ("m3", 1))
    assert len(result.target.active) == 3
    assert max(pause.length_ms for pause in result.pauses) == 1_400


def test_what_was_under_way_before_the_plan_goes_on() -> None:
    before = group_of(m1="abc", m2="")
    left = replace(before, state=replace(before.state, memory=Wanted(((0, 1), (2,)))))
    result = _play(left)
    (rnd,) = result.rounds
    assert (rnd.at_ms, rnd.trigger, rnd.generation) == (700, Trigger.FOLLOW_UP, 7)
    assert _story(rnd) == ["700 -c", "1400 +c"]
    assert result.digest != _play(before).digest


def test_invariants_know_the_times_of_turns() -> None:
    result = _play(group_of(m1="abc", m2="def"), _join(1_000, "m3"))
    (rnd,) = result.rounds

    def broken(changed: Round) -> set[str]:
        return {one.invariant for one in broken_invariants(replace(result, rounds=(changed,)))}

    assert broken(rnd) == set()
    at_once = tuple(turn._replace(first=len(rnd.steps)) for turn in rnd.turns)
    assert "no-second-owner" in broken(replace(rnd, turns=at_once))
    assert "rounds-in-order" in broken(replace(rnd, turns=rnd.turns[::-1]))


_NAMES = [f"m{number}" for number in range(1, 7)]


@st.composite
def _scenarios(draw: st.DrawFn) -> tuple[Snapshot, list[Any]]:
    """A group of some of six members, who come and go while items are pinned to anybody."""
    first = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=4, unique=True))
    items = draw(st.sampled_from(["a", "abc", "abcdefgh"]))
    snapshot = group_of(**{name: items if name == first[0] else "" for name in first})
    here, gone, events, at_ms = set(first), set[str](), list[Any](), 0
    for step_ms in draw(st.lists(st.integers(0, 2 * BEAT_MS), max_size=6)):
        at_ms += step_ms
        kind, name = draw(st.sampled_from(["come", "leave", "crash", "pin"])), draw(st.sampled_from(_NAMES))
        if kind == "pin":
            events.append(Pin(at_ms=at_ms, item=draw(st.sampled_from(items)), process_id=name))
        elif kind == "come" and name in gone:
            events.append(Return(at_ms=at_ms, process_ids=(name,)))
        elif kind == "come" and name not in here:
            events.append(_join(at_ms, name))
        elif kind != "come" and name in here and len(here) > 1:
            end = Leave if kind == "leave" else Stop
            events.append(end(at_ms=at_ms, process_ids=(name,)))
        else:
            continue
        if kind == "come":
            here.add(name)
            gone.discard(name)
        elif kind in ("leave", "crash"):
            here.remove(name)
            gone.add(name)
    return snapshot, events


@given(scenario=_scenarios())
def test_every_plan_keeps_every_invariant_and_settles(scenario: tuple[Snapshot, list[Any]]) -> None:
    snapshot, events = scenario
    result = _play(snapshot, *events)
    assert result.verdict.kind == "settled"
    assert sorted("".join(who_runs(result.final, result.group).values())) == [
        str(task.task_id) for task in snapshot.state.group.tasks
    ]
    assert plan(snapshot, Relay(), scenario=Scenario(events=tuple(events))) == plan(
        snapshot, Relay(), scenario=Scenario(events=tuple(events))
    )


def test_a_saved_simulation_is_shown_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one line in the registry everything else serves the design."""
    monkeypatch.setattr(one_plan, "DESIGNS", {"relay": lambda _options: Relay()})
    monkeypatch.setattr(one_plan, "OF_GROUP_PROTOCOL", {"classic": ("relay",)})
    rolling = Scenario(events=(_join(1_000, "m3"), Stop(at_ms=20_000, process_ids=("m1",), crash=True)))
    simulated = simulate(group_of(m1="abc", m2="def"), rolling, PlanOptions(design="relay"), number_of_draws=2)
    saved = tmp_path / "saved.json"
    saved.write_text(simulation_json(simulated))
    assert run(["show", str(saved)]) == 0
    printed = capsys.readouterr().out
    assert printed == simulation_table(simulated)
    assert "probe" not in printed
    assert run(["show", str(saved), "--task", "f", "--instance", "m3"]) == 0
    shown = capsys.readouterr().out
    assert "f is active on m2" in shown
