"""A fleet at a glance, looked at line by line once and kept; no line is wider than it may be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from kstream_plan.fleet.figures import RISKS, badness, risks
from kstream_plan.plans.result import Result, result_of
from kstream_plan.render.fleet import fleet_heading, fleet_markdown, fleet_table, result_cells, result_why
from kstream_plan.render.text.escape import TERMINAL
from tests.helpers import plan_cases
from tests.helpers.goldens import assert_golden

BROKEN = Result(application_id=None, outcome="unreadable", error="fleet.json: it is broken. Fix: mend it")
RESULTS = sorted([BROKEN, *(result_of(plan_cases.case(name)) for name in plan_cases.NAMES)], key=badness)


def test_a_fleet() -> None:
    assert_golden("table/fleet-at-a-glance.txt", fleet_table(RESULTS, RESULTS))
    assert_golden("markdown/fleet-at-a-glance.md", fleet_markdown(RESULTS, RESULTS[:4]))


def test_who_is_at_risk_is_counted_once_and_by_what() -> None:
    calm = Result(application_id="a", outcome="settled", settles_surely=True, instances=1, tasks=1)
    cold = replace(calm, application_id="b", cold_handovers_most=2, standbys_missing=1)
    unrun = replace(calm, application_id="c", design="connect", max_paused_task_ms_most=303_000)
    bare = replace(calm, application_id="d", standbys_missing=3)
    paused = replace(calm, application_id="e", design="classic", max_paused_task_ms_most=3_000)
    assert [risks(one) for one in (calm, cold, unrun, bare, paused)] == [
        (), (RISKS[0], RISKS[2]), (RISKS[1],), (RISKS[2],), ()
    ]  # fmt: skip
    heading = fleet_heading([calm, cold, unrun, bare, paused], [calm])
    assert heading == (
        "5 applications: 5 settled; 3 at risk: 1 with cold starts, 1 with work that nobody runs meanwhile, "
        "2 with standbys missing (1 shown)"
    )
    assert "3 standbys missing" in fleet_table([bare], [bare])
    assert fleet_heading([calm, BROKEN], [calm, BROKEN]) == "1 application: 1 settled; 1 file that cannot be read"


def test_what_cannot_be_read_and_is_not_shown_is_said() -> None:
    calm = Result(application_id="a", outcome="settled", settles_surely=True, instances=1, tasks=1)
    broken = replace(BROKEN, application_id="b")
    heading = fleet_heading([calm, BROKEN, broken], [calm])
    assert heading.endswith("; 1 file that cannot be read (1 shown, without 2 unreadable)")
    assert fleet_heading([calm, broken], [broken]).endswith(" (1 shown)")


def test_why_something_follows_where_nobody_joins_and_loads_are_even() -> None:
    moving = Result(
        application_id="a",
        outcome="moving",
        settles_surely=True,
        instances=3,
        tasks=9,
        moves_least=3,
        moves_most=4,
        stateful_tasks=8,
    )
    why = {
        "3-4 of 8 tasks to move, though loads are even": moving,
        "2 rebalances follow, though no load moves": replace(moving, moves_most=0, rebalances=2),
        "6 standbys missing": replace(moving, moves_most=0, rebalances=2, standbys_missing=6),
        "1 joins; 3-4 of 8 tasks to move": replace(moving, instances_joining=1),
        "3.0 s at least": replace(moving, duration_ms_least=3_000, duration_ms_most=600_000),
        "does not settle in 1 of 1 draw": replace(
            moving, moves_most=0, instances_leaving=2, draws=1, draws_settled=0, settles_surely=False
        ),
    }
    for said, one in why.items():
        assert said in "; ".join(result_why(one, TERMINAL))


def test_figures_of_what_was_not_played_to_its_end_are_the_least() -> None:
    cells = {one.outcome: result_cells(one, TERMINAL)[4:] for one in RESULTS}
    assert all(cell.startswith("≥ ") for cell in cells["unfinished"])
    assert [cell.startswith("≥ ") for cell in cells["stuck"]] == [False, False, True]


@pytest.mark.parametrize("width", [80, 97, 200])
def test_no_line_is_too_wide(width: int) -> None:
    assert max(map(cell_len, fleet_table(RESULTS, RESULTS, width=width).splitlines())) <= width
