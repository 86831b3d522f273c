"""What people and programs see of why a group does what it does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from rich.cells import cell_len

from kstream_plan.model import Group, Rates, Snapshot, TaskId
from kstream_plan.plans.note_codes import EXPERT_CODES
from kstream_plan.plans.plan import MAYBE_READY
from kstream_plan.plans.why_answers import Why
from kstream_plan.render.answers import page_of, to_json, to_markdown, to_table
from kstream_plan.render.page import as_sentence
from kstream_plan.simulation.why import why
from kstream_plan.snapshots.leader_log.history import checked_rows
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured, plan_cases
from tests.helpers.goldens import assert_golden
from tests.helpers.recorded_events import generations
from tests.helpers.schemas import validator


def _taken(group: str, place: int) -> Snapshot:
    return snapshot_from_row(checked_rows(generations(group)[place : place + 1])[0], group)


def _fourth(snapshot: Snapshot) -> str:
    return next(instance.process_id for instance in snapshot.state.group.instances if instance.host == "i4")


def _evil() -> Why:
    snapshot = _taken("big", 15)
    group = snapshot.state.group
    instances = tuple(replace(instance, host=f"{plan_cases.EVIL}{instance.host}") for instance in group.instances)
    evil = replace(snapshot.state, group=Group(plan_cases.EVIL, group.tasks, instances))
    return why(replace(snapshot, state=evil), task_id=TaskId(0, 2))


def _never_settles() -> Why:
    snapshot = captured.join("scale-out", 1.0)
    return why(replace(snapshot, rates=replace(snapshot.rates, produce_per_task=50.0)))


CASES: dict[str, Callable[[], Why]] = {
    "still-probing": lambda: why(_taken("big", 17)),
    "no-rates": lambda: why(replace(_taken("big", 17), rates=Rates())),
    "task-waits": lambda: why(_taken("big", 15), task_id=TaskId(0, 2), other_settings=False),
    "task-of-a-subtopology": lambda: why(_taken("big", 40), task_id=TaskId(0, 2), other_settings=False),
    "task-stateless": lambda: why(_taken("big", 15), task_id=TaskId(2, 1), other_settings=False),
    "instance-waits": lambda: why(_taken("big", 15), process_id=_fourth(_taken("big", 15)), other_settings=False),
    "why-it-moved": lambda: why(_taken("big", 16), replay=True, task_id=TaskId(0, 2), other_settings=False),
    "settled": lambda: why(_taken("big", 50)),
    "decision-not-known": lambda: why(captured.join("scale-out", 1000.0)),
    "never-settles": _never_settles,
    "evil-names": _evil,
}


@pytest.mark.parametrize("name", CASES)
def test_what_people_see(name: str) -> None:
    found = CASES[name]()
    assert_golden(f"why/{name}.txt", to_table(found))
    for width in (40, 80, 120, 200):
        above, _, _ = to_table(found, width=width).partition("\nNext: ")  # what is copied is not wrapped
        assert max(map(cell_len, above.splitlines())) <= width
    validator("why").validate(json.loads(to_json(found)))


def _joined_with_unknown_stores() -> Snapshot:
    row = json.loads((Path(__file__).parents[2] / "safe" / "mem-endless" / "before.json").read_text())
    consumers = [{"consumer_id": f"pod-3-StreamThread-{number}"} for number in (1, 2)]
    row["instances"].append({"process_id": "11111111-571c-4eee-96be-fa395e3c536c", "consumers": consumers})
    return snapshot_from_row(row, "joined.json")


def test_the_first_sentences_say_that_the_group_may_not_settle() -> None:
    joined = _joined_with_unknown_stores()
    for answers in (why(joined, other_settings=False), why(joined, task_id=TaskId(0, 3), other_settings=False)):
        assert answers.plan.may_not_settle is not None
        assert answers.plan.may_not_settle in " ".join(page_of(answers).sentences)
    assert page_of(why(joined, other_settings=False)).tone == "unknown"
    sure = why(replace(joined, stores="persistent"), other_settings=False)
    assert "may not settle" not in " ".join(page_of(sure).sentences)


def test_what_is_assumed_of_rebalances_is_left_out_where_none_follows() -> None:
    codes = {name: {note.code for note in CASES[name]().remarks.assumptions} for name in ("settled", "still-probing")}
    assert codes["settled"].isdisjoint(("goes-on", "typical-times", "stores"))
    assert "typical-times" in codes["still-probing"]


@pytest.mark.parametrize("name", ["still-probing", "evil-names"])
def test_markdown(name: str) -> None:
    text = to_markdown(CASES[name]())
    assert_golden(f"why/{name}.md", text)
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    parts = [part for token in tokens for part in (token, *(token.children or ()))]
    assert not {"html_block", "link_open", "image"} & {part.type for part in parts}
    assert {part.content for part in parts if part.type == "html_inline"} <= {"<sub>", "</sub>"}


@pytest.mark.parametrize("name", CASES)
def test_the_lines_of_the_page_are_in_the_json_and_left_out_is_only_what_experts_ask_or_a_table_has(name: str) -> None:
    answers = CASES[name]()
    document = json.loads(to_json(answers))
    lines = {(line.kind, line.code, line.text) for line in page_of(answers).lines}
    notes = [
        (kind, note["code"], note["message"])
        for kind, key in (("warning", "warnings"), ("note", "notes"), ("assumption", "assumptions"), ("next", "next"))
        for note in document[key]
    ]
    expected = {(kind, code, text if kind == "next" else as_sentence(text)) for kind, code, text in notes}
    assert lines <= expected
    assert {code for _, code, _ in expected - lines} <= EXPERT_CODES | {MAYBE_READY}
    for note in answers.remarks.assumptions:
        in_table = {str(copy.task_id) for copy in answers.probing.waiting}.issuperset(note.subjects)
        is_shown = any(code == note.code for _, code, _ in lines)
        assert is_shown or (note.code == MAYBE_READY and in_table)


@pytest.mark.parametrize("name", ["still-probing", "no-rates", "never-settles"])
def test_the_copies_on_the_page_are_those_of_the_json(name: str) -> None:
    answers = CASES[name]()
    waiting = json.loads(to_json(answers))["probing"]["waiting"]
    shown = next(table for table in page_of(answers).tables if table.title.startswith("Copies"))
    assert [(row.cells[0].items[0], row.cells[3].items[0]) for row in shown.rows] == [
        (
            copy["task_id"],
            "unknown" if copy["lag"] is None else f"{'at most ' * (copy['lag_is'] == 'whole')}{copy['lag']:,}",
        )
        for copy in waiting
    ]
    unknown = [row.cells[6].items[0] == "unknown" for row in shown.rows]
    assert unknown == [copy["ready_is"] in ("rate-unknown", "size-unknown") for copy in waiting]


def test_of_a_task_it_is_said_by_which_rate_its_copies_catch_up() -> None:
    snapshot = replace(_taken("big", 15), rates=Rates())
    group = snapshot.state.group
    moving = why(snapshot, other_settings=False).probing.queued[0]
    stateless = next(task.task_id for task in group.tasks if not task.stateful)
    for task_id, codes in ((moving, ["no-restore-rate"]), (stateless, [])):
        answers = why(snapshot, other_settings=False, task_id=task_id)
        assert [line.code for line in page_of(answers).lines if line.kind == "assumption"] == codes
    known = why(replace(snapshot, rates=Rates(restore_per_instance=500.0)), other_settings=False, task_id=moving)
    assert [fact.value for fact in page_of(known).facts if fact.key == "rates"] == [
        "500 records/s restored per instance; from options"
    ]


def test_of_a_copy_that_was_seen_to_come_no_closer_its_line_says_so() -> None:
    snapshot = _taken("big", 15)
    [first, *_] = why(snapshot, other_settings=False).probing.waiting
    group = snapshot.state.group
    seat = group.task_index[first.task_id], group.instance_index[first.destination]
    found = why(replace(snapshot, no_closer_ms={seat: 150_000}), other_settings=False)
    assert [item.no_closer_ms for item in found.probing.waiting if item.task_id == first.task_id] == [150_000]
    assert "no closer for 2m30s" in " ".join(to_table(found, width=200).split())
    validator("why").validate(json.loads(to_json(found)))


def test_a_lower_bound_counts_for_its_own_instance_and_tells_nothing_of_others() -> None:
    """Where an instance restored at least what is needed, nothing more is needed; of others the rate is unknown."""
    snapshot = replace(_taken("big", 17), rates=Rates())
    first, second = why(snapshot, other_settings=False).probing.waiting
    assert first.destination != second.destination
    assert first.needed_rate is not None
    instance = snapshot.state.group.instance_index[first.destination]
    for bound, shown in ((first.needed_rate, ""), (first.needed_rate - 1, f", needs {first.needed_rate}")):
        known = why(replace(snapshot, rates=Rates(restore_at_least={instance: float(bound)})), other_settings=False)
        [copies] = (table for table in page_of(known).tables if table.title == "Copies that tasks wait for")
        rates = [row.cells[5].text for row in copies.rows]
        assert rates == [f"at least {bound}{shown}", f"unknown, needs {second.needed_rate}"]
        [rates_fact] = (fact for fact in page_of(known).facts if fact.key == "rates")
        assert f"on 1 of {len(snapshot.state.group.instances)} instances" in rates_fact.value
        assert "unknown: the restore rate of i4 was never seen" in copies.note
        validator("why").validate(json.loads(to_json(known)))
