"""A plan as a page and as a picture: what they say is what the plan says, and names do nothing in them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kstream_plan.documents.plan.read import SavedPlan, read_saved
from kstream_plan.documents.plan.write import plan_document, plan_json
from kstream_plan.errors import UsageError
from kstream_plan.plans import Plan
from kstream_plan.render.plan.story import tell
from kstream_plan.render.report.reports import plan_svg, plans_html
from kstream_plan.render.simulation.story import tell_simulation
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration
from kstream_plan.simulation.one_plan import plan
from tests.helpers import learner_cases, plan_cases, simulation_cases
from tests.helpers.goldens import assert_golden
from tests.helpers.pages import Page

pytestmark = pytest.mark.xdist_group("simulations")


def page(of: Plan) -> Page:
    return Page(plans_html([SavedPlan(of)]))


@pytest.mark.parametrize("name", ["scale-out", "crash"])
def test_the_page_of_a_plan(name: str) -> None:
    html = plans_html([SavedPlan(plan_cases.case(name))])
    body = html[html.index("<main>") : html.index("<footer>")]
    assert_golden(f"report/{name}.html", body)


def test_the_picture_of_a_plan() -> None:
    svg = plan_svg([SavedPlan(plan_cases.case("scale-out"))])
    ElementTree.fromstring(svg)
    assert_golden("report/scale-out.svg", svg)


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_the_first_lines_are_those_of_the_table(name: str) -> None:
    of = plan_cases.case(name)
    story, text = tell(of, Names(of.group)), page(of).text
    for said in (story.title.label, *(fact.forms[0] for fact in (story.title, *story.facts)), *story.loads[:0]):
        assert " ".join(said.split()) in text
    for note in of.warnings:
        assert " ".join(Names(of.group).escape_message(note.message).split()) in text
    assert of.digest in text


@pytest.mark.parametrize("name", ["add-two", "replace-one", "nobody", "no-state"])
def test_the_first_lines_of_a_simulation_are_those_of_the_table(name: str) -> None:
    of = simulation_cases.case(name)
    story, text = tell_simulation(of, Names(of.plan.group)), Page(plans_html([SavedPlan(of.plan, simulation=of)])).text
    for said in (*(fact.forms[0] for fact in (story.title, *story.facts)), story.ending, story.cure, *story.events):
        assert " ".join(said.split()) in text


@pytest.mark.parametrize("of", ["scale-out", "crash-standbys", "scale-out-standbys-fast"])
def test_what_the_page_draws_is_what_the_json_says(of: str) -> None:
    made = plan_cases.case(of)
    document, [data] = json.loads(json.dumps(plan_document(made, full=True))), page(made).data
    numbers, times_ms = iter(data["stretches"]), data["times_ms"]
    stretches = [(*of[:3], times_ms[of[3]], times_ms[of[4]]) for of in zip(*[numbers] * 5, strict=True)]
    names = {of["process_id"]: name for of, name in zip(document["instances"], data["instances"], strict=True)}
    times = [rnd["at_ms"] for rnd in document["rounds"]]
    for place, rnd in enumerate(document["rounds"]):
        if rnd["at_ms"] in times[place + 1 :]:
            continue
        for role, doing in (("active", "runs"), ("standby", "standby"), ("warmup", "warms-up")):
            said = {
                (task, names[process_id])
                for process_id, held in rnd["assigned"].items()
                for task in held[role]
                if task in {name for name, _ in data["tasks"].values()}
            }
            drawn = {
                (data["tasks"][str(task)][0], data["instances"][instance])
                for task, instance, what, from_ms, to_ms in stretches
                if data["doing"][what] == doing and from_ms <= rnd["at_ms"] < to_ms
            }
            assert drawn == said


def test_the_tables_have_what_the_json_says() -> None:
    made = plan_cases.case("scale-out")
    document, found = json.loads(plan_json(made)), page(made)
    moves = next(table for table in found.tables if table[0][-1] == "stands still in all")[1:]
    starts = [step for rnd in document["rounds"] for step in rnd["steps"] if step["kind"] in ("hand-over", "promote")]
    stateful = {task["task_id"] for task in document["tasks"] if task["stateful"]}
    elsewhere = [
        step
        for step in starts
        if step["task_id"] in stateful and step["from"]["process_id"] != step["to"]["process_id"]
    ]
    assert sorted(row[2].split()[0] for row in moves) == sorted(step["task_id"] for step in elsewhere)
    assert len(moves) == document["summary"]["hops"]
    [data] = found.data
    still = iter(data["standstills"])
    in_all: dict[str, int] = {}
    for task, from_at, to_at in zip(*[still] * 3, strict=True):
        name = data["tasks"][str(task)][0]
        in_all[name] = in_all.get(name, 0) + data["times_ms"][to_at] - data["times_ms"][from_at]
    assert {row[2].split()[0]: row[-1] for row in moves} == {
        row[2].split()[0]: duration(in_all[row[2].split()[0]]) for row in moves
    }
    loads = next(table for table in found.tables if table[0][0] == "instance")
    after = [sum(map(int, column)) for column in zip(*(row[1:] for row in loads[1:]), strict=True)]
    assert after == [len(stateful), len(stateful), *[len(document["tasks"]) - len(stateful)] * 2]


def test_nothing_is_loaded_from_elsewhere() -> None:
    html = plans_html([SavedPlan(plan_cases.case("scale-out"))])
    assert set(re.findall(r"https?://[^\s\"'<]+", html)) <= {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in html


def test_a_saved_plan_looks_as_it_did() -> None:
    of = simulation_cases.case("add-two").plan
    [saved] = read_saved(plan_json(of).encode(), "here")
    assert plans_html([saved]) == plans_html([SavedPlan(of)])


def test_a_page_is_the_same_whatever_the_hash_seed(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(plan_json(plan_cases.case("scale-out-standbys")) + "\n", encoding="utf-8")
    code = "import sys; from kstream_plan.documents.plan.files import read_saved_file as read; "
    code += "from kstream_plan.render.report.reports import plans_html, plan_svg; "
    code += "saved = read(sys.argv[1]); print(plans_html(saved), plan_svg(saved))"
    pages = {
        subprocess.run(
            [sys.executable, "-c", code, str(file)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(pages) == 1


def test_of_many_instances_the_page_has_areas_first_and_everyone_below() -> None:
    found = page(plan_cases.case("many-instances"))
    assert "all instances (200)" in found.text
    assert "Every instance" in found.text


def test_several_applications_have_an_overview_and_no_picture() -> None:
    saved = [SavedPlan(plan_cases.case(name)) for name in ("settled", "crash", "scale-out")]
    found = Page(plans_html(saved))
    assert [row[0] for row in found.tables[0]] == ["application", *(of.plan.group.application_id for of in saved)]
    assert "3 applications: 1 with cold starts, 2 would change, 1 settled already" in found.text
    with pytest.raises(UsageError, match="one application"):
        plan_svg(saved)


@pytest.mark.parametrize("design", ["joins", "leaves"])
def test_learner_groups_are_drawn(design: str) -> None:
    of = learner_cases.walkthrough() if design == "joins" else learner_cases.left()
    assert "a copy warms up there" in page(of).text


def test_a_page_stays_small() -> None:
    of = plan(plan_cases.many_instances(new=40, tasks_each=15), max_rounds=40)
    assert len(of.group.tasks) >= 2_800
    assert len(plans_html([SavedPlan(of)])) < 1_000_000
