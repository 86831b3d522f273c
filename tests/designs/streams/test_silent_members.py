"""Members of streams groups that were told to give up tasks and never say that they have: who waits, until when."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Rates, Snapshot
from kstream_plan.model.scenario import Join, Leave, Scenario, Stop
from kstream_plan.model.streams_group import BrokerGroup, TaskNames
from kstream_plan.plans import CauseCode, HandOver, Plan, Revoke, Trigger
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard, Status
from kstream_plan.policy.limits import Policy
from kstream_plan.policy.rules import RULES, MeasuredPlan
from kstream_plan.render.answers import page_of
from kstream_plan.simulation.one_plan import plan_checked
from tests.helpers.streams_rows import joining, row, snapshot

_TWO_MINUTES_AGO = "2026-11-22T11:58:00Z"
_NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def waiting(target_at: str | None, release: str = "4.3", **fields: Any) -> Snapshot:
    """``m-a`` was told to give up 0_1, which ``m-b`` waits for."""
    seats = {
        "a": [{"consumer_id": "m-a", "position": 0, "active": ["0_0", "0_2"], "member_epoch": 12,
               "member_state": "UNREVOKED_TASKS", "revoking": {"active": ["0_1"]},
               "target": {"active": ["0_0", "0_2"]}}],
        "b": [{"consumer_id": "m-b", "position": 1, "active": ["0_3"], "member_epoch": 13,
               "member_state": "UNRELEASED_TASKS", "target": {"active": ["0_1", "0_3"]}}],
    }  # fmt: skip
    shape = {"generation": 13, "target_epoch": 13, "group_state": "Reconciling", "target_at": target_at}
    result = snapshot(row(release, seats, {"0": (4, True, 60_000)}, **shape, **fields))
    return replace(result, rates=Rates(restore_per_instance=1_000.0))


def play(snapshot: Snapshot, *events: Any) -> Plan:
    """Plan it, with every invariant checked, and read it back from its document."""
    result = plan_checked(snapshot, scenario=Scenario(events=events) if events else None)
    assert read_plans(plan_json(result).encode(), "saved") == [result]
    json.loads(plan_json(result))
    return result


def _facts(answer: Plan) -> dict[str, str]:
    return {fact.key: fact.value for fact in page_of(answer).facts}


@pytest.mark.parametrize("release", ["4.2", "4.3", "4.4"])
def test_who_says_nothing_is_fenced_and_all_its_tasks_go_elsewhere(release: str) -> None:
    result = play(waiting(_TWO_MINUTES_AGO, release))
    verdict = result.verdict
    assert (verdict.kind, [str(task) for task in verdict.tasks]) == ("stuck", ["0_1"])
    assert verdict.cause is not None
    assert (verdict.cause.code, verdict.cause.process_id) == (CauseCode.SILENT_OWNER, "a")
    # told 0-5 s after the target of 120 s ago, and fenced 300 s after that
    assert result.rounds[-1].trigger is Trigger.LEAVE
    assert 180_000 <= result.rounds[-1].at_ms <= 185_000 + 5_000
    starts = [step for rnd in result.rounds for step in rnd.steps if isinstance(step, HandOver)]
    assert {str(step.task_id) for step in starts} == {"0_0", "0_1", "0_2"}
    assert {step.to.consumer_id for step in starts} == {"m-b"}
    assert result.final[0].active == ()
    assert result.pauses.longest_ms >= 180_000
    assert result.summary.runs_by_ms is not None
    assert result.summary.runs_by_ms >= 180_000 + 3 * 60_000
    # it may also say so now
    assert result.ends("duration_ms")[0] < 10_000
    assert result.ends("settles") == (0, 1)


def test_the_first_lines_name_who_is_silent_and_what_helps() -> None:
    page = page_of(play(waiting(_TWO_MINUTES_AGO)))
    text = page.sentences[0]
    assert page.tone == "bad"
    assert text.startswith("The group is stuck for 3m04s: ")
    assert "It waits for 0_1 on a: m-a was asked to give it up up to 2m ago" in text
    assert "To end this sooner, stop its instance: the broker notices a close at once, a kill after 45s" in text
    assert "2 more of its tasks are paused until then as well" in text
    assert {fact.key: fact.value for fact in page.facts}["runs"] == "after about 6m04s (1m to 6m10s)"


def test_who_should_have_been_fenced_before_is_waited_for_and_nobody_knows_how_long() -> None:
    result = play(waiting("2026-11-22T11:50:00Z"))
    assert result.verdict.cause is not None
    assert (result.verdict.kind, result.verdict.cause.code) == ("stuck", CauseCode.OVERDUE_OWNER)
    assert [str(task) for task in result.verdict.tasks] == ["0_1"]
    assert result.summary.runs_by_ms is None
    for rule in ("max_pause_per_task", "max_pause_per_handover", "max_pause_in_all", "max_paused_tasks_at_once"):
        assert RULES[rule].worst(MeasuredPlan(result), 10**9).value is None
    facts = _facts(result)
    assert facts["runs"].startswith("unknown")
    assert facts["pause"] == "unknown: 1 task still paused when the plan ends"


def test_check_holds_it_against_the_group_that_it_waits() -> None:
    checked = check_plan(play(waiting(_TWO_MINUTES_AGO)), Standard(Policy(), _NOW))
    (finding,) = checked.findings_of(Status.ERROR)
    assert finding.rule == "must_settle"


def test_who_was_told_just_now_says_so_soon() -> None:
    result = play(waiting("2026-11-22T11:59:55Z"))
    assert (result.verdict.kind, result.ends("settles")) == ("settled", (1, 1))
    assert [step for rnd in result.rounds for step in rnd.steps if isinstance(step, Revoke)]
    assert result.ends("duration_ms")[1] < 20_000


def test_without_the_time_of_the_target_it_may_be_either() -> None:
    result = play(waiting(None))
    assert (result.verdict.kind, result.ends("settles")) == ("settled", (0, 1))
    assert result.ends("duration_ms")[1] >= 300_000
    (answer,) = (note for note in result.assumptions if note.code == "owner-silent")
    assert answer.subjects == ("m-a",)


def test_where_nobody_is_left_to_take_over_nobody_knows_when_everything_runs() -> None:
    values = {"member_epoch": 12, "member_state": "UNREVOKED_TASKS"}
    seats = {
        "a": [{"consumer_id": "m-a", "active": ["0_0"], "revoking": {"active": ["0_1"]},
               "target": {"active": ["0_0", "0_2"]}, **values}],
        "b": [{"consumer_id": "m-b", "active": ["0_3"], "revoking": {"active": ["0_2"]},
               "target": {"active": ["0_1", "0_3"]}, **values}],
    }  # fmt: skip
    shape = {"generation": 13, "target_epoch": 13, "group_state": "Reconciling"}
    item = snapshot(row("4.3", seats, {"0": (4, True, 60_000)}, **shape))
    result = play(replace(item, rates=Rates(restore_per_instance=1_000.0)))
    assert result.verdict.kind == "settled"
    facts = _facts(result)
    assert facts["runs"].endswith(", or unknown")
    assert facts["pause"].endswith(", or unknown")
    for rule in ("max_duration", "max_pause_per_task", "max_pause_in_all", "max_paused_tasks_at_once"):
        assert RULES[rule].worst(MeasuredPlan(result), 10**9).value is None


def test_who_is_told_to_revoke_without_what_may_hold_what_nobody_runs() -> None:
    item = waiting(None)
    memory = item.state.memory
    assert isinstance(memory, BrokerGroup)
    without = tuple(replace(member, revoking=TaskNames()) for member in memory.members)
    item = replace(item, state=replace(item.state, memory=replace(memory, members=without)))
    result = play(item)
    assert "revocations-unknown" in [note.code for note in result.assumptions]
    assert result.ends("longest_pause_ms")[1] >= 300_000


def test_to_close_the_instance_of_the_silent_member_helps_at_once() -> None:
    result = play(waiting(_TWO_MINUTES_AGO), Leave(at_ms=0, process_ids=("a",)))
    assert (result.verdict.kind, result.summary.duration_ms <= 5_000) == ("settled", True)


def test_where_nobody_says_who_is_to_give_up_what_that_is_told() -> None:
    """As kafka-streams-groups.sh describes a group: without the state of its members."""
    seats = {
        "a": [{"consumer_id": "m-a", "active": ["0_0"], "member_epoch": 12, "target": {"active": ["0_0"]}}],
        "b": [{"consumer_id": "m-b", "active": [], "member_epoch": 13, "target": {"active": ["0_1"]}}],
    }
    shape = {"generation": 13, "target_epoch": 13, "group_state": "Reconciling"}
    result = play(snapshot(row("4.3", seats, {"0": (2, True, 60_000)}, **shape)))
    (answer,) = (note for note in result.assumptions if note.code == "revocations-unknown")
    assert answer.subjects == ("m-a",)
    assert answer.message.startswith("0_1: no member runs these tasks")
    # the late ends count that m-a never says so: the broker fences it
    assert result.ends("duration_ms")[1] >= 300_000
    assert (result.ends("settles"), result.ends("moves")) == ((0, 1), (0, 2))
    assert result.ends("longest_pause_ms")[1] >= 300_000
    for rule in ("max_duration", "max_pause_per_task", "max_pause_per_handover"):
        found = RULES[rule].worst(MeasuredPlan(result), 600_000)
        assert found.value is None
        assert found.offences


@st.composite
def _groups_with_silent_members(draw: st.DrawFn) -> Snapshot:
    """Every task is held, or to be given up, by one of up to four members, and wanted by another one or the same."""
    members = draw(st.integers(2, 4))
    tasks = [f"0_{number}" for number in range(draw(st.integers(1, 6)))]
    ends = [(draw(st.integers(0, members - 1)), draw(st.integers(0, members - 1))) for _ in tasks]
    seats: dict[str, list[Any]] = {}
    for member in range(members):
        held = [task for task, (item, to) in zip(tasks, ends, strict=True) if item == to == member]
        gone = [task for task, (item, to) in zip(tasks, ends, strict=True) if item == member != to]
        answer = bool(gone) and draw(st.booleans())
        seat = {
            "consumer_id": f"m-{member}",
            "position": member,
            "active": held if answer or not gone else held + gone,
            "revoking": {"active": gone if answer else []},
            "member_epoch": 12 if gone else 13,
            "member_state": "UNREVOKED_TASKS" if answer else "STABLE" if gone else "UNRELEASED_TASKS",
            "target": {"active": [task for task, (_, to) in zip(tasks, ends, strict=True) if to == member]},
        }
        seats.setdefault(f"p{member // 2}", []).append(seat)
    shape = {"generation": 13, "target_epoch": 13, "group_state": "Reconciling"}
    at = draw(st.sampled_from([_TWO_MINUTES_AGO, "2026-11-22T11:50:00Z", "2026-11-22T11:59:59Z", None]))
    release = draw(st.sampled_from(["4.2", "4.3", "4.4"]))
    return snapshot(row(release, seats, {"0": (len(tasks), True, 60_000)}, target_at=at, **shape))


@st.composite
def _events(draw: st.DrawFn) -> list[Any]:
    kinds = draw(st.lists(st.sampled_from(["join", "leave", "crash"]), max_size=2, unique=True))
    at_ms, found = 0, list[Any]()
    for kind in kinds:
        at_ms += draw(st.integers(0, 250_000))
        if kind == "join":
            found.append(Join(at_ms=at_ms, instances=joining("new")))
        elif not any(isinstance(event, Leave | Stop) for event in found):
            gone = ("p0",) if "join" in kinds[: kinds.index(kind)] else ()
            if gone:
                found.append(
                    Leave(at_ms=at_ms, process_ids=gone)
                    if kind == "leave"
                    else Stop(at_ms=at_ms, process_ids=gone, crash=True)
                )
    return found


@given(of=_groups_with_silent_members(), events=_events())
def test_every_sequence_ends_stable_or_with_a_member_that_is_named(of: Snapshot, events: list[Any]) -> None:
    result = play(of, *events)
    verdict = result.verdict
    if verdict.kind == "settled":
        assert sorted(task for held in result.final for task in held.active) == list(range(len(result.group.tasks)))
        return
    assert verdict.kind == "stuck"
    assert verdict.cause is not None
    silent = [member for held in (of.state.memory,) for member in held.members if member.state == "UNREVOKED_TASKS"]
    assert any(verdict.cause.message.startswith(f"{member.member_id} was asked") for member in silent)
    assert verdict.cause.task_id in verdict.tasks
    if verdict.is_over:
        assert sorted(task for held in result.final for task in held.active) == list(range(len(result.group.tasks)))


def test_who_revokes_nobody_knows_what_and_is_waited_for_for_good_is_told_to_be_stuck() -> None:
    holds = {"active": ["0_0", "0_1"], "target": {"active": ["0_0", "0_1"]}}
    seats = {
        "a": [{"consumer_id": "m-a", "position": 0, "member_epoch": 11, "member_state": "UNREVOKED_TASKS", **holds}]
    }
    shape = {"group_state": "Reconciling", "target_at": "2026-11-20T12:00:00Z"}
    result = play(snapshot(row("4.3", seats, {"0": (2, True, 60_000)}, **shape)))
    assert result.verdict.kind == "stuck"
    assert "m-a" in result.verdict.reason
