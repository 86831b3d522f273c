"""A plan, or a simulation, as one row: no figure of it is better than what the plan says."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from kstream_plan.model import Note
from kstream_plan.plans import FigureRange
from kstream_plan.plans.longest_pause import longest_pause
from kstream_plan.plans.plan import ENDS_NOT_PLAYED
from kstream_plan.plans.result import Result, result_of
from kstream_plan.plans.simulated import more_may_follow
from tests.helpers import plan_cases, simulation_cases

pytestmark = pytest.mark.xdist_group("simulations")


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_the_figures_are_the_plans(name: str) -> None:
    plan = plan_cases.case(name)
    row = result_of(plan)
    ended = {"settled": "moving" if plan.ends("rebalances")[1] else "settled"}
    assert row.outcome == ended.get(plan.verdict.kind, plan.verdict.kind)
    assert (row.moves_least, row.moves_most) == plan.ends("moves")
    assert (row.cold_handovers_least, row.cold_handovers_most) == plan.ends("cold_handovers")
    assert row.restored_records_most is None or row.restored_records_most == plan.ends("restored_records")[1]
    assert (row.cause is None) == (plan.verdict.kind == "settled")
    assert (row.instances or 0) + (row.instances_joining or 0) == len(plan.group.instances)
    for one in fields(Result):
        if one.name.endswith("_least") and one.name != "pauses_are_least":
            least, most = getattr(row, one.name), getattr(row, one.name.replace("_least", "_most"))
            assert least is most is None or least <= most


def test_both_ends_of_what_nobody_knows_are_there() -> None:
    plan = plan_cases.case("scale-out")
    ranges = (FigureRange("cold_handovers", 0, 8), FigureRange("settles", 0, 1), FigureRange("duration_ms", 1, 10**9))
    row = result_of(replace(plan, summary=replace(plan.summary, ranges=ranges)))
    assert (row.cold_handovers_least, row.cold_handovers_most) == (0, 8)
    assert row.duration_ms_most == 10**9
    assert row.settles_surely is False


def test_pauses_are_those_of_the_plan_with_what_tasks_restore_first() -> None:
    names = set[bool]()
    for name in plan_cases.NAMES:
        plan, row = plan_cases.case(name), result_of(plan_cases.case(name))
        pause = longest_pause(plan)
        assert (row.max_paused_task_ms_least, row.max_paused_task_ms_likely) == (pause.least_ms, pause.ms)
        assert row.pauses_are_least is not (pause.most_ms is not None and not plan.pauses_are_least)
        assert row.pauses_are_least or row.max_paused_task_ms_most == pause.most_ms
        names.add(bool(row.pauses_are_least))
    assert names == {True, False}
    plan = plan_cases.case("scale-out")
    first = FigureRange("restoring_first", 0, 2), FigureRange("max_restoring_first_ms", 0, 90_000)
    row = result_of(replace(plan, summary=replace(plan.summary, ranges=first)))
    assert row.restoring_first == 2, "in another outcome"
    assert row.max_paused_task_ms_most == (plan.figure("max_paused_task_ms") or 0) + 90_000


def test_a_row_says_that_more_may_follow_where_the_plan_does() -> None:
    plan = plan_cases.case("scale-out")
    assert result_of(plan).more_may_follow is False
    may_not_settle = replace(plan, summary=replace(plan.summary, ranges=(FigureRange("settles", 0, 1),)))
    not_all = replace(plan, warnings=(Note(ENDS_NOT_PLAYED, "Other outcomes were not simulated"),))
    for open_plan in (may_not_settle, not_all):
        assert result_of(open_plan).more_may_follow is True
    draws = replace(simulation_cases.case("add-two").draws, settled=1)  # type: ignore[type-var]
    assert more_may_follow(plan, draws)
    stuck = next(plan for plan in map(plan_cases.case, plan_cases.NAMES) if plan.verdict.kind == "stuck")
    assert result_of(stuck).more_may_follow is False


def test_the_cause_names_the_task_and_the_instance_that_it_waits_for() -> None:
    stuck = [plan for plan in map(plan_cases.case, plan_cases.NAMES) if plan.verdict.cause is not None]
    assert stuck
    for plan in stuck:
        assert plan.verdict.cause is not None
        instance = plan.group.instances[plan.group.instance_index[plan.verdict.cause.process_id]]
        said = f"{plan.verdict.cause.task_id} waits for {instance.host or instance.process_id}: "
        assert (result_of(plan).cause or "").startswith(said)


def test_a_simulation_has_the_ends_of_all_draws() -> None:
    simulated = simulation_cases.case("add-two")
    assert simulated.draws is not None
    row = result_of(simulated.plan, simulated)
    assert row.draws == simulated.draws.number
    assert row.duration_ms == simulated.draws.duration_ms.median
    for ends, item in (
        ((row.moves_least, row.moves_most), simulated.draws.moves),
        ((row.cold_handovers_least, row.cold_handovers_most), simulated.draws.cold_handovers),
        ((row.duration_ms_least, row.duration_ms_most), simulated.draws.duration_ms),
    ):
        assert ends[0] is not None
        assert ends[1] is not None
        assert ends[0] <= item.least <= item.most <= ends[1]
