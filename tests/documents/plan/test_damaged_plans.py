"""A saved plan that somebody damaged is refused in one piece, or every command can show it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kstream_plan.comparison.diff import compare
from kstream_plan.comparison.sides import plan_course, plan_side
from kstream_plan.documents.plan.read import SavedPlan, read_plans, read_saved
from kstream_plan.documents.plan.seal import seal_of
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.documents.policy_file import read_policy
from kstream_plan.errors import PlanFileError
from kstream_plan.model.scenario import Scenario, Stop
from kstream_plan.plans import Plan
from kstream_plan.plans.result import result_of
from kstream_plan.plans.simulated import Simulation
from kstream_plan.policy.check import check_all, check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.render import markdown as render_markdown
from kstream_plan.render.answers import to_json, to_markdown, to_table
from kstream_plan.render.answers import to_markdown as markdown
from kstream_plan.render.answers import to_markdown as simulation_markdown
from kstream_plan.render.answers import to_table as simulation_table
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.check import REPORTS
from kstream_plan.render.check.table import table_report
from kstream_plan.render.markdown import to_markdown as page_to_markdown
from kstream_plan.render.pages.diff import diff_page
from kstream_plan.render.pages.plan import excerpt_page
from kstream_plan.render.pages.steps import Focus
from kstream_plan.render.terminal import to_terminal
from kstream_plan.simulation.one_plan import plan
from tests.helpers import check_cases, connect_rows, plan_cases, simulation_cases
from tests.helpers.safe_groups import safe_group
from tests.helpers.schemas import validator

pytestmark = pytest.mark.xdist_group("simulations")

SCHEMA = validator("plan")
_EVIL = "\x1b[2J<script>\u202e`|@me"
_STANDARD = Standard(
    read_policy(check_cases.STRICT, "policy.yaml"),
    check_cases.NOW,
    {"--expect-digest": ("0" * 64,), "--require-generation": 3, "--max-snapshot-age": 1},
)


@cache
def _documents() -> tuple[str, ...]:
    """Small plans in which every kind of step is, one of them of a simulation."""
    plans = [plan_json(plan_cases.case(name)) for name in ("unfinished", "crash-standbys", "settled", "no-tasks")]
    return (*plans, simulation_json(simulation_cases.case("replace-one")))


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every value in a document, but for the whole of it."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*path, key))


@cache
def _places_by_shape(text: str) -> dict[tuple[str, ...], list[tuple[str | int, ...]]]:
    """Return the places by what they are: all ``rounds[*].steps[*].from`` together, so that each is met as often."""
    shapes: dict[tuple[str, ...], list[tuple[str | int, ...]]] = {}
    for path in _places(json.loads(text)):
        shapes.setdefault(tuple("*" if isinstance(key, int) else key for key in path), []).append(path)
    return shapes


class Damage(NamedTuple):
    """A value in one of the documents, and what stands there instead."""

    number: int
    path: tuple[str | int, ...]
    value: object


@st.composite
def damages(draw: st.DrawFn) -> Damage:
    """Another text, number, null, list or object somewhere in a saved plan."""
    number = draw(st.integers(0, len(_documents()) - 1))
    text = _documents()[number]
    document = json.loads(text)
    shapes = _places_by_shape(text)
    path = draw(st.sampled_from(shapes[draw(st.sampled_from(sorted(shapes)))]))
    ids = [name for of in document["instances"] for name in (of["process_id"], of["consumers"][0]["consumer_id"])]
    texts = st.sampled_from(["", "0_0", "9_9", "active", _EVIL, f"{_EVIL}__0_0", *ids])
    numbers = st.sampled_from([0, -1, 1, 7, 2**63, -(2**63), 10**400, 1.5, float("nan"), float("inf")])
    return Damage(number, path, draw(texts | numbers | st.sampled_from([None, True, [], {}])))


def _replaced(document: Any, path: tuple[str | int, ...], value: object) -> Any:
    document = part = copy.deepcopy(document)
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return document


@settings(max_examples=150, deadline=None)
@given(damages())
def test_a_damaged_plan_is_refused_or_can_be_shown(damage: Damage) -> None:
    document = _replaced(json.loads(_documents()[damage.number]), damage.path, damage.value)
    try:
        (saved,) = read_saved(json.dumps(document).encode(), "f")
    except PlanFileError:
        return
    _show(saved.plan)
    _compare(saved.plan)
    _check(saved)
    if saved.simulation is not None:
        _show_simulation(saved.simulation)


@settings(max_examples=150, deadline=None)
@given(damages())
def test_what_the_schema_forbids_is_refused(damage: Damage) -> None:
    document = _replaced(json.loads(_documents()[damage.number]), damage.path, damage.value)
    text = json.dumps(document)
    assume(not any(word in text for word in ("NaN", "Infinity")))
    try:
        read_saved(text.encode(), "f")
    except PlanFileError:
        return
    assert SCHEMA.errors(document) == []


@pytest.mark.parametrize(
    "place", [("assignor",), ("application_id",), ("verdict", "reason"), ("tasks", 0, "topics", 0)]
)
@pytest.mark.parametrize("name", ["settled", "unfinished"])
def test_texts_of_a_plan_are_harmless_wherever_they_are_shown(name: str, place: tuple[str | int, ...]) -> None:
    document = _replaced(json.loads(plan_json(plan_cases.case(name))), place, _EVIL)
    document["seal"] = seal_of(document)
    (saved,) = read_saved(json.dumps(document).encode(), "f")
    _show(saved.plan)
    _compare(saved.plan)
    _check(saved)


def test_a_digest_is_one_and_is_shown_as_a_name() -> None:
    plan = plan_cases.case("settled")
    document = json.loads(plan_json(plan))
    for digest in (_EVIL, "0" * 63, "0" * 65, "A" * 64, f"{'0' * 64}\n"):
        for name in ("digest", "snapshot_digest"):
            damaged_one = _replaced(document, ("input", name), digest)
            with pytest.raises(PlanFileError, match=rf"input.{name} is not a SHA-256 digest"):
                read_saved(json.dumps(damaged_one).encode(), "f")
    _check(SavedPlan(replace(plan, digest=_EVIL)))


_UNKNOWN_IDS = [
    ("member-joined", ("process_id",), "there is no instance 'x'"),
    ("member-left", ("process_id",), "there is no instance 'x'"),
    *(
        (kind, (end, name), "there is no consumer")
        for kind in ("withhold", "hand-over", "promote", "keep-temporary", "thread-move")
        for end in ("from", "to")
        for name in ("process_id", "consumer_id")
    ),
]


@pytest.mark.parametrize(("kind", "path", "message"), _UNKNOWN_IDS)
def test_a_step_names_only_who_is_there(kind: str, path: tuple[str, ...], message: str) -> None:
    for text in _documents():
        document = json.loads(text)
        places = (
            (r, s)
            for r, of in enumerate(document["rounds"])
            for s, step in enumerate(of["steps"])
            if step["kind"] == kind and step.get("from", True)
        )
        for number, step in islice(places, 1):
            damaged_one = _replaced(document, ("rounds", number, "steps", step, *path), "x")
            with pytest.raises(PlanFileError, match=rf"rounds\[{number}\].steps do not fit what is held: {message}"):
                read_saved(json.dumps(damaged_one).encode(), "f")
            return
    raise AssertionError(f"no plan has a {kind}")


def _show(plan: Plan) -> None:
    rounds = [Focus(rnd.number, None, None) for rnd in plan.rounds[:1]]
    tasks = [Focus(None, task.task_id, None) for task in plan.group.tasks[:1]]
    for focus in [*rounds, *tasks, Focus(None, None, plan.group.instances[0].process_id)]:
        _harmless(to_terminal(excerpt_page(plan, focus)))
        _harmless(render_markdown.to_markdown(excerpt_page(plan, focus)), is_markdown=True)
    _harmless(table(plan, verbose=True))
    results = [result_of(plan)] * 2
    _harmless(to_table(results))
    _harmless(markdown(plan, verbose=True), is_markdown=True)
    _harmless(to_markdown(results), is_markdown=True)
    (again,) = read_saved(plan_json(plan, full=True).encode(), "f")
    assert again.plan == plan


def _show_simulation(simulated: Simulation) -> None:
    _harmless(simulation_table(simulated, verbose=True))
    _harmless(simulation_markdown(simulated, verbose=True), is_markdown=True)
    results = [result_of(simulated.plan, simulated)] * 2
    _harmless(to_table(results))
    _harmless(to_markdown(results), is_markdown=True)
    assert json.loads(simulation_json(simulated))["simulation"] is not None


def _compare(plan: Plan) -> None:
    last = len(plan.rounds)
    for first in {0, max(0, last - 1)}:
        found = compare(plan_side(plan, first), plan_side(plan, last), plan_course(plan, first, last))
        page = diff_page(found, verbose=True, protocol_view=True)
        _harmless(to_terminal(page))
        _harmless(page_to_markdown(page), is_markdown=True)
        json.loads(to_json(found, view=True))


def _check(saved: SavedPlan) -> None:
    checked = check_plan(saved.plan, _STANDARD, baseline=saved.plan, source="plan.json", draws=saved.draws)
    check = check_all([checked], check_cases.NOW)
    _harmless(table_report(check))
    for form, report in REPORTS.items():
        text = report(check)
        _harmless(text, is_markdown=form == "markdown")


def _harmless(text: str, *, is_markdown: bool = False) -> None:
    """Check that no text of the plan drives a terminal or becomes HTML."""
    assert all(line.isprintable() for line in text.split("\n"))
    if is_markdown:
        assert "<script" not in MarkdownIt("commonmark").enable("table").render(text)


def test_a_name_of_several_lines_is_told_on_one() -> None:
    document = json.loads(plan_json(plan(connect_rows.snapshot(connect_rows.even()))))
    task = document["tasks"][0]
    task["task_id"], task["topics"] = "a\nb", ["t"]
    with pytest.raises(PlanFileError) as error:
        read_plans(json.dumps(document).encode(), "saved")
    assert r"'a\nb' is not a task id" in str(error.value)


def test_who_stops_before_a_rebalance_cannot_be_deleted_from_a_plan_of_workers() -> None:
    document = json.loads(plan_json(plan(connect_rows.snapshot(connect_rows.even()))))
    del document["stopping"]
    with pytest.raises(PlanFileError, match="stopping is missing"):
        read_plans(json.dumps(document).encode(), "saved")


@pytest.mark.parametrize("first", [0, 10**6])
def test_turns_that_are_not_one_after_the_other_are_refused(first: int) -> None:
    crash = Scenario(events=(Stop(at_ms=0, process_ids=("ba2a60ce-456e-4fca-9e2b-12e2b0847d90",), crash=True),))
    document = json.loads(plan_json(plan(safe_group("s4-streams-43/3-after-leave.json"), scenario=crash)))
    document["rounds"][0]["turns"][1]["first"] = first
    with pytest.raises(PlanFileError, match="first"):
        read_plans(json.dumps(document).encode(), "saved")
