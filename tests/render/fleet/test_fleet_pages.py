"""Many applications as a page: counted, each in its row, and no figure of a row is better than what is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kstream_plan.fleet.figures import RISKS, badness, is_least, risks
from kstream_plan.plans.result import Result, result_of
from kstream_plan.render.answers import to_table
from kstream_plan.render.markdown import to_markdown
from kstream_plan.render.page import Cell, Page
from kstream_plan.render.pages.fleet import fleet_page
from kstream_plan.render.pages.plan_facts import balance_fact
from tests.helpers import plan_cases
from tests.helpers.goldens import assert_golden

BROKEN = Result(application_id=None, outcome="unreadable", error="fleet.json: it is broken. Fix: mend it")
RESULTS = sorted([BROKEN, *(result_of(plan_cases.case(name)) for name in plan_cases.NAMES)], key=badness)
CALM = Result(application_id="a", outcome="settled", settles_surely=True, instances=1, tasks=1)
MOVING = replace(CALM, outcome="moving", instances=3, tasks=9, stateful_tasks=8)


def cell(page: Page, head: str, row: int = 0) -> Cell:
    table = page.tables[0]
    return table.rows[row].cells[[column.head for column in table.columns].index(head)]


def text(page: Page, head: str, row: int = 0) -> str:
    return ", ".join(cell(page, head, row).items)


def reason(result: Result) -> str:
    tables = fleet_page([result], [result]).tables
    return ", ".join(tables[1].rows[0].cells[1].items) if len(tables) > 1 else ""


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_a_fleet(width: int) -> None:
    shown = to_table(RESULTS, width=width)
    assert_golden(f"table/fleet-at-a-glance-{width}.txt", shown)
    assert max(map(cell_len, shown.splitlines())) <= width


def test_a_fleet_in_markdown() -> None:
    assert_golden("markdown/fleet-at-a-glance.md", to_markdown(fleet_page(RESULTS, RESULTS[:4])))


def test_applications_at_risk_are_counted_once_and_by_risk() -> None:
    cold = replace(CALM, application_id="b", cold_handovers_most=2, standbys_missing=1)
    unassigned = replace(CALM, application_id="c", design="connect", max_paused_task_ms_most=303_000)
    unsure = replace(CALM, application_id="f", cold_handovers_likely=0, cold_handovers_most=1)
    bare = replace(CALM, application_id="d", standbys_missing=3)
    paused = replace(CALM, application_id="e", design="classic", max_paused_task_ms_most=3_000)
    fleet = [CALM, cold, unassigned, bare, paused, unsure]
    kinds = [(), (RISKS[0], RISKS[3]), (RISKS[2],), (RISKS[3],), (), (RISKS[1],)]
    assert [risks(result) for result in fleet] == kinds
    page = fleet_page(fleet, [CALM])
    assert page.title == "6 applications: 6 settled"
    assert page.tone == "unknown"
    assert page.sentences == (
        "4 applications are at risk: 1 with cold starts, 1 with tasks that may start cold, 1 with unassigned "
        "connectors or tasks, 2 with missing standbys. 1 of 6 is shown.",
    )
    assert fleet_page([CALM], [CALM]).tone == "good"
    assert fleet_page([CALM, BROKEN], [CALM, BROKEN]).sentences == ("1 file cannot be read.",)


def test_unreadable_results_that_are_not_shown_are_counted() -> None:
    broken = replace(BROKEN, application_id="b")
    (sentence,) = fleet_page([CALM, BROKEN, broken], [CALM]).sentences
    assert sentence == "1 file cannot be read. 1 of 3 is shown, without 2 unreadable."
    assert fleet_page([CALM, broken], [broken]).sentences == ("1 of 2 is shown.",)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (BROKEN, "fleet.json: it is broken. Fix: mend it"),
        (replace(MOVING, moves_least=3, moves_most=4), "the load is even, and tasks move all the same"),
        (replace(MOVING, rebalances=2), "2 rebalances without a move"),
        (replace(MOVING, rebalances=2, standbys_missing=6), "6 standbys missing"),
        (replace(MOVING, instances_joining=1, moves_most=4), ""),
        (
            replace(MOVING, instances_leaving=2, draws=3, draws_settled=1, settles_surely=False),
            "does not settle in 2 of 3 simulations",
        ),
        (replace(MOVING, outcome="stuck", spread=2, cause="0_0 waits", cure="a=1"), "0_0 waits; settles with a=1"),
        (CALM, ""),
    ],
)
def test_why_an_application_is_on_the_list(result: Result, said: str) -> None:
    assert reason(result) == said


def test_what_is_likely_nothing_and_may_be_something_is_not_nothing() -> None:
    times = {"duration_ms_likely": 0, "duration_ms_least": 0, "duration_ms_most": 606_000}
    pauses = {"max_paused_task_ms_likely": 0, "max_paused_task_ms_least": 0, "max_paused_task_ms_most": 3_000}
    result = replace(MOVING, settles_surely=True, more_may_follow=False, duration_is="estimate", **times, **pauses)
    page = fleet_page([result], [result])
    assert (text(page, "Time left"), text(page, "Longest pause")) == ("none, or up to 10m06s", "0s (0s to 3s)")
    page = fleet_page([result], [replace(result, duration_is="probes", pauses_are_least=True)])
    assert (text(page, "Time left"), text(page, "Longest pause")) == ("none, or 10m06s or longer", "unknown")


def test_what_may_go_on_has_no_most_and_may_start_cold() -> None:
    surely = replace(MOVING, settles_surely=True, cold_handovers_likely=0, cold_handovers_least=0)
    for more, most, shown in (
        (False, 0, "0"),
        (False, 6, "0 (0 to 6)"),
        (True, 0, "unknown"),
        (True, 6, "0 (0 to 6 or more)"),
        (None, 6, "0 (0 to 6 or more)"),
    ):
        result = replace(surely, settles_surely=more is False, more_may_follow=more, cold_handovers_most=most)
        assert text(fleet_page([result], [result]), "Cold starts") == shown
        assert is_least(result, "cold") == (more is not False)
        assert risks(result) == ((RISKS[1],) if more is not False or most else ())
    stuck = replace(surely, outcome="stuck", settles_surely=False, more_may_follow=False, cold_handovers_most=0)
    assert text(fleet_page([stuck], [stuck]), "Cold starts") == "0"


def test_who_restores_before_it_runs_is_at_risk() -> None:
    page = fleet_page([replace(MOVING, settles_surely=True, restoring_first=2)], [])
    assert page.tone == "unknown"
    assert page.sentences[0].startswith("1 application is at risk: 1 with tasks that restore before they run.")


def test_what_does_not_settle_for_sure_is_no_plain_moving() -> None:
    for unsure in (replace(MOVING, settles_surely=False), replace(MOVING, settles_surely=None)):
        page = fleet_page([unsure], [unsure])
        assert (text(page, "Status"), cell(page, "Status").tone, page.tone) == ("uncertain", "unknown", "unknown")
        assert page.sentences[0].startswith("1 moving application may not settle.")


@given(
    likely=st.integers(0, 9),
    below=st.integers(0, 9),
    above=st.integers(0, 9),
    outcome=st.sampled_from(["moving", "stuck", "cyclic", "unfinished"]),
)
def test_cold_starts_are_never_fewer_than_they_may_be(likely: int, below: int, above: int, outcome: str) -> None:
    result = replace(
        MOVING,
        outcome=outcome,  # type: ignore[arg-type]
        cold_handovers_likely=likely,
        cold_handovers_least=max(0, likely - below),
        cold_handovers_most=likely + above,
    )
    page = fleet_page([result], [result])
    shown, most = cell(page, "Cold starts"), f"{likely + above}"
    bounded = is_least(result, "cold")
    assert most in shown.items[0] or (bounded and shown.items == ("unknown",))
    is_open = shown.items[0].startswith("at least") or shown.items[0].endswith(" or more)")
    assert is_open == (bounded and most != "0")
    assert (shown.tone == "plain") == (most == "0" and not bounded)
    assert page.tone != "good" or shown.tone == "plain"


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_the_figures_of_a_row_are_those_of_the_plan(name: str) -> None:
    plan = plan_cases.case(name)
    page = fleet_page([result_of(plan)], [result_of(plan)])
    assert text(page, "Tasks per instance") == balance_fact(plan).value.split(" tasks")[0].split(" connectors")[0]
    if plan.verdict.kind == "settled" and plan.rounds and plan.group.stateful:
        assert text(page, "To move").startswith(f"{plan.summary.moves:,}")


def test_rows_of_earlier_releases_have_no_likely_figures() -> None:
    old = replace(MOVING, duration_ms_most=60_000, moves_least=1, moves_most=2, cold_handovers_most=1)
    page = fleet_page([old], [old])
    heads = ("Time left", "To move", "Cold starts", "Tasks per instance")
    assert [text(page, head) for head in heads] == ["about 1m", "2 (1 to 2) of 8", "1 (0 to 1)", "–"]
