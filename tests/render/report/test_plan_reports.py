"""A plan as a page and as a picture: what they say is what the plan says, and names do nothing in them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree

import pytest

from kstream_plan.documents.plan.read import SavedPlan, read_saved
from kstream_plan.documents.plan.write import plan_document, plan_json
from kstream_plan.errors import UsageError
from kstream_plan.model import Group, Rates
from kstream_plan.model.scenario import Leave, Return, Scenario
from kstream_plan.plans import MemberLeft, Plan, Round
from kstream_plan.plans.rebalance_events import events
from kstream_plan.plans.series import level_at
from kstream_plan.plans.simulated import Simulation
from kstream_plan.plans.timeline import LoadAt, timeline
from kstream_plan.render.report.figure import load_figure, timeline_figure
from kstream_plan.render.report.reports import plan_svg, plans_html
from kstream_plan.render.report.tables import timeline_table
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.simulate import simulate
from tests.helpers import learner_cases, plan_cases, report_cases, simulation_cases
from tests.helpers.connect_rows import even
from tests.helpers.connect_rows import snapshot as connect
from tests.helpers.goldens import assert_golden
from tests.helpers.in_rows import round_steps
from tests.helpers.pages import Page

pytestmark = pytest.mark.xdist_group("simulations")


def page(plan: Plan) -> Page:
    return Page(plans_html([SavedPlan(plan)]))


@pytest.mark.parametrize("name", ["scale-out", "crash"])
def test_the_page_of_a_plan(name: str) -> None:
    html = plans_html([SavedPlan(plan_cases.case(name))])
    body = html[html.index("<main>") : html.index("<footer>")]
    assert_golden(f"report/{name}.html", body)


def test_the_picture_of_a_plan() -> None:
    svg = plan_svg([SavedPlan(plan_cases.case("scale-out"))])
    ElementTree.fromstring(svg)
    assert_golden("report/scale-out.svg", svg)


def test_nobody_runs_what_restores_before_it_runs() -> None:
    item = report_cases.streams(500.0).plan
    figure = timeline_figure(item, events(item), timeline(item), Names(item.group))
    last = figure.rows[-1]
    assert (last.label, last.sums_up) == ("paused", "at most 12")
    assert last.description == "paused at once: at most 12: at most 10 for a rebalance, at most 12 while they restore"
    assert [shape.kind for shape in last.shapes] == ["restores", "still", "still-tick"]
    least = plan_cases.case("crash")
    row = timeline_figure(least, events(least), timeline(least), Names(least.group)).rows[-1]
    assert row.sums_up.startswith("at least ")


@pytest.mark.parametrize("rate", [None, 500.0])
def test_no_bound_is_that_of_the_one_way_which_is_drawn(rate: float | None) -> None:
    item = report_cases.streams(rate).plan
    rows = timeline_figure(item, events(item), timeline(item), Names(item.group)).rows
    summed_up = {row.label: row.sums_up for row in rows}
    least, most = item.ends("paused_tasks_at_once")
    assert (least, most) == (7, 12)
    assert summed_up["paused"] == ("at least 7" if rate is None else "at most 12")


def test_what_starts_cold_stands_still_while_it_restores() -> None:
    item = plan(replace(plan_cases.snapshot("crash"), rates=Rates(restore_per_instance=500.0)))
    moves = next(table for table in page(item).tables if table[0][-1] == "paused in all")[1:]
    lasts = {row[2].split()[0]: row[-1] for row in moves if row[5] == "cold start"}
    document = json.loads(plan_json(item))
    assert all(re.fullmatch(r"\S+, then restores for about \S+", said) for said in lasts.values())
    assert any(
        said.endswith(f"about {duration(document['summary']['max_cold_restore_ms'])}") for said in lasts.values()
    )


def test_what_starts_cold_is_not_drawn_as_running_where_nobody_knows_from_when_on_it_does() -> None:
    for rate in (None, 500.0):
        item = report_cases.streams(rate).plan
        drawn = timeline(item)
        cold = Counter((start.instance, start.restores_ms is None) for start in drawn.cold_starts)
        assert cold
        for place, course in enumerate(drawn.instances):
            assert course.unsure[-1].number == cold[place, True]
            assert all(level.number <= level_at(course.runs, level.at_ms) for level in course.unsure)
        rows = timeline_figure(item, events(item), drawn, Names(item.group)).rows
        assert any(shape.kind == "unsure" for row in rows for shape in row.shapes) == (rate is None)


def test_what_is_worse_between_is_summed_up_as_well() -> None:
    item = report_cases.restart().plan
    summed_up = {row.label: row.sums_up for row in load_figure(item, timeline(item)).rows}
    assert summed_up["connector balance"] == "0 → 5 → 0"
    assert summed_up["tasks per worker"] == "5 → 0 to 5 → 5"
    assert "copies warming up" not in summed_up


def test_the_least_and_the_most_between_are_summed_up_though_they_are_not_at_the_same_time() -> None:
    item = report_cases.restart().plan
    loads = [LoadAt(at_ms, *ends, ends[1] - ends[0], 0) for at_ms, ends in enumerate([(5, 5), (5, 8), (0, 5), (5, 5)])]
    row = load_figure(item, replace(timeline(item), loads=tuple(loads))).rows[0]
    assert row.sums_up == "5 → 0 to 8 → 5"
    assert row.description == "tasks per worker, least to most: 5 at first, 0 to 8 between, 5 at the end"


def test_the_last_mark_has_its_word_before_it() -> None:
    item = report_cases.restart().plan
    marks = timeline_figure(item, events(item), timeline(item), Names(item.group)).marks
    assert [(mark.text, mark.is_before) for mark in marks] == [("leave", False), ("return", False), ("delay end", True)]


def test_a_word_without_room_goes_on_the_one_that_covers_its_place() -> None:
    happens = [
        entry(at_ms=80_000 * place + later_ms, process_ids=(f"w{place}",))
        for place in range(3)
        for entry, later_ms in ((Leave, 0), (Return, 20_000))
    ]
    item = simulate(connect(even(3)), Scenario(events=tuple(happens))).plan
    marks = timeline_figure(item, events(item), timeline(item), Names(item.group)).marks
    assert [mark.text for mark in marks] == [*["leave, return", ""] * 3, "delay end"]


@pytest.mark.parametrize(
    "case",
    [
        *(partial(plan_cases.case, name) for name in ("scale-out", "crash", "settled")),
        lambda: drain(plan_cases.snapshot("scale-out"), ["i1"]).plan,
        lambda: simulation_cases.case(simulation_cases.NAMES[0]).plan,
    ],
)
def test_the_picture_and_its_table_have_as_many_paused_at_once(case: Callable[[], Plan]) -> None:
    item = case()
    axis = timeline(item)
    most = max(level.number for level in axis.still)
    rows = timeline_table(item, events(item), axis, Names(item.group)).rows
    paused = [row for row in rows if row.cells[0].text.startswith("paused")]
    assert max((int(cell.text) for row in paused for cell in row.cells[1:]), default=0) == most


def test_a_stop_that_is_noticed_later_is_marked_twice() -> None:
    item = drain(plan_cases.snapshot("scale-out-standbys"), ["i1"]).plan
    noticed_ms = next(rnd.at_ms for rnd in item.rounds if rnd.member_steps)

    def texts(plan: Plan, to_ms: int) -> list[str]:
        shown = timeline_figure(plan, events(plan), replace(timeline(plan), to_ms=to_ms), Names(plan.group))
        return [mark.text for mark in shown.marks[:2]]

    answers = ["i1 stops 0s", f"noticed {duration(noticed_ms)}"]
    assert texts(item, timeline(item).to_ms) == answers
    crowded_ms = 20 * timeline(item).to_ms
    assert texts(item, crowded_ms) == ["", ", ".join(answers)], "too near to each other for words of their own"
    instances = tuple(replace(one, host=f"{'i' * 30}{one.host}") for one in item.group.instances)
    long = replace(item, group=Group(item.group.application_id, item.group.tasks, instances))
    assert texts(long, crowded_ms) == ["", f"1 instance stops 0s, noticed {duration(noticed_ms)}"]
    left = replace(item, rounds=tuple(_left_at_once(item.group, rnd) for rnd in item.rounds))
    assert texts(left, timeline(item).to_ms)[0] == "leave"


def _left_at_once(group: Group, rnd: Round) -> Round:
    at_once = [replace(step, stopped_at_ms=rnd.at_ms) if isinstance(step, MemberLeft) else step for step in rnd.steps]
    return replace(rnd, steps=round_steps(group, at_once))


def test_no_time_of_the_axis_is_cut_off() -> None:
    item = simulation_cases.case("replace-one").plan
    *others, last = timeline_figure(item, events(item), timeline(item), Names(item.group)).ticks
    assert (last.is_before, last.tight) == (float(last.percent) > 93, True)
    assert [tick.tight for tick in others] == [bool(place % 2) for place in range(len(others))]


_DRAWN: Mapping[str, Callable[[], Plan]] = MappingProxyType(
    {
        **{name: partial(plan_cases.case, name) for name in ("scale-out", "crash-standbys", "scale-out-standbys-fast")},
        "connect": lambda: report_cases.restart().plan,
    }
)


@pytest.mark.parametrize("text", _DRAWN)
def test_what_the_page_draws_is_what_the_json_says(text: str) -> None:
    result = _DRAWN[text]()
    document, [data] = json.loads(json.dumps(plan_document(result, full=True))), page(result).data
    numbers, times_ms = iter(data["stretches"]), data["times_ms"]
    stretches = [(*item[:3], times_ms[item[3]], times_ms[item[4]]) for item in zip(*[numbers] * 5, strict=True)]
    names = {item["process_id"]: name for item, name in zip(document["instances"], data["instances"], strict=True)}
    times = result.in_effect_ms if result.is_of_workers else [rnd["at_ms"] for rnd in document["rounds"]]
    for place, (at_ms, rnd) in enumerate(zip(times, document["rounds"], strict=True)):
        if at_ms in times[place + 1 :]:
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
                if data["doing"][what] == doing and from_ms <= at_ms < to_ms
            }
            assert drawn == said


def elsewhere(document: dict[str, Any]) -> list[str]:
    """The tasks with state that a plan's JSON starts on another instance, or where nobody ran them."""
    stateful = {task["task_id"] for task in document["tasks"] if task["stateful"]}
    steps = [step for rnd in document["rounds"] for step in rnd["steps"] if step["kind"] in ("hand-over", "promote")]
    return sorted(
        step["task_id"]
        for step in steps
        if step["task_id"] in stateful
        and (step["from"] is None or step["from"]["process_id"] != step["to"]["process_id"])
    )


