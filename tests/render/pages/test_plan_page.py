"""What the page of a plan says is what its JSON has, in the words that everything else uses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Consumer, Group, Instance, Note, Rates, TaskId
from kstream_plan.model.scenario import Stop
from kstream_plan.model.settings import SETTINGS_GIVEN
from kstream_plan.model.times import duration
from kstream_plan.plans import FigureRange, Plan
from kstream_plan.plans.note_codes import EXPERT_CODES
from kstream_plan.plans.plan import ENDS_OF_OTHERS_NOT_PLAYED
from kstream_plan.render.page import Page, Table
from kstream_plan.render.pages.plan import excerpt_page, plan_page
from kstream_plan.render.pages.simulation import event_text
from kstream_plan.render.pages.steps import NO_STEP, Focus
from kstream_plan.render.text.names import Names
from kstream_plan.simulation.one_plan import plan
from tests.helpers import plan_cases, simulation_cases

pytestmark = pytest.mark.xdist_group("simulations")

PLANS = [("plan", name) for name in plan_cases.NAMES] + [("simulation", name) for name in simulation_cases.NAMES]


@cache
def shown(kind: str, name: str) -> tuple[Page, Mapping[str, Any]]:
    """Return the page of a case, and its JSON."""
    if kind == "plan":
        result = plan_cases.case(name)
        return plan_page(result), json.loads(plan_json(result))
    simulated = simulation_cases.case(name)
    return plan_page(simulated), json.loads(simulation_json(simulated))


def facts(page: Page) -> dict[str, str]:
    return {fact.key: fact.value for fact in page.facts}


def table(page: Page, title: str) -> Table:
    return next(table for table in page.tables if table.title.startswith(title))


@pytest.mark.parametrize(("kind", "name"), PLANS)
def test_every_rebalance_in_which_instances_join_or_leave_says_so(kind: str, name: str) -> None:
    page, document = shown(kind, name)
    if not document["rounds"]:
        return
    names = cells(page, "Rounds", "Rebalance")
    numbers = [text.split("–")[0] for text in cells(page, "Rounds", "#")]
    for rnd in document["rounds"]:
        kinds = {step["kind"] for step in rnd["steps"]}
        for step, verbs in (
            ("member-joined", ("join", "return", "thread")),
            ("member-left", ("leave", "crashed", "stopped", "return")),
        ):
            if step in kinds and f"{rnd['number']}" in numbers:
                assert any(verb in names[numbers.index(f"{rnd['number']}")] for verb in (*verbs, "thread"))


def cells(page: Page, title: str, head: str) -> list[str]:
    """Return the texts of a column."""
    found = table(page, title)
    place = [column.head for column in found.columns].index(head)
    return [", ".join(row.cells[place].items) for row in found.rows]


@pytest.mark.parametrize(("kind", "name"), PLANS)
def test_every_line_is_in_the_json_under_its_word(kind: str, name: str) -> None:
    page, document = shown(kind, name)
    cases = plan_cases if kind == "plan" else simulation_cases
    verbose = plan_page(cases.case(name), verbose=True)
    words = {"warning": "warnings", "note": "notes", "assumption": "assumptions", "next": "next"}
    for word, field in words.items():
        lines = [(line.code, line.text.removesuffix(".")) for line in page.lines if line.kind == word]
        notes = [(note["code"], note["message"].removesuffix(".")) for note in document[field]]
        assert lines == [note for note in notes if note[0] not in EXPERT_CODES]
        whole = [(line.code, line.text.removesuffix(".")) for line in verbose.lines if line.kind == word]
        assert whole == notes


@pytest.mark.parametrize(("kind", "name"), PLANS)
def test_figures_are_those_of_the_json(kind: str, name: str) -> None:
    page, document = shown(kind, name)
    summary, said = document["summary"], facts(page)
    if not document["rounds"]:
        assert "duration" not in said
        return
    assert duration(summary["duration_ms"]) in said["duration"] or said["duration"] == "none"
    assert f"{summary['rebalances']:,}" in said["rebalances"]
    if "moves" in said:
        assert said["moves"].startswith("none" if said["moves"].startswith("none") else f"{summary['moves']:,}")
    if "cold" in said:
        assert said["cold"].startswith(f"{summary['cold_handovers']:,}" if summary["cold_handovers"] else "none")
    worst = summary["max_paused_task"]
    if worst is not None and worst["ms"]:
        assert duration(worst["ms"]) in said["pause"]
        assert worst["task_id"] in said["pause"]
    assert len(page.facts) <= 7
    assert 1 <= len(page.sentences) <= 4


@pytest.mark.parametrize(("kind", "name"), PLANS)
def test_rebalances_are_numbered_as_in_the_json(kind: str, name: str) -> None:
    page, document = shown(kind, name)
    if not document["rounds"]:
        assert not page.tables
        return
    spans = [
        [int(number) for number in text.replace(",", "").split("–")] for text in cells(page, "Rounds", "#") if text
    ]
    assert spans[0][0] == 1
    assert spans[-1][-1] == document["rounds"][-1]["number"]
    assert all(after[0] == before[-1] + 1 for before, after in pairwise(spans))
    assert cells(page, "Rounds", "Time")[-1] == duration(document["summary"]["duration_ms"])


@pytest.mark.parametrize(("kind", "name"), PLANS)
def test_instances_are_all_there(kind: str, name: str) -> None:
    page, document = shown(kind, name)
    if page.tables:
        names = cells(page, "Tasks per instance", "Instance")
        counted = [re.match(r"([\d,]+) (?:new |gone )?(?:instances|others)", text) for text in names]
        assert sum(int(match[1].replace(",", "")) if match else 1 for match in counted) == len(document["instances"])


ENDS = {
    "rebalances": (3, 1_022),
    "duration_ms": (61_000, 7_200_000),
    "moves": (3, 21),
    "cold_handovers": (0, 8),
    "restored_records": (0, 58_001),
    "max_paused_task_ms": (100, 77_000),
    "settles": (0, 1),
}


def open_ended(plan: Plan) -> Plan:
    return replace(plan, summary=replace(plan.summary, ranges=tuple(FigureRange(name, *ENDS[name]) for name in ENDS)))


def test_what_is_unknown_stands_beside_each_figure() -> None:
    page = plan_page(open_ended(plan_cases.case("scale-out")))
    said = facts(page)
    assert said["duration"] == "about 11m (1m01s to 2h) if copies catch up within 1m; at least 28.5s without restores"
    assert said["rebalances"].startswith("22 (3 to 1,022): ")
    assert said["moves"].startswith("20 (3 to 21) of 24")
    assert said["cold"] == "0 (0 to 8 or more)"
    assert "30.1s (at least 0.1s)" in said["pause"]
    assert "58,000 (0 to 58,001) records" in said["restore"]
    assert page.tone == "unknown"
    assert page.sentences[0].startswith("The group may or may not settle")


def test_nothing_to_do_is_not_said_of_what_may_change() -> None:
    page = plan_page(open_ended(plan_cases.case("settled")))
    assert "up to 1,022 rebalances and 8 cold starts may follow, in up to 2h." in page.sentences[0]
    assert page.tone != "good"


def test_other_outcomes_that_were_not_simulated_are_told() -> None:
    simulated = simulation_cases.case("add-two")
    note = Note(ENDS_OF_OTHERS_NOT_PLAYED, "What is unknown was varied in one")
    page = plan_page(replace(simulated, plan=replace(simulated.plan, warnings=(*simulated.plan.warnings, note))))
    assert "What is unknown was varied in the shown simulation only" in " ".join(page.sentences)
    assert page.tone == "unknown"


def test_a_cold_start_is_red_and_named() -> None:
    page = plan_page(plan_cases.case("crash"))
    assert page.tone == "bad"
    assert {fact.key: fact.tone for fact in page.facts}["cold"] == "bad"
    cold = next(row for row in table(page, "Rounds").rows if any(cell.tone == "bad" for cell in row.cells))
    assert any("cold" in item for cell in cold.cells for item in cell.items)
    assert [line.code for line in page.lines if line.kind == "warning"] == ["cold-starts"]


def test_a_group_that_does_not_settle_says_what_it_waits_for() -> None:
    page = plan_page(plan_cases.case("never-ready"))
    assert page.tone == "bad"
    assert page.sentences[0].startswith("The group does not settle: ")
    assert "It waits for 0_0 on i5: " in page.sentences[0]
    assert cells(page, "Rounds", "Cut over").count("none: waits for copies") == 2
    assert page.lines[-1].text == "kstream-plan why SNAPSHOT"


def test_hundreds_of_probes_that_wait_are_one_row_which_says_so() -> None:
    slow = replace(plan_cases.snapshot("many-instances"), rates=Rates(restore_per_instance=4.0, produce_per_task=0.0))
    page = plan_page(plan(slow))
    names = cells(page, "Rounds", "Rebalance")
    assert len(names) <= 14
    (folded,) = [name for name in names if "copies behind at" in name]
    assert re.fullmatch(r"probes \d+ to \d+ \(copies behind at \d+\)", folded)


def test_a_plan_that_reached_its_limit_says_how_much_is_left() -> None:
    page = plan_page(plan_cases.case("unfinished"))
    assert "16 tasks have still to move, 2 at a time: about 8 probes (8m24s)." in page.sentences[0]
    assert table(page, "Tasks").note == "8 tasks without an owner when the plan ends"


def test_a_settled_group_says_what_a_loss_would_restore() -> None:
    said = facts(plan_page(plan_cases.case("settled")))
    assert "restores up to 16,000 records before its tasks run" in said["copies"]
    assert facts(plan_page(plan_cases.case("settled-standbys")))["copies"] == "1 for each stateful task"


def test_the_moment_is_that_of_the_snapshot_and_of_a_later_beginning() -> None:
    result = plan_cases.case("scale-out")
    assert plan_page(result).source == "snapshot: generation 1, 2026-11-21 13:00:38 UTC"
    assert result.end is not None
    later = replace(result, end=replace(result.end, begins_at="2026-11-21T15:00:00.000Z"))
    assert plan_page(later).source.endswith("; plan begins 2026-11-21 15:00:00 UTC")
    assert plan_page(replace(result, captured_at=None)).source == "snapshot: generation 1, unknown time"


def test_bytes_are_shown_where_the_size_of_a_record_is_known() -> None:
    simulated = replace(simulation_cases.case("remove-one"), record_size=100)
    assert facts(plan_page(simulated))["restore"].startswith("48,000 records, 4.8 MB")


def test_random_simulations_are_counted() -> None:
    page = plan_page(simulation_cases.case("add-two"))
    number = simulation_cases.case("add-two").draws
    assert number is not None
    assert f"a typical one of {number.number:,} simulations with random process ids" in " ".join(page.sentences)


def test_other_settings_stand_beside_all_that_they_change() -> None:
    simulated = next(
        simulated
        for simulated in map(simulation_cases.case, simulation_cases.NAMES)
        if simulated.what_ifs and simulated.draws is None
    )
    what_ifs = table(plan_page(simulated), "With other settings")
    assert len(what_ifs.rows) >= len(simulated.what_ifs) + 1
    assert [column.head for column in what_ifs.columns][1:] == ["Duration", "Rebalances", "Extra copies", "Cold starts"]


def test_an_excerpt_has_only_what_is_in_focus() -> None:
    result = plan_cases.case("scale-out-standbys")
    page = excerpt_page(result, Focus(task_id=TaskId(0, 5)))
    assert page.sections
    assert all("0_5" in sentence for section in page.sections for sentence in section.sentences)
    result = plan_cases.case("scale-out")
    idle = next(instance.process_id for instance in result.group.instances if instance.host == "i2")
    assert excerpt_page(result, Focus(task_id=TaskId(0, 0), process_id=idle)).sections[0].heading == NO_STEP


def test_an_unknown_generation_is_no_number() -> None:
    snapshot = plan_cases.snapshot("scale-out")
    unknown = replace(snapshot, state=replace(snapshot.state, generation=0))
    assert plan_page(plan(unknown)).source.startswith("snapshot: unknown generation, 2026-")


def test_a_title_names_given_settings_and_a_zone_that_is_gone() -> None:
    group = Group.of(
        "orders",
        plan_cases.case("scale-out").group.tasks,
        [
            Instance(
                process_id=f"p{place}",
                consumers=(Consumer(consumer_id=f"c{place}"),),
                host=f"i{place}",
                client_tags=(("zone", "ab"[place // 2]),),
            )
            for place in range(4)
        ],
    )
    names = Names(group)
    assert names.whole_area(["p1", "p0"]) == "zone a"
    assert names.whole_area(["p0", "p2"]) == names.whole_area(["p2"]) == names.whole_area([]) == ""
    assert event_text(Stop(at_ms=0, process_ids=("p0", "p1"), crash=True), names) == "all of zone a (i0, i1) crash"
    note = Note(SETTINGS_GIVEN, "Settings are given", ("num.standby.replicas=1",))
    plan = replace(plan_cases.case("scale-out"), assumptions=(note,))
    assert plan_page(plan).title.endswith(", with num.standby.replicas=1")
