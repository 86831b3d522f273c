"""What a comparison looks like, in every form."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from rich.cells import cell_len

from kstream_plan.comparison.changes import Comparison, TaskClass
from kstream_plan.comparison.diff import compare
from kstream_plan.comparison.history_course import history_course
from kstream_plan.comparison.sides import plan_course, plan_side, snapshot_side
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.documents.scenario_file import read_scenario
from kstream_plan.model import Group, Snapshot
from kstream_plan.render.answers import to_json, to_markdown, to_table
from kstream_plan.render.markdown import to_markdown as page_to_markdown
from kstream_plan.render.page import Page, Table
from kstream_plan.render.pages.diff import diff_page, diffs_page
from kstream_plan.render.terminal import to_terminal
from kstream_plan.simulation.simulate import simulate
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured, captured_scenarios, diff_cases
from tests.helpers.goldens import assert_golden
from tests.helpers.schemas import validator
from tests.helpers.strategies import two_snapshots

SCHEMA = validator("diff")


def fact(page: Page, key: str) -> str:
    """The value of a fact; empty if there is none."""
    return next((each.value for each in page.facts if each.key == key), "")


def table(page: Page, title: str) -> Table:
    return next(each for each in page.tables if each.title.startswith(title))


@pytest.mark.parametrize("name", diff_cases.NAMES)
def test_table(name: str) -> None:
    assert_golden(f"diff/{name}.txt", to_table(diff_cases.case(name)))


@pytest.mark.parametrize("name", ["scale-out", "generations", "evil-names"])
def test_markdown(name: str) -> None:
    assert_golden(f"diff/{name}.md", to_markdown(diff_cases.case(name)))


def test_every_task_apart() -> None:
    assert_golden("diff/scale-out-verbose.txt", to_table(diff_cases.case("scale-out"), width=100, verbose=True))


def test_a_decision_that_is_not_compared_is_told_with_the_command_that_plans_it() -> None:
    case = diff_cases.case("scale-out-begins")
    new = case.new
    found = compare(case.old, replace(new, next_decision=new.generation + 1))
    page = diff_page(found)
    lines = {line.code: line.text for line in page.lines}
    assert f"decision of generation {new.generation + 1}" in page.sentences[1]
    assert "decision-not-compared" not in lines
    assert lines["plan-decision"] == "kstream-plan assign SNAPSHOT"
    assert json.loads(to_json(found))["next"][0]["code"] == "plan-decision"


def test_a_group_that_still_moves_is_asked_why_and_a_settled_one_is_not() -> None:
    case = diff_cases.case("generations")
    assert [note.message for note in case.remarks.next] == ["kstream-plan why SNAPSHOT --generation 5"]
    new = case.new
    resting = tuple(held._replace(standby=(), warmup=()) for held in new.holdings)
    settled = replace(new, holdings=resting, decided_holdings=resting)
    assert compare(case.old, settled).remarks.next == ()
    assert diff_cases.case("scale-out").remarks.next == (), "a plan has its own answer"


def test_what_was_seen_is_told_apart_from_an_estimate() -> None:
    case = diff_cases.case("generations")
    for seen, label, origin in (
        (True, "State of new copies", "by the times"),
        (False, "State to restore", "estimated"),
    ):
        facts = {fact.key: fact for fact in diff_page(replace(case, is_history=seen)).facts}
        assert facts["restored"].label == label
        assert origin in facts["pause"].value


def test_a_side_that_the_next_decision_ended_says_until_when_it_was_so() -> None:
    case = diff_cases.case("generations")
    old, new = (replace(side, next_decision=side.generation + 1) for side in (case.old, case.new))
    assert diff_page(compare(old, case.new)).source == (
        "generation 3 until 2026-11-21 13:05:25, generation 5 at 13:05:31 UTC"
    )
    assert diff_page(compare(case.old, new)).source.endswith("generation 5 until 13:05:31 UTC")


def test_copies_of_a_group_without_standbys_warm_up() -> None:
    rows = table(diff_page(diff_cases.case("evil-names")), "Standbys and warm-ups").rows
    assert {row.cells[0].text for row in rows} == {"warm-up → temporary standby", "warm-up placed"}
    with_standbys = table(diff_page(diff_cases.case("member-lost")), "Standbys and warm-ups").rows
    assert {row.cells[0].text for row in with_standbys} == {"standby dropped"}


def test_a_task_that_started_more_than_once_is_named() -> None:
    text = "events: [{at: 0s, join: {hosts: [i4]}}, {at: 30m, leave: i4}]"
    scenario = read_scenario(text, "s.yaml")
    result = simulate(captured_scenarios.before("scale-out"), scenario, number_of_draws=1, what_ifs=False).plan
    starts = Counter(
        step["task_id"]
        for rnd in json.loads(plan_json(result, full=True))["rounds"]
        for step in rnd["steps"]
        if step["kind"] in ("hand-over", "promote")
    )
    stateful = {str(result.group.tasks[task].task_id) for task in result.group.stateful}
    found = compare(plan_side(result, 0), plan_side(result), plan_course(result, 0, len(result.rounds)))
    [note] = [note for note in found.remarks.notes if note.code == "started-more-than-once"]
    assert set(note.subjects) == {task_id for task_id, number in starts.items() if number > 1} & stateful
    assert note.subjects


def test_threads_that_joined_again_with_another_member_id_are_the_same_threads() -> None:
    side = snapshot_side(captured_scenarios.before("scale-out"))
    members = [
        replace(
            instance,
            consumers=tuple(
                replace(consumer, consumer_id=f"again-{consumer.consumer_id}") for consumer in instance.consumers
            ),
        )
        for instance in side.group.instances
    ]
    again = replace(side, group=Group.of("orders", list(side.group.tasks), members))
    assert compare(side, again).totals.classes[TaskClass.STAYED] == len(side.group.tasks)


def test_several_applications() -> None:
    page = diffs_page([diff_cases.case(name) for name in ("settled", "scale-out", "crash", "two-plans")])
    assert_golden("diff/several.txt", to_terminal(page))


def test_the_leaders_view() -> None:
    page = diff_page(diff_cases.case("scale-out-begins"), protocol_view=True)
    assert_golden("diff/protocol-view.txt", to_terminal(page))
    assert_golden("diff/protocol-view.md", page_to_markdown(page))


@pytest.mark.parametrize("name", diff_cases.NAMES)
@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_wider_than_the_page(name: str, width: int, verbose: bool) -> None:
    for line in to_table(diff_cases.case(name), width=width, verbose=verbose).splitlines():
        assert cell_len(line) <= width or line.startswith("Next: ")  # a command is copied as it is
        assert line == line.rstrip()


@pytest.mark.parametrize("name", diff_cases.NAMES)
def test_the_json_form_keeps_its_schema_and_has_every_line_of_the_page(name: str) -> None:
    comparison = diff_cases.case(name)
    document = json.loads(to_json(comparison, view=True))
    SCHEMA.validate(document)
    page = diff_page(comparison)
    assert page.sentences == (document["verdict"],)
    lines = {(line.kind, line.code, line.text) for line in page.lines}
    commands = {("next", note["code"], note["message"]) for note in document["next"]}
    assert lines - commands == {
        (kind, note["code"], f"{note['message']}.")
        for kind in ("warning", "note", "assumption")
        for note in document[f"{kind}s"]
    }


@given(pair=two_snapshots())
def test_any_comparison_can_be_shown(pair: tuple[Snapshot, Snapshot]) -> None:
    comparison = compare(*map(snapshot_side, pair))
    SCHEMA.validate(json.loads(to_json(comparison)))
    assert to_table(comparison).endswith("\n")
    assert to_markdown(comparison, verbose=True).startswith("### orders: ")
    _adds_up(comparison)


@pytest.mark.parametrize("name", diff_cases.NAMES)
def test_the_figures_of_a_page_are_those_of_its_json(name: str) -> None:
    _adds_up(diff_cases.case(name))


def _adds_up(comparison: Comparison) -> None:
    """Recompute from the JSON: tasks add up, tables list every change once, balance is by what members run."""
    page, document = diff_page(comparison), json.loads(to_json(comparison))
    totals = document["totals"]
    parts = [part for part in re.sub(r" \(.*?\)", "", fact(page, "tasks")).split(", ") if part]
    assert sum(int(part.split(" ")[0].replace(",", "")) for part in parts) == totals["tasks"]
    changes = [task for task in document["tasks"] if task["class"] != "stayed"]
    for prefix, number in (
        ("Tasks that ", len(changes)),
        ("Standbys and warm-ups that ", sum(len(task["copies"]) for task in document["tasks"])),
    ):
        rows = [row for each in page.tables if each.title.startswith(prefix) for row in each.rows]
        assert sum(int(row.cells[-2].items[0].replace(",", "")) for row in rows) == number
        assert sum(len(row.cells[-1].items) for row in rows) == number
    cold = [task for task in document["tasks"] if task["class"] == "handed-over-cold"]
    if not comparison.untold:
        named = " ".join(item for each in page.tables for row in each.rows for item in row.cells[-1].items)
        assert all(re.search(rf"\b{task['task_id']} (cold|\(no copy\))", named) for task in cold)
    after = comparison.new.active_tasks.values()
    if totals["tasks"] and after:
        assert re.search(rf"\b{max(after):,} tasks? per instance", fact(page, "balance"))


def test_a_page_says_how_warm() -> None:
    begin = "24 of 30 tasks run on another instance. No task started cold."
    assert diff_page(diff_cases.case("scale-out")).sentences == (begin,)
    assert diff_page(diff_cases.case("scale-out")).tone == "good"
    crash = diff_page(diff_cases.case("crash"))
    assert (crash.tone, fact(crash, "cold")) == ("bad", "5")
    settled = diff_page(diff_cases.case("settled"))
    assert (settled.tone, settled.sentences) == ("good", ("Nothing changed.",))


def test_what_is_not_known_is_not_called_warm() -> None:
    """Two ends without lags: what was held counts as caught up, and that is an assumption."""
    comparison = diff_cases.case("two-plans")
    page = diff_page(comparison)
    assert page.tone == "unknown"
    assert fact(page, "cold") == "unknown: at least 12"
    assert "No task started cold" not in page.sentences[0]
    assert [line.code for line in page.lines if line.kind == "assumption"] == ["no-lags"]


def test_an_unassigned_task_with_no_next_owner_is_bad_and_one_with_it_is_not() -> None:
    for name, tone in (("member-lost", "bad"), ("scale-out-begins", "unknown")):
        comparison = diff_cases.case(name)
        page = diff_page(comparison)
        assert comparison.totals.classes[TaskClass.ORPHANED]
        assert page.tone == tone
        assert all(row.tone == tone for row in table(page, "Tasks").rows if row.cells[1].items == ("unassigned",))


def test_many_moves_share_rows_and_cold_starts_are_always_named() -> None:
    page = diff_page(diff_cases.case("many-instances"))
    assert len(table(page, "Tasks that moved").rows) == 2
    assert all(row.cells[-1].short for row in table(page, "Tasks that moved").rows)
    whole = table(diff_page(diff_cases.case("many-instances"), verbose=True), "Tasks that moved")
    assert len(whole.rows) > 100
    assert not any(row.cells[-1].short for row in whole.rows)
    crash = table(diff_page(diff_cases.case("crash")), "Tasks")
    assert not any(row.cells[-1].short for row in crash.rows if row.tone == "bad")


def test_how_long_tasks_paused_that_were_unassigned_before_a_comparison_is_unknown() -> None:
    rows = captured.rows("scale-out", "inputs")
    sides = [snapshot_side(snapshot_from_row(row, "scale-out", lags_as_reported=True)) for row in rows]
    for pair in pairwise(sides):
        comparison = compare(*pair, history_course(pair))
        started, pause = comparison.totals.started_tasks, fact(diff_page(comparison), "pause")
        if started and pause.startswith("none"):
            assert pause == f"none from then on; {started} tasks paused before, for an unknown time"
            return
    pytest.fail("no such pair")