@pytest.mark.parametrize(
    "item",
    [report_cases.restart, report_cases.streams, partial(report_cases.streams, 500.0)],
    ids=["connect", "streams", "streams-rate"],
)
def test_what_is_drawn_of_connect_and_streams_groups_is_what_the_json_says(item: Callable[[], Simulation]) -> None:
    result = item().plan
    document, found = json.loads(json.dumps(plan_document(result, full=True))), page(result)
    [data] = found.data
    names = {entry["process_id"]: name for entry, name in zip(document["instances"], data["instances"], strict=True)}
    stretches = list(zip(*[iter(data["stretches"])] * 5, strict=True))
    at = data["times_ms"]
    known = {name for name, _ in data["tasks"].values()}
    for doing, role in (("runs", "active"), ("standby", "standby")):
        at_the_end = {
            (data["tasks"][str(task)][0], data["instances"][instance])
            for task, instance, what, _, to in stretches
            if data["doing"][what] == doing and at[to] >= data["to_ms"]
        }
        held = document["rounds"][-1]["assigned"].items()
        assert at_the_end == {(task, names[entry]) for entry, roles in held for task in roles[role] if task in known}
    moves = next(table for table in found.tables if table[0][-1] == "paused in all")[1:]
    assert sorted(row[2].split(" (input")[0] for row in moves) == elsewhere(document)
    summary, worst = document["summary"], document["summary"]["max_paused_task"]
    lengths: Counter[str] = Counter()
    for task, begin, end in zip(*[iter(data["standstills"])] * 3, strict=True):
        lengths[data["tasks"][str(task)][0]] += at[end] - at[begin]
    assert lengths[worst["task_id"]] == worst["ms"]
    if result.is_of_workers:
        assert sum(lengths.values()) == summary["paused_task_ms"]
    restores = [at[end] - at[begin] for _, _, what, begin, end in stretches if data["doing"][what] == "restores"]
    assert max(restores, default=0) == (summary["max_cold_restore_ms"] or 0)


