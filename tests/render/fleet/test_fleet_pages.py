"""A fleet at a glance, looked at line by line once and kept; no line is wider than it may be."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from kstream_plan.fleet.figures import badness
from kstream_plan.plans.result import Result, result_of
from kstream_plan.render.fleet import fleet_markdown, fleet_table
from tests.helpers import plan_cases
from tests.helpers.goldens import assert_golden

BROKEN = Result(application_id=None, outcome="unreadable", error="fleet.json: it is broken. Fix: mend it")
RESULTS = sorted([BROKEN, *(result_of(plan_cases.case(name)) for name in plan_cases.NAMES)], key=badness)


def test_a_fleet() -> None:
    assert_golden("table/fleet-at-a-glance.txt", fleet_table(RESULTS, RESULTS))
    assert_golden("markdown/fleet-at-a-glance.md", fleet_markdown(RESULTS, RESULTS[:4]))


@pytest.mark.parametrize("width", [80, 97, 200])
def test_no_line_is_too_wide(width: int) -> None:
    assert max(map(cell_len, fleet_table(RESULTS, RESULTS, width=width).splitlines())) <= width
