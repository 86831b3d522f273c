"""Results in a notebook: a part of a page that runs nothing, and tables with what the JSON says."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

import kstream_plan
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.render.answers import to_json
from tests.helpers import plan_cases, report_cases, simulation_cases
from tests.helpers.pages import Page

pytestmark = pytest.mark.xdist_group("simulations")


@pytest.fixture(autouse=True)
def public_api() -> None:
    """Use it: it says who shows results."""
    assert kstream_plan.Plan


@pytest.mark.parametrize(
    "result",
    [
        plan_cases.case("scale-out"),
        simulation_cases.case("add-two"),
        report_cases.alike(),
        plan_cases.case("evil-names"),
    ],
    ids=["plan", "simulation", "alternatives", "evil"],
)
def test_a_result_shows_itself_and_runs_nothing(result: kstream_plan.Plan) -> None:
    html = result._repr_html_()
    assert html is not None
    page = Page(html)
    assert not [tag for tag, _ in page.tags if tag in ("script", "html", "body")]
    assert next(tag for tag, _ in page.tags) == "div"
    assert not [given for _, given in page.tags if "id" in given]


def test_rounds_and_steps_are_those_of_the_json() -> None:
    result = plan_cases.case("scale-out-standbys")
    document = json.loads(plan_json(result))
    rounds, steps = result.to_arrow().to_pylist(), result.to_arrow("steps").to_pylist()
    assert [(round_["number"], round_["at_ms"], round_["trigger"], round_["steps"]) for round_ in rounds] == [
        (round_["number"], round_["at_ms"], round_["trigger"], len(round_["steps"])) for round_ in document["rounds"]
    ]
    said = [(round_["number"], step) for round_ in document["rounds"] for step in round_["steps"]]
    assert [(item["round"], item["kind"], item["task_id"], item["restore_records"]) for item in steps] == [
        (number, step["kind"], step.get("task_id"), step.get("restore_records")) for number, step in said
    ]
    assert [item["to_process_id"] for item in steps] == [(step.get("to") or {}).get("process_id") for _, step in said]


def test_alternatives_are_those_of_the_json() -> None:
    alike = report_cases.alike()
    [*outcomes] = json.loads(to_json(alike))["outcomes"]
    rows = alike.to_arrow().to_pylist()
    assert [row["balanced_ms_median"] for row in rows] == [
        outcome["figures"]["balanced_ms"]["median"] for outcome in outcomes
    ]
    assert [row["max.warmup.replicas"] for row in rows] == ["2", "4", "8"]


@pytest.mark.parametrize("name", ["settled", "no-tasks"])
def test_a_table_without_rows_has_its_columns(name: str) -> None:
    assert plan_cases.case(name).to_arrow().num_rows == 0
    assert "task_id" in plan_cases.case(name).to_arrow("steps").column_names


def test_a_table_that_there_is_not_is_told() -> None:
    with pytest.raises(ValueError, match="'moves' is not one of rounds, steps"):
        plan_cases.case("settled").to_arrow("moves")


@pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")
def test_a_frame_has_the_rows_of_the_table() -> None:
    result = plan_cases.case("scale-out")
    assert len(result.to_pandas("steps")) == result.to_arrow("steps").num_rows
