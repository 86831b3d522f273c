"""Four functions show any answer of the public API; the names that were for one kind each warn."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import kstream_plan
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.old_names import OLD
from kstream_plan.render.check import REPORTS
from kstream_plan.render.report.reports import compare_html, diff_html, fleet_html, happened_html, plans_html
from tests.helpers import captured_scenarios, check_cases, diff_cases, plan_cases, report_cases, simulation_cases
from tests.helpers.connect_rows import even
from tests.helpers.connect_rows import snapshot as connect
from tests.helpers.pages import Page
from tests.helpers.schemas import validator

pytestmark = pytest.mark.xdist_group("simulations")


def results() -> list[Any]:
    return [kstream_plan.result_of(plan_cases.case(name)) for name in ("settled", "crash")]


#: Answer → the kind of its document, and what makes it.
ANSWERS: Mapping[str, tuple[str, Callable[[], Any]]] = {
    "plan": ("plan", lambda: plan_cases.case("scale-out")),
    "simulation": ("plan", lambda: simulation_cases.case("add-two")),
    "alternatives": ("compare", report_cases.alike),
    "diff": ("diff", lambda: diff_cases.case("scale-out")),
    "happened": ("said-and-happened", report_cases.happened),
    "drain": ("drain", lambda: kstream_plan.drain(plan_cases.snapshot("scale-out"), ["i1"])),
    "drain_workers": ("drain-workers", lambda: kstream_plan.drain_workers(connect(even(3)), ["w1"])),
    "bounce": ("bounce", lambda: kstream_plan.bounce(captured_scenarios.before("scale-out"), restart_ms=30_000)),
    "why": ("why", lambda: kstream_plan.why(plan_cases.snapshot("scale-out"))),
    "upgrade": ("upgrade", lambda: kstream_plan.upgrade(plan_cases.snapshot("scale-out").state)),
    "switch": ("switch", lambda: kstream_plan.switch(captured_scenarios.before("scale-out"), "4.3", number_of_draws=1)),
    "sessioned": (
        "sessioned",
        lambda: kstream_plan.to_sessioned(connect(even(3, config={"connect_protocol": "eager"})), number_of_draws=1),
    ),
    "check": ("check", lambda: check_cases.case("fleet")),
    "results": ("results", results),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_is_text_markdown_json_and_html(name: str) -> None:
    kind, make = ANSWERS[name]
    answer = make()
    shown = kstream_plan.to_table(answer, width=100)
    assert shown.endswith("\n")
    assert max(map(len, shown.splitlines())) <= 100
    assert kstream_plan.to_markdown(answer).endswith("\n")
    for line in kstream_plan.to_json(answer).split("\n"):
        validator(kind).validate(json.loads(line))
    page = Page(kstream_plan.to_html(answer))
    assert [tag for tag, _ in page.tags if tag in ("html", "body")] == ["html", "body"]


def test_html_is_what_the_commands_report() -> None:
    plan, simulation = plan_cases.case("scale-out"), simulation_cases.case("add-two")
    alike, changes, happened = report_cases.alike(), diff_cases.case("scale-out"), report_cases.happened()
    check = check_cases.case("strict")
    for answer, page in (
        (plan, plans_html([SavedPlan(plan)])),
        (simulation, plans_html([SavedPlan(simulation.plan, simulation=simulation)])),
        (alike, compare_html([alike])),
        (changes, diff_html([changes])),
        (happened, happened_html([happened])),
        (check, REPORTS["html"](check)),
        (results(), fleet_html(results(), results())),
    ):
        assert kstream_plan.to_html(answer) == page


@pytest.mark.parametrize("show", ["to_table", "to_markdown", "to_json", "to_html"])
@pytest.mark.parametrize("value", [None, "text", [1], (), plan_cases.snapshot("scale-out")], ids=type)
def test_what_is_no_answer_is_told(show: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"no page or document of a {type(value).__name__}"):
        getattr(kstream_plan, show)(value)


@pytest.mark.parametrize("name", sorted(OLD))
def test_an_old_name_warns_and_does_what_it_did(name: str) -> None:
    kind, _, new = name.rpartition("_to_")
    renamed = {"workers_drained": "drain_workers", "compare": "alternatives", "said_and_happened": "happened"}
    answer = results() if kind == "fleet" else ANSWERS[renamed.get(kind, kind)][1]()
    more: list[Any] = [answer] if kind == "fleet" else [answer.group] if kind == "upgrade" else []
    with pytest.warns(DeprecationWarning, match=rf"{name} goes with 0\.3\.0: kstream_plan\.to_{new} takes every"):
        old = getattr(kstream_plan, name)
    assert old(answer, *more).rstrip("\n") == getattr(kstream_plan, f"to_{new}")(answer).rstrip("\n")
    assert name not in kstream_plan.__all__


def test_an_import_of_an_old_name_warns_where_it_stands() -> None:
    code = "from kstream_plan import drain_to_table"
    done = subprocess.run([sys.executable, "-W", "default", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.startswith("<string>:1: DeprecationWarning: kstream_plan.drain_to_table goes with 0.3.0")


def test_there_are_few_names_and_no_others() -> None:
    assert len(kstream_plan.__all__) <= 57
    assert sorted(kstream_plan.__all__) == kstream_plan.__all__
    for name in ("nothing", "plan_to_table", "drain_to_html", "drain_to_"):
        with pytest.raises(AttributeError, match=name):
            getattr(kstream_plan, name)
