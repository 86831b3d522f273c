"""Of which moment an answer says that it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kstream_plan.plans import Plan
from kstream_plan.render.answers import to_table as simulation_table
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.bounce import bounce_table
from kstream_plan.render.plan.headline import title
from kstream_plan.render.plan.moment import as_of, of_generation
from kstream_plan.render.text.escape import TERMINAL
from kstream_plan.render.text.names import Names
from kstream_plan.simulation.bounces import bounce
from tests.helpers import plan_cases, simulation_cases


def _names(plan: Plan) -> Names:
    return Names(plan.group, TERMINAL)


def _begun(plan: Plan, begins_at: str | None) -> Plan:
    assert plan.end is not None
    return replace(plan, end=replace(plan.end, begins_at=begins_at))


def test_it_is_when_the_snapshot_was_taken_and_what_counts_as_now_if_that_is_later() -> None:
    plan = plan_cases.case("scale-out")
    at = f"{plan.captured_at}"
    assert as_of(_begun(plan, at), _names(plan)) == "as of 2026-11-21 13:00:38Z"
    assert of_generation(_begun(plan, at), _names(plan)) == "generation 1, 2026-11-21 13:00:38Z"
    later = _begun(plan, "2026-11-21T15:00:00.000Z")
    assert as_of(later, _names(plan)) == "of 2026-11-21 13:00:38Z, as of 2026-11-21 15:00:00Z"
    assert of_generation(later, _names(plan)).endswith("13:00:38Z, as of 2026-11-21 15:00:00Z")
    unknown = replace(plan, captured_at=None)
    assert as_of(unknown, _names(plan)) == ""
    assert of_generation(unknown, _names(plan)) == "generation 1"
    assert title(unknown, _names(plan)).forms[-1] == "3 → 5 instances, 24 stateful + 6 stateless tasks"


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_the_first_lines_say_so_whatever_the_width(width: int) -> None:
    plan, simulated = plan_cases.case("scale-out"), simulation_cases.case("add-two")
    settled = replace(plan_cases.snapshot("settled"), captured_at=plan.captured_at)
    found = bounce(settled, 40_000, instances=("i1",))
    for text in (
        table(plan, width=width),
        simulation_table(simulated, width=width),
        bounce_table(found, width=width),
    ):
        assert "2026-11-21 13:" in " ".join(" ".join(text.splitlines()[:9]).split())
