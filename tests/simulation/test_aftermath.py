"""What follows for the others when instances stop: it is what the plan says, and every form of the answer says it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest
from kstream_plan.render.report.plain import plain
from kstream_plan.render.simulation.drain import drain_markdown, drain_table, tell_drain

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.plans import HandOver, MemberLeft, Promote
from kstream_plan.plans.loads import after, at_first
from kstream_plan.render.answers import to_table as workers_drained_table
from kstream_plan.render.report.drain_section import drain_section
from kstream_plan.render.simulation.drain_json import drain_json
from kstream_plan.render.simulation.drain_workers_json import workers_drained_json
from kstream_plan.render.text.names import Names
from kstream_plan.simulation.drain import Drain, drain
from kstream_plan.simulation.drain_workers import drain_workers
from tests.helpers import captured, captured_scenarios
from tests.helpers.connect_rows import even
from tests.helpers.connect_rows import snapshot as connect
from tests.helpers.schemas import validator

CASES = {
    "standbys": lambda: drain(captured_scenarios.before("scale-out-standbys"), ["i1"]),
    "alone": lambda: drain(captured_scenarios.before("scale-out-standbys"), ["i1", "i2"], leave=True),
    "under-way": lambda: drain(captured.inputs("scale-out-standbys")[9], ["i1"]),
    "others-cold": lambda: drain(captured.inputs("scale-out")[12], ["i3"]),
    "cut": lambda: drain(captured_scenarios.before("scale-out-standbys"), ["i3"], max_rounds=2),
    "nothing-runs": lambda: drain(captured.inputs("scale-out")[4], ["i5"]),
}


@cache
def case(name: str) -> Drain:
    return CASES[name]()


def _said(answer: Drain) -> str:
    return " ".join(drain_table(answer).split())


@pytest.mark.parametrize("name", CASES)
def test_it_is_what_the_plan_says(name: str) -> None:
    answer = case(name)
    plan, follows, own = answer.plan, answer.follows, {task.task_id for task in answer.now}
    paused = {pause.task_id for pause in plan.pauses} - own
    assert follows.others_paused == len(paused)
    assert follows.others_longest_ms == max((plan.pauses.ms[task] for task in paused), default=0)
    starts = [step for rnd in plan.rounds for step in rnd.steps if isinstance(step, HandOver | Promote)]
    assert follows.others_cold == len({step.task_id for step in starts if not step.caught_up} - own)
    left = [
        rnd.at_ms
        for rnd in plan.rounds
        for step in rnd.member_steps
        if isinstance(step, MemberLeft) and step.process_id in answer.process_ids
    ]
    assert follows.noticed_ms == max(left)
    runs = [
        sum(plan.group.stateful_flags[task] for consumer in of for task in plan.final[consumer].active)
        for instance, of in zip(plan.group.instances, plan.group.consumers_of, strict=True)
        if instance.process_id in {process_id for process_id, _ in plan.members} - {*answer.process_ids}
    ]
    assert (follows.instances, follows.least, follows.most) == (len(runs), min(runs), max(runs))
    assert follows.busiest.before == max(at_first(plan))
    # what is handed over has no owner for a moment: nobody runs more then
    assert follows.busiest.most == max(follows.busiest.before, *map(max, after(plan)))


@pytest.mark.parametrize("name", CASES)
def test_every_form_says_it(name: str) -> None:
    answer = case(name)
    document = json.loads(drain_json(answer))
    validator("drain").validate(document)
    assert document["follows"]["others_paused"] == answer.follows.others_paused
    assert document["follows"]["busiest"]["most"] == answer.follows.busiest.most
    assert document["follows"]["verdict"] == answer.plan.verdict.kind
    story = tell_drain(answer, Names(answer.plan.group))
    labels = [fact.label for fact in story.facts]
    assert labels[2:3] == (["NOTICED"] if answer.now else ["OTHERS"])
    assert labels[labels.index("OTHERS") :][:3] == ["OTHERS", "BUSIEST", "AFTER"]
    told = [fact.text for fact in drain_section(answer).facts]
    assert told == [plain(fact.forms[0]) for fact in story.facts], "the page says what the terminal says"
    assert "**BUSIEST**" in drain_markdown(answer)


@pytest.mark.parametrize("name", CASES)
def test_the_first_line_reads_no_better_than_the_rest(name: str) -> None:
    answer = case(name)
    first, follows = tell_drain(answer, Names(answer.plan.group)).title.forms[0], answer.follows
    assert (f"{follows.others_paused} tasks of others pause as well" in first) == (follows.others_paused > 1)
    assert ("of others STARTS COLD" in first) == (follows.others_cold == 1)
    assert ("the busiest runs " in first) == (follows.busiest.most > follows.busiest.before)
    assert ("not played to its end" in first) == (answer.plan.verdict.kind == "unfinished")
    longest_ms = max((task.pause_ms for task in answer.now), default=0)
    assert (" still for ~" in first) == bool(longest_ms and not answer.cold_now)


def test_why_it_takes_so_long_is_said() -> None:
    late, at_once = _said(case("standbys")), _said(case("alone"))
    why = "when session.timeout.ms is over: Kafka Streams' close() tells nobody. At once with --leave"
    assert f"NOTICED after ~10.0 s, {why}" in late
    assert "NOTICED at once: they tell the group that they leave" in at_once
    page = {fact.label: fact.text for fact in drain_section(case("standbys")).facts}["When the group notices"]
    assert page.endswith("; at once, if they leave the group cleanly")


def test_what_is_left_without_a_standby_is_said() -> None:
    assert "1 instance runs 24 stateful tasks, settled at once; 24 of them then have no standby (now 0)" in _said(
        case("alone")
    )
    assert "standby" not in _said(case("others-cold")), "none is configured"


def test_a_group_that_does_not_settle_is_no_green_page() -> None:
    answer = case("standbys")
    stuck = replace(answer, plan=replace(answer.plan, verdict=replace(answer.plan.verdict, kind="stuck", reason="why")))
    assert (drain_section(answer).tone, drain_section(stuck).tone) == ("good", "warn")
    assert "THE GROUP DOES NOT SETTLE" in _said(stuck)
    assert "AFTER STUCK: why. 2 instances run 12 stateful tasks each" in _said(stuck)


def test_what_others_start_cold_does_not_pass_as_warm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (captured.inputs("scale-out")[12],))
    assert run(["drain", "x.json", "i3", "--require-warm"]) == 3
    assert "--require-warm: 1 task that others run would start cold" in capsys.readouterr().err
    assert drain_section(case("others-cold")).tone == "bad"


def test_of_workers_it_is_said_as_well() -> None:
    answer = drain_workers(connect(even(3)), ["w1"])
    said = " ".join(workers_drained_table(answer).split())
    assert "BUSIEST w0 runs 8 items from 5:03 on; the busiest runs 5 now" in said
    assert "AFTER 2 workers run 7-8 items each, settled after 2 rebalances in ~5m03s" in said
    document = json.loads(workers_drained_json(answer))
    validator("drain-workers").validate(document)
    assert document["follows"]["busiest"] == {
        "before": 5, "most": 8, "process_ids": ["w0"], "from_ms": 303_000, "after": 8
    }  # fmt: skip


@pytest.mark.parametrize(("name", "told"), [("standbys", True), ("alone", True), ("others-cold", False)])
def test_what_has_one_copy_left_meanwhile_is_told(name: str, told: bool) -> None:
    answer = case(name)
    group = answer.plan.group
    copies: dict[str, set[int]] = {}
    for consumer, held in enumerate(answer.plan.initial):
        for task in (*held.active, *held.standby):
            if group.tasks[task].stateful:
                copies.setdefault(str(group.tasks[task].task_id), set()).add(group.instance_of[consumer])
    gone = {group.instance_index[process_id] for process_id in answer.process_ids}
    alone = [task for task, of in copies.items() if len(of) > 1 and len(of - gone) == 1]
    assert answer.follows.left_alone == len(alone)
    assert json.loads(drain_json(answer))["follows"]["left_alone"] == len(alone)
    assert (f"{len(alone)} stateful tasks then have one copy left" in _said(answer)) is told
