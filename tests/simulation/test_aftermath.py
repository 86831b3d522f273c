"""What follows for the others when instances stop: it is what the plan says, and every form of the answer says it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.model.answer import Answer
from kstream_plan.plans import HandOver, MemberLeft, Promote
from kstream_plan.plans.loads import after_each_round, at_first
from kstream_plan.render.answers import page_of, to_json
from kstream_plan.render.report.sections import drain_section
from kstream_plan.simulation.drain import Drain, drain
from kstream_plan.simulation.drain_workers import WorkersDrained, drain_workers
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


def _facts(answer: Drain | WorkersDrained) -> dict[str, str]:
    return {fact.key: fact.value for fact in page_of(answer).facts}


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
        sum(plan.group.stateful_flags[task] for consumer in item for task in plan.final[consumer].active)
        for instance, item in zip(plan.group.instances, plan.group.consumers_of, strict=True)
        if instance.process_id in {process_id for process_id, _ in plan.members} - {*answer.process_ids}
    ]
    assert (follows.instances, follows.least, follows.most) == (len(runs), min(runs), max(runs))
    assert follows.busiest.before == max(at_first(plan))
    # what is handed over has no owner for a moment: nobody runs more then
    assert follows.busiest.most == max(follows.busiest.before, *map(max, after_each_round(plan)))


@pytest.mark.parametrize("name", CASES)
def test_every_form_says_it(name: str) -> None:
    answer = case(name)
    document = json.loads(to_json(answer))
    validator("drain").validate(document)
    assert document["follows"]["others_paused"] == answer.follows.others_paused
    assert document["follows"]["busiest"]["most"] == answer.follows.busiest.most
    assert document["follows"]["verdict"] == answer.plan.verdict.kind
    facts, follows = _facts(answer), answer.follows
    assert ("others" in facts) == bool(follows.others_paused)
    assert f"stateful tasks now, at most {follows.busiest.most} meanwhile" in facts["load"]
    assert facts["then"].startswith(("the group does not settle", "more moves follow")) == (
        answer.plan.verdict.kind != "settled"
    )
    assert drain_section(answer).page.facts == page_of(answer).facts


@pytest.mark.parametrize("name", CASES)
def test_the_answer_reads_no_better_than_the_rest(name: str) -> None:
    answer = case(name)
    page, follows = page_of(answer), answer.follows
    assert page.answer is answer.answer
    assert all(page.sentences), "no paragraph is empty"
    assert follows.others_cold == 0 or page.answer is Answer.NO
    others = f"{follows.others_cold} of them start cold"
    assert (others in _facts(answer).get("others", "")) == bool(follows.others_cold)


def test_of_an_instance_that_runs_nothing_it_is_said_what_is_unknown() -> None:
    answer = case("nothing-runs")
    assert answer.answer is Answer.UNKNOWN
    [others, sentence] = page_of(answer).sentences
    assert others.startswith("It is unknown whether tasks of other instances start warm")
    assert sentence == "i5 runs no task itself."


def test_why_it_takes_so_long_is_said() -> None:
    late, at_once = (page_of(case(name)).sentences[-1] for name in ("standbys", "alone"))
    assert late.startswith("The tasks pause for about 10s until the group notices (session.timeout.ms)")
    assert (
        at_once
        == "A stop leaves the group, so that the tasks start elsewhere without waiting for the session time-out."
    )


def test_what_is_left_without_a_standby_is_in_the_json() -> None:
    assert json.loads(to_json(case("alone")))["follows"]["without_standby"] == [0, 24]


def test_a_group_that_does_not_settle_is_no_green_page() -> None:
    answer = case("standbys")
    stuck = replace(answer, plan=replace(answer.plan, verdict=replace(answer.plan.verdict, kind="stuck", reason="why")))
    assert (page_of(answer).tone, page_of(stuck).tone) == ("good", "unknown")
    assert drain_section(answer).page.tone != drain_section(stuck).page.tone
    assert _facts(stuck)["then"] == "the group does not settle"


def test_what_others_start_cold_does_not_pass_as_warm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(snapshots, "read", lambda _paths, **_options: (captured.inputs("scale-out")[12],))
    monkeypatch.setenv("COLUMNS", "160")
    assert run(["drain", "x.json", "i3", "--require-warm"]) == 3
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "21 of their tasks pause too, where they move or wait for a rebalance, the longest at least 1m06s" in text
    assert "1 of them start cold" in text
    assert drain_section(case("others-cold")).page.tone == "bad"


def test_of_workers_it_is_said_as_well() -> None:
    answer = drain_workers(connect(even(3)), ["w1"])
    facts = _facts(answer)
    assert facts["load"] == "5 connectors and tasks now, at most 8 meanwhile, 8 at the end"
    assert facts["then"] == "2 workers with 7 to 8 connectors and tasks each"
    assert facts["runs_again"] == "after about 5m03s"
    document = json.loads(to_json(answer))
    validator("drain-workers").validate(document)
    assert document["follows"]["busiest"] == {
        "before": 5, "most": 8, "process_ids": ["w0"], "from_ms": 303_000, "after": 8
    }  # fmt: skip


@pytest.mark.parametrize("name", ["standbys", "alone", "others-cold"])
def test_what_has_one_copy_left_meanwhile_is_told(name: str) -> None:
    answer = case(name)
    group = answer.plan.group
    copies: dict[str, set[int]] = {}
    for consumer, held in enumerate(answer.plan.initial):
        for task in (*held.active, *held.standby):
            if group.tasks[task].stateful:
                copies.setdefault(str(group.tasks[task].task_id), set()).add(group.instance_of[consumer])
    gone = {group.instance_index[process_id] for process_id in answer.process_ids}
    alone = [task for task, item in copies.items() if len(item) > 1 and len(item - gone) == 1]
    assert answer.follows.left_alone == len(alone)
    assert json.loads(to_json(answer))["follows"]["left_alone"] == len(alone)