def test_the_tables_have_what_the_json_says() -> None:
    result = plan_cases.case("scale-out")
    document, found = json.loads(plan_json(result)), page(result)
    moves = next(table for table in found.tables if table[0][-1] == "paused in all")[1:]
    assert sorted(row[2].split()[0] for row in moves) == elsewhere(document)
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


def test_nothing_is_loaded_from_elsewhere() -> None:
    html = plans_html([SavedPlan(plan_cases.case("scale-out"))])
    assert set(re.findall(r"https?://[^\s\"'<]+", html)) <= {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in html


def test_a_saved_plan_looks_as_it_did() -> None:
    item = simulation_cases.case("add-two").plan
    [saved] = read_saved(plan_json(item).encode(), "here")
    assert plans_html([saved]) == plans_html([SavedPlan(item)])


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
    assert [row[0] for row in found.tables[0]] == ["Application", *(item.plan.group.application_id for item in saved)]
    assert "3 applications: 2 moving, 1 settled. 1 application is at risk: 1 with cold starts" in found.text
    with pytest.raises(UsageError, match="one application"):
        plan_svg(saved)


@pytest.mark.parametrize("design", ["joins", "leaves"])
def test_learner_groups_are_drawn(design: str) -> None:
    item = learner_cases.walkthrough() if design == "joins" else learner_cases.left()
    assert "a copy warms up there" in page(item).text


def test_a_page_stays_small() -> None:
    group = report_cases.largest().group
    assert (len(group.instances), len(group.tasks)) == (220, 3_000)
    assert len(report_cases.case("largest")) < 1_000_000
